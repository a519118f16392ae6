//! What the analysis of delays needs to know of a run: all waits, and where ranks were together.

use super::caused::{CausedWait, GroupPoint};
use super::intervals::{Interval, intervals};
use crate::wait::WaitSum;
use ouzel_analyses::critical_path::PathCallsOutput;
use ouzel_model::{CallPathTree, LocationId, Ticks};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Bytes of a time of the second pass: of one call path between two borders. It is kept in the partial, in the output
/// and in the pieces.
const TIME_BYTES: u64 = 48;

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
    /// Of each wait whether it is divided exactly; empty if all are.
    is_exact: Vec<bool>,
    /// Most times that the second pass keeps.
    pub(super) max_times: u64,
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
        Dependencies {
            call_paths,
            waits,
            intervals,
            sums: Vec::new(),
            is_exact: Vec::new(),
            max_times: u64::MAX,
        }
    }

    /// The same with waits that have no single culprit.
    pub(crate) fn with_sums(self, sums: Vec<WaitSum>) -> Self {
        Dependencies { sums, ..self }
    }

    /// The same with at most so much memory for what the second pass finds: see [`accepts`](Dependencies::accepts).
    #[must_use]
    pub fn within(self, max_bytes: u64) -> Self {
        Dependencies { max_times: max_bytes / TIME_BYTES, ..self }
    }

    /// Whether the result of the second pass is good for [`delays`](Dependencies::delays). If it would have taken too
    /// much memory, it is not, and another pass must be made, in which only the longer half of the waits that were
    /// exact so far still is. The others are divided by rate: in proportion to all that the culprit does since the
    /// common point, whether it takes longer than at the waiter or not.
    pub fn accepts(&mut self, calls: &PathCallsOutput) -> bool {
        if !calls.is_over {
            return true;
        }
        let mut exact: Vec<usize> = (0..self.waits.len()).filter(|&wait| self.is_exact(wait)).collect();
        if exact.is_empty() {
            // It cannot be less.
            self.max_times = u64::MAX;
        }
        exact.sort_by_key(|&wait| (Reverse(self.waits[wait].ticks()), wait));
        self.is_exact = vec![false; self.waits.len()];
        exact[..exact.len() / 2].iter().for_each(|&wait| self.is_exact[wait] = true);
        false
    }

    /// Whether a wait is divided exactly.
    pub(super) fn is_exact(&self, wait: usize) -> bool {
        self.is_exact.get(wait).copied().unwrap_or(true)
    }

    /// The selected waiting that is divided by rate.
    pub(super) fn by_rate(&self) -> Ticks {
        let waits = self.waits.iter().enumerate().filter(|(i, _)| !self.is_exact(*i));
        waits.map(|(_, wait)| wait.counted).sum()
    }
}
