//! What a trace records, and therefore what a sentence about the run may claim.
//!
//! Law: code that writes a sentence about messages, partners, other ranks or numbers of calls must check here first. A
//! claim about what was not recorded is a wrong answer, however likely it is.

use ouzel_analyses::communication_totals::CommunicationOutput;
use ouzel_analyses::{owner, runs_on_cpu};
use ouzel_engine::Report;
use ouzel_model::{Content, Definitions, LocationId, WorldRank};
use serde::Serialize;
use std::collections::BTreeSet;

/// What is recorded within the selection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Recorded {
    /// Processes with events, on their threads or on streams of accelerators that are theirs.
    pub n_processes: u64,
    /// CPU threads with events; without any, all locations with events that run code.
    pub n_threads: u64,
    /// Whether there are point-to-point messages.
    pub messages: bool,
    /// Whether both sides of some of them are recorded.
    pub both_sides: bool,
    /// Whether each call is recorded with its begin and end; else calls are made of samples, and their number is
    /// unknown.
    pub calls: bool,
}

impl Recorded {
    pub(crate) fn new(
        definitions: &Definitions,
        report: &Report,
        communication: &CommunicationOutput,
    ) -> Self {
        let with_events = || report.locations.iter().filter(|(_, summary)| summary.span.is_some());
        let runs_code = |id: &LocationId| definitions.location(*id).kind.runs_code();
        let all = || with_events().map(|(&id, _)| id).filter(runs_code);
        let is_beside = definitions.drawn_beside();
        // Streams belong to the process that launches on them.
        let is_thread = |id: &LocationId| runs_on_cpu(definitions, *id) && !is_beside[id.index()];
        let n_threads = all().filter(is_thread).count();
        let processes: BTreeSet<_> = all().map(|id| owner(definitions, id)).collect();
        let totals = communication.total_messages();
        let one_sided = communication.unmatched_sends
            + communication.unmatched_receives
            + communication.unresolved_peers
            + communication.null_peers;
        let is_sampled = with_events().any(|(_, summary)| summary.seen.contains(Content::Samples));
        Recorded {
            n_processes: processes.len() as u64,
            n_threads: if n_threads == 0 { all().count() } else { n_threads } as u64,
            messages: 0 < totals.sends + totals.receives,
            both_sides: 0 < totals.sends && 0 < totals.receives && one_sided < totals.sends + totals.receives,
            calls: !is_sampled,
        }
    }

    /// Whether one rank can be compared with another.
    pub fn several_processes(&self) -> bool {
        1 < self.n_processes
    }

    /// Whether one thread can be compared with another.
    pub(crate) fn several_threads(&self) -> bool {
        1 < self.n_threads
    }
}

/// Ranks that the trace knows, by their processes or as members of communicators, but that have no events.
/// Ascending; none if ranks were selected.
pub fn ranks_without_events(definitions: &Definitions, report: &Report) -> Vec<WorldRank> {
    if report.filter.ranks.is_some() {
        return Vec::new();
    }
    let rank = |(id, _): (&LocationId, _)| definitions.location(*id).rank;
    let with_events = report.locations.iter().filter(|(_, summary)| 0 < summary.n_events);
    let with_events: BTreeSet<WorldRank> = with_events.filter_map(rank).collect();
    definitions.known_ranks().into_iter().filter(|rank| !with_events.contains(rank)).collect()
}
