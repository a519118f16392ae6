//! The event stream of each thread.
//!
//! Law: a thread gets its stream with its first event and gives it back when it ends; a stream of the process
//! before a fork is never used. A thread that waits where it may never wake parks its stream: then the end of the process
//! completes it.

use super::counters::ThreadCounters;
use super::mapping::MappedFile;
use super::{Process, generation, sampling};
use crate::clock;
use ouzel_otf2::records::Event;
use ouzel_otf2::records::event::{Enter, Leave};
use ouzel_recording::slots::N_SLOTS;
use ouzel_recording::window::WindowedStream;
use std::cell::{Cell, RefCell};
use std::mem;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// What a thread holds.
struct Held {
    process: &'static Process,
    stream: Option<WindowedStream<MappedFile>>,
    slot: u32,
    counters: ThreadCounters,
    awaited: Option<Awaited>,
}

/// What a thread writes of a wait whose end it hears of late, or never: another one knows when it was.
pub struct Awaited {
    /// Nanoseconds; 0 until it is over.
    pub over_ns: Arc<AtomicU64>,
    pub events: [Event<'static>; 3],
}

/// What threads hold that are parked.
static PARKED: [AtomicPtr<Held>; N_SLOTS] = [const { AtomicPtr::new(ptr::null_mut()) }; N_SLOTS];

thread_local! {
    static HELD: RefCell<Option<Box<Held>>> = const { RefCell::new(None) };
    /// Where this thread is parked.
    static PARKED_AT: Cell<Option<u32>> = const { Cell::new(None) };
    /// Whether the thread is ending, which is known without a destructor.
    static IS_ENDING: Cell<bool> = const { Cell::new(false) };
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = IS_ENDING.try_with(|is_ending| is_ending.set(true));
        sampling::end_thread();
        let Some(mut stream) = self.stream.take() else { return };
        if self.process.generation() == generation() {
            self.counters.write(&mut stream, clock::now_ns());
            stream.space_mut().counted = self.counters.last();
            self.counters.entry().iter().for_each(|entry| self.process.entry(entry));
            self.process.give_back(stream);
        } else {
            // It is the parent's, which goes on writing there.
            mem::forget(stream);
        }
    }
}

/// Writes to the stream of this thread. None if it has none and cannot get one.
#[inline]
pub fn with<R>(
    process: &'static Process,
    write: impl FnOnce(&mut WindowedStream<MappedFile>) -> R,
) -> Option<R> {
    with_own(process, |held| held.stream.as_mut().map(write)).flatten()
}

/// What this thread has, which is made first if it has nothing.
#[inline]
fn with_own<R>(process: &'static Process, use_it: impl FnOnce(&mut Held) -> R) -> Option<R> {
    let using = |held: &RefCell<Option<Box<Held>>>| {
        let mut held = held.try_borrow_mut().ok()?;
        let is_current = held.as_ref().is_some_and(|held| held.process.generation() == process.generation());
        if !is_current {
            make(process, &mut held)?;
        }
        held.as_mut().map(|held| use_it(held))
    };
    HELD.try_with(using).ok().flatten()
}

#[cold]
fn make(process: &'static Process, held: &mut Option<Box<Held>>) -> Option<()> {
    if IS_ENDING.with(Cell::get) {
        return None;
    }
    let stream = process.stream()?;
    // The slot is asked for when the process ends.
    let slot = stream.space().slot();
    let counters = ThreadCounters::new(process, stream.space().counted);
    let new = Held { process, stream: Some(stream), slot, counters, awaited: None };
    let parents = held.replace(Box::new(new));
    // What was held before a fork is the parent's, but for the files that were inherited.
    if let Some(mut parents) = parents {
        parents.counters.close();
        mem::forget(parents);
    }
    Some(())
}

/// Whether this thread's stream is where the end of the process finds it.
pub fn is_parked() -> bool {
    PARKED_AT.get().is_some()
}

/// Leaves this thread's stream to the end of the process, unless the thread takes it back: it waits for something, and
/// writes nothing meanwhile. What it has to write when that is over stays the same if it is left out here.
pub fn park(awaited: Option<Awaited>) {
    let Some(mut held) = HELD.try_with(RefCell::take).ok().flatten() else { return };
    if awaited.is_some() {
        held.awaited = awaited;
    }
    let slot = held.slot;
    // The child of a fork finds what was its parent's.
    let _of_parent = PARKED[slot as usize].swap(Box::into_raw(held), Ordering::AcqRel);
    PARKED_AT.set(Some(slot));
}

/// Takes this thread's stream back. False if it was not parked, or the end of the process has it.
pub fn resume() -> bool {
    let Some(slot) = PARKED_AT.take() else { return false };
    let held = PARKED[slot as usize].swap(ptr::null_mut(), Ordering::AcqRel);
    if held.is_null() {
        IS_ENDING.set(true);
        return false;
    }
    // SAFETY: it came from a box, and who takes it out of the table has it alone.
    let held = unsafe { Box::from_raw(held) };
    drop(HELD.try_with(|place| place.replace(Some(held))));
    true
}

/// What this thread has waited for is over.
pub fn end_waiting(process: &Process) {
    with_held(process, |held| held.write_awaited(Some(clock::now_ns())));
}

