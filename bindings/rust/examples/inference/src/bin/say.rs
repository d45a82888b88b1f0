//! Says a text, or tokens, and writes the sound to a file.

use std::fs::File;
use std::io::BufWriter;
use std::process::ExitCode;
use std::time::Instant;

use futures::executor::block_on;
use futures::{SinkExt, StreamExt};
use inference::{InferError, Result, SAMPLE_RATE, Speech, Utterance, Voice, WavWriter, ensure_onnx_init};

const USAGE: &str = "say [--model FILE] [--voice FILE or NUMBER] [--speed X] [--tokens] TEXT OUT.wav
  --model   a model of Kokoro's interface; the one of this example where not given
  --voice   a file of a voice, or a number to make one up from; 7 where not given
  --speed   0.1 to 10; 1 where not given
  --tokens  TEXT is numbers of tokens, with commas or spaces between them
  TEXT      phonemes (IPA) and punctuation";

/// The arguments of the program.
struct Wanted {
    model: String,
    voice: String,
    speed: f32,
    what: Utterance,
    file: String,
}

fn invalid(message: impl std::fmt::Display) -> InferError {
    InferError::Invalid(format!("{message}\n{USAGE}"))
}

fn arguments(given: impl IntoIterator<Item = String>) -> Result<Wanted> {
    let (mut given, mut others, mut as_tokens) = (given.into_iter(), Vec::new(), false);
    let mut model = concat!(env!("CARGO_MANIFEST_DIR"), "/model/tts.onnx").to_owned();
    let (mut voice, mut speed) = ("7".to_owned(), 1.0);
    while let Some(argument) = given.next() {
        let mut value = || given.next().ok_or_else(|| invalid(format!("{argument} needs a value")));
        match argument.as_str() {
            "--model" => model = value()?,
            "--voice" => voice = value()?,
            "--speed" => {
                let text = value()?;
                speed = text.parse().map_err(|_| invalid(format!("--speed {text}: it must be a number")))?;
            }
            "--tokens" => as_tokens = true,
            option if option.starts_with("--") => return Err(invalid(format!("{option} is not an option"))),
            _ => others.push(argument),
        }
    }
    let [text, file] = others.as_slice() else {
        return Err(invalid(format!("{} arguments besides options: give a text and a file", others.len())));
    };
    let what = if as_tokens { Utterance::Tokens(numbers(text)?) } else { Utterance::Text(text.clone()) };
    Ok(Wanted { model, voice, speed, what, file: file.clone() })
}

fn numbers(text: &str) -> Result<Vec<i64>> {
    let parts = text.split([',', ' ']).filter(|p| !p.is_empty());
    parts.map(|p| p.parse().map_err(|_| invalid(format!("--tokens: '{p}' is not a number")))).collect()
}

async fn say(wanted: Wanted) -> Result<()> {
    ensure_onnx_init()?;
    let voice = match wanted.voice.parse() {
        Ok(seed) => Voice::seeded(seed),
        Err(_) => Voice::from_file(&wanted.voice)?,
    };
    let speech = Speech::from_file(&wanted.model, voice)?.with_speed(wanted.speed)?;
    println!("library {}, model {}, voice {}, speed {}", onnx::version()?, wanted.model, wanted.voice, wanted.speed);
    let mut stream = speech.stream(2);
    stream.send(wanted.what).await?;
    stream.close().await?;
    let mut writer = None; // opened when there is sound for it
    let (begun, mut seconds, mut count) = (Instant::now(), 0.0, 0);
    while let Some(audio) = stream.next().await {
        let audio = audio?;
        if writer.is_none() {
            let file = File::create(&wanted.file).map_err(|e| InferError::Invalid(format!("cannot write {}: {e}", wanted.file)))?;
            writer = Some(WavWriter::new(BufWriter::new(file), SAMPLE_RATE)?);
        }
        if let Some(file) = &mut writer {
            file.write(&audio.samples)?;
        }
        (seconds, count) = (seconds + audio.seconds(), count + 1);
        println!("piece {count}: {} samples, {:.3} s", audio.samples.len(), audio.seconds());
    }
    if let Some(file) = writer {
        file.finish()?;
    }
    println!("{}: {seconds:.3} s of sound in {:.3} s", wanted.file, begun.elapsed().as_secs_f64());
    Ok(())
}

fn main() -> ExitCode {
    match arguments(std::env::args().skip(1)).and_then(|wanted| block_on(say(wanted))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("say: {error}");
            ExitCode::FAILURE
        }
    }
}
