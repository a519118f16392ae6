//! Contention for locks, and waiting for conditions.

use super::records::Acquisition;
use super::{Process, wait};
use crate::class::WaitClass;
use crate::wait::{Culprit, Wait};
use ouzel_model::{CallPathId, LocationId, Paradigm, Ticks};
use std::collections::BTreeMap;

/// The latest release of a lock.
#[derive(Clone, Copy)]
struct Held {
    location: LocationId,
    /// The call that acquired it.
    path: CallPathId,
    released: Ticks,
}

/// The waits for the locks of a process.
pub(super) fn add(waits: &mut Vec<Wait>, process: &Process<'_>) {
    let mut locks: BTreeMap<(Paradigm, u32), Vec<(LocationId, &Acquisition)>> = BTreeMap::new();
    for &(location, of) in &process.threads {
        for it in &of.locks {
            locks.entry((it.used.paradigm, it.used.lock)).or_default().push((location, it));
        }
    }
    for mut acquisitions in locks.into_values() {
        // Time tells those apart that a tracer does not number.
        acquisitions.sort_by_key(|&(location, it)| (it.used.order, it.at, location));
        let mut held: Option<Held> = None;
        for (location, it) in acquisitions {
            if let Some(held) = held.filter(|held| held.location != location && it.blocks) {
                waits.extend(wait_for(&held, location, it));
            }
            let released = it.released.filter(|at| held.is_none_or(|held| held.released <= *at));
            held = released.map(|released| Held { location, path: it.path, released }).or(held);
        }
    }
}

fn wait_for(held: &Held, location: LocationId, it: &Acquisition) -> Option<Wait> {
    let class = if it.is_of_condition { WaitClass::ConditionWait } else { WaitClass::LockContention };
    // A release may be recorded after the lock is taken over.
    let end = held.released.min(it.at);
    let culprit =
        Culprit { location: held.location, path: held.path, arrived: held.released, left: held.released };
    wait(class, (location, it.path), (it.enter, it.leave), (it.start, end))
        .map(|wait| Wait { culprit: Some(culprit), ..wait })
}
