//! Samples of call paths: a signal after each period of a thread's processor time, and one at each call of MPI.
//!
//! ```text
//! thread begins ── start ──► signal ── walk the stack ── intern the path ── write the sample ──► … thread ends ── stop
//! ```
//! Law: a signal handler takes no lock and allocates nothing; what it needs was made when the thread began. Where the
//! recorder is at work already, so inside of MPI, a signal is ignored. Other signals of this number are the program's.

mod loading;
pub mod modules;
pub mod nodes;
mod signals;
pub mod thread;
mod threads;
mod timer;

use crate::clock;
use crate::depth::Outermost;
use crate::process::{self, Process};
use ouzel_otf2::records::event::CallingContextSample;
use ouzel_recording::journal::Entry;
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use thread::{Registers, ThreadSampler, Walked};
use timer::ThreadTimer;

/// Samples for each second of a thread's processor time; 0 if none are taken.
static HZ: AtomicU32 = AtomicU32::new(0);
static N_DUE: AtomicU64 = AtomicU64::new(0);
static N_INCOMPLETE: AtomicU64 = AtomicU64::new(0);
static N_LOST: AtomicU64 = AtomicU64::new(0);
/// Processor time before the first sample.
static BEFORE_NS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    // Without a destructor, so that a handler may use it while a thread ends.
    static SAMPLER: Cell<*mut ThreadSampler> = const { Cell::new(ptr::null_mut()) };
}

/// Whether samples are taken.
pub fn is_on() -> bool {
    HZ.load(Ordering::Relaxed) != 0
}

/// Calls a function that is not restarted after a signal: samples would end it before its time.
pub fn held_back<R>(call: impl FnOnce() -> R) -> R {
    if SAMPLER.get().is_null() { call() } else { signals::held_back(call) }
}

/// Begins to take samples in this process, if there are to be any.
pub fn begin(hz: u32) {
    if hz != 0 && signals::install() {
        HZ.store(hz, Ordering::Relaxed);
        start_process();
    }
}

/// Begins a recording with its main thread.
fn start_process() {
    [&N_DUE, &N_INCOMPLETE, &N_LOST].into_iter().for_each(|n| n.store(0, Ordering::Relaxed));
    BEFORE_NS.store(clock::processor_ns(), Ordering::Relaxed);
    let Some(_outermost) = Outermost::enter() else { return };
    let Some(process) = process::get() else { return };
    if let Some(paths) = nodes::of(process) {
        paths.begin();
    }
    modules::entries().iter().for_each(|entry| process.entry(entry));
    modules::renew(|entry| process.entry(entry));
    if let Some(source) = start(process) {
        process.entry(&source);
    }
}

/// In the child of a fork: what this thread has is its parent's.
pub fn forked() {
    if !is_on() {
        return;
    }
    let is_usable = modules::forked();
    let parents = SAMPLER.replace(ptr::null_mut());
    if !parents.is_null() {
        // SAFETY: it came from a box of this thread, and the handler no longer finds it.
        unsafe { Box::from_raw(parents) }.into_timer().forget();
    }
    if !is_usable {
        HZ.store(0, Ordering::Relaxed);
    } else if !parents.is_null() {
        start_process();
    }
}

/// Begins to take samples of this thread.
pub fn begin_thread() {
    if !is_on() {
        return;
    }
    let Some(_outermost) = Outermost::enter() else { return };
    if let Some(process) = process::begun().filter(|process| process.is_this()) {
        modules::renew_if_outdated(|entry| process.entry(entry));
        start(process);
    }
}

/// Makes what samples of this thread need; what the journal says of its timer.
fn start(process: &'static Process) -> Option<Entry> {
    // The stream is there before the first signal.
    process::thread::with(process, |_| ())?;
    process::thread::begin_counting(process, clock::now_ns());
    match ThreadTimer::start(HZ.load(Ordering::Relaxed)) {
        Ok(timer) => {
            let entry = timer.entry(HZ.load(Ordering::Relaxed));
            SAMPLER.set(Box::into_raw(Box::new(ThreadSampler::new(timer))));
            Some(entry)
        }
        Err(_) => {
            process.entry(&Entry::Sampler { hz: 0, source: "none".to_owned() });
            None
        }
    }
}

/// Ends the samples of this thread.
pub fn end_thread() {
    let sampler = SAMPLER.replace(ptr::null_mut());
    if !sampler.is_null() {
        // SAFETY: it came from a box of this thread, and the handler no longer finds it.
        drop(unsafe { Box::from_raw(sampler) });
    }
}

