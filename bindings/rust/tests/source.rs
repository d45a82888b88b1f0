//! What holds for the source itself, of this package and of those beside it in the workspace.

use std::path::{Path, PathBuf};

/// Written in two parts, so that this file does not have the word that it looks for.
const WORD: &str = concat!("un", "safe");
const LINT: &str = concat!("un", "safe_code");

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Files below a folder whose name ends so; what cargo builds and what is hidden is not looked at.
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
    found.into_iter().map(|file| (file.clone(), std::fs::read_to_string(file).unwrap())).collect()
}

/// Whether a line has the word, alone: that of a lint is another one. A line that is a comment may say it; one that ends
/// with a comment may not, since a text can have what looks like the beginning of one.
fn says(line: &str, wanted: &str) -> bool {
    !line.trim_start().starts_with("//") && line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == wanted)
}

/// Lines of a file that break the rules, each with its number.
fn breaks(file: &Path, text: &str) -> Vec<String> {
    let raw = file.file_name().is_some_and(|name| name == "ffi.rs");
    let lines: Vec<&str> = text.lines().collect();
    let told = |at: usize, why: &str| format!("{}:{}: {why}: {}", file.display(), at + 1, lines[at]);
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let next = lines.get(at + 1).map_or("", |l| l.trim());
        let is_module = ["mod ffi;", "pub(crate) mod ffi;", "pub(super) mod ffi;"].contains(&next);
        if !raw && says(line, WORD) {
            found.push(told(at, "only files named ffi.rs may say it"));
        }
        // Whatever the attribute is and however it is broken into lines, the name of the lint is in one of them.
        let plain = line.trim().strip_prefix("#[allow(").and_then(|rest| rest.strip_suffix(")]"));
        if says(line, LINT) && !(is_module && plain.is_some_and(|lints| lints.split(", ").any(|lint| lint == LINT))) {
            found.push(told(at, "it is allowed for modules named ffi only"));
        }
        if ["include", "path"].iter().any(|word| says(line, word)) && (raw || !line.contains("common/mod.rs")) && is_code_of(line) {
            found.push(told(at, "code comes from files that are found by their names"));
        }
        if line.trim_start().starts_with("pub mod ffi") || (line.trim_start().starts_with("pub use") && says(line, "ffi")) {
            found.push(told(at, "what is raw is not public"));
        }
    }
    found
}

/// Whether the line takes the code of another file, rather than having a name that reads like it.
fn is_code_of(line: &str) -> bool {
    let dense: String = line.chars().filter(|c| !c.is_whitespace()).collect();
    dense.contains("include!") || dense.contains("[path=") || dense.contains(",path=")
}

#[test]
fn what_is_not_checked_stands_in_files_named_ffi() {
    let found: Vec<String> = sources().iter().filter(|(f, _)| !f.ends_with("tests/source.rs")).flat_map(|(f, t)| breaks(f, t)).collect();
    assert!(found.is_empty(), "{found:#?}");
}

/// Ways around the rules, each of which must be found.
#[test]
fn no_way_leads_around_that() {
    let ways = [
        ("a.rs", "fn f() { ? { g() } }"),
        ("a.rs", "let s = \"http://\"; ? { g() }"),
        ("a.rs", "macro_rules! m { () => { ? { g() } } }"),
        ("a.rs", "? impl Send for T {}"),
        ("a.rs", "#[?(no_mangle)]"),
        ("a.rs", "/* a comment */ ? { g() }"),
        ("other_ffi.rs", "? { g() }"),
        ("a.rs", "#![allow(?_code)]"),
        ("a.rs", "#[allow(?_code)]\nmod raw;"),
        ("a.rs", "#[allow(?_code)]\nmod ffi {"),
        ("a.rs", "#[allow(\n    ?_code\n)]\nmod ffi;"),
        ("a.rs", "#[expect(?_code)]\nmod ffi;"),
        ("a.rs", "#[cfg_attr(test, allow(?_code))]\nmod ffi;"),
        ("ffi.rs", "include!(\"other.txt\");"),
        ("ffi.rs", "#[path = \"other.txt\"]\nmod other;"),
        ("a.rs", "#[cfg_attr(test, path = \"other.txt\")]\nmod ffi;"),
        ("lib.rs", "pub mod ffi;"),
        ("lib.rs", "pub use value::ffi::bytes;"),
    ];
    for (file, text) in ways {
        let text = text.replace('?', WORD);
        assert!(!breaks(Path::new(file), &text).is_empty(), "this was not found in {file}: {text}");
    }
    for (file, text) in [("ffi.rs", "? { g() }"), ("a.rs", "// ? code"), ("a.rs", "#[allow(?_code)]\nmod ffi;"), ("a.rs", "let path = 1;")]
    {
        let text = text.replace('?', WORD);
        assert_eq!(breaks(Path::new(file), &text), [""; 0]);
    }
}

/// The compiler holds what this file can only read: each package denies the lint, by itself or with the workspace, and asks
/// clippy for more than it says by itself.
#[test]
fn each_package_has_the_lints() {
    let mut found = Vec::new();
    files(root(), "Cargo.toml", &mut found);
    for file in found {
        let text = std::fs::read_to_string(&file).unwrap();
        let own = [format!("{LINT} = \"deny\""), format!("{LINT} = \"forbid\"")].iter().any(|l| text.lines().any(|line| line == l));
        let shared = text.contains("[lints]\nworkspace = true");
        let workspace = std::fs::read_to_string(root().join("Cargo.toml")).unwrap().contains("[workspace.lints.rust]");
        assert!(own || (shared && workspace), "{} does not deny {LINT}", file.display());
        // As written, or as cargo writes it into a package.
        let pedantic = text.lines().any(|line| line.starts_with("pedantic = ") || line == "[lints.clippy.pedantic]");
        assert!(pedantic || (shared && workspace), "{} does not ask for the lints of clippy::pedantic", file.display());
    }
}

#[test]
fn files_are_short() {
    let generated = root().join("src/ffi.rs");
    for (file, text) in sources().into_iter().filter(|(f, _)| *f != generated) {
        assert!(text.lines().count() <= 400, "{} has {} lines", file.display(), text.lines().count());
    }
}
