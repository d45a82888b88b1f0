//! Reasons why a call failed. The module `error` of the crate converts them to codes and messages.

use std::ffi::NulError;
use std::num::TryFromIntError;

use super::tables::{ONNXTensorElementDataType, OrtErrorCode};

pub(crate) type Result<T> = std::result::Result<T, Error>;

#[derive(Debug)]
pub(crate) enum Error {
    /// The library returned a status.
    Status(OrtErrorCode, String),
    /// The library returned a null pointer of this type, and no status.
    Null(&'static str),
    /// The loaded library is too old for a call.
    TooOld {
        call: &'static str,
        needed: u32,
        found: u32,
    },
    /// The loaded library does not have some other feature.
    NotSupported(String),
    #[cfg(feature = "load-dynamic")]
    NoLibrary(String),
    Invalid(String),
    /// The elements of the tensor have a different type than the caller wants.
    WrongType {
        found: ONNXTensorElementDataType,
        wanted: ONNXTensorElementDataType,
    },
    /// Something that cannot be done with elements of a type. The text continues "elements of type T".
    Elements(ONNXTensorElementDataType, String),
    Text(NulError),
    Number(TryFromIntError),
}

impl From<NulError> for Error {
    fn from(error: NulError) -> Self {
        Error::Text(error)
    }
}

impl From<TryFromIntError> for Error {
    fn from(error: TryFromIntError) -> Self {
        Error::Number(error)
    }
}
