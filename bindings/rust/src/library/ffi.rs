//! The raw side of the library: the table of functions, statuses, owned handles.

use std::ffi::{CStr, CString, c_char};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::error::{ErrorCode, OnnxError, Result};
use crate::ffi::{ORT_API_VERSION, OrtApi, OrtApiBase, OrtStatus, since};

/// The oldest interface that is asked for: slots that it has need no check.
pub(crate) const OLDEST: u32 = 17;

/// The functions of the loaded library.
pub(crate) struct Api {
    pub(crate) table: *const OrtApi,
    base: *const OrtApiBase,
    pub(crate) version: u32,
    #[cfg(feature = "load-dynamic")]
    library: libloading::Library,
}

// SAFETY: the tables are constant, live as long as the process, and their functions may be called from every thread.
unsafe impl Send for Api {}
// SAFETY: as above.
unsafe impl Sync for Api {}

static API: OnceLock<Api> = OnceLock::new();

/// The function of a slot, or an error where the library is too old for it. Only within `unsafe`.
macro_rules! slot {
    ($name:ident) => {{
        let api = $crate::library::ffi::api()?;
        let needed = $crate::ffi::since::$name;
        let found = if needed > $crate::library::ffi::OLDEST && needed > api.version {
            None
        } else {
            // The table of an older library is shorter than the type: only this slot is looked at.
            std::ptr::addr_of!((*api.table).$name).read()
        };
        match found {
            Some(function) => function,
            None => return Err($crate::error::OnnxError::too_old(stringify!($name), needed, api.version)),
        }
    }};
}

/// Calls a function that answers with a status, and makes a result of that. Only within `unsafe`.
macro_rules! call {
    ($name:ident($($argument:expr),* $(,)?)) => {
        $crate::library::ffi::check($crate::library::ffi::slot!($name)($($argument),*))
    };
}

