//! The longest gaps of all streams, and what the launching thread did in each.
//!
//! A gap is that of `idle`. The thread is the one that launches the operation that ends the gap; what it did is its
//! exclusive time by call path between the ends of the gap, exactly, from a second pass over these ranges. Law: the causes of a gap
//! add up to it, and so does what its thread did, with time outside of all calls as the root.

use super::AcceleratorsOutput;
use super::idle::IdleCause;
use ouzel_analyses::critical_path::{PathCalls, PathCallsOutput};
use ouzel_model::{CallPathId, Definitions, LocationId, RegionId, Ticks, TimeRange, WorldRank};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Call paths that are said of a gap.
const MOST_CODE: usize = 3;

/// A gap of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdleGap {
    /// The rank of the process, if the trace has ranks.
    pub rank: Option<WorldRank>,
    /// The stream.
    pub location: LocationId,
    /// When, as far as it is selected.
    pub range: TimeRange,
    /// The parts of it, as in [`IdleCause::ALL`].
    pub causes: [Ticks; 8],
    /// The operation that ends it.
    pub next: Option<RegionId>,
    /// The thread that launches that operation, if it is known.
    pub thread: Option<LocationId>,
    /// The call paths in which the thread was longest, as regions from the root, with the time; longest first.
    pub host: Vec<(Vec<RegionId>, Ticks)>,
}

impl IdleGap {
    /// How long it is.
    pub fn length(&self) -> Ticks {
        self.range.end.since(self.range.start)
    }

    /// The cause of its largest part, of several the first.
    pub fn cause(&self) -> IdleCause {
        let largest = |cause: &IdleCause| (self.causes[*cause as usize], Reverse(*cause as usize));
        IdleCause::ALL.into_iter().max_by_key(largest).unwrap_or(IdleCause::Other)
    }
}

/// Ranges in which threads are looked at, by their numbers.
#[derive(Debug, Default)]
pub struct GapPieces {
    of_threads: BTreeMap<LocationId, Vec<(u32, TimeRange)>>,
}

impl GapPieces {
    /// The ranges of each thread between the ends of gaps, as gaps of several streams overlap.
    pub fn new(gaps: &[IdleGap]) -> Self {
        let mut ends: BTreeMap<LocationId, Vec<Ticks>> = BTreeMap::new();
        for gap in gaps {
            let of = gap.thread.map(|thread| ends.entry(thread).or_default());
            of.into_iter().for_each(|ends| ends.extend([gap.range.start, gap.range.end]));
        }
        let mut pieces = GapPieces::default();
        let mut number = 0;
        for (thread, mut ends) in ends {
            ends.sort_unstable();
            ends.dedup();
            let of = ends.windows(2).map(|pair| {
                number += 1;
                (number - 1, TimeRange { start: pair[0], end: pair[1] })
            });
            pieces.of_threads.insert(thread, of.collect());
        }
        pieces
    }

    /// The pass that finds what threads do there; `None` if there is nothing to look at.
    pub fn question(&self) -> Option<PathCalls> {
        (!self.of_threads.is_empty()).then(|| PathCalls::in_ranges(self.of_threads.clone()))
    }

    /// Adds to gaps what their threads did.
    pub fn add_host(&self, gaps: &mut [IdleGap], calls: &PathCallsOutput) {
        for gap in gaps {
            let Some(pieces) = gap.thread.and_then(|thread| self.of_threads.get(&thread)) else { continue };
            let is_inside =
                |piece: &&(u32, TimeRange)| gap.range.start <= piece.1.start && piece.1.end <= gap.range.end;
            let mut times: BTreeMap<CallPathId, Ticks> = BTreeMap::new();
            for (number, _) in pieces.iter().filter(is_inside) {
                for share in calls.of_segment(*number) {
                    *times.entry(share.call_path).or_insert(Ticks(0)) += share.time;
                }
            }
            let mut times: Vec<(CallPathId, Ticks)> = times.into_iter().collect();
            times.sort_by_key(|(_, time)| Reverse(*time));
            let path = |&(path, time): &(CallPathId, Ticks)| (calls.call_paths.regions(path), time);
            gap.host = times.iter().take(MOST_CODE).map(path).collect();
        }
    }
}

impl AcceleratorsOutput {
    /// The `n` longest gaps of the selected streams, longest first, without what hosts did.
    pub fn longest_gaps(&self, n: usize, definitions: &Definitions) -> Vec<IdleGap> {
        let mut longest: BTreeSet<(Reverse<Ticks>, Ticks, LocationId, usize)> = BTreeSet::new();
        let processes = self.processes(definitions);
        // Parts of a gap come one after the other.
        let mut open: Option<(LocationId, usize, TimeRange, [Ticks; 8])> = None;
        let mut causes: BTreeMap<(LocationId, usize), [Ticks; 8]> = BTreeMap::new();
        let mut close = |gap: Option<(LocationId, usize, TimeRange, [Ticks; 8])>| {
            let Some((stream, nth, range, of)) = gap.filter(|gap| gap.2.start < gap.2.end) else { return };
            longest.insert((Reverse(range.end.since(range.start)), range.start, stream, nth));
            causes.insert((stream, nth), of);
            if n < longest.len()
                && let Some((_, _, stream, nth)) = longest.pop_last()
            {
                causes.remove(&(stream, nth));
            }
        };
        for process in &processes {
            self.for_idle_parts(process, definitions, |stream, nth, cause, range| {
                if open.as_ref().is_none_or(|gap| (gap.0, gap.1) != (stream, nth)) {
                    close(open.replace((stream, nth, range, [Ticks(0); 8])));
                }
                if let Some((.., whole, of)) = &mut open {
                    whole.end = whole.end.max(range.end);
                    of[cause as usize] += range.end.since(range.start);
                }
            });
        }
        close(open);
        let gap = |(Reverse(length), start, location, nth): (Reverse<Ticks>, Ticks, LocationId, usize)| {
            let stream = processes.iter().find_map(|process| process.stream(location))?;
            Some(IdleGap {
                rank: definitions.location(location).rank,
                location,
                range: TimeRange { start, end: start + length },
                causes: causes.get(&(location, nth)).copied().unwrap_or_default(),
                next: self.call_paths.region(stream.operations[nth].path),
                thread: stream.launches[nth].map(|(thread, _)| thread),
                host: Vec::new(),
            })
        };
        longest.iter().copied().filter_map(gap).collect()
    }
}
