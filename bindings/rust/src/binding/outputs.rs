//! The outputs of a binding.

use super::{IoBinding, Results, Source, Target};
use crate::element::PlainElement;
use crate::error::{OnnxError, OrtErrorCode, Result};
use crate::memory::MemoryInfo;
use crate::run::{finish, has_containers};
use crate::value::Value;
use crate::value::view::wrap_for_writing;

impl<'a> IoBinding<'a> {
    /// Binds an output to a tensor, which each run writes. It is an error if the tensor has a different element type
    /// than the output. A wrong shape is an error of the run.
    pub fn bind_output(&mut self, name: &str, mut value: Value) -> Result<()> {
        value.make_unique()?;
        self.set_output(name, Target::Owned(value))
    }

    /// Binds an output to borrowed memory, which each run writes. `shape` is as for [`Value::from_slice`].
    ///
    /// The borrow ends when the binding is dropped; until then, read the memory through [`IoBinding::output`].
    pub fn bind_output_slice<T: PlainElement>(&mut self, name: &str, shape: &[usize], data: &'a mut [T]) -> Result<()> {
        self.set_output(name, Target::Borrowed(wrap_for_writing(shape, data)?))
    }

    /// Binds an output to a place in memory: the library allocates the result there, with any shape.
    ///
    /// If the shape changes from run to run, ONNX Runtime needs the output to be bound again before each run; Retort
    /// does not.
    pub fn bind_output_to(&mut self, name: &str, memory: &MemoryInfo) -> Result<()> {
        self.set_output(name, Target::Memory(memory.clone()))
    }

    /// Binds one value both as an input and as an output, so that each run reads what the previous run wrote, in the
    /// same memory. This is for models that write to the memory that they read, such as those with a cache of fixed
    /// size.
    ///
    /// ```
    /// use onnx::Value;
    /// # let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/with_room.onnx");
    /// // A decoder with a cache of 16 rows. Each step writes row 'place', and reads the rows that 'mask' selects.
    /// let session = onnx::session_builder().commit_from_file(file)?;
    /// let mut binding = session.io_binding()?;
    /// binding.bind_in_place("past", "present", Value::zeros::<f32>(&[16, 8])?)?;
    /// binding.bind_input("token", Value::from_slice(&[1], &[1i64])?)?;
    /// binding.bind_input("place", Value::from_slice(&[1, 1], &[0i64])?)?;
    /// binding.bind_input("mask", Value::from_slice(&[1, 16], &[-1e9f32; 16])?)?;
    /// binding.bind_output("logits", Value::zeros::<f32>(&[1, 12])?)?;
    /// let mut tokens = Vec::new();
    /// for step in 0..10 {
    ///     binding.input_mut::<f32>("mask")?[step] = 0.0;
    ///     binding.input_mut::<i64>("place")?[0] = step as i64;
    ///     binding.run()?;
    ///     let logits = binding.output("logits")?.extract_tensor::<f32>()?;
    ///     let best = (0i64..).zip(logits).max_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |(token, _)| token);
    ///     tokens.push(best);
    ///     binding.input_mut::<i64>("token")?[0] = best;
    /// }
    /// assert_eq!(tokens, [5, 10, 7, 4, 1, 10, 0, 8, 7, 4]);
    /// # Ok::<(), onnx::OnnxError>(())
    /// ```
    pub fn bind_in_place(&mut self, input: &str, output: &str, mut value: Value) -> Result<()> {
        value.make_unique()?;
        let (place, at) = (self.ports.input(input)?, self.ports.output(output)?);
        self.check_output(at, &value)?;
        if matches!(self.outputs[at], Some(Target::Input(old)) if old == place) {
            self.unbind(at)?;
        }
        self.set_input(input, Source::Owned(value))?;
        self.set_output(output, Target::Input(place))
    }

