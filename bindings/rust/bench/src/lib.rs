//! Makes the same calls through crate `onnx` and through crate `ort`, on one library in one process.
//!
//! Both crates open the library that `ORT_DYLIB_PATH` names. Each side has a session with one thread for the same
//! model, and is called in the way that is fastest for its crate.

mod calls;
#[path = "../../tests/common/mod.rs"]
#[allow(clippy::pedantic, missing_docs)]
mod common;
mod values;

/// An error of either side.
pub type Failure = Box<dyn std::error::Error>;

/// One call, made through both crates.
pub struct Case {
    /// The name of the call.
    pub name: String,
    /// The call through crate `onnx`.
    pub onnx: Box<dyn FnMut()>,
    /// The call through crate `ort`.
    pub ort: Box<dyn FnMut()>,
}

impl Case {
    fn new(name: impl Into<String>, onnx: impl FnMut() + 'static, ort: impl FnMut() + 'static) -> Self {
        Case { name: name.into(), onnx: Box::new(onnx), ort: Box::new(ort) }
    }
}

/// Returns the cases, in the order of the table. Each has been called once on both sides, with equal results.
pub fn cases() -> Result<Vec<Case>, Failure> {
    let file = std::env::var("ORT_DYLIB_PATH").map_err(|_| "ORT_DYLIB_PATH is not set: set it to the library to measure")?;
    let environment = ort::init_from(&file)?.with_telemetry(false).build()?;
    let mut cases = Vec::new();
    for (inputs, length) in [(1, 4), (1, 1024), (3, 4), (3, 1024)] {
        cases.push(calls::run(&environment, inputs, length)?);
    }
    for length in [4, 1024] {
        cases.push(calls::step(&environment, length)?);
    }
    for (inputs, length) in [(1, 4), (1, 1024), (3, 4), (3, 1024)] {
        cases.push(calls::bound(&environment, inputs, length)?);
    }
    for length in [4, 1024] {
        cases.push(calls::bound_to_memory(&environment, length)?);
    }
    for length in [4, 1024] {
        cases.extend(values::all(length)?);
    }
    Ok(cases)
}
