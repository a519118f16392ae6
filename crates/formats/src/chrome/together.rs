//! The files of a trace, read at the same time by one thread each, or by several where files are fewer than threads.
//!
//! ```text
//! file 0 ──thread 1──► records, names ──┐
//! file 1 ──thread 2──► records, names ──┼──► added to the trace in the order of the files
//! file 2 ──thread 1──► records, names ──┘
//! ```
//! A file that is read before one that comes before it waits with its names; records go to the scratch of all.
//!
//! Law: the trace, or the error, is that of reading the files one after the other.

use super::ahead::Ahead;
use super::draft::TraceDraft;
use super::parse::{self, ReadFile};
use super::record::{Scratch, Store};
use super::window::Window;
use ouzel_files::threads;
use ouzel_model::ReadError;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Reads all files of a trace.
///
/// # Errors
/// Of the first file that cannot be opened or holds no trace, or for which the temporary file cannot be used.
pub(super) fn read(paths: &[PathBuf]) -> Result<TraceDraft, ReadError> {
    read_by(threads::most(), paths)
}

/// The same by so many threads.
pub(super) fn read_by(n_threads: usize, paths: &[PathBuf]) -> Result<TraceDraft, ReadError> {
    let n_at_once = n_threads.min(paths.len()).max(1);
    let ahead = Ahead::by(n_threads / n_at_once);
    let scratch = Arc::new(Scratch::default());
    let read_one = |nth: usize| {
        let store = Store::of_many(n_at_once, scratch.clone());
        parse::read(nth, Window::open(&paths[nth])?, ahead, store)
    };
    let next = AtomicUsize::new(0);
    let together = Mutex::new(Together::default());
    let work = || {
        loop {
            let nth = next.fetch_add(1, Ordering::Relaxed);
            if paths.len() <= nth {
                break;
            }
            let read = read_one(nth);
            if read.is_err() {
                // Those before it are begun already.
                next.store(paths.len(), Ordering::Relaxed);
            }
            together.lock().unwrap_or_else(PoisonError::into_inner).add(nth, read);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..n_at_once {
            // Where no more threads may be begun, there are fewer.
            drop(std::thread::Builder::new().spawn_scoped(scope, work));
        }
        work();
    });
    let Together { trace, error, .. } = together.into_inner().unwrap_or_else(PoisonError::into_inner);
    error.map_or(Ok(trace), Err)
}

/// What was read, up to the first file that is not there yet.
#[derive(Default)]
struct Together {
    trace: TraceDraft,
    /// Read files that come later.
    waiting: BTreeMap<usize, Result<ReadFile, ReadError>>,
    n_added: usize,
    error: Option<ReadError>,
}

impl Together {
    fn add(&mut self, nth: usize, read: Result<ReadFile, ReadError>) {
        self.waiting.insert(nth, read);
        while let Some(read) = self.waiting.remove(&self.n_added) {
            self.n_added += 1;
            match read {
                Ok(read) if self.error.is_none() => self.trace.add(read),
                Ok(_) => {}
                Err(error) => {
                    self.error.get_or_insert(error);
                }
            }
        }
    }
}
