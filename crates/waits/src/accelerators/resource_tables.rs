//! Tables of copies, of queues and delays over time and by length, and of memory.

use super::kernels::KernelsOutput;
use super::names::stream_id;
use super::tables::{RANK_DOC, STREAM_DOC, ranks};
use super::{
    Copies, CopyBin, CopySizes, DelayRange, IdleGap, MemoryRow, OperatorMemoryRow, QueueLength, StreamBin,
};
use ouzel_model::{ColumnData, Definitions, RegionId, Table, Ticks, Unit};
use std::sync::Arc;

/// A column of numbers.
fn u64s<T>(rows: &[T], value: impl Fn(&T) -> u64) -> ColumnData {
    ColumnData::U64(rows.iter().map(value).collect())
}

fn rates<T>(rows: &[T], value: impl Fn(&T) -> Option<f64>) -> ColumnData {
    ColumnData::OptionF64(rows.iter().map(value).collect())
}

fn texts<T>(rows: &[T], value: impl Fn(&T) -> Arc<str>) -> ColumnData {
    ColumnData::Text(rows.iter().map(value).collect())
}

const RATE_DOC: &str = "10⁹ bytes / s, over all";

impl KernelsOutput {
    pub(super) fn copies_table(&self) -> Table {
        let rows: &[Copies] = &self.copies;
        let pageable = rows.iter().map(|row| row.n_pageable).collect();
        Table::new("copies")
            .with("direction", Unit::None, "From where to where", texts(rows, |row| Arc::from(row.direction)))
            .with("n", Unit::None, "Number of copies", u64s(rows, |row| row.n))
            .with("bytes", Unit::Bytes, "Bytes of copies whose size is recorded; missing without any", {
                ColumnData::OptionU64(rows.iter().map(|row| row.bytes).collect())
            })
            .with("total_ns", Unit::Nanoseconds, "Time of all", u64s(rows, |row| row.total_ns))
            .with("mean_gb_per_s", Unit::None, RATE_DOC, rates(rows, |row| row.mean_gb_per_s))
            .with("max_gb_per_s", Unit::None, "The highest of one", rates(rows, |row| row.max_gb_per_s))
            .with(
                "n_pageable",
                Unit::None,
                "Copies of pageable memory of the host; missing if not recorded",
                ColumnData::OptionU64(pageable),
            )
            .with("pageable_gb_per_s", Unit::None, "Over these", rates(rows, |row| row.pageable_gb_per_s))
            .with("pinned_gb_per_s", Unit::None, "Over those of pinned memory", {
                rates(rows, |row| row.pinned_gb_per_s)
            })
            .with("overlapped_ns", Unit::Nanoseconds, "Part in which the device computes", {
                u64s(rows, |row| row.overlapped_ns)
            })
    }

    pub(super) fn copy_sizes_table(&self) -> Table {
        let rows: &[CopySizes] = &self.copy_sizes;
        Table::new("copies by size")
            .with("direction", Unit::None, "From where to where", texts(rows, |row| Arc::from(row.direction)))
            .with("from_bytes", Unit::Bytes, "Sizes from", u64s(rows, |row| row.from_bytes))
            .with("to_bytes", Unit::Bytes, "Sizes below", u64s(rows, |row| row.to_bytes))
            .with("n", Unit::None, "Number of copies", u64s(rows, |row| row.n))
            .with("bytes", Unit::Bytes, "Bytes of all", u64s(rows, |row| row.bytes))
            .with("total_ns", Unit::Nanoseconds, "Time of all", u64s(rows, |row| row.total_ns))
            .with("mean_gb_per_s", Unit::None, RATE_DOC, rates(rows, |row| row.mean_gb_per_s))
    }

    pub(super) fn queue_lengths_table(&self, definitions: &Definitions) -> Table {
        let rows: &[QueueLength] = &self.queue_lengths;
        let ns = |row: &QueueLength| definitions.clock.ns_from_ticks(row.time);
        Table::new("queue lengths")
            .with("rank", Unit::None, RANK_DOC, ranks(rows.iter().map(|row| row.rank)))
            .with("stream", Unit::None, STREAM_DOC, u64s(rows, |row| stream_id(definitions, row.location)))
            .with(
                "queue_length",
                Unit::None,
                "Operations launched and not begun",
                u64s(rows, |row| row.length),
            )
            .with("time_ns", Unit::Nanoseconds, "For how long", u64s(rows, ns))
    }

    pub(super) fn delay_ranges_table(&self) -> Table {
        let rows: &[DelayRange] = &self.delay_ranges;
        Table::new("launch delays by length")
            .with("rank", Unit::None, RANK_DOC, ranks(rows.iter().map(|row| row.rank)))
            .with("from_ns", Unit::Nanoseconds, "Delays from", u64s(rows, |row| row.from_ns))
            .with("to_ns", Unit::Nanoseconds, "Delays below", u64s(rows, |row| row.to_ns))
            .with("n", Unit::None, "Number of operations", u64s(rows, |row| row.n))
    }

