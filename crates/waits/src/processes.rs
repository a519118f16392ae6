//! Waiting of processes at the start and the end of MPI, and polling: calls without a record of their own.
//!
//! | class | process i |
//! |---|---|
//! | wait at init, at finalize | `min(B, x) − b` |
//! | init completion | `x − max(X, B)` |
//!
//! `b` and `x` are enter and leave of the call, `B` the latest `b`, `X` the earliest `x` over all processes. If a process
//! of the run has no such call, there is no value. Of several calls of a process, the first start and the last end
//! count.

use crate::class::{Certainty, WaitClass};
use crate::delays::GroupPoint;
use crate::edges::{Join, Need, Place, Post};
use crate::records::{BareCall, BareKind, LocationRecords};
use crate::wait::{Culprit, Wait};
use ouzel_model::{Definitions, LocationId, LocationKind, Ticks, WorldRank};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// The waits of processes, and what lies beside them.
pub(crate) fn process_waits(
    records: &BTreeMap<LocationId, LocationRecords>,
    definitions: &Definitions,
) -> (Vec<Wait>, Vec<Wait>) {
    let (mut waits, mut beside) = (Vec::new(), Vec::new());
    for (kind, class) in
        [(BareKind::Init, WaitClass::WaitAtInit), (BareKind::Finalize, WaitClass::WaitAtFinalize)]
    {
        let calls = calls(kind, records, definitions);
        let Some((culprit, last)) = calls.iter().max_by_key(|(location, it)| (it.enter, Reverse(*location)))
        else {
            continue;
        };
        let BareCall { path, enter: arrived, leave: left, .. } = *last;
        let culprit = Culprit { location: *culprit, path, arrived, left };
        let first_leave = calls.iter().map(|(_, it)| it.leave).min().unwrap_or_default();
        let completion = first_leave.max(last.enter);
        for &(location, it) in &calls {
            let of_call = of_call(class, location, it);
            let end = last.enter.min(it.leave);
            waits.push(Wait { end, culprit: Some(culprit), ..of_call });
            if kind == BareKind::Init {
                beside.push(Wait { class: WaitClass::InitCompletion, start: completion, ..of_call });
            }
        }
    }
    for wait in [&mut waits, &mut beside] {
        wait.retain(|wait| wait.start < wait.end);
    }
    (waits, beside)
}

/// The start of MPI, after which all processes go on together.
pub(crate) fn start_of_mpi(
    records: &BTreeMap<LocationId, LocationRecords>,
    definitions: &Definitions,
) -> Option<GroupPoint> {
    let calls = calls(BareKind::Init, records, definitions);
    let at = calls.iter().map(|(_, call)| call.leave).min()?;
    let mut members: Vec<(LocationId, Ticks)> = calls.iter().map(|&(id, call)| (id, call.leave)).collect();
    members.sort_unstable();
    Some(GroupPoint { at, members })
}

/// All processes need all others at the start of MPI and at its end.
pub(crate) fn process_joins(
    records: &BTreeMap<LocationId, LocationRecords>,
    definitions: &Definitions,
) -> impl Iterator<Item = Join> {
    let join = |(kind, place)| {
        let calls = calls(kind, records, definitions);
        let member = |(location, call): (LocationId, BareCall)| {
            let post = Post { location, place, at: call.enter };
            (post, Need { location, place, at: call.enter, leave: call.leave, path: call.path })
        };
        (!calls.is_empty()).then(|| Join::of_all(calls.into_iter().map(member)))
    };
    [(BareKind::Init, Place::Before), (BareKind::Finalize, Place::After)].into_iter().filter_map(join)
}

/// One call of each process; none if there are less than two, or if one has no such call.
fn calls(
    kind: BareKind,
    records: &BTreeMap<LocationId, LocationRecords>,
    definitions: &Definitions,
) -> Vec<(LocationId, BareCall)> {
    let mut of_rank: BTreeMap<WorldRank, (LocationId, BareCall)> = BTreeMap::new();
    for (&location, of) in records {
        let Some(rank) = definitions.location(location).rank else { continue };
        for &call in of.bare.iter().filter(|call| call.kind == kind) {
            let known = of_rank.entry(rank).or_insert((location, call));
            let is_better = match kind {
                BareKind::Finalize => known.1.enter < call.enter,
                BareKind::Init | BareKind::Probe => call.enter < known.1.enter,
            };
            if is_better {
                *known = (location, call);
            }
        }
    }
    let is_process = |kind| matches!(kind, LocationKind::CpuThread | LocationKind::Unknown);
    let locations = definitions.locations.iter().filter(|location| is_process(location.kind));
    let ranks: BTreeSet<WorldRank> = locations.filter_map(|location| location.rank).collect();
    if of_rank.len() < 2 || of_rank.len() < ranks.len() {
        return Vec::new();
    }
    of_rank.into_values().collect()
}

/// All of a call.
fn of_call(class: WaitClass, location: LocationId, call: BareCall) -> Wait {
    Wait {
        class,
        certainty: Certainty::Certain,
        is_clamped: false,
        location,
        path: call.path,
        enter: call.enter,
        leave: call.leave,
        start: call.enter,
        end: call.leave,
        culprit: None,
        nth: 0,
    }
}

/// The ranges of time in which a location asked again and again.
pub(crate) fn polling(records: &BTreeMap<LocationId, LocationRecords>) -> impl Iterator<Item = Wait> {
    records.iter().flat_map(|(&location, of)| {
        of.polls.iter().filter(|poll| poll.start < poll.end).map(move |poll| {
            let call =
                BareCall { kind: BareKind::Probe, path: poll.path, enter: poll.start, leave: poll.end };
            of_call(WaitClass::Polling, location, call)
        })
    })
}
