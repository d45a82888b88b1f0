//! Raw calls about values.

use std::ffi::{c_char, c_void};
use std::mem::ManuallyDrop;
use std::ptr::null_mut;
use std::sync::OnceLock;

use smallvec::SmallVec;

use super::{Value, ValueKind, wrong_type};
use crate::element::{ElementType, TensorElement, count_of};
use crate::error::{OnnxError, Result};
use crate::ffi::{ONNXTensorElementDataType, ONNXType, OrtValue, since};
use crate::library::ffi::{api, call, handle};
use crate::memory::ffi::{cpu_raw, default_raw, describe, is_host_accessible};
use crate::memory::{Allocator, MemoryDescription};

handle!(ValueHandle, OrtValue, ReleaseValue);
handle!(ShapeHandle, OrtTensorTypeAndShapeInfo, ReleaseTensorTypeAndShapeInfo);

pub(crate) type Dims = SmallVec<[i64; 8]>;

/// What keeps the memory of a value.
pub(crate) enum Keep {
    /// The library, for as long as somebody has a handle.
    Library,
    /// The library, with an allocator that must live as long.
    Allocator(#[allow(dead_code)] Allocator),
    /// A vector that was taken over.
    Vector(#[allow(dead_code)] Box<dyn Send + Sync>),
    /// Nobody here: the type around it has the lifetime.
    Borrowed,
}

/// A vector in parts: the library writes its memory, so nothing here may claim to be the only way to it.
struct RawVector<T> {
    data: *mut T,
    length: usize,
    capacity: usize,
}

// SAFETY: it is the vector, which elements of these types may send and share.
unsafe impl<T: TensorElement> Send for RawVector<T> {}
// SAFETY: as above.
unsafe impl<T: TensorElement> Sync for RawVector<T> {}

impl<T> Drop for RawVector<T> {
    fn drop(&mut self) {
        // SAFETY: the parts are those of one vector, and the elements have nothing to drop: a length of none leaves them.
        drop(unsafe { Vec::from_raw_parts(self.data, 0, self.capacity) });
        debug_assert!(self.length <= self.capacity);
    }
}

fn new_tensor(allocator: *mut crate::ffi::OrtAllocator, element: ElementType, shape: &[i64]) -> Result<ValueHandle> {
    count_of(shape)?;
    let mut raw = null_mut();
    // SAFETY: the allocator lives; the library copies the shape.
    unsafe { call!(CreateTensorAsOrtValue(allocator, shape.as_ptr(), shape.len(), element.raw(), &raw mut raw))? };
    ValueHandle::of(raw)
}

/// Memory of the program as a tensor; who keeps it, the caller says.
pub(crate) fn wrapped<T: TensorElement>(shape: &[i64], data: *mut T, length: usize) -> Result<Value> {
    crate::environment::init()?;
    let (memory, mut raw, bytes) = (cpu_raw()?, null_mut(), length * size_of::<T>());
    // SAFETY: that many bytes lie there, and the type around the value keeps them. The library copies the shape.
    unsafe {
        call!(CreateTensorWithDataAsOrtValue(memory, data.cast(), bytes, shape.as_ptr(), shape.len(), T::TYPE.raw(), &raw mut raw))?;
    }
    Ok(Value::of(ValueHandle::of(raw)?, Keep::Borrowed))
}

pub(super) fn taken_over<T: TensorElement>(shape: &[i64], data: Vec<T>) -> Result<Value> {
    let mut data = ManuallyDrop::new(data);
    let kept = RawVector { data: data.as_mut_ptr(), length: data.len(), capacity: data.capacity() };
    let mut value = wrapped(shape, kept.data, kept.length)?;
    value.keep = Keep::Vector(Box::new(kept));
    Ok(value)
}

pub(super) fn copied<T: TensorElement>(shape: &[i64], data: &[T]) -> Result<Value> {
    crate::environment::init()?;
    let handle = new_tensor(default_raw()?, T::TYPE, shape)?;
    let to = raw_data(&handle)?.cast::<T>();
    if !data.is_empty() {
        // SAFETY: the tensor was made with room for as many elements of this type as the shape has, and nobody else has it.
        unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), to, data.len()) };
    }
    Ok(Value::of_library(handle))
}

