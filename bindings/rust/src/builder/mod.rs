//! How a session is to be.

#[allow(unsafe_code)]
mod ffi;

use std::path::Path;

use crate::device::EpDevice;
use crate::environment::LogLevel;
use crate::error::{ErrorCode, OnnxError, Result};
use crate::session::{Kept, Session};
use crate::value::Value;

/// How much the library changes a model before it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OptimizationLevel {
    /// Not at all.
    Disabled,
    /// What is always right: constants folded, dead parts removed.
    Basic,
    /// Operators joined, too.
    Extended,
    /// Layouts changed, too.
    Layout,
    /// Everything.
    #[default]
    All,
}

/// Which device to take where several could run a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum DevicePolicy {
    /// As the library sees fit.
    #[default]
    Default,
    /// A processor.
    PreferCpu,
    /// A processor for networks.
    PreferNpu,
    /// A graphics processor.
    PreferGpu,
    /// The fastest.
    MaxPerformance,
    /// The one that does most with its power.
    MaxEfficiency,
    /// The one that takes the least power.
    MinOverallPower,
}

/// A builder of a session; the library and the environment are loaded where that has not been done.
///
/// ```
/// use onnx::OptimizationLevel;
/// let builder = onnx::session_builder()?.with_optimization_level(OptimizationLevel::Basic)?.with_intra_threads(2)?;
/// let error = builder.commit_from_file("no/such/model.onnx").unwrap_err();
/// assert_eq!(error.code, onnx::ErrorCode::NoSuchFile);
/// # Ok::<(), onnx::OnnxError>(())
/// ```
pub fn session_builder() -> Result<SessionBuilder> {
    crate::environment::init()?;
    Ok(SessionBuilder { options: ffi::options()?, kept: Kept::default(), keep_model: false })
}

/// How a session is to be; made by [`session_builder`], used up by `commit_…`. Each step may fail, and frees what there
/// was.
pub struct SessionBuilder {
    options: ffi::OptionsHandle,
    kept: Kept,
    /// A configuration lets the session read the bytes of its model where they lie.
    keep_model: bool,
}

impl SessionBuilder {
    /// Adds the processor as a provider, at this place of the order. Without it the processor comes last by itself.
    pub fn with_cpu(self) -> Result<Self> {
        ffi::append_cpu(&self.options)?;
        Ok(self)
    }

    /// Adds CUDA on a device, 0 being the first. An error where the library has no provider for it, or cannot load it.
    #[cfg(feature = "cuda")]
    pub fn with_cuda(self, device: i32) -> Result<Self> {
        ffi::append_cuda(&self.options, device)?;
        Ok(self)
    }

    /// Adds a provider that is built into the library, by name (`"XNNPACK"`, `"OpenVINO"`, …), with options. Options that
    /// carry addresses are refused.
    pub fn with_provider(self, name: &str, options: &[(&str, &str)]) -> Result<Self> {
        options.iter().try_for_each(|(key, _)| check_key(key))?;
        // Older libraries say what is missing, but not which provider was meant.
        let named = |e: OnnxError| OnnxError::new(e.code, format!("provider '{name}': {}", e.message));
        ffi::append_provider(&self.options, name, options).map_err(named)?;
        Ok(self)
    }

    /// Adds a provider by its devices, which are all of that provider, with options; see
    /// [`Environment::devices`](crate::Environment::devices). Needs a library of 1.22.
    pub fn with_devices(self, devices: &[EpDevice], options: &[(&str, &str)]) -> Result<Self> {
        options.iter().try_for_each(|(key, _)| check_key(key))?;
        ffi::append_devices(&self.options, devices, options)?;
        Ok(self)
    }

    /// Lets the library choose among all devices; where no provider is added. Needs a library of 1.22.
    pub fn with_device_policy(self, policy: DevicePolicy) -> Result<Self> {
        ffi::set_policy(&self.options, policy)?;
        Ok(self)
    }

    /// How much the model is changed before it runs; everything, where not set.
    pub fn with_optimization_level(self, level: OptimizationLevel) -> Result<Self> {
        ffi::set_level(&self.options, level)?;
        Ok(self)
    }

    /// How many threads work on one operator, the caller's among them; 0 lets the library choose.
    pub fn with_intra_threads(self, threads: usize) -> Result<Self> {
        ffi::set_intra_threads(&self.options, threads)?;
        Ok(self)
    }

