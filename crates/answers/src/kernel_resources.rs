//! What `ouzel kernels` says of copies, queues, delays and memory.

use ouzel::model::Definitions;
use ouzel::waits::accelerators::{
    Copies, CopyBin, CopySizes, DelayRange, KernelsOutput, MemoryRow, OperatorMemoryRow, QueueLength,
    StreamBin, stream_id,
};
use serde::Serialize;
use std::sync::Arc;

/// Copies of one direction.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelsCopies {
    /// `host_to_device`, `device_to_host`, `device_to_device`, `peer_to_peer` and others; `unknown` if the trace does
    /// not say.
    pub direction: &'static str,
    /// Number of copies.
    pub n: u64,
    /// Bytes of those whose size is recorded; `null` without any.
    pub bytes: Option<u64>,
    /// Time of all.
    pub total_ns: u64,
    /// 10⁹ bytes per second over all whose size is recorded; `null` without any.
    pub mean_gb_per_s: Option<f64>,
    /// The highest of a single copy; `null` if no size is recorded.
    pub max_gb_per_s: Option<f64>,
    /// Copies of pageable memory of the host; `null` if the trace does not say.
    pub n_pageable: Option<u64>,
    /// 10⁹ bytes per second over these; `null` without any.
    pub pageable_gb_per_s: Option<f64>,
    /// The same over copies of pinned memory of the host.
    pub pinned_gb_per_s: Option<f64>,
    /// The part of the time in which their device computes.
    pub overlapped_ns: u64,
}

/// Copies of one direction and size.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelsCopySizes {
    /// From where to where.
    pub direction: &'static str,
    /// Sizes from so many bytes, a power of two or 0.
    pub from_bytes: u64,
    /// Sizes below so many bytes.
    pub to_bytes: u64,
    /// Number of copies.
    pub n: u64,
    /// Bytes of all.
    pub bytes: u64,
    /// Time of all.
    pub total_ns: u64,
    /// 10⁹ bytes per second over all.
    pub mean_gb_per_s: Option<f64>,
}

/// For how long the queue of a stream has one length.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelsQueueLength {
    /// World rank of the process; `null` if unknown.
    pub rank: Option<u32>,
    /// Number of the stream, as its profiler shows it.
    pub stream: u64,
    /// Operations that were launched and had not begun.
    pub queue_length: u64,
    /// For how long, between the first launch and the last begin.
    pub time_ns: u64,
}

/// How many operations of a rank begin so late after their launches.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelsDelayRange {
    /// World rank; `null` if unknown.
    pub rank: Option<u32>,
    /// Delays from so many nanoseconds, a power of two or 0.
    pub from_ns: u64,
    /// Delays below so many nanoseconds.
    pub to_ns: u64,
    /// Number of operations.
    pub n: u64,
}

/// One stream in one bin of time.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelsStreamBin {
    /// Number of the bin, from 0.
    pub bin: usize,
    /// First instant of the bin.
    pub bin_start_ns: u64,
    /// First instant after it.
    pub bin_end_ns: u64,
    /// World rank of the process; `null` if unknown.
    pub rank: Option<u32>,
    /// Number of the stream, as its profiler shows it.
    pub stream: u64,
    /// Operations that begin.
    pub launches: u64,
    /// Time with an operation.
    pub busy_ns: u64,
    /// Operations that were launched and had not begun, mean over the bin.
    pub mean_queue_length: f64,
    /// Most at one time.
    pub max_queue_length: u64,
    /// Mean launch delay of operations that begin; `null` without one.
    pub mean_delay_ns: Option<f64>,
    /// The longest.
    pub max_delay_ns: Option<u64>,
}

/// Copies of one direction in one bin of time.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelsCopyBin {
    /// Number of the bin, from 0.
    pub bin: usize,
    /// First instant of the bin.
    pub bin_start_ns: u64,
    /// First instant after it.
    pub bin_end_ns: u64,
    /// From where to where.
    pub direction: &'static str,
    /// Copies that begin and have a size.
    pub n: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Their time.
    pub total_ns: u64,
    /// 10⁹ bytes per second over them.
    pub gb_per_s: Option<f64>,
    /// That / the highest of a single copy of this direction.
    pub of_best: Option<f64>,
}

/// What an allocator of a framework gives and holds, of one device or of the host.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelsMemory {
    /// World rank; `null` if unknown.
    pub rank: Option<u32>,
    /// `device 0` and others, or `host`.
    pub place: Arc<str>,
    /// How often memory is given.
    pub n_allocations: u64,
    /// How often it is taken back.
    pub n_releases: u64,
    /// How much is given.
    pub allocated_bytes: u64,
    /// Most that is given at one time.
    pub peak_allocated_bytes: u64,
    /// When.
    pub peak_ns: u64,
    /// The innermost operator or function that asks for it then; `null` if none is known.
    pub peak_operator: Option<Arc<str>>,
    /// Most that the allocator holds of the device; `null` if not recorded.
    pub peak_reserved_bytes: Option<u64>,
    /// The part of what it holds that is not given, when most is given: its cache, and what is lost to fragmentation.
    pub fragmentation: Option<f64>,
}