/// A tensor of zeros, or of whatever lies in memory that the program cannot write.
pub(super) fn zeroed(allocator: &Allocator, element: ElementType, shape: &[i64]) -> Result<Value> {
    let bytes = element.bytes_of(count_of(shape)?)?;
    let handle = new_tensor(allocator.raw(), element, shape)?;
    if bytes > 0 && on_host(&handle)? {
        // SAFETY: the tensor was made with room for that many bytes, and nobody else has it.
        unsafe { std::ptr::write_bytes(raw_data(&handle)?.cast::<u8>(), 0, bytes) };
    }
    Ok(Value::of(handle, Keep::Allocator(allocator.clone())))
}

/// Type and shape of a tensor.
pub(crate) fn facts(value: &ValueHandle) -> Result<(ElementType, Dims)> {
    let mut element = ONNXTensorElementDataType(0);
    if api()?.version >= since::GetTensorElementTypeAndShapeDataReference {
        let (mut extents, mut rank) = (std::ptr::null(), 0);
        // SAFETY: the view into the value is copied at once.
        let shape = unsafe {
            call!(GetTensorElementTypeAndShapeDataReference(value.raw(), &raw mut element, &raw mut extents, &raw mut rank))?;
            if rank == 0 { Dims::new() } else { Dims::from_slice(std::slice::from_raw_parts(extents, rank)) }
        };
        return Ok((ElementType::from_raw(element), shape));
    }
    let (mut raw, mut rank) = (null_mut(), 0);
    // SAFETY: the description is owned, and the array has the length that is told.
    unsafe {
        call!(GetTensorTypeAndShape(value.raw(), &raw mut raw))?;
        let info = ShapeHandle::of(raw)?;
        call!(GetTensorElementType(info.raw(), &raw mut element))?;
        call!(GetDimensionsCount(info.raw(), &raw mut rank))?;
        let mut shape = Dims::from_elem(0, rank);
        call!(GetDimensions(info.raw(), shape.as_mut_ptr(), rank))?;
        Ok((ElementType::from_raw(element), shape))
    }
}

pub(super) fn kind(value: &ValueHandle) -> Result<ValueKind> {
    let (mut kind, mut there) = (ONNXType(0), 1);
    // SAFETY: the value lives.
    unsafe {
        call!(HasValue(value.raw(), &raw mut there))?;
        if there == 0 {
            return Ok(ValueKind::None);
        }
        call!(GetValueType(value.raw(), &raw mut kind))?;
    }
    Ok(match kind {
        ONNXType::ONNX_TYPE_TENSOR => ValueKind::Tensor,
        ONNXType::ONNX_TYPE_SEQUENCE => ValueKind::Sequence,
        ONNXType::ONNX_TYPE_MAP => ValueKind::Map,
        ONNXType::ONNX_TYPE_SPARSETENSOR => ValueKind::SparseTensor,
        _ => ValueKind::Other,
    })
}

fn memory_of(value: &ValueHandle) -> Result<*const crate::ffi::OrtMemoryInfo> {
    let mut raw = std::ptr::null();
    // SAFETY: the value lives; the description is a view into it.
    unsafe { call!(GetTensorMemoryInfo(value.raw(), &raw mut raw))? };
    Ok(raw)
}

pub(super) fn memory(value: &ValueHandle) -> Result<MemoryDescription> {
    // SAFETY: the description lives as long as the value.
    unsafe { describe(memory_of(value)?) }
}

pub(crate) fn on_host(value: &ValueHandle) -> Result<bool> {
    // SAFETY: as above.
    unsafe { is_host_accessible(memory_of(value)?) }
}

fn raw_data(value: &ValueHandle) -> Result<*mut c_void> {
    let mut raw = null_mut();
    // SAFETY: the value lives; nothing is written by asking where its memory is.
    unsafe { call!(GetTensorMutableData(value.raw(), &raw mut raw))? };
    Ok(raw)
}

