//! Places in memory, and allocators.

use std::collections::BTreeMap;
use std::ffi::{CString, c_char, c_void};
use std::ptr::{NonNull, null, null_mut};
use std::sync::{Arc, OnceLock};

use super::call::{call, handle, slot};
use super::environment::Environment;
use super::error::{Error, Result};
use super::library::api;
use super::tables::{
    OrtAllocator, OrtAllocatorType, OrtDeviceMemoryType, OrtKeyValuePairs, OrtMemType, OrtMemoryInfo, OrtMemoryInfoDeviceType, since,
};
use super::text::text;

handle!(
    /// An `OrtMemoryInfo` that this crate created.
    InfoHandle, OrtMemoryInfo, ReleaseMemoryInfo
);
handle!(PairsHandle, OrtKeyValuePairs, ReleaseKeyValuePairs);

/// Keeps the session alive that a handle points into.
pub(super) type Owner = Arc<dyn Send + Sync>;

/// Describes a place in memory.
pub(crate) enum MemoryInfo {
    Owned(InfoHandle),
    /// A pointer into its owner; without an owner, it is valid until the process ends.
    View(NonNull<OrtMemoryInfo>, #[allow(dead_code)] Option<Owner>),
}

// SAFETY: memory infos are immutable, and their owners are kept alive.
unsafe impl Send for MemoryInfo {}
// SAFETY: as above.
unsafe impl Sync for MemoryInfo {}

/// The properties of a place in memory.
pub(crate) struct Description {
    pub(crate) name: String,
    pub(crate) device: OrtMemoryInfoDeviceType,
    pub(crate) id: i32,
    /// 0 if the library is older than 1.23.
    pub(crate) vendor: u32,
    pub(crate) kind: OrtDeviceMemoryType,
}

impl MemoryInfo {
    pub(super) fn raw(&self) -> *const OrtMemoryInfo {
        match self {
            MemoryInfo::Owned(handle) => handle.raw(),
            MemoryInfo::View(raw, _) => raw.as_ptr(),
        }
    }

    /// Returns the processor's memory.
    pub(crate) fn cpu() -> Result<Self> {
        let mut raw = null_mut();
        // SAFETY: the library returns a new memory info.
        unsafe { call!(CreateCpuMemoryInfo(OrtAllocatorType::OrtDeviceAllocator, OrtMemType::OrtMemTypeDefault, &raw mut raw))? };
        InfoHandle::of(raw).map(MemoryInfo::Owned)
    }

    pub(crate) fn named(name: &str, id: i32) -> Result<Self> {
        let (name, mut raw) = (CString::new(name)?, null_mut());
        let (form, kind) = (OrtAllocatorType::OrtDeviceAllocator, OrtMemType::OrtMemTypeDefault);
        // SAFETY: the library copies the name and returns a new memory info.
        unsafe { call!(CreateMemoryInfo(name.as_ptr(), form, id, kind, &raw mut raw))? };
        InfoHandle::of(raw).map(MemoryInfo::Owned)
    }

    pub(crate) fn new(place: &Description) -> Result<Self> {
        let (name, form, mut raw) = (CString::new(place.name.as_str())?, OrtAllocatorType::OrtDeviceAllocator, null_mut());
        // SAFETY: the library copies the name and returns a new memory info.
        unsafe { call!(CreateMemoryInfo_V2(name.as_ptr(), place.device, place.vendor, place.id, place.kind, 0, form, &raw mut raw))? };
        InfoHandle::of(raw).map(MemoryInfo::Owned)
    }

    pub(crate) fn describe(&self) -> Result<Description> {
        // SAFETY: the memory info is valid.
        unsafe { describe(self.raw()) }
    }

    pub(crate) fn equals(&self, other: &Self) -> Result<bool> {
        let mut differs = 1;
        // SAFETY: both memory infos are valid.
        unsafe { call!(CompareMemoryInfo(self.raw(), other.raw(), &raw mut differs))? };
        Ok(differs == 0)
    }
}

/// Returns the place of an arena of the processor's memory.
pub(super) fn arena_info() -> Result<MemoryInfo> {
    let mut raw = null_mut();
    // SAFETY: the library returns a new memory info.
    unsafe { call!(CreateCpuMemoryInfo(OrtAllocatorType::OrtArenaAllocator, OrtMemType::OrtMemTypeDefault, &raw mut raw))? };
    InfoHandle::of(raw).map(MemoryInfo::Owned)
}

/// Returns the memory info of the processor's memory, which is created once, is immutable, and is never released.
pub(super) fn cpu_raw() -> Result<*const OrtMemoryInfo> {
    static CPU: OnceLock<MemoryInfo> = OnceLock::new();
    if let Some(known) = CPU.get() {
        return Ok(known.raw());
    }
    let made = MemoryInfo::cpu()?;
    Ok(CPU.get_or_init(|| made).raw())
}

/// # Safety
/// The memory info must be valid.
pub(super) unsafe fn describe(raw: *const OrtMemoryInfo) -> Result<Description> {
    let (mut name, mut id, mut device) = (null(), 0, OrtMemoryInfoDeviceType(0));
    // SAFETY: as above. The name is copied.
    unsafe {
        call!(MemoryInfoGetName(raw, &raw mut name))?;
        call!(MemoryInfoGetId(raw, &raw mut id))?;
        slot!(MemoryInfoGetDeviceType)(raw, &raw mut device);
        let newer = api()?.version >= since::MemoryInfoGetVendorId;
        let vendor = if newer { slot!(MemoryInfoGetVendorId)(raw) } else { 0 };
        let usual = OrtDeviceMemoryType::OrtDeviceMemoryType_DEFAULT;
        let kind = if newer { slot!(MemoryInfoGetDeviceMemType)(raw) } else { usual };
        Ok(Description { name: text(name), device, id, vendor, kind })
    }
}

/// # Safety
/// The memory info must be valid.
pub(super) unsafe fn is_host_accessible(raw: *const OrtMemoryInfo) -> Result<bool> {
    let mut device = OrtMemoryInfoDeviceType(0);
    // SAFETY: as above.
    unsafe {
        slot!(MemoryInfoGetDeviceType)(raw, &raw mut device);
        Ok(device == OrtMemoryInfoDeviceType::OrtMemoryInfoDeviceType_CPU
            || (api()?.version >= since::MemoryInfoGetDeviceMemType
                && slot!(MemoryInfoGetDeviceMemType)(raw) == OrtDeviceMemoryType::OrtDeviceMemoryType_HOST_ACCESSIBLE))
    }
}

pub(crate) struct Allocator {
    raw: NonNull<OrtAllocator>,
    /// If set, the allocator belongs to this session and is released before it. Other allocators are never released.
    session: Option<Owner>,
}

// SAFETY: the library's allocators use locks of their own.
unsafe impl Send for Allocator {}
// SAFETY: as above.
unsafe impl Sync for Allocator {}

impl Allocator {
    /// Takes an allocator from the library, which belongs to this session or, without a session, is valid until the
    /// process ends.
    pub(super) fn of(raw: *mut OrtAllocator, session: Option<Owner>) -> Result<Self> {
        Ok(Allocator { raw: NonNull::new(raw).ok_or(Error::Null("OrtAllocator"))?, session })
    }

