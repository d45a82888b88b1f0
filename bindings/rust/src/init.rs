//! The loaded library and its environment: one per process, created by the first call that needs it, never released.

use std::path::Path;
use std::sync::OnceLock;

use crate::error::Result;
use crate::ffi::{self, OrtLoggingLevel};

/// Returns the version of the loaded library, as it reports it: `"1.32.0"`, for example.
pub fn version() -> Result<String> {
    Ok(ffi::version()?)
}

/// The newest version of the interface that this crate knows.
pub const ORT_API_VERSION: u32 = ffi::ORT_API_VERSION;

/// Returns the version of the interface in use: that of the library, at most [`ORT_API_VERSION`]. Calls that were added
/// in later versions fail with [`NotSupported`](crate::OrtErrorCode::NotSupported).
pub fn api_version() -> Result<u32> {
    Ok(ffi::api_version()?)
}

/// Returns the library's description of its build.
pub fn build_info() -> Result<String> {
    Ok(ffi::build_info()?)
}

/// The log level: how much the library writes to standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LogLevel {
    /// All messages.
    Verbose,
    /// Messages about progress, and all of the following levels.
    Info,
    /// Warnings, and all of the following levels.
    #[default]
    Warning,
    /// Errors, and all of the following levels.
    Error,
    /// Errors that end the process.
    Fatal,
}

impl LogLevel {
    pub(crate) fn raw(self) -> OrtLoggingLevel {
        match self {
            LogLevel::Verbose => OrtLoggingLevel::ORT_LOGGING_LEVEL_VERBOSE,
            LogLevel::Info => OrtLoggingLevel::ORT_LOGGING_LEVEL_INFO,
            LogLevel::Warning => OrtLoggingLevel::ORT_LOGGING_LEVEL_WARNING,
            LogLevel::Error => OrtLoggingLevel::ORT_LOGGING_LEVEL_ERROR,
            LogLevel::Fatal => OrtLoggingLevel::ORT_LOGGING_LEVEL_FATAL,
        }
    }
}

/// The environment of the process. Thread-safe. There is only one, and it exists until the process ends.
pub struct Environment {
    pub(crate) handle: &'static ffi::Environment,
}

impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Environment")
    }
}

/// Loads the library and creates the environment, if that has not been done. Every function that needs them calls this.
/// A program calls it itself to find out early whether there is a library.
///
/// It may be called several times, and from several threads at once. If it fails, the next call tries again.
///
/// ```
/// let environment = onnx::init()?;
/// assert!(std::ptr::eq(environment, onnx::init()?));
/// # Ok::<(), onnx::OnnxError>(())
/// ```
pub fn init() -> Result<&'static Environment> {
    Ok(of(ffi::Environment::get()?))
}

/// Like [`init`], with a log level and a name for the log. Both are ignored if the environment already exists, whether
/// this crate or other code in the process created it.
pub fn init_with(level: LogLevel, name: &str) -> Result<&'static Environment> {
    Ok(of(ffi::Environment::with(level.raw(), name)?))
}

fn of(handle: &'static ffi::Environment) -> &'static Environment {
    static ENVIRONMENT: OnceLock<Environment> = OnceLock::new();
    ENVIRONMENT.get_or_init(|| Environment { handle })
}

impl Environment {
    /// Returns the names of the execution providers that are built into the library, best first.
    pub fn providers(&self) -> Result<Vec<String>> {
        Ok(ffi::providers()?)
    }

    /// Loads the library of a plug-in provider and gives it a name. Afterwards, [`Environment::devices`] lists its
    /// devices.
    ///
    /// The library stays loaded until the process ends: ONNX Runtime would unload it even if sessions, devices or
    /// tensors still use it, so safe code cannot be allowed to request that. The file runs as part of the process: use
    /// trusted files only. It is an error if the name is in use or the file is not a provider. Needs version 1.22 of
    /// the library.
    pub fn register_provider_library(&self, name: &str, path: impl AsRef<Path>) -> Result<()> {
        Ok(self.handle.register_provider_library(name, path.as_ref())?)
    }

    /// Registers an arena of host memory, in place of the one that was registered before; older libraries refuse a
    /// second one. Sessions that are created while it is registered, with the config entry
    /// `session.use_env_allocators` = `1`, take workspaces and results from it together.
    /// [`crate::Allocator::shared`] does not return it.
    ///
    /// `settings` are names and numbers: `max_mem` is the most bytes that may be in use, and a run that needs more
    /// fails. Retort knows the names of the other settings of an arena, which have no effect (`docs/memory.md`). An
    /// unknown name is an error.
    ///
    /// ```
    /// onnx::init()?.create_and_register_allocator(&[("max_mem", 64 << 20)])?;
    /// let builder = onnx::session_builder().with_config_entry("session.use_env_allocators", "1");
    /// # Ok::<(), onnx::OnnxError>(())
    /// ```
    pub fn create_and_register_allocator(&self, settings: &[(&str, usize)]) -> Result<()> {
        Ok(ffi::register_arena(self.handle, settings)?)
    }

    /// Changes the log level from now on. Thread-safe.
    pub fn set_log_level(&self, level: LogLevel) -> Result<()> {
        Ok(self.handle.set_log_level(level.raw())?)
    }
}
