//! What the analysis of delays needs to know of a run: all waits, and where ranks were together.

use super::caused::{CausedWait, GroupPoint};
use super::intervals::{Interval, intervals};
use crate::wait::WaitSum;
use ouzel_model::{CallPathTree, LocationId, Ticks};
use std::collections::BTreeMap;

/// All waits of the run, and where ranks were together.
#[derive(Debug, Clone)]
pub struct Dependencies {
    /// The call paths that the waits refer to.
    pub(crate) call_paths: CallPathTree,
    /// By location and time; those of a location do not overlap.
    pub(crate) waits: Vec<CausedWait>,
    pub(crate) intervals: Vec<Interval>,
    /// Selected waits without a single culprit, with call paths as they are shown.
    pub(crate) sums: Vec<WaitSum>,
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
        Dependencies { call_paths, waits, intervals, sums: Vec::new() }
    }

    /// The same with waits that have no single culprit.
    pub(crate) fn with_sums(self, sums: Vec<WaitSum>) -> Self {
        Dependencies { sums, ..self }
    }
}
