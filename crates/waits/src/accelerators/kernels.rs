//! Operations by kernel, by type, and by the operator or scope that launched them; copies by direction.
//!
//! Lengths are those of the trace, in nanoseconds. Shares are of the sum over all operations; operations of several
//! streams that run at once count each. Deviations are those of a sample, 0 for a single operation.

use super::AcceleratorsOutput;
use super::communication::{CommunicationRow, Straggler};
use super::copies::{Copies, CopyFacts, CopySizes, CopySums, overlap};
use super::memory::{MemoryRow, OperatorMemoryRow};
use super::names::{CallerKind, caller_kind, direction};
use super::over_time::{DelayRange, KernelsOverTime, QueueLength};
use super::queues::{LaunchDelay, StreamQueue};
use super::shapes::{LaunchShapeSummary, ShapeSums};
use super::step_rows::StepRow;
use crate::devices::records::{DeviceOperation, OperationValue};
use crate::devices::streams::{CallPlace, DeviceProcess, Stream};
use ouzel_analyses::breakdown::{Activity, Intervals};
use ouzel_model::{CallPathId, Definitions, LaunchShape, LocationGroupId, LocationId, Ticks};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What an operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum KernelType {
    /// It computes.
    Computation,
    /// It communicates with other devices.
    Communication,
    /// It copies or fills memory.
    Memory,
}

impl KernelType {
    /// The term in lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            KernelType::Computation => "computation",
            KernelType::Communication => "communication",
            KernelType::Memory => "memory",
        }
    }

    fn of(activity: Activity) -> Option<KernelType> {
        match activity {
            Activity::Computation | Activity::Unclassified => Some(KernelType::Computation),
            Activity::Communication => Some(KernelType::Communication),
            Activity::Transfer => Some(KernelType::Memory),
            Activity::Other => None,
        }
    }
}

/// What operations are grouped by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KernelsBy {
    /// Their own name.
    #[default]
    Kernel,
    /// The innermost operator or function that launches them.
    Operator,
    /// The innermost range or Python function around their launch.
    Scope,
}

impl KernelsBy {
    /// The term in lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            KernelsBy::Kernel => "kernel",
            KernelsBy::Operator => "operator",
            KernelsBy::Scope => "scope",
        }
    }
}

/// Whether rows are of the whole run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KernelsPer {
    /// They are.
    #[default]
    Run,
    /// Each is of one step.
    Step,
}

/// How long operations of one group run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Durations {
    /// How many.
    pub n: u64,
    /// All together.
    pub total_ns: u64,
    /// Their mean.
    pub mean_ns: f64,
    /// Their median; of an even number the mean of the two in the middle.
    pub median_ns: f64,
    /// The shortest.
    pub min_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// The deviation of the sample.
    pub std_ns: f64,
}

impl Durations {
    /// Those of one operation at least.
    fn new(mut ns: Vec<u64>) -> Option<Self> {
        ns.sort_unstable();
        let (n, min_ns, max_ns) = (ns.len(), *ns.first()?, *ns.last()?);
        let total: u128 = ns.iter().map(|&ns| u128::from(ns)).sum();
        let mean_ns = total as f64 / n as f64;
        let squares: f64 = ns.iter().map(|&ns| (ns as f64 - mean_ns).powi(2)).sum();
        Some(Durations {
            n: n as u64,
            total_ns: u64::try_from(total).unwrap_or(u64::MAX),
            mean_ns,
            median_ns: f64::midpoint(ns[(n - 1) / 2] as f64, ns[n / 2] as f64),
            min_ns,
            max_ns,
            std_ns: if n < 2 { 0.0 } else { (squares / (n - 1) as f64).sqrt() },
        })
    }
}

/// Operations of one name and type.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelRow {
    /// The step, if rows are of steps; `None` for operations outside of any.
    pub step: Option<u64>,
    /// The kernel, operator or scope; `None` for operations that none is known of.
    pub name: Option<Arc<str>>,
    /// What they do.
    pub kind: KernelType,
    /// How long they run.
    pub durations: Durations,
    /// How they were launched.
    pub shape: LaunchShapeSummary,
}

/// Kernels that run shorter than the call that launches them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ShortKernels {
    /// How many.
    pub n: u64,
    /// How long they run.
    pub total_ns: u64,
    /// How long their launches take.
    pub launch_ns: u64,
}

