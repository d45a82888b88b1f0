//! Raw calls about options of sessions. Texts are copied by the library, so they need to live during the call alone.

use std::ffi::CString;
use std::path::Path;
use std::ptr::null_mut;

use super::{DevicePolicy, OptimizationLevel, SessionBuilder};
use crate::device::EpDevice;
use crate::environment::LogLevel;
use crate::environment::ffi::{path, raw_level};
use crate::error::Result;
use crate::ffi::{ExecutionMode, GraphOptimizationLevel, OrtExecutionProviderDevicePolicy as Policy};
use crate::library::ffi::{Pairs, call, check, handle};
use crate::session::ffi::SessionHandle;
use crate::value::Value;

handle!(OptionsHandle, OrtSessionOptions, ReleaseSessionOptions);

pub(super) fn options() -> Result<OptionsHandle> {
    let mut raw = null_mut();
    // SAFETY: the library gives new options.
    unsafe { call!(CreateSessionOptions(&raw mut raw))? };
    OptionsHandle::of(raw)
}

pub(super) fn append_cpu(options: &OptionsHandle) -> Result<()> {
    let append = crate::library::ffi::append_cpu()?;
    // SAFETY: the options live.
    check(unsafe { append(options.raw(), 1) })
}

#[cfg(feature = "cuda")]
pub(super) fn append_cuda(options: &OptionsHandle, device: i32) -> Result<()> {
    if let Some(append) = crate::library::ffi::append_cuda()? {
        // SAFETY: the options live.
        return check(unsafe { append(options.raw(), device) });
    }
    handle!(CudaHandle, OrtCUDAProviderOptionsV2, ReleaseCUDAProviderOptions);
    let number = device.to_string();
    let (pairs, mut raw) = (Pairs::of(&[("device_id", &number)])?, null_mut());
    // SAFETY: options of CUDA are owned, and copied by the options of the session.
    unsafe {
        call!(CreateCUDAProviderOptions(&raw mut raw))?;
        let cuda = CudaHandle::of(raw)?;
        call!(UpdateCUDAProviderOptions(cuda.raw(), pairs.keys.as_ptr(), pairs.values.as_ptr(), 1))?;
        call!(SessionOptionsAppendExecutionProvider_CUDA_V2(options.raw(), cuda.raw()))
    }
}

pub(super) fn append_provider(options: &OptionsHandle, name: &str, given: &[(&str, &str)]) -> Result<()> {
    let (name, pairs) = (CString::new(name)?, Pairs::of(given)?);
    let (keys, values) = (pairs.keys.as_ptr(), pairs.values.as_ptr());
    // SAFETY: the options live, and the arrays have the length that is told.
    unsafe { call!(SessionOptionsAppendExecutionProvider(options.raw(), name.as_ptr(), keys, values, given.len())) }
}

pub(super) fn append_devices(options: &OptionsHandle, devices: &[EpDevice], given: &[(&str, &str)]) -> Result<()> {
    let pairs = Pairs::of(given)?;
    let environment = crate::environment::init()?.raw();
    let devices: Vec<_> = devices.iter().map(super::super::device::EpDevice::raw).collect();
    // SAFETY: the options live, devices live as long as the process, and the arrays have the lengths that are told.
    unsafe {
        call!(SessionOptionsAppendExecutionProvider_V2(
            options.raw(),
            environment,
            devices.as_ptr(),
            devices.len(),
            pairs.keys.as_ptr(),
            pairs.values.as_ptr(),
            given.len(),
        ))
    }
}

pub(super) fn set_policy(options: &OptionsHandle, policy: DevicePolicy) -> Result<()> {
    let raw = match policy {
        DevicePolicy::Default => Policy::OrtExecutionProviderDevicePolicy_DEFAULT,
        DevicePolicy::PreferCpu => Policy::OrtExecutionProviderDevicePolicy_PREFER_CPU,
        DevicePolicy::PreferNpu => Policy::OrtExecutionProviderDevicePolicy_PREFER_NPU,
        DevicePolicy::PreferGpu => Policy::OrtExecutionProviderDevicePolicy_PREFER_GPU,
        DevicePolicy::MaxPerformance => Policy::OrtExecutionProviderDevicePolicy_MAX_PERFORMANCE,
        DevicePolicy::MaxEfficiency => Policy::OrtExecutionProviderDevicePolicy_MAX_EFFICIENCY,
        DevicePolicy::MinOverallPower => Policy::OrtExecutionProviderDevicePolicy_MIN_OVERALL_POWER,
    };
    // SAFETY: the options live.
    unsafe { call!(SessionOptionsSetEpSelectionPolicy(options.raw(), raw)) }
}

