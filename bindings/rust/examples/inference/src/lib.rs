#![doc = include_str!("../README.md")]

mod error;
mod inference;
mod speech;
mod stream;
mod symbols;
mod voice;
mod wav;

pub use error::{InferError, Result};
pub use inference::{Device, Inference, ensure_onnx_init};
pub use speech::{Audio, SAMPLE_RATE, Speech};
pub use stream::{SpeechStream, Utterance};
pub use symbols::{MAX_TOKENS, pieces, tokens};
pub use voice::{STYLE, Voice};
pub use wav::WavWriter;
