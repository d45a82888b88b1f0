//! Devices of the environment, and copies between them.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::path::Path;
use std::ptr::{NonNull, null, null_mut};
use std::sync::{Mutex, PoisonError};

use super::call::{call, slot};
use super::environment::Environment;
use super::error::{Error, Result};
use super::memory::{Allocator, MemoryInfo, read_pairs};
use super::tables::{OrtAllocatorType, OrtDeviceMemoryType, OrtEpDevice, OrtHardwareDevice, OrtHardwareDeviceType, OrtValue};
use super::text::{path, text};
use super::value::Value;

/// Locked while the list of devices is read or changed, because a new library moves it.
static LIST: Mutex<()> = Mutex::new(());

/// A device together with its provider.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct EpDevice(NonNull<OrtEpDevice>);

// SAFETY: devices are immutable, and exist until the process ends, because provider libraries are never unloaded.
unsafe impl Send for EpDevice {}
// SAFETY: as above.
unsafe impl Sync for EpDevice {}

impl Environment {
    pub(crate) fn devices(&self) -> Result<Vec<EpDevice>> {
        let _one = LIST.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut raw, mut count) = (null(), 0);
        // SAFETY: the array is valid until the list changes, which the lock prevents. It is copied.
        unsafe {
            call!(GetEpDevices(self.raw(), &raw mut raw, &raw mut count))?;
            Ok((0..count).filter_map(|at| EpDevice::of(*raw.add(at))).collect())
        }
    }

    pub(crate) fn register_provider_library(&self, name: &str, file: &Path) -> Result<()> {
        let (name, file) = (CString::new(name)?, path(file)?);
        let _one = LIST.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the environment is valid. The caller is responsible for the file that it names.
        unsafe { call!(RegisterExecutionProviderLibrary(self.raw(), name.as_ptr(), file.as_ptr())) }
    }
}

impl EpDevice {
    pub(super) fn of(raw: *const OrtEpDevice) -> Option<Self> {
        NonNull::new(raw.cast_mut()).map(EpDevice)
    }

    pub(super) fn raw(self) -> *const OrtEpDevice {
        self.0.as_ptr()
    }

    pub(crate) fn provider(self) -> Result<String> {
        // SAFETY: devices are always valid, and the string is copied.
        unsafe { Ok(text(slot!(EpDevice_EpName)(self.raw()))) }
    }

    pub(crate) fn provider_vendor(self) -> Result<String> {
        // SAFETY: as above.
        unsafe { Ok(text(slot!(EpDevice_EpVendor)(self.raw()))) }
    }

    pub(crate) fn metadata(self) -> Result<BTreeMap<String, String>> {
        // SAFETY: as above.
        unsafe { read_pairs(slot!(EpDevice_EpMetadata)(self.raw())) }
    }

    pub(crate) fn options(self) -> Result<BTreeMap<String, String>> {
        // SAFETY: as above.
        unsafe { read_pairs(slot!(EpDevice_EpOptions)(self.raw())) }
    }

    fn hardware(self) -> Result<*const OrtHardwareDevice> {
        // SAFETY: devices and their hardware are always valid.
        let raw = unsafe { slot!(EpDevice_Device)(self.raw()) };
        if raw.is_null() { Err(Error::Null("OrtHardwareDevice")) } else { Ok(raw) }
    }

    pub(crate) fn hardware_type(self) -> Result<OrtHardwareDeviceType> {
        // SAFETY: the hardware is valid.
        unsafe { Ok(slot!(HardwareDevice_Type)(self.hardware()?)) }
    }

    pub(crate) fn hardware_vendor(self) -> Result<String> {
        // SAFETY: the hardware is valid, and the string is copied.
        unsafe { Ok(text(slot!(HardwareDevice_Vendor)(self.hardware()?))) }
    }

    /// Returns the PCI ids of the vendor and the device.
    pub(crate) fn hardware_ids(self) -> Result<(u32, u32)> {
        let raw = self.hardware()?;
        // SAFETY: the hardware is valid.
        unsafe { Ok((slot!(HardwareDevice_VendorId)(raw), slot!(HardwareDevice_DeviceId)(raw))) }
    }

    pub(crate) fn hardware_metadata(self) -> Result<BTreeMap<String, String>> {
        // SAFETY: the hardware is valid, and the pairs are copied.
        unsafe { read_pairs(slot!(HardwareDevice_Metadata)(self.hardware()?)) }
    }

    pub(crate) fn memory(self, kind: OrtDeviceMemoryType) -> Result<Option<MemoryInfo>> {
        // SAFETY: the memory info lives as long as the device.
        let raw = unsafe { slot!(EpDevice_MemoryInfo)(self.raw(), kind) };
        Ok(NonNull::new(raw.cast_mut()).map(|raw| MemoryInfo::View(raw, None)))
    }

    /// Returns the bytes of memory that the device has, and those that are available.
    pub(crate) fn memory_capacity(self, kind: OrtDeviceMemoryType) -> Result<(usize, usize)> {
        let (mut total, mut available) = (0, 0);
        // SAFETY: devices are always valid, and both numbers outlive the call.
        unsafe { call!(EpDevice_GetMemoryCapacity(self.raw(), kind, &raw mut total, &raw mut available))? };
        Ok((total, available))
    }

    /// Returns the shared allocator. An existing one is reused: creating it again would invalidate the one that tensors
    /// use.
    pub(crate) fn allocator(self, kind: OrtDeviceMemoryType) -> Result<Allocator> {
        let _one = LIST.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(memory) = self.memory(kind)? {
            if let Some(found) = Allocator::shared(&memory)? {
                return Ok(found);
            }
        }
        let (environment, form, mut raw) = (Environment::get()?.raw(), OrtAllocatorType::OrtDeviceAllocator, null_mut());
        // SAFETY: the environment owns the new allocator, and this crate never releases it.
        unsafe { call!(CreateSharedAllocator(environment, self.raw(), kind, form, null(), &raw mut raw))? };
        Allocator::of(raw, None)
    }
}

/// Copies tensors. The caller has checked that the tensors of each pair have the same type and shape.
pub(crate) fn copy_tensors<'v>(from: impl Iterator<Item = &'v Value>, to: impl Iterator<Item = &'v mut Value>) -> Result<()> {
    let environment = Environment::get()?.raw();
    let sources: Vec<*const OrtValue> = from.map(|v| v.raw().cast_const()).collect();
    let targets: Vec<*mut OrtValue> = to.map(|v| v.raw()).collect();
    // SAFETY: types and sizes agree, and all values are valid. Without a stream, the call waits for the copies.
    unsafe { call!(CopyTensors(environment, sources.as_ptr(), targets.as_ptr(), null_mut(), sources.len().min(targets.len()))) }
}