/// The type that owns a handle of the library and releases it.
macro_rules! handle {
    ($(#[$meta:meta])* $name:ident, $raw:ident, $release:ident) => {
        $(#[$meta])*
        pub(crate) struct $name(std::ptr::NonNull<$crate::ffi::$raw>);

        // SAFETY: handles belong to no thread; who may use one at the same time, the types around it say.
        unsafe impl Send for $name {}
        // SAFETY: as above.
        unsafe impl Sync for $name {}

        impl $name {
            /// Takes over what the library gave.
            pub(crate) fn of(raw: *mut $crate::ffi::$raw) -> $crate::error::Result<Self> {
                std::ptr::NonNull::new(raw).map($name).ok_or_else(|| $crate::library::ffi::nothing(stringify!($raw)))
            }

            pub(crate) fn raw(&self) -> *mut $crate::ffi::$raw {
                self.0.as_ptr()
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                let release = || -> $crate::error::Result<()> {
                    // SAFETY: the handle is owned, and this is the last use of it.
                    unsafe { $crate::library::ffi::slot!($release)(self.raw()) };
                    Ok(())
                };
                let _ = release();
            }
        }
    };
}

pub(crate) use {call, handle, slot};

#[cold]
pub(crate) fn nothing(what: &str) -> OnnxError {
    OnnxError::new(ErrorCode::Fail, format!("the library gave no {what} and no error"))
}

impl Api {
    pub(crate) fn version_string(&self) -> String {
        // SAFETY: the function takes nothing and gives a constant text.
        unsafe { (*self.base).GetVersionString.map(|f| text(f())).unwrap_or_default() }
    }
}

/// The functions, loaded by the first call. A failure is not kept: the next call tries again.
#[inline]
pub(crate) fn api() -> Result<&'static Api> {
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
    API.get().ok_or_else(|| nothing("interface"))
}

/// The newest interface that both know; the library is asked for what it says that it has, since it complains on
/// standard error when it is asked for more.
fn negotiate(base: *const OrtApiBase) -> Result<(*const OrtApi, u32)> {
    // SAFETY: the base is what OrtGetApiBase gave; both functions may be called at any time.
    unsafe {
        let (Some(get), Some(told)) = (base.as_ref().and_then(|b| b.GetApi), base.as_ref().and_then(|b| b.GetVersionString)) else {
            return Err(nothing("OrtApiBase"));
        };
        let told = text(told());
        let newest = super::minor_of(&told).map_or(ORT_API_VERSION, |minor| minor.min(ORT_API_VERSION));
        for version in (OLDEST..=newest).rev() {
            let table = get(version);
            if !table.is_null() {
                return Ok((table, version));
            }
        }
        let message = format!("the library is version {told}, version 1.{OLDEST} or newer is needed");
        Err(OnnxError::new(ErrorCode::NotSupported, message))
    }
}

#[cfg(not(feature = "load-dynamic"))]
unsafe extern "C" {
    fn OrtGetApiBase() -> *const OrtApiBase;
    fn OrtSessionOptionsAppendExecutionProvider_CPU(
        options: *mut crate::ffi::OrtSessionOptions,
        use_arena: std::ffi::c_int,
    ) -> *mut OrtStatus;
}

#[cfg(not(feature = "load-dynamic"))]
fn open() -> Result<Api> {
    // SAFETY: the function takes nothing.
    let base = unsafe { OrtGetApiBase() };
    let (table, version) = negotiate(base)?;
    Ok(Api { table, base, version })
}

/// Opens what `RETORT_LIBRARY` or else `ORT_DYLIB_PATH` names, or else what the system's loader finds.
#[cfg(feature = "load-dynamic")]
fn open() -> Result<Api> {
    let named = ["RETORT_LIBRARY", "ORT_DYLIB_PATH"]
        .into_iter()
        .find_map(|name| std::env::var_os(name).filter(|v| !v.is_empty()).map(|file| (name, file)));
    let usual = ["libonnxruntime.so.1", "libonnxruntime.so", "libretort.so.1", "libonnxruntime.dylib"];
    let mut tried = Vec::new();
    let files: Vec<std::ffi::OsString> = match &named {
        // What is named is meant: another library in its place would surprise.
        Some((_, file)) => vec![file.clone()],
        None => usual.iter().map(Into::into).collect(),
    };
    for file in files {
        // SAFETY: loading runs the library's own initialisers; that the file is the library, who names it answers for.
        match unsafe { libloading::Library::new(&file) } {
            Ok(library) => return opened(library, &file.to_string_lossy()),
            Err(error) => tried.push(format!("{}: {error}", file.to_string_lossy())),
        }
    }
    let place = named.map_or("RETORT_LIBRARY and ORT_DYLIB_PATH are not set".to_owned(), |(name, _)| format!("{name} is set"));
    let message = format!("no library could be loaded ({place}); tried\n  {}\nname one by RETORT_LIBRARY", tried.join("\n  "));
    Err(OnnxError::new(ErrorCode::NoLibrary, message))
}

#[cfg(feature = "load-dynamic")]
fn opened(library: libloading::Library, name: &str) -> Result<Api> {
    // SAFETY: the symbol has this type in every library that exports it.
    let get = unsafe { library.get::<crate::ffi::OrtGetApiBaseFn>(b"OrtGetApiBase\0") };
    let get = get.map_err(|e| OnnxError::new(ErrorCode::NoLibrary, format!("{name} is not the library: {e}")))?;
    // SAFETY: the function takes nothing.
    let base = unsafe { get() };
    let (table, version) = negotiate(base)?;
    Ok(Api { table, base, version, library })
}

/// A function that the library exports beside the table.
#[cfg(feature = "load-dynamic")]
fn exported<T: Copy>(name: &[u8]) -> Result<Option<T>> {
    // SAFETY: who asks says the type that the symbol has in every library; the library is never closed.
    Ok(unsafe { api()?.library.get::<T>(name) }.ok().map(|f| *f))
}

/// As above, of the library that the program is linked with.
#[cfg(all(feature = "cuda", not(feature = "load-dynamic")))]
fn exported<T: Copy>(name: &[u8]) -> Result<Option<T>> {
    api()?;
    // SAFETY: as above.
    Ok(unsafe { libloading::os::unix::Library::this().get::<T>(name) }.ok().map(|f| *f))
}

/// `OrtSessionOptionsAppendExecutionProvider_CPU` of the library.
#[cfg(feature = "load-dynamic")]
pub(crate) fn append_cpu() -> Result<crate::ffi::OrtSessionOptionsAppendExecutionProvider_CPUFn> {
    let found = exported(b"OrtSessionOptionsAppendExecutionProvider_CPU\0")?;
    found.ok_or_else(|| OnnxError::new(ErrorCode::NotSupported, "the library does not export a CPU provider to append: leave it out"))
}

/// As above; a result as there.
#[cfg(not(feature = "load-dynamic"))]
#[allow(clippy::unnecessary_wraps)]
pub(crate) fn append_cpu() -> Result<crate::ffi::OrtSessionOptionsAppendExecutionProvider_CPUFn> {
    Ok(OrtSessionOptionsAppendExecutionProvider_CPU)
}

/// `OrtSessionOptionsAppendExecutionProvider_CUDA`, where the library exports it: those for processors alone do not.
#[cfg(feature = "cuda")]
pub(crate) fn append_cuda() -> Result<Option<crate::ffi::OrtSessionOptionsAppendExecutionProvider_CUDAFn>> {
    exported(b"OrtSessionOptionsAppendExecutionProvider_CUDA\0")
}

pub(crate) fn build_info() -> Result<String> {
    // SAFETY: the function takes nothing and gives a constant text.
    unsafe { Ok(text(slot!(GetBuildInfoString)())) }
}

/// Makes a result of a status, and releases it.
#[inline]
pub(crate) fn check(status: *mut OrtStatus) -> Result<()> {
    if status.is_null() { Ok(()) } else { Err(error_of(status)) }
}

#[cold]
fn error_of(status: *mut OrtStatus) -> OnnxError {
    let read = || -> Result<OnnxError> {
        // SAFETY: the status is owned; its text is copied before it is released, and it is not used again.
        unsafe {
            let code = slot!(GetErrorCode)(status);
            let message = text(slot!(GetErrorMessage)(status));
            slot!(ReleaseStatus)(status);
            Ok(OnnxError::new(ErrorCode::from_raw(code.0), message))
        }
    };
    read().unwrap_or_else(|e| e)
}

/// A copy of a text of the library; what is no UTF-8 in it is replaced, and null is empty.
///
/// # Safety
/// The pointer is null or that of a text which ends with a zero.
pub(crate) unsafe fn text(raw: *const c_char) -> String {
    if raw.is_null() {
        return String::new();
    }
    // SAFETY: as above.
    unsafe { CStr::from_ptr(raw) }.to_string_lossy().into_owned()
}

/// Names and values as arrays of C texts.
pub(crate) struct Pairs {
    _texts: Vec<CString>,
    pub(crate) keys: Vec<*const c_char>,
    pub(crate) values: Vec<*const c_char>,
}

impl Pairs {
    pub(crate) fn of(pairs: &[(&str, &str)]) -> Result<Self> {
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

const _: () = assert!(since::RunAsync <= OLDEST && since::SynchronizeBoundOutputs <= OLDEST);
