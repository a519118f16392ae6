//! Teams of threads: which uses of a team are one parallel region, and the time that threads have no part in one.

use super::records::{BlockedFor, ForkSpan, TeamSpan, ThreadRecords, TimeSum};
use super::{Process, ThreadWaits};
use crate::class::WaitClass;
use crate::delays::GroupPoint;
use crate::depth::Depth;
use crate::wait::WaitSum;
use ouzel_engine::FinishCx;
use ouzel_model::{
    CallPathId, CallPathTree, CommId, Definitions, LocationId, Region, RegionRole, Ticks, TimeRange,
};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// A team in one parallel region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TeamInstance {
    /// By location.
    pub members: Vec<TeamMember>,
    /// Number of members, if it is known.
    pub size: Option<usize>,
    /// Who forked it, and when.
    pub fork: Option<(LocationId, ForkSpan)>,
}

/// A thread of a team.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TeamMember {
    pub location: LocationId,
    /// Which of its [`ThreadRecords::teams`], if these are recorded.
    pub team: Option<u32>,
    /// While it belongs to the team.
    pub range: (Ticks, Ticks),
}

impl TeamInstance {
    /// Whether all members are there.
    pub fn is_whole(&self) -> bool {
        self.size == Some(self.members.len())
    }
}

/// All uses of teams in a process.
pub(super) fn instances(
    process: &Process<'_>,
    call_paths: &CallPathTree,
    definitions: &Definitions,
) -> Vec<TeamInstance> {
    let any = |has: fn(&ThreadRecords) -> bool| process.threads.iter().any(|(_, of)| has(of));
    match () {
        () if any(|of| !of.teams.is_empty()) => recorded(process, definitions),
        () if any(|of| !of.forks.is_empty()) => of_forks(process),
        () => of_regions(process, call_paths),
    }
}

fn recorded(process: &Process<'_>, definitions: &Definitions) -> Vec<TeamInstance> {
    let mut uses: BTreeMap<(CommId, u32), TeamInstance> = BTreeMap::new();
    for &(location, of) in &process.threads {
        let mut n_of_team: BTreeMap<CommId, u32> = BTreeMap::new();
        for (nth, span) in (0..).zip(&of.teams) {
            let n = n_of_team.entry(span.team).or_default();
            let nobody = TeamInstance { members: Vec::new(), size: None, fork: None };
            let instance = uses.entry((span.team, *n)).or_insert(nobody);
            *n += 1;
            let range = (span.begin, span.end.unwrap_or(Ticks(u64::MAX)));
            instance.members.push(TeamMember { location, team: Some(nth), range });
            let fork = span.fork.map(|fork| (location, of.forks[fork as usize]));
            instance.fork = instance.fork.or(fork);
        }
    }
    for (&(team, _), instance) in &mut uses {
        let members = &definitions.communicator(team).member_locations;
        instance.size = Some(members.len()).filter(|size| 0 < *size);
    }
    uses.into_values().collect()
}

/// Teams that are not recorded, of forks that are: their threads are those that have barriers until the join.
fn of_forks(process: &Process<'_>) -> Vec<TeamInstance> {
    let forks = process.threads.iter().flat_map(|&(location, of)| {
        of.forks.iter().filter(|fork| fork.is_outermost).map(move |&fork| (location, fork))
    });
    let instance = |(master, fork): (LocationId, ForkSpan)| {
        let range = span(&fork);
        let has_barrier = |&&(_, of): &&(LocationId, &ThreadRecords)| {
            let first = of.blocked.partition_point(|call| call.enter < range.0);
            of.blocked.get(first).is_some_and(|call| call.enter <= range.1)
        };
        let member = |&(location, _): &(LocationId, _)| TeamMember { location, team: None, range };
        let members: Vec<TeamMember> = process.threads.iter().filter(has_barrier).map(member).collect();
        TeamInstance { size: Some(members.len()), members, fork: Some((master, fork)) }
    };
    forks.map(instance).collect()
}

