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
use ouzel_analyses::critical_path::{PathCallsOutput, SegmentShare};
use ouzel_model::{CallPathId, LocationId, Remap, Ticks, TimeRange};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Of so many times for each call path, an interval is added up rather than looked up.
const FEW: usize = 8;

/// The pieces of one location.
#[derive(Debug, Default)]
struct LocationPieces<'a> {
    ranges: Vec<TimeRange>,
    /// Where the shares of each piece start, and where those of the last end; empty if waits lie in pieces.
    starts: Vec<u32>,
    /// The time of each call path, piece by piece, waits in pieces included.
    shares: &'a [SegmentShare],
    /// For each call path, ascending: the pieces in which it has time, with the time up to their ends.
    paths: Vec<(CallPathId, Vec<(u32, Ticks)>)>,
}

/// The pieces of all locations.
#[derive(Debug)]
pub(crate) struct Pieces<'a>(FxHashMap<LocationId, LocationPieces<'a>>);

impl<'a> Pieces<'a> {
    /// The pieces of each location, in the order of time.
    pub fn ranges(of: &Dependencies) -> BTreeMap<LocationId, Vec<TimeRange>> {
        let mut borders: BTreeMap<LocationId, Vec<Ticks>> = BTreeMap::new();
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
        let ranges = |(location, mut borders): (LocationId, Vec<Ticks>)| {
            borders.sort_unstable();
            borders.dedup();
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
    pub fn new(of: &Dependencies, calls: &'a PathCallsOutput, remap: &Remap) -> Self {
        let mut rest = calls.shares.as_slice();
        let mut first = 0;
        // Where the times of each call path are.
        let mut places: Vec<u32> = vec![u32::MAX; calls.call_paths.len()];
        let pieces = Pieces::ranges(of).into_iter().map(|(location, ranges)| {
            let after = first + ranges.len() as u32;
            let n_shares = rest.partition_point(|share| share.segment < after);
            let (shares, others) = rest.split_at(n_shares);
            rest = others;
            let waits = waits_in(of, location, &ranges, remap);
            let (mut starts, mut paths) = (vec![0; ranges.len() + 1], Vec::new());
            for share in shares {
                let piece = share.segment - first;
                starts[piece as usize + 1] += 1;
                let place = &mut places[share.call_path.index()];
                if *place == u32::MAX {
                    *place = paths.len() as u32;
                    paths.push((share.call_path, Vec::new()));
                }
                let times: &mut Vec<(u32, Ticks)> = &mut paths[*place as usize].1;
                let before = times.last().map_or(Ticks(0), |last| last.1);
                let wait = waits.get(&(piece as usize, share.call_path)).copied().unwrap_or_default();
                times.push((piece, before + share.time.since(wait)));
            }
            for piece in 0..ranges.len() {
                starts[piece + 1] += starts[piece];
            }
            if !waits.is_empty() {
                starts.clear();
            }
            paths.iter().for_each(|(path, _)| places[path.index()] = u32::MAX);
            paths.sort_unstable_by_key(|(path, _)| *path);
            first = after;
            (location, LocationPieces { ranges, starts, shares, paths })
        });
        Pieces(pieces.collect())
    }

    /// The time of each call path with time between two borders, without waits, ascending.
    pub fn times(&self, location: LocationId, start: Ticks, end: Ticks) -> Vec<(CallPathId, u64)> {
        let Some(of) = self.0.get(&location) else { return Vec::new() };
        let piece = |at: Ticks| of.ranges.partition_point(|range| range.start < at);
        let (first, last) = (piece(start), piece(end));
        if let (Some(&from), Some(&to)) = (of.starts.get(first), of.starts.get(last))
            && to.saturating_sub(from) as usize <= FEW * of.paths.len()
        {
            return sums(of.shares.get(from as usize..to as usize).unwrap_or_default());
        }
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
        let inside = |times: &[(u32, Ticks)], piece: usize| {
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

/// The sum of the shares of each call path, ascending; no share is zero.
fn sums(shares: &[SegmentShare]) -> Vec<(CallPathId, u64)> {
    let mut times: Vec<(CallPathId, u64)> = shares.iter().map(|it| (it.call_path, it.time.0)).collect();
    times.sort_unstable_by_key(|it| it.0);
    times.dedup_by(|later, first| {
        let is_same = later.0 == first.0;
        if is_same {
            first.1 += later.1;
        }
        is_same
    });
    times
}

/// The time of a call path before a piece.
fn before(times: &[(u32, Ticks)], piece: usize) -> Ticks {
    let n = times.partition_point(|time| (time.0 as usize) < piece);
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
