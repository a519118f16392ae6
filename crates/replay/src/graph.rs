//! The points of each location and what they need.

use ouzel_model::{CallPathId, CallPathTree, LocationId, Ticks, TimeRange, WorldRank};
use ouzel_waits::edges::MissingEdges;
use std::collections::BTreeSet;

/// A post or a join, by number: points come first, joins follow.
pub(crate) type Signal = u32;

/// Who needs whom, ready to be replayed.
#[derive(Debug, Clone)]
pub struct Graph {
    /// The call paths of the points.
    pub(crate) call_paths: CallPathTree,
    /// Ascending by location.
    pub(crate) timelines: Vec<Timeline>,
    /// Timeline by timeline, each in the order of its calls.
    pub(crate) points: Vec<Point>,
    /// By point.
    pub(crate) timeline_of: Vec<u32>,
    /// By point: where its needs end; they begin where those of the point before end.
    pub(crate) needs_end: Vec<u32>,
    /// What points need, point by point.
    pub(crate) needs: Vec<Signal>,
    pub(crate) joins: Vec<JoinNode>,
    /// What joins need, join by join.
    pub(crate) inputs: Vec<Signal>,
    /// Points and joins, each after all that it needs.
    pub(crate) runs: Vec<Run>,
    /// The messages of calls that completed some, in no order.
    pub(crate) transfers: Vec<Transfer>,
    /// Messages of which both ends are known.
    pub(crate) n_messages: u64,
    pub(crate) dropped: Dropped,
}

/// What a location does from its first event to its last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Timeline {
    pub location: LocationId,
    pub rank: Option<WorldRank>,
    pub start: u64,
    pub end: u64,
    /// Index of its first point.
    pub first: usize,
    pub n_points: usize,
}

/// A moment at which a location posts or needs something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Point {
    /// When it is reached.
    pub at: u64,
    /// When the location goes on.
    pub until: u64,
    /// The call that needs them; the root if it needs nothing.
    pub path: CallPathId,
}

/// Points of one timeline that follow each other, or joins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    /// The first of them.
    pub first: Signal,
    /// What follows the last one.
    pub end: Signal,
    /// The timeline of the points.
    pub timeline: u32,
}

/// All of its inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct JoinNode {
    /// Where its inputs end.
    pub inputs_end: u32,
    /// Whether every timeline takes part, and needs all others.
    pub is_of_all: bool,
}

/// The messages that a call completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Transfer {
    pub point: u32,
    /// The sum over its messages.
    pub bytes: u64,
    /// From the end of its wait to its leave.
    pub rest: u64,
}

/// What is not replayed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Dependencies that the record did not meet: the call was left before.
    pub unmet: u64,
    /// Dependencies of calls that would wait for each other.
    pub cyclic: u64,
    /// Locations with events that follow no point: threads beside the main one, streams of accelerators.
    pub locations: u64,
    /// What the records do not tell.
    pub missing: MissingEdges,
}

impl Graph {
    /// What is not replayed.
    pub fn dropped(&self) -> &Dropped {
        &self.dropped
    }

    /// Calls that completed messages, ascending by point.
    pub(crate) fn transfers(&self) -> Vec<Transfer> {
        let mut transfers = self.transfers.clone();
        transfers.sort_unstable_by_key(|it| (it.point, it.rest, it.bytes));
        transfers.dedup_by(|later, first| {
            let is_same = later.point == first.point;
            if is_same {
                first.bytes += later.bytes;
            }
            is_same
        });
        transfers
    }

    /// From the first event of the locations that are replayed to their last.
    pub fn run(&self) -> TimeRange {
        let start = self.timelines.iter().map(|it| it.start).min().unwrap_or_default();
        let end = self.timelines.iter().map(|it| it.end).max().unwrap_or_default();
        TimeRange { start: Ticks(start), end: Ticks(end) }
    }

    /// What a point needs.
    pub(crate) fn needs_of(&self, point: usize) -> &[Signal] {
        let start = point.checked_sub(1).map_or(0, |before| self.needs_end[before]);
        &self.needs[start as usize..self.needs_end[point] as usize]
    }

    /// What a join needs.
    pub(crate) fn inputs_of(&self, join: usize) -> &[Signal] {
        let start = join.checked_sub(1).map_or(0, |before| self.joins[before].inputs_end);
        &self.inputs[start as usize..self.joins[join].inputs_end as usize]
    }

    /// Takes dependencies away: of each point that is given, those on signals that are given.
    pub(crate) fn drop_needs(&mut self, cyclic: &BTreeSet<(u32, Signal)>) {
        self.dropped.cyclic += cyclic.len() as u64;
        let (mut kept, mut start) = (Vec::with_capacity(self.needs.len()), 0);
        for (number, needs_end) in (0..).zip(&mut self.needs_end) {
            let needs = &self.needs[start..*needs_end as usize];
            start = *needs_end as usize;
            kept.extend(needs.iter().filter(|&&need| !cyclic.contains(&(number, need))));
            *needs_end = kept.len() as u32;
        }
        self.needs = kept;
        self.set_until();
    }

    /// When the points were left, as recorded.
    pub(crate) fn set_until(&mut self) {
        let n_points = self.points.len();
        let mut times: Vec<u64> = self.points.iter().map(|point| point.at).collect();
        for join in 0..self.joins.len() {
            let complete = self.inputs_of(join).iter().map(|&input| times[input as usize]).max();
            times.push(complete.unwrap_or_default());
        }
        for point in 0..n_points {
            let latest = self.needs_of(point).iter().map(|&need| times[need as usize]).max();
            let at = self.points[point].at;
            self.points[point].until = at.max(latest.unwrap_or_default());
        }
    }
}
