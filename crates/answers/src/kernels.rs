//! `ouzel kernels`.

use crate::idle::IdleCauses;
use crate::kernel_resources::{
    self, KernelsCopies, KernelsCopyBin, KernelsCopySizes, KernelsDelayRange, KernelsMemory,
    KernelsOperatorMemory, KernelsQueueLength, KernelsStreamBin,
};
use ouzel::model::Definitions;
use ouzel::waits::accelerators::{
    CommunicationRow, KernelRow, KernelsBy, KernelsOutput, StepRow, Straggler, stream_id,
};
use serde::Serialize;
use std::sync::Arc;

/// What accelerators run: kernels, communication and copies.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelsAnswer {
    /// By kernel, most time first; with `--per step` by step and kernel.
    pub rows: Vec<KernelsRow>,
    /// With `--by operator` or `--by scope`: by these, most time first; with `--per step` by step and these; else empty.
    pub groups: Vec<KernelsGroup>,
    /// Steps in the order of their numbers; `[]` if nothing marks them.
    pub steps: Vec<KernelsStep>,
    /// Time by type.
    pub types: Vec<KernelsType>,
    /// How many operations each stream had to do at most.
    pub queues: Vec<KernelsQueue>,
    /// From the end of launches that do not block to the begin of what they launch.
    pub launch_delays: Vec<KernelsLaunchDelay>,
    /// By direction, most time first; fills of memory are no copies.
    pub copies: Vec<KernelsCopies>,
    /// The same by direction and size.
    pub copy_sizes: Vec<KernelsCopySizes>,
    /// For how long the queue of each stream has which length.
    pub queue_lengths: Vec<KernelsQueueLength>,
    /// Launch delays of each rank by length.
    pub launch_delay_ranges: Vec<KernelsDelayRange>,
    /// With `--over-time`: each stream in bins of time; else `[]`.
    pub over_time: Vec<KernelsStreamBin>,
    /// With `--over-time`: copies in bins of time; else `[]`.
    pub copies_over_time: Vec<KernelsCopyBin>,
    /// Memory of a framework's allocator; `[]` if the trace records none.
    pub memory: Vec<KernelsMemory>,
    /// The same by operator, the highest peak first.
    pub memory_operators: Vec<KernelsOperatorMemory>,
    /// Kernels that run shorter than the calls that launch them.
    pub short_kernels: KernelsShort,
    /// Collectives of devices by operation, group size and message size, most time first.
    pub communication: Vec<KernelsCommunication>,
    /// Who comes late to these collectives, by rank; `[]` if it is not known which operations belong together.
    pub stragglers: Vec<KernelsStraggler>,
}

/// Collectives of one operation, group size and message size.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelsCommunication {
    /// The collective operation.
    pub operation: &'static str,
    /// Members of the group.
    pub group_size: u64,
    /// Larger of what a member sends and receives; 0 if not recorded.
    pub bytes: u64,
    /// Number of operations, one for each member.
    pub n: u64,
    /// Their length.
    pub total_ns: u64,
    /// The part in which they wait for the last member to begin; 0 if it is not known which belong together.
    pub waiting_ns: u64,
    /// The part in which their device computes nothing.
    pub exposed_ns: u64,
    /// Bytes / time after the last begin, in 10⁹ bytes per second; `null` without sizes.
    pub algorithm_gb_per_s: Option<f64>,
    /// The same by what the links carry, as nccl-tests count it.
    pub bus_gb_per_s: Option<f64>,
}

/// How often and how much one rank comes late.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelsStraggler {
    /// World rank; `null` if unknown.
    pub rank: Option<u32>,
    /// Collectives in which it takes part.
    pub n: u64,
    /// Those in which it begins last.
    pub n_last: u64,
    /// How much later than the one before it, in these.
    pub late_ns: u64,
}

/// Operations of one kernel.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelsRow {
    /// With `--per step`: its number; `null` outside of steps.
    pub step: Option<u64>,
    /// Its name.
    pub kernel: Arc<str>,
    /// What they do.
    #[serde(flatten)]
    pub times: KernelsTimes,
}

/// Operations that one operator or scope launches.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelsGroup {
    /// With `--per step`: its number; `null` outside of steps.
    pub step: Option<u64>,
    /// The innermost operator or function that launches, or range or Python function around the launch; `null` if
    /// none is known.
    pub name: Option<Arc<str>>,
    /// What they do.
    #[serde(flatten)]
    pub times: KernelsTimes,
}

