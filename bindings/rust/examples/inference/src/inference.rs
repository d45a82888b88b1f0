//! Creates sessions on a device.

use std::path::Path;

use crate::Result;

/// Loads the library if it is not loaded, so that a program can find out early whether there is one. It may be called
/// several times. Thread-safe. The other functions do this as well.
pub fn ensure_onnx_init() -> Result<()> {
    onnx::init()?;
    Ok(())
}

/// The device that models run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Device {
    /// The processor.
    #[default]
    Cpu,
    /// The CUDA device with this number; 0 is the first. Needs the feature `cuda`.
    #[cfg(feature = "cuda")]
    Cuda(i32),
}

/// Loads models for one device.
///
/// ```no_run
/// use inference::{Device, Inference};
/// let session = Inference::new(Device::Cpu).onnx_session("model.onnx")?;
/// println!("{:?}", session.inputs());
/// # Ok::<(), inference::InferError>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Inference {
    device: Device,
}

impl Inference {
    /// Uses this device.
    #[must_use]
    pub fn new(device: Device) -> Self {
        Inference { device }
    }

    /// Loads a model from a file. The session has two threads, because asynchronous runs need a second one. It is an
    /// error if the library does not support the device.
    pub fn onnx_session(&self, path: impl AsRef<Path>) -> Result<onnx::Session> {
        let builder = onnx::session_builder().with_intra_threads(2);
        let builder = match self.device {
            Device::Cpu => builder.with_cpu(),
            #[cfg(feature = "cuda")]
            Device::Cuda(ordinal) => builder.with_cuda(ordinal),
        };
        Ok(builder.commit_from_file(path)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/model/tts.onnx");

    #[test]
    fn sessions_have_the_ports_of_the_model() {
        ensure_onnx_init().unwrap();
        let session: onnx::Session = Inference::new(Device::Cpu).onnx_session(MODEL).unwrap();
        assert_eq!(session.inputs().len(), 3);
        let error = Inference::default().onnx_session("no/such/model.onnx").unwrap_err();
        assert!(error.to_string().contains("no/such/model.onnx"), "{error}");
    }

    /// The library gives a session on the device, or an error that names what is missing.
    #[cfg(feature = "cuda")]
    #[test]
    fn a_cuda_device_is_used_or_named() {
        match Inference::new(Device::Cuda(0)).onnx_session(MODEL) {
            Ok(session) => assert_eq!(session.inputs().len(), 3),
            Err(error) => assert!(error.to_string().to_lowercase().contains("cuda"), "{error}"),
        }
    }
}