pub(super) fn set_level(options: &OptionsHandle, level: OptimizationLevel) -> Result<()> {
    let raw = match level {
        OptimizationLevel::Disabled => GraphOptimizationLevel::ORT_DISABLE_ALL,
        OptimizationLevel::Basic => GraphOptimizationLevel::ORT_ENABLE_BASIC,
        OptimizationLevel::Extended => GraphOptimizationLevel::ORT_ENABLE_EXTENDED,
        // Older libraries know no level of its own for layouts, and change them with everything else.
        OptimizationLevel::Layout if crate::library::ffi::api()?.version < 23 => GraphOptimizationLevel::ORT_ENABLE_ALL,
        OptimizationLevel::Layout => GraphOptimizationLevel::ORT_ENABLE_LAYOUT,
        OptimizationLevel::All => GraphOptimizationLevel::ORT_ENABLE_ALL,
    };
    // SAFETY: the options live.
    unsafe { call!(SetSessionGraphOptimizationLevel(options.raw(), raw)) }
}

pub(super) fn set_intra_threads(options: &OptionsHandle, threads: usize) -> Result<()> {
    // SAFETY: the options live.
    unsafe { call!(SetIntraOpNumThreads(options.raw(), i32::try_from(threads)?)) }
}

pub(super) fn set_inter_threads(options: &OptionsHandle, threads: usize) -> Result<()> {
    // SAFETY: the options live.
    unsafe { call!(SetInterOpNumThreads(options.raw(), i32::try_from(threads)?)) }
}

pub(super) fn set_parallel(options: &OptionsHandle, parallel: bool) -> Result<()> {
    let mode = if parallel { ExecutionMode::ORT_PARALLEL } else { ExecutionMode::ORT_SEQUENTIAL };
    // SAFETY: the options live.
    unsafe { call!(SetSessionExecutionMode(options.raw(), mode)) }
}

pub(super) fn set_deterministic(options: &OptionsHandle, deterministic: bool) -> Result<()> {
    // SAFETY: the options live.
    unsafe { call!(SetDeterministicCompute(options.raw(), deterministic)) }
}

pub(super) fn set_memory_pattern(options: &OptionsHandle, planned: bool) -> Result<()> {
    // SAFETY: the options live.
    unsafe { if planned { call!(EnableMemPattern(options.raw())) } else { call!(DisableMemPattern(options.raw())) } }
}

pub(super) fn add_entry(options: &OptionsHandle, key: &str, value: &str) -> Result<()> {
    let (key, value) = (CString::new(key)?, CString::new(value)?);
    // SAFETY: the options live.
    unsafe { call!(AddSessionConfigEntry(options.raw(), key.as_ptr(), value.as_ptr())) }
}

pub(super) fn set_dimension(options: &OptionsHandle, name: &str, extent: i64) -> Result<()> {
    let name = CString::new(name)?;
    // SAFETY: the options live.
    unsafe { call!(AddFreeDimensionOverrideByName(options.raw(), name.as_ptr(), extent)) }
}

pub(super) fn add_initializer(options: &OptionsHandle, name: &str, value: &Value) -> Result<()> {
    let name = CString::new(name)?;
    // SAFETY: the options live; the value is kept by the builder, then by the session.
    unsafe { call!(AddInitializer(options.raw(), name.as_ptr(), value.raw())) }
}

pub(super) fn add_operators(options: &OptionsHandle, file: &Path) -> Result<()> {
    let file = path(file)?;
    // SAFETY: the options live; that the file is a library of operators, who names it answers for.
    unsafe { call!(RegisterCustomOpsLibrary_V2(options.raw(), file.as_ptr())) }
}

pub(super) fn set_optimized_path(options: &OptionsHandle, file: &Path) -> Result<()> {
    let file = path(file)?;
    // SAFETY: the options live.
    unsafe { call!(SetOptimizedModelFilePath(options.raw(), file.as_ptr())) }
}

pub(super) fn set_log_level(options: &OptionsHandle, level: LogLevel) -> Result<()> {
    // SAFETY: the options live.
    unsafe { call!(SetSessionLogSeverityLevel(options.raw(), raw_level(level).0)) }
}

pub(super) fn set_log_id(options: &OptionsHandle, name: &str) -> Result<()> {
    let name = CString::new(name)?;
    // SAFETY: the options live.
    unsafe { call!(SetSessionLogId(options.raw(), name.as_ptr())) }
}

pub(super) fn from_file(builder: SessionBuilder, file: &Path) -> Result<SessionHandle> {
    let (file, mut raw) = (path(file)?, null_mut());
    let environment = crate::environment::init()?.raw();
    // SAFETY: the options live and are copied; what they point to, the session keeps.
    unsafe { call!(CreateSession(environment, file.as_ptr(), builder.options.raw(), &raw mut raw))? };
    SessionHandle::of(raw, builder.kept)
}

/// From bytes, or from those that the builder keeps.
pub(super) fn from_memory(builder: SessionBuilder, model: Option<&[u8]>) -> Result<SessionHandle> {
    let (model, mut raw) = (model.unwrap_or(&builder.kept.model), null_mut());
    let environment = crate::environment::init()?.raw();
    // SAFETY: as above; the bytes are read during the call, or kept by the session where its configuration reads on.
    unsafe { call!(CreateSessionFromArray(environment, model.as_ptr().cast(), model.len(), builder.options.raw(), &raw mut raw))? };
    SessionHandle::of(raw, builder.kept)
}
