//! Runs, and their options.

use crate::error::{OnnxError, Result};
use crate::ffi;
use crate::init::LogLevel;
use crate::mistakes;
use crate::ports::{Output, Ports, ValueType};
use crate::session::Session;
use crate::value::Value;

/// Options of runs. The same options may be used for several runs, also at the same time; [`RunOptions::terminate`]
/// ends all of them.
pub struct RunOptions {
    pub(crate) handle: ffi::RunOptions,
}

impl RunOptions {
    /// Creates options with default values.
    pub fn new() -> Result<Self> {
        Ok(RunOptions { handle: ffi::RunOptions::new()? })
    }

    /// Terminates runs with these options as soon as the library reacts; they return an error. Later runs fail as well,
    /// until [`RunOptions::reset`] is called.
    pub fn terminate(&self) -> Result<()> {
        Ok(self.handle.terminate()?)
    }

    /// Allows runs with these options again.
    pub fn reset(&self) -> Result<()> {
        Ok(self.handle.reset()?)
    }

    /// Sets a name for the run in the log.
    pub fn set_tag(&mut self, tag: &str) -> Result<()> {
        Ok(self.handle.set_tag(tag)?)
    }

    /// Sets the log level of the run.
    pub fn set_log_level(&mut self, level: LogLevel) -> Result<()> {
        Ok(self.handle.set_log_level(level.raw())?)
    }

    /// Sets a config entry. Keys whose values are addresses are refused.
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
    /// Runs the model with named inputs, and returns the named outputs in this order.
    ///
    /// Inputs are read in place. Each output is a new value in the processor's memory. It is an error if the model does
    /// not have a name, a name is given twice, or an input has a different type or shape than the model's.
    pub fn run(&self, inputs: &[(&str, &Value)], outputs: &[&str]) -> Result<Vec<Value>> {
        self.run_with(None, inputs, outputs)
    }

    /// Like [`Session::run`], with options. [`RunOptions::terminate`] ends the run from another thread, with an error.
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

pub(crate) type Places = ffi::Few<usize, 8>;

/// Returns the indexes of inputs; an error if one does not exist or is given twice.
pub(crate) fn input_places<'n>(ports: &Ports, names: impl Iterator<Item = &'n str>) -> Result<Places> {
    places(names, |name| ports.input(name), "input")
}

/// Returns the indexes of outputs; an error if one does not exist or is given twice, or if there are none.
pub(crate) fn output_places(ports: &Ports, names: &[&str]) -> Result<Places> {
    if names.is_empty() {
        return Err(ports.no_output("named: name"));
    }
    places(names.iter().copied(), |name| ports.output(name), "output")
}

fn places<'n>(names: impl Iterator<Item = &'n str>, find: impl Fn(&str) -> Result<usize>, what: &str) -> Result<Places> {
    let mut places = Places::new();
    for name in names {
        let place = find(name)?;
        if places.contains(&place) {
            return Err(OnnxError::invalid(format!("the {what} '{name}' is given twice: give it once")));
        }
        places.push(place);
    }
    Ok(places)
}

/// Returns whether one of these inputs is not a plain tensor. Outputs may then share memory with its elements.
pub(crate) fn has_containers(ports: &Ports, mut inputs: impl Iterator<Item = usize>) -> bool {
    inputs.any(|at| !matches!(ports.inputs[at].value_type, ValueType::Tensor { .. }))
}

/// Converts a result to an owned value, which shares memory with nothing that may be changed or freed.
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

/// Converts all results of a run to values.
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
