//! Bindings.

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::Arc;

use super::call::{call, handle, slot};
use super::error::Result;
use super::library::OLDEST;
use super::memory::{MemoryInfo, cpu_raw, default_raw, free};
use super::run::{RunOptions, take};
use super::session::Session;
use super::tables::{OrtAllocator, OrtMemoryInfo, OrtValue};
use super::value::{Handles, Value};

handle!(BindingHandle, OrtIoBinding, ReleaseIoBinding);

/// A binding of a session. Inputs and outputs are given by their indexes in the lists of the session. The caller keeps
/// the bound values alive, and does not change them during a run.
pub(crate) struct Binding {
    // Dropped before the session.
    handle: BindingHandle,
    session: Arc<Session>,
}

impl Binding {
    pub(crate) fn of(session: &Arc<Session>) -> Result<Self> {
        let mut raw = null_mut();
        // SAFETY: the binding keeps the session alive.
        unsafe { call!(CreateIoBinding(session.raw(), &raw mut raw))? };
        Ok(Binding { handle: BindingHandle::of(raw)?, session: Arc::clone(session) })
    }

    /// Binds an input, and waits for a copy to a device, if there is one. After that, the caller may write to a value
    /// that was copied.
    pub(crate) fn bind_input(&self, at: usize, value: &Value) -> Result<()> {
        // SAFETY: the name lives during the call, and the caller keeps the value alive for as long as it is bound.
        unsafe {
            call!(BindInput(self.handle.raw(), self.session.inputs[at].name.as_ptr(), value.raw()))?;
            call!(SynchronizeBoundInputs(self.handle.raw()))
        }
    }

    pub(crate) fn bind_output(&self, at: usize, value: &Value) -> Result<()> {
        // SAFETY: as above.
        unsafe { call!(BindOutput(self.handle.raw(), self.session.outputs[at].name.as_ptr(), value.raw())) }
    }

    pub(crate) fn bind_output_to(&self, at: usize, memory: &MemoryInfo) -> Result<()> {
        // SAFETY: the library copies the memory info.
        unsafe { call!(BindOutputToDevice(self.handle.raw(), self.session.outputs[at].name.as_ptr(), memory.raw())) }
    }

    pub(crate) fn clear_inputs(&self) -> Result<()> {
        // SAFETY: the binding is valid.
        unsafe { slot!(ClearBoundInputs)(self.handle.raw()) };
        Ok(())
    }

    pub(crate) fn clear_outputs(&self) -> Result<()> {
        // SAFETY: the binding is valid.
        unsafe { slot!(ClearBoundOutputs)(self.handle.raw()) };
        Ok(())
    }

    /// Runs, and then waits for devices, even after a failure: they write to memory that the caller reads next.
    pub(crate) fn run(&mut self, options: Option<&RunOptions>) -> Result<()> {
        let options = options.map_or(null(), |o| o.raw().cast_const());
        // SAFETY: session, options and bound values live during the call, and no other thread uses the binding.
        unsafe {
            let done = call!(RunWithBinding(self.session.raw(), options, self.handle.raw()));
            let waited = call!(SynchronizeBoundOutputs(self.handle.raw()));
            done.and(waited)
        }
    }

    /// Returns new handles of the values of all outputs, in the order in which they were first bound.
    pub(crate) fn results(&self) -> Result<Handles> {
        let (mut list, mut raw, mut count) = (List::new(), null_mut(), 0);
        let allocator = (&raw mut list).cast::<OrtAllocator>();
        // SAFETY: the caller owns the array, which comes from the given allocator, and each handle in it. The library
        // uses the allocator only during the call.
        unsafe {
            call!(GetBoundOutputValues(self.handle.raw(), allocator, &raw mut raw, &raw mut count))?;
            let handles = if count == 0 { Handles::new() } else { take(std::slice::from_raw_parts(raw, count)) };
            list_free(allocator, raw.cast());
            Ok(handles)
        }
    }
}

/// The number of results that a list can hold without another allocation.
const ROOM: usize = 8;

/// An allocator with a buffer for one list of results, so that the library need not allocate one: an aligned block
/// would cost as much as all other calls after a run together.
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

/// Returns the buffer if it is free and large enough, otherwise a block of the library's own allocator.
///
/// # Safety
/// `this` is the first member of a `List` that nothing else uses.
unsafe extern "C" fn list_alloc(this: *mut OrtAllocator, size: usize) -> *mut c_void {
    // SAFETY: as above.
    let list = unsafe { &mut *this.cast::<List>() };
    if size <= size_of_val(&list.room) && !list.given {
        list.given = true;
        return list.room.as_mut_ptr().cast();
    }
    let more = || {
        let mut block = null_mut();
        // SAFETY: the library returns a new block.
        unsafe { call!(AllocatorAlloc(default_raw()?, size, &raw mut block))? };
        Ok(block)
    };
    let made: Result<*mut c_void> = more();
    made.unwrap_or(null_mut())
}

/// # Safety
/// As for `list_alloc`; `block` comes from it, or is null.
unsafe extern "C" fn list_free(this: *mut OrtAllocator, block: *mut c_void) {
    // SAFETY: as above. The buffer is freed with the list.
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
