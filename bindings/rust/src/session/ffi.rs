//! Raw calls about sessions.

use std::cell::Cell;
use std::ffi::{CString, c_char};
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

use super::{Kept, ModelMetadata, Port, Session, ValueInfo, ValueType};
use crate::device::EpDevice;
use crate::element::ElementType;
use crate::error::Result;
use crate::ffi::{ONNXTensorElementDataType, ONNXType, OrtAllocator, OrtMemoryInfo, OrtSession, OrtStatus, OrtTypeInfo};
use crate::library::ffi::{call, check, handle, nothing, slot};
use crate::memory::MemoryInfo;
use crate::memory::ffi::{Info, default_raw, free, take_text};

handle!(TypeHandle, OrtTypeInfo, ReleaseTypeInfo);
handle!(MetadataHandle, OrtModelMetadata, ReleaseModelMetadata);

thread_local! {
    /// Whether this thread runs a callback of the library.
    static IN_CALLBACK: Cell<bool> = const { Cell::new(false) };
}

/// Runs `f` as what a thread of the library does for a session that may end by it.
pub(crate) fn in_callback(f: impl FnOnce()) {
    let before = IN_CALLBACK.replace(true);
    f();
    IN_CALLBACK.set(before);
}

/// Whether this thread is one of the library, within a callback: it must not wait for others of them.
pub(crate) fn is_in_callback() -> bool {
    IN_CALLBACK.get()
}

/// The session of the library, and what it reads. Thread-safe for runs and questions.
pub(crate) struct SessionHandle {
    raw: NonNull<OrtSession>,
    kept: Kept,
}

// SAFETY: the library allows runs and questions from several threads at once; nothing else is done with it.
unsafe impl Send for SessionHandle {}
// SAFETY: as above.
unsafe impl Sync for SessionHandle {}

impl SessionHandle {
    pub(crate) fn of(raw: *mut OrtSession, kept: Kept) -> Result<Self> {
        let raw = NonNull::new(raw).ok_or_else(|| nothing("OrtSession"))?;
        Ok(SessionHandle { raw, kept })
    }

    pub(crate) fn raw(&self) -> *mut OrtSession {
        self.raw.as_ptr()
    }
}

/// A session on its way to its end, on whichever thread.
struct Ending(NonNull<OrtSession>, Kept);
// SAFETY: a session may be released by any thread.
unsafe impl Send for Ending {}

impl Ending {
    fn release(self) -> Result<()> {
        // SAFETY: the session is owned, and this is the last use of it; what it reads goes afterwards.
        unsafe { slot!(ReleaseSession)(self.0.as_ptr()) };
        drop(self.1);
        Ok(())
    }
}

impl Drop for SessionHandle {
    fn drop(&mut self) {
        let ending = Ending(self.raw, std::mem::take(&mut self.kept));
        if is_in_callback() {
            // The threads of the session end with it, and one of them is this one: it cannot wait for itself.
            let _ = std::thread::Builder::new().spawn(move || ending.release().is_ok());
        } else {
            let _ = ending.release();
        }
    }
}

type Counting = unsafe extern "C" fn(*const OrtSession, *mut usize) -> *mut OrtStatus;
type Naming = unsafe extern "C" fn(*const OrtSession, usize, *mut OrtAllocator, *mut *mut c_char) -> *mut OrtStatus;
type Typing = unsafe extern "C" fn(*const OrtSession, usize, *mut *mut OrtTypeInfo) -> *mut OrtStatus;

fn ports(session: &SessionHandle, counting: Counting, naming: Naming, typing: Typing) -> Result<Vec<Port>> {
    let mut count = 0;
    // SAFETY: the session lives, and the indexes are below the count that it tells.
    unsafe { check(counting(session.raw(), &raw mut count))? };
    let one = |at: usize| {
        let (mut name, mut raw) = (null_mut(), null_mut());
        // SAFETY: as above; the text is copied and freed, the description is owned.
        unsafe {
            check(naming(session.raw(), at, default_raw()?, &raw mut name))?;
            let name = take_text(name)?;
            check(typing(session.raw(), at, &raw mut raw))?;
            let value_type = read_type(&TypeHandle::of(raw)?)?;
            Ok(Port { raw_name: CString::new(name.as_str())?, info: ValueInfo { name, value_type }, may_share: false })
        }
    };
    (0..count).map(one).collect()
}

