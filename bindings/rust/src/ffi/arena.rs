//! The arena of host memory that sessions share.

use std::ffi::{CString, NulError};
use std::ptr::null_mut;

use super::call::{call, handle};
use super::environment::Environment;
use super::error::{Error, Result};
use super::memory::{HostAllocator, arena_info, host_allocator};

handle!(ArenaSettings, OrtArenaCfg, ReleaseArenaCfg);

/// Registers an arena of host memory, once, and before `Allocator::shared` has returned the allocator of that memory:
/// the library may destroy the one that the arena replaces.
pub(crate) fn register_arena(environment: &Environment, settings: &[(&str, usize)]) -> Result<()> {
    let mut state = host_allocator();
    match *state {
        HostAllocator::Unused => {}
        HostAllocator::Used => {
            return Err(Error::Invalid("the shared allocator of host memory is in use: register an arena before you ask for it".into()));
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
        call!(CreateAndRegisterAllocator(environment.raw(), info.raw(), arena.raw()))?;
    }
    *state = HostAllocator::Arena;
    Ok(())
}
