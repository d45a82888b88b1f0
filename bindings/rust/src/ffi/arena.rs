//! The arena of host memory that sessions share.

use std::ffi::{CString, NulError};
use std::ptr::null_mut;
use std::sync::{Mutex, PoisonError};

use super::call::{call, handle};
use super::environment::Environment;
use super::error::Result;
use super::memory::arena_info;

handle!(ArenaSettings, OrtArenaCfg, ReleaseArenaCfg);

/// Registers an arena of host memory, in place of the one before, which sessions that use it keep.
pub(crate) fn register_arena(environment: &Environment, settings: &[(&str, usize)]) -> Result<()> {
    // Older libraries do not lock the list of what is registered.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _registering = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
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
    Ok(())
}
