//! The time of each call path between the points in time that intervals start and end at.
//!
//! ```text
//! interval of a wait   ├─────────────────────┤
//! another one                  ├────────────────────┤
//! waits of the location      ▓▓▓
//! pieces               ├────┤  ├─────────────┤──────┤     each with the exclusive time of its call paths
//! ```
//!
//! Law: pieces of a location do not overlap, no wait is in a piece, and intervals start and end between pieces.

use super::dependencies::Dependencies;
use ouzel_analyses::critical_path::PathCallsOutput;
use ouzel_model::{CallPathId, LocationId, Ticks, TimeRange};
use std::collections::{BTreeMap, BTreeSet};

/// The pieces of one location.
#[derive(Debug, Default)]
struct LocationPieces {
    starts: Vec<Ticks>,
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
        for (wait, interval) in of.waits.iter().zip(&of.intervals) {
            borders.entry(wait.location).or_default().extend([interval.of_waiter, wait.start, wait.end]);
            let of_culprit = [interval.of_culprit, wait.culprit.arrived];
            borders.entry(wait.culprit.location).or_default().extend(of_culprit);
        }
        let ranges = |(location, borders): (LocationId, BTreeSet<Ticks>)| {
            let mut waits = of.waits_at(location).iter().peekable();
            let pieces = borders.iter().zip(borders.iter().skip(1)).filter(|&(&start, _)| {
                while waits.next_if(|wait| wait.end <= start).is_some() {}
                waits.peek().is_none_or(|wait| start < wait.start)
            });
            (location, pieces.map(|(&start, &end)| TimeRange { start, end }).collect())
        };
        borders.into_iter().map(ranges).collect()
    }

    /// With the times that the second pass has found.
    pub fn new(of: &Dependencies, calls: &PathCallsOutput) -> Self {
        let mut number = 0;
        let pieces = Pieces::ranges(of).into_iter().map(|(location, ranges)| {
            let mut paths: BTreeMap<CallPathId, Vec<(usize, Ticks)>> = BTreeMap::new();
            for piece in 0..ranges.len() {
                for share in calls.of_segment(number) {
                    let times = paths.entry(share.call_path).or_default();
                    let before = times.last().map_or(Ticks(0), |last| last.1);
                    times.push((piece, before + share.time));
                }
                number += 1;
            }
            let starts = ranges.iter().map(|range| range.start).collect();
            (location, LocationPieces { starts, paths: paths.into_iter().collect() })
        });
        Pieces(pieces.collect())
    }

    /// The time of each call path with time between two borders, without waits, ascending.
    pub fn times(&self, location: LocationId, start: Ticks, end: Ticks) -> Vec<(CallPathId, u64)> {
        let Some(of) = self.0.get(&location) else { return Vec::new() };
        let piece = |at: Ticks| of.starts.partition_point(|&start| start < at);
        let (first, last) = (piece(start), piece(end));
        let before = |times: &[(usize, Ticks)], piece: usize| {
            let n = times.partition_point(|time| time.0 < piece);
            n.checked_sub(1).map_or(Ticks(0), |i| times[i].1)
        };
        let times = of.paths.iter().filter_map(|(path, times)| {
            let ticks = before(times, last).since(before(times, first));
            (Ticks(0) < ticks).then_some((*path, ticks.0))
        });
        times.collect()
    }
}