    pub(super) fn over_time_table(&self, definitions: &Definitions) -> Table {
        let rows: &[StreamBin] = self.over_time.as_ref().map_or(&[], |it| &it.streams);
        let busy = |row: &StreamBin| definitions.clock.ns_from_ticks(row.busy);
        let longest = rows.iter().map(|row| row.max_delay_ns).collect();
        let bins = rows.iter().map(|row| row.bin);
        self.of_bins("streams over time", bins, definitions)
            .with("rank", Unit::None, RANK_DOC, ranks(rows.iter().map(|row| row.rank)))
            .with("stream", Unit::None, STREAM_DOC, u64s(rows, |row| stream_id(definitions, row.location)))
            .with("launches", Unit::None, "Operations that begin", u64s(rows, |row| row.n))
            .with("busy_ns", Unit::Nanoseconds, "Time with an operation", u64s(rows, busy))
            .with(
                "mean_queue_length",
                Unit::None,
                "Operations launched and not begun, mean over the bin",
                ColumnData::F64(rows.iter().map(|row| row.mean_queue_length).collect()),
            )
            .with("max_queue_length", Unit::None, "Most at once", u64s(rows, |row| row.max_queue_length))
            .with("mean_delay_ns", Unit::Nanoseconds, "Mean launch delay; missing without one", {
                rates(rows, |row| row.mean_delay_ns)
            })
            .with("max_delay_ns", Unit::Nanoseconds, "The longest", ColumnData::OptionU64(longest))
    }

    pub(super) fn copies_over_time_table(&self, definitions: &Definitions) -> Table {
        let rows: &[CopyBin] = self.over_time.as_ref().map_or(&[], |it| &it.copies);
        let bins = rows.iter().map(|row| row.bin);
        self.of_bins("copies over time", bins, definitions)
            .with("direction", Unit::None, "From where to where", texts(rows, |row| Arc::from(row.direction)))
            .with("n", Unit::None, "Copies that begin", u64s(rows, |row| row.n))
            .with("bytes", Unit::Bytes, "Their bytes", u64s(rows, |row| row.bytes))
            .with("total_ns", Unit::Nanoseconds, "Their time", u64s(rows, |row| row.total_ns))
            .with("gb_per_s", Unit::None, RATE_DOC, rates(rows, |row| row.gb_per_s))
            .with("of_best", Unit::Ratio, "That / the highest of a single copy of this direction", {
                rates(rows, |row| row.of_best)
            })
    }

    /// A table whose rows begin with these bins.
    fn of_bins(
        &self,
        title: &'static str,
        bins: impl Iterator<Item = usize>,
        definitions: &Definitions,
    ) -> Table {
        let rows: Vec<usize> = bins.collect();
        let edge = |bin: usize| self.edge_ns(bin, definitions);
        Table::new(title)
            .with("bin", Unit::None, "Number of the bin, from 0", u64s(&rows, |&bin| bin as u64))
            .with(
                "bin_start_ns",
                Unit::Nanoseconds,
                "First instant of the bin",
                u64s(&rows, |&bin| edge(bin)),
            )
            .with(
                "bin_end_ns",
                Unit::Nanoseconds,
                "First instant after it",
                u64s(&rows, |&bin| edge(bin + 1)),
            )
    }

    /// An edge of the bins; 0 without bins.
    pub fn edge_ns(&self, bin: usize, definitions: &Definitions) -> u64 {
        let edge = self.over_time.as_ref().map_or(Ticks(0), |it| it.grid.edge(bin));
        definitions.clock.ns_from_ticks(edge)
    }

    pub(super) fn memory_table(&self, definitions: &Definitions) -> Table {
        let rows: &[MemoryRow] = &self.memory;
        let reserved = rows.iter().map(|row| row.peak_reserved_bytes).collect();
        let operators = rows.iter().map(|row| row.peak_operator.clone()).collect();
        Table::new("memory")
            .with("rank", Unit::None, RANK_DOC, ranks(rows.iter().map(|row| row.rank)))
            .with("place", Unit::None, "device 0, …, or host", texts(rows, |row| row.place.clone()))
            .with(
                "n_allocations",
                Unit::None,
                "How often memory is given",
                u64s(rows, |row| row.n_allocations),
            )
            .with("n_releases", Unit::None, "How often it is taken back", u64s(rows, |row| row.n_releases))
            .with("allocated_bytes", Unit::Bytes, "How much is given", u64s(rows, |row| row.allocated_bytes))
            .with("peak_allocated_bytes", Unit::Bytes, "Most at one time", {
                u64s(rows, |row| row.peak_allocated_bytes)
            })
            .with("peak_ns", Unit::Nanoseconds, "When", {
                u64s(rows, |row| definitions.clock.ns_from_ticks(row.peak_at))
            })
            .with("peak_operator", Unit::None, "Who asked then", ColumnData::OptionText(operators))
            .with(
                "peak_reserved_bytes",
                Unit::Bytes,
                "Most held of the device",
                ColumnData::OptionU64(reserved),
            )
            .with("fragmentation", Unit::Ratio, "Held and not given / held, at the peak of what is given", {
                rates(rows, |row| row.fragmentation)
            })
    }