/// How long operations of one type run.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelsTimes {
    /// `computation`, `communication` or `memory`.
    pub r#type: &'static str,
    /// Number of operations.
    pub launches: u64,
    /// Time of all.
    pub total_ns: u64,
    /// Mean of their times.
    pub mean_ns: f64,
    /// Median of their times; of an even number the mean of the two in the middle.
    pub median_ns: f64,
    /// The shortest.
    pub min_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// Deviation of the sample; 0 for one operation.
    pub std_ns: f64,
    /// total / total of all operations.
    pub share: f64,
    /// Shapes that they are launched in; 0 if not recorded.
    pub n_shapes: u64,
    /// Blocks in each dimension, in the shape of most launches; `null` if not recorded.
    pub grid: Option<[u32; 3]>,
    /// Threads of a block in each dimension, likewise.
    pub block: Option<[u32; 3]>,
    /// Registers of a thread, likewise.
    pub registers: Option<u32>,
    /// Static and dynamic shared memory of a block, likewise.
    pub shared_bytes: Option<u32>,
    /// Occupancy from 0 to 1 as the profiler estimates it, mean over the time; `null` if not recorded.
    pub occupancy: Option<f64>,
}

/// One step. An operation belongs to the step in which it is launched.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelsStep {
    /// Its number: as PyTorch gives it, at the end of the range's name, or counted from 0.
    pub step: u64,
    /// When its first call begins.
    pub start_ns: u64,
    /// Length of its longest call.
    pub length_ns: u64,
    /// Its calls, as a rule one for each rank.
    pub n_calls: u64,
    /// Operations that it launches.
    pub launches: u64,
    /// Their time; operations of several streams that run at once count each.
    pub device_ns: u64,
    /// Gaps of streams that end with these operations.
    pub idle_ns: u64,
    /// The parts of the idle time, which add up to it.
    pub causes: IdleCauses,
    /// Operations that count by when they begin, as their launch is not known.
    pub n_by_time: u64,
    /// Of an outlier: how much longer than the median it is; else `null`.
    pub excess_ns: Option<u64>,
    /// Of an outlier: what differs most from the median: `more_launches`, `longer_kernels`, or a cause of idle time;
    /// `null` if nothing is more.
    pub reason: Option<&'static str>,
    /// How much that differs.
    pub reason_ns: Option<u64>,
}

/// Operations of one type.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelsType {
    /// `computation`, `communication` or `memory`.
    pub r#type: &'static str,
    /// Time of all; operations of several streams that run at once count each.
    pub total_ns: u64,
}

/// The queue of one stream.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelsQueue {
    /// World rank of the process; `null` if unknown.
    pub rank: Option<u32>,
    /// Number of the stream, as its profiler shows it.
    pub stream: u64,
    /// Most operations that were launched and had not begun at one time.
    pub max_queue_length: u64,
}

/// Launch delays of one rank.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelsLaunchDelay {
    /// World rank; `null` if unknown.
    pub rank: Option<u32>,
    /// Mean over its operations; 0 for one that begins before its launch ends.
    pub mean_delay_ns: f64,
    /// The longest.
    pub max_delay_ns: u64,
}

/// Kernels that run shorter than the calls that launch them.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelsShort {
    /// Number of these kernels.
    pub n: u64,
    /// How long they run.
    pub total_ns: u64,
    /// How long the calls take that launch them.
    pub launch_ns: u64,
}

