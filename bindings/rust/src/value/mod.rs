//! Values: tensors, sequences, maps, optional values.

#[cfg(feature = "ndarray")]
mod arrays;
mod containers;
mod strings;
pub(crate) mod view;

use crate::element::{ElementType, TensorElement};
use crate::error::{OnnxError, Result};
use crate::ffi::{self, ONNXType};
use crate::memory::{Allocator, MemoryDescription};

/// The kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ValueKind {
    /// A tensor.
    Tensor,
    /// A sequence of tensors or of maps.
    Sequence,
    /// A map of integers or strings to elements of one type.
    Map,
    /// A tensor that stores only what is not zero.
    SparseTensor,
    /// An optional value that is absent.
    None,
    /// A type that a custom operator defines, or that this crate does not know.
    Other,
}

/// A value that models take and return. It owns its memory, or shares it only with values that cannot change it.
///
/// Several threads may read a value at the same time, and run sessions with it. Elements are read through a slice that
/// borrows the value.
///
/// ```
/// use onnx::Value;
/// let value = Value::from_slice::<f32>(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// assert_eq!(value.shape()?, [2, 3]);
/// assert_eq!(value.extract_tensor::<f32>()?[5], 6.0);
/// assert!(value.extract_tensor::<i64>().is_err());
/// # Ok::<(), onnx::OnnxError>(())
/// ```
pub struct Value {
    pub(crate) inner: ffi::Value,
    /// Whether another value may read the same memory. If so, the memory is copied before it is written.
    shared: bool,
}

impl ffi::InputValue for Value {
    fn value(&self) -> &ffi::Value {
        &self.inner
    }
}

impl Value {
    pub(crate) fn of(inner: ffi::Value) -> Self {
        Value { inner, shared: false }
    }

    pub(crate) fn set_shared(&mut self) {
        self.shared = true;
    }

    pub(crate) fn is_shared(&self) -> bool {
        self.shared
    }

    /// Creates a tensor with a copy of the data, in memory of the library.
    ///
    /// `shape` has the extents, outermost first; it is empty for a scalar. It is an error if their product is not the
    /// length of the data.
    pub fn from_slice<T: TensorElement>(shape: &[usize], data: &[T]) -> Result<Self> {
        Ok(Self::of(ffi::Value::of_slice(shape, data)?))
    }

    /// Creates a tensor that owns the data, without copying it. Errors are as for [`Value::from_slice`].
    pub fn from_vec<T: TensorElement>(shape: &[usize], data: Vec<T>) -> Result<Self> {
        Ok(Self::of(ffi::Value::of_vec(shape, data)?))
    }

    /// Creates a tensor with a copy of bytes, for element types that Rust does not have. The elements are little-endian
    /// and packed.
    pub fn from_bytes(element: ElementType, shape: &[usize], data: &[u8]) -> Result<Self> {
        let wanted = ffi::bytes_of(element.raw(), ffi::count_of(shape)?)?;
        if wanted != data.len() {
            let message = format!("the shape {shape:?} of {element:?} takes {wanted} bytes, but the data has {}", data.len());
            return Err(OnnxError::invalid(message));
        }
        let mut made = ffi::Value::zeros(None, element.raw(), shape)?;
        made.bytes_mut()?.copy_from_slice(data);
        Ok(Self::of(made))
    }

    /// Creates a tensor of zeros, in memory of the library.
    pub fn zeros<T: TensorElement>(shape: &[usize]) -> Result<Self> {
        Ok(Self::of(ffi::Value::zeros(None, T::RAW, shape)?))
    }

    /// Creates a tensor in memory of an allocator. Its elements are zero if the program can write the memory, otherwise
    /// undefined.
    pub fn new_in<T: TensorElement>(allocator: &Allocator, shape: &[usize]) -> Result<Self> {
        Ok(Self::of(ffi::Value::zeros(Some(&allocator.handle), T::RAW, shape)?))
    }

    /// Returns the kind of the value.
    pub fn kind(&self) -> Result<ValueKind> {
        Ok(match self.inner.kind()? {
            None => ValueKind::None,
            Some(ONNXType::ONNX_TYPE_TENSOR) => ValueKind::Tensor,
            Some(ONNXType::ONNX_TYPE_SEQUENCE) => ValueKind::Sequence,
            Some(ONNXType::ONNX_TYPE_MAP) => ValueKind::Map,
            Some(ONNXType::ONNX_TYPE_SPARSETENSOR) => ValueKind::SparseTensor,
            Some(_) => ValueKind::Other,
        })
    }

