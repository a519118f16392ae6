//! How many threads may read a file when it is opened.
//!
//! There is one number for the process, as a file is opened before it is known what is asked of it.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The number; 0 if none was set.
static MOST: AtomicUsize = AtomicUsize::new(0);

/// Sets the number of threads of this process; until then it is that of the cores.
pub fn set_most(n_threads: NonZeroUsize) {
    MOST.store(n_threads.get(), Ordering::Relaxed);
}

/// The number of threads: at least one.
pub fn most() -> usize {
    match MOST.load(Ordering::Relaxed) {
        0 => std::thread::available_parallelism().map_or(1, NonZeroUsize::get),
        most => most,
    }
}
