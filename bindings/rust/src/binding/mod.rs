//! Bindings: inputs and outputs named once, for many runs.

#[allow(unsafe_code)]
mod ffi;
mod outputs;

use std::cell::OnceCell;
use std::marker::PhantomData;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::element::TensorElement;
use crate::error::{OnnxError, Result};
use crate::memory::MemoryInfo;
use crate::run::{RunOptions, mistakes};
use crate::session::SessionInner;
use crate::value::{Value, ValueView};

/// Handles of what the last run gave, in the order of the library; got when somebody asks.
type Results = SmallVec<[Option<Value>; 2]>;

/// What an input reads.
enum Source {
    Owned(Value),
    Shared(Arc<Value>),
    /// Over memory that is borrowed for as long as the binding is.
    Borrowed(Value),
}

/// Where an output goes.
enum Target {
    Owned(Value),
    /// Over memory that is borrowed for as long as the binding is.
    Borrowed(Value),
    /// Made by the library, in each run.
    Memory(MemoryInfo),
    /// Into what this input reads.
    Input(usize),
}

/// Says once where a session reads its inputs and writes its outputs: a run is then one call without names, which
/// allocates nothing here, and nothing in Retort from the second run with the same shapes on.
///
/// The binding owns what is bound to it, or borrows it for `'a`: while it does, contents are read and written through
/// [`IoBinding::input_mut`] and [`IoBinding::output`]. Belongs to one thread at a time; several bindings of one session
/// may run at once.
///
/// A decoder whose cache grows: its size is not known ahead, so the library makes it, and what a step made is handed to the
/// next one without a copy. See [`IoBinding::bind_in_place`] for a cache that stays in one place.
///
/// ```
/// use onnx::{MemoryInfo, Value};
/// # let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/growing.onnx");
/// let session = onnx::session_builder()?.commit_from_file(file)?;
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
    // Released before the memory that it refers to.
    handle: ffi::BindingHandle,
    inputs: Vec<Option<Source>>,
    outputs: Vec<Option<Target>>,
    /// The outputs that are bound, in the order of the library.
    order: Vec<usize>,
    has_run: bool,
    results: OnceCell<Results>,
    /// Values which the library may still refer to, since binding them failed.
    failed: Vec<Source>,
    /// Likewise as inputs or as outputs, until the binding goes.
    parked: Vec<Value>,
    session: Arc<SessionInner>,
    memory: PhantomData<&'a mut [u8]>,
}

impl<'a> IoBinding<'a> {
    pub(crate) fn of(session: &Arc<SessionInner>) -> Result<Self> {
        Ok(IoBinding {
            handle: ffi::binding(session)?,
            inputs: session.inputs.iter().map(|_| None).collect(),
            outputs: session.outputs.iter().map(|_| None).collect(),
            order: Vec::new(),
            has_run: false,
            results: OnceCell::new(),
            failed: Vec::new(),
            parked: Vec::new(),
            session: Arc::clone(session),
            memory: PhantomData,
        })
    }

    /// Binds an input to a value. What was bound to the name before is replaced.
    ///
    /// A value in memory that the model does not read directly is copied there now: bind it again when it has changed.
    pub fn bind_input(&mut self, name: &str, value: Value) -> Result<()> {
        self.set_input(name, Source::Owned(value))
    }

    /// Binds an input to a value that others read, too.
    pub fn bind_input_shared(&mut self, name: &str, value: Arc<Value>) -> Result<()> {
        self.set_input(name, Source::Shared(value))
    }

    /// Binds an input to borrowed memory, which is read where it lies. `shape` as for [`Value::from_slice`].
    ///
    /// The memory can be neither changed nor freed while the binding may read it:
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
    pub fn bind_input_slice<T: TensorElement>(&mut self, name: &str, shape: &[i64], data: &'a [T]) -> Result<()> {
        self.set_input(name, Source::Borrowed(ValueView::into_inner(Value::view(shape, data)?)))
    }

