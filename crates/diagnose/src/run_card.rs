//! What ran: who recorded it, on how many ranks, for how long.

use crate::findings::Ranks;
use crate::recorded::{Recorded, ranks_without_events};
use ouzel_analyses::communication_totals::CommunicationOutput;
use ouzel_analyses::inventory::InventoryOutput;
use ouzel_engine::Report;
use ouzel_model::units::{self, counted};
use ouzel_model::{Definitions, LocationKind};
use serde::Serialize;

/// What ran.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunCard {
    /// The format of the trace.
    pub format: String,
    /// Version of the format; empty if unknown.
    pub format_version: String,
    /// The tracer; empty if unknown.
    pub creator: String,
    /// The machine, as the tracer named it; empty if unknown.
    pub machine: String,
    /// Processes of the trace.
    pub n_processes: u64,
    /// Whether processes have no ranks, so that sentences call them processes.
    #[serde(skip)]
    pub are_unranked: bool,
    /// World ranks that the trace knows of and that have no events: their files are missing, or they were not recorded.
    /// Ascending; empty if ranks were selected.
    pub ranks_without_events: Vec<u32>,
    /// What sentences about the run may mention.
    pub recorded: Recorded,
    /// Locations that are CPU threads.
    pub n_threads: u64,
    /// Locations that are streams of an accelerator.
    pub n_accelerator_streams: u64,
    /// Locations that only carry metrics.
    pub n_metric_locations: u64,
    /// Compute nodes; 0 if not recorded.
    pub n_nodes: u64,
    /// Start of the run in nanoseconds since 1970-01-01 UTC, if recorded.
    pub start_unix_ns: Option<u64>,
    /// From the first event to the last over all locations that run code, inside the filter; in nanoseconds.
    pub span_ns: u64,
    /// Resolution of the clock.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub ticks_per_second: u64,
    /// Event records read.
    pub n_events: u64,
    /// Most calls open at once at any location.
    pub max_depth: u64,
    /// Point-to-point messages sent.
    pub n_messages: u64,
    /// Their bytes.
    pub message_bytes: u64,
    /// Collective operations, counted once at each member.
    pub n_collectives: u64,
}

impl RunCard {
    /// `ns / run time`: the meaning of every percentage on a page, unless stated otherwise; 0 if the run takes no time.
    #[expect(clippy::cast_precision_loss, reason = "the only division, of exact sums")]
    pub fn share(&self, ns: u64) -> f64 {
        if self.span_ns == 0 { 0.0 } else { ns as f64 / self.span_ns as f64 }
    }

    /// What ran, in words: who recorded it, on how many ranks, for how long.
    pub fn facts(&self) -> Vec<String> {
        let by = if self.creator.is_empty() { String::new() } else { format!(" by {}", self.creator) };
        let on = match self.n_nodes {
            0 => String::new(),
            n => format!(" on {}", counted(n, "node", "nodes")),
        };
        let mut facts = vec![format!("{}{by}", self.format), self.ranks() + &on];
        if self.n_processes < self.n_threads {
            facts.push(counted(self.n_threads, "thread", "threads"));
        }
        if 0 < self.n_accelerator_streams {
            facts.push(counted(self.n_accelerator_streams, "accelerator stream", "accelerator streams"));
        }
        facts.push(units::time(self.span_ns));
        facts.push(counted(self.n_events, "event read", "events read"));
        facts
    }

    /// What else is known about the run, in words: machine, clock, communication.
    pub fn further_facts(&self) -> Vec<String> {
        let mut facts = Vec::new();
        if !self.machine.is_empty() {
            facts.push(format!("machine {}", self.machine));
        }
        facts.push(format!("clock of {}", frequency(self.ticks_per_second)));
        if 0 < self.n_messages {
            let sent = counted(self.n_messages, "message", "messages");
            facts.push(format!("{sent} ({})", units::bytes(self.message_bytes)));
        }
        if 0 < self.n_collectives {
            facts.push(counted(self.n_collectives, "collective call", "collective calls"));
        }
        if 0 < self.n_metric_locations {
            facts.push(counted(self.n_metric_locations, "metric source", "metric sources"));
        }
        facts
    }

    /// Whether there are several processes that need not share work, as they have no ranks.
    pub fn are_unrelated(&self) -> bool {
        self.are_unranked && 1 < self.n_processes
    }

    /// `8 ranks`, `2 processes`, or `5 of 8 ranks (no events of ranks 5–7)`.
    fn ranks(&self) -> String {
        if self.are_unrelated() {
            return counted(self.n_processes, "process", "processes");
        }
        if self.ranks_without_events.is_empty() {
            return counted(self.n_processes, "rank", "ranks");
        }
        let missing = Ranks::new(self.ranks_without_events.iter().copied());
        let n_with_events = self.recorded.n_processes;
        let all = counted(n_with_events + missing.list.len() as u64, "rank", "ranks");
        format!("{} of {all} (no events of {})", units::count(n_with_events), missing.in_words(usize::MAX))
    }

    pub(crate) fn new(
        definitions: &Definitions,
        report: &Report,
        inventory: &InventoryOutput,
        communication: &CommunicationOutput,
    ) -> Self {
        let n_of = |kind| definitions.locations.iter().filter(|l| l.kind == kind).count() as u64;
        let span = report.run_range.map(|range| range.end.since(range.start)).unwrap_or_default();
        let messages = communication.total_messages();
        let provenance = &definitions.provenance;
        let missing = ranks_without_events(definitions, report);
        RunCard {
            format: provenance.format.clone(),
            format_version: provenance.format_version.clone(),
            creator: provenance.creator.clone(),
            machine: provenance.machine.clone(),
            n_processes: definitions.processes().len() as u64,
            are_unranked: definitions.locations.iter().all(|location| location.rank.is_none()),
            ranks_without_events: missing.into_iter().map(|rank| rank.0).collect(),
            recorded: Recorded::new(definitions, report, communication),
            n_threads: definitions.n_threads() as u64,
            n_accelerator_streams: n_of(LocationKind::AcceleratorStream),
            n_metric_locations: n_of(LocationKind::Metric),
            n_nodes: definitions.system_tree.compute_nodes().len() as u64,
            start_unix_ns: definitions.clock.realtime_ns,
            span_ns: definitions.clock.ns_from_ticks(span),
            ticks_per_second: definitions.clock.ticks_per_second,
            n_events: report.coverage.events_read,
            max_depth: inventory.max_depth(),
            n_messages: messages.sends,
            message_bytes: messages.bytes_sent,
            n_collectives: communication.total_collectives().operations,
        }
    }
}

fn frequency(ticks_per_second: u64) -> String {
    match ticks_per_second {
        0..1_000_000 => format!("{} ticks per second", units::count(ticks_per_second)),
        _ => {
            let ns = format!("{:.3}", 1e9 / ticks_per_second as f64);
            format!("{} ns", ns.trim_end_matches('0').trim_end_matches('.'))
        }
    }
}
