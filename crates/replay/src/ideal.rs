//! The run on a machine on which calls of MPI take no time but waiting.

use crate::graph::Graph;
use ouzel_analyses::critical_path::RangesInMpi;
use ouzel_model::{Ticks, TimeRange};

/// The most ends of messages without another end, of all ends, with which a replay tells of the run as a whole.
const MOST_UNMATCHED: f64 = 0.01;

impl Graph {
    /// How long the run would take if calls of MPI took no time but waiting: every location keeps its own work, and all
    /// that it needs of others. `calls` are the outermost calls of MPI.
    pub fn ideal_run_time(&self, calls: &RangesInMpi) -> Ticks {
        let mut in_mpi = vec![0; self.n_pieces()];
        for (timeline, of) in self.timelines.iter().enumerate() {
            let mut calls = calls.get(&of.location).map(Vec::as_slice).unwrap_or_default();
            for (piece, range) in self.ranges(timeline) {
                calls = &calls[calls.partition_point(|call| call.end <= range.start)..];
                let inside = calls.iter().take_while(|call| call.start < range.end);
                in_mpi[piece as usize] = inside.map(|call| shared(*call, range)).sum();
            }
        }
        self.run_time_without(&in_mpi)
    }

    /// How long the run would take with so much less in each piece.
    pub(crate) fn run_time_without(&self, less: &[u64]) -> Ticks {
        let lengths = self.lengths().into_iter().zip(less);
        let shorter: Vec<u64> = lengths.map(|(length, less)| length.saturating_sub(*less)).collect();
        self.replay(&shorter).run_time()
    }

    /// Why a replay tells little about the run as a whole; `None` if it tells enough.
    pub fn doubt(&self) -> Option<&'static str> {
        if !self.has_dependencies() {
            Some("no process records messages or collectives that could be replayed")
        } else if MOST_UNMATCHED < self.unmatched_share() {
            Some("more than 1 % of the message ends have no other end")
        } else if 0 < self.dropped().missing.partial {
            Some("collectives lack members")
        } else {
            None
        }
    }

    /// Whether any location needs another.
    pub(crate) fn has_dependencies(&self) -> bool {
        !self.needs.is_empty()
    }

    /// The part of all ends of messages that have no other end, from 0 to 1.
    fn unmatched_share(&self) -> f64 {
        let unmatched = self.dropped().missing.unmatched as f64;
        let all = 2.0 * self.n_messages as f64 + unmatched;
        if all == 0.0 { 0.0 } else { unmatched / all }
    }
}

/// What two ranges have in common.
fn shared(a: TimeRange, b: TimeRange) -> u64 {
    a.end.min(b.end).since(a.start.max(b.start)).0
}
