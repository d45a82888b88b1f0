//! Finds and opens the library, and gets the newest version of the interface that both the library and this crate know.

use std::sync::{Mutex, OnceLock, PoisonError};

use super::error::{Error, Result};
use super::tables::{ORT_API_VERSION, OrtApi, OrtApiBase, OrtSessionOptionsAppendExecutionProvider_CPUFn, since};
#[cfg(not(feature = "load-dynamic"))]
use super::tables::{OrtSessionOptions, OrtStatus};
use super::text::text;

/// The oldest version of the interface that this crate accepts. Slots of this version need no check.
pub(super) const OLDEST: u32 = 17;

/// The functions of the loaded library.
pub(super) struct Api {
    pub(super) table: *const OrtApi,
    base: *const OrtApiBase,
    pub(super) version: u32,
    #[cfg(feature = "load-dynamic")]
    library: libloading::Library,
}

// SAFETY: the tables are constant and always valid, and their functions may be called from every thread.
unsafe impl Send for Api {}
// SAFETY: as above.
unsafe impl Sync for Api {}

static API: OnceLock<Api> = OnceLock::new();

/// Returns the functions; the first call loads the library. If that fails, the next call tries again.
#[inline]
pub(super) fn api() -> Result<&'static Api> {
    match API.get() {
        Some(api) => Ok(api),
        None => load(),
    }
}

#[cold]
fn load() -> Result<&'static Api> {
    static LOADING: Mutex<()> = Mutex::new(());
    let _one = LOADING.lock().unwrap_or_else(PoisonError::into_inner);
    if API.get().is_none() {
        let _ = API.set(open()?);
    }
    API.get().ok_or(Error::Null("OrtApi"))
}

/// Returns the version of the library, as it reports it.
pub(crate) fn version() -> Result<String> {
    let api = api()?;
    // SAFETY: the function takes no arguments and returns a constant string.
    Ok(unsafe { (*api.base).GetVersionString.map(|f| text(f())).unwrap_or_default() })
}

/// Returns the version of the interface in use.
pub(crate) fn api_version() -> Result<u32> {
    Ok(api()?.version)
}

/// Gets the newest version of the interface that both sides know. A library prints an error when it is asked for a
/// newer version than its own, so this function requests no version beyond the library's.
fn negotiate(base: *const OrtApiBase) -> Result<(*const OrtApi, u32)> {
    // SAFETY: OrtGetApiBase returned the base, and both functions may be called at any time.
    unsafe {
        let (Some(get), Some(version)) = (base.as_ref().and_then(|b| b.GetApi), base.as_ref().and_then(|b| b.GetVersionString)) else {
            return Err(Error::Null("OrtApiBase"));
        };
        let named = text(version());
        let newest = minor_of(&named).map_or(ORT_API_VERSION, |minor| minor.min(ORT_API_VERSION));
        for version in (OLDEST..=newest).rev() {
            let table = get(version);
            if !table.is_null() {
                return Ok((table, version));
            }
        }
        Err(Error::NotSupported(format!("the library has version {named}: load version 1.{OLDEST} or newer")))
    }
}

/// Returns the minor version in `1.<minor>.<patch>`.
fn minor_of(version: &str) -> Option<u32> {
    let mut parts = version.split('.');
    if parts.next()? != "1" {
        return None;
    }
    parts.next()?.parse().ok()
}

#[cfg(not(feature = "load-dynamic"))]
unsafe extern "C" {
    fn OrtGetApiBase() -> *const OrtApiBase;
    fn OrtSessionOptionsAppendExecutionProvider_CPU(options: *mut OrtSessionOptions, use_arena: std::ffi::c_int) -> *mut OrtStatus;
}

#[cfg(not(feature = "load-dynamic"))]
fn open() -> Result<Api> {
    // SAFETY: the function takes no arguments.
    let base = unsafe { OrtGetApiBase() };
    let (table, version) = negotiate(base)?;
    Ok(Api { table, base, version })
}