/// What the streams of the selection run.
#[derive(Debug, Clone)]
pub struct KernelsOutput {
    /// By kernel, the most time first.
    pub kernels: Vec<KernelRow>,
    /// By what was asked for, the most time first; the kernels, if these were.
    pub groups: Vec<KernelRow>,
    /// What the groups are.
    pub by: KernelsBy,
    /// Whether each is of one step; the kernels are those of the run then.
    pub per: KernelsPer,
    /// The steps; none if no regions mark them.
    pub steps: Vec<StepRow>,
    /// Time by type; the types that occur, in their order.
    pub types: Vec<(KernelType, u64)>,
    /// By rank and stream.
    pub queues: Vec<StreamQueue>,
    /// By rank.
    pub launch_delays: Vec<LaunchDelay>,
    /// By direction, the most time first.
    pub copies: Vec<Copies>,
    /// By direction and size.
    pub copy_sizes: Vec<CopySizes>,
    /// By stream and length.
    pub queue_lengths: Vec<QueueLength>,
    /// By rank and range.
    pub delay_ranges: Vec<DelayRange>,
    /// Queues, delays and copies over time, if they are asked for.
    pub over_time: Option<KernelsOverTime>,
    /// By rank and place, if the trace records an allocator.
    pub memory: Vec<MemoryRow>,
    /// By rank, place and operator, the highest peak first.
    pub memory_operators: Vec<OperatorMemoryRow>,
    /// Kernels that run shorter than their launches.
    pub short: ShortKernels,
    /// Collectives of devices, the most time first.
    pub communication: Vec<CommunicationRow>,
    /// Who comes late to them, by rank.
    pub stragglers: Vec<Straggler>,
}

impl KernelsOutput {
    /// Time of all operations.
    pub fn total_ns(&self) -> u64 {
        self.types.iter().fold(0, |sum: u64, (_, ns)| sum.saturating_add(*ns))
    }
}

/// A selected operation.
pub(super) struct Selected<'a> {
    pub stream: &'a Stream<'a>,
    pub nth: usize,
    pub it: &'a DeviceOperation,
    kind: KernelType,
    pub ns: u64,
}

impl Selected<'_> {
    /// Whether it copies or fills.
    pub fn is_memory(&self) -> bool {
        self.kind == KernelType::Memory
    }

    fn launch(&self) -> Option<CallPlace> {
        self.stream.launches[self.nth]
    }
}

/// By step, name and type.
type Groups = BTreeMap<(Option<u64>, Option<Arc<str>>, KernelType), Group>;

/// When each device computes.
type Computing = BTreeMap<LocationGroupId, Intervals>;

#[derive(Default)]
struct Group {
    ns: Vec<u64>,
    shapes: ShapeSums,
}

impl Group {
    fn add(&mut self, ns: u64, shape: Option<LaunchShape>) {
        self.ns.push(ns);
        self.shapes.add(shape, ns);
    }
}

impl AcceleratorsOutput {
    /// What the selected streams run, an operation in the time range in which it begins.
    pub fn kernels(&self, by: KernelsBy, per: KernelsPer, definitions: &Definitions) -> KernelsOutput {
        let processes = self.processes(definitions);
        let (mut kernels, mut groups) = (Groups::new(), Groups::new());
        let mut copies = CopySums::default();
        let computing = self.computing(&processes);
        let mut short = ShortKernels::default();
        for process in &processes {
            for stream in &process.streams {
                self.for_selected(stream, definitions, |op| {
                    let name = self.name(op.it.path, definitions);
                    if let Some(name) = name.as_deref() {
                        self.add_copy(&mut copies, &op, name, &computing, definitions);
                    }
                    self.add_short(&mut short, process, &op, definitions);
                    let launch = || op.launch().map(|place| process.call(place).path);
                    let group = match by {
                        KernelsBy::Kernel => name.clone(),
                        _ => launch().and_then(|path| self.caller(path, by, definitions)),
                    };
                    let step = match per {
                        KernelsPer::Run => None,
                        KernelsPer::Step => self.steps.of(stream.location, op.nth),
                    };
                    let shape = self.shape(stream.location, op.nth);
                    groups.entry((step, group, op.kind)).or_default().add(op.ns, shape);
                    kernels.entry((None, name, op.kind)).or_default().add(op.ns, shape);
                });
            }
        }
        let mut types: BTreeMap<KernelType, u64> = BTreeMap::new();
        for ((_, _, kind), group) in &kernels {
            let sum = types.entry(*kind).or_default();
            *sum = group.ns.iter().fold(*sum, |sum, &ns| sum.saturating_add(ns));
        }
        let kernels = rows(kernels);
        let (communication, stragglers) = self.communication(definitions);
        let (copies, copy_sizes) = copies.rows();
        let (memory, memory_operators) = self.memory(definitions);
        KernelsOutput {
            groups: rows(groups),
            kernels,
            by,
            per,
            steps: self.step_rows(definitions),
            types: types.into_iter().collect(),
            queues: self.queues(&processes, definitions),
            launch_delays: self.launch_delays(&processes, definitions),
            copies,
            copy_sizes,
            queue_lengths: self.queue_lengths(&processes, definitions),
            delay_ranges: self.delay_ranges(&processes, definitions),
            over_time: None,
            memory,
            memory_operators,
            short,
            communication,
            stragglers,
        }
    }

