//! What `ouzel info` knows of a trace; the keys are those of the JSON.

use super::topology::TopologyEntry;
use crate::catalogue;
use crate::command::Need;
use crate::commands::that_need;
use crate::session::Session;
use crate::terminal::units::counted;
use ouzel::analyses::inventory::{EVENT_KINDS, InventoryOutput};
use ouzel::analyses::severity_cube::constructed_topology;
use ouzel::diagnose::ranks_without_events;
use ouzel::engine::{LocationEnd, Report};
use ouzel::model::{Content, Definitions, EventKind, LocationId, LocationKind, NoticeCode};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is in a trace.
#[derive(Debug, Serialize)]
pub struct Data {
    pub format: String,
    pub format_version: String,
    pub creator: String,
    pub machine: String,
    pub description: String,
    pub n_nodes: u64,
    pub n_processes: u64,
    pub n_ranks: u64,
    /// World ranks that the trace knows of and that have no events, ascending.
    pub ranks_without_events: Vec<u32>,
    pub n_threads: u64,
    pub n_accelerator_streams: u64,
    pub n_metric_locations: u64,
    pub n_locations: u64,
    pub n_events: u64,
    pub n_regions: u64,
    pub n_communicators: u64,
    pub start_ns: Option<u64>,
    pub end_ns: Option<u64>,
    pub span_ns: Option<u64>,
    pub trace_start_unix_ns: Option<u64>,
    pub ticks_per_second: u64,
    /// `applied`, `none` or `not needed`.
    pub clock_correction: &'static str,
    pub max_call_depth: u64,
    /// Events by kind, after repair; kinds that do not occur are left out.
    pub events: serde_json::Map<String, serde_json::Value>,
    pub metrics: Vec<MetricEntry>,
    pub topologies: Vec<TopologyEntry>,
    pub abilities: Vec<Ability>,
    pub locations: Vec<LocationEntry>,
}

#[derive(Debug, Serialize)]
pub struct MetricEntry {
    pub name: Arc<str>,
    pub unit: Arc<str>,
    pub mode: &'static str,
    pub description: Arc<str>,
}

/// Something that users may want to know about a run, and whether this trace records it.
#[derive(Debug, Serialize)]
pub struct Ability {
    pub what: &'static str,
    pub available: bool,
    /// How much there is, or why it is missing.
    pub reason: String,
    /// The commands that need it for their answer.
    pub commands: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct LocationEntry {
    pub location: u64,
    pub name: Arc<str>,
    pub kind: &'static str,
    pub rank: Option<u32>,
    pub group: Arc<str>,
    pub n_events: u64,
    pub start_ns: Option<u64>,
    pub end_ns: Option<u64>,
    pub complete: bool,
}

impl Data {
    /// The data from `report` and `inventory` of the trace.
    pub fn new(session: &Session<'_>, report: &Report, inventory: &InventoryOutput) -> Self {
        let definitions = session.definitions();
        let of_kind = |test: &dyn Fn(LocationKind) -> bool| {
            definitions.locations.iter().filter(|location| test(location.kind)).count() as u64
        };
        let ns = |ticks| definitions.clock.ns_from_ticks(ticks);
        let provenance = definitions.provenance.clone();
        let missing = ranks_without_events(definitions, report);
        Data {
            format: session.trace.format().as_str().to_owned(),
            format_version: provenance.format_version,
            creator: provenance.creator,
            machine: provenance.machine,
            description: provenance.description,
            n_nodes: definitions.system_tree.compute_nodes().len() as u64,
            n_processes: definitions.processes().len() as u64,
            n_ranks: definitions.ranks().len() as u64,
            ranks_without_events: missing.into_iter().map(|rank| rank.0).collect(),
            n_threads: of_kind(&|kind| matches!(kind, LocationKind::CpuThread | LocationKind::Unknown)),
            n_accelerator_streams: of_kind(&|kind| kind == LocationKind::AcceleratorStream),
            n_metric_locations: of_kind(&|kind| kind == LocationKind::Metric),
            n_locations: definitions.locations.len() as u64,
            n_events: report.coverage.events_read,
            n_regions: definitions.n_regions() as u64,
            n_communicators: definitions.n_communicators() as u64,
            start_ns: report.run_range.map(|range| ns(range.start)),
            end_ns: report.run_range.map(|range| ns(range.end)),
            span_ns: report.run_range.map(|range| ns(range.end.since(range.start))),
            trace_start_unix_ns: definitions.clock.realtime_ns,
            ticks_per_second: definitions.clock.ticks_per_second,
            clock_correction: clock_correction(definitions, report),
            max_call_depth: inventory.max_depth(),
            events: events(inventory),
            metrics: metrics(definitions),
            topologies: topologies(definitions),
            abilities: abilities(session, inventory),
            locations: locations(definitions, report),
        }
    }
}

fn clock_correction(definitions: &Definitions, report: &Report) -> &'static str {
    if report.notices.iter().any(|notice| notice.code == NoticeCode::ClocksUnsynchronised) {
        "none"
    } else if definitions.processes().len() < 2 {
        "not needed"
    } else {
        "applied"
    }
}

