//! Values: handles of the library, what keeps their memory alive, and their elements as slices.

use std::ffi::{c_char, c_void};
use std::mem::ManuallyDrop;
use std::ptr::{NonNull, null, null_mut};
use std::sync::{Arc, OnceLock};

use super::call::{call, handle};
use super::element::{Element, Extents, bytes_of, check_count, count_of, dims, extents};
use super::environment::Environment;
use super::error::{Error, Result};
use super::few::Few;
use super::library::api;
use super::memory::{Allocator, Description, cpu_raw, default_raw, describe, is_host_accessible};
use super::tables::{ONNXTensorElementDataType, ONNXType, OrtAllocator, OrtMemoryInfo, OrtValue, since};

handle!(ValueHandle, OrtValue, ReleaseValue);
handle!(ShapeHandle, OrtTensorTypeAndShapeInfo, ReleaseTensorTypeAndShapeInfo);

/// Results of a run; `None` for an output that the library did not return.
pub(super) type Handles = Few<Option<ValueHandle>, 8>;

/// A value of the library, and what keeps its memory alive.
pub(crate) struct Value {
    // Dropped before what keeps its memory alive.
    handle: ValueHandle,
    /// Set when the elements are first accessed.
    elements: OnceLock<Elements>,
    keep: Keep,
}

