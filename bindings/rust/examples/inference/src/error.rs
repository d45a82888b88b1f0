//! The error type of this example.

use std::fmt;

use onnx::OnnxError;

/// A `Result` with [`InferError`].
pub type Result<T, E = InferError> = std::result::Result<T, E>;

/// An error during speech synthesis. The operator `?` converts errors of the library and of files.
#[derive(Debug)]
#[non_exhaustive]
pub enum InferError {
    /// The library reported an error.
    Onnx(OnnxError),
    /// Reading or writing a file failed.
    Io(std::io::Error),
    /// A character that has no token.
    Symbol {
        /// The character.
        symbol: char,
        /// The number of characters before it.
        at: usize,
    },
    /// The text or the list of tokens is empty.
    Empty,
    /// There are more tokens than a model accepts at once.
    TooLong {
        /// The number of tokens that were given.
        tokens: usize,
        /// The number of tokens that are possible.
        most: usize,
    },
    /// Tokens, a voice, a speed or a model is not valid. The message says what is wrong and what is expected.
    Invalid(String),
    /// Something was sent to a stream that had been closed.
    Closed,
}

impl fmt::Display for InferError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InferError::Onnx(error) => write!(f, "{error}"),
            InferError::Io(error) => write!(f, "{error}"),
            InferError::Symbol { symbol, at } => {
                write!(f, "{symbol:?} after {at} characters has no token: write phonemes (IPA) and punctuation")
            }
            InferError::Empty => write!(f, "the input is empty: give at least one token"),
            InferError::TooLong { tokens, most } => {
                write!(f, "there are {tokens} tokens, but a model accepts {most} at once: cut them into pieces")
            }
            InferError::Invalid(message) => write!(f, "{message}"),
            InferError::Closed => write!(f, "the stream was closed: create another one"),
        }
    }
}

impl std::error::Error for InferError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            InferError::Onnx(error) => Some(error),
            InferError::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<OnnxError> for InferError {
    fn from(error: OnnxError) -> Self {
        InferError::Onnx(error)
    }
}

impl From<std::io::Error> for InferError {
    fn from(error: std::io::Error) -> Self {
        InferError::Io(error)
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use super::*;

    fn load() -> Result<onnx::Session> {
        Ok(onnx::session_builder().commit_from_file("no/such/model.onnx")?)
    }

    #[test]
    fn errors_of_the_library_are_converted() {
        let error = load().unwrap_err();
        assert!(matches!(&error, InferError::Onnx(e) if e.code == onnx::OrtErrorCode::NoSuchFile), "{error:?}");
        assert!(error.to_string().contains("no/such/model.onnx"), "{error}");
        assert_eq!(error.source().unwrap().to_string(), error.to_string());
    }

    #[test]
    fn messages_say_what_was_wrong_and_what_to_do() {
        assert!(InferError::Symbol { symbol: '%', at: 4 }.to_string().contains("'%' after 4 characters"));
        let error = InferError::TooLong { tokens: 511, most: 510 }.to_string();
        assert!(error.contains("511") && error.contains("510"), "{error}");
        assert!(InferError::from(std::io::Error::other("disk")).source().is_some());
        assert!(InferError::Empty.source().is_none());
    }
}
