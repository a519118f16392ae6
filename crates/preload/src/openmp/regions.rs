//! Parallel regions of libgomp: the body that the runtime gets is the recorder's, which runs the program's.
//!
//! Law: all threads of a team are back before the fork is over, so that what the master has on its stack may be theirs.

use super::sites::Site;
use super::teams::{Begun, Members, Team, change_level, forking};
use super::{RecordedUse, close_beyond, n_open, open, sites};
use crate::depth;
use crate::next;
use crate::process::{self, sampling};
use ouzel_recording::openmp::Construct;
use std::ffi::{CStr, c_void};
use std::ptr;

/// The body of a parallel region.
type Body = unsafe extern "C-unwind" fn(*mut c_void);

/// What the threads of a team share.
struct Fork {
    team: Team,
    body: Body,
    data: *mut c_void,
    site: &'static Site,
    /// Of the construct that is all of the body.
    inner: Option<(Construct, u32)>,
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
    let begin_ns = sampling::at_call(process, region);
    let n_requested = rest.first().map_or(0, |&n| n as u32);
    let fork = Fork {
        team: Team::fork(process, region, n_requested, begin_ns, Members::Kept),
        body,
        data,
        site,
        inner: inner.map(|construct| (construct, site.region(process, construct))),
    };
    let around = forking(&raw const fork.team);
    invoke(in_team as *const () as usize, (&raw const fork).addr());
    forking(around);
    fork.team.join();
}

/// What each thread of a team runs.
unsafe extern "C-unwind" fn in_team(fork: *mut c_void) {
    // SAFETY: `parallel` above waits until all threads are back.
    let fork = unsafe { &*fork.cast_const().cast::<Fork>() };
    depth::hold();
    // Teams that the body forks are others.
    let around = forking(ptr::null());
    let is_recorded = process::is_on() && fork.team.process.is_current();
    let begun = if is_recorded { begin(fork) } else { None };
    change_level(true);
    let around_body = sites::replace_body(fork.body as *const () as usize);
    depth::release();
    // SAFETY: the program's body with its data.
    unsafe { (fork.body)(fork.data) };
    depth::hold();
    sites::replace_body(around_body);
    change_level(false);
    if let Some((begun, n_open)) = begun.filter(|_| process::is_on()) {
        end(fork, &begun, n_open);
    }
    forking(around);
    // The thread stays in the runtime, or the fork is about to end.
}

/// With the number of regions that are open outside.
fn begin(fork: &Fork) -> Option<(Begun, usize)> {
    let (number, n_threads) = fork.site.runtime.team();
    let begun = fork.team.begin(number, n_threads)?;
    let n_open = n_open(fork.team.process);
    if let Some((construct, region)) = fork.inner {
        open(fork.team.process, construct, region);
    }
    Some((begun, n_open))
}

fn end(fork: &Fork, begun: &Begun, n_open: usize) {
    let process = fork.team.process;
    close_beyond(process, n_open);
    if let Some(barrier) = fork.site.runtime.barrier().filter(|_| 1 < begun.n_threads) {
        let region = fork.site.region(process, Construct::ImplicitBarrier);
        super::enter(process, region);
        // SAFETY: all threads of the team come here, and this is no place where they may not wait for each other: the
        // barrier of the runtime is next.
        unsafe { barrier() };
        super::leave(process, region);
    }
    fork.team.end(begun);
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
