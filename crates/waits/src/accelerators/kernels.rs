//! Operations by kernel, by type, and by the operator or scope that launched them; copies by direction.
//!
//! Lengths are those of the trace, in nanoseconds. Shares are of the sum over all operations; operations of several
//! streams that run at once count each. Deviations are those of a sample, 0 for a single operation.

use super::AcceleratorsOutput;
use super::communication::{CommunicationRow, Straggler};
use super::copies::{Copies, CopyFacts, CopySizes, CopySum, overlap};
use super::lengths::LengthCounts;
use super::memory::{MemoryRow, OperatorMemoryRow};
use super::names::{CallerKind, caller_kind, is_pageable};
use super::over_time::{DelayRange, KernelsOverTime, QueueLength};
use super::queues::{LaunchDelay, StreamQueue};
use super::shapes::LaunchShapeSummary;
use super::step_rows::StepRow;
use crate::devices::records::{DeviceOperation, OperationValue};
use crate::devices::streams::{CallPlace, DeviceProcess, Stream};
use ouzel_analyses::breakdown::{Activity, Intervals};
use ouzel_model::{CallPathId, Definitions, LocationGroupId, RegionId, Ticks};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What an operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
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
    pub(super) fn new(lengths: &LengthCounts) -> Option<Self> {
        let (mut n, mut total) = (0_u64, 0_u128);
        let mut extremes = None;
        for (ns, count) in lengths.iter() {
            n += count;
            total += u128::from(ns) * u128::from(count);
            extremes = Some((extremes.map_or(ns, |(first, _)| first), ns));
        }
        let (min_ns, max_ns) = extremes?;
        let mean_ns = total as f64 / n as f64;
        let squares: f64 =
            lengths.iter().map(|(ns, count)| count as f64 * (ns as f64 - mean_ns).powi(2)).sum();
        let middle = [(n - 1) / 2, n / 2].map(|place| lengths.at(place).unwrap_or(max_ns) as f64);
        Some(Durations {
            n,
            total_ns: u64::try_from(total).unwrap_or(u64::MAX),
            mean_ns,
            median_ns: f64::midpoint(middle[0], middle[1]),
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ShortKernels {
    /// How many.
    pub n: u64,
    /// How long they run.
    pub total_ns: u64,
    /// How long their launches take.
    pub launch_ns: u64,
}

impl ShortKernels {
    pub(super) fn merge(&mut self, from: ShortKernels) {
        self.n += from.n;
        self.total_ns += from.total_ns;
        self.launch_ns += from.launch_ns;
    }
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

    /// How long steps take; none without steps.
    pub fn step_lengths(&self) -> Option<Durations> {
        Durations::new(&LengthCounts::of(self.steps.iter().map(|step| step.length_ns).collect()))
    }
}

/// A selected operation.
pub(super) struct Selected<'a> {
    pub stream: &'a Stream<'a>,
    pub nth: usize,
    pub it: &'a DeviceOperation,
    pub kind: KernelType,
    pub ns: u64,
}

impl Selected<'_> {
    /// Whether it copies or fills.
    pub fn is_memory(&self) -> bool {
        self.kind == KernelType::Memory
    }

    pub fn launch(&self) -> Option<CallPlace> {
        self.stream.launches[self.nth]
    }
}

/// When each device computes.
type Computing = BTreeMap<LocationGroupId, Intervals>;

impl AcceleratorsOutput {
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
    ) -> Option<RegionId> {
        let wanted = if by == KernelsBy::Scope { CallerKind::Scope } else { CallerKind::Operator };
        let mut at = path;
        while let Some(region) = self.call_paths.region(at) {
            if caller_kind(definitions.region(region)) == wanted {
                return Some(region);
            }
            at = self.call_paths.parent(at);
        }
        None
    }

    pub(super) fn add_copy(
        &self,
        copies: &mut BTreeMap<RegionId, CopySum>,
        region: RegionId,
        op: &Selected<'_>,
        computing: &Computing,
        definitions: &Definitions,
    ) {
        if !op.is_memory() {
            return;
        }
        let value = |wanted| self.value(op.stream.location, op.nth, wanted);
        let range = (op.it.start.0, op.it.end.0);
        let overlapped = computing.get(&op.stream.device).map_or(0, |of| overlap(of, range));
        let is_pageable = || is_pageable(&definitions.region(region).name);
        let copy = CopyFacts {
            ns: op.ns,
            overlapped_ns: definitions.clock.ns_from_ticks(Ticks(overlapped)),
            bytes: value(OperationValue::Bytes),
            pageable: value(OperationValue::Pageable).map(|it| it == 1).or_else(is_pageable),
        };
        copies.entry(region).or_default().add(&copy);
    }

    pub(super) fn add_short(
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
