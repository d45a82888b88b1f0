//! Sessions: loaded models.

use std::sync::Arc;

use crate::device::EpDevice;
use crate::error::{OnnxError, Result};
use crate::ffi;
use crate::memory::{Allocator, MemoryInfo};
use crate::ports::{ModelMetadata, Ports, ValueInfo};

/// A loaded model, created by [`session_builder`](crate::session_builder). Thread-safe: several threads may run it at
/// the same time. Bindings, futures and allocators of a session keep it alive.
///
/// ```no_run
/// use onnx::Value;
/// let session = onnx::session_builder().commit_from_file("model.onnx")?;
/// let x = Value::from_slice::<f32>(&[1, 3], &[0.1, 0.2, 0.3])?;
/// let outputs = session.run(&[("x", &x)], &["y"])?;
/// println!("{:?}", outputs[0].extract_tensor::<f32>()?);
/// # Ok::<(), onnx::OnnxError>(())
/// ```
pub struct Session {
    pub(crate) handle: Arc<ffi::Session>,
    pub(crate) ports: Arc<Ports>,
}

impl Session {
    pub(crate) fn of(handle: ffi::Session) -> Result<Self> {
        Ok(Session { ports: Arc::new(Ports::of(&handle)?), handle: Arc::new(handle) })
    }

    /// Returns the inputs of the model, in its order.
    #[must_use]
    pub fn inputs(&self) -> Vec<&ValueInfo> {
        self.ports.inputs[..self.ports.required].iter().collect()
    }

    /// Returns the outputs of the model, in its order.
    #[must_use]
    pub fn outputs(&self) -> Vec<&ValueInfo> {
        self.ports.outputs.iter().map(|p| &p.info).collect()
    }

    /// Returns the initializers of the model that an input may replace.
    #[must_use]
    pub fn overridable_initializers(&self) -> Vec<&ValueInfo> {
        self.ports.inputs[self.ports.required..].iter().collect()
    }

    /// Returns the metadata of the model.
    pub fn metadata(&self) -> Result<ModelMetadata> {
        ModelMetadata::of(&self.handle)
    }

    /// Returns the memory from which each input is read without a copy, in the order of [`Session::inputs`]. Needs
    /// version 1.23 of the library.
    pub fn input_memory(&self) -> Result<Vec<MemoryInfo>> {
        Ok(self.handle.input_memory()?.into_iter().map(MemoryInfo::of).collect())
    }

    /// Returns the memory in which each output is allocated, in the order of [`Session::outputs`]. Needs version 1.23
    /// of the library.
    pub fn output_memory(&self) -> Result<Vec<MemoryInfo>> {
        Ok(self.handle.output_memory()?.into_iter().map(MemoryInfo::of).collect())
    }

    /// Returns the device that reads each input; `None` if its provider does not report one. Needs version 1.23 of the
    /// library.
    pub fn input_devices(&self) -> Result<Vec<Option<EpDevice>>> {
        Ok(self.handle.input_devices()?.into_iter().map(|device| device.map(EpDevice::of)).collect())
    }

    /// Changes options of the session's providers from the next run on, such as `("ep.dynamic.workload_type",
    /// "Efficient")`, with which runs use less power, until the value is `"Default"` again. At least one option must be
    /// given; those whose values are addresses are refused. Needs version 1.20 of the library.
    pub fn set_dynamic_options(&self, options: &[(&str, &str)]) -> Result<()> {
        if options.is_empty() {
            return Err(OnnxError::invalid("no option is given: give at least one key and its value"));
        }
        Ok(self.handle.set_dynamic_options(options)?)
    }
}

impl Allocator {
    /// Creates an allocator of a session for a place. It is an error if the session has no allocator for it.
    pub fn of_session(session: &Session, memory: &MemoryInfo) -> Result<Self> {
        Ok(Self::of(session.handle.allocator(&memory.handle)?))
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("inputs", &self.inputs()).field("outputs", &self.outputs()).finish()
    }
}
