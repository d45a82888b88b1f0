//! Runs, and their options.

use smallvec::SmallVec;

use crate::error::{OnnxError, Result};
use crate::ffi;
use crate::init::LogLevel;
use crate::mistakes;
use crate::ports::{Output, Ports, ValueType};
use crate::session::Session;
use crate::value::Value;

/// Options of a run. One may serve several runs, also at once; [`RunOptions::terminate`] ends all of them.
pub struct RunOptions {
    pub(crate) handle: ffi::RunOptions,
}

impl RunOptions {
    /// Default options.
    pub fn new() -> Result<Self> {
        Ok(RunOptions { handle: ffi::RunOptions::new()? })
    }

    /// Ends runs with these options as soon as the library notices, with an error; and those that begin later, until
    /// [`RunOptions::reset`].
    pub fn terminate(&self) -> Result<()> {
        Ok(self.handle.terminate()?)
    }

    /// Lets runs with these options go on again.
    pub fn reset(&self) -> Result<()> {
        Ok(self.handle.reset()?)
    }

    /// Sets a name for the lines of the run in the log.
    pub fn set_tag(&mut self, tag: &str) -> Result<()> {
        Ok(self.handle.set_tag(tag)?)
    }

    /// Sets how much of the run is logged.
    pub fn set_log_level(&mut self, level: LogLevel) -> Result<()> {
        Ok(self.handle.set_log_level(level.raw())?)
    }

    /// Sets an entry of configuration. Keys that carry addresses are refused.
    pub fn set_config_entry(&mut self, key: &str, value: &str) -> Result<()> {
        Ok(self.handle.add_config_entry(key, value)?)
    }
}

impl std::fmt::Debug for RunOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RunOptions")
    }
}

impl Session {
    /// Runs the model: inputs by name, and the names of the wanted outputs, in the order of the result.
    ///
    /// Inputs are read where they lie; each output is a new value of the processor's memory. Names that the model does
    /// not have, names given twice, and inputs of another type or shape than the model's are errors.
    pub fn run(&self, inputs: &[(&str, &Value)], outputs: &[&str]) -> Result<Vec<Value>> {
        self.run_with(None, inputs, outputs)
    }

    /// As [`Session::run`], with options; [`RunOptions::terminate`] ends it from another thread, with an error.
    pub fn run_with_options(&self, options: &RunOptions, inputs: &[(&str, &Value)], outputs: &[&str]) -> Result<Vec<Value>> {
        self.run_with(Some(&options.handle), inputs, outputs)
    }

    fn run_with(&self, options: Option<&ffi::RunOptions>, inputs: &[(&str, &Value)], outputs: &[&str]) -> Result<Vec<Value>> {
        let given = input_places(&self.ports, inputs.iter().map(|i| i.0))?;
        let wanted = output_places(&self.ports, outputs)?;
        let results = self.handle.run(options, &given, inputs.iter().map(|i| &i.1.inner), &wanted);
        let results = results.map_err(|error| {
            let values = given.iter().copied().zip(inputs.iter().map(|i| i.1));
            mistakes::named(&self.ports, values, error.into())
        })?;
        finish_all(&self.ports, results, &wanted, has_containers(&self.ports, given.iter().copied()))
    }
}

pub(crate) type Places = SmallVec<[usize; 8]>;

/// The places of inputs, each of which exists and comes once.
pub(crate) fn input_places<'n>(ports: &Ports, names: impl Iterator<Item = &'n str>) -> Result<Places> {
    places(names, |name| ports.input(name), "input")
}

pub(crate) fn output_places(ports: &Ports, names: &[&str]) -> Result<Places> {
    places(names.iter().copied(), |name| ports.output(name), "output")
}

fn places<'n>(names: impl Iterator<Item = &'n str>, find: impl Fn(&str) -> Result<usize>, what: &str) -> Result<Places> {
    let mut places = Places::new();
    for name in names {
        let place = find(name)?;
        if places.contains(&place) {
            return Err(OnnxError::invalid(format!("the {what} '{name}' is named twice: name it once")));
        }
        places.push(place);
    }
    Ok(places)
}

/// Whether one of these inputs is more than a tensor: outputs may then share memory with what lies in it.
pub(crate) fn has_containers(ports: &Ports, mut inputs: impl Iterator<Item = usize>) -> bool {
    inputs.any(|at| !matches!(ports.inputs[at].value_type, ValueType::Tensor { .. }))
}

/// Makes an owned value of a result: it shares memory with nothing that can be changed or go away.
pub(crate) fn finish(output: &Output, handle: Option<ffi::ValueHandle>, containers: bool) -> Result<Value> {
    let mut value = Value::of(ffi::Value::of_library(handle.ok_or(ffi::Error::Null("OrtValue"))?));
    if output.may_share {
        return value.detached();
    }
    if containers {
        value.set_shared();
    }
    Ok(value)
}

/// Makes values of all results of a run.
pub(crate) fn finish_all(
    ports: &Ports,
    results: impl IntoIterator<Item = Option<ffi::ValueHandle>>,
    places: &[usize],
    containers: bool,
) -> Result<Vec<Value>> {
    let mut values = Vec::with_capacity(places.len());
    for (handle, &at) in results.into_iter().zip(places) {
        values.push(finish(&ports.outputs[at], handle, containers)?);
    }
    Ok(values)
}
