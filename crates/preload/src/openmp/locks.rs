//! Locks: who has which, and how often each was acquired.
//!
//! Law: a release has the number of the acquisition that it ends, also where it is heard of when another thread has the lock
//! already. A lock whose acquisition nobody has reported is not released either.

use super::write;
use crate::clock;
use crate::process::Process;
use ouzel_otf2::records::enums::Paradigm;
use ouzel_otf2::records::event::{ThreadAcquireLock, ThreadReleaseLock};
use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// The lock of criticals without a name; those with one, and locks of the program, have addresses.
pub const UNNAMED: usize = 1;
/// Locks that are told apart.
const N_LOCKS: usize = 1 << 10;
/// Address of each lock, and how often it was acquired.
static LOCKS: [(AtomicUsize, AtomicU32); N_LOCKS] =
    [const { (AtomicUsize::new(0), AtomicU32::new(0)) }; N_LOCKS];
/// Locks that a thread has at once.
const N_HELD: usize = 64;

/// A lock, and the number of its acquisition.
type HeldLock = (u32, u32);

thread_local! {
    /// With the fork of the process that they belong to, and how many they are. Without a destructor.
    static HELD: RefCell<(u32, usize, [HeldLock; N_HELD])> = const { RefCell::new((0, 0, [(0, 0); N_HELD])) };
}

/// The number of a lock, and how often it was acquired; none if there are too many locks.
fn lock(address: usize) -> Option<(u32, &'static AtomicU32)> {
    let first = address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (usize::BITS - N_LOCKS.ilog2());
    for at in (0..N_LOCKS).map(|i| (first + i) % N_LOCKS) {
        let (known, n_acquired) = &LOCKS[at];
        let found = known.compare_exchange(0, address, Ordering::AcqRel, Ordering::Acquire);
        if found.is_ok() || found == Err(address) {
            return Some((at as u32, n_acquired));
        }
    }
    None
}

/// The locks that this thread has.
fn with_held<R>(process: &Process, change: impl FnOnce(&mut usize, &mut [HeldLock; N_HELD]) -> R) -> R {
    HELD.with(|held| {
        let mut held = held.borrow_mut();
        if held.0 != process.generation() {
            (held.0, held.1) = (process.generation(), 0);
        }
        let (_, n, locks) = &mut *held;
        change(n, locks)
    })
}

/// Takes note that this thread has a lock. Only one at a time has it.
pub fn acquired(process: &'static Process, address: usize) {
    let Some((lock_id, n_acquired)) = lock(address) else { return };
    let acquisition_order = n_acquired.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
    let is_kept = with_held(process, |n, locks| {
        let place = locks.get_mut(*n);
        *n += usize::from(place.is_some());
        place.map(|place| *place = (lock_id, acquisition_order)).is_some()
    });
    if is_kept {
        let event = ThreadAcquireLock { model: Paradigm::OpenMp, lock_id, acquisition_order };
        write(process, clock::now_ns(), &[event.into()]);
    }
}

/// Takes note that this thread gives a lock back that it has.
pub fn released(process: &'static Process, address: usize) {
    let Some((lock_id, _)) = lock(address) else { return };
    let order = with_held(process, |n, locks| {
        let at = locks[..*n].iter().rposition(|(id, _)| *id == lock_id)?;
        let (_, order) = locks[at];
        locks.copy_within(at + 1..*n, at);
        *n -= 1;
        Some(order)
    });
    if let Some(acquisition_order) = order {
        let event = ThreadReleaseLock { model: Paradigm::OpenMp, lock_id, acquisition_order };
        write(process, clock::now_ns(), &[event.into()]);
    }
}
