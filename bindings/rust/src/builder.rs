//! Options of sessions, and how sessions are made.

use std::path::Path;

use crate::device::EpDevice;
use crate::error::{ErrorCode, OnnxError, Result};
use crate::ffi::{self, ExecutionMode, GraphOptimizationLevel, OrtExecutionProviderDevicePolicy as Policy};
use crate::init::{LogLevel, init};
use crate::session::Session;
use crate::value::Value;

/// How much the library changes a model before it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OptimizationLevel {
    /// Changes nothing.
    Disabled,
    /// Folds constants and removes dead parts.
    Basic,
    /// Also joins operators.
    Extended,
    /// Also changes layouts.
    Layout,
    /// Everything.
    #[default]
    All,
}

impl OptimizationLevel {
    fn raw(self) -> GraphOptimizationLevel {
        match self {
            OptimizationLevel::Disabled => GraphOptimizationLevel::ORT_DISABLE_ALL,
            OptimizationLevel::Basic => GraphOptimizationLevel::ORT_ENABLE_BASIC,
            OptimizationLevel::Extended => GraphOptimizationLevel::ORT_ENABLE_EXTENDED,
            OptimizationLevel::Layout => GraphOptimizationLevel::ORT_ENABLE_LAYOUT,
            OptimizationLevel::All => GraphOptimizationLevel::ORT_ENABLE_ALL,
        }
    }
}

/// Which device the library prefers where several could run a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum DevicePolicy {
    /// The choice of the library.
    #[default]
    Default,
    /// A processor.
    PreferCpu,
    /// A neural processor.
    PreferNpu,
    /// A graphics processor.
    PreferGpu,
    /// The fastest.
    MaxPerformance,
    /// The most efficient one.
    MaxEfficiency,
    /// The one that takes the least power.
    MinOverallPower,
}

impl DevicePolicy {
    fn raw(self) -> Policy {
        match self {
            DevicePolicy::Default => Policy::OrtExecutionProviderDevicePolicy_DEFAULT,
            DevicePolicy::PreferCpu => Policy::OrtExecutionProviderDevicePolicy_PREFER_CPU,
            DevicePolicy::PreferNpu => Policy::OrtExecutionProviderDevicePolicy_PREFER_NPU,
            DevicePolicy::PreferGpu => Policy::OrtExecutionProviderDevicePolicy_PREFER_GPU,
            DevicePolicy::MaxPerformance => Policy::OrtExecutionProviderDevicePolicy_MAX_PERFORMANCE,
            DevicePolicy::MaxEfficiency => Policy::OrtExecutionProviderDevicePolicy_MAX_EFFICIENCY,
            DevicePolicy::MinOverallPower => Policy::OrtExecutionProviderDevicePolicy_MIN_OVERALL_POWER,
        }
    }
}

/// Makes a builder of a session. Loads the library and makes the environment, if that has not been done.
///
/// ```
/// use onnx::OptimizationLevel;
/// let builder = onnx::session_builder()?.with_optimization_level(OptimizationLevel::Basic)?.with_intra_threads(2)?;
/// let error = builder.commit_from_file("no/such/model.onnx").unwrap_err();
/// assert_eq!(error.code, onnx::ErrorCode::NoSuchFile);
/// # Ok::<(), onnx::OnnxError>(())
/// ```
pub fn session_builder() -> Result<SessionBuilder> {
    init()?;
    Ok(SessionBuilder { options: ffi::SessionOptions::new()? })
}

/// The options of a session. [`session_builder`] makes the builder, and `commit_…` consumes it. A step that fails releases
/// the builder.
pub struct SessionBuilder {
    options: ffi::SessionOptions,
}

impl SessionBuilder {
    /// Adds the processor as a provider, at this place of the order. Without it the processor comes last by itself.
    pub fn with_cpu(self) -> Result<Self> {
        self.options.append_cpu()?;
        Ok(self)
    }

    /// Adds CUDA on a device, 0 being the first. An error where the library has no provider for it, or cannot load it.
    #[cfg(feature = "cuda")]
    pub fn with_cuda(self, device: i32) -> Result<Self> {
        self.options.append_cuda(device)?;
        Ok(self)
    }

    /// Adds a provider that is built into the library, by name (`"XNNPACK"`, `"OpenVINO"`, …), with options. Options that
    /// carry addresses are refused.
    pub fn with_provider(self, name: &str, options: &[(&str, &str)]) -> Result<Self> {
        // Older libraries say what is missing, but not which provider was meant.
        let named = |e: OnnxError| OnnxError::new(e.code, format!("provider '{name}': {}", e.message));
        self.options.append_provider(name, options).map_err(|e| named(e.into()))?;
        Ok(self)
    }

