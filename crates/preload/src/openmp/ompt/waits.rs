//! Where threads wait for each other, exclude each other, and share work.

use super::super::constructs::{CRITICAL, ORDERED};
use super::super::locks::{acquired, released};
use super::super::{RecordedUse, close, close_beyond, enter, leave, open, write};
use super::{BEGIN, Data, END, come, goes_on, site, with_reported};
use crate::clock;
use crate::depth;
use crate::process::{Process, thread};
use ouzel_otf2::records::event::Leave;
use ouzel_recording::openmp::Construct;
use std::ffi::{c_int, c_uint};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers of `ompt_callbacks_t`.
pub const CALLBACKS: &[(c_int, *const ())] = &[
    (17, mutex_released as *const ()),
    (20, work as *const ()),
    (23, sync_region as *const ()),
    (26, mutex_acquire as *const ()),
    (27, mutex_acquired as *const ()),
];

/// A wait, from its begin to its end.
pub struct Stay {
    process: &'static Process,
    /// None for a block, which is left by another report.
    region: Option<u32>,
    end: StayEnd,
}

/// What follows a wait.
enum StayEnd {
    /// The program.
    Program,
    /// The end of the parallel region at the thread that has forked, which says when that was.
    Join(Arc<AtomicU64>),
    /// The end of the parallel region at another thread, which hears of it late.
    Late,
}

/// What `ompt_sync_region_t` says, and whether it may be the barrier at the end of a parallel region.
fn wait(kind: c_int) -> Option<(Construct, bool)> {
    const END_OF_REGION: c_int = 9;
    match kind {
        2 | END_OF_REGION => Some((Construct::ImplicitBarrier, true)),
        // Of the implementation, of shared work, of teams.
        4 | 8 | 10 => Some((Construct::ImplicitBarrier, false)),
        1 | 3 => Some((Construct::Barrier, false)),
        5 => Some((Construct::TaskWait, false)),
        6 => Some((Construct::TaskGroup, false)),
        _ => None,
    }
}

unsafe extern "C" fn sync_region(kind: c_int, endpoint: c_int, _parallel: Data, _task: Data, call: usize) {
    match endpoint {
        BEGIN => {
            let stay = wait(kind).and_then(|(construct, may_end)| begin_wait(construct, may_end, call));
            with_reported(|it| it.stays.push(stay));
        }
        END => {
            if let Some(stay) = with_reported(|it| it.stays.pop()).flatten().flatten() {
                end_wait(stay);
            }
        }
        _ => {}
    }
}

fn begin_wait(construct: Construct, may_end: bool, call: usize) -> Option<Stay> {
    let process = come()?;
    if may_end && let Some(stay) = begin_last_wait(process, call) {
        return Some(stay);
    }
    let Some(site) = site(call) else {
        depth::release();
        return None;
    };
    let region = site.region(process, construct);
    enter(process, region);
    Some(Stay { process, region: Some(region), end: StayEnd::Program })
}

/// The barrier at the end of a parallel region. That of shared work has a call of its own; this one has that which forks, at
/// workers none.
fn begin_last_wait(process: &'static Process, call: usize) -> Option<Stay> {
    let member = with_reported(|it| {
        let member = it.members.last_mut()?.as_mut()?;
        let is_last = call == 0 || call == member.fork.call;
        is_last.then(|| {
            member.has_ended = member.begun.is_some_and(|begun| !begun.is_master);
            (Arc::clone(&member.fork), member.begun, member.n_open)
        })
    });
    let (fork, begun, n_open) = member.flatten()?;
    close_beyond(process, n_open);
    let region = fork.site.region(process, Construct::ImplicitBarrier);
    enter(process, region);
    let end = match begun {
        Some(begun) if !begun.is_master => {
            let [leave, end] = fork.team.worker_end(&begun);
            let events = [Leave { region }.into(), leave, end];
            thread::park(Some(thread::Awaited { over_ns: Arc::clone(&fork.joined_ns), events }));
            StayEnd::Late
        }
        _ => StayEnd::Join(Arc::clone(&fork.joined_ns)),
    };
    Some(Stay { process, region: Some(region), end })
}

