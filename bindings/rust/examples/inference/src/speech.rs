//! Speech: a model, a voice and a speed.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use onnx::{ElementType, RunFuture, Session, Value, ValueInfo};

use crate::{InferError, MAX_TOKENS, Result, Voice};

/// Samples a second of what models of this kind say.
pub const SAMPLE_RATE: u32 = 24_000;

/// Loads the library where that has not been done, so that a program can tell early that there is none. Idempotent and
/// thread-safe; everything here does it by itself, too.
pub fn ensure_onnx_init() -> Result<()> {
    onnx::init()?;
    Ok(())
}

/// What was said.
#[derive(Clone, Debug, PartialEq)]
pub struct Audio {
    /// Samples of -1 to 1, [`SAMPLE_RATE`] a second, one channel.
    pub samples: Vec<f32>,
}

impl Audio {
    /// How long it is, in seconds.
    #[must_use]
    #[allow(clippy::cast_precision_loss)]
    pub fn seconds(&self) -> f64 {
        self.samples.len() as f64 / f64::from(SAMPLE_RATE)
    }
}

/// The names that a model has for its inputs and its output.
#[derive(Debug)]
struct Names {
    tokens: String,
    style: String,
    speed: String,
    audio: String,
}

/// Makes speech of tokens, by a model of Kokoro's interface: `tokens` (or `input_ids`) int64 `[1, n]`, `style` float
/// `[1, 256]`, `speed` float `[1]`, giving float `[m]` or `[1, m]`.
///
/// A clone shares the session; clones may speak at the same time, on any threads and in any tasks. The session stands
/// behind a lock, so that a program may keep it elsewhere, too, and have it to itself; it is held here while a run is
/// started, never while one is waited for.
#[derive(Clone, Debug)]
pub struct Speech {
    session: Arc<Mutex<Session>>,
    names: Arc<Names>,
    voice: Arc<Voice>,
    speed: f32,
}

impl Speech {
    /// Loads a model from a file.
    pub fn from_file(path: impl AsRef<Path>, voice: Voice) -> Result<Self> {
        // A run that nobody waits for needs a second thread.
        let session = onnx::session_builder()?.with_intra_threads(2)?.commit_from_file(path)?;
        Self::new(Arc::new(Mutex::new(session)), voice)
    }

    /// Speaks by a session that was made elsewhere, of two threads or more. An error where its model has other inputs.
    pub fn new(session: Arc<Mutex<Session>>, voice: Voice) -> Result<Self> {
        let names = Names::of(&session.lock().unwrap_or_else(PoisonError::into_inner))?;
        Ok(Speech { session, names: Arc::new(names), voice: Arc::new(voice), speed: 1.0 })
    }

    /// The same model with another voice.
    #[must_use]
    pub fn with_voice(&self, voice: Voice) -> Self {
        Speech { voice: Arc::new(voice), ..self.clone() }
    }

    /// The same model at another speed: 2 is twice as fast. An error outside of 0.1 to 10.
    pub fn with_speed(&self, speed: f32) -> Result<Self> {
        if (0.1..=10.0).contains(&speed) {
            return Ok(Speech { speed, ..self.clone() });
        }
        Err(InferError::Invalid(format!("a speed of {speed}: give one of 0.1 to 10, 1 is the usual one")))
    }

    /// The session, shared with all clones.
    #[must_use]
    pub fn session(&self) -> &Arc<Mutex<Session>> {
        &self.session
    }

    /// Says one piece, and waits for it on this thread. Between one token and [`MAX_TOKENS`], without those of silence
    /// around them, which are put there.
    pub fn say(&self, tokens: &[i64]) -> Result<Audio> {
        self.audio(self.begin(tokens)?.wait())
    }

    /// As [`Speech::say`], without keeping the thread; dropped, it cancels the run.
    pub async fn say_later(&self, tokens: &[i64]) -> Result<Audio> {
        let run = self.begin(tokens)?;
        self.audio(run.await)
    }

    /// An error where that cannot be said at once.
    pub(crate) fn check(&self, tokens: &[i64]) -> Result<()> {
        if tokens.len() > MAX_TOKENS {
            return Err(InferError::TooLong { tokens: tokens.len(), most: MAX_TOKENS });
        }
        self.voice.style(tokens.len())?;
        // A model would count such a token from the end of its table.
        match tokens.iter().position(|t| *t < 0) {
            Some(at) => Err(InferError::Invalid(format!("token {at} is {}: tokens are 0 or more", tokens[at]))),
            None => Ok(()),
        }
    }

    /// Starts a run.
    pub(crate) fn begin(&self, tokens: &[i64]) -> Result<RunFuture> {
        self.check(tokens)?;
        let silence = [0];
        let padded = [&silence, tokens, &silence].concat();
        let shape = [1, i64::try_from(padded.len()).unwrap_or(i64::MAX)];
        let tokens_value = Value::from_vec(&shape, padded)?;
        let style = self.voice.style(tokens.len())?;
        let style = Value::from_slice(&[1, i64::try_from(style.len()).unwrap_or(i64::MAX)], style)?;
        let speed = Value::from_slice(&[1], &[self.speed])?;
        let names = &self.names;
        let inputs = [
            (names.tokens.as_str(), Arc::new(tokens_value)),
            (names.style.as_str(), Arc::new(style)),
            (names.speed.as_str(), Arc::new(speed)),
        ];
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(session.run_async(&inputs, &[&names.audio])?)
    }

    /// What a run has given.
    pub(crate) fn audio(&self, outputs: onnx::Result<Vec<Value>>) -> Result<Audio> {
        let outputs = outputs?;
        let Some(audio) = outputs.first() else {
            return Err(InferError::Invalid(format!("the model gave no '{}'", self.names.audio)));
        };
        Ok(Audio { samples: audio.extract_tensor::<f32>()?.to_vec() })
    }
}

impl Names {
    fn of(session: &Session) -> Result<Self> {
        let (inputs, outputs) = (session.inputs(), session.outputs());
        let input = |names: &[&str], element: ElementType| {
            let found = inputs.iter().find(|i| names.contains(&i.name.as_str()) && i.element_type() == Some(element));
            found.map(|i| i.name.clone()).ok_or_else(|| unlike(names[0], element, &inputs))
        };
        if inputs.len() != 3 {
            let names: Vec<&str> = inputs.iter().map(|i| i.name.as_str()).collect();
            return Err(InferError::Invalid(format!(
                "the model has {} inputs, {}: load one of Kokoro's interface, which has three",
                names.len(),
                names.join(", ")
            )));
        }
        let audio = outputs.iter().find(|o| o.element_type() == Some(ElementType::Float32));
        Ok(Names {
            tokens: input(&["tokens", "input_ids"], ElementType::Int64)?,
            style: input(&["style"], ElementType::Float32)?,
            speed: input(&["speed"], ElementType::Float32)?,
            audio: audio.ok_or_else(|| unlike("audio", ElementType::Float32, &outputs))?.name.clone(),
        })
    }
}

fn unlike(name: &str, element: ElementType, found: &[&ValueInfo]) -> InferError {
    let found: Vec<String> = found.iter().map(|i| format!("'{}' of {:?}", i.name, i.element_type())).collect();
    InferError::Invalid(format!("the model has no '{name}' of {element:?} but {}: load one of Kokoro's interface", found.join(", ")))
}