    /// Calls `f` with the stream, place and length of each selected operation.
    pub(super) fn for_each_operation(
        &self,
        definitions: &Definitions,
        mut f: impl FnMut(LocationId, usize, u64),
    ) {
        for stream in self.processes(definitions).iter().flat_map(|process| &process.streams) {
            self.for_selected(stream, definitions, |op| f(stream.location, op.nth, op.ns));
        }
    }

    pub(super) fn for_selected(
        &self,
        stream: &Stream<'_>,
        definitions: &Definitions,
        mut f: impl FnMut(Selected<'_>),
    ) {
        for (nth, it) in stream.operations.iter().enumerate().filter(|(nth, _)| self.counts(stream, *nth)) {
            let is_hidden = self.call_paths.region(it.path) == Some(definitions.filtered_region);
            let Some(kind) = KernelType::of(self.activity(it.path)).filter(|_| !is_hidden) else { continue };
            let ns = definitions.clock.ns_from_ticks(it.end.since(it.start));
            f(Selected { stream, nth, it, kind, ns });
        }
    }

    pub(super) fn name(&self, path: CallPathId, definitions: &Definitions) -> Option<Arc<str>> {
        self.call_paths.region(path).map(|region| definitions.region(region).name.clone())
    }

    /// The innermost operator or scope of a call path.
    pub(super) fn caller(
        &self,
        path: CallPathId,
        by: KernelsBy,
        definitions: &Definitions,
    ) -> Option<Arc<str>> {
        let wanted = if by == KernelsBy::Scope { CallerKind::Scope } else { CallerKind::Operator };
        let mut at = path;
        while let Some(region) = self.call_paths.region(at) {
            let region = definitions.region(region);
            if caller_kind(region) == wanted {
                return Some(region.name.clone());
            }
            at = self.call_paths.parent(at);
        }
        None
    }

    fn add_copy(
        &self,
        copies: &mut CopySums,
        op: &Selected<'_>,
        name: &str,
        computing: &Computing,
        definitions: &Definitions,
    ) {
        let Some(direction) = direction(name).filter(|_| op.is_memory()) else { return };
        let value = |wanted| self.value(op.stream.location, op.nth, wanted);
        let range = (op.it.start.0, op.it.end.0);
        let overlapped = computing.get(&op.stream.device).map_or(0, |of| overlap(of, range));
        let copy = CopyFacts {
            name,
            ns: op.ns,
            overlapped_ns: definitions.clock.ns_from_ticks(Ticks(overlapped)),
            bytes: value(OperationValue::Bytes),
            pageable: value(OperationValue::Pageable).map(|it| it == 1),
        };
        copies.add(direction, &copy);
    }

    fn add_short(
        &self,
        short: &mut ShortKernels,
        process: &DeviceProcess<'_>,
        op: &Selected<'_>,
        definitions: &Definitions,
    ) {
        let Some(launch) = op.launch().filter(|_| op.kind == KernelType::Computation) else { return };
        let call = process.call(launch);
        let launch_ns = definitions.clock.ns_from_ticks(call.leave.since(call.enter));
        if op.ns < launch_ns && call.leave != Ticks(0) {
            short.n += 1;
            short.total_ns += op.ns;
            short.launch_ns += launch_ns;
        }
    }
}

fn rows(groups: Groups) -> Vec<KernelRow> {
    let row = |((step, name, kind), group): ((_, _, _), Group)| {
        let shape = group.shapes.summary();
        Some(KernelRow { step, name, kind, durations: Durations::new(group.ns)?, shape })
    };
    let mut rows: Vec<KernelRow> = groups.into_iter().filter_map(row).collect();
    rows.sort_by_key(|row| (row.step.is_none(), row.step, Reverse(row.durations.total_ns)));
    rows
}
