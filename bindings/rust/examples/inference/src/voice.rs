//! Voices: a style for each number of tokens.

use std::path::Path;

use crate::{InferError, MAX_TOKENS, Result};

/// The number of elements of a style.
pub const STYLE: usize = 256;

/// A voice, in the form of Kokoro's files: styles of [`STYLE`] numbers, one for each number of tokens from one on,
/// usually up to 510. Immutable.
#[derive(Clone, Debug, PartialEq)]
pub struct Voice {
    styles: Vec<f32>,
}

impl Voice {
    /// Creates a voice from consecutive styles. It is an error if there is none, one is incomplete, or a number is not
    /// finite.
    pub fn new(styles: Vec<f32>) -> Result<Self> {
        if styles.is_empty() || styles.len() % STYLE != 0 {
            return Err(InferError::Invalid(format!(
                "a voice of {} numbers is not valid: give at least one style, of {STYLE} numbers each",
                styles.len()
            )));
        }
        if let Some(at) = styles.iter().position(|v| !v.is_finite()) {
            return Err(InferError::Invalid(format!("number {at} of the voice is {}: is the file a voice?", styles[at])));
        }
        Ok(Voice { styles })
    }

    /// Reads a file of little-endian 32-bit floats.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let with_path = |e: std::io::Error| std::io::Error::new(e.kind(), format!("{}: {e}", path.display()));
        let bytes = std::fs::read(path).map_err(with_path)?;
        if bytes.len() % 4 != 0 {
            return Err(InferError::Invalid(format!(
                "{} has {} bytes, not a multiple of 4: it is not a voice",
                path.display(),
                bytes.len()
            )));
        }
        Self::new(bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect())
    }

    /// Creates a pseudo-random voice for up to [`MAX_TOKENS`] tokens. The same seed gives the same voice.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        let number = |at: u64| {
            let mut z = seed.wrapping_add((at + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            // 24 bits fit in a float without rounding.
            #[allow(clippy::cast_precision_loss)]
            let part = ((z ^ (z >> 31)) >> 40) as f32;
            part / 8_388_608.0 - 1.0
        };
        Voice { styles: (0..).take(MAX_TOKENS * STYLE).map(number).collect() }
    }

    /// Returns the numbers of all styles, one style after the other.
    #[must_use]
    pub fn styles(&self) -> &[f32] {
        &self.styles
    }

    /// Returns the style for that many tokens; an error if the voice has none.
    pub fn style(&self, tokens: usize) -> Result<&[f32]> {
        let most = self.styles.len() / STYLE;
        match tokens {
            0 => Err(InferError::Empty),
            _ if tokens > most => Err(InferError::TooLong { tokens, most }),
            _ => Ok(&self.styles[(tokens - 1) * STYLE..tokens * STYLE]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_length_has_a_style() {
        let voice = Voice::seeded(7);
        assert_eq!(voice.styles().len(), 510 * 256);
        assert_eq!(voice.style(1).unwrap(), &voice.styles()[..256]);
        assert_eq!(voice.style(510).unwrap(), &voice.styles()[509 * 256..]);
        assert!(matches!(voice.style(511), Err(InferError::TooLong { tokens: 511, most: 510 })));
        assert!(matches!(voice.style(0), Err(InferError::Empty)));
        assert!(voice.styles().iter().all(|v| (-1.0..1.0).contains(v)));
        assert_ne!(voice, Voice::seeded(8));
    }

    #[test]
    fn files_are_read_as_they_were_written() {
        let folder = std::env::temp_dir().join(format!("inference-voice-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("voice.bin");
        let voice = Voice::seeded(3);
        let bytes: Vec<u8> = voice.styles().iter().flat_map(|v| v.to_le_bytes()).collect();
        std::fs::write(&file, &bytes).unwrap();
        assert_eq!(Voice::from_file(&file).unwrap(), voice);
        std::fs::write(&file, &bytes[..4 * 300]).unwrap();
        assert!(Voice::from_file(&file).unwrap_err().to_string().contains("300 numbers"));
        std::fs::write(&file, &bytes[..11]).unwrap();
        assert!(Voice::from_file(&file).unwrap_err().to_string().contains("11 bytes"));
        std::fs::remove_dir_all(&folder).unwrap();
        let error = Voice::from_file(&file).unwrap_err();
        assert!(matches!(&error, InferError::Io(e) if e.kind() == std::io::ErrorKind::NotFound), "{error}");
        assert!(error.to_string().contains("voice.bin"), "{error}");
    }

    #[test]
    fn other_files_are_errors() {
        assert!(Voice::new(Vec::new()).is_err());
        let mut styles = vec![0.0; 256];
        styles[9] = f32::NAN;
        assert!(Voice::new(styles).unwrap_err().to_string().contains("number 9"));
    }
}
