//! Programs as the design of this crate has them, word for word: a program that was written from it compiles and runs.

mod common;

use std::sync::{Arc, Mutex};

use common::{FLOAT, INT64, Model};
use onnx::{GraphOptimizationLevel, ModelCompiler, OnnxError, OrtErrorCode, Session, Value};

/// A file that is removed when it is no longer used.
struct File(std::path::PathBuf);

impl File {
    fn of(name: &str, model: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("onnx-documents-{}-{name}", std::process::id()));
        std::fs::write(&path, model).unwrap();
        File(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A model with the interface of text-to-speech: `audio` is `style` times `speed`, plus the first token.
fn speech(name: &str) -> File {
    let model = Model::new().input("tokens", INT64, &["1", "n"]).input("style", FLOAT, &["1", "4"]).input("speed", FLOAT, &["1"]);
    let model = model.output("audio", FLOAT, &["1", "4"]).node("Cast", &["tokens"], &["numbers"], &[("to", 1)]);
    let model = model.node("ReduceMax", &["numbers"], &["most"], &[("keepdims", 1)]).node("Mul", &["style", "speed"], &["faster"], &[]);
    File::of(name, &model.node("Add", &["faster", "most"], &["audio"], &[]).bytes())
}

fn synthesize(session: &Arc<Mutex<Session>>) -> Result<Vec<f32>, OnnxError> {
    let session = session.lock().unwrap();
    let (token_ids, style): (Vec<i64>, Vec<f32>) = (vec![0, 7, 0], vec![1.0, 2.0, 3.0, 4.0]);
    let shape = [1, token_ids.len()];
    let tokens = onnx::Value::from_slice::<i64>(&shape, &token_ids)?;
    let style = onnx::Value::from_slice::<f32>(&[1, style.len()], &style)?;
    let speed = onnx::Value::from_slice::<f32>(&[1], &[2.0])?;
    let inputs: Vec<(&str, &Value)> = vec![("tokens", &tokens), ("style", &style), ("speed", &speed)];
    let outputs = session.run(&inputs, &["audio"])?;
    let output_data = outputs[0].extract_tensor::<f32>()?;
    Ok(output_data.to_vec())
}

#[test]
fn a_session_on_the_processor() {
    onnx::init().unwrap();
    let path = &speech("cpu.onnx").0;
    let session = onnx::session_builder().with_cpu().commit_from_file(path).unwrap();
    assert_eq!(synthesize(&Arc::new(Mutex::new(session))).unwrap(), [9.0, 11.0, 13.0, 15.0]);
    let builder = onnx::init().unwrap().session_builder().with_optimization_level(GraphOptimizationLevel::All).with_intra_threads(1);
    assert_eq!(synthesize(&Arc::new(Mutex::new(builder.commit_from_file(path).unwrap()))).unwrap()[0], 9.0);
}

/// Without a CUDA device, the commit returns an error that says so.
#[cfg(feature = "cuda")]
#[test]
fn a_session_on_a_cuda_device() {
    let path = &speech("cuda.onnx").0;
    // [cuda]
    match onnx::session_builder().with_cuda(0).commit_from_file(path) {
        Ok(session) => assert_eq!(synthesize(&Arc::new(Mutex::new(session))).unwrap()[0], 9.0),
        Err(error) => assert!(error.message.to_lowercase().contains("cuda"), "{error}"), // says what is missing
    }
    // [end]
}

#[test]
fn errors_wait_for_the_commit() {
    let path = &speech("errors.onnx").0;
    let builder = onnx::session_builder().with_provider("NoSuchProvider", &[]).with_log_id("a\0b").with_intra_threads(usize::MAX);
    assert!(format!("{builder:?}").contains("NoSuchProvider"), "{builder:?}");
    let error = builder.commit_from_file(path).unwrap_err();
    assert!(error.message.contains("NoSuchProvider"), "the first error is reported: {error}");
    let error = onnx::session_builder().with_intra_threads(usize::MAX).with_cpu().commit_from_memory(&[]).unwrap_err();
    assert!(error.code == OrtErrorCode::InvalidArgument && error.message.contains("out of range"), "{error}");
    let error = ModelCompiler::from_file(onnx::session_builder().with_log_id("a\0b"), path).compile_to_memory().unwrap_err();
    assert!(error.message.contains("zero byte"), "{error}");
}

#[test]
fn versions_are_negotiated() {
    assert!(onnx::api_version().unwrap() <= onnx::ORT_API_VERSION);
    assert!(onnx::version().unwrap().starts_with("1."));
}

#[test]
fn types_go_to_other_threads() {
    fn is_send<T: Send + 'static>() {}
    is_send::<Session>();
    is_send::<Value>();
    is_send::<Arc<Mutex<Session>>>();
    is_send::<onnx::SessionBuilder>();
    is_send::<ModelCompiler>();
    let error: Box<dyn std::error::Error> = Box::new(OnnxError::new(OrtErrorCode::Fail, "why"));
    assert!(error.to_string().contains("why"));
}

/// The manifest names no crate that a build must have.
#[test]
fn no_dependency_is_mandatory() {
    let manifest = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).unwrap();
    let table = manifest.split("\n[dependencies]\n").nth(1).unwrap().split("\n[").next().unwrap();
    let lines: Vec<&str> = table.lines().filter(|line| line.contains('=')).collect();
    assert!(!lines.is_empty());
    assert!(lines.iter().all(|line| line.contains("optional = true")), "{table}");
}
