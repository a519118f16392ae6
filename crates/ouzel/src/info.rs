//! What is in a trace, what is missing, and what can therefore be asked of it.
//!
//! One pass. Law: what the reader knows to be absent from its format is said before that nothing was found.

use crate::ask::{Answer, AskError};
use crate::{Options, Trace};
use ouzel_analyses::inventory::{Inventory, InventoryOutput};
use ouzel_diagnose::ranks_without_events;
use ouzel_engine::{AnalysisSet, LocationSummary, Report};
use ouzel_model::units::counted;
use ouzel_model::{Content, Definitions, EventKind, Location, LocationId, LocationKind, NoticeCode};
use std::collections::BTreeMap;

/// What a pass found in a trace.
#[derive(Debug)]
pub struct TraceInfo {
    /// Numbers of events by kind.
    pub inventory: InventoryOutput,
    /// The locations that were read.
    pub locations: BTreeMap<LocationId, LocationSummary>,
    /// World ranks that the trace knows of and that have no events, ascending.
    pub ranks_without_events: Vec<u32>,
    /// What became of the clocks.
    pub clocks: Clocks,
    /// What can be asked of the trace.
    pub abilities: Vec<Ability>,
}

/// Whether times of different processes can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clocks {
    /// The trace's clock offsets are applied.
    Applied,
    /// There are none: times are compared as recorded.
    AsRecorded,
    /// There is one process.
    NotNeeded,
}

impl Clocks {
    /// The word in answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Clocks::Applied => "applied",
            Clocks::AsRecorded => "none",
            Clocks::NotNeeded => "not needed",
        }
    }

    fn new(definitions: &Definitions, pass: &Report) -> Self {
        if pass.notices.iter().any(|notice| notice.code == NoticeCode::ClocksUnsynchronised) {
            Clocks::AsRecorded
        } else if definitions.processes().len() < 2 {
            Clocks::NotNeeded
        } else {
            Clocks::Applied
        }
    }
}

/// Something that users may want to know about a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Topic {
    /// Time in regions and call paths.
    Time,
    /// Imbalance between ranks.
    Imbalance,
    /// Point-to-point messages.
    Messages,
    /// Collective operations.
    Collectives,
    /// Teams of threads, and locks.
    Threads,
    /// Windows and accesses.
    Rma,
    /// Operations of accelerators.
    Devices,
    /// What counters gain in call paths.
    Counters,
    /// Metrics that are no counters.
    Metrics,
    /// Lines of source files.
    SourceLines,
    /// Places in a topology.
    Topology,
}

impl Topic {
    /// In a few words.
    pub fn what(self) -> &'static str {
        match self {
            Topic::Time => "time in regions and call paths",
            Topic::Imbalance => "imbalance between ranks",
            Topic::Messages => "messages",
            Topic::Collectives => "collective operations",
            Topic::Threads => "teams of threads and locks",
            Topic::Rma => "one-sided communication",
            Topic::Devices => "operations of accelerators",
            Topic::Counters => "counters in call paths",
            Topic::Metrics => "metrics over time",
            Topic::SourceLines => "source lines",
            Topic::Topology => "place in a topology",
        }
    }
}

/// Whether a trace records what a topic needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ability {
    /// What can be asked.
    pub topic: Topic,
    /// Whether there is any of it.
    pub available: bool,
    /// How much there is, or why it is missing.
    pub reason: String,
}

impl Trace {
    /// What is in the trace, and what is missing.
    ///
    /// # Errors
    /// If the pass was cancelled, or an analysis cannot answer.
    pub fn info(&self, options: &Options<'_>) -> Result<Answer<TraceInfo>, AskError> {
        let definitions = self.definitions();
        let mut set = AnalysisSet::default();
        let inventory = set.add(Inventory);
        let mut pass = self.run(&set, options)?;
        let inventory = pass.outputs.take(&inventory)?;
        let missing = ranks_without_events(definitions, &pass);
        let info = TraceInfo {
            ranks_without_events: missing.into_iter().map(|rank| rank.0).collect(),
            clocks: Clocks::new(definitions, &pass),
            abilities: abilities(self, &inventory),
            locations: std::mem::take(&mut pass.locations),
            inventory,
        };
        Ok(Answer::new(info, pass))
    }
}

fn abilities(trace: &Trace, inventory: &InventoryOutput) -> Vec<Ability> {
    let definitions = trace.definitions();
    let n = |kind| inventory.n_events(kind);
    let lacks = |content, missing: &str| trace.source().lacks(content).unwrap_or_else(|| missing.to_owned());
    let n_messages = n(EventKind::MessageSend).max(n(EventKind::MessageRecv));
    let n_counters = definitions.metrics.iter().filter(|metric| metric.is_counter()).count() as u64;
    let n_gauges = definitions.metrics.len() as u64 - n_counters;
    let is_stream = |it: &&Location| it.kind == LocationKind::AcceleratorStream;
    let n_streams = definitions.locations.iter().filter(is_stream).count() as u64;
    let n_lines = definitions.regions.iter().filter(|region| region.line.is_some()).count() as u64;
    // Without ranks, processes are compared.
    let (n_compared, one, many) = match definitions.ranks().len() {
        0 => (definitions.processes().len() as u64, "process", "processes"),
        n => (n as u64, "rank", "ranks"),
    };
    let calls = match n(EventKind::Enter) {
        0 => (n(EventKind::Sample), "sample", "samples, from which calls are made"),
        visits => (visits, "visit", "visits"),
    };
    let ability = |topic, (n, one, many): (u64, &str, &str), missing: &dyn Fn() -> String| Ability {
        topic,
        available: 0 < n,
        reason: if 0 < n { counted(n, one, many) } else { missing() },
    };
    vec![
        ability(Topic::Time, calls, &|| lacks(Content::Calls, "no region is entered")),
        ability(Topic::Imbalance, (if 1 < n_compared { n_compared } else { 0 }, one, many), &|| {
            if n_compared == 0 { "no process recorded".to_owned() } else { format!("one {one} only") }
        }),
        ability(Topic::Messages, (n_messages, "message", "messages"), &|| {
            lacks(Content::Messages, "no messages recorded")
        }),
        ability(
            Topic::Collectives,
            (
                n(EventKind::CollectiveEnd),
                "operation, counted at each member",
                "operations, counted at each member",
            ),
            &|| lacks(Content::Collectives, "no collective operations recorded"),
        ),
        ability(Topic::Threads, (n(EventKind::Thread), "event of them", "events of them"), &|| {
            lacks(Content::Threads, "no teams and no locks recorded")
        }),
        ability(Topic::Rma, (n(EventKind::Rma), "event of it", "events of it"), &|| {
            lacks(Content::Rma, "no windows and no accesses recorded")
        }),
        ability(Topic::Devices, (n_streams, "stream", "streams"), &|| {
            lacks(Content::AcceleratorStreams, "no accelerator recorded")
        }),
        ability(Topic::Counters, (n_counters, "counter", "counters"), &|| {
            lacks(Content::Counters, "no counters recorded")
        }),
        ability(Topic::Metrics, (n_gauges, "metric", "metrics"), &|| {
            lacks(Content::Counters, "no other metrics recorded")
        }),
        ability(Topic::SourceLines, (n_lines, "region with its line", "regions with their lines"), &|| {
            "no source lines recorded".to_owned()
        }),
        ability(Topic::Topology, (definitions.topologies.len() as u64, "topology", "topologies"), &|| {
            lacks(Content::Topologies, "no topology recorded")
        }),
    ]
}
