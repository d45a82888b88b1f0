//! An allocator that counts the blocks that Rust has, of all threads.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI64, Ordering};

static BLOCKS: AtomicI64 = AtomicI64::new(0);

pub struct Counting;

// SAFETY: everything goes to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BLOCKS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, data: *mut u8, layout: Layout) {
        BLOCKS.fetch_sub(1, Ordering::Relaxed);
        // SAFETY: as the caller's.
        unsafe { System.dealloc(data, layout) }
    }
}

/// How many blocks of Rust's allocator are in use.
pub fn blocks() -> i64 {
    BLOCKS.load(Ordering::Relaxed)
}