    /// Adds a provider by its devices, which are all of that provider, with options; see
    /// [`Environment::devices`](crate::Environment::devices). Needs a library of 1.22.
    pub fn with_devices(self, devices: &[EpDevice], options: &[(&str, &str)]) -> Result<Self> {
        self.options.append_devices(devices.iter().map(|d| d.handle), options)?;
        Ok(self)
    }

    /// Lets the library choose among all devices; where no provider is added. Needs a library of 1.22.
    pub fn with_device_policy(self, policy: DevicePolicy) -> Result<Self> {
        self.options.set_policy(policy.raw())?;
        Ok(self)
    }

    /// How much the library changes the model before it runs; [`All`](OptimizationLevel::All) by default.
    pub fn with_optimization_level(self, level: OptimizationLevel) -> Result<Self> {
        self.options.set_optimization_level(level.raw())?;
        Ok(self)
    }

    /// How many threads work on one operator, including the caller's; 0 lets the library choose.
    pub fn with_intra_threads(self, threads: usize) -> Result<Self> {
        self.options.set_intra_threads(threads)?;
        Ok(self)
    }

    /// How many threads run operators in parallel, see [`SessionBuilder::with_parallel_execution`].
    pub fn with_inter_threads(self, threads: usize) -> Result<Self> {
        self.options.set_inter_threads(threads)?;
        Ok(self)
    }

    /// Whether operators that do not depend on each other may run in parallel.
    pub fn with_parallel_execution(self, parallel: bool) -> Result<Self> {
        self.options.set_execution_mode(if parallel { ExecutionMode::ORT_PARALLEL } else { ExecutionMode::ORT_SEQUENTIAL })?;
        Ok(self)
    }

    /// Whether the same inputs give the same bits each time, even where that is slower.
    pub fn with_deterministic_compute(self, deterministic: bool) -> Result<Self> {
        self.options.set_deterministic_compute(deterministic)?;
        Ok(self)
    }

    /// Whether the library plans the memory of runs ahead, as it does by default.
    pub fn with_memory_pattern(self, planned: bool) -> Result<Self> {
        if planned { self.options.enable_memory_pattern() } else { self.options.disable_memory_pattern() }?;
        Ok(self)
    }

    /// An entry of configuration, such as `("session.disable_prepacking", "1")`. Keys that carry addresses are refused.
    pub fn with_config_entry(mut self, key: &str, value: &str) -> Result<Self> {
        self.options.add_config_entry(key, value)?;
        Ok(self)
    }

    /// The extent that a name in shapes of the model stands for, where the program knows it ahead.
    pub fn with_dimension(self, name: &str, extent: i64) -> Result<Self> {
        self.options.set_dimension(name, extent)?;
        Ok(self)
    }

    /// A tensor in place of a constant of the model, of the same type and shape; one of [`Value::from_vec`], since libraries
    /// take none whose memory is theirs. ONNX Runtime may have computed with the model's own constant before: what it
    /// folds at a level from [`Basic`](OptimizationLevel::Basic) on does not see the tensor.
    pub fn with_initializer(mut self, name: &str, value: Value) -> Result<Self> {
        self.options.add_initializer(name, value.inner)?;
        Ok(self)
    }

    /// A library of custom operators. It runs as part of the process: name only files that are trusted.
    pub fn with_operator_library(self, path: impl AsRef<Path>) -> Result<Self> {
        self.options.add_operator_library(path.as_ref())?;
        Ok(self)
    }

    /// Writes the optimised model to a file.
    pub fn with_optimized_model_path(self, path: impl AsRef<Path>) -> Result<Self> {
        self.options.set_optimized_model_path(path.as_ref())?;
        Ok(self)
    }

    /// How much this session logs.
    pub fn with_log_level(self, level: LogLevel) -> Result<Self> {
        self.options.set_log_level(level.raw())?;
        Ok(self)
    }

    /// A name for the lines of the session in the log.
    pub fn with_log_id(self, name: &str) -> Result<Self> {
        self.options.set_log_id(name)?;
        Ok(self)
    }

    /// Loads a model from a file. [`NoSuchFile`](ErrorCode::NoSuchFile) where there is none; other errors say what is
    /// wrong with it.
    pub fn commit_from_file(self, path: impl AsRef<Path>) -> Result<Session> {
        Session::of(ffi::Session::of_file(self.options, path.as_ref())?)
    }

    /// Loads a model from bytes, which are not needed afterwards.
    pub fn commit_from_memory(self, model: &[u8]) -> Result<Session> {
        if model.is_empty() {
            return Err(OnnxError::new(ErrorCode::InvalidProtobuf, "the model has no bytes"));
        }
        Session::of(ffi::Session::of_memory(self.options, model)?)
    }
}

impl std::fmt::Debug for SessionBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SessionBuilder")
    }
}
