//! Bindings: inputs and outputs are bound by name once, for many runs.

mod outputs;

use std::cell::OnceCell;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::element::TensorElement;
use crate::error::{OnnxError, Result};
use crate::ffi;
use crate::memory::MemoryInfo;
use crate::mistakes;
use crate::ports::Ports;
use crate::run::RunOptions;
use crate::session::Session;
use crate::value::Value;
use crate::value::view::ValueView;

/// Results of the last run, in the order of the library; fetched at the first access.
type Results = ffi::Few<Option<Value>, 2>;

/// The value that an input reads.
enum Source {
    Owned(Value),
    Shared(Arc<Value>),
    /// A value over memory that is borrowed for as long as the binding exists.
    Borrowed(Value),
}

/// The place that an output is written to.
enum Target {
    Owned(Value),
    /// A value over memory that is borrowed for as long as the binding exists.
    Borrowed(Value),
    /// The library allocates the output here, in each run.
    Memory(MemoryInfo),
    /// The output is written to the value of this input.
    Input(usize),
}

/// Binds inputs and outputs of a session to values by name, once for many runs. A run is then one call without names.
/// This crate allocates nothing in a run, and neither does Retort from the second run with the same shapes on.
///
/// A binding owns the values that are bound to it, or borrows them for `'a`. The program reads and writes them through
/// [`IoBinding::input_mut`] and [`IoBinding::output`]. One thread at a time can use a binding; several bindings of one
/// session may run at the same time.
///
/// This example is a decoder whose cache grows. The size of the cache is not known in advance, so the library allocates
/// it, and each step passes its cache to the next one without a copy. See [`IoBinding::bind_in_place`] for a cache that
/// stays in one place.
///
/// ```
/// use onnx::{MemoryInfo, Value};
/// # let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/growing.onnx");
/// let session = onnx::session_builder().commit_from_file(file)?;
/// let mut binding = session.io_binding()?;
/// binding.bind_input("token", Value::from_slice(&[1], &[1i64])?)?;
/// binding.bind_input("past", Value::zeros::<f32>(&[0, 8])?)?;
/// binding.bind_output("logits", Value::zeros::<f32>(&[1, 12])?)?;
/// binding.bind_output_to("present", &MemoryInfo::cpu()?)?;
/// let mut tokens = Vec::new();
/// for _ in 0..10 {
///     binding.run()?;
///     let logits = binding.output("logits")?.extract_tensor::<f32>()?;
///     let best = (0i64..).zip(logits).max_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |(token, _)| token);
///     tokens.push(best);
///     binding.input_mut::<i64>("token")?[0] = best;
///     binding.feed_back("present", "past")?;
/// }
/// assert_eq!(tokens, [5, 10, 7, 4, 1, 10, 0, 8, 7, 4]);
/// assert_eq!(binding.input("past")?.shape()?, [10, 8]);
/// # Ok::<(), onnx::OnnxError>(())
/// ```
pub struct IoBinding<'a> {
    // Dropped before the memory that it refers to.
    handle: ffi::Binding,
    inputs: Vec<Option<Source>>,
    outputs: Vec<Option<Target>>,
    /// Indexes of the bound outputs, in the order of the library.
    order: Vec<usize>,
    has_run: bool,
    results: OnceCell<Results>,
    /// Values that the library may still refer to, because binding them failed.
    failed: Vec<Source>,
    /// Values to which the same applies after a failed swap of an input and an output; kept until the binding is
    /// dropped.
    parked: Vec<Value>,
    ports: Arc<Ports>,
    memory: PhantomData<&'a mut [u8]>,
}

impl Session {
    /// Creates a binding of this session with nothing bound.
    pub fn io_binding<'a>(&self) -> Result<IoBinding<'a>> {
        Ok(IoBinding {
            handle: ffi::Binding::of(&self.handle)?,
            inputs: self.ports.inputs.iter().map(|_| None).collect(),
            outputs: self.ports.outputs.iter().map(|_| None).collect(),
            order: Vec::new(),
            has_run: false,
            results: OnceCell::new(),
            failed: Vec::new(),
            parked: Vec::new(),
            ports: Arc::clone(&self.ports),
            memory: PhantomData,
        })
    }
}

impl<'a> IoBinding<'a> {
    /// Binds an input to a value, which replaces the value that was bound before.
    ///
    /// If the model does not read the memory of the value directly, the value is copied now: bind it again after
    /// changing it.
    pub fn bind_input(&mut self, name: &str, value: Value) -> Result<()> {
        self.set_input(name, Source::Owned(value))
    }

    /// Binds an input to a value that other readers may use at the same time.
    pub fn bind_input_shared(&mut self, name: &str, value: Arc<Value>) -> Result<()> {
        self.set_input(name, Source::Shared(value))
    }