    /// Returns the type of the elements of a tensor; an error for other values.
    pub fn element_type(&self) -> Result<ElementType> {
        Ok(ElementType::from_raw(self.facts()?.0))
    }

    /// Returns the extents of a tensor, outermost first; an error for other values.
    pub fn shape(&self) -> Result<Vec<usize>> {
        Ok(self.facts()?.1.to_vec())
    }

    /// Returns the memory of a tensor.
    pub fn memory(&self) -> Result<MemoryDescription> {
        Ok(self.inner.memory().map_err(|error| self.no_tensor(error))?.into())
    }

    /// Returns the elements of a tensor in row-major order, without a copy.
    ///
    /// It is an error if the elements have a different type, if the memory belongs to a device (see
    /// [`copy_tensors`](crate::copy_tensors)), or if a byte of a `bool` tensor is neither 0 nor 1.
    pub fn extract_tensor<T: TensorElement>(&self) -> Result<&[T]> {
        self.inner.slice().map_err(|error| self.no_tensor(error))
    }

    /// Like [`Value::extract_tensor`], for writing.
    pub fn extract_tensor_mut<T: TensorElement>(&mut self) -> Result<&mut [T]> {
        self.inner.check::<T>().map_err(|error| self.no_tensor(error))?;
        self.make_unique()?;
        Ok(self.inner.slice_mut()?)
    }

    /// Returns the bytes of a tensor of any type except strings, without a copy. Errors are as for
    /// [`Value::extract_tensor`].
    pub fn extract_bytes(&self) -> Result<&[u8]> {
        self.inner.bytes().map_err(|error| self.no_tensor(error))
    }

    /// Returns a copy that shares no memory with the value. It is an error for tensors in device memory, for sparse
    /// tensors and for types of custom operators.
    pub fn try_clone(&self) -> Result<Self> {
        match self.kind()? {
            ValueKind::Tensor => Ok(Self::of(self.inner.copy_of_tensor()?)),
            ValueKind::Sequence => Self::sequence(self.extract_sequence()?),
            ValueKind::Map => {
                let (keys, values) = self.extract_map()?;
                Self::map(keys, values)
            }
            other => Err(OnnxError::invalid(format!("a value of kind {other:?} cannot be copied"))),
        }
    }

    fn facts(&self) -> Result<(ffi::ONNXTensorElementDataType, ffi::Few<usize, 8>)> {
        self.inner.facts().map_err(|error| self.no_tensor(error))
    }

    /// Completes the error of a call for tensors: the library names functions of its own to read other values.
    #[cold]
    fn no_tensor(&self, error: ffi::Error) -> OnnxError {
        let (kind, advice) = match self.kind() {
            Ok(kind @ ValueKind::Sequence) => (kind, "use extract_sequence"),
            Ok(kind @ ValueKind::Map) => (kind, "use extract_map"),
            Ok(kind @ ValueKind::None) => (kind, "there is no value to read"),
            Ok(ValueKind::Tensor) | Err(_) => return error.into(),
            Ok(kind) => (kind, "this crate cannot read its elements"),
        };
        OnnxError::invalid(format!("the value is of kind {kind:?}, not a tensor: {advice}"))
    }

    pub(crate) fn bytes_mut(&mut self) -> Result<&mut [u8]> {
        self.make_unique()?;
        Ok(self.inner.bytes_mut()?)
    }

    /// Copies the memory if another value may read it.
    pub(crate) fn make_unique(&mut self) -> Result<()> {
        if self.shared {
            *self = self.try_clone()?;
        }
        Ok(())
    }

    /// Returns an error if the value is not a tensor of that type.
    pub(crate) fn check_type(&self, wanted: ElementType) -> Result<()> {
        let found = self.facts()?.0;
        if found == wanted.raw() { Ok(()) } else { Err(ffi::Error::WrongType { found, wanted: wanted.raw() }.into()) }
    }
}

impl std::fmt::Debug for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.kind(), self.inner.facts()) {
            (Ok(ValueKind::Tensor), Ok((element, shape))) => {
                write!(f, "Value(Tensor of {:?} {:?})", ElementType::from_raw(element), &shape[..])
            }
            (Ok(kind), _) => write!(f, "Value({kind:?})"),
            (Err(error), _) => write!(f, "Value({error})"),
        }
    }
}
