//! Raw calls about bindings.

use std::ptr::{null, null_mut};

use crate::error::Result;
use crate::library::ffi::{call, handle, slot};
use crate::memory::MemoryInfo;
use crate::memory::ffi::{default_raw, free};
use crate::run::RunOptions;
use crate::session::{Port, SessionInner};
use crate::value::Value;
use crate::value::ffi::ValueHandle;

handle!(BindingHandle, OrtIoBinding, ReleaseIoBinding);

pub(super) fn binding(session: &SessionInner) -> Result<BindingHandle> {
    let mut raw = null_mut();
    // SAFETY: the session is kept by the binding.
    unsafe { call!(CreateIoBinding(session.handle.raw(), &raw mut raw))? };
    BindingHandle::of(raw)
}

/// Binds, and waits for copies to a device: afterwards the value may be written or go away.
pub(super) fn bind_input(binding: &BindingHandle, port: &Port, value: &Value) -> Result<()> {
    // SAFETY: the name lives during the call, and the value for as long as it is bound.
    unsafe {
        call!(BindInput(binding.raw(), port.raw_name.as_ptr(), value.raw()))?;
        call!(SynchronizeBoundInputs(binding.raw()))
    }
}

pub(super) fn bind_output(binding: &BindingHandle, port: &Port, value: &Value) -> Result<()> {
    // SAFETY: as above.
    unsafe { call!(BindOutput(binding.raw(), port.raw_name.as_ptr(), value.raw())) }
}

pub(super) fn bind_output_to(binding: &BindingHandle, port: &Port, memory: &MemoryInfo) -> Result<()> {
    // SAFETY: the library copies the description.
    unsafe { call!(BindOutputToDevice(binding.raw(), port.raw_name.as_ptr(), memory.raw())) }
}

pub(super) fn clear_inputs(binding: &BindingHandle) -> Result<()> {
    // SAFETY: the binding lives.
    unsafe { slot!(ClearBoundInputs)(binding.raw()) };
    Ok(())
}

pub(super) fn clear_outputs(binding: &BindingHandle) -> Result<()> {
    // SAFETY: the binding lives.
    unsafe { slot!(ClearBoundOutputs)(binding.raw()) };
    Ok(())
}

/// Runs, and waits for devices, also after a failure: they write into memory that the caller looks at next.
pub(super) fn run(binding: &BindingHandle, session: &SessionInner, options: Option<&RunOptions>) -> Result<()> {
    let options = options.map_or(null(), |o| o.raw().cast_const());
    // SAFETY: session, options and all that is bound live during the call, and nobody else uses the binding.
    unsafe {
        let done = call!(RunWithBinding(session.handle.raw(), options, binding.raw()));
        let waited = call!(SynchronizeBoundOutputs(binding.raw()));
        done.and(waited)
    }
}

/// New handles of the values of all outputs, in the order in which they were bound first.
pub(super) fn results(binding: &BindingHandle) -> Result<Vec<ValueHandle>> {
    let (mut raw, mut count) = (null_mut(), 0);
    // SAFETY: the array is the caller's, from the allocator that was given, and each handle in it.
    unsafe {
        call!(GetBoundOutputValues(binding.raw(), default_raw()?, &raw mut raw, &raw mut count))?;
        let handles: Vec<Result<ValueHandle>> = (0..count).map(|at| ValueHandle::of(*raw.add(at))).collect();
        free(raw.cast())?;
        handles.into_iter().collect()
    }
}
