//! Sessions: a model made ready to run.

#[allow(unsafe_code)]
pub(crate) mod ffi;
mod metadata;
mod types;

use std::sync::Arc;

pub use metadata::ModelMetadata;
pub use types::{ValueInfo, ValueType};

use crate::binding::IoBinding;
use crate::device::EpDevice;
use crate::error::{OnnxError, Result};
use crate::future::RunFuture;
use crate::memory::MemoryInfo;
use crate::run::RunOptions;
use crate::value::Value;
pub(crate) use types::Port;

/// A model made ready to run, by [`session_builder`](crate::session_builder). Thread-safe: several threads may run it at
/// once. Bindings, futures and allocators made of it keep it alive.
///
/// ```no_run
/// use onnx::Value;
/// let session = onnx::session_builder()?.commit_from_file("model.onnx")?;
/// let x = Value::from_slice::<f32>(&[1, 3], &[0.1, 0.2, 0.3])?;
/// let outputs = session.run(&[("x", &x)], &["y"])?;
/// println!("{:?}", outputs[0].extract_tensor::<f32>()?);
/// # Ok::<(), onnx::OnnxError>(())
/// ```
pub struct Session {
    inner: Arc<SessionInner>,
}

/// The session itself, shared with what needs it.
pub(crate) struct SessionInner {
    pub(crate) handle: ffi::SessionHandle,
    pub(crate) inputs: Vec<Port>,
    pub(crate) outputs: Vec<Port>,
    /// How many of `inputs` must be given; the others have values in the model that an input may replace.
    pub(crate) required: usize,
}

/// What a session reads for as long as it lives.
#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) initializers: Vec<Value>,
    pub(crate) model: Vec<u8>,
}

impl SessionInner {
    pub(crate) fn input(&self, name: &str) -> Result<usize> {
        find(&self.inputs, name, "input")
    }

    pub(crate) fn output(&self, name: &str) -> Result<usize> {
        find(&self.outputs, name, "output")
    }
}

fn find(ports: &[Port], name: &str, what: &str) -> Result<usize> {
    ports.iter().position(|p| p.info.name == name).ok_or_else(|| {
        let names: Vec<&str> = ports.iter().map(|p| p.info.name.as_str()).collect();
        OnnxError::invalid(format!("the model has no {what} '{name}', it has '{}'", names.join("', '")))
    })
}

impl Session {
    pub(crate) fn of(handle: ffi::SessionHandle) -> Result<Self> {
        let (inputs, required) = ffi::inputs(&handle)?;
        let mut outputs = ffi::outputs(&handle)?;
        for output in &mut outputs {
            let named_twice = inputs.iter().any(|i| i.info.name == output.info.name);
            output.may_share = named_twice || !matches!(output.info.value_type, ValueType::Tensor { .. });
        }
        Ok(Session { inner: Arc::new(SessionInner { handle, inputs, outputs, required }) })
    }

    pub(crate) fn raw(&self) -> *mut crate::ffi::OrtSession {
        self.inner.handle.raw()
    }

    pub(crate) fn inner(&self) -> &Arc<SessionInner> {
        &self.inner
    }

    /// Runs the model: inputs by name, and the names of the outputs that are wanted, in the order of the result.
    ///
    /// Inputs are read where they lie; each output is a new value of the processor's memory. Names that the model does
    /// not have, names given twice, and inputs of another type or shape than the model's are errors.
    pub fn run(&self, inputs: &[(&str, &Value)], outputs: &[&str]) -> Result<Vec<Value>> {
        crate::run::ffi::run(&self.inner, None, inputs, outputs)
    }

    /// As [`Session::run`], with options; [`RunOptions::terminate`] ends it from another thread, with an error.
    pub fn run_with_options(&self, options: &RunOptions, inputs: &[(&str, &Value)], outputs: &[&str]) -> Result<Vec<Value>> {
        crate::run::ffi::run(&self.inner, Some(options), inputs, outputs)
    }

    /// As [`Session::run`], on a thread of the session: the call returns at once, and the future has the outputs.
    ///
    /// Inputs are shared with the run, which keeps them (and the session) until it is over, so a future may be dropped,
    /// or forgotten, at any time. Dropping it cancels the run and waits until it is over, for as long as the library
    /// takes to notice: milliseconds as a rule. Needs a session of two threads or more
    /// ([`SessionBuilder::with_intra_threads`](crate::SessionBuilder::with_intra_threads)).
    pub fn run_async(&self, inputs: &[(&str, Arc<Value>)], outputs: &[&str]) -> Result<RunFuture> {
        crate::future::start(&self.inner, inputs, outputs)
    }

    /// A binding of this session: inputs and outputs named once, for many runs.
    pub fn io_binding<'a>(&self) -> Result<IoBinding<'a>> {
        IoBinding::of(&self.inner)
    }

    /// What the model reads, in its order.
    #[must_use]
    pub fn inputs(&self) -> Vec<&ValueInfo> {
        self.inner.inputs[..self.inner.required].iter().map(|p| &p.info).collect()
    }

    /// What the model gives, in its order.
    #[must_use]
    pub fn outputs(&self) -> Vec<&ValueInfo> {
        self.inner.outputs.iter().map(|p| &p.info).collect()
    }

    /// Constants of the model that may be given as inputs, too.
    #[must_use]
    pub fn overridable_initializers(&self) -> Vec<&ValueInfo> {
        self.inner.inputs[self.inner.required..].iter().map(|p| &p.info).collect()
    }

    /// What the model says of itself.
    pub fn metadata(&self) -> Result<ModelMetadata> {
        ffi::metadata(self)
    }

    /// The memory from which each input is read without a copy, in the order of [`Session::inputs`]. Needs a library of
    /// 1.23.
    pub fn input_memory(&self) -> Result<Vec<MemoryInfo>> {
        ffi::memory_of_inputs(self)
    }

    /// The memory in which each output is made, in the order of [`Session::outputs`]. Needs a library of 1.23.
    pub fn output_memory(&self) -> Result<Vec<MemoryInfo>> {
        ffi::memory_of_outputs(self)
    }

    /// The device that reads each input, `None` where its provider does not say. Needs a library of 1.23.
    pub fn input_devices(&self) -> Result<Vec<Option<EpDevice>>> {
        ffi::devices_of_inputs(self)
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("inputs", &self.inputs()).field("outputs", &self.outputs()).finish()
    }
}
