//! `ouzel info` of a trace.

use crate::{ProfileInfoAnswer, TopologyAnswer};
use ouzel::analyses::inventory::EVENT_KINDS;
use ouzel::analyses::severity_cube::constructed_topology;
use ouzel::engine::LocationEnd;
use ouzel::info::{Topic, TraceInfo};
use ouzel::model::{Definitions, LocationKind, Metric};
use ouzel::{Answer, Trace, catalogue};
use serde::Serialize;
use serde_json::{Map, Value};
use std::sync::Arc;

/// What is in a trace, and what is missing.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InfoAnswer {
    /// Name of the format.
    pub format: String,
    /// Version of the format; empty if the trace does not say.
    pub format_version: String,
    /// The program that wrote it; likewise.
    pub creator: String,
    /// The machine; likewise.
    pub machine: String,
    /// What the trace says of itself; likewise.
    pub description: String,
    /// Compute nodes.
    pub n_nodes: u64,
    /// Processes; metric sources and accelerator streams are none.
    pub n_processes: u64,
    /// World ranks.
    pub n_ranks: u64,
    /// World ranks that the trace knows of and that have no events, ascending; empty if ranks were selected.
    pub ranks_without_events: Vec<u32>,
    /// Threads.
    pub n_threads: u64,
    /// Streams of accelerators.
    pub n_accelerator_streams: u64,
    /// Sources of metrics.
    pub n_metric_locations: u64,
    /// All of these.
    pub n_locations: u64,
    /// Event records read.
    pub n_events: u64,
    /// Regions that are defined.
    pub n_regions: u64,
    /// Communicators that are defined.
    pub n_communicators: u64,
    /// First event of all locations that run code; `null` without events.
    pub start_ns: Option<u64>,
    /// Last event of all locations that run code; `null` without events.
    pub end_ns: Option<u64>,
    /// The time between them; `null` without events.
    pub span_ns: Option<u64>,
    /// The trace start since 1970-01-01 UTC; `null` if unknown.
    pub trace_start_unix_ns: Option<u64>,
    /// Resolution of the timer.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub ticks_per_second: u64,
    /// `none`: times of different ranks are compared as recorded; `not needed`: there is one process.
    #[cfg_attr(feature = "schema", schemars(with = "crate::words::ClockCorrection"))]
    pub clock_correction: &'static str,
    /// Most regions open at once.
    pub max_call_depth: u64,
    /// Number of events by kind, after repair; kinds that do not occur are left out.
    #[cfg_attr(feature = "schema", schemars(with = "crate::words::EventCounts"))]
    pub events: Map<String, Value>,
    /// Metrics that are defined.
    pub metrics: Vec<InfoMetric>,
    /// Arrangements of ranks or locations; the last may be built from the system tree.
    pub topologies: Vec<TopologyAnswer>,
    /// What you can ask of the trace.
    pub abilities: Vec<InfoAbility>,
    /// In the order of the trace.
    pub locations: Vec<InfoLocation>,
    /// The profile beside the trace; missing if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "ProfileInfoAnswer"))]
    pub profile: Option<ProfileInfoAnswer>,
}

/// A metric of a trace.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InfoMetric {
    /// Its name.
    pub name: Arc<str>,
    /// Unit of its values.
    pub unit: Arc<str>,
    /// How its values relate to time.
    #[cfg_attr(feature = "schema", schemars(with = "crate::words::MetricMode"))]
    pub mode: &'static str,
    /// What it is.
    pub description: Arc<str>,
}

/// Something that users may want to know about a run, and whether the trace records it.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InfoAbility {
    /// What you can ask of the trace.
    pub what: &'static str,
    /// Whether it records it.
    pub available: bool,
    /// How much there is, or why it is missing.
    pub reason: String,
    /// The commands that need it for their answer.
    pub commands: Vec<String>,
}

/// A location.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InfoLocation {
    /// Its id in the trace's files.
    pub location: u64,
    /// Its name.
    pub name: Arc<str>,
    /// What it is.
    #[cfg_attr(feature = "schema", schemars(with = "crate::words::LocationKind"))]
    pub kind: &'static str,
    /// World rank of its process; `null` if unknown.
    pub rank: Option<u32>,
    /// Name of its owner: a process, an accelerator context.
    pub group: Arc<str>,
    /// Events read.
    pub n_events: u64,
    /// First event; `null` without events.
    pub start_ns: Option<u64>,
    /// Last event; `null` without events.
    pub end_ns: Option<u64>,
    /// Whether its events could be read to the end.
    pub complete: bool,
}

