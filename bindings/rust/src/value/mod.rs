//! Values: tensors, sequences, maps, optional values.

pub(crate) mod containers;
#[allow(unsafe_code)]
pub(crate) mod ffi;
mod strings;
mod view;

pub use view::ValueView;

use crate::element::{ElementType, PlainElement, TensorElement, check_count};
use crate::error::{OnnxError, Result};
use crate::memory::{Allocator, MemoryDescription};
use ffi::{Keep, ValueHandle};

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ValueKind {
    /// A tensor.
    Tensor,
    /// A sequence of tensors or of maps.
    Sequence,
    /// A map of integers or strings to elements of one type.
    Map,
    /// A tensor that stores what is not zero.
    SparseTensor,
    /// An optional value that is not there.
    None,
    /// Of a type that a custom operator defines, or that this crate does not know.
    Other,
}

/// A value that models read and give: it owns its memory, or shares it with nobody who could change it.
///
/// Several threads may read one value at a time, and run sessions with it. What is read from it is a view that lives as
/// long as the value is borrowed.
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
    // Released before what keeps its memory.
    handle: ValueHandle,
    /// Known when somebody has looked.
    elements: ffi::Known,
    keep: Keep,
    /// Another value may read the same memory: it is copied before it is written.
    shared: bool,
}

impl Value {
    pub(crate) fn of(handle: ValueHandle, keep: Keep) -> Self {
        Value { handle, elements: ffi::Known::new(), keep, shared: false }
    }

    /// A value of the library that owns all its memory.
    pub(crate) fn of_library(handle: ValueHandle) -> Self {
        Self::of(handle, Keep::Library)
    }

    pub(crate) fn set_shared(&mut self) {
        self.shared = true;
    }

    pub(crate) fn is_shared(&self) -> bool {
        self.shared
    }

    pub(crate) fn raw(&self) -> *mut crate::ffi::OrtValue {
        self.handle.raw()
    }

    pub(crate) fn owns_library_memory(&self) -> bool {
        matches!(self.keep, Keep::Library)
    }

    /// A tensor with a copy of the data, in memory of the library.
    ///
    /// `shape` has the extents, outermost first; none for a scalar. An error where they do not multiply to the length of
    /// the data.
    pub fn from_slice<T: TensorElement>(shape: &[i64], data: &[T]) -> Result<Self> {
        check_count(shape, data.len())?;
        ffi::copied(shape, data)
    }

    /// A tensor that takes over the data without copying it. Errors as for [`Value::from_slice`].
    pub fn from_vec<T: TensorElement>(shape: &[i64], data: Vec<T>) -> Result<Self> {
        check_count(shape, data.len())?;
        ffi::taken_over(shape, data)
    }

