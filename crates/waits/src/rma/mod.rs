//! Waiting in one-sided communication.
//!
//! | class | who waits, and how long |
//! |---|---|
//! | wait at fence, at create | a member of the window: `B − b`, if no member left before the last came (`B ≤ X`); `b`, `B`, `X` as for [`collectives`](crate::collectives) |
//! | early fence | the part of a wait at a fence until the last call ended in which another rank accessed the memory of the waiting one |
//! | late post | the call of an origin from `MPI_Win_start` to `MPI_Win_complete` that holds `P`: `P − enter`; `P` is the latest enter of `MPI_Win_post` over its targets |
//! | early wait | `MPI_Win_wait`: `min(C, leave) − enter`; `C` is the latest enter of `MPI_Win_complete` over its origins |
//! | late complete | the part of an early wait after the last call ended in which one of the origins accessed the memory |
//! | rma lock | the call from the lock to its release that holds `U`: `U − enter`; `U` is the latest enter of a call that released a conflicting lock before |
//!
//! A call *holds* a time after its enter and not after its leave; the first one counts, so that locks and epochs that
//! the library begins late are charged to the call that waits. Locks conflict if they are of one window, target and
//! number, and one of them is exclusive. Who had a lock before is told by the calls that released it: they are in the
//! order in which they were left. An access ends with its call; when data arrives is recorded at the origin only. Locks
//! that are not released release nobody. Time that a target takes until it lets data in is no class.
//!
//! Groups are matched over the whole run, whatever is selected: see [`epochs`].

mod calls;
mod epochs;
mod fences;
mod fold;
mod locks;

pub(crate) use calls::RmaCallKind;
pub(crate) use fold::{RecordPlace, RmaFold};

use crate::calls::CallKind;
use crate::class::{Certainty, WaitClass};
use crate::collectives::CollectiveWaits;
use crate::edges::{Join, Need, Place, Post};
use crate::messages::ClockViolations;
use crate::rma_records::{RmaRecord, RmaRecords};
use crate::wait::{Culprit, Wait};
use ouzel_model::{
    CallPathId, CommRank, Definitions, LocationId, LocationKind, RankGroupId, RmaLock, RmaWindowId, Ticks,
    WorldRank,
};

/// What one-sided communication says about waiting.
#[derive(Debug, Default)]
pub(crate) struct RmaWaits {
    pub waits: Vec<Wait>,
    /// Parts of these.
    pub beside: Vec<Wait>,
    /// Who needs whom, if the order of calls is kept.
    pub joins: Vec<Join>,
    /// Selected epochs of groups whose other side is missing.
    pub n_partial: u64,
    /// Selected records of groups in calls that are not known to begin or end an epoch.
    pub n_unknown_syncs: u64,
    /// Selected calls that were left before what they wait for had come.
    pub violations: ClockViolations,
    /// Epochs of groups whose other side is missing, selected or not.
    pub n_without_edges: u64,
    /// Locks that are needed by those who have them next.
    pub n_locks: u64,
    /// Whether there are any records.
    pub has_records: bool,
}

/// A call of one-sided communication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Call {
    location: LocationId,
    path: CallPathId,
    enter: Ticks,
    leave: Ticks,
    nth: Option<u32>,
}

impl Call {
    fn of(location: LocationId, record: &RmaRecord) -> Self {
        let &RmaRecord { path, enter, leave, nth, .. } = record;
        Call { location, path, enter, leave, nth }
    }

    fn post(&self) -> Option<Post> {
        Some(Post { location: self.location, place: Place::Nth(self.nth?), at: self.enter })
    }

    fn need(&self) -> Option<Need> {
        let &Call { location, path, enter: at, leave, nth } = self;
        Some(Need { location, place: Place::Nth(nth?), at, leave, path })
    }
}

/// The records of all processes, and what their numbers mean.
struct OneSided<'a> {
    locations: Vec<(LocationId, &'a RmaRecords)>,
    ranks: WindowRanks<'a>,
}

impl<'a> OneSided<'a> {
    /// The ranks of a group; none if it is not known.
    fn group(&self, group: Option<RankGroupId>) -> &'a [WorldRank] {
        group.map_or(&[], |group| &self.ranks.0.rank_groups[group.index()])
    }
}

/// Who is meant by the numbers of records.
struct WindowRanks<'a>(&'a Definitions);

impl WindowRanks<'_> {
    fn rank(&self, location: LocationId) -> Option<WorldRank> {
        self.0.location(location).rank
    }

    /// The target that a record names: `Some(None)` is all of them, `None` one that is not known.
    fn target(
        &self,
        window: RmaWindowId,
        location: LocationId,
        target: CommRank,
    ) -> Option<Option<WorldRank>> {
        if RmaLock::has_all_targets(target) {
            return Some(None);
        }
        self.0.communicator_of_window(window).peer(self.rank(location), target).map(Some)
    }
}

/// The waits of one-sided communication, and those of its collective operations.
pub(crate) fn rma_waits<'a>(
    records: impl Iterator<Item = (LocationId, &'a RmaRecords)>,
    kinds: &[CallKind],
    definitions: &Definitions,
) -> (RmaWaits, CollectiveWaits) {
    let is_process = |location: LocationId| {
        matches!(definitions.location(location).kind, LocationKind::CpuThread | LocationKind::Unknown)
    };
    let locations: Vec<(LocationId, &RmaRecords)> =
        records.filter(|(location, of)| !of.is_empty() && is_process(*location)).collect();
    let mut found = RmaWaits { has_records: !locations.is_empty(), ..RmaWaits::default() };
    if !found.has_records {
        return (found, CollectiveWaits::default());
    }
    let one_sided = OneSided { locations, ranks: WindowRanks(definitions) };
    let collectives = fences::add(&mut found, &one_sided, kinds, definitions);
    epochs::add(&mut found, &one_sided);
    locks::add(&mut found, &one_sided);
    (found, collectives)
}

/// A call waits from its enter until a time, if that is later; not beyond its leave.
fn wait_until(class: WaitClass, call: &Call, until: Ticks) -> Option<Wait> {
    let &Call { location, path, enter, leave, .. } = call;
    let end = until.min(leave);
    (enter < end).then_some(Wait {
        class,
        certainty: Certainty::Certain,
        is_clamped: leave < until,
        location,
        path,
        enter,
        leave,
        start: enter,
        end,
        culprit: None,
        nth: 0,
    })
}

impl Wait {
    fn of(self, culprit: Culprit) -> Wait {
        Wait { culprit: Some(culprit), ..self }
    }
}

impl RmaWaits {
    /// A call that was left before its culprit arrived: its wait ends with it, and is counted.
    fn clamped(&mut self, class: WaitClass, call: &Call, culprit: Culprit, is_selected: bool) {
        if is_selected {
            self.violations.add(culprit.arrived.since(call.leave));
        }
        self.waits.extend(wait_until(class, call, culprit.arrived).map(|it| it.of(culprit)));
    }
}