    fn set_output(&mut self, name: &str, target: Target) -> Result<()> {
        let at = self.ports.output(name)?;
        if let Target::Owned(value) | Target::Borrowed(value) = &target {
            self.check_output(at, value)?;
        }
        self.discard_results();
        let old = self.outputs[at].replace(target);
        if let Err(error) = self.bind_target(at) {
            // The state of the library is unknown, so the output is unbound.
            self.outputs[at] = old;
            self.unbind(at)?;
            return Err(error);
        }
        if !self.order.contains(&at) {
            self.order.push(at);
        }
        Ok(())
    }

    /// Checks the type of a tensor for an output. The library does not check it.
    fn check_output(&self, at: usize, value: &Value) -> Result<()> {
        let port = &self.ports.outputs[at];
        let info = &port.info;
        let Some(wanted) = info.element_type() else {
            let message = format!("output '{}' is not a tensor but {:?}: bind it to a place in memory", info.name, info.value_type);
            return Err(OnnxError::invalid(message));
        };
        // ONNX Runtime would report success without writing the tensor.
        if port.may_share {
            return Err(OnnxError::invalid(format!(
                "output '{}' is an input of the model, which runs do not write: bind it to a place in memory",
                info.name
            )));
        }
        value.check_type(wanted).map_err(|e| OnnxError::invalid(format!("output '{}': {}", info.name, e.message)))
    }

    /// Binds an output in the library to its target.
    fn bind_target(&self, at: usize) -> Result<()> {
        let value = match &self.outputs[at] {
            Some(Target::Memory(memory)) => return Ok(self.handle.bind_output_to(at, &memory.handle)?),
            Some(Target::Owned(value) | Target::Borrowed(value)) => Some(value),
            Some(Target::Input(place)) => self.inputs[*place].as_ref().map(Source::value),
            None => None,
        };
        Ok(self.handle.bind_output(at, &value.ok_or_else(|| self.not_bound(at))?.inner)?)
    }

    /// Unbinds one output. The library can only unbind all outputs at once, so the others are bound again.
    fn unbind(&mut self, at: usize) -> Result<Option<Target>> {
        // The order of the results changes, so those of the last run are dropped.
        self.discard_results();
        let order = std::mem::take(&mut self.order);
        self.handle.clear_outputs()?;
        let old = self.outputs[at].take();
        for other in order.into_iter().filter(|other| *other != at) {
            self.bind_target(other)?;
            self.order.push(other);
        }
        Ok(old)
    }

    /// Unbinds all outputs.
    pub fn clear_outputs(&mut self) -> Result<()> {
        self.discard_results();
        self.handle.clear_outputs()?;
        self.outputs.fill_with(|| None);
        self.order.clear();
        Ok(())
    }

    fn not_bound(&self, at: usize) -> OnnxError {
        OnnxError::invalid(format!("output '{}' is not bound: bind it to a value or a place in memory", self.ports.outputs[at].info.name))
    }

    /// Returns the value that an output is bound to or, if it is bound to a place in memory, the result of the last
    /// run. Nothing is copied.
    pub fn output(&self, name: &str) -> Result<&Value> {
        let at = self.ports.output(name)?;
        match &self.outputs[at] {
            Some(Target::Owned(value) | Target::Borrowed(value)) => Ok(value),
            Some(Target::Input(place)) => self.inputs[*place].as_ref().map(Source::value).ok_or_else(|| self.not_bound(at)),
            Some(Target::Memory(_)) => {
                let place = self.result_place(at)?;
                self.results()?.get(place).and_then(Option::as_ref).ok_or_else(|| self.no_result(at))
            }
            None => Err(self.not_bound(at)),
        }
    }

    fn result_place(&self, at: usize) -> Result<usize> {
        let bound = self.order.iter().position(|o| *o == at).ok_or_else(|| self.not_bound(at))?;
        if self.has_run { Ok(bound) } else { Err(self.no_result(at)) }
    }

    fn no_result(&self, at: usize) -> OnnxError {
        let name = &self.ports.outputs[at].info.name;
        OnnxError::new(
            OrtErrorCode::Fail,
            format!("output '{name}' has no result: it has not been computed yet, was taken, or was bound again"),
        )
    }

