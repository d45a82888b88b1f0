//! Sequences and maps.

use super::{Value, ValueKind, ffi};
use crate::error::{OnnxError, Result};

impl Value {
    /// A sequence of values of one type. The library makes none without elements.
    ///
    /// ```
    /// use onnx::Value;
    /// let sequence = Value::sequence(vec![Value::from_slice(&[2], &[1f32, 2.0])?, Value::from_slice(&[1], &[3f32])?])?;
    /// assert_eq!(sequence.len()?, 2);
    /// assert_eq!(sequence.get(1)?.extract_tensor::<f32>()?, [3.0]);
    /// # Ok::<(), onnx::OnnxError>(())
    /// ```
    pub fn sequence(elements: Vec<Value>) -> Result<Self> {
        // The sequence shares the memory of its elements, and hands it to whoever shares the sequence.
        let elements = elements.into_iter().map(Value::into_library_memory).collect::<Result<Vec<_>>>()?;
        ffi::container(&elements, ValueKind::Sequence)
    }

    /// A map: a tensor of keys (int64 or strings), one of as many values.
    pub fn map(keys: Value, values: Value) -> Result<Self> {
        ffi::container(&[keys.into_library_memory()?, values.into_library_memory()?], ValueKind::Map)
    }

    /// How many elements a sequence has, 2 for a map, the number of elements of a tensor.
    pub fn len(&self) -> Result<usize> {
        match self.kind()? {
            ValueKind::Tensor => crate::element::count_of(&ffi::facts(&self.handle)?.1),
            _ => ffi::count(&self.handle),
        }
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// A copy of the element `index` of a sequence, or the keys (0) or values (1) of a map.
    pub fn get(&self, index: usize) -> Result<Value> {
        let count = match self.kind()? {
            ValueKind::Sequence | ValueKind::Map => ffi::count(&self.handle)?,
            other => return Err(OnnxError::invalid(format!("a value of kind {other:?} has no elements to get: only sequences and maps"))),
        };
        if index >= count {
            return Err(OnnxError::invalid(format!("element {index} was asked for of {count}")));
        }
        ffi::element(&self.handle, index)
    }

    /// Copies of the elements of a sequence.
    pub fn extract_sequence(&self) -> Result<Vec<Value>> {
        self.expect_kind(ValueKind::Sequence)?;
        (0..self.len()?).map(|at| self.get(at)).collect()
    }

    /// Copies of the keys and of the values of a map, two tensors of the same length.
    ///
    /// ```
    /// use onnx::Value;
    /// let map = Value::map(Value::from_strings(&[2], &["a", "b"])?, Value::from_slice(&[2], &[1f32, 2.0])?)?;
    /// let (keys, values) = map.extract_map()?;
    /// assert_eq!(keys.extract_strings()?, ["a", "b"]);
    /// assert_eq!(values.extract_tensor::<f32>()?, [1.0, 2.0]);
    /// # Ok::<(), onnx::OnnxError>(())
    /// ```
    pub fn extract_map(&self) -> Result<(Value, Value)> {
        self.expect_kind(ValueKind::Map)?;
        Ok((self.get(0)?, self.get(1)?))
    }

    fn expect_kind(&self, wanted: ValueKind) -> Result<()> {
        let found = self.kind()?;
        if found == wanted { Ok(()) } else { Err(OnnxError::invalid(format!("the value is of kind {found:?}, not {wanted:?}"))) }
    }

    /// The value itself where the library owns its memory, else a copy.
    fn into_library_memory(self) -> Result<Value> {
        if self.owns_library_memory() { Ok(self) } else { self.try_clone() }
    }

    /// Makes sure that a result shares nothing with the inputs of the run that gave it: what is passed on unchanged may.
    pub(crate) fn detached(self) -> Result<Value> {
        match self.kind()? {
            ValueKind::Tensor => self.try_clone(),
            // An empty one shares nothing. A sequence of maps has copies already, and cannot always be made anew.
            ValueKind::Sequence if self.len()? > 0 && self.get(0)?.kind()? == ValueKind::Tensor => self.try_clone(),
            _ => Ok(self),
        }
    }
}
