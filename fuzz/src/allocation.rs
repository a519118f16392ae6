//! Counts allocated bytes, to check the memory bounds of decoders.
//!
//! Law: what is allocated at once while an input is read stays below a constant factor of the
//! input and a fixed sum. This is the only module of the project's own code with `unsafe`.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn add(n_bytes: usize) {
    let held = HELD.fetch_add(n_bytes, Relaxed) + n_bytes;
    PEAK.fetch_max(held, Relaxed);
}

fn sub(n_bytes: usize) {
    HELD.fetch_sub(n_bytes, Relaxed);
}

// SAFETY: every call goes to the system's allocator unchanged; counting touches atomics only.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: the caller guarantees what the system's allocator requires.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        sub(layout.size());
        // SAFETY: the pointer came from the system's allocator with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // Both blocks may exist for a moment.
        add(new_size);
        sub(layout.size());
        // SAFETY: the pointer came from the system's allocator with this layout.
        unsafe { System.realloc(pointer, layout, new_size) }
    }
}

/// How much may be held at once.
#[derive(Debug, Clone, Copy)]
pub struct Limit {
    /// Bytes for each byte of the input.
    pub factor: usize,
    /// Bytes for any input.
    pub fixed: usize,
}

/// Decoders: `Definitions` index a record of four bytes in forty; a vector that grows holds three times as much.
pub const DECODER: Limit = Limit { factor: 160, fixed: 1 << 20 };

/// The whole way to a profile: an enter of two bytes may be a call path of its own in every table.
pub const ARCHIVE: Limit = Limit { factor: 2048, fixed: 16 << 20 };

/// Does `work` on an input of `n_bytes` and panics if it held more than `limit` at once.
pub fn bounded<T>(n_bytes: usize, limit: Limit, work: impl FnOnce() -> T) -> T {
    let before = HELD.load(Relaxed);
    PEAK.store(before, Relaxed);
    let result = work();
    let peak = PEAK.load(Relaxed).saturating_sub(before);
    let allowed = limit.fixed + limit.factor * n_bytes;
    assert!(peak <= allowed, "{peak} bytes held at once for an input of {n_bytes}; {allowed} are allowed");
    result
}