/// What one operator asks an allocator for.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelsOperatorMemory {
    /// World rank; `null` if unknown.
    pub rank: Option<u32>,
    /// `device 0` and others, or `host`.
    pub place: Arc<str>,
    /// The innermost operator or function; `null` if none is known.
    pub operator: Option<Arc<str>>,
    /// How often memory is given.
    pub n_allocations: u64,
    /// How often it is taken back.
    pub n_releases: u64,
    /// How much is given.
    pub allocated_bytes: u64,
    /// How much is taken back.
    pub released_bytes: u64,
    /// Most that is given to all operators at one time, after a change by this one.
    pub peak_allocated_bytes: u64,
}

pub(crate) fn copies(output: &KernelsOutput) -> Vec<KernelsCopies> {
    let row = |row: &Copies| KernelsCopies {
        direction: row.direction,
        n: row.n,
        bytes: row.bytes,
        total_ns: row.total_ns,
        mean_gb_per_s: row.mean_gb_per_s,
        max_gb_per_s: row.max_gb_per_s,
        n_pageable: row.n_pageable,
        pageable_gb_per_s: row.pageable_gb_per_s,
        pinned_gb_per_s: row.pinned_gb_per_s,
        overlapped_ns: row.overlapped_ns,
    };
    output.copies.iter().map(row).collect()
}

pub(crate) fn copy_sizes(output: &KernelsOutput) -> Vec<KernelsCopySizes> {
    let row = |row: &CopySizes| KernelsCopySizes {
        direction: row.direction,
        from_bytes: row.from_bytes,
        to_bytes: row.to_bytes,
        n: row.n,
        bytes: row.bytes,
        total_ns: row.total_ns,
        mean_gb_per_s: row.mean_gb_per_s,
    };
    output.copy_sizes.iter().map(row).collect()
}

pub(crate) fn queue_lengths(output: &KernelsOutput, definitions: &Definitions) -> Vec<KernelsQueueLength> {
    let row = |row: &QueueLength| KernelsQueueLength {
        rank: row.rank.map(|rank| rank.0),
        stream: stream_id(definitions, row.location),
        queue_length: row.length,
        time_ns: definitions.clock.ns_from_ticks(row.time),
    };
    output.queue_lengths.iter().map(row).collect()
}

pub(crate) fn delay_ranges(output: &KernelsOutput) -> Vec<KernelsDelayRange> {
    let row = |row: &DelayRange| KernelsDelayRange {
        rank: row.rank.map(|rank| rank.0),
        from_ns: row.from_ns,
        to_ns: row.to_ns,
        n: row.n,
    };
    output.delay_ranges.iter().map(row).collect()
}

pub(crate) fn over_time(output: &KernelsOutput, definitions: &Definitions) -> Vec<KernelsStreamBin> {
    let row = |row: &StreamBin| KernelsStreamBin {
        bin: row.bin,
        bin_start_ns: output.edge_ns(row.bin, definitions),
        bin_end_ns: output.edge_ns(row.bin + 1, definitions),
        rank: row.rank.map(|rank| rank.0),
        stream: stream_id(definitions, row.location),
        launches: row.n,
        busy_ns: definitions.clock.ns_from_ticks(row.busy),
        mean_queue_length: row.mean_queue_length,
        max_queue_length: row.max_queue_length,
        mean_delay_ns: row.mean_delay_ns,
        max_delay_ns: row.max_delay_ns,
    };
    output.over_time.iter().flat_map(|it| &it.streams).map(row).collect()
}

pub(crate) fn copies_over_time(output: &KernelsOutput, definitions: &Definitions) -> Vec<KernelsCopyBin> {
    let row = |row: &CopyBin| KernelsCopyBin {
        bin: row.bin,
        bin_start_ns: output.edge_ns(row.bin, definitions),
        bin_end_ns: output.edge_ns(row.bin + 1, definitions),
        direction: row.direction,
        n: row.n,
        bytes: row.bytes,
        total_ns: row.total_ns,
        gb_per_s: row.gb_per_s,
        of_best: row.of_best,
    };
    output.over_time.iter().flat_map(|it| &it.copies).map(row).collect()
}

pub(crate) fn memory(output: &KernelsOutput, definitions: &Definitions) -> Vec<KernelsMemory> {
    let row = |row: &MemoryRow| KernelsMemory {
        rank: row.rank.map(|rank| rank.0),
        place: row.place.clone(),
        n_allocations: row.n_allocations,
        n_releases: row.n_releases,
        allocated_bytes: row.allocated_bytes,
        peak_allocated_bytes: row.peak_allocated_bytes,
        peak_ns: definitions.clock.ns_from_ticks(row.peak_at),
        peak_operator: row.peak_operator.clone(),
        peak_reserved_bytes: row.peak_reserved_bytes,
        fragmentation: row.fragmentation,
    };
    output.memory.iter().map(row).collect()
}

pub(crate) fn memory_operators(output: &KernelsOutput) -> Vec<KernelsOperatorMemory> {
    let row = |row: &OperatorMemoryRow| KernelsOperatorMemory {
        rank: row.rank.map(|rank| rank.0),
        place: row.place.clone(),
        operator: row.operator.clone(),
        n_allocations: row.n_allocations,
        n_releases: row.n_releases,
        allocated_bytes: row.allocated_bytes,
        released_bytes: row.released_bytes,
        peak_allocated_bytes: row.peak_allocated_bytes,
    };
    output.memory_operators.iter().map(row).collect()
}
