//! The time of each call path between the points in time that intervals start and end at.
//!
//! ```text
//! interval of a wait   ├─────────────────────┤
//! another one                  ├────────────────────┤
//! waits of the location      ▓▓▓
//! pieces               ├────┤  ├─────────────┤──────┤     each with the exclusive time of its call paths
//! ```
//!
//! Law: pieces of a location do not overlap, no wait that is divided exactly is in a piece, and intervals of such waits
//! start and end between pieces. Waits that are divided by rate lie in pieces; their time is taken off.

use super::dependencies::Dependencies;
use super::share::part;
use ouzel_analyses::critical_path::PathCallsOutput;
use ouzel_model::{CallPathId, LocationId, Remap, Ticks, TimeRange};
use std::collections::{BTreeMap, BTreeSet};

/// The pieces of one location.
#[derive(Debug, Default)]
struct LocationPieces {
    ranges: Vec<TimeRange>,
    /// For each call path, ascending: the pieces in which it has time, with the time up to their ends.
    paths: Vec<(CallPathId, Vec<(usize, Ticks)>)>,
}

/// The pieces of all locations.
#[derive(Debug)]
pub(crate) struct Pieces(BTreeMap<LocationId, LocationPieces>);

impl Pieces {
    /// The pieces of each location, in the order of time.
    pub fn ranges(of: &Dependencies) -> BTreeMap<LocationId, Vec<TimeRange>> {
        let mut borders: BTreeMap<LocationId, BTreeSet<Ticks>> = BTreeMap::new();
        let mut by_rate: BTreeMap<LocationId, (Ticks, Ticks)> = BTreeMap::new();
        for (i, (wait, interval)) in of.waits.iter().zip(&of.intervals).enumerate() {
            if !of.is_exact(i) {
                let (start, end) = (interval.of_culprit, wait.culprit.arrived);
                let all = by_rate.entry(wait.culprit.location).or_insert((start, end));
                *all = (start.min(all.0), end.max(all.1));
                continue;
            }
            borders.entry(wait.location).or_default().extend([interval.of_waiter, wait.start, wait.end]);
            let of_culprit = [interval.of_culprit, wait.culprit.arrived];
            borders.entry(wait.culprit.location).or_default().extend(of_culprit);
        }
        for (location, (start, end)) in by_rate {
            borders.entry(location).or_default().extend([start, end]);
        }
        let ranges = |(location, borders): (LocationId, BTreeSet<Ticks>)| {
            let mut waits =
                of.places_at(location).filter(|&i| of.is_exact(i)).map(|i| &of.waits[i]).peekable();
            let pieces = borders.iter().zip(borders.iter().skip(1)).filter(|&(&start, _)| {
                while waits.next_if(|wait| wait.end <= start).is_some() {}
                waits.peek().is_none_or(|wait| start < wait.start)
            });
            (location, pieces.map(|(&start, &end)| TimeRange { start, end }).collect())
        };
        borders.into_iter().map(ranges).collect()
    }

    /// With the times that the second pass has found.
    pub fn new(of: &Dependencies, calls: &PathCallsOutput, remap: &Remap) -> Self {
        let mut number = 0;
        let pieces = Pieces::ranges(of).into_iter().map(|(location, ranges)| {
            let waits = waits_in(of, location, &ranges, remap);
            let mut paths: BTreeMap<CallPathId, Vec<(usize, Ticks)>> = BTreeMap::new();
            for piece in 0..ranges.len() {
                for share in calls.of_segment(number) {
                    let wait = waits.get(&(piece, share.call_path)).copied().unwrap_or_default();
                    let times = paths.entry(share.call_path).or_default();
                    let before = times.last().map_or(Ticks(0), |last| last.1);
                    times.push((piece, before + share.time.since(wait)));
                }
                number += 1;
            }
            (location, LocationPieces { ranges, paths: paths.into_iter().collect() })
        });
        Pieces(pieces.collect())
    }

    /// The time of each call path with time between two borders, without waits, ascending.
    pub fn times(&self, location: LocationId, start: Ticks, end: Ticks) -> Vec<(CallPathId, u64)> {
        let Some(of) = self.0.get(&location) else { return Vec::new() };
        let piece = |at: Ticks| of.ranges.partition_point(|range| range.start < at);
        let (first, last) = (piece(start), piece(end));
        let times = of.paths.iter().filter_map(|(path, times)| {
            let ticks = before(times, last).since(before(times, first));
            (Ticks(0) < ticks).then_some((*path, ticks.0))
        });
        times.collect()
    }

    /// The same between any two times: pieces that lie partly in between count in proportion, rounded down.
    pub fn times_by_rate(&self, location: LocationId, start: Ticks, end: Ticks) -> Vec<(CallPathId, u64)> {
        let Some(of) = self.0.get(&location) else { return Vec::new() };
        let first = of.ranges.partition_point(|range| range.end <= start);
        let after = of.ranges.partition_point(|range| range.start < end);
        let inside = |times: &[(usize, Ticks)], piece: usize| {
            let range = of.ranges[piece];
            let overlap = range.end.min(end).since(range.start.max(start));
            let time = before(times, piece + 1).since(before(times, piece));
            part(time.0, overlap.0, range.end.since(range.start).0)
        };
        let times = of.paths.iter().filter_map(|(path, times)| {
            let ticks = match after.saturating_sub(first) {
                0 => 0,
                1 => inside(times, first),
                _ => {
                    let between = before(times, after - 1).since(before(times, first + 1));
                    inside(times, first) + between.0 + inside(times, after - 1)
                }
            };
            (0 < ticks).then_some((*path, ticks))
        });
        times.collect()
    }
}

/// The time of a call path before a piece.
fn before(times: &[(usize, Ticks)], piece: usize) -> Ticks {
    let n = times.partition_point(|time| time.0 < piece);
    n.checked_sub(1).map_or(Ticks(0), |i| times[i].1)
}

/// Waits that lie in pieces, by piece and call path: those that are divided by rate.
fn waits_in(
    of: &Dependencies,
    location: LocationId,
    ranges: &[TimeRange],
    remap: &Remap,
) -> BTreeMap<(usize, CallPathId), Ticks> {
    let mut found: BTreeMap<(usize, CallPathId), Ticks> = BTreeMap::new();
    for wait in of.places_at(location).filter(|&i| !of.is_exact(i)).map(|i| &of.waits[i]) {
        let first = ranges.partition_point(|range| range.end <= wait.start);
        for (piece, range) in ranges.iter().enumerate().skip(first).take_while(|it| it.1.start < wait.end) {
            let inside = range.end.min(wait.end).since(range.start.max(wait.start));
            *found.entry((piece, remap.path(wait.path))).or_default() += inside;
        }
    }
    found
}