/// The inputs, then the constants that may be given as inputs; and how many the former are.
pub(super) fn inputs(session: &SessionHandle) -> Result<(Vec<Port>, usize)> {
    // SAFETY: the functions of the table are only looked up here.
    let (required, others) = unsafe {
        let required = ports(session, slot!(SessionGetInputCount), slot!(SessionGetInputName), slot!(SessionGetInputTypeInfo))?;
        let others = ports(
            session,
            slot!(SessionGetOverridableInitializerCount),
            slot!(SessionGetOverridableInitializerName),
            slot!(SessionGetOverridableInitializerTypeInfo),
        )?;
        (required, others)
    };
    let count = required.len();
    Ok((required.into_iter().chain(others).collect(), count))
}

pub(super) fn outputs(session: &SessionHandle) -> Result<Vec<Port>> {
    // SAFETY: as above.
    unsafe { ports(session, slot!(SessionGetOutputCount), slot!(SessionGetOutputName), slot!(SessionGetOutputTypeInfo)) }
}

fn read_type(info: &TypeHandle) -> Result<ValueType> {
    let mut kind = ONNXType(0);
    // SAFETY: views into the description are used while it lives; inner descriptions are owned.
    unsafe {
        call!(GetOnnxTypeFromTypeInfo(info.raw(), &raw mut kind))?;
        let (mut view, mut inner) = (std::ptr::null(), null_mut());
        match kind {
            ONNXType::ONNX_TYPE_TENSOR => read_tensor_type(info),
            ONNXType::ONNX_TYPE_SEQUENCE => {
                call!(CastTypeInfoToSequenceTypeInfo(info.raw(), &raw mut view))?;
                call!(GetSequenceElementType(view, &raw mut inner))?;
                Ok(ValueType::Sequence(Box::new(read_type(&TypeHandle::of(inner)?)?)))
            }
            ONNXType::ONNX_TYPE_OPTIONAL => {
                let mut view = std::ptr::null();
                call!(CastTypeInfoToOptionalTypeInfo(info.raw(), &raw mut view))?;
                call!(GetOptionalContainedTypeInfo(view, &raw mut inner))?;
                Ok(ValueType::Optional(Box::new(read_type(&TypeHandle::of(inner)?)?)))
            }
            ONNXType::ONNX_TYPE_MAP => {
                let (mut view, mut key) = (std::ptr::null(), ONNXTensorElementDataType(0));
                call!(CastTypeInfoToMapTypeInfo(info.raw(), &raw mut view))?;
                call!(GetMapKeyType(view, &raw mut key))?;
                call!(GetMapValueType(view, &raw mut inner))?;
                let value = Box::new(read_type(&TypeHandle::of(inner)?)?);
                Ok(ValueType::Map { key: ElementType::from_raw(key), value })
            }
            ONNXType::ONNX_TYPE_SPARSETENSOR => Ok(ValueType::SparseTensor),
            _ => Ok(ValueType::Other),
        }
    }
}

/// # Safety
/// The description is that of a tensor.
unsafe fn read_tensor_type(info: &TypeHandle) -> Result<ValueType> {
    let (mut view, mut element, mut rank) = (std::ptr::null(), ONNXTensorElementDataType(0), 0);
    // SAFETY: views into the description are used while it lives; the arrays have the lengths that are told.
    unsafe {
        call!(CastTypeInfoToTensorInfo(info.raw(), &raw mut view))?;
        call!(GetTensorElementType(view, &raw mut element))?;
        call!(GetDimensionsCount(view, &raw mut rank))?;
        let (mut shape, mut names) = (vec![0; rank], vec![std::ptr::null(); rank]);
        call!(GetDimensions(view, shape.as_mut_ptr(), rank))?;
        call!(GetSymbolicDimensions(view, names.as_mut_ptr(), rank))?;
        let names = names.into_iter().map(|n| crate::library::ffi::text(n)).collect();
        Ok(ValueType::Tensor { element: ElementType::from_raw(element), shape, names })
    }
}

