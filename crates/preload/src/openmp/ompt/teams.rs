//! Parallel regions and the threads in them.
//!
//! Law: a worker hears that a region is over only when the next one begins, or never. So the thread that has forked says when
//! it left the barrier at the region's end, which it does when all have come; workers leave it at that time.

use super::super::sites::Site;
use super::super::teams::{Begun, Members, Team, change_level, forking, level};
use super::super::{bodies, close_beyond, n_open};
use super::{BEGIN, Data, END, come, goes_on, site, with_reported};
use crate::clock;
use crate::depth;
use ouzel_recording::openmp::Construct;
use std::cell::Cell;
use std::ffi::{c_int, c_uint, c_void};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// Numbers of `ompt_callbacks_t`.
pub const CALLBACKS: &[(c_int, *const ())] =
    &[(3, parallel_begin as *const ()), (4, parallel_end as *const ()), (7, implicit_task as *const ())];

/// `ompt_parallel_league`: initial threads of teams, not one team.
const LEAGUE: c_int = 0x4000_0000;
/// `ompt_task_initial`.
const INITIAL: c_int = 1;

/// A parallel region.
pub struct Fork {
    pub team: Team,
    pub site: &'static Site,
    /// Where the call that begins it returns to.
    pub call: usize,
    /// When all threads had come to the barrier that ends it; 0 before.
    pub joined_ns: Arc<AtomicU64>,
}

/// A thread in a team.
pub struct Member {
    pub fork: Arc<Fork>,
    pub begun: Option<Begun>,
    /// Regions that are open outside.
    pub n_open: usize,
    /// Whether what ends its part is written, or will be when the region is over.
    pub has_ended: bool,
}

/// A thread that has forked, and whether there are others that have: they may get threads that it gives back.
static FORKED: AtomicUsize = AtomicUsize::new(0);
static HAVE_OTHERS: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// How many threads this one has asked for last.
    static N_REQUESTED: Cell<u32> = const { Cell::new(0) };
}

/// Which threads the runtime takes for a team of this thread. It keeps those of the last outermost one; what it gives back
/// when a team becomes smaller, it takes in the same order again if nobody else has.
fn members(n_requested: u32) -> Members {
    if level() != 0 {
        return Members::Free;
    }
    let this_thread = N_REQUESTED.with(|cell| ptr::from_ref(cell).addr());
    let first = FORKED.compare_exchange(0, this_thread, Ordering::Relaxed, Ordering::Relaxed);
    if first.is_err_and(|other| other != this_thread) {
        HAVE_OTHERS.store(true, Ordering::Relaxed);
    }
    let is_same = N_REQUESTED.replace(n_requested) == n_requested;
    if is_same || !HAVE_OTHERS.load(Ordering::Relaxed) { Members::Kept } else { Members::Changed }
}

unsafe extern "C" fn parallel_begin(
    _task: Data,
    _frame: *const c_void,
    parallel: Data,
    n_requested: c_uint,
    flags: c_int,
    call: usize,
) {
    // SAFETY: the runtime passes where the tool may leave something for this region.
    let parallel = unsafe { &mut *parallel };
    *parallel = 0;
    if flags & LEAGUE != 0 {
        return;
    }
    let Some(process) = come() else { return };
    let Some(site) = site(call) else { return depth::release() };
    if let Some(body) = bodies::noted(call) {
        site.has_body(process, Construct::Parallel, body);
    }
    let region = site.region(process, Construct::Parallel);
    let team = Team::fork(process, region, n_requested, clock::now_ns(), members(n_requested));
    let fork = Arc::new(Fork { team, site, call, joined_ns: Arc::default() });
    // Until the region ends, this is a reference to it.
    forking(&raw const fork.team);
    *parallel = Arc::into_raw(fork).addr() as u64;
    // The thread stays in the runtime until its part begins.
}

unsafe extern "C" fn parallel_end(parallel: Data, _task: Data, _flags: c_int, _call: usize) {
    // SAFETY: as above; workers of the region have references of their own.
    let Some(fork) = (unsafe { taken(parallel) }) else { return };
    forking(ptr::null());
    if goes_on(fork.team.process) {
        fork.team.join();
    }
    depth::release();
}

/// The region whose beginning has left it there.
unsafe fn taken(parallel: Data) -> Option<Arc<Fork>> {
    // SAFETY: null, or what `parallel_begin` has written.
    unsafe {
        let place = parallel.as_mut()?;
        let fork = std::mem::take(place) as usize as *const Fork;
        (!fork.is_null()).then(|| Arc::from_raw(fork))
    }
}

/// The same for another thread, while it is there.
unsafe fn shared(parallel: Data) -> Option<Arc<Fork>> {
    // SAFETY: as above; the region has not ended, so the first reference is still there.
    unsafe {
        let fork = *parallel.as_ref()? as usize as *const Fork;
        (!fork.is_null()).then(|| {
            Arc::increment_strong_count(fork);
            Arc::from_raw(fork)
        })
    }
}

unsafe extern "C" fn implicit_task(
    endpoint: c_int,
    parallel: Data,
    _task: Data,
    n_threads: c_uint,
    number: c_uint,
    flags: c_int,
) {
    if flags & INITIAL != 0 {
        return;
    }
    match endpoint {
        BEGIN => {
            // SAFETY: the region's data, which the runtime has copied.
            let fork = unsafe { shared(parallel) };
            let is_recorded = fork.is_some();
            let member = fork.map(|fork| begin(fork, number, n_threads));
            with_reported(|it| it.members.push(member));
            if is_recorded {
                depth::release();
            }
        }
        END => {
            if let Some(member) = with_reported(|it| it.members.pop()).flatten().flatten() {
                end(&member);
            }
        }
        _ => {}
    }
}

fn begin(fork: Arc<Fork>, number: u32, n_threads: u32) -> Member {
    depth::hold();
    let team = &fork.team;
    if team.is_master() {
        // Threads that the body creates are others.
        forking(ptr::null());
    }
    let begun = if goes_on(team.process) { team.begin(number, n_threads) } else { None };
    let n_open = n_open(team.process);
    change_level(true);
    Member { fork, begun, n_open, has_ended: false }
}

fn end(member: &Member) {
    // It is so already, unless the region has ended without a barrier.
    depth::hold();
    change_level(false);
    let team = &member.fork.team;
    if let Some(begun) = member.begun.filter(|_| !member.has_ended && goes_on(team.process)) {
        close_beyond(team.process, member.n_open);
        team.end(&begun);
    }
    // A worker stays in the runtime; for the thread that has forked, the end of the region comes next.
}