impl InfoAnswer {
    /// The shape of `answer` about `trace`. `commands`: those that need a topic. `profile`: the one beside it.
    pub fn new(
        trace: &Trace,
        answer: &Answer<TraceInfo>,
        commands: impl Fn(Topic) -> Vec<String>,
        profile: Option<ProfileInfoAnswer>,
    ) -> Self {
        let (definitions, info) = (trace.definitions(), &answer.output);
        let of_kind = |test: fn(LocationKind) -> bool| {
            definitions.locations.iter().filter(|location| test(location.kind)).count() as u64
        };
        let n_threads = definitions.n_threads() as u64;
        let ns = |ticks| definitions.clock.ns_from_ticks(ticks);
        let provenance = definitions.provenance.clone();
        InfoAnswer {
            format: trace.format().as_str().to_owned(),
            format_version: provenance.format_version,
            creator: provenance.creator,
            machine: provenance.machine,
            description: provenance.description,
            n_nodes: definitions.system_tree.compute_nodes().len() as u64,
            n_processes: definitions.processes().len() as u64,
            n_ranks: definitions.ranks().len() as u64,
            ranks_without_events: info.ranks_without_events.clone(),
            n_threads,
            n_accelerator_streams: of_kind(|kind| kind == LocationKind::AcceleratorStream),
            n_metric_locations: of_kind(|kind| kind == LocationKind::Metric),
            n_locations: definitions.locations.len() as u64,
            n_events: answer.coverage.events_read,
            n_regions: definitions.n_regions() as u64,
            n_communicators: definitions.n_communicators() as u64,
            start_ns: answer.run_range.map(|range| ns(range.start)),
            end_ns: answer.run_range.map(|range| ns(range.end)),
            span_ns: answer.run_range.map(|range| ns(range.end.since(range.start))),
            trace_start_unix_ns: definitions.clock.realtime_ns,
            ticks_per_second: definitions.clock.ticks_per_second,
            clock_correction: info.clocks.as_str(),
            max_call_depth: info.inventory.max_depth(),
            events: events(info),
            metrics: definitions.metrics.iter().map(metric).collect(),
            topologies: topologies(definitions),
            abilities: abilities(info, commands, profile.is_some()),
            locations: locations(definitions, info),
            profile,
        }
    }
}

fn events(info: &TraceInfo) -> Map<String, Value> {
    let counts = EVENT_KINDS.iter().map(|&kind| (kind, info.inventory.n_events(kind)));
    counts.filter(|&(_, n)| 0 < n).map(|(kind, n)| (kind.as_str().to_owned(), n.into())).collect()
}

fn metric(metric: &Metric) -> InfoMetric {
    InfoMetric {
        name: metric.name.clone(),
        unit: metric.unit.clone(),
        mode: catalogue::mode_text(metric.mode),
        description: metric.description.clone(),
    }
}

/// The topologies that are defined, and the one from the system tree.
fn topologies(definitions: &Definitions) -> Vec<TopologyAnswer> {
    let constructed = constructed_topology(definitions);
    let all = definitions.topologies.iter().chain(&constructed);
    all.map(|topology| TopologyAnswer::of_trace(topology, definitions)).collect()
}

fn locations(definitions: &Definitions, info: &TraceInfo) -> Vec<InfoLocation> {
    let ns = |ticks| definitions.clock.ns_from_ticks(ticks);
    let entry = |(&id, summary): (&ouzel::model::LocationId, &ouzel::engine::LocationSummary)| {
        let location = definitions.location(id);
        InfoLocation {
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
    };
    info.locations.iter().map(entry).collect()
}

/// The command that uses counters of a trace, and metrics of a profile.
const OF_BOTH: &str = "profile --metric";
/// The command that shows metrics of any kind.
const OF_METRICS: &str = "counters-over-time";

/// What can be asked. A profile beside the trace answers what its counters cannot.
fn abilities(
    info: &TraceInfo,
    commands: impl Fn(Topic) -> Vec<String>,
    has_profile: bool,
) -> Vec<InfoAbility> {
    let has_metrics = info.abilities.iter().any(|it| it.topic == Topic::Metrics && it.available);
    let entry = |ability: &ouzel::info::Ability| {
        let mut commands = commands(ability.topic);
        let mut reason = ability.reason.clone();
        if has_profile && !ability.available && ability.topic == Topic::Counters {
            commands.retain(|command| command != OF_BOTH);
            reason += "; the profile beside it has sums";
        }
        if has_metrics && !ability.available && ability.topic == Topic::Counters {
            commands.retain(|command| command != OF_METRICS);
        }
        InfoAbility { what: ability.topic.what(), available: ability.available, reason, commands }
    };
    info.abilities.iter().map(entry).collect()
}
