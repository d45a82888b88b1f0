//! What can go wrong, as one type.

use std::fmt;

/// `Result` with [`OnnxError`].
pub type Result<T, E = OnnxError> = std::result::Result<T, E>;

/// The kind of an error. Libraries differ in the codes that they give to one mistake: test for success first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorCode {
    /// Anything that has no code of its own.
    Fail,
    /// An argument is wrong: a name, a type, a shape, a length.
    InvalidArgument,
    /// A file does not exist.
    NoSuchFile,
    /// There is no model where one is needed.
    NoModel,
    /// The engine failed.
    EngineError,
    /// An exception within the library.
    RuntimeException,
    /// The bytes are no model.
    InvalidProtobuf,
    /// The session has a model already.
    ModelLoaded,
    /// The library does not have what was asked for.
    NotImplemented,
    /// The model contradicts itself.
    InvalidGraph,
    /// An execution provider failed.
    EpFail,
    /// Loading was cancelled.
    ModelLoadCanceled,
    /// The model must be compiled first.
    ModelRequiresCompilation,
    /// Something that was named does not exist.
    NotFound,
    /// A device was reset, what it held is lost.
    DeviceReset,
    /// The loaded library is too old for the call, or was built without it.
    NotSupported,
    /// No library could be loaded.
    NoLibrary,
    /// A code that this crate does not know.
    Other(i32),
}

impl ErrorCode {
    pub(crate) fn from_raw(code: i32) -> Self {
        const KNOWN: [ErrorCode; 15] = [
            ErrorCode::Fail,
            ErrorCode::InvalidArgument,
            ErrorCode::NoSuchFile,
            ErrorCode::NoModel,
            ErrorCode::EngineError,
            ErrorCode::RuntimeException,
            ErrorCode::InvalidProtobuf,
            ErrorCode::ModelLoaded,
            ErrorCode::NotImplemented,
            ErrorCode::InvalidGraph,
            ErrorCode::EpFail,
            ErrorCode::ModelLoadCanceled,
            ErrorCode::ModelRequiresCompilation,
            ErrorCode::NotFound,
            ErrorCode::DeviceReset,
        ];
        usize::try_from(code - 1).ok().and_then(|at| KNOWN.get(at)).copied().unwrap_or(ErrorCode::Other(code))
    }
}

/// An error of the library or of this crate: a code, and a message that says what was wrong and what was wanted.
///
/// ```
/// use onnx::{ErrorCode, OnnxError};
/// let error = OnnxError::new(ErrorCode::InvalidArgument, "the shape [2, 3] has 6 elements, the data 5");
/// assert_eq!(error.to_string(), "the shape [2, 3] has 6 elements, the data 5 (InvalidArgument)");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnnxError {
    /// The kind of the error.
    pub code: ErrorCode,
    /// What was wrong, what was wanted.
    pub message: String,
}

impl OnnxError {
    /// An error of that kind.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        OnnxError { code, message: message.into() }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::InvalidArgument, message)
    }

    #[cold]
    pub(crate) fn too_old(call: &str, needed: u32, found: u32) -> Self {
        let message =
            format!("{call} came with version 1.{needed} of the library, the loaded one has the interface of 1.{found}: load a newer one");
        Self::new(ErrorCode::NotSupported, message)
    }
}

impl fmt::Display for OnnxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:?})", self.message, self.code)
    }
}

impl std::error::Error for OnnxError {}

impl From<std::ffi::NulError> for OnnxError {
    fn from(error: std::ffi::NulError) -> Self {
        let at = error.nul_position();
        Self::invalid(format!(
            "the text {:?} has a zero byte at {at}, the C interface ends it there",
            String::from_utf8_lossy(&error.into_vec())
        ))
    }
}

impl From<std::str::Utf8Error> for OnnxError {
    fn from(error: std::str::Utf8Error) -> Self {
        Self::invalid(format!("a text of the library is no UTF-8: {error}"))
    }
}

impl From<std::string::FromUtf8Error> for OnnxError {
    fn from(error: std::string::FromUtf8Error) -> Self {
        error.utf8_error().into()
    }
}

impl From<std::num::TryFromIntError> for OnnxError {
    fn from(error: std::num::TryFromIntError) -> Self {
        Self::invalid(format!("a number does not fit: {error}"))
    }
}

impl From<std::io::Error> for OnnxError {
    fn from(error: std::io::Error) -> Self {
        let code = if error.kind() == std::io::ErrorKind::NotFound { ErrorCode::NoSuchFile } else { ErrorCode::Fail };
        Self::new(code, error.to_string())
    }
}

impl From<OnnxError> for std::io::Error {
    fn from(error: OnnxError) -> Self {
        std::io::Error::other(error)
    }
}
