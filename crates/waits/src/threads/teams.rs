//! Teams of threads: which uses of a team are one parallel region, and the time that threads have no part in one.

use super::records::{BlockedFor, ForkSpan, TeamSpan, ThreadRecords, TimeSum};
use super::{Process, ThreadWaits};
use crate::class::WaitClass;
use crate::delays::GroupPoint;
use crate::depth::Depth;
use crate::wait::WaitSum;
use ouzel_engine::FinishCx;
use ouzel_model::{CallPathId, CommId, Definitions, LocationId, Region, RegionRole, Ticks, TimeRange};
use std::collections::{BTreeMap, BTreeSet};

/// A team in one parallel region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TeamInstance {
    /// By location: which of its [`ThreadRecords::teams`], if these are recorded.
    pub members: Vec<(LocationId, Option<u32>)>,
    /// Number of members, if it is known.
    pub size: Option<usize>,
    /// Who forked it: which of its [`ThreadRecords::forks`].
    pub fork: Option<(LocationId, u32)>,
}

/// All uses of teams in a process.
pub(super) fn instances(process: &Process<'_>, definitions: &Definitions) -> Vec<TeamInstance> {
    let mut uses: BTreeMap<(CommId, u32), TeamInstance> = BTreeMap::new();
    for &(location, of) in &process.threads {
        let mut n_of_team: BTreeMap<CommId, u32> = BTreeMap::new();
        for (nth, span) in (0..).zip(&of.teams) {
            let n = n_of_team.entry(span.team).or_default();
            let instance = uses.entry((span.team, *n)).or_insert(TeamInstance {
                members: Vec::new(),
                size: None,
                fork: None,
            });
            *n += 1;
            instance.members.push((location, Some(nth)));
            instance.fork = instance.fork.or(span.fork.map(|fork| (location, fork)));
        }
    }
    for (&(team, _), instance) in &mut uses {
        let members = &definitions.communicator(team).member_locations;
        instance.size = Some(members.len()).filter(|size| 0 < *size);
    }
    let mut all: Vec<TeamInstance> = uses.into_values().collect();
    all.extend(unrecorded(process));
    all
}

/// Forks whose teams are not recorded: their threads are those that have barriers until the join.
fn unrecorded(process: &Process<'_>) -> Vec<TeamInstance> {
    if process.threads.iter().any(|(_, of)| !of.teams.is_empty()) {
        return Vec::new();
    }
    let forks = process.threads.iter().flat_map(|&(location, of)| {
        (0..).zip(&of.forks).filter(|(_, fork)| fork.is_outermost).map(move |(nth, _)| (location, nth))
    });
    let instance = |(location, nth)| {
        let has_barrier = |&&(_, of): &&(LocationId, &ThreadRecords)| {
            let Some(master) = process.of(location) else { return false };
            let (start, end) = span(&master.forks[nth as usize]);
            let first = of.blocked.partition_point(|call| call.enter < start);
            of.blocked.get(first).is_some_and(|call| call.enter <= end)
        };
        let members: Vec<_> = process.threads.iter().filter(has_barrier).map(|&(id, _)| (id, None)).collect();
        TeamInstance { size: Some(members.len()), members, fork: Some((location, nth)) }
    };
    forks.map(instance).collect()
}

impl TeamInstance {
    /// Whether all members are there.
    pub fn is_whole(&self) -> bool {
        self.size == Some(self.members.len())
    }
}

/// From fork to join; to the end of time if that is not recorded.
pub(super) fn span(fork: &ForkSpan) -> (Ticks, Ticks) {
    (fork.fork, fork.join.unwrap_or(Ticks(u64::MAX)))
}

/// Threads that a process has at once: those of its largest team that is in no other. Runtimes may end threads and create
/// others later, so that more have ever been in teams.
pub(super) fn n_at_once(process: &Process<'_>, instances: &[TeamInstance]) -> usize {
    let is_outermost = |it: &&TeamInstance| {
        let fork = it.fork.and_then(|(master, fork)| process.of(master)?.forks.get(fork as usize));
        fork.is_some_and(|fork| fork.is_outermost)
    };
    instances.iter().filter(is_outermost).filter_map(|it| it.size).max().unwrap_or(0)
}

