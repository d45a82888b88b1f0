//! Devices, and copies between them.

#[allow(unsafe_code)]
pub(crate) mod ffi;

use std::collections::BTreeMap;

use crate::error::{OnnxError, Result};
use crate::memory::{Allocator, MemoryInfo, MemoryKind};
use crate::value::{Value, ValueKind};

/// The kind of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HardwareType {
    /// A processor.
    Cpu,
    /// A graphics processor.
    Gpu,
    /// A processor for networks.
    Npu,
    /// A kind that this crate does not know.
    Other(i32),
}

/// A device of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HardwareDevice {
    /// Its kind.
    pub hardware_type: HardwareType,
    /// Who made it.
    pub vendor: String,
    /// The PCI number of who made it.
    pub vendor_id: u32,
    /// The number that its maker gave to the model of the device.
    pub device_id: u32,
    /// Whatever else is known of it.
    pub metadata: BTreeMap<String, String>,
}

/// A device together with the execution provider that drives it: what sessions are put on. Lives as long as the process.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct EpDevice {
    handle: ffi::DeviceHandle,
}

impl EpDevice {
    pub(crate) fn raw(&self) -> *const crate::ffi::OrtEpDevice {
        self.handle.raw()
    }

    /// The name of the provider.
    pub fn provider(&self) -> Result<String> {
        ffi::provider(self)
    }

    /// Who made the provider.
    pub fn provider_vendor(&self) -> Result<String> {
        ffi::provider_vendor(self)
    }

    /// What the provider says of itself and the device.
    pub fn metadata(&self) -> Result<BTreeMap<String, String>> {
        ffi::metadata(self)
    }

    /// The options that the provider takes for this device where none are given.
    pub fn options(&self) -> Result<BTreeMap<String, String>> {
        ffi::options(self)
    }

    /// The device itself.
    pub fn hardware(&self) -> Result<HardwareDevice> {
        ffi::hardware(self)
    }

    /// Memory of the device; `None` where it has none of that kind. Needs a library of 1.23.
    pub fn memory(&self, kind: MemoryKind) -> Result<Option<MemoryInfo>> {
        ffi::memory(self, kind)
    }

    /// The allocator that all sessions share for memory of the device. An error where it has none of that kind. Needs a
    /// library of 1.23.
    pub fn allocator(&self, kind: MemoryKind) -> Result<Allocator> {
        ffi::allocator(self, kind).map(Allocator::of)
    }
}

impl std::fmt::Debug for EpDevice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EpDevice").field("provider", &self.provider()).field("hardware", &self.hardware()).finish()
    }
}

/// Copies tensors, to devices, from devices, or within the host; the copies are complete when the call returns.
///
/// Each pair has one type and one shape. All sources lie in one memory, and all destinations do. Tensors of strings
/// cannot be copied so. Copies to and from devices need a library of 1.23 and a provider that does them.
///
/// ```
/// use onnx::Value;
/// let from = Value::from_slice(&[2], &[1f32, 2.0])?;
/// let mut to = Value::zeros::<f32>(&[2])?;
/// onnx::copy_tensors(&[&from], &mut [&mut to])?;
/// assert_eq!(to.extract_tensor::<f32>()?, [1.0, 2.0]);
/// # Ok::<(), onnx::OnnxError>(())
/// ```
pub fn copy_tensors(from: &[&Value], to: &mut [&mut Value]) -> Result<()> {
    if from.len() != to.len() {
        return Err(OnnxError::invalid(format!("{} tensors are to be copied to {}: give as many", from.len(), to.len())));
    }
    let mut within_host = true;
    for (at, (source, target)) in from.iter().zip(to.iter_mut()).enumerate() {
        check_pair(at, source, target)?;
        target.make_unique()?;
        within_host &= source.memory()?.is_host_accessible() && target.memory()?.is_host_accessible();
    }
    // Within the host libraries have nothing to copy with.
    if !within_host {
        return ffi::copy(from, to);
    }
    for (source, target) in from.iter().zip(to) {
        target.bytes_mut()?.copy_from_slice(source.extract_bytes()?);
    }
    Ok(())
}

/// The library does not check this: it would write beyond the end of a smaller tensor.
fn check_pair(at: usize, from: &Value, to: &Value) -> Result<()> {
    for value in [from, to] {
        let kind = value.kind()?;
        if kind != ValueKind::Tensor {
            return Err(OnnxError::invalid(format!("value {at} to copy is of kind {kind:?}: only tensors can be copied so")));
        }
    }
    let (source, target) = ((from.element_type()?, from.shape()?), (to.element_type()?, to.shape()?));
    if source != target || source.0.bits() == 0 {
        let message = format!("tensor {at} of {:?} {:?} cannot be copied into one of {:?} {:?}", source.0, source.1, target.0, target.1);
        return Err(OnnxError::invalid(message));
    }
    Ok(())
}
