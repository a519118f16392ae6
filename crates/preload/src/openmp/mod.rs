//! OpenMP: wrappers of libgomp's functions, which GCC and gfortran make of directives, and the tool that libomp, the runtime
//! of Clang and Intel's compilers, reports to ([`ompt`]). Both write by the same functions.
//!
//! ```text
//! GOMP_parallel(f, data) ──► Fork ── the runtime's GOMP_parallel(in_team, fork) ── Join
//!                                      └─ each thread: TeamBegin · f(data) · implicit barrier · TeamEnd
//! libomp ──parallel_begin──► Fork · implicit_task ──► TeamBegin … TeamEnd · parallel_end ──► Join
//! ```
//! Law: the runtime gets the program's arguments, but for bodies, around which the recorder has its own, and is called
//! exactly once. Inside of the runtime nothing is recorded but bodies that it runs. A thread that waits for a team is
//! in the runtime. Hot paths allocate nothing: a place of the program has its regions after the first time.
//!
//! libgomp does not say when all threads have come to the barrier that ends a parallel region, which is inside of it. So
//! bodies of several threads end with a barrier of the team's own in front of that, as Score-P inserts it, too.

mod bodies;
mod constructs;
mod locks;
mod ompt;
mod regions;
mod sites;
mod tasks;
mod teams;

pub use teams::{begin_idle, creates_thread};

use crate::clock;
use crate::depth::Outermost;
use crate::process::{self, Process, thread};
use ouzel_otf2::records::Event;
use ouzel_otf2::records::event::{Enter, Leave};
use ouzel_recording::openmp::{Construct, OpenConstructs};
use std::cell::RefCell;

/// A call that is recorded.
struct RecordedUse {
    process: &'static Process,
    _outermost: Outermost,
}

thread_local! {
    /// With the fork of the process that they belong to. Without a destructor.
    static OPEN: RefCell<(u32, OpenConstructs)> = const { RefCell::new((0, OpenConstructs::new())) };
}

impl RecordedUse {
    /// None where nothing is recorded.
    fn begin() -> Option<Self> {
        if !process::records_openmp() {
            return None;
        }
        let outermost = Outermost::enter()?;
        let process = process::get().filter(|process| process.is_current())?;
        Some(RecordedUse { process, _outermost: outermost })
    }
}

/// Writes events of this thread at one moment.
fn write(process: &'static Process, time_ns: u64, events: &[Event<'static>]) {
    thread::with(process, |stream| {
        for event in events {
            stream.write(time_ns, event);
        }
    });
}

fn enter(process: &'static Process, region: u32) {
    write(process, clock::now_ns(), &[Enter { region }.into()]);
}

fn leave(process: &'static Process, region: u32) {
    write(process, clock::now_ns(), &[Leave { region }.into()]);
}

/// The constructs that are open at this thread.
fn with_open<R>(process: &Process, change: impl FnOnce(&mut OpenConstructs) -> R) -> Option<R> {
    let change = |open: &RefCell<(u32, OpenConstructs)>| {
        let mut open = open.try_borrow_mut().ok()?;
        if open.0 != process.generation() {
            *open = (process.generation(), OpenConstructs::new());
        }
        Some(change(&mut open.1))
    };
    OPEN.try_with(change).ok().flatten()
}

/// Enters the region of a construct that another call will leave.
fn open(process: &'static Process, construct: Construct, region: u32) {
    if with_open(process, |open| open.enter(construct, region)) == Some(true) {
        enter(process, region);
    }
}

/// Leaves the innermost region if it is of this construct.
fn close(process: &'static Process, construct: Construct) {
    if let Some(region) = with_open(process, |open| open.leave(construct)).flatten() {
        leave(process, region);
    }
}

/// A `single` that this thread runs ends, if there is one.
fn close_single(process: &'static Process) {
    if let Some(region) = with_open(process, |open| open.leave_innermost(Construct::Single)).flatten() {
        leave(process, region);
    }
}

/// Regions that are open at this thread.
fn n_open(process: &Process) -> usize {
    with_open(process, |open| open.len()).unwrap_or(0)
}

/// Leaves regions until only so many are open.
fn close_beyond(process: &'static Process, n: usize) {
    while let Some(region) = with_open(process, |open| open.leave_beyond(n)).flatten() {
        leave(process, region);
    }
}
