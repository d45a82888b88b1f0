//! Sessions: what they own, and the properties of their models.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{CString, c_char};
use std::path::Path;
use std::ptr::{NonNull, null, null_mut};
use std::sync::Arc;

use super::call::{call, check, handle, slot};
use super::device::EpDevice;
use super::environment::Environment;
use super::error::{Error, Result};
use super::memory::{Allocator, MemoryInfo, default_raw, free, take_text};
use super::options::{Kept, SessionOptions, check_key};
use super::tables::{ONNXTensorElementDataType, ONNXType, OrtAllocator, OrtMemoryInfo, OrtSession, OrtStatus, OrtTypeInfo};
use super::text::{Pairs, path, text};

handle!(
    /// The type of an input or an output.
    TypeInfo, OrtTypeInfo, ReleaseTypeInfo
);
handle!(ModelMetadata, OrtModelMetadata, ReleaseModelMetadata);

thread_local! {
    /// Whether this thread is running a callback of the library.
    static IN_CALLBACK: Cell<bool> = const { Cell::new(false) };
}

/// Runs `f` as a part of a callback, on a thread of the library. A panic of `f` ends here, after Rust has reported it: in
/// the frames of the library, it would end the process.
pub(super) fn in_callback(f: impl FnOnce()) {
    let before = IN_CALLBACK.replace(true);
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f));
    IN_CALLBACK.set(before);
}

/// Returns whether this thread belongs to the library and is running a callback. Such a thread must not wait for other
/// threads of the library.
pub(crate) fn is_in_callback() -> bool {
    IN_CALLBACK.get()
}

/// A session of the library, and the memory that it reads. Several threads may run and query it at once.
pub(crate) struct Session {
    raw: NonNull<OrtSession>,
    kept: Kept,
    /// The inputs, followed by the initializers that an input may replace.
    pub(crate) inputs: Vec<Port>,
    pub(crate) outputs: Vec<Port>,
    /// The number of `inputs` that are not initializers.
    pub(crate) required: usize,
}

// SAFETY: the library allows concurrent runs and queries, and no other functions are called on a session.
unsafe impl Send for Session {}
// SAFETY: as above.
unsafe impl Sync for Session {}

/// An input or an output.
pub(crate) struct Port {
    pub(crate) name: CString,
    pub(crate) info: TypeInfo,
}

/// A session that is about to be released, on any thread.
struct Ending(NonNull<OrtSession>, Kept);
// SAFETY: any thread may release a session.
unsafe impl Send for Ending {}

impl Ending {
    fn release(self) -> Result<()> {
        // SAFETY: the session is owned, and this is its last use. The memory that it reads is dropped afterwards.
        unsafe { slot!(ReleaseSession)(self.0.as_ptr()) };
        drop(self.1);
        Ok(())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let ending = Ending(self.raw, std::mem::take(&mut self.kept));
        if is_in_callback() {
            // Releasing a session joins its threads, and this thread is one of them: it cannot wait for itself.
            let _ = std::thread::Builder::new().spawn(move || ending.release().is_ok());
        } else {
            let _ = ending.release();
        }
    }
}

type Counting = unsafe extern "C" fn(*const OrtSession, *mut usize) -> *mut OrtStatus;
type Naming = unsafe extern "C" fn(*const OrtSession, usize, *mut OrtAllocator, *mut *mut c_char) -> *mut OrtStatus;
type Typing = unsafe extern "C" fn(*const OrtSession, usize, *mut *mut OrtTypeInfo) -> *mut OrtStatus;

impl Session {
    /// Creates a session from a model in a file.
    pub(crate) fn of_file(options: SessionOptions, file: &Path) -> Result<Self> {
        let (environment, file, mut raw) = (Environment::get()?.raw(), path(file)?, null_mut());
        // SAFETY: the options are valid and are copied. The session keeps what they point to alive.
        unsafe { call!(CreateSession(environment, file.as_ptr(), options.raw(), &raw mut raw))? };
        Self::of(raw, options.kept)
    }

    /// Creates a session from a model in memory.
    pub(crate) fn of_memory(mut options: SessionOptions, model: &[u8]) -> Result<Self> {
        if options.keep_model {
            options.kept.model = model.to_vec();
        }
        let model = if options.keep_model { &options.kept.model } else { model };
        let (environment, mut raw) = (Environment::get()?.raw(), null_mut());
        // SAFETY: as above. If the library reads the bytes after the call, the session keeps them alive.
        unsafe { call!(CreateSessionFromArray(environment, model.as_ptr().cast(), model.len(), options.raw(), &raw mut raw))? };
        Self::of(raw, options.kept)
    }

