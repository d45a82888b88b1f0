//! Tests of the program `say`.

use std::path::PathBuf;
use std::process::{Command, Output};

const EXPECTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/model/expected.wav");

/// A folder for one test, which is removed after it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("inference-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn say(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_say")).args(arguments).output().unwrap()
}

fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn it_says_a_text_and_reports_what_it_did() {
    let folder = Folder::new("text");
    let (one, other) = (folder.file("one.wav"), folder.file("other.wav"));
    let output = say(&["--speed", "1.25", "həlˈO wˈɜɹld.", &one]);
    assert!(output.status.success(), "{}", printed(&output));
    let said = printed(&output);
    for part in ["library 1.", "tts.onnx", "voice 7, speed 1.25", "piece 1: 13500 samples, 0.562 s", "one.wav: 0.562 s of sound"] {
        assert!(said.contains(part), "{part} in {said}");
    }
    let length = |file: &str| hound::WavReader::open(file).unwrap().duration();
    assert_eq!(length(&one), length(EXPECTED));
    // The same as tokens, at the default speed.
    let output = say(&["--tokens", "50, 83,54 156,31,16,65,156,87,123,54,46,4", &other, "--voice", "7"]);
    assert!(output.status.success(), "{}", printed(&output));
    assert!(length(&other) > length(&one));
}

#[test]
fn mistakes_are_reported_and_no_file_is_created() {
    let folder = Folder::new("wrong");
    let file = folder.file("out.wav");
    let nowhere = folder.file("absent/out.wav");
    let cases: [(&[&str], &str); 11] = [
        (&[], "0 arguments besides options"),
        (&["a", &file, "b"], "3 arguments besides options"),
        (&["--loud", "a", &file], "--loud is not an option"),
        (&["a", &file, "--speed"], "--speed needs a value"),
        (&["a", &file, "--speed", "0"], "a speed of 0"),
        (&["--tokens", "1,x", &file], "'x' is not a number"),
        (&["50%", &file], "'5' after 0 characters has no token"),
        (&["", &file], "the input is empty"),
        (&["a", &file, "--model", "no/such.onnx"], "no/such.onnx"),
        (&["a", &nowhere], &format!("cannot write {nowhere}: No such file")),
        (&["--tokens", "178", &file], "178"), // only the run itself fails
    ];
    for (arguments, part) in cases {
        let output = say(arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(printed(&output).contains(part), "{part} in {}", printed(&output));
        assert!(!std::path::Path::new(&file).exists(), "{arguments:?}");
    }
}