/// Opens the file that `RETORT_LIBRARY` or, if that is not set, `ORT_DYLIB_PATH` names. If neither is set, opens the
/// library that the system's loader finds.
#[cfg(feature = "load-dynamic")]
fn open() -> Result<Api> {
    let named = ["RETORT_LIBRARY", "ORT_DYLIB_PATH"]
        .into_iter()
        .find_map(|name| std::env::var_os(name).filter(|v| !v.is_empty()).map(|file| (name, file)));
    let usual = ["libonnxruntime.so.1", "libonnxruntime.so", "libretort.so.1", "libonnxruntime.dylib"];
    let mut tried = Vec::new();
    let files: Vec<std::ffi::OsString> = match &named {
        // If a variable names a library, no other is tried, because using a different library would be a surprise.
        Some((_, file)) => vec![file.clone()],
        None => usual.iter().map(Into::into).collect(),
    };
    for file in files {
        // SAFETY: loading runs the initialisers of the library. The caller is responsible for the file that it names.
        match unsafe { libloading::Library::new(&file) } {
            Ok(library) => return opened(library, &file.to_string_lossy()),
            Err(error) => tried.push(format!("{}: {error}", file.to_string_lossy())),
        }
    }
    let place = named.map_or("RETORT_LIBRARY and ORT_DYLIB_PATH are not set".to_owned(), |(name, _)| format!("{name} is set"));
    Err(Error::NoLibrary(format!("no library could be loaded ({place}); tried\n  {}\nset RETORT_LIBRARY to a library", tried.join("\n  "))))
}

#[cfg(feature = "load-dynamic")]
fn opened(library: libloading::Library, name: &str) -> Result<Api> {
    // SAFETY: the symbol has this type in every library that exports it.
    let get = unsafe { library.get::<super::tables::OrtGetApiBaseFn>(b"OrtGetApiBase\0") };
    let get = get.map_err(|e| Error::NoLibrary(format!("{name} is not an ONNX Runtime library: {e}")))?;
    // SAFETY: the function takes no arguments.
    let base = unsafe { get() };
    let (table, version) = negotiate(base)?;
    Ok(Api { table, base, version, library })
}

/// Returns a function that the library exports besides those in the table.
#[cfg(feature = "load-dynamic")]
fn exported<T: Copy>(name: &[u8]) -> Result<Option<T>> {
    // SAFETY: the caller passes the type that the symbol has in every library. The library is never closed.
    Ok(unsafe { api()?.library.get::<T>(name) }.ok().map(|f| *f))
}

/// As above, for the library that the program is linked with.
#[cfg(all(feature = "cuda", not(feature = "load-dynamic")))]
fn exported<T: Copy>(name: &[u8]) -> Result<Option<T>> {
    api()?;
    // SAFETY: as above.
    Ok(unsafe { libloading::os::unix::Library::this().get::<T>(name) }.ok().map(|f| *f))
}

/// Returns `OrtSessionOptionsAppendExecutionProvider_CPU` of the library.
#[cfg(feature = "load-dynamic")]
pub(super) fn append_cpu() -> Result<OrtSessionOptionsAppendExecutionProvider_CPUFn> {
    let found = exported(b"OrtSessionOptionsAppendExecutionProvider_CPU\0")?;
    found.ok_or_else(|| {
        Error::NotSupported(
            "the library does not export OrtSessionOptionsAppendExecutionProvider_CPU: leave the CPU provider out".to_owned(),
        )
    })
}

/// As above. It returns a `Result` only to have the same signature.
#[cfg(not(feature = "load-dynamic"))]
#[allow(clippy::unnecessary_wraps)]
pub(super) fn append_cpu() -> Result<OrtSessionOptionsAppendExecutionProvider_CPUFn> {
    Ok(OrtSessionOptionsAppendExecutionProvider_CPU)
}

/// Returns `OrtSessionOptionsAppendExecutionProvider_CUDA`. Libraries without GPU support do not export it.
#[cfg(feature = "cuda")]
pub(super) fn append_cuda() -> Result<Option<super::tables::OrtSessionOptionsAppendExecutionProvider_CUDAFn>> {
    exported(b"OrtSessionOptionsAppendExecutionProvider_CUDA\0")
}

const _: () = assert!(since::RunAsync <= OLDEST && since::SynchronizeBoundOutputs <= OLDEST);

#[cfg(test)]
mod tests {
    use super::minor_of;

    #[test]
    fn versions_are_read() {
        assert_eq!(minor_of("1.17.3"), Some(17));
        assert_eq!(minor_of("1.32"), Some(32));
        assert_eq!(minor_of("1"), None);
        assert_eq!(minor_of("2.0.0"), None);
        assert_eq!(minor_of("one"), None);
    }
}
