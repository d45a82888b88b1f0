//! The environment: one per process, never released.

use std::ffi::CString;
use std::ptr::null_mut;
use std::sync::{Mutex, OnceLock, PoisonError};

use super::call::{call, handle, slot};
use super::error::{Error, Result};
use super::tables::OrtLoggingLevel;
use super::text::text;

handle!(Environment, OrtEnv, ReleaseEnv);

static ENVIRONMENT: OnceLock<Environment> = OnceLock::new();

impl Environment {
    /// Returns the environment; the first call creates it.
    #[inline]
    pub(crate) fn get() -> Result<&'static Self> {
        match ENVIRONMENT.get() {
            Some(made) => Ok(made),
            None => Self::with(OrtLoggingLevel::ORT_LOGGING_LEVEL_WARNING, "onnx"),
        }
    }

    /// As above. Only the first call uses the level and the name.
    pub(crate) fn with(level: OrtLoggingLevel, name: &str) -> Result<&'static Self> {
        static MAKING: Mutex<()> = Mutex::new(());
        let _one = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
        if ENVIRONMENT.get().is_none() {
            let (name, mut raw) = (CString::new(name)?, null_mut());
            // SAFETY: the name lives during the call, and the library copies it.
            unsafe { call!(CreateEnv(level, name.as_ptr(), &raw mut raw))? };
            let _ = ENVIRONMENT.set(Environment::of(raw)?);
        }
        ENVIRONMENT.get().ok_or(Error::Null("OrtEnv"))
    }

    pub(crate) fn set_log_level(&self, level: OrtLoggingLevel) -> Result<()> {
        // SAFETY: the environment is always valid.
        unsafe { call!(UpdateEnvWithCustomLogLevel(self.raw(), level)) }
    }
}

/// Returns the names of the providers that are built into the library.
pub(crate) fn providers() -> Result<Vec<String>> {
    let (mut names, mut count) = (null_mut(), 0);
    // SAFETY: the library returns an array of that many strings, which are copied before the array is released.
    unsafe {
        call!(GetAvailableProviders(&raw mut names, &raw mut count))?;
        let copies = (0..usize::try_from(count)?).map(|at| text(*names.add(at))).collect();
        call!(ReleaseAvailableProviders(names, count))?;
        Ok(copies)
    }
}

pub(crate) fn build_info() -> Result<String> {
    // SAFETY: the function takes no arguments and returns a constant string.
    unsafe { Ok(text(slot!(GetBuildInfoString)())) }
}
