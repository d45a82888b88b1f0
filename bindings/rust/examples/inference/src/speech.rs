//! Speech synthesis with a model, a voice and a speed.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use onnx::{ElementType, RunFuture, Session, Value, ValueInfo};

use crate::{InferError, Inference, MAX_TOKENS, Result, Voice};

/// Samples per second in the output of these models.
pub const SAMPLE_RATE: u32 = 24_000;

/// Speech as sound.
#[derive(Clone, Debug, PartialEq)]
pub struct Audio {
    /// Samples from -1 to 1, one channel, [`SAMPLE_RATE`] per second.
    pub samples: Vec<f32>,
}

impl Audio {
    /// Returns the duration in seconds.
    #[must_use]
    #[allow(clippy::cast_precision_loss)]
    pub fn seconds(&self) -> f64 {
        self.samples.len() as f64 / f64::from(SAMPLE_RATE)
    }
}

/// The names of the inputs and the output of a model.
#[derive(Debug)]
struct Names {
    tokens: String,
    style: String,
    speed: String,
    audio: String,
}

/// Converts tokens to speech, with a model that has Kokoro's interface: the inputs `tokens` (or `input_ids`) int64 `[1,
/// n]`, `style` float `[1, 256]`, `speed` float `[1]`, and an output float `[m]` or `[1, m]`.
///
/// A clone shares the session; clones may be used at the same time, on any thread and in any task. The session is
/// behind a lock, so that a program may also keep it elsewhere and use it exclusively. The lock is held here while a
/// run is started, but not while one is waited for.
#[derive(Clone, Debug)]
pub struct Speech {
    session: Arc<Mutex<Session>>,
    names: Arc<Names>,
    voice: Arc<Voice>,
    speed: f32,
}

impl Speech {
    /// Loads a model from a file, to run on the processor. For another device, see [`Inference`].
    pub fn from_file(path: impl AsRef<Path>, voice: Voice) -> Result<Self> {
        Self::new(Arc::new(Mutex::new(Inference::default().onnx_session(path)?)), voice)
    }

    /// Uses an existing session, which must have two or more threads. It is an error if its model has other inputs.
    pub fn new(session: Arc<Mutex<Session>>, voice: Voice) -> Result<Self> {
        let names = Names::of(&session.lock().unwrap_or_else(PoisonError::into_inner))?;
        Ok(Speech { session, names: Arc::new(names), voice: Arc::new(voice), speed: 1.0 })
    }

    /// Returns a clone with another voice.
    #[must_use]
    pub fn with_voice(&self, voice: Voice) -> Self {
        Speech { voice: Arc::new(voice), ..self.clone() }
    }

    /// Returns a clone with another speed: 2 is twice as fast. Speeds outside 0.1 to 10 are an error.
    pub fn with_speed(&self, speed: f32) -> Result<Self> {
        if (0.1..=10.0).contains(&speed) {
            return Ok(Speech { speed, ..self.clone() });
        }
        Err(InferError::Invalid(format!("a speed of {speed} is not possible: give a number from 0.1 to 10; normal is 1")))
    }

    /// Returns the session, which is shared with all clones.
    #[must_use]
    pub fn session(&self) -> &Arc<Mutex<Session>> {
        &self.session
    }

    /// Says one piece, and blocks this thread until it is done. `tokens` must have between one and [`MAX_TOKENS`]
    /// tokens, without the tokens for silence around them, which are added here.
    pub fn say(&self, tokens: &[i64]) -> Result<Audio> {
        self.audio(self.begin(tokens)?.wait())
    }

    /// Like [`Speech::say`], without blocking the thread. Dropping the future cancels the run.
    pub async fn say_later(&self, tokens: &[i64]) -> Result<Audio> {
        let run = self.begin(tokens)?;
        self.audio(run.await)
    }

    /// Returns an error if these tokens cannot be said at once.
    pub(crate) fn check(&self, tokens: &[i64]) -> Result<()> {
        if tokens.len() > MAX_TOKENS {
            return Err(InferError::TooLong { tokens: tokens.len(), most: MAX_TOKENS });
        }
        self.voice.style(tokens.len())?;
        // The model would read a negative token as an index from the end of its table.
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
        let shape = [1, padded.len()];
        let tokens_value = Value::from_vec(&shape, padded)?;
        let style = self.voice.style(tokens.len())?;
        let style = Value::from_slice::<f32>(&[1, style.len()], style)?;
        let speed = Value::from_slice::<f32>(&[1], &[self.speed])?;
        let names = &self.names;
        let inputs = [
            (names.tokens.as_str(), Arc::new(tokens_value)),
            (names.style.as_str(), Arc::new(style)),
            (names.speed.as_str(), Arc::new(speed)),
        ];
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(session.run_async(&inputs, &[&names.audio])?)
    }

    /// Converts the outputs of a run.
    pub(crate) fn audio(&self, outputs: onnx::Result<Vec<Value>>) -> Result<Audio> {
        let outputs = outputs?;
        let Some(audio) = outputs.first() else {
            return Err(InferError::Invalid(format!("the model returned no '{}'", self.names.audio)));
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
                "the model has {} inputs, {}: load a model with Kokoro's interface, which has three",
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
    InferError::Invalid(format!("the model has no '{name}' of {element:?} but {}: load a model with Kokoro's interface", found.join(", ")))
}
