//! Parallel regions: a team forks, each of its threads runs the body, and the team joins.
//!
//! Law: all threads of a team are back before the fork is over, so that what the master has on its stack may be theirs.

use super::sites::Site;
use super::{RecordedUse, close_beyond, n_open, open, sites, write};
use crate::clock;
use crate::depth;
use crate::next;
use crate::process::{self, Process, sampling, thread};
use ouzel_otf2::records::enums::Paradigm;
use ouzel_otf2::records::event::{Enter, Leave, ThreadFork, ThreadJoin, ThreadTeamBegin, ThreadTeamEnd};
use ouzel_recording::journal::Entry;
use ouzel_recording::openmp::{self, Construct, N_EPOCHS};
use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

/// The body of a parallel region.
type Body = unsafe extern "C-unwind" fn(*mut c_void);

/// What the threads of a team share.
struct Fork {
    body: Body,
    data: *mut c_void,
    process: &'static Process,
    site: &'static Site,
    /// Of the parallel region.
    region: u32,
    /// Of the construct that is all of the body.
    inner: Option<(Construct, u32)>,
    /// Which thread has forked.
    master: usize,
    /// See [`openmp`].
    epoch: AtomicU32,
}

/// Epochs of this process.
static N_BEGUN: AtomicU32 = AtomicU32::new(0);
/// Levels of teams in teams; in deeper ones, each team has an epoch of its own.
const N_LEVELS: usize = 4;
/// Teams that a thread remembers to belong to.
const N_KNOWN: usize = 64;

thread_local! {
    /// The team that this thread forks just now.
    static FORKING: Cell<*const Fork> = const { Cell::new(ptr::null()) };
    /// Teams that this thread is in.
    static LEVEL: Cell<usize> = const { Cell::new(0) };
    /// For each of these levels the epoch of the teams that this thread has forked last: runtimes keep threads of the
    /// outermost teams, and those of inner ones are others.
    static EPOCHS: Cell<[Option<u32>; N_LEVELS]> = const { Cell::new([None; N_LEVELS]) };
    /// Teams that this thread has written down that it belongs to, with the fork of the process and the place of the next.
    static KNOWN: RefCell<(u32, usize, [u32; N_KNOWN])> = const { RefCell::new((0, 0, [0; N_KNOWN])) };
}

/// A number that only this thread has.
fn this_thread() -> usize {
    FORKING.with(|forking| ptr::from_ref(forking).addr())
}

fn next_epoch() -> u32 {
    // The last number is used again: a team of it has no certain members.
    let epoch = N_BEGUN.fetch_add(1, Ordering::Relaxed).min(N_EPOCHS);
    let mut epochs = EPOCHS.get();
    if let Some(of_level) = epochs.get_mut(LEVEL.get()) {
        *of_level = Some(epoch);
    }
    EPOCHS.set(epochs);
    epoch
}

/// This thread creates another one: whether for a team.
pub fn creates_thread() -> bool {
    // SAFETY: null, or on the stack of this thread, below the frame of the runtime that has called this.
    let Some(fork) = (unsafe { FORKING.get().as_ref() }) else { return false };
    fork.epoch.store(next_epoch(), Ordering::Release);
    true
}

/// A thread begins that has nothing to do until a team runs on it.
pub fn begin_idle() {
    depth::hold();
}

/// Runs a parallel region by the function of this name, which takes the body, its data and `rest`.
///
/// # Safety
/// The arguments are those that the function takes.
pub unsafe fn parallel(
    name: &'static CStr,
    inner: Option<Construct>,
    (body, data): (Body, *mut c_void),
    rest: &[usize],
) {
    let Some(site) = sites::site_of_body(name, body as *const () as usize) else { return };
    let invoke = |body: usize, data: usize| {
        let mut arguments = [0; 8];
        (arguments[0], arguments[1]) = (body, data);
        arguments[2..2 + rest.len()].copy_from_slice(rest);
        // SAFETY: the program's arguments, or the recorder's body with its own data.
        unsafe { next::invoke(site.real, &arguments[..2 + rest.len()]) };
    };
    let Some(RecordedUse { process, _outermost }) = RecordedUse::begin() else {
        return invoke(body as *const () as usize, data.addr());
    };
    let region = site.region(process, Construct::Parallel);
    let begin_ns = clock::now_ns();
    sampling::at_call(process, begin_ns);
    let n_requested = rest.first().map_or(0, |&n| n as u32);
    let fork = ThreadFork { model: Paradigm::OpenMp, number_of_requested_threads: n_requested };
    write(process, begin_ns, &[Enter { region }.into(), fork.into()]);
    let fork = Fork {
        body,
        data,
        process,
        site,
        region,
        inner: inner.map(|construct| (construct, site.region(process, construct))),
        master: this_thread(),
        epoch: AtomicU32::new(EPOCHS.get().get(LEVEL.get()).copied().flatten().unwrap_or_else(next_epoch)),
    };
    let around = FORKING.replace(&raw const fork);
    invoke(in_team as *const () as usize, (&raw const fork).addr());
    FORKING.set(around);
    let join = ThreadJoin { model: Paradigm::OpenMp };
    write(process, clock::now_ns(), &[join.into(), Leave { region }.into()]);
}

