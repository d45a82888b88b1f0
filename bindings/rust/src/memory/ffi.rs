//! Raw calls about memory.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr::{NonNull, null_mut};
use std::sync::{Arc, OnceLock};

use super::{Allocator, DeviceType, MemoryDescription, MemoryInfo, MemoryKind};
use crate::error::Result;
use crate::ffi::{
    OrtAllocator, OrtAllocatorType, OrtDeviceMemoryType, OrtKeyValuePairs, OrtMemType, OrtMemoryInfo, OrtMemoryInfoDeviceType, since,
};
use crate::library::ffi::{api, call, handle, nothing, slot, text};
use crate::session::{Session, SessionInner};

handle!(
    /// A description that was made here.
    InfoHandle, OrtMemoryInfo, ReleaseMemoryInfo
);
handle!(PairsHandle, OrtKeyValuePairs, ReleaseKeyValuePairs);

/// A description, and what keeps it alive.
pub(crate) enum Info {
    Owned(InfoHandle),
    /// Of a device: lives as long as the process, since libraries of providers are never unloaded.
    Static(NonNull<OrtMemoryInfo>),
    /// A view into a session.
    Session(NonNull<OrtMemoryInfo>, #[allow(dead_code)] Arc<SessionInner>),
}

// SAFETY: descriptions are immutable, and what they lie in is kept.
unsafe impl Send for Info {}
// SAFETY: as above.
unsafe impl Sync for Info {}

impl Info {
    pub(crate) fn raw(&self) -> *const OrtMemoryInfo {
        match self {
            Info::Owned(handle) => handle.raw(),
            Info::Static(raw) | Info::Session(raw, _) => raw.as_ptr(),
        }
    }
}

pub(super) fn cpu() -> Result<Info> {
    let mut raw = null_mut();
    // SAFETY: the library gives a new description.
    unsafe { call!(CreateCpuMemoryInfo(OrtAllocatorType::OrtDeviceAllocator, OrtMemType::OrtMemTypeDefault, &raw mut raw))? };
    InfoHandle::of(raw).map(Info::Owned)
}

/// The processor's memory, described once: the description is immutable and lives as long as the process.
pub(crate) fn cpu_raw() -> Result<*const OrtMemoryInfo> {
    static CPU: OnceLock<Info> = OnceLock::new();
    if let Some(known) = CPU.get() {
        return Ok(known.raw());
    }
    let made = cpu()?;
    Ok(CPU.get_or_init(|| made).raw())
}

pub(super) fn named(name: &str, id: i32) -> Result<Info> {
    let (name, mut raw) = (CString::new(name)?, null_mut());
    // SAFETY: the library copies the name and gives a new description.
    unsafe {
        call!(CreateMemoryInfo(name.as_ptr(), OrtAllocatorType::OrtDeviceAllocator, id, OrtMemType::OrtMemTypeDefault, &raw mut raw))?
    };
    InfoHandle::of(raw).map(Info::Owned)
}

pub(crate) fn raw_kind(kind: MemoryKind) -> OrtDeviceMemoryType {
    match kind {
        MemoryKind::Device => OrtDeviceMemoryType::OrtDeviceMemoryType_DEFAULT,
        MemoryKind::HostAccessible => OrtDeviceMemoryType::OrtDeviceMemoryType_HOST_ACCESSIBLE,
    }
}

pub(super) fn described(place: &MemoryDescription) -> Result<Info> {
    let (name, mut raw) = (CString::new(place.name.as_str())?, null_mut());
    let device = OrtMemoryInfoDeviceType(match place.device_type {
        DeviceType::Cpu => 0,
        DeviceType::Gpu => 1,
        DeviceType::Fpga => 2,
        DeviceType::Npu => 3,
        DeviceType::Other(other) => other,
    });
    let (kind, form) = (raw_kind(place.kind), OrtAllocatorType::OrtDeviceAllocator);
    // SAFETY: the library copies the name and gives a new description.
    unsafe { call!(CreateMemoryInfo_V2(name.as_ptr(), device, place.vendor_id, place.device_id, kind, 0, form, &raw mut raw))? };
    InfoHandle::of(raw).map(Info::Owned)
}

pub(super) fn equal(one: &MemoryInfo, other: &MemoryInfo) -> bool {
    let compare = || -> Result<bool> {
        let mut differs = 1;
        // SAFETY: both descriptions live.
        unsafe { call!(CompareMemoryInfo(one.raw(), other.raw(), &raw mut differs))? };
        Ok(differs == 0)
    };
    compare().unwrap_or(false)
}

pub(super) fn describe_info(info: &MemoryInfo) -> Result<MemoryDescription> {
    // SAFETY: the description lives.
    unsafe { describe(info.raw()) }
}

pub(super) fn describe_allocator(allocator: &Allocator) -> Result<MemoryDescription> {
    let mut raw = std::ptr::null();
    // SAFETY: the allocator lives, and the view into it is used before that ends.
    unsafe {
        call!(AllocatorGetInfo(allocator.raw(), &raw mut raw))?;
        describe(raw)
    }
}

/// # Safety
/// The description lives.
pub(crate) unsafe fn describe(raw: *const OrtMemoryInfo) -> Result<MemoryDescription> {
    let (mut name, mut id, mut device) = (std::ptr::null(), 0, OrtMemoryInfoDeviceType(0));
    // SAFETY: as above; the name is copied.
    unsafe {
        call!(MemoryInfoGetName(raw, &raw mut name))?;
        call!(MemoryInfoGetId(raw, &raw mut id))?;
        slot!(MemoryInfoGetDeviceType)(raw, &raw mut device);
        let device_type = match device.0 {
            0 => DeviceType::Cpu,
            1 => DeviceType::Gpu,
            2 => DeviceType::Fpga,
            3 => DeviceType::Npu,
            other => DeviceType::Other(other),
        };
        let newer = api()?.version >= since::MemoryInfoGetVendorId;
        let vendor_id = if newer { slot!(MemoryInfoGetVendorId)(raw) } else { 0 };
        let pinned = newer && slot!(MemoryInfoGetDeviceMemType)(raw) == OrtDeviceMemoryType::OrtDeviceMemoryType_HOST_ACCESSIBLE;
        let kind = if pinned { MemoryKind::HostAccessible } else { MemoryKind::Device };
        Ok(MemoryDescription { name: text(name), device_type, device_id: id, vendor_id, kind })
    }
}

/// # Safety
/// The description lives.
pub(crate) unsafe fn is_host_accessible(raw: *const OrtMemoryInfo) -> Result<bool> {
    let mut device = OrtMemoryInfoDeviceType(0);
    // SAFETY: as above.
    unsafe {
        slot!(MemoryInfoGetDeviceType)(raw, &raw mut device);
        Ok(device == OrtMemoryInfoDeviceType::OrtMemoryInfoDeviceType_CPU
            || (api()?.version >= since::MemoryInfoGetDeviceMemType
                && slot!(MemoryInfoGetDeviceMemType)(raw) == OrtDeviceMemoryType::OrtDeviceMemoryType_HOST_ACCESSIBLE))
    }
}

/// An allocator, and what keeps it alive.
pub(crate) struct AllocatorHandle {
    raw: NonNull<OrtAllocator>,
    /// Released here, before the session that it is of; the library's others live as long as the process.
    session: Option<Arc<SessionInner>>,
}

// SAFETY: the library's allocators lock by themselves.
unsafe impl Send for AllocatorHandle {}
// SAFETY: as above.
unsafe impl Sync for AllocatorHandle {}

impl AllocatorHandle {
    pub(crate) fn lasting(raw: *mut OrtAllocator) -> Result<Self> {
        let raw = NonNull::new(raw).ok_or_else(|| nothing("OrtAllocator"))?;
        Ok(AllocatorHandle { raw, session: None })
    }

