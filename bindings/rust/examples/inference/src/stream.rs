//! Texts in, sound out.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use futures::stream::FusedStream;
use futures::{Sink, Stream};
use onnx::RunFuture;

use crate::{Audio, InferError, Result, Speech, pieces};

/// What is to be said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Utterance {
    /// A text of phonemes, of any length: it is cut into pieces where sentences end.
    Text(String),
    /// Tokens of one piece.
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

/// A sink of what is to be said and a stream of what was said, piece by piece and in the same order, made by
/// [`Speech::stream`].
///
/// One piece is in the making at a time, from when it was sent, on a thread of the session; the next one begins when the
/// stream has given it away. The sink is not ready while as many pieces as were agreed have not been taken from the stream:
/// what is sent faster than it is heard waits outside. A text is taken whole, even one of more pieces than that.
///
/// What cannot be said is an error of the sink, and leaves the stream as it was; a run that fails is an item of the stream,
/// which goes on behind it. When the sink has been closed, the stream ends behind the last piece. Dropped, it cancels the
/// run under way, and the pieces that wait are never begun.
///
/// Both halves may be polled by tasks of their own (`futures::StreamExt::split`).
#[derive(Debug)]
pub struct SpeechStream {
    speech: Speech,
    /// How many pieces may be here before the sink is not ready.
    capacity: usize,
    waiting: VecDeque<Vec<i64>>,
    /// The run under way, or why it could not begin.
    running: Option<Result<RunFuture>>,
    closed: bool,
    sender: Option<Waker>,
    listener: Option<Waker>,
}

impl Speech {
    /// A stream of this speech that holds up to `capacity` pieces, one at least.
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
    /// How many pieces are here: in the making, or waiting for it.
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

    /// Ready at once: what was sent is kept here until the stream gives it away, and a sender who waited for that in the
    /// task that listens would wait for ever.
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
