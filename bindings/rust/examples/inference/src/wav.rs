//! WAV files.

use std::io::{Seek, SeekFrom, Write};

use crate::{InferError, Result};

/// The number of bytes before the samples.
const HEADER: u32 = 44;

/// Writes a WAV file with one channel and 16-bit samples (PCM), piece by piece. The header is only valid after
/// [`WavWriter::finish`].
#[derive(Debug)]
pub struct WavWriter<W: Write + Seek> {
    to: W,
    rate: u32,
    /// The number of bytes of samples that have been written.
    written: u32,
}

impl<W: Write + Seek> WavWriter<W> {
    /// Starts a file with that many samples per second.
    pub fn new(mut to: W, rate: u32) -> Result<Self> {
        to.write_all(&header(rate, 0))?;
        Ok(WavWriter { to, rate, written: 0 })
    }

    /// Writes samples from -1 to 1. Louder ones are clipped, and NaN becomes silence. It is an error if the file would
    /// be longer than the format allows (about 25 hours at 24,000 samples per second).
    pub fn write(&mut self, samples: &[f32]) -> Result<()> {
        let more = samples.len().checked_mul(2).and_then(|b| u32::try_from(b).ok());
        let length = more.and_then(|m| self.written.checked_add(m)).filter(|l| *l <= u32::MAX - HEADER);
        let Some(length) = length else {
            let message =
                format!("{} bytes of samples and {} more samples are too much: a WAV file has at most 4 GiB", self.written, samples.len());
            return Err(InferError::Invalid(message));
        };
        let bytes: Vec<u8> = samples.iter().flat_map(|s| sample(*s).to_le_bytes()).collect();
        self.to.write_all(&bytes)?;
        self.written = length;
        Ok(())
    }

    /// Writes the lengths to the header, and returns the underlying writer.
    pub fn finish(mut self) -> Result<W> {
        self.to.seek(SeekFrom::Start(0))?;
        self.to.write_all(&header(self.rate, self.written))?;
        self.to.seek(SeekFrom::End(0))?;
        self.to.flush()?;
        Ok(self.to)
    }
}

#[allow(clippy::cast_possible_truncation)]
fn sample(value: f32) -> i16 {
    // Casts of NaN give 0.
    (value.clamp(-1.0, 1.0) * 32767.0).round_ties_even() as i16
}

fn header(rate: u32, bytes: u32) -> Vec<u8> {
    let mut made = Vec::with_capacity(HEADER as usize);
    let mut put = |part: &[u8]| made.extend_from_slice(part);
    put(b"RIFF");
    put(&(bytes + HEADER - 8).to_le_bytes());
    put(b"WAVEfmt ");
    put(&16u32.to_le_bytes());
    // Format PCM, one channel.
    put(&1u16.to_le_bytes());
    put(&1u16.to_le_bytes());
    put(&rate.to_le_bytes());
    put(&rate.saturating_mul(2).to_le_bytes());
    put(&2u16.to_le_bytes());
    put(&16u16.to_le_bytes());
    put(b"data");
    put(&bytes.to_le_bytes());
    made
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn written(parts: &[&[f32]]) -> Vec<u8> {
        let mut writer = WavWriter::new(Cursor::new(Vec::new()), 24000).unwrap();
        for part in parts {
            writer.write(part).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    #[test]
    fn another_reader_reads_the_file() {
        let file = written(&[&[0.0, 1.0, -1.0], &[], &[0.5, 2.0, -7.0, f32::NAN]]);
        assert_eq!(file.len(), 44 + 14);
        let mut reader = hound::WavReader::new(Cursor::new(file)).unwrap();
        let wanted = hound::WavSpec { channels: 1, sample_rate: 24000, bits_per_sample: 16, sample_format: hound::SampleFormat::Int };
        assert_eq!(reader.spec(), wanted);
        assert_eq!(reader.duration(), 7);
        let samples: Vec<i16> = reader.samples::<i16>().map(|s| s.unwrap()).collect();
        assert_eq!(samples, [0, 32767, -32767, 16384, 32767, -32767, 0]);
    }

    #[test]
    fn files_without_samples_are_valid() {
        let file = written(&[]);
        assert_eq!(hound::WavReader::new(Cursor::new(&file)).unwrap().duration(), 0);
        assert_eq!(file[4..8], 36u32.to_le_bytes());
    }

    #[test]
    fn errors_of_the_file_are_converted() {
        let mut room = [0u8; 50];
        let mut writer = WavWriter::new(Cursor::new(&mut room[..]), 24000).unwrap();
        assert!(matches!(writer.write(&[0.0; 9]), Err(InferError::Io(_))));
    }
}