    fn set_input(&mut self, name: &str, source: Source) -> Result<()> {
        let place = self.session.input(name)?;
        self.check_not_in_place(place, name)?;
        match ffi::bind_input(&self.handle, &self.session.inputs[place], source.value()) {
            // The library lets go of the one before when it has the new one.
            Ok(()) => {
                self.inputs[place] = Some(source);
                Ok(())
            }
            Err(error) => {
                self.failed.push(source);
                Err(error)
            }
        }
    }

    /// An output that goes into this input would be left with memory that nobody keeps.
    fn check_not_in_place(&self, place: usize, name: &str) -> Result<()> {
        let written = self.outputs.iter().position(|t| matches!(t, Some(Target::Input(at)) if *at == place));
        written.map_or(Ok(()), |output| {
            let output = &self.session.outputs[output].info.name;
            Err(OnnxError::invalid(format!("output '{output}' goes into the memory of input '{name}': bind the output elsewhere first")))
        })
    }

    fn input_place(&self, name: &str) -> Result<usize> {
        let place = self.session.input(name)?;
        if self.inputs[place].is_none() {
            return Err(OnnxError::invalid(format!("nothing is bound to input '{name}': bind a value")));
        }
        Ok(place)
    }

    /// What is bound to an input.
    pub fn input(&self, name: &str) -> Result<&Value> {
        let place = self.input_place(name)?;
        self.inputs[place].as_ref().map(Source::value).ok_or_else(|| OnnxError::invalid("nothing is bound"))
    }

    /// The elements that are bound to an input, to be written before the next run. An error where the binding does not own
    /// them: shared and borrowed inputs are for reading.
    ///
    /// Where a device reads a copy of the input, the copy is made anew by [`IoBinding::refresh_input`].
    pub fn input_mut<T: TensorElement>(&mut self, name: &str) -> Result<&mut [T]> {
        let place = self.input_place(name)?;
        match &mut self.inputs[place] {
            // Memory that others may read would be moved, and the library would go on reading the old.
            Some(Source::Owned(value)) if !value.is_shared() => value.extract_tensor_mut(),
            _ => Err(OnnxError::invalid(format!("input '{name}' is shared or borrowed: bind a value of its own to write to it"))),
        }
    }

    /// Binds what is bound to an input once more, so that a device gets what was written since.
    pub fn refresh_input(&mut self, name: &str) -> Result<()> {
        ffi::bind_input(&self.handle, &self.session.inputs[self.input_place(name)?], self.input(name)?)
    }

    /// Lets go of all inputs.
    pub fn clear_inputs(&mut self) -> Result<()> {
        for place in 0..self.inputs.len() {
            let name = self.session.inputs[place].info.name.clone();
            self.check_not_in_place(place, &name)?;
        }
        ffi::clear_inputs(&self.handle)?;
        self.inputs.fill_with(|| None);
        self.failed.clear();
        Ok(())
    }

    /// Runs the session. The results of the run before are gone then, but for those that were taken.
    ///
    /// Returns when all outputs are there, also those on devices.
    pub fn run(&mut self) -> Result<()> {
        self.run_with(None)
    }

    /// As [`IoBinding::run`], with options.
    pub fn run_with_options(&mut self, options: &RunOptions) -> Result<()> {
        self.run_with(Some(options))
    }

    fn run_with(&mut self, options: Option<&RunOptions>) -> Result<()> {
        self.discard_results();
        ffi::run(&self.handle, &self.session, options).map_err(|error| {
            let given = self.inputs.iter().enumerate().filter_map(|(at, source)| Some((at, source.as_ref()?.value())));
            mistakes::named(&self.session, given, error)
        })?;
        self.has_run = true;
        // A result that shares memory with an input is copied before the input can go away.
        let shares = |at: &usize| self.session.outputs[*at].may_share && matches!(self.outputs[*at], Some(Target::Memory(_)));
        if self.order.iter().any(shares) {
            self.results()?;
        }
        Ok(())
    }

    fn discard_results(&mut self) {
        self.has_run = false;
        // In place: taken out, they would be moved before they go.
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
        let names: Vec<&str> = self.order.iter().map(|&at| self.session.outputs[at].info.name.as_str()).collect();
        f.debug_struct("IoBinding").field("outputs", &names).field("has_run", &self.has_run).finish_non_exhaustive()
    }
}