fn events(inventory: &InventoryOutput) -> serde_json::Map<String, serde_json::Value> {
    let counts = EVENT_KINDS.iter().map(|&kind| (kind, inventory.n_events(kind)));
    counts.filter(|&(_, n)| 0 < n).map(|(kind, n)| (kind.as_str().to_owned(), n.into())).collect()
}

fn metrics(definitions: &Definitions) -> Vec<MetricEntry> {
    let entry = |metric: &ouzel::model::Metric| MetricEntry {
        name: metric.name.clone(),
        unit: metric.unit.clone(),
        mode: catalogue::mode_text(metric.mode),
        description: metric.description.clone(),
    };
    definitions.metrics.iter().map(entry).collect()
}

/// The topologies that are defined, and the one from the system tree.
fn topologies(definitions: &Definitions) -> Vec<TopologyEntry> {
    let constructed = constructed_topology(definitions);
    let all = definitions.topologies.iter().chain(&constructed);
    all.map(|topology| TopologyEntry::of_trace(topology, definitions)).collect()
}

fn locations(definitions: &Definitions, report: &Report) -> Vec<LocationEntry> {
    let read: &BTreeMap<LocationId, _> = &report.locations;
    let ns = |ticks| definitions.clock.ns_from_ticks(ticks);
    read.iter()
        .map(|(&id, summary)| {
            let location = definitions.location(id);
            LocationEntry {
                location: location.native_id,
                name: location.name.clone(),
                kind: catalogue::kind_text(location.kind),
                rank: location.rank.map(|rank| rank.0),
                group: definitions.location_groups[location.group.index()].name.clone(),
                n_events: summary.n_events,
                start_ns: summary.span.map(|(start, _)| ns(start)),
                end_ns: summary.span.map(|(_, end)| ns(end)),
                complete: summary.end == LocationEnd::Complete,
            }
        })
        .collect()
}

fn abilities(session: &Session<'_>, inventory: &InventoryOutput) -> Vec<Ability> {
    let definitions = session.definitions();
    let n = |kind| inventory.n_events(kind);
    // What the reader reports about its format is more precise than that nothing was found.
    let lacks =
        |content, missing: &str| session.trace.source().lacks(content).unwrap_or_else(|| missing.to_owned());
    let n_messages = n(EventKind::MessageSend).max(n(EventKind::MessageRecv));
    let n_counters = definitions.metrics.iter().filter(|metric| metric.is_counter()).count() as u64;
    let n_gauges = definitions.metrics.len() as u64 - n_counters;
    let n_lines = definitions.regions.iter().filter(|region| region.line.is_some()).count() as u64;
    let n_ranks = definitions.ranks().len() as u64;
    let no_counters = || lacks(Content::Counters, "no counters recorded");
    let (n_calls, call, calls) = match n(EventKind::Enter) {
        0 => (n(EventKind::Sample), "sample", "samples, from which calls are made"),
        visits => (visits, "visit", "visits"),
    };
    vec![
        Ability::of("time in regions and call paths", n_calls, (call, calls), that_need(Need::Calls), || {
            lacks(Content::Calls, "no region is entered")
        }),
        Ability::of(
            "imbalance between ranks",
            if 1 < n_ranks { n_ranks } else { 0 },
            RANKS,
            that_need(Need::Ranks),
            || if n_ranks == 1 { "one rank only" } else { "no ranks recorded" }.to_owned(),
        ),
        Ability::of("messages", n_messages, ("message", "messages"), that_need(Need::Messages), || {
            lacks(Content::Messages, "no messages recorded")
        }),
        Ability::of(
            "collective operations",
            n(EventKind::CollectiveEnd),
            COLLECTIVE_OPERATIONS,
            that_need(Need::Collectives),
            || lacks(Content::Collectives, "no collective operations recorded"),
        ),
        Ability::of(
            "counters in call paths",
            n_counters,
            ("counter", "counters"),
            that_need(Need::Counters),
            no_counters,
        ),
        Ability::of("metrics over time", n_gauges, ("metric", "metrics"), vec![], || {
            lacks(Content::Counters, "no other metrics recorded")
        }),
        Ability::of(
            "source lines",
            n_lines,
            ("region with its line", "regions with their lines"),
            vec![],
            || "no source lines recorded".to_owned(),
        ),
        Ability::of(
            "place in a topology",
            definitions.topologies.len() as u64,
            ("topology", "topologies"),
            vec![],
            || lacks(Content::Topologies, "no topology recorded"),
        ),
    ]
}

const RANKS: (&str, &str) = ("rank", "ranks");
const COLLECTIVE_OPERATIONS: (&str, &str) =
    ("operation, counted at each member", "operations, counted at each member");

impl Ability {
    fn of(
        what: &'static str,
        count: u64,
        (singular, plural): (&str, &str),
        commands: Vec<String>,
        missing: impl FnOnce() -> String,
    ) -> Self {
        let available = 0 < count;
        let reason = if available { counted(count, singular, plural) } else { missing() };
        Ability { what, available, reason, commands }
    }
}
