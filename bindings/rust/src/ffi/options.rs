//! Options of sessions. The library copies their strings.

use std::ffi::CString;
use std::path::Path;
use std::ptr::null_mut;

use super::call::{call, check, handle, methods};
use super::device::EpDevice;
use super::environment::Environment;
use super::error::{Error, Result};
use super::library::{api, append_cpu};
use super::tables::{ExecutionMode, GraphOptimizationLevel, OrtExecutionProviderDevicePolicy, OrtLoggingLevel, OrtSessionOptions};
use super::text::{Pairs, path};
use super::value::Value;

handle!(OptionsHandle, OrtSessionOptions, ReleaseSessionOptions);

pub(crate) struct SessionOptions {
    handle: OptionsHandle,
    pub(super) kept: Kept,
    /// Whether a config entry makes the session read the bytes of its model in place.
    pub(super) keep_model: bool,
}

/// The memory that a session reads for as long as it exists.
#[derive(Default)]
pub(super) struct Kept {
    pub(super) initializers: Vec<Value>,
    pub(super) model: Vec<u8>,
}

/// Converts a number of threads to the type of the library.
fn count(threads: usize) -> Result<i32> {
    i32::try_from(threads).map_err(|_| Error::Invalid(format!("{threads} threads are out of range: use at most {}", i32::MAX)))
}

/// Refuses options whose value is an address, because the library would read, write or call the memory there.
pub(super) fn check_key(key: &str) -> Result<()> {
    const ADDRESSES: [&str; 16] = [
        "user_compute_stream",
        "user_aux_stream_array",
        "gpu_external_alloc",
        "gpu_external_free",
        "gpu_external_empty_cache",
        "migraphx_external_alloc",
        "migraphx_external_free",
        "migraphx_external_empty_cache",
        "threadpool_args",
        "trt_onnx_bytestream",
        "context",
        "webgpuinstance",
        "webgpudevice",
        "dawnproctable",
        "nv_onnx_bytestream",
        "nv_external_data_bytestream",
    ];
    let last = key.rsplit('.').next().unwrap_or(key).to_ascii_lowercase();
    if ADDRESSES.contains(&last.as_str()) {
        return Err(Error::Invalid(format!("the value of option '{key}' is an address, which safe code cannot check: leave it out")));
    }
    Ok(())
}

impl SessionOptions {
    pub(crate) fn new() -> Result<Self> {
        let mut raw = null_mut();
        // SAFETY: the library returns new options.
        unsafe { call!(CreateSessionOptions(&raw mut raw))? };
        Ok(SessionOptions { handle: OptionsHandle::of(raw)?, kept: Kept::default(), keep_model: false })
    }

    pub(super) fn raw(&self) -> *mut OrtSessionOptions {
        self.handle.raw()
    }

    pub(crate) fn append_cpu(&self) -> Result<()> {
        let append = append_cpu()?;
        // SAFETY: the options are valid.
        check(unsafe { append(self.raw(), 1) })
    }

    #[cfg(feature = "cuda")]
    pub(crate) fn append_cuda(&self, device: i32) -> Result<()> {
        if let Some(append) = super::library::append_cuda()? {
            // SAFETY: the options are valid.
            return check(unsafe { append(self.raw(), device) });
        }
        handle!(CudaHandle, OrtCUDAProviderOptionsV2, ReleaseCUDAProviderOptions);
        let number = device.to_string();
        let (pairs, mut raw) = (Pairs::of(&[("device_id", &number)])?, null_mut());
        // SAFETY: the CUDA options are owned, and the session options copy them.
        unsafe {
            call!(CreateCUDAProviderOptions(&raw mut raw))?;
            let cuda = CudaHandle::of(raw)?;
            call!(UpdateCUDAProviderOptions(cuda.raw(), pairs.keys.as_ptr(), pairs.values.as_ptr(), 1))?;
            call!(SessionOptionsAppendExecutionProvider_CUDA_V2(self.raw(), cuda.raw()))
        }
    }

    pub(crate) fn append_provider(&self, name: &str, options: &[(&str, &str)]) -> Result<()> {
        options.iter().try_for_each(|(key, _)| check_key(key))?;
        let (name, pairs) = (CString::new(name)?, Pairs::of(options)?);
        let (keys, values) = (pairs.keys.as_ptr(), pairs.values.as_ptr());
        // SAFETY: the options are valid, and the arrays have the length that is passed.
        unsafe { call!(SessionOptionsAppendExecutionProvider(self.raw(), name.as_ptr(), keys, values, options.len())) }
    }

