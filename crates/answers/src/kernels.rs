//! `ouzel kernels`.

use ouzel::model::Definitions;
use ouzel::waits::accelerators::{Copies, KernelRow, KernelsBy, KernelsOutput};
use serde::Serialize;
use std::sync::Arc;

/// What accelerators run: kernels, communication and copies.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelsAnswer {
    /// By kernel, most time first.
    pub rows: Vec<KernelsRow>,
    /// With `--by operator` or `--by scope`: by these, most time first; else empty.
    pub groups: Vec<KernelsGroup>,
    /// Time by type.
    pub types: Vec<KernelsType>,
    /// How many operations each stream had to do at most.
    pub queues: Vec<KernelsQueue>,
    /// From the end of launches that do not block to the begin of what they launch.
    pub launch_delays: Vec<KernelsLaunchDelay>,
    /// By direction, most time first; fills of memory are no copies.
    pub copies: Vec<KernelsCopies>,
    /// Kernels that run shorter than the calls that launch them.
    pub short_kernels: KernelsShort,
}

/// Operations of one kernel.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelsRow {
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
    /// Id of the stream in the trace's files.
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

/// Copies of one direction.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelsCopies {
    /// `host_to_device`, `device_to_host`, `device_to_device`, `peer_to_peer` and others; `unknown` if the trace does
    /// not say.
    pub direction: &'static str,
    /// Number of copies.
    pub n: u64,
    /// Bytes of those whose size is recorded.
    pub bytes: u64,
    /// Time of all.
    pub total_ns: u64,
    /// 10⁹ bytes per second over all whose size is recorded; `null` without any.
    pub mean_gb_per_s: Option<f64>,
    /// The highest of a single copy; `null` if no size is recorded.
    pub max_gb_per_s: Option<f64>,
    /// Copies of pageable memory of the host; `null` if the trace does not say.
    pub n_pageable: Option<u64>,
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
            }
        };
        let kernel = |row: &KernelRow| KernelsRow {
            kernel: row.name.clone().unwrap_or_else(|| Arc::from("")),
            times: times(row),
        };
        let group = |row: &KernelRow| KernelsGroup { name: row.name.clone(), times: times(row) };
        let groups = if output.by == KernelsBy::Kernel { &[][..] } else { &output.groups[..] };
        let copies = |&Copies { direction, n, bytes, total_ns, mean_gb_per_s, max_gb_per_s, n_pageable }: &Copies| {
            KernelsCopies { direction, n, bytes, total_ns, mean_gb_per_s, max_gb_per_s, n_pageable }
        };
        KernelsAnswer {
            rows: output.kernels.iter().map(kernel).collect(),
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
                    stream: definitions.location(queue.location).native_id,
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
            copies: output.copies.iter().map(copies).collect(),
            short_kernels: KernelsShort {
                n: output.short.n,
                total_ns: output.short.total_ns,
                launch_ns: output.short.launch_ns,
            },
        }
    }
}