    /// Returns the handles of all results, which are fetched once after each run.
    pub(super) fn results(&self) -> Result<&Results> {
        if let Some(results) = self.results.get() {
            return Ok(results);
        }
        let handles = self.handle.results()?;
        if handles.len() != self.order.len() {
            let message = format!("the library returned {} results for a binding with {} outputs", handles.len(), self.order.len());
            return Err(OnnxError::new(OrtErrorCode::Fail, message));
        }
        let given = (0..self.inputs.len()).filter(|&i| self.inputs[i].is_some());
        let containers = has_containers(&self.ports, given);
        let mut results = Results::new();
        for (handle, &at) in handles.into_iter().zip(&self.order) {
            let made = matches!(self.outputs[at], Some(Target::Memory(_)));
            if made {
                results.push(Some(finish(&self.ports.outputs[at], handle, containers)?));
            } else {
                results.push(None);
            }
        }
        Ok(self.results.get_or_init(|| results))
    }

    /// Takes the value that an output is bound to, and unbinds the output. If the output is bound to a place in memory,
    /// this takes the result of the last run, and the next run allocates another one. It is an error for borrowed
    /// memory and for outputs that are written to an input.
    pub fn take_output(&mut self, name: &str) -> Result<Value> {
        let at = self.ports.output(name)?;
        match &self.outputs[at] {
            Some(Target::Memory(_)) => self.take_result(at),
            Some(Target::Owned(_)) => match self.unbind(at)? {
                Some(Target::Owned(value)) => Ok(value),
                _ => Err(self.not_bound(at)),
            },
            Some(_) => Err(OnnxError::invalid(format!("the binding does not own the memory of output '{name}': copy it"))),
            None => Err(self.not_bound(at)),
        }
    }

    fn take_result(&mut self, at: usize) -> Result<Value> {
        let place = self.result_place(at)?;
        self.results()?;
        let taken = self.results.get_mut().and_then(|r| r.get_mut(place)).and_then(Option::take);
        let taken = taken.ok_or_else(|| self.no_result(at))?;
        // Binding again makes the library release its result and allocate another one in the next run.
        self.bind_target(at)?;
        Ok(taken)
    }

    /// Makes the last result of an output the value of an input, as decoders need it between two steps.
    ///
    /// If the output is bound to a place in memory, the next run allocates a new result. If both are bound to values
    /// that the binding owns, these are swapped: the next run reads what the last run wrote, and overwrites what the
    /// last run read. Nothing is copied in either case.
    pub fn feed_back(&mut self, output: &str, input: &str) -> Result<()> {
        let (at, place) = (self.ports.output(output)?, self.ports.input(input)?);
        self.check_not_in_place(place, input)?;
        match (&mut self.outputs[at], &mut self.inputs[place]) {
            (Some(Target::Memory(_)), _) => {
                let result = self.take_result(at)?;
                self.set_input(input, Source::Owned(result))
            }
            (Some(Target::Owned(written)), Some(Source::Owned(read))) => {
                if read.is_shared() || read.element_type()? != written.element_type()? {
                    return Err(OnnxError::invalid(format!(
                        "input '{input}' and output '{output}' cannot be swapped: {read:?}, {written:?}"
                    )));
                }
                std::mem::swap(written, read);
                let bound = self.refresh_input(input).and_then(|()| self.bind_target(at));
                if bound.is_err() {
                    self.park(at, place);
                }
                bound
            }
            _ => Err(OnnxError::invalid(format!(
                "output '{output}' cannot be fed back to input '{input}': bind the output to a place in memory, or bind both to owned values"
            ))),
        }
    }

    /// Unbinds both without dropping either, because it is unknown which of them the library still refers to.
    fn park(&mut self, output: usize, input: usize) {
        if let Some(Source::Owned(value)) = self.inputs[input].take() {
            self.parked.push(value);
        }
        if let Some(Target::Owned(value)) = self.outputs[output].take() {
            self.parked.push(value);
        }
    }
}
