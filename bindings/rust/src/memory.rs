//! Places in memory, and allocators.

use std::sync::Arc;

use crate::error::Result;
use crate::ffi::{self, OrtDeviceMemoryType, OrtMemoryInfoDeviceType};

/// The kind of device that memory belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeviceType {
    /// The processor.
    Cpu,
    /// A graphics processor.
    Gpu,
    /// An FPGA.
    Fpga,
    /// A neural processor.
    Npu,
    /// A kind that this crate does not know.
    Other(i32),
}

impl DeviceType {
    fn from_raw(raw: OrtMemoryInfoDeviceType) -> Self {
        match raw.0 {
            0 => DeviceType::Cpu,
            1 => DeviceType::Gpu,
            2 => DeviceType::Fpga,
            3 => DeviceType::Npu,
            other => DeviceType::Other(other),
        }
    }

    fn raw(self) -> OrtMemoryInfoDeviceType {
        OrtMemoryInfoDeviceType(match self {
            DeviceType::Cpu => 0,
            DeviceType::Gpu => 1,
            DeviceType::Fpga => 2,
            DeviceType::Npu => 3,
            DeviceType::Other(other) => other,
        })
    }
}

/// Who can address the memory of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum MemoryKind {
    /// Only the device.
    #[default]
    Device,
    /// The device and the host (pinned memory).
    HostAccessible,
}

impl MemoryKind {
    fn from_raw(raw: OrtDeviceMemoryType) -> Self {
        if raw == OrtDeviceMemoryType::OrtDeviceMemoryType_HOST_ACCESSIBLE { MemoryKind::HostAccessible } else { MemoryKind::Device }
    }

    pub(crate) fn raw(self) -> OrtDeviceMemoryType {
        match self {
            MemoryKind::Device => OrtDeviceMemoryType::OrtDeviceMemoryType_DEFAULT,
            MemoryKind::HostAccessible => OrtDeviceMemoryType::OrtDeviceMemoryType_HOST_ACCESSIBLE,
        }
    }
}

/// Describes a place in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryDescription {
    /// The name, such as `"Cpu"` or `"Cuda"`. It is a label: two names may mean the same place.
    pub name: String,
    /// The kind of the device.
    pub device_type: DeviceType,
    /// The number of the device among those of its kind, from 0.
    pub device_id: i32,
    /// The PCI id of the vendor of the device; 0 if it does not matter or the library is older than 1.23.
    pub vendor_id: u32,
    /// Who can address the memory.
    pub kind: MemoryKind,
}

impl From<ffi::Description> for MemoryDescription {
    fn from(place: ffi::Description) -> Self {
        MemoryDescription {
            name: place.name,
            device_type: DeviceType::from_raw(place.device),
            device_id: place.id,
            vendor_id: place.vendor,
            kind: MemoryKind::from_raw(place.kind),
        }
    }
}

impl MemoryDescription {
    /// Returns whether the program can read and write the memory.
    #[must_use]
    pub fn is_host_accessible(&self) -> bool {
        self.device_type == DeviceType::Cpu || self.kind == MemoryKind::HostAccessible
    }
}

/// A place in memory, as the library describes it. Outputs whose shape is not known are bound to such places.
/// Immutable; a clone means the same place.
#[derive(Clone)]
pub struct MemoryInfo {
    pub(crate) handle: Arc<ffi::MemoryInfo>,
}

impl MemoryInfo {
    pub(crate) fn of(handle: ffi::MemoryInfo) -> Self {
        MemoryInfo { handle: Arc::new(handle) }
    }

    /// Returns the processor's memory.
    ///
    /// ```
    /// let memory = onnx::MemoryInfo::cpu()?;
    /// assert!(memory.describe()?.is_host_accessible());
    /// # Ok::<(), onnx::OnnxError>(())
    /// ```
    pub fn cpu() -> Result<Self> {
        Ok(Self::of(ffi::MemoryInfo::cpu()?))
    }

    /// Returns memory by a name that the library knows: `"Cpu"`, `"Cuda"`, `"CudaPinned"` and others. Other names are
    /// an error.
    pub fn named(name: &str, device_id: i32) -> Result<Self> {
        Ok(Self::of(ffi::MemoryInfo::named(name, device_id)?))
    }

    /// Creates a place in the memory of any device; the name is a label. Needs version 1.23 of the library.
    pub fn new(description: &MemoryDescription) -> Result<Self> {
        let place = ffi::Description {
            name: description.name.clone(),
            device: description.device_type.raw(),
            id: description.device_id,
            vendor: description.vendor_id,
            kind: description.kind.raw(),
        };
        Ok(Self::of(ffi::MemoryInfo::new(&place)?))
    }

    /// Returns the properties of the place.
    pub fn describe(&self) -> Result<MemoryDescription> {
        Ok(self.handle.describe()?.into())
    }
}

impl PartialEq for MemoryInfo {
    fn eq(&self, other: &Self) -> bool {
        self.handle.equals(&other.handle).unwrap_or(false)
    }
}

impl std::fmt::Debug for MemoryInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("MemoryInfo").field(&self.describe()).finish()
    }
}

/// Allocates memory for tensors, see [`Value::new_in`](crate::Value::new_in). Thread-safe. A clone means the same
/// allocator, and tensors keep their allocator alive.
#[derive(Clone)]
pub struct Allocator {
    pub(crate) handle: Arc<ffi::Allocator>,
}

impl Allocator {
    pub(crate) fn of(handle: ffi::Allocator) -> Self {
        Allocator { handle: Arc::new(handle) }
    }

    /// Returns the library's default allocator, for the processor's memory.
    pub fn cpu() -> Result<Self> {
        Ok(Self::of(ffi::Allocator::cpu()?))
    }

    /// Returns the allocator that all sessions share for a place; `None` if there is none. Needs version 1.23 of the
    /// library.
    pub fn shared(memory: &MemoryInfo) -> Result<Option<Self>> {
        Ok(ffi::Allocator::shared(&memory.handle)?.map(Self::of))
    }

    /// Returns the properties of the memory that it allocates.
    pub fn describe(&self) -> Result<MemoryDescription> {
        Ok(self.handle.describe()?.into())
    }

    /// Returns statistics of its allocations, by name. Needs version 1.23 of the library. It is an error if the
    /// allocator has no statistics.
    pub fn statistics(&self) -> Result<std::collections::BTreeMap<String, String>> {
        Ok(self.handle.statistics()?)
    }
}

impl std::fmt::Debug for Allocator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Allocator").field(&self.describe()).finish()
    }
}
