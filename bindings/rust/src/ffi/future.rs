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

/// What has a value of the library in it, always the same one.
pub(crate) trait InputValue: Send + Sync {
    fn value(&self) -> &Value;
}

/// All that the library reads and writes until the run is over. It must not be dropped before; it may be forgotten.
pub(crate) struct InFlight<V> {
    results: Vec<*mut OrtValue>,
    values: Vec<*const OrtValue>,
    given: Names,
    wanted: Names,
    pub(crate) options: RunOptions,
    pub(crate) inputs: Vec<Arc<V>>,
    // Keeps the names.
    session: Arc<Session>,
}

// SAFETY: the pointers are to what the fields own; the library is done with them before any are used here.
unsafe impl<V: InputValue> Send for InFlight<V> {}
// SAFETY: only the options, which others may terminate, and the inputs, which are shared anyway, are read by reference.
unsafe impl<V: InputValue> Sync for InFlight<V> {}

impl<V: InputValue> InFlight<V> {
    /// Starts a run of values for the inputs at `places`, for the outputs at `outputs`. `over` is called once, by a thread
    /// of the library, when the run is over; it is not called where this function returns an error.
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
        // SAFETY: everything that the library is given lives in the box until the run is over, and `user` until the
        // callback. The callback comes once; where the call fails, it does not come.
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

    /// The outputs; only when the run is over.
    pub(crate) fn take(self) -> Handles {
        // SAFETY: the run is over: the caller owns the handles, and the box goes with this call.
        unsafe { take(&self.results) }
    }
}

/// Called by a thread of the library when the run is over. The outputs are in the array that it was given.
unsafe extern "C" fn call_over<F: FnOnce(Result<()>)>(user: *mut c_void, _: *mut *mut OrtValue, _: usize, status: *mut OrtStatus) {
    // SAFETY: `start` made the pointer, and this is the one call with it.
    let over = unsafe { Box::from_raw(user.cast::<F>()) };
    in_callback(|| over(check(status)));
}
