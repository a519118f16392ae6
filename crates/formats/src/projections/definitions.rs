//! From the names of an `.sts` file to definitions.
//!
//! One location, one location group and one world rank for each PE with a log: Charm++ programs
//! are written for PEs, and messages name them. The processes of an SMP run are in the system
//! tree.

use super::record::{RECORDS, Span};
use super::sts::Sts;
use ouzel_model::{
    Clock, CommId, Communicator, Definitions, Location, LocationGroup, LocationGroupId, LocationGroupKind,
    LocationKind, Metric, MetricId, MetricMode, MetricValueType, Paradigm, Provenance, Region, RegionId,
    RegionRole, SystemNode, SystemNodeId, WorldRank,
};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The communicator of all PEs.
pub(super) const WORLD: CommId = CommId(0);

/// Columns of the format that the model has no place for, as parameters.
pub(super) mod parameter {
    use ouzel_model::ParameterId;

    macro_rules! parameters {
        ($($(#[$doc:meta])* $name:ident $text:literal,)*) => {
            #[expect(non_camel_case_types, clippy::upper_case_acronyms, reason = "named after the constants")]
            enum DefinitionPlace { $($name,)* }
            $($(#[$doc])* pub const $name: ParameterId = ParameterId(DefinitionPlace::$name as u32);)*
            /// Their names, in the order of their ids.
            pub const NAMES: &[&str] = &[$($text,)*];
        };
    }

    parameters! {
        /// Code of the kind of message.
        MESSAGE_TYPE "message type",
        /// Serial number of the message on the PE that made it.
        EVENT "message number",
        /// The PE that made the message.
        SOURCE_PE "source PE",
        /// Length of the message with the envelope.
        MESSAGE_BYTES "message bytes",
        /// When the message arrived, in microseconds.
        RECEIVE_TIME "receive time (us)",
        /// Index of the array element.
        INDEX "array index",
        /// The entry method a message is for.
        CREATED_FOR "created for entry method",
        /// How long the send took, in microseconds.
        SEND_DURATION "send duration (us)",
        /// Number of receivers of a broadcast or multicast.
        N_RECEIVERS "receivers",
        /// The receivers of a multicast.
        RECEIVERS "receiver PEs",
        /// Name of a user event.
        USER_EVENT "user event",
        /// A number the user gave.
        USER_VALUE "user value",
        /// Text the user gave.
        NOTE "note",
        /// Number of the phase that ended.
        PHASE "phase",
        /// The user's own time of a statistic.
        USER_TIME "user time of statistic",
        /// Source line of a function.
        LINE "line",
    }
}

/// Where the regions and metrics of records are.
#[derive(Debug)]
pub(super) struct Refs {
    /// The region of a PE while no other call is open: the overhead of the runtime.
    pub runtime: RegionId,
    spans: [RegionId; 4],
    entries: FxHashMap<i64, RegionId>,
    brackets: FxHashMap<i64, RegionId>,
    functions: FxHashMap<i64, RegionId>,
    pub unknown: RegionId,
    pub event_names: FxHashMap<i64, Arc<str>>,
    pub entry_names: FxHashMap<i64, Arc<str>>,
    /// Processor time.
    pub cpu: Option<MetricId>,
    pub memory: MetricId,
    /// The metric of each value of a hardware counter.
    pub counters: Vec<MetricId>,
    stats: FxHashMap<i64, MetricId>,
}

impl Refs {
    pub fn span(&self, span: Span) -> RegionId {
        self.spans[span as usize]
    }

    /// The region of an entry method; `None` if it has no name.
    pub fn entry(&self, id: i64) -> Option<RegionId> {
        self.entries.get(&id).copied()
    }

    /// The region of a user's bracket.
    pub fn bracket(&self, id: i64) -> Option<RegionId> {
        self.brackets.get(&id).copied()
    }

    /// The region of a function.
    pub fn function(&self, id: i64) -> Option<RegionId> {
        self.functions.get(&id).copied()
    }

    /// The metric of a statistic.
    pub fn stat(&self, id: i64) -> Option<MetricId> {
        self.stats.get(&id).copied()
    }
}

fn region(name: &str, role: RegionRole, paradigm: Paradigm) -> Region {
    let name = Arc::from(name);
    Region { name, canonical_name: None, file: None, line: None, end_line: None, role, paradigm }
}

/// Definitions for the PEs of `pes`, ascending.
pub(super) fn resolve(sts: &Sts, pes: &[u32]) -> (Definitions, Refs) {
    let clock =
        Clock { ticks_per_second: 1_000_000, offset_ticks: 0, realtime_ns: None, declared_length: None };
    let mut definitions = Definitions::empty(clock);
    definitions.provenance = Provenance {
        format: "Projections".to_owned(),
        format_version: sts.version.to_string(),
        creator: format!("Charm++ {}", sts.charm_version).trim_end().to_owned(),
        machine: sts.machine.clone(),
        description: sts.command_line.clone(),
    };
    definitions.records = RECORDS.iter().map(|&name| Arc::from(name)).collect();
    definitions.parameters = parameter::NAMES.iter().map(|&name| Arc::from(name)).collect();
    let refs = regions_and_metrics(&mut definitions, sts);
    places(&mut definitions, sts, pes);
    (definitions, refs)
}

fn regions_and_metrics(definitions: &mut Definitions, sts: &Sts) -> Refs {
    let mut regions = vec![
        region("Charm++ runtime", RegionRole::Artificial, Paradigm::MeasurementSystem),
        region("Idle", RegionRole::TaskWait, Paradigm::Unknown),
        region("Pack", RegionRole::Function, Paradigm::Unknown),
        region("Unpack", RegionRole::Function, Paradigm::Unknown),
        region("Interrupt", RegionRole::Function, Paradigm::Unknown),
    ];
    let mut add = |name: &str| {
        let id = RegionId::from_index(regions.len());
        let unnamed = || format!("<region {} without a name>", id.0);
        let name = if name.is_empty() { unnamed() } else { name.to_owned() };
        regions.push(region(&name, RegionRole::Function, Paradigm::User));
        id
    };
    let full_name = |entry: &super::sts::EntryMethod| match sts.chares.get(&entry.chare) {
        Some(chare) => format!("{}::{}", chare.name, entry.name),
        None => entry.name.clone(),
    };
    let entry_names: Vec<(i64, Arc<str>)> =
        sts.entries.iter().map(|(&id, entry)| (id.cast_signed(), Arc::from(full_name(entry)))).collect();
    let entries = entry_names.iter().map(|(id, name)| (*id, add(name))).collect();
    let brackets = sts.events.iter().map(|(&id, name)| (id, add(name))).collect();
    let functions = sts.functions.iter().map(|(&id, name)| (id, add(name))).collect();
    definitions.set_regions(regions);
    let mut metrics = Vec::new();
    let mut metric = |name: &str, description: &str, unit: &str, mode, value_type| {
        let (name, description, unit) = (Arc::from(name), Arc::from(description), Arc::from(unit));
        metrics.push(Metric { name, description, unit, mode, value_type });
        MetricId::from_index(metrics.len() - 1)
    };
    let memory = metric("memory usage", "memory in use", "bytes", MetricMode::Absolute, MetricValueType::I64);
    let cpu = (6.5 <= sts.version).then(|| {
        let (mode, value_type) = (MetricMode::Accumulated, MetricValueType::U64);
        metric("CPU time", "CPU time of the PE", "10^-6 s", mode, value_type)
    });
    let counters = (0..sts.n_counters())
        .map(|place| {
            let name = sts.counters.get(&place).map_or("unnamed counter", String::as_str);
            metric(name, "hardware counter", "#", MetricMode::Accumulated, MetricValueType::U64)
        })
        .collect();
    let stats = sts
        .stats
        .iter()
        .map(|(&id, name)| {
            (id, metric(name, "user statistic", "", MetricMode::Absolute, MetricValueType::F64))
        })
        .collect();
    definitions.metrics = metrics;
    Refs {
        runtime: RegionId(0),
        spans: [RegionId(1), RegionId(2), RegionId(3), RegionId(4)],
        entries,
        brackets,
        functions,
        unknown: definitions.unknown_region,
        event_names: sts.events.iter().map(|(&id, name)| (id, Arc::from(name.as_str()))).collect(),
        entry_names: entry_names.into_iter().collect(),
        cpu,
        memory,
        counters,
        stats,
    }
}

/// Machine, processes, PEs.
fn places(definitions: &mut Definitions, sts: &Sts, pes: &[u32]) {
    let node = |name: String, class: &str, parent, shared_memory| SystemNode {
        name: Arc::from(name),
        class: Arc::from(class),
        parent,
        shared_memory,
    };
    let machine = if sts.machine.is_empty() { "unknown machine" } else { &sts.machine };
    let nodes = &mut definitions.system_tree.nodes;
    nodes.push(node(machine.to_owned(), "machine", None, false));
    let mut of_process: FxHashMap<u64, SystemNodeId> = FxHashMap::default();
    for &pe in pes {
        // Behind the workers of all processes come the communication threads, one for each process.
        let process = sts.smp.filter(|&(size, n)| 0 < size && 0 < n).map(|(size, n)| {
            let (pe, workers) = (u64::from(pe), size.saturating_mul(n));
            if pe < workers { (pe / size, false) } else { ((pe - workers) % n, true) }
        });
        let system_node = match process {
            None => SystemNodeId(0),
            Some((process, _)) => *of_process.entry(process).or_insert_with(|| {
                nodes.push(node(format!("process {process}"), "process", Some(SystemNodeId(0)), true));
                SystemNodeId::from_index(nodes.len() - 1)
            }),
        };
        let name: Arc<str> = match process {
            Some((process, true)) => format!("communication thread of process {process}").into(),
            _ => format!("PE {pe}").into(),
        };
        let rank = Some(WorldRank(pe));
        definitions.locations.push(Location {
            name: name.clone(),
            kind: LocationKind::CpuThread,
            group: LocationGroupId::from_index(definitions.location_groups.len()),
            rank,
            declared_events: None,
            native_id: u64::from(pe),
        });
        let kind = LocationGroupKind::Process;
        let system_node = Some(system_node);
        definitions.location_groups.push(LocationGroup {
            name,
            kind,
            system_node,
            creator: None,
            device: None,
            rank,
        });
    }
    let members = pes.iter().map(|&pe| WorldRank(pe)).collect();
    definitions.communicators = vec![Communicator::of_ranks("all PEs", members)];
}