/// Where the elements of a tensor lie, of which type and how many: memory that the program can read. Stays as it is for as
/// long as the handle, so the library is asked once.
#[derive(Clone, Copy)]
pub(crate) struct Elements {
    element: ElementType,
    count: usize,
    data: *mut c_void,
}

// SAFETY: an address; who may read or write what lies there, the value says.
unsafe impl Send for Elements {}
// SAFETY: as above.
unsafe impl Sync for Elements {}

pub(super) type Known = OnceLock<Elements>;

/// The elements of a value; an error where they are of another type than the one that is wanted.
fn known(value: &Value, wanted: Option<ElementType>) -> Result<Elements> {
    match (value.elements.get(), wanted) {
        (Some(found), Some(wanted)) if found.element != wanted => Err(wrong_type(found.element, wanted)),
        (Some(found), _) => Ok(*found),
        (None, _) => {
            let found = readable(&value.handle, wanted)?;
            Ok(*value.elements.get_or_init(|| found))
        }
    }
}

#[cold]
fn readable(value: &ValueHandle, wanted: Option<ElementType>) -> Result<Elements> {
    let (element, shape) = facts(value)?;
    if let Some(wanted) = wanted.filter(|w| *w != element) {
        return Err(wrong_type(element, wanted));
    }
    let count = count_of(&shape)?;
    element.bytes_of(count)?;
    if !on_host(value)? {
        let place = memory(value)?;
        let message = format!(
            "the tensor lies in {} memory of device {}, which the program cannot read: copy it to the host",
            place.name, place.device_id
        );
        return Err(OnnxError::invalid(message));
    }
    Ok(Elements { element, count, data: raw_data(value)? })
}

/// The elements as a pointer for `T`; dangling, and never read, where there are none.
fn elements<T: TensorElement>(value: &Value) -> Result<(*mut T, usize)> {
    let Elements { element, count, data } = known(value, Some(T::TYPE))?;
    let data = data.cast::<T>();
    if count == 0 {
        return Ok((std::ptr::NonNull::dangling().as_ptr(), 0));
    }
    if data.is_null() || !data.is_aligned() {
        return Err(OnnxError::invalid(format!(
            "elements of type {element:?} at address {data:?} cannot be read in place: copy the tensor"
        )));
    }
    if T::IS_BOOL {
        // SAFETY: that many bytes lie there; any bits are a byte.
        let bytes = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), count) };
        if let Some((at, byte)) = bytes.iter().enumerate().find(|(_, b)| **b > 1) {
            return Err(OnnxError::invalid(format!("element {at} of the tensor of Bool is {byte}, neither 0 nor 1: read its bytes")));
        }
    }
    Ok((data, count))
}

pub(super) fn slice<T: TensorElement>(value: &Value) -> Result<&[T]> {
    let (data, count) = elements::<T>(value)?;
    // SAFETY: as many initialised elements of this type lie there; nobody writes them while the value is borrowed.
    Ok(unsafe { std::slice::from_raw_parts(data, count) })
}

pub(super) fn slice_mut<T: TensorElement>(value: &mut Value) -> Result<&mut [T]> {
    let (data, count) = elements::<T>(value)?;
    // SAFETY: as above; the value is borrowed for writing and shares its memory with no other.
    Ok(unsafe { std::slice::from_raw_parts_mut(data, count) })
}

fn raw_bytes(value: &Value) -> Result<(*mut u8, usize)> {
    let Elements { element, count, data } = known(value, None)?;
    let length = element.bytes_of(count)?;
    Ok((if length == 0 { std::ptr::NonNull::dangling().as_ptr() } else { data.cast() }, length))
}

pub(super) fn bytes(value: &Value) -> Result<&[u8]> {
    let (data, length) = raw_bytes(value)?;
    // SAFETY: as for `slice`; any bits are a byte.
    Ok(unsafe { std::slice::from_raw_parts(data, length) })
}

