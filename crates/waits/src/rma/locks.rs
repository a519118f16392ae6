//! Waiting for locks of windows.

use super::{Call, OneSided, RmaWaits, WindowRanks, wait_until};
use crate::class::WaitClass;
use crate::edges::Join;
use crate::rma_records::{RmaRecord, RmaRecords, RmaWhat};
use crate::wait::Culprit;
use ouzel_model::{LocationId, RmaLockMode, RmaWindowId, WorldRank};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// From a call that asks for a lock to the one that releases it.
#[derive(Debug)]
struct LockEpoch {
    window: RmaWindowId,
    lock: u64,
    /// `None` for all.
    target: Option<WorldRank>,
    is_exclusive: bool,
    /// In their order, from the one that asks for the lock to the one that releases it.
    calls: Vec<Call>,
    /// How many calls there are up to the one in which the lock was acquired, if that is recorded.
    acquired: Option<usize>,
    is_released: bool,
    is_selected: bool,
}

impl LockEpoch {
    /// In this order epochs had the lock. Of those that end at one time, the one that waited with its last call came later.
    fn order(&self) -> impl Ord + use<> {
        let (first, last) = (self.calls.first(), self.calls.last());
        let released = last.map(|call| (call.leave, Reverse(call.enter)));
        (Reverse(self.is_released), released, first.map(|call| (call.enter, call.location)))
    }
}

/// The calls that released a lock last, of those that held it alone, and of all.
#[derive(Debug, Clone, Copy, Default)]
struct LastReleases {
    exclusive: Option<Call>,
    any: Option<Call>,
}

impl LastReleases {
    fn of(&self, is_exclusive: bool) -> Option<Call> {
        if is_exclusive { self.any } else { self.exclusive }
    }

    fn add(&mut self, release: Call, is_exclusive: bool) {
        let later = |last: Option<Call>| match last {
            Some(last) if release.enter < last.enter => Some(last),
            _ => Some(release),
        };
        self.any = later(self.any);
        if is_exclusive {
            self.exclusive = later(self.exclusive);
        }
    }
}

/// The locks of one number in one window, while its epochs are gone through.
#[derive(Debug, Default)]
struct LockReleases {
    of_targets: BTreeMap<WorldRank, LastReleases>,
    /// Of those that lock all targets.
    of_all: LastReleases,
    any: LastReleases,
}

/// Adds the waits for all locks.
pub(super) fn add(found: &mut RmaWaits, one_sided: &OneSided<'_>) {
    let mut epochs: Vec<LockEpoch> = Vec::new();
    for &(location, of) in &one_sided.locations {
        add_epochs(&mut epochs, location, of, &one_sided.ranks);
    }
    epochs.sort_by_cached_key(LockEpoch::order);
    let mut releases: BTreeMap<(RmaWindowId, u64), LockReleases> = BTreeMap::new();
    for epoch in &epochs {
        let of = releases.entry((epoch.window, epoch.lock)).or_default();
        let before = match epoch.target {
            None => of.any.of(epoch.is_exclusive),
            Some(target) => {
                let of_target = of.of_targets.get(&target).and_then(|it| it.of(epoch.is_exclusive));
                let of_all = of.of_all.of(epoch.is_exclusive);
                [of_all, of_target].into_iter().flatten().max_by_key(|call| call.enter)
            }
        };
        let location = epoch.calls[0].location;
        if let Some(before) = before.filter(|before| before.location != location) {
            add_wait(found, epoch, before);
        }
        if let Some(&release) = epoch.calls.last().filter(|_| epoch.is_released) {
            // A lock that is had only when it is released is let go when the one before is.
            let release = before.filter(|before| release.enter < before.enter).unwrap_or(release);
            let of_target = match epoch.target {
                Some(target) => of.of_targets.entry(target).or_default(),
                None => &mut of.of_all,
            };
            of_target.add(release, epoch.is_exclusive);
            of.any.add(release, epoch.is_exclusive);
        }
    }
}

