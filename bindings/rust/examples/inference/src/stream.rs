//! A stream that converts texts to sound.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use futures::stream::FusedStream;
use futures::{Sink, Stream};
use onnx::RunFuture;

use crate::{Audio, InferError, Result, Speech, pieces};

/// A text or tokens to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Utterance {
    /// A text of phonemes, of any length. It is cut into pieces at the ends of sentences.
    Text(String),
    /// The tokens of one piece.
    Tokens(Vec<i64>),
}

impl From<&str> for Utterance {
    fn from(text: &str) -> Self {
        Utterance::Text(text.to_owned())
    }
}

impl From<String> for Utterance {
    fn from(text: String) -> Self {
        Utterance::Text(text)
    }
}

impl From<Vec<i64>> for Utterance {
    fn from(tokens: Vec<i64>) -> Self {
        Utterance::Tokens(tokens)
    }
}

/// A sink of utterances and a stream of their sound, piece by piece and in the same order, created by
/// [`Speech::stream`].
///
/// One piece at a time is computed, on a thread of the session, starting when it is sent; the next piece is started
/// when the stream has returned it. The sink is not ready while it holds as many pieces as its capacity, so a fast
/// sender waits. A text is accepted as a whole, even if it has more pieces than that.
///
/// An utterance that cannot be said is an error of the sink, and has no effect on the stream. A run that fails is an
/// item of the stream, which continues after it. When the sink has been closed, the stream ends after the last piece.
/// Dropping the stream cancels the current run, and waiting pieces are never started.
///
/// Both halves may be polled by separate tasks (`futures::StreamExt::split`).
#[derive(Debug)]
pub struct SpeechStream {
    speech: Speech,
    /// The number of pieces from which on the sink is not ready.
    capacity: usize,
    waiting: VecDeque<Vec<i64>>,
    /// The current run, or the error that prevented its start.
    running: Option<Result<RunFuture>>,
    closed: bool,
    sender: Option<Waker>,
    listener: Option<Waker>,
}

impl Speech {
    /// Creates a stream that holds up to `capacity` pieces, at least one.
    #[must_use]
    pub fn stream(&self, capacity: usize) -> SpeechStream {
        SpeechStream {
            speech: self.clone(),
            capacity: capacity.max(1),
            waiting: VecDeque::new(),
            running: None,
            closed: false,
            sender: None,
            listener: None,
        }
    }
}

impl SpeechStream {
    /// Returns the number of pieces that are waiting or being computed.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.waiting.len() + usize::from(self.running.is_some())
    }

    fn begin_next(&mut self) {
        if self.running.is_none() {
            self.running = self.waiting.pop_front().map(|tokens| self.speech.begin(&tokens));
        }
    }

    fn accept(&mut self, utterance: Utterance) -> Result<()> {
        let found = match utterance {
            Utterance::Text(text) => pieces(&text)?,
            Utterance::Tokens(tokens) => vec![tokens],
        };
        if found.is_empty() {
            return Err(InferError::Empty);
        }
        found.iter().try_for_each(|tokens| self.speech.check(tokens))?;
        self.waiting.extend(found);
        Ok(())
    }
}

impl Sink<Utterance> for SpeechStream {
    type Error = InferError;

    fn poll_ready(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        if self.closed {
            return Poll::Ready(Err(InferError::Closed));
        }
        if self.pending() < self.capacity {
            return Poll::Ready(Ok(()));
        }
        self.sender = Some(context.waker().clone());
        Poll::Pending
    }

    fn start_send(mut self: Pin<&mut Self>, utterance: Utterance) -> Result<()> {
        if self.closed {
            return Err(InferError::Closed);
        }
        self.accept(utterance)?;
        self.begin_next();
        if let Some(listener) = self.listener.take() {
            listener.wake();
        }
        Ok(())
    }

    /// Ready at once. Pieces are kept until the stream returns them; if flushing waited for that, a task that both
    /// sends and receives would wait forever.
    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(mut self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<Result<()>> {
        self.closed = true;
        if let Some(listener) = self.listener.take() {
            listener.wake();
        }
        Poll::Ready(Ok(()))
    }
}

impl Stream for SpeechStream {
    type Item = Result<Audio>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Audio>>> {
        let this = self.get_mut();
        let outputs = match &mut this.running {
            None if this.closed => return Poll::Ready(None),
            None => {
                this.listener = Some(context.waker().clone());
                return Poll::Pending;
            }
            Some(Ok(run)) => match Pin::new(run).poll(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(outputs) => Some(outputs),
            },
            Some(Err(_)) => None,
        };
        let failed = this.running.take().and_then(Result::err);
        this.begin_next();
        if let Some(sender) = this.sender.take() {
            sender.wake();
        }
        let item = match (outputs, failed) {
            (Some(outputs), _) => this.speech.audio(outputs),
            (None, failed) => Err(failed.unwrap_or(InferError::Closed)),
        };
        Poll::Ready(Some(item))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.pending(), self.closed.then(|| self.pending()))
    }
}

impl FusedStream for SpeechStream {
    fn is_terminated(&self) -> bool {
        self.closed && self.running.is_none()
    }
}