enum Keep {
    /// The library keeps the memory alive, as long as there is a handle.
    Library,
    /// The library keeps the memory alive, and the allocator must live as long.
    Allocator(#[allow(dead_code)] Arc<Allocator>),
    /// The value owns a vector.
    Vector(#[allow(dead_code)] Box<dyn Send + Sync>),
    /// The caller keeps the memory alive.
    Borrowed,
}

/// A vector, taken apart. The library writes to its memory, so no Rust type here may claim unique access to it.
struct RawVector<T> {
    data: *mut T,
    capacity: usize,
}

// SAFETY: this is a vector, whose elements may be sent and shared.
unsafe impl<T: Element> Send for RawVector<T> {}
// SAFETY: as above.
unsafe impl<T: Element> Sync for RawVector<T> {}

impl<T> Drop for RawVector<T> {
    fn drop(&mut self) {
        // SAFETY: these are the parts of one vector. Its elements need no drop, so the length can be 0.
        drop(unsafe { Vec::from_raw_parts(self.data, 0, self.capacity) });
    }
}

/// Address, type and number of the elements of a tensor in memory that the program can read. They do not change while
/// the handle exists, so the library is asked once.
#[derive(Clone, Copy)]
struct Elements {
    element: ONNXTensorElementDataType,
    count: usize,
    data: *mut c_void,
}

// SAFETY: this is an address; the value determines who may read or write there.
unsafe impl Send for Elements {}
// SAFETY: as above.
unsafe impl Sync for Elements {}

fn new_tensor(allocator: *mut OrtAllocator, element: ONNXTensorElementDataType, shape: &[usize]) -> Result<ValueHandle> {
    count_of(shape)?;
    let (shape, mut raw) = (dims(shape)?, null_mut());
    // SAFETY: the allocator is valid, and the library copies the shape.
    unsafe { call!(CreateTensorAsOrtValue(allocator, shape.as_ptr(), shape.len(), element, &raw mut raw))? };
    ValueHandle::of(raw)
}

/// Creates a tensor over memory of the program.
fn wrapped<T: Element>(shape: &[usize], data: *mut T, length: usize, keep: Keep) -> Result<Value> {
    check_count(shape, length)?;
    Environment::get()?;
    let shape = dims(shape)?;
    let (memory, mut raw, bytes) = (cpu_raw()?, null_mut(), length * size_of::<T>());
    // SAFETY: the callers pass that many bytes, and what keeps them alive. The library copies the shape.
    unsafe {
        call!(CreateTensorWithDataAsOrtValue(memory, data.cast(), bytes, shape.as_ptr(), shape.len(), T::RAW, &raw mut raw))?;
    }
    Ok(Value::of(ValueHandle::of(raw)?, keep))
}

impl Value {
    fn of(handle: ValueHandle, keep: Keep) -> Self {
        Value { handle, elements: OnceLock::new(), keep }
    }

    /// Wraps a value whose memory the library keeps alive.
    pub(crate) fn of_library(handle: ValueHandle) -> Self {
        Self::of(handle, Keep::Library)
    }

    pub(super) fn raw(&self) -> *mut OrtValue {
        self.handle.raw()
    }

    pub(crate) fn owns_library_memory(&self) -> bool {
        matches!(self.keep, Keep::Library)
    }

    /// Creates a tensor over memory of the caller, who keeps it alive as long as the value is used.
    pub(crate) fn view<T: Element>(shape: &[usize], data: &[T]) -> Result<Self> {
        wrapped(shape, data.as_ptr().cast_mut(), data.len(), Keep::Borrowed)
    }

    /// As above, for the library to write. It may write any bits, so `T` must not be `bool`.
    pub(crate) fn view_mut<T: Element>(shape: &[usize], data: &mut [T]) -> Result<Self> {
        const { assert!(T::RAW.0 != ONNXTensorElementDataType::ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL.0) };
        wrapped(shape, data.as_mut_ptr(), data.len(), Keep::Borrowed)
    }

    /// Creates a tensor that owns the data.
    pub(crate) fn of_vec<T: Element>(shape: &[usize], data: Vec<T>) -> Result<Self> {
        let mut data = ManuallyDrop::new(data);
        let kept = RawVector { data: data.as_mut_ptr(), capacity: data.capacity() };
        wrapped(shape, kept.data, data.len(), Keep::Vector(Box::new(kept)))
    }

    /// Creates a tensor with a copy of the data.
    pub(crate) fn of_slice<T: Element>(shape: &[usize], data: &[T]) -> Result<Self> {
        check_count(shape, data.len())?;
        Environment::get()?;
        let handle = new_tensor(default_raw()?, T::RAW, shape)?;
        let to = raw_data(&handle)?.cast::<T>();
        if !data.is_empty() {
            // SAFETY: the new tensor has space for that many elements of this type, and nothing else uses it.
            unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), to, data.len()) };
        }
        Ok(Self::of_library(handle))
    }

    /// Creates a tensor of zeros in the processor's memory, or in memory of an allocator. Memory that the program
    /// cannot write is not initialised.
    pub(crate) fn zeros(allocator: Option<&Arc<Allocator>>, element: ONNXTensorElementDataType, shape: &[usize]) -> Result<Self> {
        Environment::get()?;
        let bytes = bytes_of(element, count_of(shape)?)?;
        let handle = new_tensor(allocator.map_or_else(default_raw, |a| Ok(a.raw()))?, element, shape)?;
        if bytes > 0 && on_host(&handle)? {
            // SAFETY: the new tensor has space for that many bytes, and nothing else uses it.
            unsafe { std::ptr::write_bytes(raw_data(&handle)?.cast::<u8>(), 0, bytes) };
        }
        Ok(Self::of(handle, allocator.map_or(Keep::Library, |a| Keep::Allocator(Arc::clone(a)))))
    }

    /// Copies a tensor.
    pub(crate) fn copy_of_tensor(&self) -> Result<Self> {
        let (element, shape) = self.facts()?;
        if element != ONNXTensorElementDataType::ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING {
            let from = self.bytes()?;
            let mut made = Self::of_library(new_tensor(default_raw()?, element, &shape)?);
            made.bytes_mut()?.copy_from_slice(from);
            return Ok(made);
        }
        let (bytes, starts) = self.string_content()?;
        let mut made = Self::of_strings(&shape)?;
        for (at, &start) in starts.iter().enumerate() {
            let end = starts.get(at + 1).copied().unwrap_or(bytes.len());
            made.set_string(at, bytes.get(start..end).unwrap_or_default())?;
        }
        Ok(made)
    }

    /// Returns type and shape of a tensor.
    pub(crate) fn facts(&self) -> Result<(ONNXTensorElementDataType, Extents)> {
        facts(&self.handle)
    }

    /// Returns the kind of the value; `None` for an optional value that is absent.
    pub(crate) fn kind(&self) -> Result<Option<ONNXType>> {
        let (mut kind, mut present) = (ONNXType(0), 1);
        // SAFETY: the value is valid.
        unsafe {
            call!(HasValue(self.raw(), &raw mut present))?;
            if present == 0 {
                return Ok(None);
            }
            call!(GetValueType(self.raw(), &raw mut kind))?;
        }
        Ok(Some(kind))
    }

    /// Returns the place of a tensor.
    pub(crate) fn memory(&self) -> Result<Description> {
        // SAFETY: the memory info lives as long as the value.
        unsafe { describe(memory_of(&self.handle)?) }
    }

    /// Returns the elements; an error if their type is not `wanted`.
    #[inline]
    fn elements(&self, wanted: Option<ONNXTensorElementDataType>) -> Result<Elements> {
        match (self.elements.get(), wanted) {
            (Some(found), Some(wanted)) if found.element != wanted => Err(Error::WrongType { found: found.element, wanted }),
            (Some(found), _) => Ok(*found),
            (None, _) => {
                let found = readable(&self.handle, wanted)?;
                Ok(*self.elements.get_or_init(|| found))
            }
        }
    }

    /// Returns the elements as a pointer to `T`. If there are none, the pointer is dangling and must not be read.
    fn pointer<T: Element>(&self) -> Result<(*mut T, usize)> {
        let Elements { element, count, data } = self.elements(Some(T::RAW))?;
        let data = data.cast::<T>();
        if count == 0 {
            return Ok((NonNull::dangling().as_ptr(), 0));
        }
        if data.is_null() || !data.is_aligned() {
            return Err(Error::Elements(element, format!("at address {data:?} cannot be read in place: copy the tensor")));
        }
        if T::RAW == ONNXTensorElementDataType::ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL {
            // SAFETY: there are that many bytes, and any bits are a valid byte.
            let bytes = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), count) };
            if let Some((at, byte)) = bytes.iter().enumerate().find(|(_, b)| **b > 1) {
                return Err(Error::Invalid(format!(
                    "element {at} of the tensor of Bool is {byte}, neither 0 nor 1: read the tensor as bytes"
                )));
            }
        }
        Ok((data, count))
    }

    /// Returns an error if the value is not a tensor in memory of the host with elements of this type.
    pub(crate) fn check<T: Element>(&self) -> Result<()> {
        self.elements(Some(T::RAW)).map(|_| ())
    }

    pub(crate) fn slice<T: Element>(&self) -> Result<&[T]> {
        let (data, count) = self.pointer::<T>()?;
        // SAFETY: there are that many initialised elements of this type, and nothing writes them while the value is
        // borrowed.
        Ok(unsafe { std::slice::from_raw_parts(data, count) })
    }

    /// Returns the elements for writing. The caller has made sure that no other value reads their memory.
    pub(crate) fn slice_mut<T: Element>(&mut self) -> Result<&mut [T]> {
        let (data, count) = self.pointer::<T>()?;
        // SAFETY: as above. The value is borrowed mutably.
        Ok(unsafe { std::slice::from_raw_parts_mut(data, count) })
    }

    fn raw_bytes(&self) -> Result<(*mut u8, usize)> {
        let Elements { element, count, data } = self.elements(None)?;
        let length = bytes_of(element, count)?;
        Ok((if length == 0 { NonNull::dangling().as_ptr() } else { data.cast() }, length))
    }

    pub(crate) fn bytes(&self) -> Result<&[u8]> {
        let (data, length) = self.raw_bytes()?;
        // SAFETY: as for `slice`. Any bits are a valid byte.
        Ok(unsafe { std::slice::from_raw_parts(data, length) })
    }

    /// Like `slice_mut`, in bytes.
    pub(crate) fn bytes_mut(&mut self) -> Result<&mut [u8]> {
        let (data, length) = self.raw_bytes()?;
        // SAFETY: as for `slice_mut`.
        Ok(unsafe { std::slice::from_raw_parts_mut(data, length) })
    }

    /// Creates a tensor of empty strings.
    pub(crate) fn of_strings(shape: &[usize]) -> Result<Self> {
        Environment::get()?;
        let element = ONNXTensorElementDataType::ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING;
        Ok(Self::of_library(new_tensor(default_raw()?, element, shape)?))
    }

    /// Writes one string of a tensor.
    pub(crate) fn set_string(&mut self, at: usize, text: &[u8]) -> Result<()> {
        let mut room: *mut c_char = null_mut();
        // SAFETY: the library resizes the string to that many bytes and returns its address.
        unsafe {
            call!(GetResizedStringTensorElementBuffer(self.raw(), at, text.len(), &raw mut room))?;
            if !text.is_empty() {
                std::ptr::copy_nonoverlapping(text.as_ptr(), room.cast(), text.len());
            }
        }
        Ok(())
    }

    /// Returns the bytes of all strings, and the offset of each.
    pub(crate) fn string_content(&self) -> Result<(Vec<u8>, Vec<usize>)> {
        let (mut length, count) = (0, count_of(&self.facts()?.1)?);
        if count == 0 {
            return Ok((Vec::new(), Vec::new()));
        }
        // SAFETY: the arrays have the lengths that are passed.
        unsafe {
            call!(GetStringTensorDataLength(self.raw(), &raw mut length))?;
            let (mut bytes, mut starts) = (vec![0u8; length.max(1)], vec![0; count]);
            call!(GetStringTensorContent(self.raw(), bytes.as_mut_ptr().cast(), length, starts.as_mut_ptr(), count))?;
            bytes.truncate(length);
            Ok((bytes, starts))
        }
    }

    /// Creates a sequence or a map of values whose memory the library keeps alive; it shares that memory.
    pub(crate) fn container<'v>(elements: impl Iterator<Item = &'v Self>, form: ONNXType) -> Result<Self> {
        let handles: Vec<*const OrtValue> = elements.map(|v| v.raw().cast_const()).collect();
        let mut raw = null_mut();
        // SAFETY: the elements live during the call. The library keeps references to their memory, which it owns.
        unsafe { call!(CreateValue(handles.as_ptr(), handles.len(), form, &raw mut raw))? };
        Ok(Self::of_library(ValueHandle::of(raw)?))
    }

    /// Returns the number of elements of a sequence or a map.
    pub(crate) fn count(&self) -> Result<usize> {
        let mut count = 0;
        // SAFETY: the value is valid.
        unsafe { call!(GetValueCount(self.raw(), &raw mut count))? };
        Ok(count)
    }

    /// Copies one element of a sequence or a map.
    pub(crate) fn element(&self, index: usize) -> Result<Self> {
        let mut raw = null_mut();
        // SAFETY: the value is valid, and the caller owns the new handle.
        unsafe { call!(GetValue(self.raw(), i32::try_from(index)?, default_raw()?, &raw mut raw))? };
        Ok(Self::of_library(ValueHandle::of(raw)?))
    }
}

