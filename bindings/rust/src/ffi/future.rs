//! Asynchronous runs.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;

use super::call::{call, check};
use super::error::Result;
use super::run::{Names, RunOptions, names, take};
use super::session::{Session, in_callback};
use super::tables::{OrtStatus, OrtValue};
use super::value::{Handles, Value};

/// A type that contains a value of the library, always the same one.
pub(crate) trait InputValue: Send + Sync {
    fn value(&self) -> &Value;
}

/// Everything that the library reads and writes until the run is over. It must not be dropped before that, but it may
/// be leaked.
pub(crate) struct InFlight<V> {
    results: Vec<*mut OrtValue>,
    values: Vec<*const OrtValue>,
    given: Names,
    wanted: Names,
    pub(crate) options: RunOptions,
    pub(crate) inputs: Vec<Arc<V>>,
    // Keeps the names alive.
    session: Arc<Session>,
}

// SAFETY: the pointers refer to memory that the fields own, and the library no longer uses them when they are used
// here.
unsafe impl<V: InputValue> Send for InFlight<V> {}
// SAFETY: only the options, which other threads may use to terminate the run, and the inputs, which are shared anyway,
// are used by reference.
unsafe impl<V: InputValue> Sync for InFlight<V> {}

impl<V: InputValue> InFlight<V> {
    /// Starts a run with values for the inputs at `places` and for the outputs at `outputs`. A thread of the library
    /// calls `over` once, when the run is over. If this returns an error, `over` is not called.
    pub(crate) fn start<F: FnOnce(Result<()>) + Send + 'static>(
        session: &Arc<Session>,
        options: RunOptions,
        places: &[usize],
        inputs: Vec<Arc<V>>,
        outputs: &[usize],
        over: F,
    ) -> Result<Box<Self>> {
        let mut run = Box::new(InFlight {
            results: vec![null_mut(); outputs.len()],
            values: inputs.iter().map(|i| i.value().raw().cast_const()).collect(),
            given: names(&session.inputs, places),
            wanted: names(&session.outputs, outputs),
            options,
            inputs,
            session: Arc::clone(session),
        });
        let user = Box::into_raw(Box::new(over));
        // SAFETY: everything that the library gets lives in the box until the run is over, and `user` lives until the
        // callback. The callback is called once or, if the call fails, never.
        unsafe {
            let started = call!(RunAsync(
                run.session.raw(),
                run.options.raw(),
                run.given.as_ptr(),
                run.values.as_ptr(),
                run.values.len().min(run.given.len()),
                run.wanted.as_ptr(),
                run.results.len(),
                run.results.as_mut_ptr(),
                Some(call_over::<F>),
                user.cast(),
            ));
            if let Err(error) = started {
                drop(Box::from_raw(user));
                return Err(error);
            }
        }
        Ok(run)
    }

    /// Returns the outputs. Only allowed when the run is over.
    pub(crate) fn take(self) -> Handles {
        // SAFETY: the run is over, so the caller owns the handles. The box is dropped in this call.
        unsafe { take(&self.results) }
    }
}

/// Called by a thread of the library when the run is over. The outputs are in the array that the library was given.
unsafe extern "C" fn call_over<F: FnOnce(Result<()>)>(user: *mut c_void, _: *mut *mut OrtValue, _: usize, status: *mut OrtStatus) {
    // SAFETY: `start` created the pointer, and this is the only call that uses it.
    let over = unsafe { Box::from_raw(user.cast::<F>()) };
    in_callback(|| over(check(status)));
}
