//! Raw calls about devices.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::path::Path;
use std::ptr::{NonNull, null_mut};
use std::sync::{Mutex, PoisonError};

use super::{EpDevice, HardwareDevice, HardwareType};
use crate::environment::Environment;
use crate::environment::ffi::path;
use crate::error::Result;
use crate::ffi::{OrtAllocatorType, OrtEpDevice, OrtMemoryInfo, OrtValue};
use crate::library::ffi::{call, nothing, slot, text};
use crate::memory::ffi::{AllocatorHandle, Info, raw_kind, read_pairs, shared};
use crate::memory::{MemoryInfo, MemoryKind};
use crate::value::Value;

/// Held while the list of devices is read or changed: a new library moves it.
static LIST: Mutex<()> = Mutex::new(());

/// A device of the environment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct DeviceHandle(NonNull<OrtEpDevice>);

// SAFETY: devices are immutable, and live as long as the process: libraries of providers are never unloaded.
unsafe impl Send for DeviceHandle {}
// SAFETY: as above.
unsafe impl Sync for DeviceHandle {}

impl DeviceHandle {
    pub(super) fn raw(self) -> *const OrtEpDevice {
        self.0.as_ptr()
    }
}

pub(crate) fn of(raw: *const OrtEpDevice) -> Option<EpDevice> {
    NonNull::new(raw.cast_mut()).map(|raw| EpDevice { handle: DeviceHandle(raw) })
}

pub(crate) fn devices(environment: &Environment) -> Result<Vec<EpDevice>> {
    let _one = LIST.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut raw, mut count) = (std::ptr::null(), 0);
    // SAFETY: the array lives until the list changes, which the lock forbids; it is copied.
    unsafe {
        call!(GetEpDevices(environment.raw(), &raw mut raw, &raw mut count))?;
        Ok((0..count).filter_map(|at| of(*raw.add(at))).collect())
    }
}

pub(crate) fn register(environment: &Environment, name: &str, file: &Path) -> Result<()> {
    let (name, file) = (CString::new(name)?, path(file)?);
    let _one = LIST.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the environment lives; that the file is a provider, who names it answers for.
    unsafe { call!(RegisterExecutionProviderLibrary(environment.raw(), name.as_ptr(), file.as_ptr())) }
}

pub(super) fn provider(device: &EpDevice) -> Result<String> {
    // SAFETY: devices live, and the text is copied.
    unsafe { Ok(text(slot!(EpDevice_EpName)(device.raw()))) }
}

pub(super) fn provider_vendor(device: &EpDevice) -> Result<String> {
    // SAFETY: as above.
    unsafe { Ok(text(slot!(EpDevice_EpVendor)(device.raw()))) }
}

pub(super) fn metadata(device: &EpDevice) -> Result<BTreeMap<String, String>> {
    // SAFETY: as above.
    unsafe { read_pairs(slot!(EpDevice_EpMetadata)(device.raw())) }
}

pub(super) fn options(device: &EpDevice) -> Result<BTreeMap<String, String>> {
    // SAFETY: as above.
    unsafe { read_pairs(slot!(EpDevice_EpOptions)(device.raw())) }
}

pub(super) fn hardware(device: &EpDevice) -> Result<HardwareDevice> {
    // SAFETY: as above; the hardware lives as long.
    unsafe {
        let raw = slot!(EpDevice_Device)(device.raw());
        if raw.is_null() {
            return Err(nothing("OrtHardwareDevice"));
        }
        let hardware_type = match slot!(HardwareDevice_Type)(raw).0 {
            0 => HardwareType::Cpu,
            1 => HardwareType::Gpu,
            2 => HardwareType::Npu,
            other => HardwareType::Other(other),
        };
        Ok(HardwareDevice {
            hardware_type,
            vendor: text(slot!(HardwareDevice_Vendor)(raw)),
            vendor_id: slot!(HardwareDevice_VendorId)(raw),
            device_id: slot!(HardwareDevice_DeviceId)(raw),
            metadata: read_pairs(slot!(HardwareDevice_Metadata)(raw))?,
        })
    }
}

pub(super) fn memory(device: &EpDevice, kind: MemoryKind) -> Result<Option<MemoryInfo>> {
    // SAFETY: the description lives as long as the device.
    let raw: *const OrtMemoryInfo = unsafe { slot!(EpDevice_MemoryInfo)(device.raw(), raw_kind(kind)) };
    Ok(NonNull::new(raw.cast_mut()).map(|raw| MemoryInfo::of(Info::Static(raw))))
}

/// The shared allocator. One that exists is taken: making it again would end the one that tensors have.
pub(super) fn allocator(device: &EpDevice, kind: MemoryKind) -> Result<AllocatorHandle> {
    let _one = LIST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(memory) = memory(device, kind)? {
        if let Some(found) = shared(&memory)? {
            return Ok(found);
        }
    }
    let (environment, mut raw) = (crate::environment::init()?.raw(), null_mut());
    let form = OrtAllocatorType::OrtDeviceAllocator;
    // SAFETY: the environment owns what is made, and nothing here releases it.
    unsafe { call!(CreateSharedAllocator(environment, device.raw(), raw_kind(kind), form, std::ptr::null(), &raw mut raw))? };
    AllocatorHandle::lasting(raw)
}

pub(super) fn copy(from: &[&Value], to: &mut [&mut Value]) -> Result<()> {
    let environment = crate::environment::init()?.raw();
    let sources: Vec<*const OrtValue> = from.iter().map(|v| v.raw().cast_const()).collect();
    let targets: Vec<*mut OrtValue> = to.iter().map(|v| v.raw()).collect();
    // SAFETY: types and sizes agree, which was checked; all values live; without a stream the call waits for the copies.
    unsafe { call!(CopyTensors(environment, sources.as_ptr(), targets.as_ptr(), null_mut(), sources.len())) }
}