fn facts(value: &ValueHandle) -> Result<(ONNXTensorElementDataType, Extents)> {
    let mut element = ONNXTensorElementDataType(0);
    if api()?.version >= since::GetTensorElementTypeAndShapeDataReference {
        let (mut dims, mut rank) = (null(), 0);
        // SAFETY: the pointer into the value is read at once.
        let shape = unsafe {
            call!(GetTensorElementTypeAndShapeDataReference(value.raw(), &raw mut element, &raw mut dims, &raw mut rank))?;
            if rank == 0 { Extents::new() } else { extents(std::slice::from_raw_parts(dims, rank))? }
        };
        return Ok((element, shape));
    }
    let (mut raw, mut rank) = (null_mut(), 0);
    // SAFETY: the type info is owned, and the array has the length that is passed.
    unsafe {
        call!(GetTensorTypeAndShape(value.raw(), &raw mut raw))?;
        let info = ShapeHandle::of(raw)?;
        call!(GetTensorElementType(info.raw(), &raw mut element))?;
        call!(GetDimensionsCount(info.raw(), &raw mut rank))?;
        let mut shape = Few::<i64, 8>::blank(rank);
        call!(GetDimensions(info.raw(), shape.as_mut_ptr(), rank))?;
        Ok((element, extents(&shape)?))
    }
}

