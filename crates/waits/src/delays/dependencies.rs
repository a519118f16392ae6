//! What the analysis of delays needs to know of a run: all waits, and where ranks were together.

use super::intervals::{Interval, intervals};
use super::output::DelaysOutput;
use super::pieces::Pieces;
use super::sweep::sweep;
use crate::class::WaitClass;
use crate::wait::{Culprit, Wait};
use ouzel_analyses::critical_path::{PathCalls, PathCallsOutput};
use ouzel_model::{CallPathId, CallPathTree, LocationId, Ticks, TimeRange};
use std::collections::BTreeMap;

/// An operation after which all its members go on together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GroupPoint {
    /// When the first member left.
    pub at: Ticks,
    /// When each member left, by location.
    pub members: Vec<(LocationId, Ticks)>,
}

/// A wait with its culprit, whatever is selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CausedWait {
    pub class: WaitClass,
    pub location: LocationId,
    /// As it is shown.
    pub path: CallPathId,
    pub start: Ticks,
    pub end: Ticks,
    pub leave: Ticks,
    pub culprit: Culprit,
    /// The part that is selected.
    pub counted: Ticks,
}

/// All waits of the run, and where ranks were together.
#[derive(Debug, Clone)]
pub struct Dependencies {
    /// The call paths that the waits refer to.
    pub(crate) call_paths: CallPathTree,
    /// By location and time; those of a location do not overlap.
    pub(crate) waits: Vec<CausedWait>,
    pub(crate) intervals: Vec<Interval>,
}

impl Dependencies {
    /// `waits` are by location and time, `starts` are the first events of locations.
    pub(crate) fn new(
        waits: Vec<CausedWait>,
        groups: &[GroupPoint],
        starts: &BTreeMap<LocationId, Ticks>,
        call_paths: CallPathTree,
    ) -> Self {
        let intervals = intervals(&waits, groups, starts);
        Dependencies { call_paths, waits, intervals }
    }

    /// The second pass. It must see the whole run.
    pub fn second_pass(&self) -> PathCalls {
        let mut number = 0;
        let pieces = Pieces::ranges(self).into_iter().map(|(location, ranges)| {
            let numbered = ranges.into_iter().map(|range| {
                number += 1;
                (number - 1, range)
            });
            (location, numbered.collect::<Vec<(u32, TimeRange)>>())
        });
        PathCalls::in_ranges(pieces.collect())
    }

    /// The costs of delays, from the result of the second pass.
    pub fn delays(&self, calls: &PathCallsOutput) -> DelaysOutput {
        let pieces = Pieces::new(self, calls);
        sweep(self, &pieces, calls)
    }
}

impl CausedWait {
    /// A wait without a single culprit has no cause that could be followed.
    pub fn new(wait: &Wait, counted: Ticks) -> Option<Self> {
        let &Wait { class, location, path, start, end, leave, .. } = wait;
        Some(CausedWait { class, location, path, start, end, leave, culprit: wait.culprit?, counted })
    }

    pub fn ticks(&self) -> Ticks {
        self.end.since(self.start)
    }
}