/// What threads do while others work: idle threads, management, limited parallelism.
pub(super) fn add(
    found: &mut ThreadWaits,
    process: &Process<'_>,
    instances: &[TeamInstance],
    depth: Depth,
    cx: &FinishCx<'_>,
) {
    let most = n_at_once(process, instances);
    let in_teams = instances.iter().flat_map(|it| &it.members).map(|member| member.0);
    let in_teams: BTreeSet<LocationId> = in_teams.filter(|&id| cx.selected_of(id).location).collect();
    found.n_replaced += in_teams.len().saturating_sub(most) as u64;
    let mut sums: BTreeMap<(WaitClass, LocationId, CallPathId), TimeSum> = BTreeMap::new();
    for &(master, of) in &process.threads {
        for (&path, sum) in &of.serial {
            let sum = sum.times(most.saturating_sub(1) as u64);
            sums.entry((WaitClass::IdleThreads, master, path)).or_default().join(sum);
        }
    }
    for instance in instances {
        let Some((master, fork)) = instance.fork else { continue };
        let Some(of) = process.of(master) else { continue };
        let forked = &of.forks[fork as usize];
        if let (Some(join), Some(size), true) = (forked.join, instance.size, forked.is_outermost) {
            let n_others = most.saturating_sub(size) as u64;
            let range = clipped(cx, master, (forked.fork, join));
            sums.entry((WaitClass::LimitedParallelism, master, forked.path))
                .or_default()
                .add(range, n_others);
        }
        // Where no barrier ends the team, threads that have ended in it wait for the last one.
        let last_end = members(process, instance).filter_map(|(_, team)| team.end).max();
        let last_end = last_end.filter(|_| !ends_with_barrier(process, instance, cx));
        for (location, team) in members(process, instance) {
            let mut add = |class, range| {
                sums.entry((class, location, forked.path)).or_default().add(clipped(cx, location, range), 1);
            };
            let end = team.end.map(|end| last_end.map_or(end, |last| last.max(end)));
            if let (Some(end), Some(last)) = (team.end, last_end) {
                add(WaitClass::OpenmpWaitAtBarrier, (end, last));
            }
            if location != master {
                add(WaitClass::Management, (forked.fork, team.begin.max(forked.fork)));
                if let (Some(end), Some(join)) = (end, forked.join) {
                    add(WaitClass::Management, (end, join.max(end)));
                }
            }
        }
        if depth.has_causes() {
            found.groups.extend(fork_point(process, instance, (master, forked)));
        }
    }
    found.sums.extend(sums.into_iter().map(|((class, location, path), sum)| {
        let TimeSum { ticks, n, longest, longest_at } = sum;
        WaitSum { class, location, path, wait: ticks, n, longest, longest_at }
    }));
}

fn members<'a>(
    process: &'a Process<'_>,
    instance: &'a TeamInstance,
) -> impl Iterator<Item = (LocationId, &'a TeamSpan)> {
    instance.members.iter().filter_map(|&(location, nth)| {
        let of = process.of(location)?;
        Some((location, &of.teams[nth? as usize]))
    })
}

/// Whether the last that any thread does in the team is an implicit barrier.
fn ends_with_barrier(process: &Process<'_>, instance: &TeamInstance, cx: &FinishCx<'_>) -> bool {
    instance.members.iter().any(|&(location, nth)| {
        let (Some(of), Some(nth)) = (process.of(location), nth) else { return false };
        let Some(end) = of.teams[nth as usize].end else { return false };
        let after = of.blocked.partition_point(|call| call.enter <= end);
        let last = of.blocked[..after].last().filter(|call| call.reason == BlockedFor::Barrier(Some(nth)));
        let region = last.and_then(|call| cx.call_paths.region(call.path));
        region.is_some_and(|region| is_implicit(cx.definitions.region(region)))
    })
}

fn is_implicit(region: &Region) -> bool {
    region.role == RegionRole::ImplicitBarrier || region.name.to_ascii_lowercase().contains("implicit")
}

/// A fork as the point since which the threads of a team go separate ways.
fn fork_point(
    process: &Process<'_>,
    instance: &TeamInstance,
    (master, forked): (LocationId, &ForkSpan),
) -> Option<GroupPoint> {
    let begin = |(location, team): (LocationId, &TeamSpan)| {
        (location, if location == master { forked.fork } else { team.begin })
    };
    let members: Vec<(LocationId, Ticks)> = members(process, instance).map(begin).collect();
    let all_after = members.iter().all(|member| forked.fork <= member.1);
    (all_after && 1 < members.len()).then_some(GroupPoint { at: forked.fork, members })
}

/// The part of a range that is selected; an empty one if none is.
fn clipped(cx: &FinishCx<'_>, location: LocationId, (start, end): (Ticks, Ticks)) -> (Ticks, Ticks) {
    let selected = cx.selected_of(location);
    let range = selected.clip(TimeRange { start, end });
    if selected.location && range.start < range.end { (range.start, range.end) } else { (start, start) }
}
