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
    /// Of a type that a custom operator defines, or that this crate does not know.
    Other,
}

/// A value that models take and return: it owns its memory, or shares it with nobody who could change it.
///
/// Several threads may read one value at a time, and run sessions with it. Elements are read through a view that
/// lives as long as the value is borrowed.
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
    /// Another value may read the same memory: it is copied before it is written.
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

    /// A tensor with a copy of the data, in memory of the library.
    ///
    /// `shape` has the extents, outermost first; none for a scalar. An error where they do not multiply to the length of
    /// the data.
    pub fn from_slice<T: TensorElement>(shape: &[i64], data: &[T]) -> Result<Self> {
        Ok(Self::of(ffi::Value::of_slice(shape, data)?))
    }

    /// A tensor that takes over the data without copying it. Errors as for [`Value::from_slice`].
    pub fn from_vec<T: TensorElement>(shape: &[i64], data: Vec<T>) -> Result<Self> {
        Ok(Self::of(ffi::Value::of_vec(shape, data)?))
    }

    /// A tensor with a copy of bytes, for types of elements that Rust lacks: little-endian, packed.
    pub fn from_bytes(element: ElementType, shape: &[i64], data: &[u8]) -> Result<Self> {
        let wanted = ffi::bytes_of(element.raw(), ffi::count_of(shape)?)?;
        if wanted != data.len() {
            let message = format!("the shape {shape:?} of {element:?} takes {wanted} bytes, the data has {}", data.len());
            return Err(OnnxError::invalid(message));
        }
        let mut made = ffi::Value::zeros(None, element.raw(), shape)?;
        made.bytes_mut()?.copy_from_slice(data);
        Ok(Self::of(made))
    }

    /// A tensor of zeros, in memory of the library.
    pub fn zeros<T: TensorElement>(shape: &[i64]) -> Result<Self> {
        Ok(Self::of(ffi::Value::zeros(None, T::RAW, shape)?))
    }

    /// A tensor in memory of an allocator: zeros where the program can write it; elsewhere its contents are undefined.
    pub fn new_in<T: TensorElement>(allocator: &Allocator, shape: &[i64]) -> Result<Self> {
        Ok(Self::of(ffi::Value::zeros(Some(&allocator.handle), T::RAW, shape)?))
    }

    /// The kind of the value.
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

    /// The type of a tensor's elements; an error for other values.
    pub fn element_type(&self) -> Result<ElementType> {
        Ok(ElementType::from_raw(self.inner.facts()?.0))
    }

    /// The extents of a tensor, outermost first; an error for other values.
    pub fn shape(&self) -> Result<Vec<i64>> {
        Ok(self.inner.facts()?.1.into_vec())
    }

    /// The memory of a tensor.
    pub fn memory(&self) -> Result<MemoryDescription> {
        Ok(self.inner.memory()?.into())
    }

    /// The elements of a tensor, the last extent fastest; no copy.
    ///
    /// An error where the elements are of another type, where the memory is that of a device (see
    /// [`copy_tensors`](crate::copy_tensors)), or where a byte of `bool` is neither 0 nor 1.
    pub fn extract_tensor<T: TensorElement>(&self) -> Result<&[T]> {
        Ok(self.inner.slice()?)
    }

    /// As [`Value::extract_tensor`], to be written.
    pub fn extract_tensor_mut<T: TensorElement>(&mut self) -> Result<&mut [T]> {
        self.make_unique()?;
        Ok(self.inner.slice_mut()?)
    }

    /// The bytes of a tensor of any type but strings; no copy. Errors as for [`Value::extract_tensor`].
    pub fn extract_bytes(&self) -> Result<&[u8]> {
        Ok(self.inner.bytes()?)
    }

    /// A copy that shares no memory with the value. An error for tensors in memory of a device, for sparse tensors and for
    /// types of custom operators.
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

    pub(crate) fn bytes_mut(&mut self) -> Result<&mut [u8]> {
        self.make_unique()?;
        Ok(self.inner.bytes_mut()?)
    }

    /// Copies memory that another value may read.
    pub(crate) fn make_unique(&mut self) -> Result<()> {
        if self.shared {
            *self = self.try_clone()?;
        }
        Ok(())
    }

    /// An error where the value is not a tensor of that type.
    pub(crate) fn check_type(&self, wanted: ElementType) -> Result<()> {
        let found = self.inner.facts()?.0;
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
