//! The library behind the crate, and its environment: one per process, made by the first call that needs it, never released.

use std::path::Path;
use std::sync::OnceLock;

use crate::error::Result;
use crate::ffi::{self, OrtLoggingLevel};

/// The version of the loaded library, as it says itself, `"1.31.1"` for example.
pub fn version() -> Result<String> {
    Ok(ffi::version()?)
}

/// The version of the interface that is in use: that of the library, 31 at most. Calls that came later are
/// [`NotSupported`](crate::ErrorCode::NotSupported).
pub fn api_version() -> Result<u32> {
    Ok(ffi::api_version()?)
}

/// How the loaded library was built, in its own words.
pub fn build_info() -> Result<String> {
    Ok(ffi::build_info()?)
}

/// How much the library writes to standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LogLevel {
    /// All messages.
    Verbose,
    /// Messages on progress, and all that follow.
    Info,
    /// Possible mistakes, and all that follow.
    #[default]
    Warning,
    /// Failures, and all that follow.
    Error,
    /// Failures that end the process.
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

/// The environment of the process. Thread-safe; there is one, and it lives as long as the process.
pub struct Environment {
    pub(crate) handle: &'static ffi::Environment,
}

impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Environment")
    }
}

/// Loads the library and makes the environment, if that has not been done. Every function that needs them does it by
/// itself: a program calls this to learn early whether there is a library.
///
/// May be called often, and from several threads at once. A failure is not kept: the next call tries again.
///
/// ```
/// let environment = onnx::init()?;
/// assert!(std::ptr::eq(environment, onnx::init()?));
/// # Ok::<(), onnx::OnnxError>(())
/// ```
pub fn init() -> Result<&'static Environment> {
    Ok(of(ffi::Environment::get()?))
}

/// As [`init`], with a level of logging and a name for the lines of the log. Both are ignored where the
/// environment has been made before, by this crate or by others in the process.
pub fn init_with(level: LogLevel, name: &str) -> Result<&'static Environment> {
    Ok(of(ffi::Environment::with(level.raw(), name)?))
}

fn of(handle: &'static ffi::Environment) -> &'static Environment {
    static ENVIRONMENT: OnceLock<Environment> = OnceLock::new();
    ENVIRONMENT.get_or_init(|| Environment { handle })
}

impl Environment {
    /// Names of the execution providers that are built into the library, best first.
    pub fn providers(&self) -> Result<Vec<String>> {
        Ok(ffi::providers()?)
    }

    /// Loads the library of a plug-in provider and gives it a name; its devices are among [`Environment::devices`] then.
    ///
    /// It stays until the process ends: ONNX Runtime would unload it without looking whether a session, a device or a
    /// tensor needs it, so safe code must not be able to ask for that. The file runs as part of the process: name only
    /// files that are trusted. An error where the name is taken or the file is not a provider. Needs a library of 1.22.
    pub fn register_provider_library(&self, name: &str, path: impl AsRef<Path>) -> Result<()> {
        Ok(self.handle.register_provider_library(name, path.as_ref())?)
    }

    /// Changes how much is logged from now on. Thread-safe.
    pub fn set_log_level(&self, level: LogLevel) -> Result<()> {
        Ok(self.handle.set_log_level(level.raw())?)
    }
}
