//! Tests of the library itself: named by a variable, missing, or another file. Each case has its own process, because a
//! process has one library.
#![cfg(feature = "load-dynamic")]

use std::process::Command;

use onnx::OrtErrorCode;

/// Returns what a new process with these variables reports about its library.
fn report(variables: &[(&str, &str)]) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "in_its_own_process", "--nocapture"]).env_remove("RETORT_LIBRARY").env_remove("ORT_DYLIB_PATH");
    let done = command.envs(variables.iter().copied()).env("ONNX_TEST_TELL", "1").output().unwrap();
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success(), "{text}{}", String::from_utf8_lossy(&done.stderr));
    text
}

/// Not a test by itself: this is the program that [`report`] starts.
#[test]
fn in_its_own_process() {
    if std::env::var_os("ONNX_TEST_TELL").is_none() {
        return;
    }
    for call in 0..2 {
        match onnx::init() {
            Ok(_) => println!("\ncall {call}: version {}", onnx::version().unwrap()),
            Err(error) => println!("\ncall {call}: {:?}: {error}", error.code),
        }
    }
    if let Err(error) = onnx::init() {
        // All functions that need the library return the same error, and none ends the process.
        assert_eq!(onnx::Value::from_slice(&[1], &[1f32]).unwrap_err(), error);
        assert_eq!(onnx::session_builder().with_cpu().commit_from_file("model.onnx").unwrap_err(), error);
        assert_eq!(onnx::MemoryInfo::cpu().unwrap_err(), error);
        assert_eq!(onnx::version().unwrap_err(), error);
        assert_eq!(error.code, OrtErrorCode::NoLibrary);
    }
}

#[test]
fn a_file_that_is_not_there() {
    for name in ["RETORT_LIBRARY", "ORT_DYLIB_PATH"] {
        let text = report(&[(name, "no/such/library.so")]);
        for part in ["call 0: NoLibrary", "call 1: NoLibrary", "no/such/library.so", name] {
            assert!(text.contains(part), "'{part}' is not in {text}");
        }
    }
}

#[test]
fn a_file_that_is_not_a_library() {
    let text = report(&[("RETORT_LIBRARY", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))]);
    assert!(text.contains("call 0: NoLibrary") && text.contains("Cargo.toml"), "{text}");
}

#[test]
fn a_different_library() {
    // The C library exists wherever these tests run on Linux.
    let text = report(&[("RETORT_LIBRARY", "libc.so.6")]);
    assert!(text.contains("call 0: NoLibrary") && text.contains("libc.so.6 is not an ONNX Runtime library"), "{text}");
}

#[test]
fn the_first_variable_counts() {
    let Some(library) = ["RETORT_LIBRARY", "ORT_DYLIB_PATH"].into_iter().find_map(|name| std::env::var(name).ok()) else { return };
    let version = onnx::version().unwrap();
    for variables in [
        &[("RETORT_LIBRARY", library.as_str()), ("ORT_DYLIB_PATH", "no/such/library.so")][..],
        &[("RETORT_LIBRARY", ""), ("ORT_DYLIB_PATH", library.as_str())],
    ] {
        let text = report(variables);
        assert!(text.contains(&format!("call 0: version {version}")) && text.contains("call 1: version"), "{text}");
    }
}