fn end_wait(Stay { process, region, end }: Stay) {
    match (end, region) {
        (StayEnd::Late, _) => {
            if thread::resume() {
                thread::end_waiting(process);
            }
        }
        (StayEnd::Join(joined_ns), Some(region)) => {
            let now_ns = clock::now_ns();
            if goes_on(process) {
                write(process, now_ns, &[Leave { region }.into()]);
            }
            joined_ns.store(now_ns, Ordering::Release);
        }
        (StayEnd::Program, Some(region)) => {
            if goes_on(process) {
                leave(process, region);
            }
            depth::release();
        }
        (_, None) => depth::release(),
    }
}

/// `ompt_mutex_t`.
const LOCK: c_int = 1;
const TEST_LOCK: c_int = 2;
const CRITICAL_MUTEX: c_int = 5;
const ORDERED_MUTEX: c_int = 7;

/// The construct that a thread waits in, and the block that it may run then.
fn excluding(kind: c_int) -> Option<(Construct, Option<Construct>)> {
    match kind {
        LOCK => Some((Construct::SetLock, None)),
        CRITICAL_MUTEX => Some((CRITICAL.0, Some(CRITICAL.1))),
        ORDERED_MUTEX => Some((ORDERED.0, Some(ORDERED.1))),
        _ => None,
    }
}

unsafe extern "C" fn mutex_acquire(
    kind: c_int,
    _hint: c_uint,
    _implementation: c_uint,
    _lock: u64,
    call: usize,
) {
    let Some((construct, block)) = excluding(kind) else { return };
    let begin = || {
        let process = come()?;
        let Some(site) = site(call) else {
            depth::release();
            return None;
        };
        let region = site.region(process, construct);
        match block {
            Some(_) => open(process, construct, region),
            None => enter(process, region),
        }
        let region = block.is_none().then_some(region);
        Some(Stay { process, region, end: StayEnd::Program })
    };
    let stay = begin();
    with_reported(|it| it.stays.push(stay));
}

unsafe extern "C" fn mutex_acquired(kind: c_int, lock: u64, call: usize) {
    if kind == TEST_LOCK {
        if let Some(RecordedUse { process, _outermost }) = RecordedUse::begin() {
            acquired(process, lock as usize);
        }
        return;
    }
    let Some((_, block)) = excluding(kind) else { return };
    let Some(stay) = with_reported(|it| it.stays.pop()).flatten().flatten() else { return };
    if goes_on(stay.process) {
        if kind != ORDERED_MUTEX {
            acquired(stay.process, lock as usize);
        }
        if let Some((block, site)) = block.zip(site(call)) {
            open(stay.process, block, site.region(stay.process, block));
        }
    }
    end_wait(stay);
}

unsafe extern "C" fn mutex_released(kind: c_int, lock: u64, _call: usize) {
    let Some(RecordedUse { process, _outermost }) = RecordedUse::begin() else { return };
    let block = excluding(kind).and_then(|(construct, block)| Some((construct, block?)));
    if let Some((_, block)) = block {
        close(process, block);
    }
    if matches!(kind, LOCK | TEST_LOCK | CRITICAL_MUTEX) {
        released(process, lock as usize);
    }
    if let Some((construct, _)) = block {
        close(process, construct);
    }
}

/// What `ompt_work_t` says.
fn shared_work(kind: c_int) -> Option<Construct> {
    match kind {
        // The last four say how iterations are shared, from OpenMP 5.2 on.
        1 | 10..=13 => Some(Construct::Loop),
        2 => Some(Construct::Sections),
        3 => Some(Construct::Single),
        _ => None,
    }
}

unsafe extern "C" fn work(
    kind: c_int,
    endpoint: c_int,
    _parallel: Data,
    _task: Data,
    _count: u64,
    call: usize,
) {
    let Some(construct) = shared_work(kind) else { return };
    let Some(RecordedUse { process, _outermost }) = RecordedUse::begin() else { return };
    match endpoint {
        BEGIN => {
            if let Some(site) = site(call) {
                open(process, construct, site.region(process, construct));
            }
        }
        END => close(process, construct),
        _ => {}
    }
}