    fn of(raw: *mut OrtSession, kept: Kept) -> Result<Self> {
        let raw = NonNull::new(raw).ok_or(Error::Null("OrtSession"))?;
        let mut made = Session { raw, kept, inputs: Vec::new(), outputs: Vec::new(), required: 0 };
        // SAFETY: the functions are only read from the table here, not called.
        unsafe {
            made.inputs = made.ports(slot!(SessionGetInputCount), slot!(SessionGetInputName), slot!(SessionGetInputTypeInfo))?;
            made.required = made.inputs.len();
            let (counting, naming) = (slot!(SessionGetOverridableInitializerCount), slot!(SessionGetOverridableInitializerName));
            made.inputs.extend(made.ports(counting, naming, slot!(SessionGetOverridableInitializerTypeInfo))?);
            made.outputs = made.ports(slot!(SessionGetOutputCount), slot!(SessionGetOutputName), slot!(SessionGetOutputTypeInfo))?;
        }
        Ok(made)
    }

    pub(super) fn raw(&self) -> *mut OrtSession {
        self.raw.as_ptr()
    }

    fn ports(&self, counting: Counting, naming: Naming, typing: Typing) -> Result<Vec<Port>> {
        let mut count = 0;
        // SAFETY: the session is valid, and the indexes are below its count.
        unsafe { check(counting(self.raw(), &raw mut count))? };
        let one = |at: usize| {
            let (mut name, mut raw) = (null_mut(), null_mut());
            // SAFETY: as above. The string is copied and freed, and the type info is owned.
            unsafe {
                check(naming(self.raw(), at, default_raw()?, &raw mut name))?;
                let name = CString::new(take_text(name)?)?;
                check(typing(self.raw(), at, &raw mut raw))?;
                Ok(Port { name, info: TypeInfo::of(raw)? })
            }
        };
        (0..count).map(one).collect()
    }

    pub(crate) fn metadata(&self) -> Result<ModelMetadata> {
        let mut raw = null_mut();
        // SAFETY: the session is valid, and the metadata is owned.
        unsafe { call!(SessionGetModelMetadata(self.raw(), &raw mut raw))? };
        ModelMetadata::of(raw)
    }

    pub(crate) fn input_memory(self: &Arc<Self>) -> Result<Vec<MemoryInfo>> {
        let mut found = vec![null(); self.required];
        // SAFETY: the array has the length that is passed. The memory infos are valid as long as the session, which
        // each of them keeps alive.
        unsafe { call!(SessionGetMemoryInfoForInputs(self.raw(), found.as_mut_ptr(), found.len()))? };
        found.into_iter().map(|raw| self.view(raw)).collect()
    }

    pub(crate) fn output_memory(self: &Arc<Self>) -> Result<Vec<MemoryInfo>> {
        let mut found = vec![null(); self.outputs.len()];
        // SAFETY: as above.
        unsafe { call!(SessionGetMemoryInfoForOutputs(self.raw(), found.as_mut_ptr(), found.len()))? };
        found.into_iter().map(|raw| self.view(raw)).collect()
    }

    fn view(self: &Arc<Self>, raw: *const OrtMemoryInfo) -> Result<MemoryInfo> {
        let raw = NonNull::new(raw.cast_mut()).ok_or(Error::Null("OrtMemoryInfo"))?;
        Ok(MemoryInfo::View(raw, Some(self.clone())))
    }

    pub(crate) fn input_devices(&self) -> Result<Vec<Option<EpDevice>>> {
        let mut found = vec![null(); self.required];
        if found.is_empty() {
            return Ok(Vec::new());
        }
        // SAFETY: the array has the length that is passed, and devices are always valid.
        unsafe { call!(SessionGetEpDeviceForInputs(self.raw(), found.as_mut_ptr(), found.len()))? };
        Ok(found.into_iter().map(EpDevice::of).collect())
    }

    /// Changes options of the session's providers.
    pub(crate) fn set_dynamic_options(&self, options: &[(&str, &str)]) -> Result<()> {
        options.iter().try_for_each(|(key, _)| check_key(key))?;
        let pairs = Pairs::of(options)?;
        // SAFETY: the session is valid, and the arrays have the length that is passed. The library copies the strings.
        unsafe { call!(SetEpDynamicOptions(self.raw(), pairs.keys.as_ptr(), pairs.values.as_ptr(), options.len())) }
    }

    /// Creates an allocator of the session for a place.
    pub(crate) fn allocator(self: &Arc<Self>, memory: &MemoryInfo) -> Result<Allocator> {
        let mut raw = null_mut();
        // SAFETY: the session and the memory info are valid, and the allocator keeps the session alive.
        unsafe { call!(CreateAllocator(self.raw(), memory.raw(), &raw mut raw))? };
        Allocator::of(raw, Some(self.clone()))
    }
}

/// Checks a pointer into a type info: the library returns null if the type is of another kind.
fn present<T>(view: *const T) -> Result<*const T> {
    if view.is_null() { Err(Error::Null("description of this type")) } else { Ok(view) }
}

