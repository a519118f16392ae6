//! Which waits of a process a critical path can pass, wherever it enters the process.
//!
//! A path comes into a process at the end of the run, or at the begin of a collective which the process begins last, and
//! leaves it at the end of a collective which another begins last. Which these are is known once all processes are read; so
//! it is followed from each such begin, past each such end. Where waits end at one time, it is followed through all of them.
//! Law: the path through these waits and those for collectives is the path through all.

use ouzel_analyses::critical_path::WaitOfDevices;
use ouzel_model::{Definitions, LocationId, LocationKind, Ticks};
use std::collections::{BTreeMap, BTreeSet};

/// Waits of a process, and where a path can enter it and leave it.
pub(super) struct Followed<'a> {
    /// By location and end.
    waits: &'a [WaitOfDevices],
    /// Where it can be held up: a location, and when something that it may wait for is over; by location and time.
    stops: Vec<Stop>,
    is_passed: Vec<bool>,
    /// Stops where the path can be.
    open: Vec<usize>,
}

/// An end of waits or of a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Stop {
    location: LocationId,
    at: Ticks,
    /// Whether the path may also go on at this location.
    is_passable: bool,
}

impl Followed<'_> {
    /// The path is at a location, at a time.
    fn come_to(&mut self, location: LocationId, at: Ticks) {
        let n = self.stops.partition_point(|stop| (stop.location, stop.at) <= (location, at));
        self.open.extend(n.checked_sub(1).filter(|&last| self.stops[last].location == location));
    }

    /// Follows the path to where it cannot go on.
    fn follow(&mut self) {
        while let Some(number) = self.open.pop() {
            if std::mem::replace(&mut self.is_passed[number], true) {
                continue;
            }
            let stop = self.stops[number];
            let mut is_passable = stop.is_passable;
            for wait in of_stop(self.waits, stop) {
                let at = wait.at.min(wait.leave);
                // It may come back at once, and then passes the one before.
                is_passable |= at == wait.leave;
                self.come_to(wait.cause, at);
            }
            let is_here = |&before: &usize| self.stops[before].location == stop.location;
            self.open.extend(number.checked_sub(1).filter(is_here).filter(|_| is_passable));
        }
    }
}

fn of_stop(waits: &[WaitOfDevices], stop: Stop) -> &[WaitOfDevices] {
    let key = |wait: &WaitOfDevices| (wait.location, wait.leave);
    let first = waits.partition_point(|wait| key(wait) < (stop.location, stop.at));
    let n = waits[first..].partition_point(|wait| key(wait) <= (stop.location, stop.at));
    &waits[first..first + n]
}

/// Of the waits of a process those that a path can pass: `collectives` are the location, begin and end of each operation that
/// may be a member of one; `spans` the first and last event of each location.
pub(super) fn reachable(
    mut waits: Vec<WaitOfDevices>,
    collectives: &[(LocationId, Ticks, Ticks)],
    spans: &BTreeMap<LocationId, (Ticks, Ticks)>,
    definitions: &Definitions,
) -> Vec<WaitOfDevices> {
    waits.sort_unstable_by_key(|wait| (wait.location, wait.leave));
    let ends = waits.iter().map(|wait| (wait.location, wait.leave, false));
    let ends = ends.chain(collectives.iter().map(|&(location, _, end)| (location, end, true)));
    let mut stops: Vec<Stop> =
        ends.map(|(location, at, is_passable)| Stop { location, at, is_passable }).collect();
    stops.sort_unstable();
    stops.dedup_by(|later, first| {
        let is_same = (later.location, later.at) == (first.location, first.at);
        first.is_passable |= is_same && later.is_passable;
        is_same
    });
    let is_passed = vec![false; stops.len()];
    let mut followed = Followed { waits: &waits, stops, is_passed, open: Vec::new() };
    for &(location, start, _) in collectives {
        followed.come_to(location, start);
    }
    // From the begin of a helper or stream it goes on at the main thread.
    for main in main_threads(spans, definitions) {
        spans.values().for_each(|&(start, _)| followed.come_to(main, start));
    }
    for (&location, &(_, end)) in spans {
        followed.come_to(location, end);
        followed.come_to(location, Ticks(u64::MAX));
    }
    followed.follow();
    let Followed { stops, is_passed, .. } = followed;
    let mut number = 0;
    waits.retain(|wait| {
        while (stops[number].location, stops[number].at) < (wait.location, wait.leave) {
            number += 1;
        }
        is_passed[number]
    });
    waits
}

/// The locations that can be the main thread of another one.
fn main_threads(
    spans: &BTreeMap<LocationId, (Ticks, Ticks)>,
    definitions: &Definitions,
) -> BTreeSet<LocationId> {
    let kind = |id: LocationId| definitions.location(id).kind;
    let mut threads: Vec<LocationId> = spans.keys().copied().collect();
    threads.retain(|&id| matches!(kind(id), LocationKind::CpuThread | LocationKind::Unknown));
    threads.sort_by_key(|&id| (kind(id) == LocationKind::Unknown, id));
    let (mut of_groups, mut of_ranks) = (BTreeMap::new(), BTreeMap::new());
    for id in threads {
        let location = definitions.location(id);
        of_groups.entry(location.group).or_insert(id);
        of_ranks.entry(location.rank).or_insert(id);
    }
    of_groups.into_values().chain(of_ranks.into_values()).collect()
}
