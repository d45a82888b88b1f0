//! Runs, and their options.

use std::ffi::{CString, c_char};
use std::ptr::{null, null_mut};

use super::call::{call, handle, methods};
use super::error::Result;
use super::few::Few;
use super::options::check_key;
use super::session::{Port, Session};
use super::tables::{OrtLoggingLevel, OrtValue};
use super::value::{Handles, Value, ValueHandle};

handle!(
    /// Options of runs. Several threads may run with the same options at once. During a run, the caller may only
    /// terminate it; the other methods need exclusive access.
    RunOptions, OrtRunOptions, ReleaseRunOptions
);

impl RunOptions {
    pub(crate) fn new() -> Result<Self> {
        let mut raw = null_mut();
        // SAFETY: the library returns new options.
        unsafe { call!(CreateRunOptions(&raw mut raw))? };
        RunOptions::of(raw)
    }

    methods! {
        terminate() = RunOptionsSetTerminate();
        reset() = RunOptionsUnsetTerminate();
        set_tag(tag: &str) = RunOptionsSetRunTag(CString::new(tag)?.as_ptr());
        set_log_level(level: OrtLoggingLevel) = RunOptionsSetRunLogSeverityLevel(level.0);
    }

    pub(crate) fn add_config_entry(&self, key: &str, value: &str) -> Result<()> {
        check_key(key)?;
        let (key, value) = (CString::new(key)?, CString::new(value)?);
        // SAFETY: the options are valid, and the library copies both strings.
        unsafe { call!(AddRunConfigEntry(self.raw(), key.as_ptr(), value.as_ptr())) }
    }
}

pub(super) type Names = Few<*const c_char, 8>;

/// Returns pointers to names of a session, by their indexes; they are valid as long as the session.
pub(super) fn names(ports: &[Port], places: &[usize]) -> Names {
    places.iter().map(|&at| ports[at].name.as_ptr()).collect()
}

/// Takes ownership of results.
///
/// # Safety
/// Each pointer must be null or a handle that the caller owns, and must not be used again.
pub(super) unsafe fn take(raw: &[*mut OrtValue]) -> Handles {
    raw.iter().map(|&one| ValueHandle::of(one).ok()).collect()
}

impl Session {
    /// Runs the model. Inputs and outputs are given by their indexes in the lists of the session; `values` has one
    /// value for each input.
    pub(crate) fn run<'v>(
        &self,
        options: Option<&RunOptions>,
        inputs: &[usize],
        values: impl Iterator<Item = &'v Value>,
        outputs: &[usize],
    ) -> Result<Handles> {
        let (given, wanted) = (names(&self.inputs, inputs), names(&self.outputs, outputs));
        let values: Few<*const OrtValue, 8> = values.map(|v| v.raw().cast_const()).collect();
        let mut results: Few<*mut OrtValue, 8> = Few::blank(outputs.len());
        let options = options.map_or(null(), |o| o.raw().cast_const());
        // SAFETY: session, options and inputs live during the call, and all arrays have the lengths that are passed.
        // Handles that a failed run leaves behind are taken as well, and released.
        unsafe {
            let done = call!(Run(
                self.raw(),
                options,
                given.as_ptr(),
                values.as_ptr(),
                values.len().min(given.len()),
                wanted.as_ptr(),
                results.len(),
                results.as_mut_ptr(),
            ));
            let results = take(&results);
            done.map(|()| results)
        }
    }
}
