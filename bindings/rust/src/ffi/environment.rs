//! The environment: one per process, never released.

use std::ffi::{CString, NulError};
use std::ptr::null_mut;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::call::{call, handle, slot};
use super::error::{Error, Result};
use super::memory::arena_info;
use super::tables::OrtLoggingLevel;
use super::text::text;

handle!(Environment, OrtEnv, ReleaseEnv);
handle!(ArenaSettings, OrtArenaCfg, ReleaseArenaCfg);

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

    /// Registers an arena of host memory, once, and before `Allocator::shared` has returned the allocator of that memory:
    /// the library may destroy the one that the arena replaces.
    pub(crate) fn register_arena(&self, settings: &[(&str, usize)]) -> Result<()> {
        let mut state = host_allocator();
        match *state {
            HostAllocator::Unused => {}
            HostAllocator::Used => {
                return Err(Error::Invalid(
                    "the shared allocator of host memory is in use: register an arena before you ask for it".into(),
                ));
            }
            HostAllocator::Arena => {
                return Err(Error::Invalid("an arena was registered before: register one arena in a process".into()));
            }
        }
        let names = settings.iter().map(|(name, _)| CString::new(*name)).collect::<std::result::Result<Vec<_>, NulError>>()?;
        let keys: Vec<_> = names.iter().map(|name| name.as_ptr()).collect();
        let values: Vec<_> = settings.iter().map(|(_, value)| *value).collect();
        let (info, mut raw) = (arena_info()?, null_mut());
        // SAFETY: both arrays have that many elements, and the library copies them. It copies the settings, too.
        unsafe {
            call!(CreateArenaCfgV2(keys.as_ptr(), values.as_ptr(), values.len(), &raw mut raw))?;
            let arena = ArenaSettings::of(raw)?;
            call!(CreateAndRegisterAllocator(self.raw(), info.raw(), arena.raw()))?;
        }
        *state = HostAllocator::Arena;
        Ok(())
    }
}

/// The allocator of host memory that sessions share.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum HostAllocator {
    /// No safe code has it, and an arena may take its place.
    Unused,
    Used,
    Arena,
}

/// Returns the state of the allocator, locked.
pub(super) fn host_allocator() -> MutexGuard<'static, HostAllocator> {
    static STATE: Mutex<HostAllocator> = Mutex::new(HostAllocator::Unused);
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
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
