//! Runs that nobody waits for.

#[allow(unsafe_code)]
mod ffi;

use std::future::Future;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::error::{OnnxError, Result};
use crate::run::RunOptions;
use crate::session::SessionInner;
use crate::session::ffi::is_in_callback;
use crate::value::Value;

/// What a run tells whoever waits for it.
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

    /// Called by the thread of the library, once.
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

/// A run under way, made by [`Session::run_async`](crate::Session::run_async): its outputs, when it is over.
///
/// The run has begun when the future is made; no executor is needed for it. Dropping the future cancels the run and waits
/// until it is over; dropped by a waker on a thread of the library, it leaves the waiting to a thread of its own.
#[must_use = "a future that is dropped cancels its run"]
pub struct RunFuture {
    shared: Arc<Shared>,
    /// Gone when the outputs have been taken.
    run: Option<Box<ffi::InFlight>>,
}

pub(crate) fn start(session: &Arc<SessionInner>, inputs: &[(&str, Arc<Value>)], outputs: &[&str]) -> Result<RunFuture> {
    let shared = Arc::new(Shared::default());
    let run = ffi::start(session, RunOptions::new()?, inputs, outputs, &shared)?;
    Ok(RunFuture { shared, run: Some(run) })
}

impl RunFuture {
    /// Waits on this thread.
    pub fn wait(mut self) -> Result<Vec<Value>> {
        let result = self.shared.wait();
        self.take(result)
    }

    /// Ends the run as soon as the library notices; the future then has an error, unless the run was over before.
    pub fn cancel(&self) -> Result<()> {
        self.run.as_ref().map_or(Ok(()), |run| run.options.terminate())
    }

    fn take(&mut self, result: Result<()>) -> Result<Vec<Value>> {
        let Some(run) = self.run.take() else {
            return Err(OnnxError::invalid("the outputs of this run have been taken: a future gives them once"));
        };
        let result = result.map_err(|error| run.named(error));
        // Also takes over what a failed run left.
        let outputs = run.take();
        result.and(outputs)
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
        // Kept for ever where no thread can be made for it: the library may still write to it.
        let run = ManuallyDrop::new(run);
        let end = move || {
            let _ = shared.wait();
            drop(ManuallyDrop::into_inner(run).take());
        };
        if is_in_callback() {
            // The run may wait for the very thread that this is.
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
