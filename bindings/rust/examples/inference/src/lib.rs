#![doc = include_str!("../README.md")]

mod error;
mod speech;
mod stream;
mod symbols;
mod voice;
mod wav;

pub use error::{InferError, Result};
pub use speech::{Audio, SAMPLE_RATE, Speech, ensure_onnx_init};
pub use stream::{SpeechStream, Utterance};
pub use symbols::{MAX_TOKENS, pieces, tokens};
pub use voice::{STYLE, Voice};
pub use wav::WavWriter;
