//! Sync points of locations, and what depends on what.

use crate::message_matching::{self, Matched, MatchedEnd, MessageEnds, Side, for_each_pair};
use crate::paired_operations::{CollectiveMember, CollectivePart, instances, waits_for_all};
use ouzel_engine::FinishCx;
use ouzel_model::{
    CallPathId, CollectiveOp, CollectiveRoot, CommId, LocationId, MessageEnd, Ticks, WorldRank,
};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The sync points of one location, in the order of the records.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LocationPoints {
    pub times: Vec<Ticks>,
    /// For each message end, as `message_matching::LocationEnds` numbers them, its point.
    pub of_end: Vec<u32>,
    pub collectives: Vec<CollectivePoint>,
}

/// A collective of one location.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CollectivePoint {
    pub op: CollectiveOp,
    pub comm: CommId,
    pub root: Option<WorldRank>,
    pub moves_data: bool,
    /// The point where it begins, if that is recorded.
    pub begin: Option<u32>,
    pub end: u32,
}

/// The sync points of the locations folded so far.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct ClockRepairsPartial {
    pub(super) messages: MessageEnds,
    /// Messages whose ends are settled.
    pub(super) matched: Matched,
    pub(super) locations: BTreeMap<LocationId, LocationPoints>,
}

/// While a location is folded.
#[derive(Debug, Default)]
pub struct ClockRepairsLocal {
    pub(super) messages: message_matching::MatchingLocal,
    pub(super) points: LocationPoints,
    pub(super) roots: Vec<CollectiveRoot>,
    /// Where the blocking collective began that has yet to end.
    pub(super) begun: Option<u32>,
    /// Where a collective was posted under a request.
    pub(super) posted: FxHashMap<u64, u32>,
    /// Places in the order of posting of the message ends of a chunk.
    pub(super) nths: Nths,
}

/// Places in the order of posting, in the order of the records.
#[derive(Debug, Default)]
pub(super) struct Nths(pub Vec<u32>);

impl message_matching::Observer for Nths {
    fn end(&mut self, _: &MessageEnd, _: Side, nth: u32, _: CallPathId, _: Ticks) {
        self.0.push(nth);
    }
}

/// No point.
pub(super) const NONE: u32 = u32::MAX;

/// A sync point: index of the location, and index of the point there.
pub(super) type Point = (u32, u32);

/// What a point may not precede.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// Another point.
    Point(Point),
    /// All of a gathering.
    Gathering(u32),
}

/// All sync points and dependencies of a trace.
#[derive(Debug, Default)]
pub(super) struct Dependencies {
    pub locations: Vec<LocationId>,
    /// For each location the times of its points.
    pub times: Vec<Vec<Ticks>>,
    /// For each location the points that depend on something, ascending.
    pub causes: Vec<Vec<(u32, Cause)>>,
    /// Begins that are waited for together.
    pub gatherings: Vec<Vec<Point>>,
}