impl TypeInfo {
    pub(crate) fn kind(&self) -> Result<ONNXType> {
        let mut kind = ONNXType(0);
        // SAFETY: the type info is valid.
        unsafe { call!(GetOnnxTypeFromTypeInfo(self.raw(), &raw mut kind))? };
        Ok(kind)
    }

    /// Returns the element type, extents and names of extents of a tensor.
    pub(crate) fn tensor(&self) -> Result<(ONNXTensorElementDataType, Vec<i64>, Vec<String>)> {
        let (mut view, mut element, mut rank) = (null(), ONNXTensorElementDataType(0), 0);
        // SAFETY: pointers into the type info are used while it is valid, and the arrays have the lengths that are
        // passed.
        unsafe {
            call!(CastTypeInfoToTensorInfo(self.raw(), &raw mut view))?;
            let view = present(view)?;
            call!(GetTensorElementType(view, &raw mut element))?;
            call!(GetDimensionsCount(view, &raw mut rank))?;
            let (mut shape, mut names) = (vec![0; rank], vec![null(); rank]);
            call!(GetDimensions(view, shape.as_mut_ptr(), rank))?;
            call!(GetSymbolicDimensions(view, names.as_mut_ptr(), rank))?;
            Ok((element, shape, names.into_iter().map(|n| text(n)).collect()))
        }
    }

    /// Returns the type of the elements of a sequence.
    pub(crate) fn sequence(&self) -> Result<TypeInfo> {
        let (mut view, mut inner) = (null(), null_mut());
        // SAFETY: the pointer is used while the type info is valid, and the inner type info is owned.
        unsafe {
            call!(CastTypeInfoToSequenceTypeInfo(self.raw(), &raw mut view))?;
            call!(GetSequenceElementType(present(view)?, &raw mut inner))?;
        }
        TypeInfo::of(inner)
    }

    /// Returns the type of the content of an optional value.
    pub(crate) fn optional(&self) -> Result<TypeInfo> {
        let (mut view, mut inner) = (null(), null_mut());
        // SAFETY: as above.
        unsafe {
            call!(CastTypeInfoToOptionalTypeInfo(self.raw(), &raw mut view))?;
            call!(GetOptionalContainedTypeInfo(present(view)?, &raw mut inner))?;
        }
        TypeInfo::of(inner)
    }

    /// Returns the types of the keys and of the values of a map.
    pub(crate) fn map(&self) -> Result<(ONNXTensorElementDataType, TypeInfo)> {
        let (mut view, mut key, mut inner) = (null(), ONNXTensorElementDataType(0), null_mut());
        // SAFETY: as above.
        unsafe {
            call!(CastTypeInfoToMapTypeInfo(self.raw(), &raw mut view))?;
            let view = present(view)?;
            call!(GetMapKeyType(view, &raw mut key))?;
            call!(GetMapValueType(view, &raw mut inner))?;
        }
        Ok((key, TypeInfo::of(inner)?))
    }
}

macro_rules! texts {
    ($($name:ident = $slot:ident;)*) => {
        $(
            pub(crate) fn $name(&self) -> Result<String> {
                let mut text = null_mut();
                // SAFETY: the metadata is valid, and the string is copied and freed.
                unsafe {
                    call!($slot(self.raw(), default_raw()?, &raw mut text))?;
                    take_text(text)
                }
            }
        )*
    };
}

impl ModelMetadata {
    texts! {
        producer = ModelMetadataGetProducerName;
        graph_name = ModelMetadataGetGraphName;
        domain = ModelMetadataGetDomain;
        description = ModelMetadataGetDescription;
        graph_description = ModelMetadataGetGraphDescription;
    }

    pub(crate) fn version(&self) -> Result<i64> {
        let mut version = 0;
        // SAFETY: the metadata is valid.
        unsafe { call!(ModelMetadataGetVersion(self.raw(), &raw mut version))? };
        Ok(version)
    }

    pub(crate) fn custom(&self) -> Result<BTreeMap<String, String>> {
        let (allocator, mut keys, mut count, mut custom) = (default_raw()?, null_mut(), 0, BTreeMap::new());
        // SAFETY: the metadata is valid. The caller owns the array and its strings, which are copied and freed.
        unsafe {
            call!(ModelMetadataGetCustomMetadataMapKeys(self.raw(), allocator, &raw mut keys, &raw mut count))?;
            for at in 0..usize::try_from(count)? {
                let (key, mut value) = (CString::new(take_text(*keys.add(at))?)?, null_mut());
                call!(ModelMetadataLookupCustomMetadataMap(self.raw(), allocator, key.as_ptr(), &raw mut value))?;
                custom.insert(key.to_string_lossy().into_owned(), take_text(value)?);
            }
            free(keys.cast())?;
        }
        Ok(custom)
    }
}