pub(super) fn metadata(session: &Session) -> Result<ModelMetadata> {
    let mut raw = null_mut();
    // SAFETY: the metadata is owned; texts are the caller's, copied and freed.
    unsafe {
        call!(SessionGetModelMetadata(session.raw(), &raw mut raw))?;
        let metadata = MetadataHandle::of(raw)?;
        let (raw, allocator) = (metadata.raw(), default_raw()?);
        let mut told = ModelMetadata::default();
        macro_rules! text {
            ($name:ident) => {{
                let mut text = null_mut();
                call!($name(raw, allocator, &mut text))?;
                take_text(text)?
            }};
        }
        told.producer = text!(ModelMetadataGetProducerName);
        told.graph_name = text!(ModelMetadataGetGraphName);
        told.domain = text!(ModelMetadataGetDomain);
        told.description = text!(ModelMetadataGetDescription);
        told.graph_description = text!(ModelMetadataGetGraphDescription);
        call!(ModelMetadataGetVersion(raw, &raw mut told.version))?;
        let (mut keys, mut count) = (null_mut(), 0);
        call!(ModelMetadataGetCustomMetadataMapKeys(raw, allocator, &raw mut keys, &raw mut count))?;
        for at in 0..usize::try_from(count)? {
            let key = CString::new(take_text(*keys.add(at))?)?;
            let mut value = null_mut();
            call!(ModelMetadataLookupCustomMetadataMap(raw, allocator, key.as_ptr(), &raw mut value))?;
            told.custom.insert(key.to_string_lossy().into_owned(), take_text(value)?);
        }
        free(keys.cast())?;
        Ok(told)
    }
}

fn infos(session: &Session, found: Vec<*const OrtMemoryInfo>) -> Result<Vec<MemoryInfo>> {
    let one = |raw: *const OrtMemoryInfo| {
        let raw = NonNull::new(raw.cast_mut()).ok_or_else(|| nothing("OrtMemoryInfo"))?;
        Ok(MemoryInfo::of(Info::Session(raw, Arc::clone(session.inner()))))
    };
    found.into_iter().map(one).collect()
}

pub(super) fn memory_of_inputs(session: &Session) -> Result<Vec<MemoryInfo>> {
    let mut found = vec![std::ptr::null(); session.inner().required];
    // SAFETY: the array has the length that is told; the views live as long as the session, which each keeps.
    unsafe { call!(SessionGetMemoryInfoForInputs(session.raw(), found.as_mut_ptr(), found.len()))? };
    infos(session, found)
}

pub(super) fn memory_of_outputs(session: &Session) -> Result<Vec<MemoryInfo>> {
    let mut found = vec![std::ptr::null(); session.inner().outputs.len()];
    // SAFETY: as above.
    unsafe { call!(SessionGetMemoryInfoForOutputs(session.raw(), found.as_mut_ptr(), found.len()))? };
    infos(session, found)
}

pub(super) fn devices_of_inputs(session: &Session) -> Result<Vec<Option<EpDevice>>> {
    let mut found = vec![std::ptr::null(); session.inner().required];
    if found.is_empty() {
        return Ok(Vec::new());
    }
    // SAFETY: the array has the length that is told; devices live as long as the process.
    unsafe { call!(SessionGetEpDeviceForInputs(session.raw(), found.as_mut_ptr(), found.len()))? };
    Ok(found.into_iter().map(crate::device::ffi::of).collect())
}
