//! The event stream of each thread.
//!
//! Law: a thread gets its stream with its first event and gives it back when it ends; a stream of the process
//! before a fork is never used.

use super::mapping::MappedFile;
use super::{Process, generation, sampling};
use ouzel_recording::window::WindowedStream;
use std::cell::{Cell, RefCell};

/// What a thread holds.
struct Held {
    process: &'static Process,
    stream: Option<WindowedStream<MappedFile>>,
    slot: u32,
}

thread_local! {
    static HELD: RefCell<Option<Box<Held>>> = const { RefCell::new(None) };
    /// Whether the thread is ending, which is known without a destructor.
    static IS_ENDING: Cell<bool> = const { Cell::new(false) };
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = IS_ENDING.try_with(|is_ending| is_ending.set(true));
        sampling::end_thread();
        let Some(stream) = self.stream.take() else { return };
        if self.process.generation() == generation() {
            self.process.give_back(stream);
        } else {
            // It is the parent's, which goes on writing there.
            std::mem::forget(stream);
        }
    }
}

/// Writes to the stream of this thread. None if it has none and cannot get one.
pub fn with<R>(
    process: &'static Process,
    write: impl FnOnce(&mut WindowedStream<MappedFile>) -> R,
) -> Option<R> {
    if IS_ENDING.with(Cell::get) {
        return None;
    }
    let using = HELD.try_with(|held| {
        let mut held = held.try_borrow_mut().ok()?;
        let is_current = held.as_ref().is_some_and(|held| held.process.generation() == process.generation());
        if !is_current {
            let stream = process.stream()?;
            // The slot is asked for when the process ends.
            let slot = stream.space().slot();
            let parents = held.replace(Box::new(Held { process, stream: Some(stream), slot }));
            // What was held before a fork is the parent's.
            std::mem::forget(parents);
        }
        held.as_mut()?.stream.as_mut().map(write)
    });
    using.ok().flatten()
}

/// The slot of this thread's stream.
pub fn slot(process: &Process) -> Option<u32> {
    let held = |held: &RefCell<Option<Box<Held>>>| {
        let held = held.try_borrow().ok()?;
        held.as_ref().filter(|held| held.process.generation() == process.generation()).map(|held| held.slot)
    };
    HELD.try_with(held).ok().flatten()
}
