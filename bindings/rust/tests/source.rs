//! Rules for the source code of this package and of the packages below its folder.

use std::path::{Path, PathBuf};

/// Written in two parts, so that this file does not contain the word that it searches for.
const WORD: &str = concat!("un", "safe");
const LINT: &str = concat!("un", "safe_code");

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Collects the files below a folder whose names end with `end`, without build outputs and hidden files.
fn files(folder: &Path, end: &str, found: &mut Vec<PathBuf>) {
    for entry in folder.read_dir().unwrap().map(|e| e.unwrap().path()) {
        let name = entry.file_name().unwrap().to_string_lossy().into_owned();
        if entry.is_dir() && name != "target" && !name.starts_with('.') {
            files(&entry, end, found);
        } else if entry.is_file() && name.ends_with(end) {
            found.push(entry);
        }
    }
}

fn sources() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    files(root(), ".rs", &mut found);
    assert!(found.len() > 40 && found.contains(&root().join("build.rs")), "{found:?}");
    let named = |file: &Path| file.strip_prefix(root()).unwrap().to_path_buf();
    found.into_iter().map(|file| (named(&file), std::fs::read_to_string(file).unwrap())).collect()
}

/// Returns whether a line contains the word by itself, which the name of the lint is not. Comment lines may contain it.
/// A comment at the end of a line may not, because a string can contain something that looks like the start of a
/// comment.
fn says(line: &str, wanted: &str) -> bool {
    !line.trim_start().starts_with("//") && line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == wanted)
}

/// Returns the lines of a file that break the rules, with their numbers. The file is relative to the root of the
/// package.
fn breaks(file: &Path, text: &str) -> Vec<String> {
    let in_test = file.starts_with("tests");
    let raw = file.starts_with("src/ffi") || (in_test && file.ends_with("ffi.rs"));
    let may_allow = in_test || file == Path::new("src/lib.rs");
    let lines: Vec<&str> = text.lines().collect();
    let report = |at: usize, why: &str| format!("{}:{}: {why}: {}", file.display(), at + 1, lines[at]);
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let next = lines.get(at + 1).map_or("", |l| l.trim());
        if !raw && says(line, WORD) {
            found.push(report(at, "only files in src/ffi, and files of tests named ffi.rs, may contain it"));
        }
        // However an attribute is broken into lines, one of them contains the name of the lint.
        let plain = line.trim().strip_prefix("#[allow(").and_then(|rest| rest.strip_suffix(")]"));
        if says(line, LINT) && !(may_allow && next == "mod ffi;" && plain.is_some_and(|lints| lints.split(", ").any(|lint| lint == LINT))) {
            found.push(report(at, "only src/lib.rs and tests may allow it, for their module ffi"));
        }
        if ["include", "path"].iter().any(|word| says(line, word)) && (raw || !line.contains("common/mod.rs")) && is_code_of(line) {
            found.push(report(at, "code must be in files that are found by their names"));
        }
        if line.trim_start().starts_with("pub mod ffi") || (line.trim_start().starts_with("pub use") && says(line, "ffi")) {
            found.push(report(at, "module ffi must not be public"));
        }
    }
    found
}

/// Returns whether the line includes the code of another file, and does not just contain a similar name.
fn is_code_of(line: &str) -> bool {
    let dense: String = line.chars().filter(|c| !c.is_whitespace()).collect();
    dense.contains("include!") || dense.contains("[path=") || dense.contains(",path=")
}

#[test]
fn unchecked_code_is_in_ffi() {
    let found: Vec<String> = sources().iter().filter(|(f, _)| !f.ends_with("tests/source.rs")).flat_map(|(f, t)| breaks(f, t)).collect();
    assert!(found.is_empty(), "{found:#?}");
}

/// Tests that the rules cannot be circumvented.
#[test]
fn the_rules_cannot_be_circumvented() {
    let ways = [
        ("src/a.rs", "fn f() { ? { g() } }"),
        ("src/a.rs", "let s = \"http://\"; ? { g() }"),
        ("src/a.rs", "macro_rules! m { () => { ? { g() } } }"),
        ("src/a.rs", "? impl Send for T {}"),
        ("src/a.rs", "#[?(no_mangle)]"),
        ("src/a.rs", "/* a comment */ ? { g() }"),
        ("src/ffi.rs", "? { g() }"),
        ("src/value/ffi.rs", "? { g() }"),
        ("src/ffi_more/a.rs", "? { g() }"),
        ("tests/other_ffi.rs", "? { g() }"),
        ("src/lib.rs", "#![allow(?_code)]"),
        ("src/lib.rs", "#[allow(?_code)]\nmod raw;"),
        ("src/a.rs", "#[allow(?_code)]\nmod ffi;"),
        ("src/lib.rs", "#[allow(?_code)]\nmod ffi {"),
        ("src/lib.rs", "#[allow(\n    ?_code\n)]\nmod ffi;"),
        ("src/lib.rs", "#[expect(?_code)]\nmod ffi;"),
        ("src/lib.rs", "#[cfg_attr(test, allow(?_code))]\nmod ffi;"),
        ("src/ffi/a.rs", "include!(\"other.txt\");"),
        ("src/ffi/a.rs", "#[path = \"other.txt\"]\nmod other;"),
        ("src/a.rs", "#[cfg_attr(test, path = \"other.txt\")]\nmod ffi;"),
        ("src/lib.rs", "pub mod ffi;"),
        ("src/lib.rs", "pub use ffi::value::bytes;"),
    ];
    for (file, text) in ways {
        let text = text.replace('?', WORD);
        assert!(!breaks(Path::new(file), &text).is_empty(), "not found in {file}: {text}");
    }
    let fine = [
        ("src/ffi/a.rs", "? { g() }"),
        ("tests/a/ffi.rs", "? { g() }"),
        ("src/a.rs", "// ? code"),
        ("src/lib.rs", "#[allow(?_code)]\nmod ffi;"),
        ("tests/a.rs", "#[allow(?_code)]\nmod ffi;"),
        ("src/a.rs", "let path = 1;"),
    ];
    for (file, text) in fine {
        let text = text.replace('?', WORD);
        assert_eq!(breaks(Path::new(file), &text), [""; 0]);
    }
}

/// Each package must deny the lint, because the compiler enforces what this file can only search for; and each must
/// enable clippy's stricter lints.
#[test]
fn each_package_has_the_lints() {
    let mut found = Vec::new();
    files(root(), "Cargo.toml", &mut found);
    for file in found {
        let text = std::fs::read_to_string(&file).unwrap();
        let own = [format!("{LINT} = \"deny\""), format!("{LINT} = \"forbid\"")].iter().any(|l| text.lines().any(|line| line == l));
        assert!(own, "{} does not deny {LINT}", file.display());
        // In the form that we write, or in the form that cargo writes when it makes a package.
        let pedantic = text.lines().any(|line| line.starts_with("pedantic = ") || line == "[lints.clippy.pedantic]");
        assert!(pedantic, "{} does not ask for the lints of clippy::pedantic", file.display());
    }
}

#[test]
fn files_are_short() {
    for (file, text) in sources().into_iter().filter(|(f, _)| f != Path::new("src/ffi/tables.rs")) {
        assert!(text.lines().count() <= 400, "{} has {} lines", file.display(), text.lines().count());
    }
}
