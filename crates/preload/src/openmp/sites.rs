//! Where the program uses OpenMP: the real function for each place, and its regions.
//!
//! Law: a place is met once and stays; looking it up takes no lock and allocates nothing afterwards. The real function is
//! that of the runtime which the place's own file uses.

use crate::next;
use crate::process::Process;
use crate::process::regions::{Known, describe_body, describe_construct};
use ouzel_recording::openmp::Construct;
use std::cell::Cell;
use std::ffi::{CStr, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

/// What an address is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SiteKind {
    /// Where a call returns to.
    Call,
    /// A function that is the body of a construct.
    Body,
}

/// A call, or a function that is the body of a construct.
#[derive(Debug)]
pub struct Site {
    name: &'static CStr,
    address: usize,
    kind: SiteKind,
    /// Whether the recorder, or the runtime that reports, is what the call returns to: a body has ended with a jump.
    is_own: bool,
    /// The real function that is called; that which runs the body.
    pub real: *mut c_void,
    /// What else is asked of the runtime.
    pub runtime: Runtime,
    /// For each construct, its region below the number of the fork that it belongs to, which is one more than it is.
    regions: [AtomicU64; Construct::ALL.len()],
    /// The fork in which the function was written down that is the body of what a call begins.
    body_known: AtomicU64,
}

// SAFETY: it is never changed but for its atomic numbers.
unsafe impl Send for Site {}
// SAFETY: as above.
unsafe impl Sync for Site {}

/// Functions of a runtime.
#[derive(Debug, Clone, Copy, Default)]
pub struct Runtime {
    thread_num: Option<unsafe extern "C" fn() -> c_int>,
    num_threads: Option<unsafe extern "C" fn() -> c_int>,
    cancellation: Option<unsafe extern "C" fn() -> c_int>,
    barrier: Option<unsafe extern "C-unwind" fn()>,
}

/// Places that are kept. Programs have some hundreds.
const N_SITES: usize = 1 << 13;
/// How far from its first place a site may be kept.
const N_TRIES: usize = 64;

/// The name of no function.
const NO_FUNCTION: &CStr = c"";
/// A function of each runtime that reports; most programs have one.
static RUNTIMES: [AtomicUsize; 4] = [const { AtomicUsize::new(0) }; 4];

static SITES: [AtomicPtr<Site>; N_SITES] = [const { AtomicPtr::new(ptr::null_mut()) }; N_SITES];

thread_local! {
    /// The body that this thread runs.
    static BODY: Cell<usize> = const { Cell::new(0) };
}

/// From now on this thread runs another body; that which it has run.
pub fn replace_body(body: usize) -> usize {
    BODY.replace(body)
}

