//! Options of sessions, and the creation of sessions.

use std::path::Path;

use crate::device::EpDevice;
use crate::error::{ErrorCode, OnnxError, Result};
use crate::ffi::{self, ExecutionMode, GraphOptimizationLevel, OrtExecutionProviderDevicePolicy as Policy};
use crate::init::{LogLevel, init};
use crate::session::Session;
use crate::value::Value;

/// How much the library optimises a model before it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OptimizationLevel {
    /// No optimisation.
    Disabled,
    /// Folds constants and removes unused nodes.
    Basic,
    /// Also fuses operators.
    Extended,
    /// Also changes memory layouts.
    Layout,
    /// All optimisations.
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

/// Which device the library prefers if several can run a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum DevicePolicy {
    /// The library decides.
    #[default]
    Default,
    /// A processor.
    PreferCpu,
    /// A neural processor.
    PreferNpu,
    /// A graphics processor.
    PreferGpu,
    /// The fastest device.
    MaxPerformance,
    /// The most efficient device.
    MaxEfficiency,
    /// The device with the lowest power consumption.
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

/// Creates a builder of a session. Loads the library and creates the environment, if that has not been done.
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

/// The options of a session. [`session_builder`] creates the builder, and the `commit_…` methods consume it. A method
/// that fails drops the builder.
pub struct SessionBuilder {
    options: ffi::SessionOptions,
}

impl SessionBuilder {
    /// Adds the CPU provider at this position in the order of providers. Without this call, it is the last one.
    pub fn with_cpu(self) -> Result<Self> {
        self.options.append_cpu()?;
        Ok(self)
    }

    /// Adds the CUDA provider for a device (0 is the first). It is an error if the library has no such provider or
    /// cannot load it.
    #[cfg(feature = "cuda")]
    pub fn with_cuda(self, device: i32) -> Result<Self> {
        self.options.append_cuda(device)?;
        Ok(self)
    }

    /// Adds a provider that is built into the library, by name (`"XNNPACK"`, `"OpenVINO"`, …), with options. Options
    /// whose values are addresses are refused.
    pub fn with_provider(self, name: &str, options: &[(&str, &str)]) -> Result<Self> {
        // Older libraries report what is missing, but not which provider was requested.
        let named = |e: OnnxError| OnnxError::new(e.code, format!("provider '{name}': {}", e.message));
        self.options.append_provider(name, options).map_err(|e| named(e.into()))?;
        Ok(self)
    }

    /// Adds a provider by its devices, all of which must belong to that provider, with options; see
    /// [`Environment::devices`](crate::Environment::devices). Needs version 1.22 of the library.
    pub fn with_devices(self, devices: &[EpDevice], options: &[(&str, &str)]) -> Result<Self> {
        self.options.append_devices(devices.iter().map(|d| d.handle), options)?;
        Ok(self)
    }

    /// Lets the library choose among all devices, unless a provider is added. Needs version 1.22 of the library.
    pub fn with_device_policy(self, policy: DevicePolicy) -> Result<Self> {
        self.options.set_policy(policy.raw())?;
        Ok(self)
    }

    /// Sets how much the library optimises the model before it runs; [`All`](OptimizationLevel::All) by default.
    pub fn with_optimization_level(self, level: OptimizationLevel) -> Result<Self> {
        self.options.set_optimization_level(level.raw())?;
        Ok(self)
    }

    /// Sets how many threads work on one operator, including the caller's; 0 lets the library choose.
    pub fn with_intra_threads(self, threads: usize) -> Result<Self> {
        self.options.set_intra_threads(threads)?;
        Ok(self)
    }

    /// Sets how many threads run operators in parallel, see [`SessionBuilder::with_parallel_execution`].
    pub fn with_inter_threads(self, threads: usize) -> Result<Self> {
        self.options.set_inter_threads(threads)?;
        Ok(self)
    }

    /// Sets whether independent operators may run in parallel.
    pub fn with_parallel_execution(self, parallel: bool) -> Result<Self> {
        self.options.set_execution_mode(if parallel { ExecutionMode::ORT_PARALLEL } else { ExecutionMode::ORT_SEQUENTIAL })?;
        Ok(self)
    }

    /// Sets whether the same inputs must give the same bits each time, even if that is slower.
    pub fn with_deterministic_compute(self, deterministic: bool) -> Result<Self> {
        self.options.set_deterministic_compute(deterministic)?;
        Ok(self)
    }

    /// Sets whether the library plans the memory of runs in advance, which is the default.
    pub fn with_memory_pattern(self, planned: bool) -> Result<Self> {
        if planned { self.options.enable_memory_pattern() } else { self.options.disable_memory_pattern() }?;
        Ok(self)
    }

    /// Adds a config entry such as `("session.disable_prepacking", "1")`. Keys whose values are addresses are refused.
    pub fn with_config_entry(mut self, key: &str, value: &str) -> Result<Self> {
        self.options.add_config_entry(key, value)?;
        Ok(self)
    }

    /// Fixes the extent that a name in the shapes of the model stands for.
    pub fn with_dimension(self, name: &str, extent: i64) -> Result<Self> {
        self.options.set_dimension(name, extent)?;
        Ok(self)
    }

    /// Replaces an initializer of the model by a tensor of the same type and shape, which must come from
    /// [`Value::from_vec`]: libraries do not accept tensors in memory of their own. From level
    /// [`Basic`](OptimizationLevel::Basic) on, ONNX Runtime may have folded the original initializer into other
    /// constants, which then do not change.
    pub fn with_initializer(mut self, name: &str, value: Value) -> Result<Self> {
        self.options.add_initializer(name, value.inner)?;
        Ok(self)
    }

    /// Loads a library of custom operators. It runs as part of the process: use trusted files only.
    pub fn with_operator_library(self, path: impl AsRef<Path>) -> Result<Self> {
        self.options.add_operator_library(path.as_ref())?;
        Ok(self)
    }

    /// Makes the library write the optimised model to a file.
    pub fn with_optimized_model_path(self, path: impl AsRef<Path>) -> Result<Self> {
        self.options.set_optimized_model_path(path.as_ref())?;
        Ok(self)
    }

    /// Sets the log level of this session.
    pub fn with_log_level(self, level: LogLevel) -> Result<Self> {
        self.options.set_log_level(level.raw())?;
        Ok(self)
    }

    /// Sets a name for this session in the log.
    pub fn with_log_id(self, name: &str) -> Result<Self> {
        self.options.set_log_id(name)?;
        Ok(self)
    }

    /// Loads a model from a file. The error is [`NoSuchFile`](ErrorCode::NoSuchFile) if the file does not exist; other
    /// errors describe what is wrong with the file.
    pub fn commit_from_file(self, path: impl AsRef<Path>) -> Result<Session> {
        Session::of(ffi::Session::of_file(self.options, path.as_ref())?)
    }

    /// Loads a model from bytes, which may be freed afterwards.
    pub fn commit_from_memory(self, model: &[u8]) -> Result<Session> {
        if model.is_empty() {
            return Err(OnnxError::new(ErrorCode::InvalidProtobuf, "the model is empty"));
        }
        Session::of(ffi::Session::of_memory(self.options, model)?)
    }
}

impl std::fmt::Debug for SessionBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SessionBuilder")
    }
}