impl KernelsAnswer {
    /// The shape of `output`.
    pub fn new(output: &KernelsOutput, definitions: &Definitions) -> Self {
        let times = |row: &KernelRow| {
            let of = &row.durations;
            KernelsTimes {
                r#type: row.kind.as_str(),
                launches: of.n,
                total_ns: of.total_ns,
                mean_ns: of.mean_ns,
                median_ns: of.median_ns,
                min_ns: of.min_ns,
                max_ns: of.max_ns,
                std_ns: of.std_ns,
                share: output.share(of.total_ns),
                n_shapes: row.shape.n_shapes,
                grid: row.shape.most.map(|shape| shape.grid),
                block: row.shape.most.map(|shape| shape.block),
                registers: row.shape.most.and_then(|shape| shape.registers),
                shared_bytes: row.shape.most.and_then(|shape| shape.shared_bytes),
                occupancy: row.shape.occupancy,
            }
        };
        let kernel = |row: &KernelRow| KernelsRow {
            step: row.step,
            kernel: row.name.clone().unwrap_or_else(|| Arc::from("")),
            times: times(row),
        };
        let group =
            |row: &KernelRow| KernelsGroup { step: row.step, name: row.name.clone(), times: times(row) };
        let is_by_kernel = output.by == KernelsBy::Kernel;
        let kernels = if is_by_kernel { &output.groups } else { &output.kernels };
        let groups = if is_by_kernel { &[][..] } else { &output.groups[..] };
        KernelsAnswer {
            rows: kernels.iter().map(kernel).collect(),
            steps: output.steps.iter().map(|row| step(row, definitions)).collect(),
            groups: groups.iter().map(group).collect(),
            types: output
                .types
                .iter()
                .map(|&(kind, total_ns)| KernelsType { r#type: kind.as_str(), total_ns })
                .collect(),
            queues: output
                .queues
                .iter()
                .map(|queue| KernelsQueue {
                    rank: queue.rank.map(|rank| rank.0),
                    stream: stream_id(definitions, queue.location),
                    max_queue_length: queue.max_queue_length,
                })
                .collect(),
            launch_delays: output
                .launch_delays
                .iter()
                .map(|delay| KernelsLaunchDelay {
                    rank: delay.rank.map(|rank| rank.0),
                    mean_delay_ns: delay.mean_delay_ns,
                    max_delay_ns: delay.max_delay_ns,
                })
                .collect(),
            copies: kernel_resources::copies(output),
            copy_sizes: kernel_resources::copy_sizes(output),
            queue_lengths: kernel_resources::queue_lengths(output, definitions),
            launch_delay_ranges: kernel_resources::delay_ranges(output),
            over_time: kernel_resources::over_time(output, definitions),
            copies_over_time: kernel_resources::copies_over_time(output, definitions),
            memory: kernel_resources::memory(output, definitions),
            memory_operators: kernel_resources::memory_operators(output),
            communication: communication(output, definitions),
            stragglers: stragglers(output, definitions),
            short_kernels: KernelsShort {
                n: output.short.n,
                total_ns: output.short.total_ns,
                launch_ns: output.short.launch_ns,
            },
        }
    }
}

fn step(row: &StepRow, definitions: &Definitions) -> KernelsStep {
    let reason = row.outlier.and_then(|outlier| outlier.reason);
    KernelsStep {
        step: row.step,
        start_ns: definitions.clock.ns_from_ticks(row.start),
        length_ns: row.length_ns,
        n_calls: row.n_calls,
        launches: row.launches,
        device_ns: row.device_ns,
        idle_ns: row.idle_ns,
        causes: IdleCauses::new(row.causes_ns),
        n_by_time: row.n_by_time,
        excess_ns: row.outlier.map(|outlier| outlier.excess_ns),
        reason: reason.map(|(reason, _)| reason.as_str()),
        reason_ns: reason.map(|(_, ns)| ns),
    }
}

fn communication(output: &KernelsOutput, definitions: &Definitions) -> Vec<KernelsCommunication> {
    let ns = |ticks| definitions.clock.ns_from_ticks(ticks);
    let row = |row: &CommunicationRow| KernelsCommunication {
        operation: row.op.as_str(),
        group_size: row.group_size,
        bytes: row.bytes,
        n: row.n,
        total_ns: ns(row.total),
        waiting_ns: ns(row.waiting),
        exposed_ns: ns(row.exposed),
        algorithm_gb_per_s: row.algorithm_gb_per_s,
        bus_gb_per_s: row.bus_gb_per_s,
    };
    output.communication.iter().map(row).collect()
}

fn stragglers(output: &KernelsOutput, definitions: &Definitions) -> Vec<KernelsStraggler> {
    let row = |row: &Straggler| KernelsStraggler {
        rank: row.rank.map(|rank| rank.0),
        n: row.n,
        n_last: row.n_last,
        late_ns: definitions.clock.ns_from_ticks(row.late),
    };
    output.stragglers.iter().map(row).collect()
}
