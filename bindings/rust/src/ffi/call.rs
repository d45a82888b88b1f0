//! Calls by slot, checks of statuses, and owned handles.

use super::error::{Error, Result};
use super::tables::OrtStatus;
use super::text::text;

/// Gets the function of a slot, or an error if the library is too old for it. For use inside `unsafe`.
macro_rules! slot {
    ($name:ident) => {{
        let api = $crate::ffi::library::api()?;
        $crate::ffi::call::slot_of!(api.table, api.version, $name)
    }};
}

/// As above, from any table of a library with this version of the interface.
macro_rules! slot_of {
    ($table:expr, $version:expr, $name:ident) => {{
        let needed = $crate::ffi::tables::since::$name;
        let found = if needed > $crate::ffi::library::OLDEST && needed > $version {
            None
        } else {
            // The table of an older library is shorter than the type, so only this slot is read.
            std::ptr::addr_of!((*$table).$name).read()
        };
        match found {
            Some(function) => function,
            None => return Err($crate::ffi::error::Error::TooOld { call: stringify!($name), needed, found: $version }),
        }
    }};
}

/// Calls a function that returns a status, and converts the status to a `Result`. For use inside `unsafe`.
macro_rules! call {
    ($name:ident($($argument:expr),* $(,)?)) => {
        $crate::ffi::call::check($crate::ffi::call::slot!($name)($($argument),*))
    };
}

/// Defines a type that owns a handle of the library and releases it.
macro_rules! handle {
    ($(#[$meta:meta])* $name:ident, $raw:ident, $release:ident) => {
        $(#[$meta])*
        pub(crate) struct $name(std::ptr::NonNull<$crate::ffi::tables::$raw>);

        // SAFETY: handles are not tied to a thread; the types that contain them restrict concurrent use.
        unsafe impl Send for $name {}
        // SAFETY: as above.
        unsafe impl Sync for $name {}

        impl $name {
            /// Takes ownership of a handle that the library returned.
            pub(super) fn of(raw: *mut $crate::ffi::tables::$raw) -> $crate::ffi::error::Result<Self> {
                std::ptr::NonNull::new(raw).map($name).ok_or($crate::ffi::error::Error::Null(stringify!($raw)))
            }

            pub(super) fn raw(&self) -> *mut $crate::ffi::tables::$raw {
                self.0.as_ptr()
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                let release = || -> $crate::ffi::error::Result<()> {
                    // SAFETY: the handle is owned, and this is its last use.
                    unsafe { $crate::ffi::call::slot!($release)(self.raw()) };
                    Ok(())
                };
                let _ = release();
            }
        }
    };
}

/// Defines methods that pass their arguments to one function, which copies them, and check its status.
macro_rules! methods {
    ($($name:ident($($argument:ident: $type:ty),*) = $slot:ident($($value:expr),*);)*) => {
        $(
            pub(crate) fn $name(&self $(, $argument: $type)*) -> $crate::ffi::error::Result<()> {
                // SAFETY: the handle and the arguments live during the call.
                unsafe { $crate::ffi::call::call!($slot(self.raw() $(, $value)*)) }
            }
        )*
    };
}

pub(super) use {call, handle, methods, slot, slot_of};

/// Converts a status to a `Result`, and releases it.
#[inline]
pub(super) fn check(status: *mut OrtStatus) -> Result<()> {
    if status.is_null() { Ok(()) } else { Err(error_of(status)) }
}

#[cold]
fn error_of(status: *mut OrtStatus) -> Error {
    let read = || -> Result<Error> {
        // SAFETY: the status is owned. Its message is copied before it is released, and it is not used again.
        unsafe {
            let code = slot!(GetErrorCode)(status);
            let message = text(slot!(GetErrorMessage)(status));
            slot!(ReleaseStatus)(status);
            Ok(Error::Status(code, message))
        }
    };
    read().unwrap_or_else(|e| e)
}
