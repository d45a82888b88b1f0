//! Asynchronous runs.

use std::future::Future;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::error::{OnnxError, Result};
use crate::ffi;
use crate::mistakes;
use crate::ports::Ports;
use crate::run::{Places, finish_all, has_containers, input_places, output_places};
use crate::session::Session;
use crate::value::Value;

/// The state that a run and its future share.
#[derive(Default)]
struct Shared {
    progress: Mutex<Progress>,
    over: Condvar,
}

#[derive(Default)]
struct Progress {
    result: Option<Result<()>>,
    waker: Option<Waker>,
}

impl Shared {
    fn progress(&self) -> std::sync::MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Called once, by the thread of the library.
    fn finish(&self, result: Result<()>) {
        let waker = {
            let mut progress = self.progress();
            progress.result = Some(result);
            progress.waker.take()
        };
        self.over.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn wait(&self) -> Result<()> {
        let guard = self.over.wait_while(self.progress(), |p| p.result.is_none());
        guard.unwrap_or_else(PoisonError::into_inner).result.clone().unwrap_or(Ok(()))
    }
}

/// A run in progress, created by [`Session::run_async`](crate::Session::run_async). It gives the outputs when the run
/// is over.
///
/// The run starts when the future is created, and needs no executor. Dropping the future cancels the run and waits
/// until it is over. If a waker drops the future on a thread of the library, a new thread waits instead.
#[must_use = "a future that is dropped cancels its run"]
pub struct RunFuture {
    shared: Arc<Shared>,
    given: Places,
    wanted: Places,
    ports: Arc<Ports>,
    /// `None` after the outputs have been taken.
    run: Option<Box<ffi::InFlight<Value>>>,
}

impl Session {
    /// Like [`Session::run`], on a thread of the session. The call returns at once, and the future gives the outputs.
    ///
    /// The run shares the inputs, and keeps them and the session alive until it is over, so the future may be dropped
    /// or leaked at any time. Dropping it cancels the run and waits until the library has reacted, which usually takes
    /// milliseconds. Needs a session with two or more threads
    /// ([`SessionBuilder::with_intra_threads`](crate::SessionBuilder::with_intra_threads)).
    pub fn run_async(&self, inputs: &[(&str, Arc<Value>)], outputs: &[&str]) -> Result<RunFuture> {
        let (given, wanted) = (input_places(&self.ports, inputs.iter().map(|i| i.0))?, output_places(&self.ports, outputs)?);
        let shared = Arc::new(Shared::default());
        let (reported, values) = (Arc::clone(&shared), inputs.iter().map(|i| Arc::clone(&i.1)).collect());
        let over = move |result: ffi::Result<()>| reported.finish(result.map_err(OnnxError::from));
        let run = ffi::InFlight::start(&self.handle, ffi::RunOptions::new()?, &given, values, &wanted, over);
        let run = run.map_err(|error| mistakes::too_few_threads(error.into()))?;
        Ok(RunFuture { shared, given, wanted, ports: Arc::clone(&self.ports), run: Some(run) })
    }
}

impl RunFuture {
    /// Blocks this thread until the run is over, and returns the outputs.
    pub fn wait(mut self) -> Result<Vec<Value>> {
        let result = self.shared.wait();
        self.take(result)
    }

    /// Cancels the run as soon as the library reacts. The future then gives an error, unless the run was already over.
    pub fn cancel(&self) -> Result<()> {
        Ok(self.run.as_ref().map_or(Ok(()), |run| run.options.terminate())?)
    }

    fn take(&mut self, result: Result<()>) -> Result<Vec<Value>> {
        let Some(run) = self.run.take() else {
            return Err(OnnxError::invalid("the outputs of this run have already been taken: a future gives them once"));
        };
        let result = result.map_err(|error| {
            let values = self.given.iter().copied().zip(run.inputs.iter().map(|value| &**value));
            mistakes::named(&self.ports, values, error)
        });
        // A failed run may have left handles; taking them releases them.
        let results = run.take();
        result?;
        finish_all(&self.ports, results, &self.wanted, has_containers(&self.ports, self.given.iter().copied()))
    }
}

impl Future for RunFuture {
    type Output = Result<Vec<Value>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let result = {
            let mut progress = self.shared.progress();
            let Some(result) = progress.result.clone() else {
                progress.waker = Some(context.waker().clone());
                return Poll::Pending;
            };
            result
        };
        Poll::Ready(self.take(result))
    }
}

impl Drop for RunFuture {
    fn drop(&mut self) {
        let Some(run) = self.run.take() else { return };
        let _ = run.options.terminate();
        let shared = Arc::clone(&self.shared);
        // Leaked if no thread can be started to wait for the run, because the library may still write to it.
        let run = ManuallyDrop::new(run);
        let end = move || {
            let _ = shared.wait();
            drop(ManuallyDrop::into_inner(run).take());
        };
        if ffi::is_in_callback() {
            // The run may be waiting for this thread.
            let _ = std::thread::Builder::new().spawn(end);
        } else {
            end();
        }
    }
}

impl std::fmt::Debug for RunFuture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let over = self.shared.progress().result.is_some();
        f.debug_struct("RunFuture").field("is_over", &over).finish_non_exhaustive()
    }
}