impl Dependencies {
    pub fn new(partial: ClockRepairsPartial, cx: &FinishCx<'_>) -> Self {
        let ClockRepairsPartial { messages, matched, locations } = partial;
        let mut all = Dependencies::default();
        let (mut of_end, mut members, mut operations, mut parts) =
            (FxHashMap::default(), Vec::new(), Vec::new(), Vec::new());
        for (id, points) in locations {
            let location = all.locations.len() as u32;
            of_end.insert(id, (location, points.of_end));
            for part in points.collectives {
                let Some(begin) = part.begin else { continue };
                let arrived = points.times[begin as usize];
                let of_instance = CollectivePart { op: part.op, comm: part.comm, root: part.root, arrived };
                let leave = points.times[part.end as usize];
                let op = operations.len() as u32;
                members.push(CollectiveMember { op, part: of_instance, leave, is_selected: true });
                operations.push(id);
                parts.push((location, part));
            }
            all.locations.push(id);
            all.causes.push(Vec::new());
            all.times.push(points.times);
        }
        let point = |place: MatchedEnd| {
            let (location, points) = of_end.get(&place.location)?;
            let point = points.get(place.nth as usize).copied().filter(|&point| point != NONE)?;
            Some((*location, point))
        };
        let mut connect = |send: MatchedEnd, receive: MatchedEnd| {
            if let (Some(send), Some((location, receive))) = (point(send), point(receive)) {
                all.causes[location as usize].push((receive, Cause::Point(send)));
            }
        };
        for_each_pair(&messages, cx.definitions, |pair| connect(pair.send.place(), pair.receive.place()));
        matched.for_each(&mut connect);
        let (instances, _) = instances(members, |op| operations[op as usize], cx.definitions);
        for instance in instances {
            let parts: Vec<(u32, CollectivePoint)> =
                instance.iter().map(|member| parts[member.op as usize]).collect();
            all.add_collective(&parts, cx);
        }
        for causes in &mut all.causes {
            causes.sort_unstable_by_key(|&(point, _)| point);
        }
        all
    }

    fn add_collective(&mut self, parts: &[(u32, CollectivePoint)], cx: &FinishCx<'_>) {
        use CollectiveOp as Op;
        let begin = |&(location, part): &(u32, CollectivePoint)| {
            (location, part.begin.expect("others were left out"))
        };
        let first = parts[0].1;
        let root = parts.iter().find_map(|(_, part)| part.root);
        let rank = |location: u32| cx.definitions.location(self.locations[location as usize]).rank;
        let at_root = root.and_then(|root| parts.iter().find(|(location, _)| rank(*location) == Some(root)));
        match first.op {
            op if waits_for_all(op) => {
                let gathering = self.gatherings.len() as u32;
                self.gatherings.push(parts.iter().map(begin).collect());
                for &(location, part) in parts {
                    self.causes[location as usize].push((part.end, Cause::Gathering(gathering)));
                }
            }
            Op::Bcast | Op::Scatter => {
                let Some(at_root) = at_root else { return };
                let of_others = parts.iter().filter(|(at, part)| *at != at_root.0 && part.moves_data);
                for &(location, part) in of_others {
                    self.causes[location as usize].push((part.end, Cause::Point(begin(at_root))));
                }
            }
            Op::Reduce | Op::Gather => {
                let Some(&(location, part)) = at_root.filter(|(_, part)| part.moves_data) else { return };
                let gathering = self.gatherings.len() as u32;
                self.gatherings.push(parts.iter().map(begin).collect());
                self.causes[location as usize].push((part.end, Cause::Gathering(gathering)));
            }
            Op::Scan | Op::Exscan => {
                for pair in parts.windows(2).filter(|pair| pair[1].1.moves_data) {
                    let (location, part) = pair[1];
                    self.causes[location as usize].push((part.end, Cause::Point(begin(&pair[0]))));
                }
            }
            _ => {}
        }
    }

    /// The number of points that come before their cause by the times `at`, and the greatest difference in ticks.
    pub fn violations(&self, at: impl Fn(Point) -> u64) -> (u64, u64) {
        let last: Vec<u64> = self
            .gatherings
            .iter()
            .map(|points| points.iter().map(|&point| at(point)).max().unwrap_or(0))
            .collect();
        let (mut n, mut worst) = (0, 0);
        for (location, causes) in (0..).zip(&self.causes) {
            for &(point, cause) in causes {
                let from = match cause {
                    Cause::Point(point) => at(point),
                    Cause::Gathering(i) => last[i as usize],
                };
                let early = from.saturating_sub(at((location, point)));
                n += u64::from(0 < early);
                worst = worst.max(early);
            }
        }
        (n, worst)
    }

    /// Number of points that depend on something.
    pub(crate) fn n_causes(&self) -> u64 {
        self.causes.iter().map(|causes| causes.len() as u64).sum()
    }
}
