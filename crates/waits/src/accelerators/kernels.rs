//! Operations by kernel, by type, and by the operator or scope that launched them; copies by direction.
//!
//! Lengths are those of the trace, in nanoseconds. Shares are of the sum over all operations; operations of several
//! streams that run at once count each. Deviations are those of a sample, 0 for a single operation.

use super::AcceleratorsOutput;
use super::communication::{CommunicationRow, Straggler};
use super::names::{CallerKind, caller_kind, direction, is_pageable};
use super::queues::{LaunchDelay, StreamQueue};
use super::step_rows::StepRow;
use crate::devices::records::{DeviceOperation, OperationValue};
use crate::devices::streams::{CallPlace, DeviceProcess, Stream};
use ouzel_analyses::breakdown::Activity;
use ouzel_model::{CallPathId, Definitions, LocationId, Ticks};
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
}

/// Copies of one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct Copies {
    /// From where to where.
    pub direction: &'static str,
    /// How many.
    pub n: u64,
    /// How much; of those copies whose size is recorded.
    pub bytes: u64,
    /// How long they run.
    pub total_ns: u64,
    /// Bytes / time, over all copies whose size is recorded; `None` without any.
    pub mean_gb_per_s: Option<f64>,
    /// The highest of a single copy.
    pub max_gb_per_s: Option<f64>,
    /// How many have pageable memory at the host; `None` if none says what it has.
    pub n_pageable: Option<u64>,
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

#[derive(Default)]
struct CopySum {
    n: u64,
    bytes: u64,
    total_ns: u64,
    /// Of those with a size.
    sized_ns: u64,
    max_gb_per_s: Option<f64>,
    n_pageable: Option<u64>,
}

/// A selected operation.
struct Selected<'a> {
    stream: &'a Stream<'a>,
    nth: usize,
    it: &'a DeviceOperation,
    kind: KernelType,
    ns: u64,
}

impl Selected<'_> {
    fn launch(&self) -> Option<CallPlace> {
        self.stream.launches[self.nth]
    }
}

/// By step, name and type.
type Groups = BTreeMap<(Option<u64>, Option<Arc<str>>, KernelType), Vec<u64>>;

impl AcceleratorsOutput {
    /// What the selected streams run, an operation in the time range in which it begins.
    pub fn kernels(&self, by: KernelsBy, per: KernelsPer, definitions: &Definitions) -> KernelsOutput {
        let processes = self.processes(definitions);
        let (mut kernels, mut groups) = (Groups::new(), Groups::new());
        let mut copies: BTreeMap<&'static str, CopySum> = BTreeMap::new();
        let mut short = ShortKernels::default();
        for process in &processes {
            for stream in &process.streams {
                self.for_selected(stream, definitions, |op| {
                    let name = self.name(op.it.path, definitions);
                    if op.kind == KernelType::Memory
                        && let Some(direction) = name.as_deref().and_then(direction)
                    {
                        self.add_copy(copies.entry(direction).or_default(), &op, name.as_deref());
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
                    groups.entry((step, group, op.kind)).or_default().push(op.ns);
                    kernels.entry((None, name, op.kind)).or_default().push(op.ns);
                });
            }
        }
        let mut types: BTreeMap<KernelType, u64> = BTreeMap::new();
        for ((_, _, kind), ns) in &kernels {
            let sum = types.entry(*kind).or_default();
            *sum = ns.iter().fold(*sum, |sum, &ns| sum.saturating_add(ns));
        }
        let kernels = rows(kernels);
        let (communication, stragglers) = self.communication(definitions);
        KernelsOutput {
            groups: rows(groups),
            kernels,
            by,
            per,
            steps: self.step_rows(definitions),
            types: types.into_iter().collect(),
            queues: self.queues(&processes, definitions),
            launch_delays: self.launch_delays(&processes, definitions),
            copies: copy_rows(copies),
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

    fn for_selected(&self, stream: &Stream<'_>, definitions: &Definitions, mut f: impl FnMut(Selected<'_>)) {
        for (nth, it) in stream.operations.iter().enumerate().filter(|(nth, _)| self.counts(stream, *nth)) {
            let is_hidden = self.call_paths.region(it.path) == Some(definitions.filtered_region);
            let Some(kind) = KernelType::of(self.activity(it.path)).filter(|_| !is_hidden) else { continue };
            let ns = definitions.clock.ns_from_ticks(it.end.since(it.start));
            f(Selected { stream, nth, it, kind, ns });
        }
    }

    fn name(&self, path: CallPathId, definitions: &Definitions) -> Option<Arc<str>> {
        self.call_paths.region(path).map(|region| definitions.region(region).name.clone())
    }

    /// The innermost operator or scope of a call path.
    fn caller(&self, path: CallPathId, by: KernelsBy, definitions: &Definitions) -> Option<Arc<str>> {
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

    fn add_copy(&self, sum: &mut CopySum, op: &Selected<'_>, name: Option<&str>) {
        sum.n += 1;
        sum.total_ns += op.ns;
        if let Some(is_pageable) = name.and_then(is_pageable) {
            *sum.n_pageable.get_or_insert(0) += u64::from(is_pageable);
        }
        let Some(bytes) = self.bytes(op.stream, op.nth) else { return };
        sum.bytes = sum.bytes.saturating_add(bytes);
        sum.sized_ns += op.ns;
        if 0 < op.ns {
            let rate = bytes as f64 / op.ns as f64;
            sum.max_gb_per_s = Some(sum.max_gb_per_s.map_or(rate, |max| max.max(rate)));
        }
    }

    fn bytes(&self, stream: &Stream<'_>, nth: usize) -> Option<u64> {
        let values = &self.details(stream.location)?.values;
        let first = values.partition_point(|it| (it.0 as usize) < nth);
        let of_operation = values[first..].iter().take_while(|it| it.0 as usize == nth);
        of_operation.filter(|it| it.1 == OperationValue::Bytes).map(|it| it.2).next()
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
    let row = |((step, name, kind), ns)| Some(KernelRow { step, name, kind, durations: Durations::new(ns)? });
    let mut rows: Vec<KernelRow> = groups.into_iter().filter_map(row).collect();
    rows.sort_by_key(|row| (row.step.is_none(), row.step, Reverse(row.durations.total_ns)));
    rows
}

fn copy_rows(copies: BTreeMap<&'static str, CopySum>) -> Vec<Copies> {
    let row = |(direction, sum): (&'static str, CopySum)| Copies {
        direction,
        n: sum.n,
        bytes: sum.bytes,
        total_ns: sum.total_ns,
        mean_gb_per_s: (0 < sum.sized_ns).then(|| sum.bytes as f64 / sum.sized_ns as f64),
        max_gb_per_s: sum.max_gb_per_s,
        n_pageable: sum.n_pageable,
    };
    let mut rows: Vec<Copies> = copies.into_iter().map(row).collect();
    rows.sort_by_key(|row| Reverse(row.total_ns));
    rows
}
