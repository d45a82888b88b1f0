//! C strings.

use std::ffi::{CStr, CString, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::error::Result;

/// Copies a string of the library. Bytes that are not UTF-8 are replaced; null gives an empty string.
///
/// # Safety
/// The pointer must be null or point to a zero-terminated string.
pub(super) unsafe fn text(raw: *const c_char) -> String {
    if raw.is_null() {
        return String::new();
    }
    // SAFETY: as above.
    unsafe { CStr::from_ptr(raw) }.to_string_lossy().into_owned()
}

/// Converts a path to a C string.
pub(super) fn path(path: &Path) -> Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}

/// Names and values as arrays of C strings.
pub(super) struct Pairs {
    _texts: Vec<CString>,
    pub(super) keys: Vec<*const c_char>,
    pub(super) values: Vec<*const c_char>,
}

impl Pairs {
    pub(super) fn of(pairs: &[(&str, &str)]) -> Result<Self> {
        let mut texts = Vec::with_capacity(2 * pairs.len());
        for (key, value) in pairs {
            texts.push(CString::new(*key)?);
            texts.push(CString::new(*value)?);
        }
        let keys = texts.iter().step_by(2).map(|t| t.as_ptr()).collect();
        let values = texts.iter().skip(1).step_by(2).map(|t| t.as_ptr()).collect();
        Ok(Pairs { _texts: texts, keys, values })
    }
}
