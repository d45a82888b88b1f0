//! Options of sessions, and the creation of sessions.

use std::path::Path;

use crate::device::EpDevice;
use crate::error::{OnnxError, OrtErrorCode, Result};
use crate::ffi::{self, ExecutionMode, GraphOptimizationLevel as RawLevel, OrtExecutionProviderDevicePolicy as Policy};
use crate::init::{Environment, LogLevel, init};
use crate::session::Session;
use crate::value::Value;

/// How much the library optimises a model before it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum GraphOptimizationLevel {
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

impl GraphOptimizationLevel {
    pub(crate) fn raw(self) -> RawLevel {
        match self {
            GraphOptimizationLevel::Disabled => RawLevel::ORT_DISABLE_ALL,
            GraphOptimizationLevel::Basic => RawLevel::ORT_ENABLE_BASIC,
            GraphOptimizationLevel::Extended => RawLevel::ORT_ENABLE_EXTENDED,
            GraphOptimizationLevel::Layout => RawLevel::ORT_ENABLE_LAYOUT,
            GraphOptimizationLevel::All => RawLevel::ORT_ENABLE_ALL,
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
/// An error of this function or of a `with_…` method waits: the `commit_…` method returns the first one.
///
/// ```
/// use onnx::GraphOptimizationLevel;
/// let builder = onnx::session_builder().with_optimization_level(GraphOptimizationLevel::Basic).with_intra_threads(2);
/// let error = builder.commit_from_file("no/such/model.onnx").unwrap_err();
/// assert_eq!(error.code, onnx::OrtErrorCode::NoSuchFile);
/// ```
pub fn session_builder() -> SessionBuilder {
    SessionBuilder { options: init().and_then(|_| Ok(ffi::SessionOptions::new()?)) }
}

impl Environment {
    /// Creates a builder of a session, as [`session_builder`] does.
    pub fn session_builder(&self) -> SessionBuilder {
        session_builder()
    }
}

/// The options of a session. [`session_builder`] creates the builder, and the `commit_…` methods consume it.
#[must_use = "a builder does nothing until it is committed"]
pub struct SessionBuilder {
    /// The options, or the first error.
    options: Result<ffi::SessionOptions>,
}

impl SessionBuilder {
    /// Changes the options, unless there was an error before.
    fn set<E: Into<OnnxError>>(mut self, change: impl FnOnce(&mut ffi::SessionOptions) -> Result<(), E>) -> Self {
        if let Err(error) = self.options.as_mut().map_or(Ok(()), change) {
            self.options = Err(error.into());
        }
        self
    }

    /// Returns the options, or the first error.
    pub(crate) fn into_options(self) -> Result<ffi::SessionOptions> {
        self.options
    }

    /// Adds the CPU provider at this position in the order of providers. Without this call, it is the last one.
    pub fn with_cpu(self) -> Self {
        self.set(|options| options.append_cpu())
    }

    /// Adds the CUDA provider for a device (0 is the first). It is an error if the library has no such provider or
    /// cannot load it.
    #[cfg(feature = "cuda")]
    pub fn with_cuda(self, device: i32) -> Self {
        self.set(|options| options.append_cuda(device))
    }

    /// Adds a provider that is built into the library, by name (`"XNNPACK"`, `"OpenVINO"`, …), with options. Options
    /// whose values are addresses are refused.
    pub fn with_provider(self, name: &str, options: &[(&str, &str)]) -> Self {
        // Older libraries report what is missing, but not which provider was requested.
        let named = |e: OnnxError| OnnxError::new(e.code, format!("provider '{name}': {}", e.message));
        self.set(|session| session.append_provider(name, options).map_err(|e| named(e.into())))
    }

    /// Adds a provider by its devices, all of which must belong to that provider, with options; see
    /// [`Environment::devices`](crate::Environment::devices). Needs version 1.22 of the library.
    pub fn with_devices(self, devices: &[EpDevice], options: &[(&str, &str)]) -> Self {
        self.set(|session| session.append_devices(devices.iter().map(|d| d.handle), options))
    }

    /// Lets the library choose among all devices, unless a provider is added. Needs version 1.22 of the library.
    pub fn with_device_policy(self, policy: DevicePolicy) -> Self {
        self.set(|options| options.set_policy(policy.raw()))
    }

    /// Sets how much the library optimises the model before it runs; [`All`](GraphOptimizationLevel::All) by default.
    pub fn with_optimization_level(self, level: GraphOptimizationLevel) -> Self {
        self.set(|options| options.set_optimization_level(level.raw()))
    }

    /// Sets how many threads work on one operator, including the caller's; 0 lets the library choose.
    pub fn with_intra_threads(self, threads: usize) -> Self {
        self.set(|options| options.set_intra_threads(threads))
    }

    /// Sets how many threads run operators in parallel, see [`SessionBuilder::with_parallel_execution`].
    pub fn with_inter_threads(self, threads: usize) -> Self {
        self.set(|options| options.set_inter_threads(threads))
    }

    /// Sets whether independent operators may run in parallel.
    pub fn with_parallel_execution(self, parallel: bool) -> Self {
        let mode = if parallel { ExecutionMode::ORT_PARALLEL } else { ExecutionMode::ORT_SEQUENTIAL };
        self.set(|options| options.set_execution_mode(mode))
    }

    /// Sets whether the same inputs must give the same bits each time, even if that is slower.
    pub fn with_deterministic_compute(self, deterministic: bool) -> Self {
        self.set(|options| options.set_deterministic_compute(deterministic))
    }

    /// Sets whether the library plans the memory of runs in advance, which is the default.
    pub fn with_memory_pattern(self, planned: bool) -> Self {
        self.set(|options| if planned { options.enable_memory_pattern() } else { options.disable_memory_pattern() })
    }

    /// Adds a config entry such as `("session.disable_prepacking", "1")`. Keys whose values are addresses are refused.
    pub fn with_config_entry(self, key: &str, value: &str) -> Self {
        self.set(|options| options.add_config_entry(key, value))
    }

    /// Fixes the extent that a name in the shapes of the model stands for. A negative extent is an error.
    pub fn with_dimension(self, name: &str, extent: i64) -> Self {
        self.set(|options| {
            if extent < 0 {
                return Err(OnnxError::invalid(format!("dimension '{name}' cannot be {extent}: use 0 or more")));
            }
            Ok(options.set_dimension(name, extent)?)
        })
    }

    /// Replaces an initializer of the model by a tensor of the same type and shape, which must come from
    /// [`Value::from_vec`]: libraries do not accept tensors in memory of their own. From level
    /// [`Basic`](GraphOptimizationLevel::Basic) on, ONNX Runtime may have folded the original initializer into other
    /// constants, which then do not change. Libraries ignore a name that no initializer of the model has.
    pub fn with_initializer(self, name: &str, value: Value) -> Self {
        self.set(|options| options.add_initializer(name, value.inner))
    }

    /// Loads a library of custom operators. It runs as part of the process: use trusted files only.
    pub fn with_operator_library(self, path: impl AsRef<Path>) -> Self {
        self.set(|options| options.add_operator_library(path.as_ref()))
    }

    /// Makes the library write the optimised model to a file.
    pub fn with_optimized_model_path(self, path: impl AsRef<Path>) -> Self {
        self.set(|options| options.set_optimized_model_path(path.as_ref()))
    }

    /// Sets the log level of this session.
    pub fn with_log_level(self, level: LogLevel) -> Self {
        self.set(|options| options.set_log_level(level.raw()))
    }

    /// Sets a name for this session in the log.
    pub fn with_log_id(self, name: &str) -> Self {
        self.set(|options| options.set_log_id(name))
    }

    /// Loads a model from a file. If an option was refused, the error is the first of these. If the file does not exist,
    /// it is [`NoSuchFile`](OrtErrorCode::NoSuchFile). Other errors describe what is wrong with the file.
    pub fn commit_from_file(self, path: impl AsRef<Path>) -> Result<Session> {
        Session::of(ffi::Session::of_file(self.options?, path.as_ref())?)
    }

    /// Loads a model from bytes, which may be freed afterwards. If an option was refused, the error is the first of
    /// these.
    pub fn commit_from_memory(self, model: &[u8]) -> Result<Session> {
        let options = self.options?;
        if model.is_empty() {
            return Err(OnnxError::new(OrtErrorCode::InvalidProtobuf, "the model is empty"));
        }
        Session::of(ffi::Session::of_memory(options, model)?)
    }
}

impl std::fmt::Debug for SessionBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionBuilder").field("error", &self.options.as_ref().err()).finish_non_exhaustive()
    }
}
