//! Raw calls about the environment.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

use super::{Environment, LogLevel};
use crate::error::Result;
use crate::ffi::OrtLoggingLevel;
use crate::library::ffi::{api, call, handle, nothing, text};

handle!(EnvHandle, OrtEnv, ReleaseEnv);

static ENVIRONMENT: OnceLock<Environment> = OnceLock::new();

pub(crate) fn raw_level(level: LogLevel) -> OrtLoggingLevel {
    match level {
        LogLevel::Verbose => OrtLoggingLevel::ORT_LOGGING_LEVEL_VERBOSE,
        LogLevel::Info => OrtLoggingLevel::ORT_LOGGING_LEVEL_INFO,
        LogLevel::Warning => OrtLoggingLevel::ORT_LOGGING_LEVEL_WARNING,
        LogLevel::Error => OrtLoggingLevel::ORT_LOGGING_LEVEL_ERROR,
        LogLevel::Fatal => OrtLoggingLevel::ORT_LOGGING_LEVEL_FATAL,
    }
}

pub(super) fn environment(level: LogLevel, name: &str) -> Result<&'static Environment> {
    static MAKING: Mutex<()> = Mutex::new(());
    if let Some(made) = ENVIRONMENT.get() {
        return Ok(made);
    }
    let _one = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    if ENVIRONMENT.get().is_none() {
        let name = CString::new(name)?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the name lives during the call, the library copies it.
        unsafe { call!(CreateEnv(raw_level(level), name.as_ptr(), &raw mut raw))? };
        let _ = ENVIRONMENT.set(Environment { handle: EnvHandle::of(raw)? });
    }
    ENVIRONMENT.get().ok_or_else(|| nothing("OrtEnv"))
}

pub(super) fn set_log_level(environment: &Environment, level: LogLevel) -> Result<()> {
    // SAFETY: the environment lives as long as the process.
    unsafe { call!(UpdateEnvWithCustomLogLevel(environment.raw(), raw_level(level))) }
}

pub(super) fn providers() -> Result<Vec<String>> {
    let (mut names, mut count) = (std::ptr::null_mut(), 0);
    // SAFETY: the library gives an array of that many texts, which are copied before it is given back.
    unsafe {
        call!(GetAvailableProviders(&raw mut names, &raw mut count))?;
        let listed = (0..usize::try_from(count)?).map(|at| text(*names.add(at))).collect();
        call!(ReleaseAvailableProviders(names, count))?;
        Ok(listed)
    }
}

/// A path as the C interface takes it.
pub(crate) fn path(path: &Path) -> Result<CString> {
    let _ = api()?;
    Ok(CString::new(path.as_os_str().as_bytes())?)
}
