//! What `kernels` and `idle` need of processes that are read, as sums: by kernel and by group, by stream, rank and step.
//!
//! ```text
//! DeviceProcess ──add_process──► KernelSums ──merge──► KernelSums ──output──► KernelsOutput
//! ```
//!
//! Law: the sums of several processes are those of each, merged in any order; integers and ids only. Only collectives
//! are kept one by one, as their members are in other processes: 56 bytes each. Lengths of operations are counted
//! exactly, see `lengths`.

use super::AcceleratorsOutput;
use super::communication::{CollectiveSpan, communication_rows};
use super::copies::{CopySum, copy_rows};
use super::idle::StreamIdle;
use super::kernels::{Durations, KernelRow, KernelType, KernelsBy, KernelsOutput, KernelsPer, ShortKernels};
use super::lengths::LengthCounts;
use super::longest_gaps::IdleGap;
use super::memory::{PoolSums, memory_rows};
use super::over_time::OverTimeSums;
use super::queues::{delay_rows, queue_rows};
use super::shapes::ShapeSums;
use super::step_rows::step_rows;
use super::steps::StepSpan;
use super::sums::{DelaySums, QueueSums, RankKey, StepSums, merge_maps};
use ouzel_model::{Definitions, LocationId, RegionId, Ticks};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// By step, region and type.
pub(super) type GroupKey = (Option<u64>, Option<RegionId>, KernelType);
/// The operations of one group.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct GroupSums {
    pub lengths: LengthCounts,
    pub shapes: ShapeSums,
}

impl GroupSums {
    pub fn merge(&mut self, from: &GroupSums) {
        self.lengths.merge(&from.lengths);
        self.shapes.merge(&from.shapes);
    }
}

/// The sums of some processes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KernelSums {
    pub n_operations: u64,
    /// Those of them whose launch is known.
    pub n_launched: u64,
    /// By kernel, of the run.
    pub kernels: BTreeMap<GroupKey, GroupSums>,
    /// By what is asked for; none if that is the kernels of the run.
    pub groups: BTreeMap<GroupKey, GroupSums>,
    /// Copies by their region.
    pub copies: BTreeMap<RegionId, CopySum>,
    pub short: ShortKernels,
    /// By stream.
    pub queues: BTreeMap<LocationId, QueueSums>,
    pub delays: BTreeMap<RankKey, DelaySums>,
    /// By rank and pool.
    pub memory: BTreeMap<(RankKey, u32), PoolSums>,
    pub steps: BTreeMap<u64, StepSums>,
    /// By stream.
    pub collectives: BTreeMap<LocationId, Vec<CollectiveSpan>>,
    /// Only if idle time is asked for: each stream, and the longest gaps of each process.
    pub idle: Vec<StreamIdle>,
    pub gaps: Vec<IdleGap>,
    /// Only if bins are asked for.
    pub over_time: OverTimeSums,
}

impl KernelSums {
    pub fn merge(&mut self, from: KernelSums) {
        merge_maps(&mut self.kernels, from.kernels, |sum, it| sum.merge(&it));
        merge_maps(&mut self.groups, from.groups, |sum, it| sum.merge(&it));
        merge_maps(&mut self.copies, from.copies, |sum, it| sum.merge(&it));
        merge_maps(&mut self.delays, from.delays, |sum, it| sum.merge(&it));
        merge_maps(&mut self.memory, from.memory, PoolSums::merge);
        merge_maps(&mut self.steps, from.steps, |sum, it| sum.merge(&it));
        self.short.merge(from.short);
        self.n_operations += from.n_operations;
        self.n_launched += from.n_launched;
        // A stream belongs to one process.
        self.queues.extend(from.queues);
        self.collectives.extend(from.collectives);
        self.idle.extend(from.idle);
        self.gaps.extend(from.gaps);
        self.over_time.merge(from.over_time);
    }
}

/// Operations of a group while they are collected.
type Collected = BTreeMap<GroupKey, (Vec<u64>, ShapeSums)>;

fn counted(collected: Collected) -> BTreeMap<GroupKey, GroupSums> {
    let group = |(lengths, shapes)| GroupSums { lengths: LengthCounts::of(lengths), shapes };
    collected.into_iter().map(|(key, it)| (key, group(it))).collect()
}