    pub(crate) fn append_devices(&self, devices: impl Iterator<Item = EpDevice>, options: &[(&str, &str)]) -> Result<()> {
        options.iter().try_for_each(|(key, _)| check_key(key))?;
        let pairs = Pairs::of(options)?;
        let environment = Environment::get()?.raw();
        let devices: Vec<_> = devices.map(EpDevice::raw).collect();
        // SAFETY: the options and all devices are valid, and the arrays have the lengths that are passed.
        unsafe {
            call!(SessionOptionsAppendExecutionProvider_V2(
                self.raw(),
                environment,
                devices.as_ptr(),
                devices.len(),
                pairs.keys.as_ptr(),
                pairs.values.as_ptr(),
                options.len(),
            ))
        }
    }

    pub(crate) fn set_optimization_level(&self, level: GraphOptimizationLevel) -> Result<()> {
        // Older libraries have no separate level for layouts; their level for all optimisations includes them.
        let older = level == GraphOptimizationLevel::ORT_ENABLE_LAYOUT && api()?.version < 23;
        let level = if older { GraphOptimizationLevel::ORT_ENABLE_ALL } else { level };
        // SAFETY: the options are valid.
        unsafe { call!(SetSessionGraphOptimizationLevel(self.raw(), level)) }
    }

    methods! {
        set_policy(policy: OrtExecutionProviderDevicePolicy) = SessionOptionsSetEpSelectionPolicy(policy);
        set_intra_threads(threads: usize) = SetIntraOpNumThreads(count(threads)?);
        set_inter_threads(threads: usize) = SetInterOpNumThreads(count(threads)?);
        set_execution_mode(mode: ExecutionMode) = SetSessionExecutionMode(mode);
        set_deterministic_compute(deterministic: bool) = SetDeterministicCompute(deterministic);
        enable_memory_pattern() = EnableMemPattern();
        disable_memory_pattern() = DisableMemPattern();
        set_dimension(name: &str, extent: i64) = AddFreeDimensionOverrideByName(CString::new(name)?.as_ptr(), extent);
        set_optimized_model_path(file: &Path) = SetOptimizedModelFilePath(path(file)?.as_ptr());
        set_log_level(level: OrtLoggingLevel) = SetSessionLogSeverityLevel(level.0);
        set_log_id(name: &str) = SetSessionLogId(CString::new(name)?.as_ptr());
    }

    pub(crate) fn add_config_entry(&mut self, key: &str, value: &str) -> Result<()> {
        check_key(key)?;
        self.keep_model |= key.starts_with("session.use_ort_model_bytes");
        let (key, value) = (CString::new(key)?, CString::new(value)?);
        // SAFETY: the options are valid.
        unsafe { call!(AddSessionConfigEntry(self.raw(), key.as_ptr(), value.as_ptr())) }
    }

    pub(crate) fn add_initializer(&mut self, name: &str, value: Value) -> Result<()> {
        let name = CString::new(name)?;
        // SAFETY: the options are valid. They keep the value alive, and later the session does.
        unsafe { call!(AddInitializer(self.raw(), name.as_ptr(), value.raw()))? };
        self.kept.initializers.push(value);
        Ok(())
    }

    pub(crate) fn add_operator_library(&self, file: &Path) -> Result<()> {
        let file = path(file)?;
        // SAFETY: the options are valid. The caller is responsible for the file that it names.
        unsafe { call!(RegisterCustomOpsLibrary_V2(self.raw(), file.as_ptr())) }
    }
}

#[cfg(test)]
mod tests {
    use super::{Error, check_key};

    #[test]
    fn addresses_are_refused() {
        const KEYS: [&str; 6] = [
            "user_compute_stream",
            "ep.webgpuexecutionprovider.dawnProcTable",
            "ep.cuda.user_compute_stream",
            "user_aux_stream_array",
            "migraphx_external_free",
            "threadpool_args",
        ];
        for key in KEYS {
            assert!(matches!(check_key(key), Err(Error::Invalid(message)) if message.contains(key)));
        }
        for key in ["session.disable_prepacking", "device_id", "ep.context_enable", "arena_extend_strategy"] {
            check_key(key).unwrap();
        }
    }
}