    /// Binds an input to borrowed data, without a copy. `shape` is as for [`Value::from_slice`].
    ///
    /// The data can be neither changed nor freed while the binding may read it:
    ///
    /// ```compile_fail,E0506
    /// # fn bind(session: &onnx::Session) -> onnx::Result<()> {
    /// let mut data = vec![1f32, 2.0];
    /// let mut binding = session.io_binding()?;
    /// binding.bind_input_slice("x", &[2], &data)?;
    /// data[0] = 3.0;
    /// binding.run()
    /// # }
    /// ```
    pub fn bind_input_slice<T: TensorElement>(&mut self, name: &str, shape: &[usize], data: &'a [T]) -> Result<()> {
        self.set_input(name, Source::Borrowed(ValueView::into_inner(Value::view(shape, data)?)))
    }

    fn set_input(&mut self, name: &str, source: Source) -> Result<()> {
        let place = self.ports.input(name)?;
        self.check_not_in_place(place, name)?;
        match self.handle.bind_input(place, &source.value().inner) {
            // The library drops the previous value when it gets the new one.
            Ok(()) => {
                self.inputs[place] = Some(source);
                Ok(())
            }
            Err(error) => {
                self.failed.push(source);
                Err(error.into())
            }
        }
    }

    /// Returns an error if an output is written to this input: replacing the input would free the memory of the output.
    fn check_not_in_place(&self, place: usize, name: &str) -> Result<()> {
        let written = self.outputs.iter().position(|t| matches!(t, Some(Target::Input(at)) if *at == place));
        written.map_or(Ok(()), |output| {
            let output = &self.ports.outputs[output].info.name;
            Err(OnnxError::invalid(format!(
                "output '{output}' is written to the memory of input '{name}': bind the output elsewhere first"
            )))
        })
    }

    fn input_place(&self, name: &str) -> Result<usize> {
        let place = self.ports.input(name)?;
        if self.inputs[place].is_none() {
            return Err(OnnxError::invalid(format!("input '{name}' is not bound: bind it to a value")));
        }
        Ok(place)
    }

    /// Returns the value that is bound to an input.
    pub fn input(&self, name: &str) -> Result<&Value> {
        let place = self.input_place(name)?;
        self.inputs[place].as_ref().map(Source::value).ok_or_else(|| OnnxError::invalid("the input is not bound"))
    }

    /// Returns the elements that are bound to an input, for writing before the next run. It is an error if the binding
    /// does not own them: shared and borrowed inputs are read-only.
    ///
    /// If a device reads a copy of the input, [`IoBinding::refresh_input`] updates the copy.
    pub fn input_mut<T: TensorElement>(&mut self, name: &str) -> Result<&mut [T]> {
        let place = self.input_place(name)?;
        match &mut self.inputs[place] {
            // Writing to shared memory would copy the value first, and the library would continue to read the old
            // memory.
            Some(Source::Owned(value)) if !value.is_shared() => value.extract_tensor_mut(),
            _ => Err(OnnxError::invalid(format!("input '{name}' is shared or borrowed: bind an owned value to write to it"))),
        }
    }

    /// Binds the value of an input again, so that a device gets a copy of its new contents.
    pub fn refresh_input(&mut self, name: &str) -> Result<()> {
        Ok(self.handle.bind_input(self.input_place(name)?, &self.input(name)?.inner)?)
    }

    /// Unbinds all inputs.
    pub fn clear_inputs(&mut self) -> Result<()> {
        for place in 0..self.inputs.len() {
            let name = self.ports.inputs[place].name.clone();
            self.check_not_in_place(place, &name)?;
        }
        self.handle.clear_inputs()?;
        self.inputs.fill_with(|| None);
        self.failed.clear();
        Ok(())
    }

    /// Runs the session. This drops the results of the previous run, except those that were taken.
    ///
    /// Returns when all outputs have been written, including those on devices.
    pub fn run(&mut self) -> Result<()> {
        self.run_with(None)
    }

    /// Like [`IoBinding::run`], with options.
    pub fn run_with_options(&mut self, options: &RunOptions) -> Result<()> {
        self.run_with(Some(options))
    }

    fn run_with(&mut self, options: Option<&RunOptions>) -> Result<()> {
        self.discard_results();
        if self.order.is_empty() {
            return Err(self.ports.no_output("bound: bind"));
        }
        self.handle.run(options.map(|o| &o.handle)).map_err(|error| {
            let given = self.inputs.iter().enumerate().filter_map(|(at, source)| Some((at, source.as_ref()?.value())));
            mistakes::named(&self.ports, given, error.into())
        })?;
        self.has_run = true;
        // A result that shares memory with an input is copied now, because the input may be dropped before it.
        let shares = |at: &usize| self.ports.outputs[*at].may_share && matches!(self.outputs[*at], Some(Target::Memory(_)));
        if self.order.iter().any(shares) {
            self.results()?;
        }
        Ok(())
    }

    fn discard_results(&mut self) {
        self.has_run = false;
        // Dropped in place: taking them out would move them first.
        self.results = OnceCell::new();
    }
}

impl Source {
    fn value(&self) -> &Value {
        match self {
            Source::Owned(value) | Source::Borrowed(value) => value,
            Source::Shared(value) => value,
        }
    }
}

impl std::fmt::Debug for IoBinding<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.order.iter().map(|&at| self.ports.outputs[at].info.name.as_str()).collect();
        f.debug_struct("IoBinding").field("outputs", &names).field("has_run", &self.has_run).finish_non_exhaustive()
    }
}
