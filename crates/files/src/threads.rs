//! How many threads may read a file when it is opened.
//!
//! There is one number for the process, as a file is opened before it is known what is asked of it.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The number; 0 for as many as there are cores.
static MOST: AtomicUsize = AtomicUsize::new(0);

/// Sets the number of threads of this process; `None` for as many as there are cores.
pub fn set_most(n_threads: Option<NonZeroUsize>) {
    MOST.store(n_threads.map_or(0, NonZeroUsize::get), Ordering::Relaxed);
}

/// The number of threads: at least one.
pub fn most() -> usize {
    match MOST.load(Ordering::Relaxed) {
        0 => std::thread::available_parallelism().map_or(1, NonZeroUsize::get),
        most => most,
    }
}