/// The wait of the call in which the lock before was released.
fn add_wait(found: &mut RmaWaits, epoch: &LockEpoch, before: Call) {
    let calls = &epoch.calls[..epoch.acquired.unwrap_or(epoch.calls.len())];
    let released = before.enter;
    let culprit =
        Culprit { location: before.location, path: before.path, arrived: released, left: before.leave };
    let Some(call) = calls.iter().find(|call| released <= call.leave) else {
        // Acquired before it was released, by the clocks.
        if let Some(call) = calls.last().filter(|_| epoch.acquired.is_some()) {
            found.clamped(WaitClass::RmaLock, call, culprit, epoch.is_selected);
        }
        return;
    };
    found.waits.extend(wait_until(WaitClass::RmaLock, call, released).map(|it| it.of(culprit)));
    if let (Some(post), Some(need)) = (before.post(), call.need()) {
        found.n_locks += 1;
        found.joins.push(Join { posts: vec![post], needs: vec![need], ..Join::default() });
    }
}

/// Adds the epochs of a location.
fn add_epochs(epochs: &mut Vec<LockEpoch>, location: LocationId, of: &RmaRecords, ranks: &WindowRanks<'_>) {
    // Places in `epochs`.
    let mut open: Vec<usize> = Vec::new();
    for record in &of.records {
        let call = Call::of(location, record);
        match record.what {
            RmaWhat::LockRequest { target, lock, mode } => {
                let Some(target) = ranks.target(record.window, location, target) else { continue };
                open.push(epochs.len());
                epochs.push(LockEpoch::new(record, lock, target, mode, call));
            }
            RmaWhat::LockAcquire { target, lock, mode } => {
                let Some(target) = ranks.target(record.window, location, target) else { continue };
                let is_asked = |&&at: &&usize| {
                    epochs[at].is_of(record.window, lock, target) && epochs[at].acquired.is_none()
                };
                let at = match open.iter().rev().find(is_asked) {
                    Some(&at) => {
                        epochs[at].add(call);
                        at
                    }
                    None => {
                        open.push(epochs.len());
                        epochs.push(LockEpoch::new(record, lock, target, mode, call));
                        epochs.len() - 1
                    }
                };
                epochs[at].acquired = Some(epochs[at].calls.len());
            }
            RmaWhat::LockRelease { target, lock } => {
                let Some(target) = ranks.target(record.window, location, target) else { continue };
                let is_held = |&at: &usize| epochs[at].is_of(record.window, lock, target);
                let Some(place) = open.iter().rposition(is_held) else { continue };
                let at = open.remove(place);
                epochs[at].add(call);
                epochs[at].is_released = true;
            }
            RmaWhat::Access { target } => {
                let target = ranks.target(record.window, location, target).flatten();
                for &at in &open {
                    let epoch = &mut epochs[at];
                    if epoch.window == record.window && (epoch.target.is_none() || epoch.target == target) {
                        epoch.add(call);
                    }
                }
            }
            RmaWhat::Completes => {
                for &at in &open {
                    if epochs[at].window == record.window {
                        epochs[at].add(call);
                    }
                }
            }
            RmaWhat::Collective { .. } | RmaWhat::Sync { .. } => {}
        }
    }
}

impl LockEpoch {
    fn new(record: &RmaRecord, lock: u64, target: Option<WorldRank>, mode: RmaLockMode, call: Call) -> Self {
        LockEpoch {
            window: record.window,
            lock,
            target,
            is_exclusive: mode != RmaLockMode::Shared,
            calls: vec![call],
            acquired: None,
            is_released: false,
            is_selected: record.is_selected,
        }
    }

    fn is_of(&self, window: RmaWindowId, lock: u64, target: Option<WorldRank>) -> bool {
        (self.window, self.lock, self.target) == (window, lock, target)
    }

    /// Another call of the epoch, unless it is the last one.
    fn add(&mut self, call: Call) {
        if self.calls.last() != Some(&call) {
            self.calls.push(call);
        }
    }
}