impl AcceleratorsOutput {
    /// The sums of all processes.
    pub(super) fn kernel_sums(
        &self,
        by: KernelsBy,
        per: KernelsPer,
        definitions: &Definitions,
    ) -> KernelSums {
        let mut sums = KernelSums::default();
        let are_kernels = by == KernelsBy::Kernel && per == KernelsPer::Run;
        let (mut kernels, mut groups) = (Collected::new(), Collected::new());
        self.add_step_spans(&mut sums.steps);
        for process in self.processes(definitions) {
            let computing = self.computing(std::slice::from_ref(&process));
            for stream in &process.streams {
                self.for_selected(stream, definitions, |op| {
                    let region = self.call_paths.region(op.it.path);
                    let shape = self.shape(stream.location, op.nth);
                    let add = |to: &mut Collected, key| {
                        let (lengths, shapes) = to.entry(key).or_default();
                        lengths.push(op.ns);
                        shapes.add(shape, op.ns);
                    };
                    add(&mut kernels, (None, region, op.kind));
                    sums.n_operations += 1;
                    sums.n_launched += u64::from(op.launch().is_some());
                    let step = self.steps.of(stream.location, op.nth);
                    if !are_kernels {
                        let caller = || match op.launch() {
                            Some(place) => process.call(place).path,
                            // HPCToolkit has the host's call path on the stream.
                            None => self.call_paths.parent(op.it.path),
                        };
                        let group = match by {
                            KernelsBy::Kernel => region,
                            _ => self.caller(caller(), by, definitions),
                        };
                        let step = step.filter(|_| per == KernelsPer::Step);
                        add(&mut groups, (step, group, op.kind));
                    }
                    if let Some(region) = region {
                        self.add_copy(&mut sums.copies, region, &op, &computing, definitions);
                    }
                    self.add_short(&mut sums.short, &process, &op, definitions);
                    if let Some(row) = step.and_then(|step| sums.steps.get_mut(&step)) {
                        row.launches += 1;
                        row.device_ns = row.device_ns.saturating_add(op.ns);
                    }
                });
                self.add_queue(&mut sums.queues, &process, stream);
                self.add_delays(&mut sums.delays, &process, stream, definitions);
                self.add_collective_spans(&mut sums.collectives, stream, &computing);
            }
            if !sums.steps.is_empty() {
                self.for_idle_of(&process, definitions, |stream, nth, cause, ticks| {
                    let step = self.steps.of(stream, nth);
                    if let Some(row) = step.and_then(|step| sums.steps.get_mut(&step)) {
                        row.causes[cause as usize] += ticks;
                    }
                });
            }
        }
        self.add_memory(&mut sums.memory, definitions);
        (sums.kernels, sums.groups) = (counted(kernels), counted(groups));
        sums
    }

    /// Idle time and the `n` longest gaps of all processes, and which steps there are.
    pub(super) fn idle_sums(&self, n: usize, definitions: &Definitions) -> KernelSums {
        let mut sums = KernelSums {
            idle: self.idle(definitions),
            gaps: self.longest_gaps(n, definitions),
            ..KernelSums::default()
        };
        self.add_step_spans(&mut sums.steps);
        sums
    }

    fn add_step_spans(&self, steps: &mut BTreeMap<u64, StepSums>) {
        let none =
            |span: &StepSpan| StepSums { span: *span, launches: 0, device_ns: 0, causes: [Ticks(0); 8] };
        steps.extend(self.steps.spans.iter().map(|(&step, span)| (step, none(span))));
    }
}

/// By step, name and type.
type Groups = BTreeMap<(Option<u64>, Option<Arc<str>>, KernelType), GroupSums>;

/// What is asked of the operations, and how the names of allocators' places are known.
#[derive(Debug, Clone, Copy)]
pub(super) struct KernelsAsked<'a> {
    pub by: KernelsBy,
    pub per: KernelsPer,
    pub only_step: Option<u64>,
    pub pools: &'a [Arc<str>],
}

impl KernelSums {
    /// What the sums of all processes say.
    pub(super) fn output(&self, asked: &KernelsAsked<'_>, definitions: &Definitions) -> KernelsOutput {
        let KernelsAsked { by, per, only_step, pools } = *asked;
        let kernels = rows(&self.kernels, definitions);
        let groups = match (by, per) {
            (KernelsBy::Kernel, KernelsPer::Run) => kernels.clone(),
            _ => rows(&self.groups, definitions),
        };
        let mut types: BTreeMap<KernelType, u64> = BTreeMap::new();
        for row in &kernels {
            let sum = types.entry(row.kind).or_default();
            *sum = sum.saturating_add(row.durations.total_ns);
        }
        let (communication, stragglers) = communication_rows(&self.collectives, definitions);
        let (copies, copy_sizes) = copy_rows(&self.copies, definitions);
        let (memory, memory_operators) = memory_rows(&self.memory, pools, definitions);
        let (queues, queue_lengths) = queue_rows(&self.queues, definitions);
        let (launch_delays, delay_ranges) = delay_rows(&self.delays);
        KernelsOutput {
            groups,
            kernels,
            by,
            per,
            steps: step_rows(&self.steps, only_step, definitions),
            types: types.into_iter().collect(),
            queues,
            launch_delays,
            copies,
            copy_sizes,
            queue_lengths,
            delay_ranges,
            over_time: None,
            memory,
            memory_operators,
            short: self.short,
            communication,
            stragglers,
        }
    }
}

/// By name, the most time first.
fn rows(sums: &BTreeMap<GroupKey, GroupSums>, definitions: &Definitions) -> Vec<KernelRow> {
    let mut groups = Groups::new();
    for (&(step, region, kind), sum) in sums {
        let name = region.map(|region| definitions.region(region).name.clone());
        groups.entry((step, name, kind)).or_default().merge(sum);
    }
    let row = |((step, name, kind), group): ((_, _, _), GroupSums)| {
        let shape = group.shapes.summary();
        Some(KernelRow { step, name, kind, durations: Durations::new(&group.lengths)?, shape })
    };
    let mut rows: Vec<KernelRow> = groups.into_iter().filter_map(row).collect();
    rows.sort_by_key(|row| (row.step.is_none(), row.step, Reverse(row.durations.total_ns)));
    rows
}
