//! Where memory lies, and who hands it out.

#[allow(unsafe_code)]
pub(crate) mod ffi;

use std::sync::Arc;

use crate::error::Result;
use crate::session::Session;

/// The kind of device that memory belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeviceType {
    /// The processor.
    Cpu,
    /// A graphics processor.
    Gpu,
    /// An array of gates.
    Fpga,
    /// A processor for networks.
    Npu,
    /// A kind that this crate does not know.
    Other(i32),
}

/// Who can address the memory of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum MemoryKind {
    /// The device.
    #[default]
    Device,
    /// The device and the host: pinned memory.
    HostAccessible,
}

/// What there is to know of a place in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryDescription {
    /// Its name, `"Cpu"` or `"Cuda"` for instance: a label, two names may mean one place.
    pub name: String,
    /// The kind of the device.
    pub device_type: DeviceType,
    /// Which of the devices of that kind.
    pub device_id: i32,
    /// The PCI number of who made the device; 0 where that does not matter or the library is older than 1.23.
    pub vendor_id: u32,
    /// Who can address it.
    pub kind: MemoryKind,
}

impl MemoryDescription {
    /// Whether the program can read and write it.
    #[must_use]
    pub fn is_host_accessible(&self) -> bool {
        self.device_type == DeviceType::Cpu || self.kind == MemoryKind::HostAccessible
    }
}

/// A place in memory, as the library knows it: what an output is bound to whose shape is not known. Immutable;
/// a clone means the same place.
#[derive(Clone)]
pub struct MemoryInfo {
    handle: Arc<ffi::Info>,
}

impl MemoryInfo {
    pub(crate) fn of(handle: ffi::Info) -> Self {
        MemoryInfo { handle: Arc::new(handle) }
    }

    pub(crate) fn raw(&self) -> *const crate::ffi::OrtMemoryInfo {
        self.handle.raw()
    }

    /// Memory of the processor.
    ///
    /// ```
    /// let memory = onnx::MemoryInfo::cpu()?;
    /// assert!(memory.describe()?.is_host_accessible());
    /// # Ok::<(), onnx::OnnxError>(())
    /// ```
    pub fn cpu() -> Result<Self> {
        ffi::cpu().map(Self::of)
    }

    /// Memory by a name that the library knows: `"Cpu"`, `"Cuda"`, `"CudaPinned"` and others; an error for other names.
    pub fn named(name: &str, device_id: i32) -> Result<Self> {
        ffi::named(name, device_id).map(Self::of)
    }

    /// Memory of any device; `name` is a label. Needs a library of 1.23.
    pub fn new(description: &MemoryDescription) -> Result<Self> {
        ffi::described(description).map(Self::of)
    }

    /// What the library says of it.
    pub fn describe(&self) -> Result<MemoryDescription> {
        ffi::describe_info(self)
    }
}

impl PartialEq for MemoryInfo {
    fn eq(&self, other: &Self) -> bool {
        ffi::equal(self, other)
    }
}

impl std::fmt::Debug for MemoryInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("MemoryInfo").field(&self.describe()).finish()
    }
}

/// Hands out memory for tensors, see [`Value::new_in`](crate::Value::new_in). Thread-safe; a clone means the same
/// allocator, and tensors keep theirs alive.
#[derive(Clone)]
pub struct Allocator {
    inner: Arc<ffi::AllocatorHandle>,
}

impl Allocator {
    pub(crate) fn of(handle: ffi::AllocatorHandle) -> Self {
        Allocator { inner: Arc::new(handle) }
    }

    pub(crate) fn raw(&self) -> *mut crate::ffi::OrtAllocator {
        self.inner.raw()
    }

    /// The library's own allocator, of the processor's memory.
    pub fn cpu() -> Result<Self> {
        ffi::default_allocator().map(Self::of)
    }

    /// The allocator of a session for a place; an error where the session has none for it.
    pub fn of_session(session: &Session, memory: &MemoryInfo) -> Result<Self> {
        ffi::session_allocator(session, memory).map(Self::of)
    }

    /// The allocator that all sessions share for a place; `None` where there is none. Needs a library of 1.23.
    pub fn shared(memory: &MemoryInfo) -> Result<Option<Self>> {
        Ok(ffi::shared(memory)?.map(Self::of))
    }

    /// The memory that it hands out.
    pub fn describe(&self) -> Result<MemoryDescription> {
        ffi::describe_allocator(self)
    }

    /// Numbers on what it has handed out, by name. Needs a library of 1.23; an error for allocators that do not count.
    pub fn statistics(&self) -> Result<std::collections::BTreeMap<String, String>> {
        ffi::statistics(self)
    }
}

impl std::fmt::Debug for Allocator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Allocator").field(&self.describe()).finish()
    }
}