/// What each thread of a team runs.
unsafe extern "C-unwind" fn in_team(fork: *mut c_void) {
    // SAFETY: `parallel` above waits until all threads are back.
    let fork = unsafe { &*fork.cast_const().cast::<Fork>() };
    depth::hold();
    // Teams that the body forks are others.
    let around = FORKING.replace(ptr::null());
    let is_recorded = process::is_on() && fork.process.is_current();
    let begun = if is_recorded { begin(fork) } else { None };
    LEVEL.set(LEVEL.get() + 1);
    let around_body = sites::replace_body(fork.body as *const () as usize);
    depth::release();
    // SAFETY: the program's body with its data.
    unsafe { (fork.body)(fork.data) };
    depth::hold();
    sites::replace_body(around_body);
    LEVEL.set(LEVEL.get() - 1);
    if let Some(begun) = begun.filter(|_| process::is_on()) {
        end(fork, &begun);
    }
    FORKING.set(around);
    // The thread stays in the runtime, or the fork is about to end.
}

/// A thread in a team.
struct Begun {
    team: u32,
    n_threads: u32,
    n_open: usize,
    is_master: bool,
}

fn begin(fork: &Fork) -> Option<Begun> {
    let process = fork.process;
    let (number, n_threads) = fork.site.runtime.team();
    let Some(team) = openmp::team(fork.epoch.load(Ordering::Acquire), n_threads) else {
        process.lose(&"there are more teams of OpenMP than can be told apart");
        return None;
    };
    belong(process, team, number);
    let is_master = fork.master == this_thread();
    let (now_ns, begin) = (clock::now_ns(), ThreadTeamBegin { thread_team: team }.into());
    match is_master {
        true => write(process, now_ns, &[begin]),
        false => write(process, now_ns, &[begin, Enter { region: fork.region }.into()]),
    }
    let n_open = n_open(process);
    if let Some((construct, region)) = fork.inner {
        open(process, construct, region);
    }
    Some(Begun { team, n_threads, n_open, is_master })
}

/// Writes down once that this thread belongs to a team.
fn belong(process: &'static Process, team: u32, number: u32) {
    let is_new = |known: &RefCell<(u32, usize, [u32; N_KNOWN])>| {
        let mut known = known.borrow_mut();
        if known.0 != process.generation() {
            *known = (process.generation(), 0, [0; N_KNOWN]);
        }
        let is_new = !known.2.contains(&team);
        if is_new {
            let (_, next, all) = &mut *known;
            all[*next % N_KNOWN] = team;
            *next += 1;
        }
        is_new
    };
    if KNOWN.with(is_new) {
        // The slot is there after the first use.
        thread::with(process, |_| ());
        if let Some(slot) = thread::slot(process) {
            process.entry(&Entry::Team { id: team, number, slot });
        }
    }
}

fn end(fork: &Fork, begun: &Begun) {
    let process = fork.process;
    close_beyond(process, begun.n_open);
    if let Some(barrier) = fork.site.runtime.barrier().filter(|_| 1 < begun.n_threads) {
        let region = fork.site.region(process, Construct::ImplicitBarrier);
        super::enter(process, region);
        // SAFETY: all threads of the team come here, and this is no place where they may not wait for each other: the
        // barrier of the runtime is next.
        unsafe { barrier() };
        super::leave(process, region);
    }
    let end = ThreadTeamEnd { thread_team: begun.team }.into();
    let now_ns = clock::now_ns();
    match begun.is_master {
        true => write(process, now_ns, &[end]),
        false => write(process, now_ns, &[Leave { region: fork.region }.into(), end]),
    }
}

macro_rules! parallel {
    ($($name:ident $inner:expr, ($($argument:ident),*);)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name(body: Body, data: *mut c_void, $($argument: usize),*) {
            const NAME: &CStr = match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => c"",
            };
            // SAFETY: the caller's arguments.
            unsafe { parallel(NAME, $inner, (body, data), &[$($argument),*]) };
        }
    )*};
}

mod wrappers {
    use super::{Body, Construct, parallel};
    use std::ffi::{CStr, c_void};

    const LOOP: Option<Construct> = Some(Construct::Loop);

    parallel! {
        GOMP_parallel None, (n_threads, flags);
        GOMP_parallel_sections Some(Construct::Sections), (n_threads, count, flags);
        GOMP_parallel_loop_static LOOP, (n_threads, start, end, step, chunk, flags);
        GOMP_parallel_loop_dynamic LOOP, (n_threads, start, end, step, chunk, flags);
        GOMP_parallel_loop_guided LOOP, (n_threads, start, end, step, chunk, flags);
        GOMP_parallel_loop_runtime LOOP, (n_threads, start, end, step, flags);
        GOMP_parallel_loop_nonmonotonic_dynamic LOOP, (n_threads, start, end, step, chunk, flags);
        GOMP_parallel_loop_nonmonotonic_guided LOOP, (n_threads, start, end, step, chunk, flags);
        GOMP_parallel_loop_nonmonotonic_runtime LOOP, (n_threads, start, end, step, flags);
        GOMP_parallel_loop_maybe_nonmonotonic_runtime LOOP, (n_threads, start, end, step, flags);
    }
}
