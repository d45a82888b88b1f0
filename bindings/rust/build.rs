//! Finds the library to link with. It builds and downloads nothing. With the feature `load-dynamic` it does nothing.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    for name in ["ONNXRUNTIME_DIR", "ONNXRUNTIME_LIB_DIR", "ONNXRUNTIME_RPATH", "PKG_CONFIG", "PKG_CONFIG_PATH"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    println!("cargo:rerun-if-changed=build.rs");
    if env::var_os("CARGO_FEATURE_LOAD_DYNAMIC").is_some() || env::var_os("DOCS_RS").is_some() {
        return;
    }
    let mut tried = Vec::new();
    match find(&mut tried) {
        Some((folder, file)) => link(&folder, &file),
        None => fail(&tried),
    }
}

fn fail(tried: &[String]) -> ! {
    eprintln!(
        "error: libonnxruntime was not found; tried\n  {}\nSet ONNXRUNTIME_DIR to an installation (its folder lib is searched) or \
         ONNXRUNTIME_LIB_DIR to the folder of the library, or turn on the feature load-dynamic, which opens it at run time.",
        tried.join("\n  ")
    );
    std::process::exit(1);
}

/// Returns the folder and the file name of the library; adds a line to `tried` for each place that has none.
fn find(tried: &mut Vec<String>) -> Option<(PathBuf, String)> {
    for (name, below) in [("ONNXRUNTIME_DIR", Some("lib")), ("ONNXRUNTIME_LIB_DIR", None)] {
        let Some(set) = env::var_os(name).filter(|v| !v.is_empty()) else {
            tried.push(format!("{name}: not set"));
            continue;
        };
        let set = PathBuf::from(set);
        let folders = below.map(|b| set.join(b)).into_iter().chain([set.clone()]);
        // If a variable names a folder, no other is searched: linking with a different library would be a surprise.
        return folders.into_iter().find_map(|f| look(&f, name, tried));
    }
    pkg_config(tried).into_iter().chain(system()).find_map(|f| look(&f, "system", tried))
}

fn look(folder: &Path, why: &str, tried: &mut Vec<String>) -> Option<(PathBuf, String)> {
    let found = library_in(folder);
    if found.is_none() {
        tried.push(format!("{why}: {} has no libonnxruntime", folder.display()));
    }
    Some((folder.to_path_buf(), found?))
}

/// Returns the name for the linker if the folder has it, otherwise a file with a version in its name, which packages
/// without development files have.
fn library_in(folder: &Path) -> Option<String> {
    let names: Vec<String> = folder.read_dir().ok()?.flatten().filter_map(|e| e.file_name().into_string().ok()).collect();
    for plain in ["libonnxruntime.so", "libonnxruntime.dylib"] {
        if names.iter().any(|n| n == plain) {
            return Some(plain.to_owned());
        }
    }
    names.into_iter().filter(|n| n.starts_with("libonnxruntime.so.")).max()
}

fn pkg_config(tried: &mut Vec<String>) -> Vec<PathBuf> {
    let program = env::var_os("PKG_CONFIG").unwrap_or_else(|| "pkg-config".into());
    let output = Command::new(&program).args(["--variable=libdir", "libonnxruntime"]).output();
    let Some(output) = output.ok().filter(|t| t.status.success()) else {
        tried.push("pkg-config: has no libonnxruntime".to_owned());
        return Vec::new();
    };
    let folder = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if folder.is_empty() { Vec::new() } else { vec![PathBuf::from(folder)] }
}

fn system() -> Vec<PathBuf> {
    let arch = env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    let mut folders = vec![PathBuf::from("/usr/lib"), PathBuf::from("/usr/local/lib")];
    folders.push(PathBuf::from(format!("/usr/lib/{arch}-linux-gnu")));
    folders.push(PathBuf::from("/usr/lib64"));
    folders
}

fn link(folder: &Path, file: &str) {
    println!("cargo:warning=onnx: linking with {}", folder.join(file).display());
    println!("cargo:rustc-link-search=native={}", folder.display());
    if file == "libonnxruntime.so" || file == "libonnxruntime.dylib" {
        println!("cargo:rustc-link-lib=onnxruntime");
    } else {
        println!("cargo:rustc-link-lib=dylib:+verbatim={file}");
    }
    println!("cargo:lib_dir={}", folder.display());
    // This applies to programs, tests and examples of this package; other packages need it in their own build scripts.
    if env::var_os("ONNXRUNTIME_RPATH").is_some_and(|v| v != "0") {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{}", folder.display());
    }
}
