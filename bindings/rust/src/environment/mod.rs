//! The environment: one per process, made by the first call that needs it, never released.

#[allow(unsafe_code)]
pub(crate) mod ffi;

use std::path::Path;

use crate::device::EpDevice;
use crate::error::Result;

/// How much the library writes to standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LogLevel {
    /// Everything.
    Verbose,
    /// What happens.
    Info,
    /// What may be a mistake.
    #[default]
    Warning,
    /// What failed.
    Error,
    /// What ends the process.
    Fatal,
}

/// The environment of the process. Thread-safe; there is one, and it lives as long as the process.
pub struct Environment {
    handle: ffi::EnvHandle,
}

impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Environment")
    }
}

/// Loads the library and makes the environment, if that has not been done. Every function that needs them does it by
/// itself: a program calls this to see early whether there is a library.
///
/// May be called often, and from several threads at once. A failure is not kept: the next call tries again.
///
/// ```
/// let environment = onnx::init()?;
/// assert!(std::ptr::eq(environment, onnx::init()?));
/// # Ok::<(), onnx::OnnxError>(())
/// ```
pub fn init() -> Result<&'static Environment> {
    init_with(LogLevel::default(), "onnx")
}

/// As [`init`], with a level of logging and a name that stands in each line of the log. Both are ignored where the
/// environment has been made before, by this crate or by others in the process.
pub fn init_with(level: LogLevel, name: &str) -> Result<&'static Environment> {
    ffi::environment(level, name)
}

impl Environment {
    pub(crate) fn raw(&self) -> *mut crate::ffi::OrtEnv {
        self.handle.raw()
    }

    /// Names of the execution providers that are built into the library, best first.
    pub fn providers(&self) -> Result<Vec<String>> {
        ffi::providers()
    }

    /// The devices that sessions can run on, with the provider that drives each. The processor is always one of them.
    ///
    /// Needs a library of 1.22.
    pub fn devices(&self) -> Result<Vec<EpDevice>> {
        crate::device::ffi::devices(self)
    }

    /// Loads the library of a plug-in provider and gives it a name; its devices are among [`Environment::devices`] then.
    ///
    /// It stays until the process ends: ONNX Runtime unloads it without looking whether a session, a device or a tensor
    /// needs it, which safe code must not be able to ask for. The file is run as part of the process: name only files
    /// that are trusted. An error where the name is taken or the file is no provider. Needs a library of 1.22.
    pub fn register_provider_library(&self, name: &str, path: impl AsRef<Path>) -> Result<()> {
        crate::device::ffi::register(self, name, path.as_ref())
    }

    /// Changes how much is logged from now on. Thread-safe.
    pub fn set_log_level(&self, level: LogLevel) -> Result<()> {
        ffi::set_log_level(self, level)
    }
}
