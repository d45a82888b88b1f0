//! Raw calls of runs.

use std::ffi::{CString, c_char};
use std::ptr::{null, null_mut};

use smallvec::SmallVec;

use super::RunOptions;
use crate::environment::LogLevel;
use crate::environment::ffi::raw_level;
use crate::error::{OnnxError, Result};
use crate::ffi::OrtValue;
use crate::library::ffi::{call, handle};
use crate::session::{Port, SessionInner, ValueType};
use crate::value::Value;
use crate::value::ffi::ValueHandle;

handle!(OptionsHandle, OrtRunOptions, ReleaseRunOptions);

pub(super) fn options() -> Result<OptionsHandle> {
    let mut raw = null_mut();
    // SAFETY: the library gives new options.
    unsafe { call!(CreateRunOptions(&raw mut raw))? };
    OptionsHandle::of(raw)
}

pub(super) fn terminate(options: &RunOptions) -> Result<()> {
    // SAFETY: the options live; this call is made for other threads than that of the run.
    unsafe { call!(RunOptionsSetTerminate(options.raw())) }
}

pub(super) fn reset(options: &RunOptions) -> Result<()> {
    // SAFETY: as above.
    unsafe { call!(RunOptionsUnsetTerminate(options.raw())) }
}

pub(super) fn set_tag(options: &mut RunOptions, tag: &str) -> Result<()> {
    let tag = CString::new(tag)?;
    // SAFETY: no run has the options, and the library copies the text.
    unsafe { call!(RunOptionsSetRunTag(options.raw(), tag.as_ptr())) }
}

pub(super) fn set_log_level(options: &mut RunOptions, level: LogLevel) -> Result<()> {
    // SAFETY: no run has the options.
    unsafe { call!(RunOptionsSetRunLogSeverityLevel(options.raw(), raw_level(level).0)) }
}

pub(super) fn add_entry(options: &mut RunOptions, key: &str, value: &str) -> Result<()> {
    let (key, value) = (CString::new(key)?, CString::new(value)?);
    // SAFETY: no run has the options, and the library copies both texts.
    unsafe { call!(AddRunConfigEntry(options.raw(), key.as_ptr(), value.as_ptr())) }
}

/// Names of inputs or outputs, for the library: each exists, none comes twice.
pub(crate) struct Names {
    pub(crate) places: SmallVec<[usize; 8]>,
    pub(crate) raw: SmallVec<[*const c_char; 8]>,
}

impl Names {
    pub(crate) fn of<'n>(
        ports: &[Port],
        names: impl Iterator<Item = &'n str>,
        find: impl Fn(&str) -> Result<usize>,
        what: &str,
    ) -> Result<Self> {
        let mut made = Names { places: SmallVec::new(), raw: SmallVec::new() };
        for name in names {
            let place = find(name)?;
            if made.places.contains(&place) {
                return Err(OnnxError::invalid(format!("the {what} '{name}' is named twice: name it once")));
            }
            made.places.push(place);
            made.raw.push(ports[place].raw_name.as_ptr());
        }
        Ok(made)
    }

    pub(crate) fn inputs<'n>(session: &SessionInner, names: impl Iterator<Item = &'n str>) -> Result<Self> {
        Self::of(&session.inputs, names, |n| session.input(n), "input")
    }

    pub(crate) fn outputs<'n>(session: &SessionInner, names: impl Iterator<Item = &'n str>) -> Result<Self> {
        Self::of(&session.outputs, names, |n| session.output(n), "output")
    }
}

/// Whether one of these inputs is more than a tensor: outputs may then share memory with what lies in it.
pub(crate) fn has_containers(session: &SessionInner, mut inputs: impl Iterator<Item = usize>) -> bool {
    inputs.any(|at| !matches!(session.inputs[at].info.value_type, ValueType::Tensor { .. }))
}

/// Makes an owned value of a result, one that shares memory with nothing that can be changed or go away.
pub(crate) fn finish(port: &Port, handle: ValueHandle, containers: bool) -> Result<Value> {
    let mut value = Value::of_library(handle);
    if port.may_share {
        return value.detached();
    }
    if containers {
        value.set_shared();
    }
    Ok(value)
}

/// Takes over all handles, then makes values of them.
///
/// # Safety
/// Each pointer is null or a handle that is the caller's; none is used again.
pub(crate) unsafe fn take(session: &SessionInner, outputs: &[usize], raw: &[*mut OrtValue], containers: bool) -> Result<Vec<Value>> {
    let handles: SmallVec<[Result<ValueHandle>; 8]> = raw.iter().map(|&one| ValueHandle::of(one)).collect();
    let mut values = Vec::with_capacity(raw.len());
    for (handle, &at) in handles.into_iter().zip(outputs) {
        values.push(finish(&session.outputs[at], handle?, containers)?);
    }
    Ok(values)
}

pub(crate) fn run(session: &SessionInner, options: Option<&RunOptions>, inputs: &[(&str, &Value)], outputs: &[&str]) -> Result<Vec<Value>> {
    let names = Names::inputs(session, inputs.iter().map(|i| i.0))?;
    let wanted = Names::outputs(session, outputs.iter().copied())?;
    let values: SmallVec<[*const OrtValue; 8]> = inputs.iter().map(|i| i.1.raw().cast_const()).collect();
    let mut results: SmallVec<[*mut OrtValue; 8]> = SmallVec::from_elem(null_mut(), outputs.len());
    let options = options.map_or(null(), |o| o.raw().cast_const());
    // SAFETY: session, options and inputs live during the call, and all arrays have the lengths that are told. Handles
    // that a failed run has left are taken over, too, and released.
    unsafe {
        let done = call!(Run(
            session.handle.raw(),
            options,
            names.raw.as_ptr(),
            values.as_ptr(),
            values.len(),
            wanted.raw.as_ptr(),
            results.len(),
            results.as_mut_ptr(),
        ));
        if let Err(error) = done {
            results.iter().for_each(|&one| drop(ValueHandle::of(one)));
            let given = names.places.iter().copied().zip(inputs.iter().map(|i| i.1));
            return Err(super::mistakes::named(session, given, error));
        }
        take(session, &wanted.places, &results, has_containers(session, names.places.iter().copied()))
    }
}