/// The site of a call that returns to `address`. None if the runtime has no such function.
pub fn site_of_call(name: &'static CStr, address: usize) -> Option<&'static Site> {
    let found = site(name, address, SiteKind::Call);
    let found = if found.is_own { site(name, BODY.get(), SiteKind::Body) } else { found };
    Some(found).filter(|site| !site.real.is_null())
}

/// The site of a body that begins at `address`, for the function that it is passed to. None if the runtime has no such
/// function.
pub fn site_of_body(name: &'static CStr, address: usize) -> Option<&'static Site> {
    Some(site(name, address, SiteKind::Body)).filter(|site| !site.real.is_null())
}

/// The site of a call that returns to `address`, of which the runtime says by itself what it does. None where that is not
/// known: a body has ended with a jump.
pub fn site_of_address(address: usize) -> Option<&'static Site> {
    (address != 0).then(|| site(NO_FUNCTION, address, SiteKind::Call)).filter(|site| !site.is_own)
}

/// A runtime that reports has this function.
pub fn know_runtime(function: usize) {
    let place = RUNTIMES.iter().find(|place| {
        let known = place.compare_exchange(0, function, Ordering::Relaxed, Ordering::Relaxed);
        known.is_ok() || known == Err(function)
    });
    // Beyond, bodies that end with a jump are called by a file that is no part of the program.
    let _is_known = place.is_some();
}

fn site(name: &'static CStr, address: usize, kind: SiteKind) -> &'static Site {
    let first = address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (usize::BITS - N_SITES.ilog2());
    for i in 0..N_TRIES {
        let place = &SITES[(first + i) % N_SITES];
        let mut found = place.load(Ordering::Acquire);
        if found.is_null() {
            let new = Box::into_raw(Box::new(Site::new(name, address, kind)));
            match place.compare_exchange(found, new, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => found = new,
                Err(other) => {
                    found = other;
                    // SAFETY: it was made above, and is nowhere.
                    drop(unsafe { Box::from_raw(new) });
                }
            }
        }
        // SAFETY: what is in the table is never freed.
        let site = unsafe { &*found };
        if site.address == address && (ptr::eq(site.name, name) || site.name == name) {
            return site;
        }
    }
    // Beyond, each use makes one of its own: nothing is lost, but it takes long.
    Box::leak(Box::new(Site::new(name, address, kind)))
}

fn is_runtime(address: usize) -> bool {
    let known = RUNTIMES.iter().map(|place| place.load(Ordering::Relaxed));
    known.filter(|&function| function != 0).any(|function| next::are_in_one_file(address, function))
}

impl Site {
    fn new(name: &'static CStr, address: usize, kind: SiteKind) -> Self {
        let calls = name != NO_FUNCTION;
        Site {
            name,
            address,
            kind,
            is_own: next::is_own(address) || !calls && is_runtime(address),
            real: if calls { next::symbol_of_caller(name, address) } else { ptr::null_mut() },
            runtime: if calls { Runtime::new(address) } else { Runtime::default() },
            regions: [const { AtomicU64::new(0) }; Construct::ALL.len()],
            body_known: AtomicU64::new(0),
        }
    }

    /// Writes down which function is the body of the construct that begins here, unless it was.
    pub fn has_body(&self, process: &Process, construct: Construct, body: usize) {
        let fork = u64::from(process.generation()) + 1;
        if self.body_known.swap(fork, Ordering::Relaxed) != fork {
            process.entry(&describe_body(self.region(process, construct), body));
        }
    }

    /// The region of a construct here.
    pub fn region(&self, process: &Process, construct: Construct) -> u32 {
        let fork = u64::from(process.generation()) + 1;
        let place = &self.regions[construct as usize];
        let known = place.load(Ordering::Relaxed);
        if known >> 32 == fork {
            return (known & u64::from(u32::MAX)) as u32;
        }
        // The call is in front of the address that it returns to.
        let address = self.address - usize::from(self.kind == SiteKind::Call);
        let region = process
            .region(Known::Construct(construct, address), |id| describe_construct(id, construct, address));
        place.store(fork << 32 | u64::from(region), Ordering::Relaxed);
        region
    }
}

impl Runtime {
    fn new(address: usize) -> Self {
        let number = |name: &CStr| {
            let found = next::symbol_of_caller(name, address);
            // SAFETY: null or a function of this type, which the standard says; null is the `None` of the target.
            unsafe { std::mem::transmute::<*mut c_void, Option<unsafe extern "C" fn() -> c_int>>(found) }
        };
        let barrier = next::symbol_of_caller(c"GOMP_barrier", address);
        Runtime {
            thread_num: number(c"omp_get_thread_num"),
            num_threads: number(c"omp_get_num_threads"),
            cancellation: number(c"omp_get_cancellation"),
            // SAFETY: null or a function of this type, as the runtime defines it.
            barrier: unsafe {
                std::mem::transmute::<*mut c_void, Option<unsafe extern "C-unwind" fn()>>(barrier)
            },
        }
    }

    /// The number of this thread in its team, and how many the team has.
    pub fn team(&self) -> (u32, u32) {
        let ask = |function: Option<unsafe extern "C" fn() -> c_int>| {
            // SAFETY: it takes nothing and may be called anywhere.
            function.and_then(|function| u32::try_from(unsafe { function() }).ok())
        };
        (ask(self.thread_num).unwrap_or(0), ask(self.num_threads).unwrap_or(1))
    }

    /// The barrier of a team, unless threads may leave barriers of the program earlier than others.
    pub fn barrier(&self) -> Option<unsafe extern "C-unwind" fn()> {
        // SAFETY: as above.
        let may_cancel = self.cancellation.is_some_and(|function| unsafe { function() } != 0);
        self.barrier.filter(|_| !may_cancel)
    }
}
