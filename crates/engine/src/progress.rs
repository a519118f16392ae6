//! How far a pass is, updated by its workers and read by a progress bar.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How far a pass is. Shared with the code that draws the progress bar.
#[derive(Debug, Default)]
pub struct Progress {
    bytes: AtomicU64,
    cancelled: AtomicBool,
}

impl Progress {
    /// Bytes of event files are done.
    pub fn add(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Bytes of event files done.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Asks the pass to stop soon.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether it has been asked to stop.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}