    /// How many threads run operators beside each other, see [`SessionBuilder::with_parallel_execution`].
    pub fn with_inter_threads(self, threads: usize) -> Result<Self> {
        ffi::set_inter_threads(&self.options, threads)?;
        Ok(self)
    }

    /// Whether operators that do not need each other may run beside each other.
    pub fn with_parallel_execution(self, parallel: bool) -> Result<Self> {
        ffi::set_parallel(&self.options, parallel)?;
        Ok(self)
    }

    /// Whether the same inputs give the same bits each time, also where that is slower.
    pub fn with_deterministic_compute(self, deterministic: bool) -> Result<Self> {
        ffi::set_deterministic(&self.options, deterministic)?;
        Ok(self)
    }

    /// Whether memory of runs is planned ahead; it is, where not set.
    pub fn with_memory_pattern(self, planned: bool) -> Result<Self> {
        ffi::set_memory_pattern(&self.options, planned)?;
        Ok(self)
    }

    /// An entry of configuration, such as `("session.disable_prepacking", "1")`. Keys that carry addresses are refused.
    pub fn with_config_entry(mut self, key: &str, value: &str) -> Result<Self> {
        check_key(key)?;
        self.keep_model |= key.starts_with("session.use_ort_model_bytes");
        ffi::add_entry(&self.options, key, value)?;
        Ok(self)
    }

    /// The extent behind a name in shapes of the model, where it is known ahead.
    pub fn with_dimension(self, name: &str, extent: i64) -> Result<Self> {
        ffi::set_dimension(&self.options, name, extent)?;
        Ok(self)
    }

    /// A tensor in place of a constant of the model, of the same type and shape; one of [`Value::from_vec`], since libraries
    /// take none whose memory is theirs. ONNX Runtime may have computed with the model's own constant before: what it
    /// folds at a level from [`Basic`](OptimizationLevel::Basic) on does not see the tensor.
    pub fn with_initializer(mut self, name: &str, value: Value) -> Result<Self> {
        ffi::add_initializer(&self.options, name, &value)?;
        self.kept.initializers.push(value);
        Ok(self)
    }

    /// A library of custom operators. It is run as part of the process: name only files that are trusted.
    pub fn with_operator_library(self, path: impl AsRef<Path>) -> Result<Self> {
        ffi::add_operators(&self.options, path.as_ref())?;
        Ok(self)
    }

    /// Writes the model as it was optimised to a file.
    pub fn with_optimized_model_path(self, path: impl AsRef<Path>) -> Result<Self> {
        ffi::set_optimized_path(&self.options, path.as_ref())?;
        Ok(self)
    }

    /// How much this session logs.
    pub fn with_log_level(self, level: LogLevel) -> Result<Self> {
        ffi::set_log_level(&self.options, level)?;
        Ok(self)
    }

    /// A name that stands in the log of the session.
    pub fn with_log_id(self, name: &str) -> Result<Self> {
        ffi::set_log_id(&self.options, name)?;
        Ok(self)
    }

    /// Loads a model from a file. [`NoSuchFile`](ErrorCode::NoSuchFile) where there is none; other errors say what is
    /// wrong with it.
    pub fn commit_from_file(self, path: impl AsRef<Path>) -> Result<Session> {
        Session::of(ffi::from_file(self, path.as_ref())?)
    }

    /// Loads a model from bytes, which are not needed afterwards.
    pub fn commit_from_memory(mut self, model: &[u8]) -> Result<Session> {
        if model.is_empty() {
            return Err(OnnxError::new(ErrorCode::InvalidProtobuf, "the model has no bytes"));
        }
        if !self.keep_model {
            return Session::of(ffi::from_memory(self, Some(model))?);
        }
        self.kept.model = model.to_vec();
        Session::of(ffi::from_memory(self, None)?)
    }
}

impl std::fmt::Debug for SessionBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SessionBuilder")
    }
}

/// Refuses options whose text is an address: the library would read, write or call what lies there.
pub(crate) fn check_key(key: &str) -> Result<()> {
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
        let message = format!("the option '{key}' carries an address, which safe code cannot vouch for: leave it out");
        return Err(OnnxError::invalid(message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check_key;

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
            assert!(check_key(key).unwrap_err().message.contains(key));
        }
        for key in ["session.disable_prepacking", "device_id", "ep.context_enable", "arena_extend_strategy"] {
            check_key(key).unwrap();
        }
    }
}
