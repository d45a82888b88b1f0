//! The library behind the crate: found, opened, and asked for the newest interface that both know.

#[allow(unsafe_code)]
pub(crate) mod ffi;

use crate::error::Result;

/// The version of the loaded library, as it says itself, `"1.31.1"` for one.
pub fn version() -> Result<String> {
    Ok(ffi::api()?.version_string())
}

/// The version of the interface that is used: that of the library, 31 at most. Calls that came later are
/// [`NotSupported`](crate::ErrorCode::NotSupported).
pub fn api_version() -> Result<u32> {
    Ok(ffi::api()?.version)
}

/// How the loaded library was built, in its own words.
pub fn build_info() -> Result<String> {
    ffi::build_info()
}

/// The minor version in `1.<minor>.<patch>`.
fn minor_of(version: &str) -> Option<u32> {
    let mut parts = version.split('.');
    if parts.next()? != "1" {
        return None;
    }
    parts.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::minor_of;

    #[test]
    fn versions_are_read() {
        assert_eq!(minor_of("1.17.3"), Some(17));
        assert_eq!(minor_of("1.31"), Some(31));
        assert_eq!(minor_of("1"), None);
        assert_eq!(minor_of("2.0.0"), None);
        assert_eq!(minor_of("one"), None);
    }
}