    pub(super) fn memory_operators_table(&self) -> Table {
        let rows: &[OperatorMemoryRow] = &self.memory_operators;
        let operators = rows.iter().map(|row| row.operator.clone()).collect();
        Table::new("memory by operator")
            .with("rank", Unit::None, RANK_DOC, ranks(rows.iter().map(|row| row.rank)))
            .with("place", Unit::None, "device 0, …, or host", texts(rows, |row| row.place.clone()))
            .with("operator", Unit::None, "Innermost operator or function", ColumnData::OptionText(operators))
            .with(
                "n_allocations",
                Unit::None,
                "How often memory is given",
                u64s(rows, |row| row.n_allocations),
            )
            .with("n_releases", Unit::None, "How often it is taken back", u64s(rows, |row| row.n_releases))
            .with("allocated_bytes", Unit::Bytes, "How much is given", u64s(rows, |row| row.allocated_bytes))
            .with(
                "released_bytes",
                Unit::Bytes,
                "How much is taken back",
                u64s(rows, |row| row.released_bytes),
            )
            .with("peak_allocated_bytes", Unit::Bytes, "Most given to all, after its changes", {
                u64s(rows, |row| row.peak_allocated_bytes)
            })
    }
}

/// One row for each gap.
pub fn gaps_table(gaps: &[IdleGap], definitions: &Definitions) -> Table {
    let clock = &definitions.clock;
    let ns = |value: &dyn Fn(&IdleGap) -> u64| ColumnData::U64(gaps.iter().map(value).collect());
    let name = |region: RegionId| definitions.region(region).name.clone();
    let text = |value: &dyn Fn(&IdleGap) -> Option<Arc<str>>| {
        ColumnData::OptionText(gaps.iter().map(value).collect())
    };
    let host = |gap: &IdleGap| gap.host.first().cloned();
    let path = |gap: &IdleGap| host(gap).map_or_else(Vec::new, |(path, _)| path);
    let share = |gap: &IdleGap| {
        let length = gap.length().0;
        host(gap).filter(|_| 0 < length).map(|(_, time)| time.0 as f64 / length as f64)
    };
    Table::new("longest gaps of streams")
        .with("rank", Unit::None, RANK_DOC, ranks(gaps.iter().map(|gap| gap.rank)))
        .with("stream", Unit::None, STREAM_DOC, ns(&|gap| stream_id(definitions, gap.location)))
        .with(
            "start_ns",
            Unit::Nanoseconds,
            "Start, since the trace start",
            ns(&|gap| clock.ns_from_ticks(gap.range.start)),
        )
        .with(
            "end_ns",
            Unit::Nanoseconds,
            "End, since the trace start",
            ns(&|gap| clock.ns_from_ticks(gap.range.end)),
        )
        .with("idle_ns", Unit::Nanoseconds, "Length of the gap", ns(&|gap| clock.ns_from_ticks(gap.length())))
        .with(
            "cause",
            Unit::None,
            "The cause of its largest part",
            text(&|gap| Some(Arc::from(gap.cause().as_str()))),
        )
        .with(
            "cause_ns",
            Unit::Nanoseconds,
            "That part",
            ns(&|gap| clock.ns_from_ticks(gap.causes[gap.cause() as usize])),
        )
        .with("next", Unit::None, "The operation that ends the gap", text(&|gap| gap.next.map(name)))
        .with(
            "thread",
            Unit::None,
            "The thread that launches that operation; missing if unknown",
            text(&|gap| gap.thread.map(|thread| definitions.location(thread).name.clone())),
        )
        .with(
            "call_path",
            Unit::None,
            "Where that thread is for most of the gap; empty outside of all calls",
            ColumnData::TextList(gaps.iter().map(|gap| path(gap).into_iter().map(name).collect()).collect()),
        )
        .with(
            "host_ns",
            Unit::Nanoseconds,
            "How long it is there itself, without what it calls",
            ColumnData::OptionU64(
                gaps.iter().map(|gap| host(gap).map(|(_, time)| clock.ns_from_ticks(time))).collect(),
            ),
        )
        .with(
            "host_share",
            Unit::Ratio,
            "That time / length of the gap",
            ColumnData::OptionF64(gaps.iter().map(share).collect()),
        )
}