fn memory_of(value: &ValueHandle) -> Result<*const OrtMemoryInfo> {
    let mut raw = null();
    // SAFETY: the value is valid, and the memory info is a pointer into it.
    unsafe { call!(GetTensorMemoryInfo(value.raw(), &raw mut raw))? };
    Ok(raw)
}

fn on_host(value: &ValueHandle) -> Result<bool> {
    // SAFETY: the memory info lives as long as the value.
    unsafe { is_host_accessible(memory_of(value)?) }
}

fn raw_data(value: &ValueHandle) -> Result<*mut c_void> {
    let mut raw = null_mut();
    // SAFETY: the value is valid. Asking for the address of its memory writes nothing.
    unsafe { call!(GetTensorMutableData(value.raw(), &raw mut raw))? };
    Ok(raw)
}

#[cold]
fn readable(value: &ValueHandle, wanted: Option<ONNXTensorElementDataType>) -> Result<Elements> {
    let (element, shape) = facts(value)?;
    if let Some(wanted) = wanted.filter(|w| *w != element) {
        return Err(Error::WrongType { found: element, wanted });
    }
    let count = count_of(&shape)?;
    bytes_of(element, count)?;
    if !on_host(value)? {
        // SAFETY: the memory info lives as long as the value.
        let Description { name, id, .. } = unsafe { describe(memory_of(value)?)? };
        return Err(Error::Invalid(format!(
            "the tensor is in {name} memory of device {id}, which the program cannot read: copy it to the host"
        )));
    }
    Ok(Elements { element, count, data: raw_data(value)? })
}