    pub(super) fn raw(&self) -> *mut OrtAllocator {
        self.raw.as_ptr()
    }

    /// Returns the library's default allocator, for the processor's memory.
    pub(crate) fn cpu() -> Result<Self> {
        Environment::get()?;
        Self::of(default_raw()?, None)
    }

    /// Returns the allocator that all sessions share for a place.
    pub(crate) fn shared(memory: &MemoryInfo) -> Result<Option<Self>> {
        let (environment, mut raw) = (Environment::get()?, null_mut());
        // SAFETY: the environment owns the allocator. It stays valid, since this crate releases no shared allocator, and
        // an arena does not take its place.
        unsafe { call!(GetSharedAllocator(environment.raw(), memory.raw(), &raw mut raw))? };
        if raw.is_null() { Ok(None) } else { Self::of(raw, None).map(Some) }
    }

    pub(crate) fn describe(&self) -> Result<Description> {
        let mut raw = null();
        // SAFETY: the allocator is valid, and the pointer into it is used only while it is.
        unsafe {
            call!(AllocatorGetInfo(self.raw(), &raw mut raw))?;
            describe(raw)
        }
    }

    pub(crate) fn statistics(&self) -> Result<BTreeMap<String, String>> {
        let mut raw = null_mut();
        // SAFETY: the allocator is valid. The pairs are owned, and are copied before they are released.
        unsafe {
            call!(AllocatorGetStats(self.raw(), &raw mut raw))?;
            let pairs = PairsHandle::of(raw)?;
            read_pairs(pairs.raw())
        }
    }
}

impl Drop for Allocator {
    fn drop(&mut self) {
        if self.session.is_some() {
            let release = || -> Result<()> {
                // SAFETY: the allocator is owned, and none of its tensors is left, because each of them keeps it alive.
                unsafe { slot!(ReleaseAllocator)(self.raw.as_ptr()) };
                Ok(())
            };
            let _ = release();
        }
    }
}

/// Returns the library's default allocator, which exists until the process ends. The library is asked once.
pub(super) fn default_raw() -> Result<*mut OrtAllocator> {
    static DEFAULT: OnceLock<Allocator> = OnceLock::new();
    if let Some(known) = DEFAULT.get() {
        return Ok(known.raw());
    }
    let mut raw = null_mut();
    // SAFETY: this allocator is never released.
    unsafe { call!(GetAllocatorWithDefaultOptions(&raw mut raw))? };
    let found = Allocator::of(raw, None)?;
    Ok(DEFAULT.get_or_init(|| found).raw())
}

/// Copies pairs of the library.
///
/// # Safety
/// The pairs must be valid, or null.
pub(super) unsafe fn read_pairs(raw: *const OrtKeyValuePairs) -> Result<BTreeMap<String, String>> {
    let (mut keys, mut values, mut count) = (null(), null(), 0);
    if raw.is_null() {
        return Ok(BTreeMap::new());
    }
    // SAFETY: the library returns two arrays of that many strings.
    unsafe {
        slot!(GetKeyValuePairs)(raw, &raw mut keys, &raw mut values, &raw mut count);
        Ok((0..count).map(|at| (text(*keys.add(at)), text(*values.add(at)))).collect())
    }
}

/// Copies a string that the default allocator allocated, and frees it.
///
/// # Safety
/// The caller must own the string, which comes from the default allocator, or the pointer must be null.
pub(super) unsafe fn take_text(raw: *mut c_char) -> Result<String> {
    // SAFETY: as above.
    unsafe {
        let copied = text(raw);
        free(raw.cast())?;
        Ok(copied)
    }
}

/// Frees a block of the default allocator.
///
/// # Safety
/// The caller must own the block, which comes from the default allocator, or the pointer must be null. It must not be
/// used again.
pub(super) unsafe fn free(raw: *mut c_void) -> Result<()> {
    if raw.is_null() {
        return Ok(());
    }
    // SAFETY: as above.
    unsafe { call!(AllocatorFree(default_raw()?, raw)) }
}