/// The process ends: threads that are parked have waited until what they wait for was over.
pub fn end_parked(process: &Process) {
    for place in &PARKED {
        let held = place.swap(ptr::null_mut(), Ordering::AcqRel);
        if !held.is_null() {
            // SAFETY: as in `resume`.
            let mut held = unsafe { Box::from_raw(held) };
            if held.process.generation() == process.generation() {
                held.write_awaited(None);
            }
            // Its counters are those of its own thread, which is still there.
            mem::forget(held);
        }
    }
}

/// The slot of this thread's stream.
pub fn slot(process: &Process) -> Option<u32> {
    let held = |held: &RefCell<Option<Box<Held>>>| {
        let held = held.try_borrow().ok()?;
        held.as_ref().filter(|held| held.process.generation() == process.generation()).map(|held| held.slot)
    };
    HELD.try_with(held).ok().flatten()
}

fn with_held<R>(process: &Process, use_it: impl FnOnce(&mut Held) -> R) -> Option<R> {
    let using = |held: &RefCell<Option<Box<Held>>>| {
        let mut held = held.try_borrow_mut().ok()?;
        held.as_mut().filter(|held| held.process.generation() == process.generation()).map(|it| use_it(it))
    };
    HELD.try_with(using).ok().flatten()
}

impl Held {
    /// Where nobody has said when the wait was over, it was at `otherwise`, or still goes on.
    fn write_awaited(&mut self, otherwise: Option<u64>) {
        if let (Some(Awaited { over_ns, events }), Some(stream)) = (self.awaited.take(), &mut self.stream) {
            let said = Some(over_ns.load(Ordering::Acquire)).filter(|&ns| ns != 0);
            if let Some(over_ns) = said.or(otherwise) {
                for event in &events {
                    stream.write(over_ns, event);
                }
            }
        }
    }

    /// Enters a region, and reads counters if they may be read: whether they were, and when it is entered, which is after
    /// that.
    fn enter(&mut self, time_ns: u64, region: u32) -> (bool, u64) {
        let has_counters = !self.process.counts_nothing();
        let is_read = has_counters && self.counters.may_read(time_ns);
        if is_read {
            self.count(time_ns);
        }
        let is_noted = has_counters && self.note_memory(time_ns);
        let Some(stream) = &mut self.stream else { return (is_read, time_ns) };
        stream.write(time_ns, &Enter { region }.into());
        let is_late = is_read || is_noted;
        (is_read, if is_late { stream.postpone(time_ns, clock::now_ns()) } else { time_ns })
    }

    fn count(&mut self, time_ns: u64) {
        if let Some(stream) = &mut self.stream {
            self.counters.write(stream, time_ns);
        }
    }

    /// The memory of the process, if it is time; whether it was.
    fn note_memory(&mut self, time_ns: u64) -> bool {
        if let (Some(clock), Some(stream)) = (&self.process.memory, &mut self.stream)
            && clock.is_due(time_ns)
        {
            clock.write(stream, time_ns);
            return true;
        }
        false
    }
}

/// Writes the values of this thread's counters, and the memory if it is time.
pub fn count(process: &'static Process, time_ns: u64) {
    if process.counts_nothing() {
        return;
    }
    with_own(process, |held| {
        held.count(time_ns);
        held.note_memory(time_ns);
    });
}

/// The same, unless values were written before.
pub fn begin_counting(process: &'static Process, time_ns: u64) {
    if with_held(process, |held| held.counters.has_begun()) == Some(false) {
        count(process, time_ns);
    }
}

/// A call of `region` begins: its counters are read if they may be. Gives whether they were, for [`leave_call`], and when
/// the call begins: after that.
pub fn enter_call(process: &'static Process, time_ns: u64, region: u32) -> (bool, u64) {
    with_own(process, |held| held.enter(time_ns, region)).unwrap_or((false, time_ns))
}

/// A call that was entered at `begin_ns` begins now: what the recorder has done since is no part of it.
pub fn begin_call(process: &'static Process, begin_ns: u64) {
    with(process, |stream| stream.postpone(begin_ns, clock::now_ns()));
}

/// A call of a region ends, whose counters were read or not when it began.
pub fn leave_call(process: &'static Process, time_ns: u64, (region, is_read): (u32, bool)) {
    with_own(process, |held| {
        if is_read {
            held.count(time_ns);
        }
        if let Some(stream) = &mut held.stream {
            stream.write(time_ns, &Leave { region }.into());
        }
    });
}

/// A region is entered, of those that may be nested, and its counters are read if they may be.
pub fn enter_region(process: &'static Process, region: u32) {
    with_own(process, |held| {
        let (is_read, _) = held.enter(clock::now_ns(), region);
        held.counters.open().enter(is_read);
    });
}

/// The innermost region is left.
pub fn leave_region(process: &'static Process, time_ns: u64, region: u32) {
    with_own(process, |held| {
        if held.counters.open().leave() {
            held.count(time_ns);
        }
        if let Some(stream) = &mut held.stream {
            stream.write(time_ns, &Leave { region }.into());
        }
    });
}

/// Says what became of this thread's counters, as the process ends.
pub fn end_counting(process: &'static Process) {
    let entry = with_held(process, |held| held.counters.entry()).flatten();
    entry.iter().for_each(|entry| process.entry(entry));
}