    /// A tensor that reads data where it lies, for as long as that is borrowed.
    ///
    /// ```
    /// let data = [1i64, 2, 3];
    /// let view = onnx::Value::view(&[3], &data)?;
    /// assert_eq!(view.extract_tensor::<i64>()?, data);
    /// # Ok::<(), onnx::OnnxError>(())
    /// ```
    ///
    /// The data cannot go away before the view:
    ///
    /// ```compile_fail,E0597
    /// let view = {
    ///     let data = vec![1i64, 2, 3];
    ///     onnx::Value::view(&[3], &data).unwrap()
    /// };
    /// view.shape().unwrap();
    /// ```
    pub fn view<'a, T: TensorElement>(shape: &[i64], data: &'a [T]) -> Result<ValueView<'a>> {
        ValueView::new(shape, data)
    }

    /// A tensor with a copy of bytes, for types of elements that Rust does not have: little-endian, packed.
    pub fn from_bytes(element: ElementType, shape: &[i64], data: &[u8]) -> Result<Self> {
        let wanted = element.bytes_of(crate::element::count_of(shape)?)?;
        if wanted != data.len() {
            let message = format!("the shape {shape:?} of {element:?} takes {wanted} bytes, the data has {}", data.len());
            return Err(OnnxError::invalid(message));
        }
        let mut made = ffi::zeroed(&Allocator::cpu()?, element, shape)?;
        ffi::bytes_mut(&mut made)?.copy_from_slice(data);
        made.keep = Keep::Library;
        Ok(made)
    }

    /// A tensor of zeros, in memory of the library.
    pub fn zeros<T: TensorElement>(shape: &[i64]) -> Result<Self> {
        let mut made = ffi::zeroed(&Allocator::cpu()?, T::TYPE, shape)?;
        made.keep = Keep::Library;
        Ok(made)
    }

    /// A tensor in memory of an allocator: zeros where the program can write it, else whatever lies there.
    pub fn new_in<T: TensorElement>(allocator: &Allocator, shape: &[i64]) -> Result<Self> {
        ffi::zeroed(allocator, T::TYPE, shape)
    }

    /// What the value is.
    pub fn kind(&self) -> Result<ValueKind> {
        ffi::kind(&self.handle)
    }

    /// The type of a tensor's elements; an error for what is no tensor.
    pub fn element_type(&self) -> Result<ElementType> {
        Ok(ffi::facts(&self.handle)?.0)
    }

    /// The extents of a tensor, outermost first; an error for what is no tensor.
    pub fn shape(&self) -> Result<Vec<i64>> {
        Ok(ffi::facts(&self.handle)?.1.into_vec())
    }

    /// Where a tensor lies.
    pub fn memory(&self) -> Result<MemoryDescription> {
        ffi::memory(&self.handle)
    }

    /// The elements of a tensor, the last extent fastest; no copy.
    ///
    /// An error where the elements are of another type, where the memory is that of a device (see
    /// [`copy_tensors`](crate::copy_tensors)), or where a byte of `bool` is neither 0 nor 1.
    pub fn extract_tensor<T: TensorElement>(&self) -> Result<&[T]> {
        ffi::slice(self)
    }

    /// As [`Value::extract_tensor`], to be written.
    pub fn extract_tensor_mut<T: TensorElement>(&mut self) -> Result<&mut [T]> {
        self.make_unique()?;
        ffi::slice_mut(self)
    }

    /// The bytes of a tensor of any type but strings; no copy. Errors as for [`Value::extract_tensor`].
    pub fn extract_bytes(&self) -> Result<&[u8]> {
        ffi::bytes(self)
    }

    /// A copy that shares nothing with the value. An error for tensors in memory of a device, for sparse tensors and for
    /// types of custom operators.
    pub fn try_clone(&self) -> Result<Self> {
        match self.kind()? {
            ValueKind::Tensor => ffi::clone_tensor(self),
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
        ffi::bytes_mut(self)
    }

    /// Copies memory that another value may read.
    pub(crate) fn make_unique(&mut self) -> Result<()> {
        if self.shared {
            *self = self.try_clone()?;
        }
        Ok(())
    }

    /// An error where the value is no tensor of that type.
    pub(crate) fn check_type(&self, wanted: ElementType) -> Result<()> {
        let found = self.element_type()?;
        if found == wanted { Ok(()) } else { Err(wrong_type(found, wanted)) }
    }
}

pub(crate) fn wrong_type(found: ElementType, wanted: ElementType) -> OnnxError {
    OnnxError::invalid(format!("the tensor has elements of type {found:?}, not {wanted:?}"))
}

impl std::fmt::Debug for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.kind(), ffi::facts(&self.handle)) {
            (Ok(ValueKind::Tensor), Ok((element, shape))) => write!(f, "Value(Tensor of {element:?} {:?})", &shape[..]),
            (Ok(kind), _) => write!(f, "Value({kind:?})"),
            (Err(error), _) => write!(f, "Value({error})"),
        }
    }
}

/// Memory of the program that the library may write: only `PlainElement`s, since it may write any bits.
pub(crate) fn wrap_for_writing<T: PlainElement>(shape: &[i64], data: &mut [T]) -> Result<Value> {
    check_count(shape, data.len())?;
    ffi::wrapped(shape, data.as_mut_ptr(), data.len())
}
