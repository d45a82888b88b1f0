//! Raw calls of runs that nobody waits for.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;

use super::Shared;
use crate::error::{OnnxError, Result};
use crate::ffi::{OrtStatus, OrtValue};
use crate::library::ffi::{call, check};
use crate::run::ffi::{Names, has_containers, take};
use crate::run::{RunOptions, mistakes};
use crate::session::SessionInner;
use crate::session::ffi::in_callback;
use crate::value::Value;

/// All that the library reads and writes until the run is over. The future has it in a box: where the future is
/// forgotten the box is, too, and nothing in it ends.
pub(super) struct InFlight {
    results: Vec<*mut OrtValue>,
    values: Vec<*const OrtValue>,
    names: Names,
    wanted: Names,
    pub(super) options: RunOptions,
    inputs: Vec<Arc<Value>>,
    session: Arc<SessionInner>,
}

// SAFETY: the pointers are to what the fields own; the library is done with them before any are used here.
unsafe impl Send for InFlight {}
// SAFETY: nothing is read by reference but the options, which others may terminate, and inputs, which are shared anyway.
unsafe impl Sync for InFlight {}

pub(super) fn start(
    session: &Arc<SessionInner>,
    options: RunOptions,
    inputs: &[(&str, Arc<Value>)],
    outputs: &[&str],
    shared: &Arc<Shared>,
) -> Result<Box<InFlight>> {
    let mut run = Box::new(InFlight {
        results: vec![null_mut(); outputs.len()],
        values: inputs.iter().map(|i| i.1.raw().cast_const()).collect(),
        names: Names::inputs(session, inputs.iter().map(|i| i.0))?,
        wanted: Names::outputs(session, outputs.iter().copied())?,
        options,
        inputs: inputs.iter().map(|i| Arc::clone(&i.1)).collect(),
        session: Arc::clone(session),
    });
    let told = Arc::into_raw(Arc::clone(shared));
    // SAFETY: everything that is given lives in the box until the run is over, and `told` until the callback, which comes
    // once, unless the call fails: then it does not come.
    unsafe {
        let started = call!(RunAsync(
            session.handle.raw(),
            run.options.raw(),
            run.names.raw.as_ptr(),
            run.values.as_ptr(),
            run.values.len(),
            run.wanted.raw.as_ptr(),
            run.results.len(),
            run.results.as_mut_ptr(),
            Some(over),
            told.cast_mut().cast(),
        ));
        if let Err(error) = started {
            drop(Arc::from_raw(told));
            return Err(error);
        }
    }
    Ok(run)
}

/// Called by a thread of the library when the run is over. The outputs are in the array that it was given.
unsafe extern "C" fn over(user: *mut c_void, _outputs: *mut *mut OrtValue, _count: usize, status: *mut OrtStatus) {
    // SAFETY: the pointer is that of `start`, and this is the one call with it.
    let shared = unsafe { Arc::from_raw(user.cast_const().cast::<Shared>()) };
    in_callback(|| shared.finish(check(status)));
}

impl InFlight {
    /// The error of the run, with the name of an input that is to blame.
    pub(super) fn named(&self, error: OnnxError) -> OnnxError {
        let given = self.names.places.iter().copied().zip(self.inputs.iter().map(|value| &**value));
        mistakes::named(&self.session, given, error)
    }

    /// The outputs; only when the run is over.
    pub(super) fn take(self) -> Result<Vec<Value>> {
        // SAFETY: the run is over: the handles are the caller's, and the box goes with this call.
        unsafe { take(&self.session, &self.wanted.places, &self.results, has_containers(&self.session, self.names.places.iter().copied())) }
    }
}
