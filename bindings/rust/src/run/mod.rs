//! Runs, and what can be said about one.

#[allow(unsafe_code)]
pub(crate) mod ffi;
pub(crate) mod mistakes;

use crate::environment::LogLevel;
use crate::error::Result;

/// Options of a run. One may serve several runs, also at once; [`RunOptions::terminate`] ends all of them.
pub struct RunOptions {
    handle: ffi::OptionsHandle,
}

impl RunOptions {
    /// The usual options.
    pub fn new() -> Result<Self> {
        Ok(RunOptions { handle: ffi::options()? })
    }

    pub(crate) fn raw(&self) -> *mut crate::ffi::OrtRunOptions {
        self.handle.raw()
    }

    /// Ends runs with these options as soon as the library notices, with an error; and those that begin later, until
    /// [`RunOptions::reset`].
    pub fn terminate(&self) -> Result<()> {
        ffi::terminate(self)
    }

    /// Lets runs with these options go on again.
    pub fn reset(&self) -> Result<()> {
        ffi::reset(self)
    }

    /// A name that stands in the log of the run.
    pub fn set_tag(&mut self, tag: &str) -> Result<()> {
        ffi::set_tag(self, tag)
    }

    /// How much of the run is logged.
    pub fn set_log_level(&mut self, level: LogLevel) -> Result<()> {
        ffi::set_log_level(self, level)
    }

    /// An entry of configuration. Keys that carry addresses are refused.
    pub fn set_config_entry(&mut self, key: &str, value: &str) -> Result<()> {
        crate::builder::check_key(key)?;
        ffi::add_entry(self, key, value)
    }
}

impl std::fmt::Debug for RunOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RunOptions")
    }
}