pub(super) fn bytes_mut(value: &mut Value) -> Result<&mut [u8]> {
    let (data, length) = raw_bytes(value)?;
    // SAFETY: as for `slice_mut`.
    Ok(unsafe { std::slice::from_raw_parts_mut(data, length) })
}

pub(super) fn clone_tensor(value: &Value) -> Result<Value> {
    let (element, shape) = facts(&value.handle)?;
    if element == ElementType::String {
        let (bytes, starts) = string_content(&value.handle)?;
        let made = strings(&shape)?;
        for (at, &start) in starts.iter().enumerate() {
            let end = starts.get(at + 1).copied().unwrap_or(bytes.len());
            write_string(&made, at, bytes.get(start..end).unwrap_or_default())?;
        }
        return Ok(made);
    }
    let from = bytes(value)?;
    let mut made = Value::of_library(new_tensor(default_raw()?, element, &shape)?);
    bytes_mut(&mut made)?.copy_from_slice(from);
    Ok(made)
}

pub(super) fn strings(shape: &[i64]) -> Result<Value> {
    crate::environment::init()?;
    Ok(Value::of_library(new_tensor(default_raw()?, ElementType::String, shape)?))
}

pub(super) fn set_string(value: &Value, at: usize, text: &str) -> Result<()> {
    write_string(value, at, text.as_bytes())
}

/// Writes one string of a tensor that was just made and that nobody else has.
fn write_string(value: &Value, at: usize, text: &[u8]) -> Result<()> {
    let mut room: *mut c_char = null_mut();
    // SAFETY: the library makes room for that many bytes in the string and says where.
    unsafe {
        call!(GetResizedStringTensorElementBuffer(value.raw(), at, text.len(), &raw mut room))?;
        if !text.is_empty() {
            std::ptr::copy_nonoverlapping(text.as_ptr(), room.cast(), text.len());
        }
    }
    Ok(())
}

/// All bytes of the strings, and where each begins.
pub(super) fn string_content(value: &ValueHandle) -> Result<(Vec<u8>, Vec<usize>)> {
    let (mut length, count) = (0, count_of(&facts(value)?.1)?);
    if count == 0 {
        return Ok((Vec::new(), Vec::new()));
    }
    // SAFETY: the arrays have the lengths that are told.
    unsafe {
        call!(GetStringTensorDataLength(value.raw(), &raw mut length))?;
        let (mut bytes, mut starts) = (vec![0u8; length.max(1)], vec![0; count]);
        call!(GetStringTensorContent(value.raw(), bytes.as_mut_ptr().cast(), length, starts.as_mut_ptr(), count))?;
        bytes.truncate(length);
        Ok((bytes, starts))
    }
}

pub(super) fn container(elements: &[Value], kind: ValueKind) -> Result<Value> {
    let handles: Vec<*const OrtValue> = elements.iter().map(|v| v.raw().cast_const()).collect();
    let form = if kind == ValueKind::Map { ONNXType::ONNX_TYPE_MAP } else { ONNXType::ONNX_TYPE_SEQUENCE };
    let mut raw = null_mut();
    // SAFETY: the elements live during the call; the library keeps references to their memory, which is its own.
    unsafe { call!(CreateValue(handles.as_ptr(), handles.len(), form, &raw mut raw))? };
    Ok(Value::of_library(ValueHandle::of(raw)?))
}

pub(super) fn count(value: &ValueHandle) -> Result<usize> {
    let mut count = 0;
    // SAFETY: the value lives.
    unsafe { call!(GetValueCount(value.raw(), &raw mut count))? };
    Ok(count)
}

/// A copy of one element of a sequence or map.
pub(super) fn element(value: &ValueHandle, index: usize) -> Result<Value> {
    let mut raw = null_mut();
    // SAFETY: the value lives; the new handle is the caller's.
    unsafe { call!(GetValue(value.raw(), i32::try_from(index)?, default_raw()?, &raw mut raw))? };
    Ok(Value::of_library(ValueHandle::of(raw)?))
}
