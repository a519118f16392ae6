//! Waiting at the barriers of a team.

use super::records::{BlockedCall, BlockedFor, ThreadRecords};
use super::teams::{TeamInstance, TeamMember};
use super::{Process, ThreadWaits, add_blocked};
use crate::class::WaitClass;
use crate::delays::GroupPoint;
use crate::depth::Depth;
use crate::wait::Culprit;
use ouzel_engine::FinishCx;
use ouzel_model::{LocationId, Ticks};
use std::cmp::Reverse;

/// A barrier of one thread, with its place among the calls that block.
#[derive(Clone, Copy)]
struct ThreadBarrier<'a> {
    location: LocationId,
    of: &'a ThreadRecords,
    nth: u32,
    call: &'a BlockedCall,
}

/// The waits at the barriers of all teams of a process.
pub(super) fn add(
    found: &mut ThreadWaits,
    process: &Process<'_>,
    instances: &[TeamInstance],
    depth: Depth,
    cx: &FinishCx<'_>,
) {
    let by_team: Vec<Vec<Vec<u32>>> = process.threads.iter().map(|(_, of)| barriers_of_teams(of)).collect();
    for instance in instances {
        let of_members = instance.members.iter().filter_map(|&TeamMember { location, team, range }| {
            let place = process.threads.binary_search_by_key(&location, |it| it.0).ok()?;
            let of = process.threads[place].1;
            let barrier =
                move |nth: u32| ThreadBarrier { location, of, nth, call: &of.blocked[nth as usize] };
            Some(match team {
                Some(team) => by_team[place][team as usize].iter().copied().map(barrier).collect(),
                None => barriers_inside(of, range).map(barrier).collect(),
            })
        });
        let of_members: Vec<Vec<ThreadBarrier<'_>>> = of_members.collect();
        let most = of_members.iter().map(Vec::len).max().unwrap_or(0);
        for nth in 0..most {
            let members: Vec<ThreadBarrier<'_>> =
                of_members.iter().filter_map(|of| of.get(nth).copied()).collect();
            let region = |it: &ThreadBarrier<'_>| cx.call_paths.region(it.call.path);
            let is_one = members.iter().all(|it| region(it) == region(&members[0]));
            if is_one && members.len() == of_members.len() && instance.is_whole() {
                add_one(found, &members, depth);
            } else {
                let is_selected = |it: &&ThreadBarrier<'_>| cx.selected_of(it.location).has(it.call.enter);
                found.n_partial += members.iter().filter(is_selected).count() as u64;
            }
        }
    }
}

/// The barriers of each team of a location.
fn barriers_of_teams(of: &ThreadRecords) -> Vec<Vec<u32>> {
    let mut of_teams = vec![Vec::new(); of.teams.len()];
    for (nth, call) in (0..).zip(&of.blocked) {
        if let BlockedFor::Barrier(Some(team)) = call.reason {
            of_teams[team as usize].push(nth);
        }
    }
    of_teams
}

/// The barriers of a thread while it belongs to a team that is not recorded.
fn barriers_inside(of: &ThreadRecords, (start, end): (Ticks, Ticks)) -> impl Iterator<Item = u32> {
    let first = of.blocked.partition_point(|call| call.enter < start);
    let calls = (first as u32..).zip(&of.blocked[first..]).take_while(move |(_, call)| call.enter <= end);
    calls.filter(|(_, call)| matches!(call.reason, BlockedFor::Barrier(_))).map(|(nth, _)| nth)
}

fn add_one(found: &mut ThreadWaits, members: &[ThreadBarrier<'_>], depth: Depth) {
    let last = members.iter().max_by_key(|it| (it.call.enter, Reverse(it.location)));
    let Some(last) = last.filter(|_| 1 < members.len()) else { return };
    let &BlockedCall { path, enter: arrived, leave: left, .. } = last.call;
    let culprit = Culprit { location: last.location, path, arrived, left };
    for it in members.iter().filter(|it| it.location != last.location) {
        let of = (it.location, it.of);
        add_blocked(&mut found.waits, WaitClass::OpenmpWaitAtBarrier, of, it.nth, (it.call, culprit));
    }
    let at = members.iter().map(|it| it.call.leave).min().unwrap_or_default();
    if depth.has_causes() && arrived <= at {
        let mut members: Vec<(LocationId, Ticks)> =
            members.iter().map(|it| (it.location, it.call.leave)).collect();
        members.sort_unstable();
        found.groups.push(GroupPoint { at, members });
    }
}