/// What became of samples up to now.
pub fn totals() -> Option<Entry> {
    is_on().then(|| Entry::Samples {
        n_due: N_DUE.load(Ordering::Relaxed),
        n_incomplete: N_INCOMPLETE.load(Ordering::Relaxed),
        n_lost: N_LOST.load(Ordering::Relaxed),
        processor_ns: clock::processor_ns().saturating_sub(BEFORE_NS.load(Ordering::Relaxed)),
    })
}

/// A call of MPI begins, of `region`: where the program is, unless the last sample has said so. Gives the time after
/// that: what the recorder does is no part of the call.
#[inline(always)]
pub fn at_call(process: &'static Process, region: u32) -> u64 {
    if is_on() {
        modules::renew_if_outdated(|entry| process.entry(entry));
        let at = Registers::here();
        return called(process, (at, Some(region)));
    }
    clock::now_ns()
}

/// As [`at_call`], for functions that signal handlers call: takes no lock and allocates nothing. Of code that was loaded
/// and of which no symbol was looked up, the path is not known yet.
#[inline(always)]
pub fn at_safe_call(process: &'static Process, region: u32) -> u64 {
    if is_on() {
        let at = Registers::here();
        return called(process, (at, Some(region)));
    }
    clock::now_ns()
}

/// As [`at_call`], for a call whose return address is at `place` on the stack: the program's registers are those that a
/// function of the recorder would begin with.
pub fn at_entry(process: &'static Process, place: u64, base: u64) {
    if is_on() {
        modules::renew_if_outdated(|entry| process.entry(entry));
        let at = Registers::of_entry(at_entry as *const () as u64, place, base);
        called(process, (at, None));
    }
}

/// The sample of a call; the time after it.
#[inline(never)]
fn called(process: &'static Process, at: (Registers, Option<u32>)) -> u64 {
    let sampler = own().filter(|_| process.records_now());
    let (Some(sampler), Some(paths)) = (sampler, nodes::of(process)) else { return clock::now_ns() };
    let walked = thread::with_table(|table| sampler.called(table, paths, at));
    let time_ns = clock::now_ns();
    match walked {
        // The last sample has said so.
        Some(walked) if walked.n_new == 0 && sampler.written == Some(walked.path) => {}
        walked => write(process, sampler, time_ns, walked),
    }
    time_ns
}

fn own() -> Option<&'static mut ThreadSampler> {
    // SAFETY: null, or a box of this thread that lives until `end_thread`. Only the outermost user on this thread has
    // it: callers hold an `Outermost`, and the handler comes here only if nobody else does.
    unsafe { SAMPLER.get().as_mut() }
}

/// A signal that is due.
///
/// # Safety
/// It is called by the kernel's signal frame with its context.
unsafe fn take(context: *mut c_void) {
    N_DUE.fetch_add(1, Ordering::Relaxed);
    let Some(_outermost) = Outermost::enter() else { return };
    let Some(process) = process::begun().filter(|it| process::is_on() && it.is_current()) else { return };
    let time_ns = clock::now_ns();
    if !process.records_at(time_ns) {
        return;
    }
    let Some(sampler) = own() else { return };
    let Some(paths) = nodes::of(process) else { return };
    // SAFETY: as the caller says.
    let at = unsafe { Registers::of_context(context.cast_const().cast()) };
    let walked = thread::with_table(|table| sampler.interrupted(table, paths, at));
    // Calls are samples, too, but none that was due.
    if walked.is_some_and(|walked| !walked.is_complete) {
        N_INCOMPLETE.fetch_add(1, Ordering::Relaxed);
    }
    write(process, sampler, time_ns, walked);
    // What was counted since the last sample is of the path of this one.
    process::thread::count(process, time_ns);
}

fn write(process: &'static Process, sampler: &mut ThreadSampler, time_ns: u64, walked: Option<Walked>) {
    let Some(Walked { path, n_new, .. }) = walked else {
        N_LOST.fetch_add(1, Ordering::Relaxed);
        return;
    };
    sampler.written = Some(path);
    let sample = CallingContextSample {
        calling_context: path.0,
        unwind_distance: n_new.max(1),
        interrupt_generator: 0,
    };
    process::thread::with(process, |stream| stream.write(time_ns, &sample.into()));
}
