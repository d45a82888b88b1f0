//! Tests of compiling models. The providers of the libraries here compile nothing, so the result is the model again.

mod common;

use std::path::PathBuf;

use common::{FLOAT, Model, floats};
use onnx::{GraphOptimizationLevel, ModelCompiler, OnnxError, OrtErrorCode, Session, Value, WeightlessMode};

fn builder() -> onnx::SessionBuilder {
    onnx::session_builder().with_cpu().with_intra_threads(1)
}

/// Builds `y` = `x` + `w`, where `w` has 64 elements, the last of which is 7.
fn model() -> Vec<u8> {
    let mut weights = vec![0f32; 64];
    weights[63] = 7.0;
    let bytes: Vec<u8> = weights.iter().flat_map(|w| w.to_le_bytes()).collect();
    let model = Model::new().input("x", FLOAT, &["64"]).output("y", FLOAT, &["64"]).constant("w", FLOAT, &[64], &bytes);
    model.node("Add", &["x", "w"], &["y"], &[]).bytes()
}

fn last(session: &Session) -> f32 {
    let outputs = session.run(&[("x", &floats(&[64], &[1.0; 64]))], &["y"]).unwrap();
    outputs[0].extract_tensor::<f32>().unwrap()[63]
}

/// Returns whether the library has the interface; if not, checks that the error says so.
fn supported(version: u32, compile: impl Fn() -> Result<Vec<u8>, OnnxError>) -> bool {
    let found = onnx::api_version().unwrap();
    if found >= version {
        return true;
    }
    let error = compile().unwrap_err();
    assert_eq!(error.code, OrtErrorCode::NotSupported);
    assert!(error.message.contains(&format!("came with version 1.{version}")), "{error}");
    println!("skipped: the library has the interface of 1.{found}, not 1.{version}");
    false
}

/// A folder that is removed when it is no longer used.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("onnx-compile-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn to_memory_and_to_a_file() {
    if !supported(22, || ModelCompiler::from_memory(builder(), model()).compile_to_memory()) {
        return;
    }
    let compiled = ModelCompiler::from_memory(builder(), &model()[..]).compile_to_memory().unwrap();
    assert_eq!(last(&builder().commit_from_memory(&compiled).unwrap()), 8.0);
    let folder = Folder::new("file");
    let (from, to) = (folder.0.join("model.onnx"), folder.0.join("compiled.onnx"));
    std::fs::write(&from, model()).unwrap();
    ModelCompiler::from_file(builder(), &from).with_embedded_context(true).compile_to_file(&to).unwrap();
    assert_eq!(last(&builder().commit_from_file(&to).unwrap()), 8.0);
}

#[test]
fn weights_beside_the_model() {
    if !supported(22, || ModelCompiler::from_memory(builder(), model()).compile_to_memory()) {
        return;
    }
    let folder = Folder::new("weights");
    let to = folder.0.join("compiled.onnx");
    ModelCompiler::from_memory(builder(), model()).with_external_initializers("weights.bin", 128).compile_to_file(&to).unwrap();
    assert!(folder.0.join("weights.bin").exists());
    assert_eq!(last(&builder().commit_from_file(&to).unwrap()), 8.0);
}

#[test]
fn initializers_of_the_options_are_compiled_in() {
    if !supported(22, || ModelCompiler::from_memory(builder(), model()).compile_to_memory()) {
        return;
    }
    let options = || builder().with_initializer("w", Value::from_vec(&[64], vec![2f32; 64]).unwrap());
    // ONNX Runtime may fold the initializer of the model first, but no library may read freed memory.
    let compiled = ModelCompiler::from_memory(options(), model()).compile_to_memory().unwrap();
    let found = last(&builder().commit_from_memory(&compiled).unwrap());
    assert!(found == 3.0 || found == 8.0, "{found}");
}

#[test]
fn situations_that_are_errors() {
    let strict = || ModelCompiler::from_memory(builder(), model()).error_if_output_exists();
    if !supported(if onnx::api_version().unwrap() < 22 { 22 } else { 23 }, || strict().compile_to_memory()) {
        return;
    }
    let folder = Folder::new("errors");
    let there = folder.0.join("there.onnx");
    std::fs::write(&there, b"kept").unwrap();
    strict().compile_to_file(&there).unwrap_err();
    assert_eq!(std::fs::read(&there).unwrap(), b"kept");
    ModelCompiler::from_memory(builder(), model()).error_if_nothing_compiled().compile_to_memory().unwrap_err();
    let free = ModelCompiler::from_memory(builder(), model()).with_optimization_level(GraphOptimizationLevel::Basic);
    free.with_context_files(&folder.0, "name").compile_to_file(&there).unwrap();
    assert_eq!(last(&builder().commit_from_file(&there).unwrap()), 8.0);
}

#[test]
fn models_that_cannot_be_compiled() {
    if !supported(22, || ModelCompiler::from_memory(builder(), model()).compile_to_memory()) {
        return;
    }
    let error = ModelCompiler::from_file(builder(), "no/such/model.onnx").compile_to_memory().unwrap_err();
    assert!(error.message.contains("no/such/model.onnx"), "{error}");
    let error = ModelCompiler::from_memory(builder(), Vec::new()).with_embedded_context(true).compile_to_memory().unwrap_err();
    assert_eq!((error.code, error.message.as_str()), (OrtErrorCode::InvalidProtobuf, "the model is empty"));
    ModelCompiler::from_memory(builder(), &b"no model"[..]).compile_to_memory().unwrap_err();
    let error = ModelCompiler::from_file(builder(), "a\0b").compile_to_file("c").unwrap_err();
    assert!(error.message.contains("zero byte"), "{error}");
}

#[test]
fn without_weights() {
    let modes = [WeightlessMode::None, WeightlessMode::ExternalOnly, WeightlessMode::All];
    let compile = |mode| ModelCompiler::from_memory(builder(), model()).with_weightless_mode(mode).compile_to_memory();
    if onnx::api_version().unwrap() >= 22 && !supported(32, || compile(WeightlessMode::All)) {
        return;
    }
    if !supported(22, || compile(WeightlessMode::All)) {
        return;
    }
    for mode in modes {
        assert_eq!(last(&builder().commit_from_memory(&compile(mode).unwrap()).unwrap()), 8.0, "{mode:?}");
    }
}