    pub(crate) fn raw(&self) -> *mut OrtAllocator {
        self.raw.as_ptr()
    }
}

impl Drop for AllocatorHandle {
    fn drop(&mut self) {
        if self.session.is_some() {
            let release = || -> Result<()> {
                // SAFETY: the allocator is owned, and no tensor of it is left: each holds a clone of the owner.
                unsafe { slot!(ReleaseAllocator)(self.raw.as_ptr()) };
                Ok(())
            };
            let _ = release();
        }
    }
}

/// The library's own allocator, which lives as long as the process, asked for once.
pub(crate) fn default_raw() -> Result<*mut OrtAllocator> {
    static DEFAULT: OnceLock<AllocatorHandle> = OnceLock::new();
    if let Some(known) = DEFAULT.get() {
        return Ok(known.raw());
    }
    let mut raw = null_mut();
    // SAFETY: this allocator is never released.
    unsafe { call!(GetAllocatorWithDefaultOptions(&raw mut raw))? };
    let found = AllocatorHandle::lasting(raw)?;
    Ok(DEFAULT.get_or_init(|| found).raw())
}

pub(super) fn default_allocator() -> Result<AllocatorHandle> {
    crate::environment::init()?;
    AllocatorHandle::lasting(default_raw()?)
}

pub(super) fn session_allocator(session: &Session, memory: &MemoryInfo) -> Result<AllocatorHandle> {
    let mut raw = null_mut();
    // SAFETY: session and description live; the allocator keeps the session.
    unsafe { call!(CreateAllocator(session.raw(), memory.raw(), &raw mut raw))? };
    let raw = NonNull::new(raw).ok_or_else(|| nothing("OrtAllocator"))?;
    Ok(AllocatorHandle { raw, session: Some(session.inner().clone()) })
}

pub(crate) fn shared(memory: &MemoryInfo) -> Result<Option<AllocatorHandle>> {
    let (environment, mut raw) = (crate::environment::init()?, null_mut());
    // SAFETY: the environment owns the allocator, and nothing here replaces or releases one of those.
    unsafe { call!(GetSharedAllocator(environment.raw(), memory.raw(), &raw mut raw))? };
    if raw.is_null() { Ok(None) } else { AllocatorHandle::lasting(raw).map(Some) }
}

pub(super) fn statistics(allocator: &Allocator) -> Result<BTreeMap<String, String>> {
    let mut raw = null_mut();
    // SAFETY: the allocator lives; the pairs are owned and read before they are released.
    unsafe {
        call!(AllocatorGetStats(allocator.raw(), &raw mut raw))?;
        let pairs = PairsHandle::of(raw)?;
        read_pairs(pairs.raw())
    }
}

/// A copy of pairs of the library.
///
/// # Safety
/// The pairs live, or are null.
pub(crate) unsafe fn read_pairs(raw: *const OrtKeyValuePairs) -> Result<BTreeMap<String, String>> {
    let (mut keys, mut values, mut count) = (std::ptr::null(), std::ptr::null(), 0);
    if raw.is_null() {
        return Ok(BTreeMap::new());
    }
    // SAFETY: the library gives two arrays of that many texts.
    unsafe {
        slot!(GetKeyValuePairs)(raw, &raw mut keys, &raw mut values, &raw mut count);
        Ok((0..count).map(|at| (text(*keys.add(at)), text(*values.add(at)))).collect())
    }
}

/// Copies a text that the default allocator gave, and frees it.
///
/// # Safety
/// The text is the caller's, from the default allocator, or null.
pub(crate) unsafe fn take_text(raw: *mut c_char) -> Result<String> {
    if raw.is_null() {
        return Ok(String::new());
    }
    // SAFETY: as above.
    unsafe {
        let copied = CStr::from_ptr(raw).to_string_lossy().into_owned();
        free(raw.cast())?;
        Ok(copied)
    }
}

/// Gives a block back to the default allocator.
///
/// # Safety
/// The block is the caller's, from the default allocator, or null; it is not used again.
pub(crate) unsafe fn free(raw: *mut c_void) -> Result<()> {
    if raw.is_null() {
        return Ok(());
    }
    // SAFETY: as above.
    unsafe { call!(AllocatorFree(default_raw()?, raw)) }
}
