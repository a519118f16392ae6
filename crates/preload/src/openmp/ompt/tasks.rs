//! Tasks: each is in a region from when a thread begins it until it is complete, inside of whatever the thread waits in.
//!
//! ```text
//! data of a task = the fork of the process + 1, and its region below; 0 if it is not recorded
//! ```

use super::super::{RecordedUse, bodies, close_beyond, enter, leave, n_open};
use super::{Data, goes_on, site, with_reported};
use crate::depth;
use crate::process::{self, Process, thread};
use ouzel_recording::openmp::Construct;
use std::ffi::{c_int, c_void};

/// Numbers of `ompt_callbacks_t`.
pub const CALLBACKS: &[(c_int, *const ())] =
    &[(5, task_create as *const ()), (6, task_schedule as *const ())];

/// `ompt_task_flag_t`: a task of the program, which has a body and runs here.
const EXPLICIT: c_int = 4;
const ELSEWHERE: c_int = 8 | 16;

/// A task that a thread has begun.
pub struct RunningTask {
    process: &'static Process,
    /// Where the runtime keeps what the tool knows of it, by which it is known.
    data: usize,
    region: u32,
    n_open: usize,
    /// Whether the thread was in the runtime, and waited for the end of its parallel region there.
    was_inside: bool,
    was_parked: bool,
}

unsafe extern "C" fn task_create(
    _parent: Data,
    _frame: *const c_void,
    task: Data,
    flags: c_int,
    _has_dependences: c_int,
    call: usize,
) {
    // SAFETY: the runtime passes where the tool may leave something for this task; null for none.
    let Some(task) = (unsafe { task.as_mut() }) else { return };
    *task = 0;
    if flags & EXPLICIT == 0 || flags & ELSEWHERE != 0 {
        return;
    }
    let Some(RecordedUse { process, _outermost }) = RecordedUse::begin() else { return };
    let Some(site) = site(call) else { return };
    if let Some(body) = bodies::noted(call) {
        site.has_body(process, Construct::Task, body);
    }
    let region = site.region(process, Construct::Task);
    *task = (u64::from(process.generation()) + 1) << 32 | u64::from(region);
}

/// `ompt_task_status_t`: the task is over, or its thread leaves it for another one. Others are of no task that the thread
/// runs.
const OVER: [c_int; 3] = [1, 3, 4];
const LEFT: [c_int; 2] = [2, 7];

unsafe extern "C" fn task_schedule(before: Data, status: c_int, next: Data) {
    if !OVER.contains(&status) && !LEFT.contains(&status) {
        return;
    }
    let (known_next, n_running) = with_reported(|it| {
        let place = |task: Data| it.tasks.iter().position(|running| running.data == task.addr());
        (place(next).is_some(), place(before).map_or(0, |at| it.tasks.len() - at))
    })
    .unwrap_or((false, 0));
    // SAFETY: null, or what `task_create` has written.
    let recorded = unsafe { next.as_ref() }.and_then(|&value| region(value));
    let begins = recorded.filter(|_| !known_next);
    // A task that is left for one that begins goes on afterwards.
    if OVER.contains(&status) || begins.is_none() {
        for _ in 0..n_running {
            if let Some(task) = with_reported(|it| it.tasks.pop()).flatten() {
                end(&task);
            }
        }
    }
    if let Some(region) = begins {
        begin(next.addr(), region);
    }
}

/// The region of a task of this process.
fn region(value: u64) -> Option<u32> {
    (value >> 32 == u64::from(process::generation()) + 1).then_some((value & u64::from(u32::MAX)) as u32)
}

fn begin(data: usize, region: u32) {
    let Some(process) = process::begun().filter(|process| goes_on(process)) else { return };
    let was_inside = depth::hold();
    let was_parked = thread::is_parked();
    if was_parked && !thread::resume() {
        return;
    }
    enter(process, region);
    let n_open = n_open(process);
    with_reported(|it| it.tasks.push(RunningTask { process, data, region, n_open, was_inside, was_parked }));
    depth::release();
}

fn end(task: &RunningTask) {
    depth::hold();
    if goes_on(task.process) {
        close_beyond(task.process, task.n_open);
        leave(task.process, task.region);
    }
    if task.was_parked {
        thread::park(None);
    }
    if !task.was_inside {
        depth::release();
    }
}
