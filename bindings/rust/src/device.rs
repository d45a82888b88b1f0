//! Devices, and copies between them.

use std::collections::BTreeMap;

use crate::error::{OnnxError, Result};
use crate::ffi;
use crate::init::Environment;
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
    /// A neural processor.
    Npu,
    /// A kind that this crate does not know.
    Other(i32),
}

/// A device of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HardwareDevice {
    /// The kind of the device.
    pub hardware_type: HardwareType,
    /// The vendor of the device.
    pub vendor: String,
    /// The PCI id of the vendor.
    pub vendor_id: u32,
    /// The id of the device's model, as the vendor assigned it.
    pub device_id: u32,
    /// Further metadata.
    pub metadata: BTreeMap<String, String>,
}

/// A device together with the execution provider that drives it. Sessions run on such devices. It exists until the
/// process ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct EpDevice {
    pub(crate) handle: ffi::EpDevice,
}

/// How much memory a device has, in bytes, as its provider says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryCapacity {
    /// All of it.
    pub total: usize,
    /// What can still be allocated.
    pub available: usize,
}

impl Environment {
    /// Returns the devices that sessions can run on, with the provider that drives each. The processor is always one of
    /// them.
    ///
    /// Needs version 1.22 of the library.
    pub fn devices(&self) -> Result<Vec<EpDevice>> {
        Ok(self.handle.devices()?.into_iter().map(EpDevice::of).collect())
    }
}

impl EpDevice {
    pub(crate) fn of(handle: ffi::EpDevice) -> Self {
        EpDevice { handle }
    }

    /// Returns the name of the provider.
    pub fn provider(&self) -> Result<String> {
        Ok(self.handle.provider()?)
    }

    /// Returns the vendor of the provider.
    pub fn provider_vendor(&self) -> Result<String> {
        Ok(self.handle.provider_vendor()?)
    }

    /// Returns the metadata of the provider and the device.
    pub fn metadata(&self) -> Result<BTreeMap<String, String>> {
        Ok(self.handle.metadata()?)
    }

    /// Returns the options that the provider uses for this device by default.
    pub fn options(&self) -> Result<BTreeMap<String, String>> {
        Ok(self.handle.options()?)
    }

    /// Returns the device itself.
    pub fn hardware(&self) -> Result<HardwareDevice> {
        let hardware_type = match self.handle.hardware_type()?.0 {
            0 => HardwareType::Cpu,
            1 => HardwareType::Gpu,
            2 => HardwareType::Npu,
            other => HardwareType::Other(other),
        };
        let (vendor_id, device_id) = self.handle.hardware_ids()?;
        let (vendor, metadata) = (self.handle.hardware_vendor()?, self.handle.hardware_metadata()?);
        Ok(HardwareDevice { hardware_type, vendor, vendor_id, device_id, metadata })
    }

    /// Returns the place of the device's memory; `None` if it has no memory of that kind. Needs version 1.23 of the
    /// library.
    pub fn memory(&self, kind: MemoryKind) -> Result<Option<MemoryInfo>> {
        Ok(self.handle.memory(kind.raw())?.map(MemoryInfo::of))
    }

    /// Returns how much memory of that kind the device has. It is an error if the provider does not say; that of the
    /// processor does not. Needs version 1.32 of the library.
    pub fn memory_capacity(&self, kind: MemoryKind) -> Result<MemoryCapacity> {
        let (total, available) = self.handle.memory_capacity(kind.raw())?;
        Ok(MemoryCapacity { total, available })
    }

    /// Returns the allocator that all sessions share for memory of the device. It is an error if the device has no
    /// memory of that kind. Needs version 1.23 of the library.
    pub fn allocator(&self, kind: MemoryKind) -> Result<Allocator> {
        Ok(Allocator::of(self.handle.allocator(kind.raw())?))
    }
}

impl std::fmt::Debug for EpDevice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EpDevice").field("provider", &self.provider()).field("hardware", &self.hardware()).finish()
    }
}

/// Copies tensors to devices, from devices, or within the host. The copies are complete when this returns.
///
/// The tensors of a pair must have the same type and shape. All sources must be in one place, and so must all targets.
/// Tensors of strings cannot be copied this way. Copies to and from devices need version 1.23 of the library and a
/// provider that supports them.
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
        return Err(OnnxError::invalid(format!(
            "{} tensors cannot be copied to {}: pass as many targets as sources",
            from.len(),
            to.len()
        )));
    }
    let mut within_host = true;
    for (at, (source, target)) in from.iter().zip(to.iter_mut()).enumerate() {
        check_pair(at, source, target)?;
        target.make_unique()?;
        within_host &= source.memory()?.is_host_accessible() && target.memory()?.is_host_accessible();
    }
    // Libraries have no function that copies within the host.
    if !within_host {
        return Ok(ffi::copy_tensors(from.iter().map(|v| &v.inner), to.iter_mut().map(|v| &mut v.inner))?);
    }
    for (source, target) in from.iter().zip(to) {
        target.bytes_mut()?.copy_from_slice(source.extract_bytes()?);
    }
    Ok(())
}

/// Checks one pair. The library does not: it would write beyond the end of a smaller tensor.
fn check_pair(at: usize, from: &Value, to: &Value) -> Result<()> {
    for value in [from, to] {
        let kind = value.kind()?;
        if kind != ValueKind::Tensor {
            return Err(OnnxError::invalid(format!("value {at} to copy is of kind {kind:?}: only tensors can be copied this way")));
        }
    }
    let (source, target) = ((from.element_type()?, from.shape()?), (to.element_type()?, to.shape()?));
    if source != target || source.0.bits() == 0 {
        let message = format!("tensor {at} of {:?} {:?} cannot be copied into one of {:?} {:?}", source.0, source.1, target.0, target.1);
        return Err(OnnxError::invalid(message));
    }
    Ok(())
}
