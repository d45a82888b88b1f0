//! Sequences and maps.

use super::{Value, ValueKind};
use crate::error::{OnnxError, Result};
use crate::ffi::{self, ONNXType};

impl Value {
    /// Creates a sequence of values of one type. There must be at least one, because the library does not create empty
    /// sequences.
    ///
    /// ```
    /// use onnx::Value;
    /// let sequence = Value::sequence(vec![Value::from_slice(&[2], &[1f32, 2.0])?, Value::from_slice(&[1], &[3f32])?])?;
    /// assert_eq!(sequence.len()?, 2);
    /// assert_eq!(sequence.get(1)?.extract_tensor::<f32>()?, [3.0]);
    /// # Ok::<(), onnx::OnnxError>(())
    /// ```
    pub fn sequence(elements: Vec<Value>) -> Result<Self> {
        // The sequence shares the memory of its elements, and others may share it with the sequence.
        let elements = elements.into_iter().map(Value::into_library_memory).collect::<Result<Vec<_>>>()?;
        Ok(Self::of(ffi::Value::container(elements.iter().map(|v| &v.inner), ONNXType::ONNX_TYPE_SEQUENCE)?))
    }

    /// Creates a map from a tensor of keys (int64 or strings) and a tensor with as many values.
    pub fn map(keys: Value, values: Value) -> Result<Self> {
        let parts = [keys.into_library_memory()?, values.into_library_memory()?];
        Ok(Self::of(ffi::Value::container(parts.iter().map(|v| &v.inner), ONNXType::ONNX_TYPE_MAP)?))
    }

    /// Returns the number of elements of a sequence or a tensor; 2 for a map.
    pub fn len(&self) -> Result<usize> {
        match self.kind()? {
            ValueKind::Tensor => Ok(ffi::count_of(&self.inner.facts()?.1)?),
            _ => Ok(self.inner.count()?),
        }
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Returns a copy of element `index` of a sequence, or of the keys (0) or values (1) of a map.
    pub fn get(&self, index: usize) -> Result<Value> {
        let count = match self.kind()? {
            ValueKind::Sequence | ValueKind::Map => self.inner.count()?,
            other => {
                return Err(OnnxError::invalid(format!("a value of kind {other:?} has no elements to get: only sequences and maps have")));
            }
        };
        if index >= count {
            return Err(OnnxError::invalid(format!("element {index} does not exist: there are {count} elements")));
        }
        Ok(Self::of(self.inner.element(index)?))
    }

    /// Returns copies of the elements of a sequence.
    pub fn extract_sequence(&self) -> Result<Vec<Value>> {
        self.expect_kind(ValueKind::Sequence)?;
        (0..self.len()?).map(|at| self.get(at)).collect()
    }

    /// Returns copies of the keys and of the values of a map, as two tensors of the same length.
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

    /// Returns the value itself if the library owns its memory, otherwise a copy.
    fn into_library_memory(self) -> Result<Value> {
        if self.inner.owns_library_memory() { Ok(self) } else { self.try_clone() }
    }

    /// Makes sure that a result shares no memory with the inputs of its run. An input that the model passes on would do
    /// so.
    pub(crate) fn detached(self) -> Result<Value> {
        match self.kind()? {
            ValueKind::Tensor => self.try_clone(),
            // An empty sequence shares nothing. The elements of a sequence of maps are already copies, and cannot
            // always be copied again.
            ValueKind::Sequence if self.len()? > 0 && self.get(0)?.kind()? == ValueKind::Tensor => self.try_clone(),
            _ => Ok(self),
        }
    }
}
