//! What holds for the source itself.

use std::path::{Path, PathBuf};

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in folder.read_dir().unwrap().map(|e| e.unwrap().path()) {
        if entry.is_dir() {
            sources(&entry, found);
        } else if entry.extension().is_some_and(|e| e == "rs") {
            found.push(entry);
        }
    }
}

fn all() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in ["src", "tests", "examples", "benches", "bench/src", "bench/benches"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        if folder.exists() {
            sources(&folder, &mut found);
        }
    }
    assert!(found.len() > 20, "{found:?}");
    found
}

/// The word, also within macros; `unsafe_code` of a lint is another one.
fn says_unsafe(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or("");
    code.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == concat!("un", "safe"))
}

#[test]
fn what_is_not_checked_stands_in_files_named_ffi() {
    let mut others = Vec::new();
    for file in all().into_iter().filter(|f| !f.ends_with("ffi.rs")) {
        let text = std::fs::read_to_string(&file).unwrap();
        others.extend(text.lines().filter(|l| says_unsafe(l)).map(|l| format!("{}: {l}", file.display())));
    }
    assert!(others.is_empty(), "{others:#?}");
}

#[test]
fn only_modules_named_ffi_allow_it() {
    for file in all() {
        let text = std::fs::read_to_string(&file).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        for (at, line) in lines.iter().enumerate().filter(|(_, l)| l.contains("allow(unsafe_code")) {
            if !file.ends_with("source.rs") {
                assert!(lines[at + 1].trim_end().ends_with("mod ffi;"), "{}: {line}", file.display());
            }
        }
    }
}

#[test]
fn files_are_short() {
    for file in all().into_iter().filter(|f| !f.ends_with("src/ffi.rs")) {
        let lines = std::fs::read_to_string(&file).unwrap().lines().count();
        assert!(lines <= 400, "{} has {lines} lines", file.display());
    }
}
