//! The error type of the crate.

use std::fmt;

use crate::element::ElementType;
use crate::ffi;

/// A `Result` with [`OnnxError`].
pub type Result<T, E = OnnxError> = std::result::Result<T, E>;

/// The kind of an error. Libraries use different codes for the same mistake, so test for success first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OrtErrorCode {
    /// An error without a code of its own.
    Fail,
    /// An argument is not valid: a name, a type, a shape, a length.
    InvalidArgument,
    /// A file does not exist.
    NoSuchFile,
    /// There is no model.
    NoModel,
    /// The engine failed.
    EngineError,
    /// An exception inside the library.
    RuntimeException,
    /// The bytes are not a model.
    InvalidProtobuf,
    /// The session already has a model.
    ModelLoaded,
    /// The library does not have the function.
    NotImplemented,
    /// The graph of the model is not valid.
    InvalidGraph,
    /// An execution provider failed.
    EpFail,
    /// Loading was cancelled.
    ModelLoadCanceled,
    /// The model must be compiled first.
    ModelRequiresCompilation,
    /// Nothing with the given name exists.
    NotFound,
    /// A device was reset, and its contents are lost.
    DeviceReset,
    /// The loaded library is too old for the call, or was built without the feature.
    NotSupported,
    /// No library could be loaded.
    NoLibrary,
    /// A code that this crate does not know.
    Other(i32),
}

impl OrtErrorCode {
    fn from_raw(code: i32) -> Self {
        const KNOWN: [OrtErrorCode; 15] = [
            OrtErrorCode::Fail,
            OrtErrorCode::InvalidArgument,
            OrtErrorCode::NoSuchFile,
            OrtErrorCode::NoModel,
            OrtErrorCode::EngineError,
            OrtErrorCode::RuntimeException,
            OrtErrorCode::InvalidProtobuf,
            OrtErrorCode::ModelLoaded,
            OrtErrorCode::NotImplemented,
            OrtErrorCode::InvalidGraph,
            OrtErrorCode::EpFail,
            OrtErrorCode::ModelLoadCanceled,
            OrtErrorCode::ModelRequiresCompilation,
            OrtErrorCode::NotFound,
            OrtErrorCode::DeviceReset,
        ];
        usize::try_from(code - 1).ok().and_then(|at| KNOWN.get(at)).copied().unwrap_or(OrtErrorCode::Other(code))
    }
}

/// An error of the library or of this crate: a code, and a message that says what is wrong and what is expected.
///
/// ```
/// use onnx::{OnnxError, OrtErrorCode};
/// let error = OnnxError::new(OrtErrorCode::InvalidArgument, "the shape [2, 3] has 6 elements, but the data has 5");
/// assert_eq!(error.to_string(), "the shape [2, 3] has 6 elements, but the data has 5 (InvalidArgument)");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnnxError {
    /// The kind of the error.
    pub code: OrtErrorCode,
    /// What is wrong, and what is expected.
    pub message: String,
}

impl OnnxError {
    /// Creates an error.
    pub fn new(code: OrtErrorCode, message: impl Into<String>) -> Self {
        OnnxError { code, message: message.into() }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(OrtErrorCode::InvalidArgument, message)
    }
}

impl fmt::Display for OnnxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:?})", self.message, self.code)
    }
}

impl std::error::Error for OnnxError {}

impl From<ffi::Error> for OnnxError {
    #[cold]
    fn from(error: ffi::Error) -> Self {
        use ffi::Error;
        match error {
            Error::Status(code, message) => Self::new(OrtErrorCode::from_raw(code.0), message),
            Error::Null(what) => Self::new(OrtErrorCode::Fail, format!("the library returned no {what} and no error")),
            Error::TooOld { call, needed, found } => Self::new(
                OrtErrorCode::NotSupported,
                format!(
                    "{call} came with version 1.{needed} of the library, but the loaded one has the interface of 1.{found}: load a newer library"
                ),
            ),
            Error::NotSupported(message) => Self::new(OrtErrorCode::NotSupported, message),
            #[cfg(feature = "load-dynamic")]
            Error::NoLibrary(message) => Self::new(OrtErrorCode::NoLibrary, message),
            Error::Invalid(message) => Self::invalid(message),
            Error::WrongType { found, wanted } => {
                let (found, wanted) = (ElementType::from_raw(found), ElementType::from_raw(wanted));
                Self::invalid(format!("the tensor has elements of type {found:?}, not {wanted:?}"))
            }
            Error::Elements(element, what) => Self::invalid(format!("elements of type {:?} {what}", ElementType::from_raw(element))),
            Error::Text(error) => error.into(),
            Error::Number(error) => error.into(),
        }
    }
}

impl From<std::ffi::NulError> for OnnxError {
    fn from(error: std::ffi::NulError) -> Self {
        let at = error.nul_position();
        Self::invalid(format!(
            "the string {:?} contains a zero byte at {at}, where the C interface would end it",
            String::from_utf8_lossy(&error.into_vec())
        ))
    }
}

impl From<std::str::Utf8Error> for OnnxError {
    fn from(error: std::str::Utf8Error) -> Self {
        Self::invalid(format!("a string of the library is not UTF-8: {error}"))
    }
}

impl From<std::string::FromUtf8Error> for OnnxError {
    fn from(error: std::string::FromUtf8Error) -> Self {
        error.utf8_error().into()
    }
}

impl From<std::num::TryFromIntError> for OnnxError {
    fn from(error: std::num::TryFromIntError) -> Self {
        Self::invalid(format!("a number is out of range: {error}"))
    }
}

impl From<std::io::Error> for OnnxError {
    fn from(error: std::io::Error) -> Self {
        let code = if error.kind() == std::io::ErrorKind::NotFound { OrtErrorCode::NoSuchFile } else { OrtErrorCode::Fail };
        Self::new(code, error.to_string())
    }
}

impl From<OnnxError> for std::io::Error {
    fn from(error: OnnxError) -> Self {
        std::io::Error::other(error)
    }
}