/// Teams of which only the parallel regions are recorded: each visit of a region is one with that of the first thread
/// which it has most time in common with.
fn of_regions(process: &Process<'_>, call_paths: &CallPathTree) -> Vec<TeamInstance> {
    let Some(&(master, of)) = process.threads.iter().find(|(_, of)| !of.regions.is_empty()) else {
        return Vec::new();
    };
    let instance = |&fork: &ForkSpan| TeamInstance {
        members: vec![TeamMember { location: master, team: None, range: span(&fork) }],
        size: None,
        fork: Some((master, fork)),
    };
    let mut instances: Vec<TeamInstance> = of.regions.iter().map(instance).collect();
    for &(location, worker) in process.threads.iter().filter(|(id, _)| *id != master) {
        for visit in &worker.regions {
            let (start, end) = span(visit);
            let common = |fork: &ForkSpan| span(fork).1.min(end).since(span(fork).0.max(start));
            let first = of.regions.partition_point(|fork| span(fork).1 <= start);
            let is_common = |(_, fork): &(usize, &ForkSpan)| fork.fork < end;
            let candidates = of.regions.iter().enumerate().skip(first).take_while(is_common);
            let same =
                candidates.filter(|(_, it)| call_paths.region(it.path) == call_paths.region(visit.path));
            if let Some((nth, _)) = same.max_by_key(|(nth, fork)| (common(fork), Reverse(*nth))) {
                instances[nth].members.push(TeamMember { location, team: None, range: (start, end) });
            }
        }
    }
    for instance in &mut instances {
        // A thread that visits the region twice while the first one does so once belongs to no known team.
        let is_clear = instance.members.windows(2).all(|pair| pair[0].location < pair[1].location);
        instance.size = Some(instance.members.len()).filter(|_| is_clear);
    }
    instances
}

/// From fork to join; to the end of time if that is not recorded.
fn span(fork: &ForkSpan) -> (Ticks, Ticks) {
    (fork.fork, fork.join.unwrap_or(Ticks(u64::MAX)))
}

/// Threads that a process has at once: those of its largest team that is in no other. Runtimes may end threads and create
/// others later, so that more have ever been in teams.
fn n_at_once(instances: &[TeamInstance]) -> usize {
    let is_outermost = |it: &&TeamInstance| it.fork.is_some_and(|(_, fork)| fork.is_outermost);
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
    let most = n_at_once(instances);
    let in_teams = instances.iter().flat_map(|it| &it.members).map(|member| member.location);
    let in_teams: BTreeSet<LocationId> = in_teams.filter(|&id| cx.selected_of(id).location).collect();
    found.n_replaced += in_teams.len().saturating_sub(most) as u64;
    let mut sums: BTreeMap<(WaitClass, LocationId, CallPathId), TimeSum> = BTreeMap::new();
    let masters = instances.iter().filter_map(|it| it.fork).filter(|(_, fork)| fork.is_outermost);
    let masters: BTreeSet<LocationId> = masters.map(|(master, _)| master).collect();
    for &(master, of) in process.threads.iter().filter(|(id, _)| masters.contains(id)) {
        for (&path, sum) in &of.serial {
            let sum = sum.times(most.saturating_sub(1) as u64);
            sums.entry((WaitClass::IdleThreads, master, path)).or_default().join(sum);
        }
    }
    for instance in instances {
        let Some((master, forked)) = &instance.fork else { continue };
        let master = *master;
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
            found.groups.extend(fork_point(instance, master, forked.fork));
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
    instance.members.iter().filter_map(|member| {
        let of = process.of(member.location)?;
        Some((member.location, &of.teams[member.team? as usize]))
    })
}

/// Whether the last that any thread does in the team is an implicit barrier.
fn ends_with_barrier(process: &Process<'_>, instance: &TeamInstance, cx: &FinishCx<'_>) -> bool {
    instance.members.iter().any(|&TeamMember { location, team, .. }| {
        let (Some(of), Some(nth)) = (process.of(location), team) else { return false };
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
fn fork_point(instance: &TeamInstance, master: LocationId, fork: Ticks) -> Option<GroupPoint> {
    let begin = |it: &TeamMember| (it.location, if it.location == master { fork } else { it.range.0 });
    let members: Vec<(LocationId, Ticks)> = instance.members.iter().map(begin).collect();
    let at = members.iter().map(|member| member.1).min()?;
    (instance.is_whole() && 1 < members.len()).then_some(GroupPoint { at, members })
}

/// The part of a range that is selected; an empty one if none is.
fn clipped(cx: &FinishCx<'_>, location: LocationId, (start, end): (Ticks, Ticks)) -> (Ticks, Ticks) {
    let selected = cx.selected_of(location);
    let range = selected.clip(TimeRange { start, end });
    if selected.location && range.start < range.end { (range.start, range.end) } else { (start, start) }
}
