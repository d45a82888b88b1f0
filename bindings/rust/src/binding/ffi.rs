//! Raw calls about bindings.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use smallvec::SmallVec;

use crate::error::Result;
use crate::ffi::{OrtAllocator, OrtMemoryInfo, OrtValue};
use crate::library::ffi::{OLDEST, call, handle, slot};
use crate::memory::MemoryInfo;
use crate::memory::ffi::{cpu_raw, default_raw, free};
use crate::run::RunOptions;
use crate::session::{Port, SessionInner};
use crate::value::Value;
use crate::value::ffi::ValueHandle;

handle!(BindingHandle, OrtIoBinding, ReleaseIoBinding);

pub(super) fn binding(session: &SessionInner) -> Result<BindingHandle> {
    let mut raw = null_mut();
    // SAFETY: the session is kept by the binding.
    unsafe { call!(CreateIoBinding(session.handle.raw(), &raw mut raw))? };
    BindingHandle::of(raw)
}

/// Binds, and waits for copies to a device: afterwards the value may be written or go away.
pub(super) fn bind_input(binding: &BindingHandle, port: &Port, value: &Value) -> Result<()> {
    // SAFETY: the name lives during the call, and the value for as long as it is bound.
    unsafe {
        call!(BindInput(binding.raw(), port.raw_name.as_ptr(), value.raw()))?;
        call!(SynchronizeBoundInputs(binding.raw()))
    }
}

pub(super) fn bind_output(binding: &BindingHandle, port: &Port, value: &Value) -> Result<()> {
    // SAFETY: as above.
    unsafe { call!(BindOutput(binding.raw(), port.raw_name.as_ptr(), value.raw())) }
}

pub(super) fn bind_output_to(binding: &BindingHandle, port: &Port, memory: &MemoryInfo) -> Result<()> {
    // SAFETY: the library copies the description.
    unsafe { call!(BindOutputToDevice(binding.raw(), port.raw_name.as_ptr(), memory.raw())) }
}

pub(super) fn clear_inputs(binding: &BindingHandle) -> Result<()> {
    // SAFETY: the binding lives.
    unsafe { slot!(ClearBoundInputs)(binding.raw()) };
    Ok(())
}

pub(super) fn clear_outputs(binding: &BindingHandle) -> Result<()> {
    // SAFETY: the binding lives.
    unsafe { slot!(ClearBoundOutputs)(binding.raw()) };
    Ok(())
}

/// Runs, and waits for devices, also after a failure: they write into memory that the caller looks at next.
pub(super) fn run(binding: &BindingHandle, session: &SessionInner, options: Option<&RunOptions>) -> Result<()> {
    let options = options.map_or(null(), |o| o.raw().cast_const());
    // SAFETY: session, options and all that is bound live during the call, and nobody else uses the binding.
    unsafe {
        let done = call!(RunWithBinding(session.handle.raw(), options, binding.raw()));
        let waited = call!(SynchronizeBoundOutputs(binding.raw()));
        done.and(waited)
    }
}

/// How many results a list has room for without another allocation.
const ROOM: usize = 8;

/// An allocator with room for one list of results, so that the library needs no memory for it: an aligned block would cost
/// as much as all else that is asked after a run.
#[repr(C)]
struct List {
    base: OrtAllocator,
    room: [*mut OrtValue; ROOM],
    given: bool,
}

impl List {
    fn new() -> Self {
        let base = OrtAllocator {
            version: OLDEST,
            Alloc: Some(list_alloc),
            Free: Some(list_free),
            Info: Some(list_info),
            Reserve: None,
            GetStats: None,
            AllocOnStream: None,
            Shrink: None,
        };
        List { base, room: [null_mut(); ROOM], given: false }
    }
}

/// The room where it is free and large enough, else a block of the library's own allocator.
///
/// # Safety
/// `this` is the first member of a `List`, which nobody else uses.
unsafe extern "C" fn list_alloc(this: *mut OrtAllocator, size: usize) -> *mut c_void {
    // SAFETY: as above.
    let list = unsafe { &mut *this.cast::<List>() };
    if size <= size_of_val(&list.room) && !list.given {
        list.given = true;
        return list.room.as_mut_ptr().cast();
    }
    let more = || {
        let mut block = null_mut();
        // SAFETY: the library gives a new block.
        unsafe { call!(AllocatorAlloc(default_raw()?, size, &raw mut block))? };
        Ok(block)
    };
    let made: Result<*mut c_void> = more();
    made.unwrap_or(null_mut())
}

/// # Safety
/// As for `list_alloc`, which gave the block; or it is null.
unsafe extern "C" fn list_free(this: *mut OrtAllocator, block: *mut c_void) {
    // SAFETY: as above; the room goes with the list.
    unsafe {
        let list = this.cast::<List>();
        if block == (&raw mut (*list).room).cast() {
            (*list).given = false;
        } else {
            let _ = free(block);
        }
    }
}

unsafe extern "C" fn list_info(_this: *const OrtAllocator) -> *const OrtMemoryInfo {
    cpu_raw().unwrap_or(null())
}

/// New handles of the values of all outputs, in the order in which they were bound first; none where the library gave none.
pub(super) fn results(binding: &BindingHandle) -> Result<SmallVec<[Option<ValueHandle>; ROOM]>> {
    let (mut list, mut raw, mut count) = (List::new(), null_mut(), 0);
    let allocator = (&raw mut list).cast::<OrtAllocator>();
    // SAFETY: the array is the caller's, from the allocator that was given, and each handle in it. The library uses the
    // allocator during the call alone.
    unsafe {
        call!(GetBoundOutputValues(binding.raw(), allocator, &raw mut raw, &raw mut count))?;
        let handles = (0..count).map(|at| ValueHandle::of(*raw.add(at)).ok()).collect();
        list_free(allocator, raw.cast());
        Ok(handles)
    }
}
