//! An allocator that counts the blocks of all threads.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI64, Ordering};

static BLOCKS: AtomicI64 = AtomicI64::new(0);

pub struct Counting;

// SAFETY: all calls are passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BLOCKS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, data: *mut u8, layout: Layout) {
        BLOCKS.fetch_sub(1, Ordering::Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(data, layout) }
    }
}

/// Returns the number of blocks of Rust's allocator that are in use.
pub fn blocks() -> i64 {
    BLOCKS.load(Ordering::Relaxed)
}
