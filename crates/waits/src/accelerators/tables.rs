//! Tables of kernels, queues, launch delays, copies, and of idle time by cause.

use super::communication::{CommunicationRow, Straggler};
use super::idle::{IdleCause, StreamIdle};
use super::kernels::{KernelRow, KernelsBy, KernelsOutput, KernelsPer};
use super::names::stream_id;
use super::step_rows::StepRow;
use ouzel_analyses::ratio;
use ouzel_model::{ColumnData, Definitions, LaunchShape, Table, Ticks, Unit, WorldRank};
use std::sync::Arc;

/// Which table of the answer about kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelsTable {
    /// By what was asked for: kernel, operator or scope.
    Rows,
    /// By type.
    Types,
    /// Longest queue of each stream.
    Queues,
    /// By rank.
    LaunchDelays,
    /// By direction.
    Copies,
    /// Collectives of devices.
    Communication,
    /// Who comes late to them.
    Stragglers,
    /// Steps, if regions mark them.
    Steps,
    /// Copies by direction and size.
    CopySizes,
    /// For how long the queue of each stream has which length.
    QueueLengths,
    /// Launch delays of each rank, by range.
    DelayRanges,
    /// Streams in bins of time; empty if no bins are asked for.
    OverTime,
    /// Copies in bins of time; likewise.
    CopiesOverTime,
    /// Memory of an allocator, if the trace records one.
    Memory,
    /// The same by operator.
    MemoryByOperator,
}

impl KernelsOutput {
    /// One of the tables.
    pub fn table(&self, which: KernelsTable, definitions: &Definitions) -> Table {
        match which {
            KernelsTable::Rows => self.rows_table(),
            KernelsTable::Types => self.types_table(),
            KernelsTable::Queues => self.queues_table(definitions),
            KernelsTable::LaunchDelays => self.delays_table(),
            KernelsTable::Copies => self.copies_table(),
            KernelsTable::Communication => self.communication_table(definitions),
            KernelsTable::Stragglers => self.stragglers_table(definitions),
            KernelsTable::Steps => steps_table(&self.steps, definitions),
            KernelsTable::CopySizes => self.copy_sizes_table(),
            KernelsTable::QueueLengths => self.queue_lengths_table(definitions),
            KernelsTable::DelayRanges => self.delay_ranges_table(),
            KernelsTable::OverTime => self.over_time_table(definitions),
            KernelsTable::CopiesOverTime => self.copies_over_time_table(definitions),
            KernelsTable::Memory => self.memory_table(definitions),
            KernelsTable::MemoryByOperator => self.memory_operators_table(),
        }
    }

    fn communication_table(&self, definitions: &Definitions) -> Table {
        let rows = &self.communication;
        let u64s =
            |value: &dyn Fn(&CommunicationRow) -> u64| ColumnData::U64(rows.iter().map(value).collect());
        let ns = |value: &dyn Fn(&CommunicationRow) -> Ticks| {
            ColumnData::U64(rows.iter().map(|row| definitions.clock.ns_from_ticks(value(row))).collect())
        };
        let rates = |value: &dyn Fn(&CommunicationRow) -> Option<f64>| {
            ColumnData::OptionF64(rows.iter().map(value).collect())
        };
        let ops = rows.iter().map(|row| Arc::from(row.op.as_str())).collect();
        Table::new("communication")
            .with("operation", Unit::None, "The collective operation", ColumnData::Text(ops))
            .with("group_size", Unit::None, "Members of the group", u64s(&|row| row.group_size))
            .with("bytes", Unit::Bytes, "Larger of what a member sends and receives", u64s(&|row| row.bytes))
            .with("n", Unit::None, "Operations, one for each member", u64s(&|row| row.n))
            .with("total_ns", Unit::Nanoseconds, "Their length", ns(&|row| row.total))
            .with("waiting_ns", Unit::Nanoseconds, "Until the last member begins", ns(&|row| row.waiting))
            .with(
                "exposed_ns",
                Unit::Nanoseconds,
                "While the device computes nothing",
                ns(&|row| row.exposed),
            )
            .with("algorithm_gb_per_s", Unit::None, "Bytes / time after the last begin", {
                rates(&|row| row.algorithm_gb_per_s)
            })
            .with(
                "bus_gb_per_s",
                Unit::None,
                "The same by what the links carry",
                rates(&|row| row.bus_gb_per_s),
            )
    }

    fn stragglers_table(&self, definitions: &Definitions) -> Table {
        let rows = &self.stragglers;
        let u64s = |value: &dyn Fn(&Straggler) -> u64| ColumnData::U64(rows.iter().map(value).collect());
        let late = |row: &Straggler| definitions.clock.ns_from_ticks(row.late);
        Table::new("stragglers")
            .with("rank", Unit::None, RANK_DOC, ranks(rows.iter().map(|row| row.rank)))
            .with("n", Unit::None, "Collectives in which it takes part", u64s(&|row| row.n))
            .with("n_last", Unit::None, "Those in which it begins last", u64s(&|row| row.n_last))
            .with("late_ns", Unit::Nanoseconds, "After the one before it, in these", u64s(&late))
    }

    /// The share of operations in the time of all.
    pub fn share(&self, total_ns: u64) -> f64 {
        ratio(u128::from(total_ns), u128::from(self.total_ns())).unwrap_or(0.0)
    }

    fn rows_table(&self) -> Table {
        let rows = &self.groups;
        let ns = |value: &dyn Fn(&KernelRow) -> u64| ColumnData::U64(rows.iter().map(value).collect());
        let of = |value: &dyn Fn(&KernelRow) -> f64| ColumnData::F64(rows.iter().map(value).collect());
        let names = ColumnData::OptionText(rows.iter().map(|row| row.name.clone()).collect());
        let types = ColumnData::Text(rows.iter().map(|row| Arc::from(row.kind.as_str())).collect());
        let name_doc = match self.by {
            KernelsBy::Kernel => "Name of the operation",
            KernelsBy::Operator => "Innermost operator or function that launches; missing if none is known",
            KernelsBy::Scope => {
                "Innermost range or Python function around the launch; missing if none is known"
            }
        };
        let table = match self.per {
            KernelsPer::Run => Table::new("kernels"),
            KernelsPer::Step => {
                let steps = ColumnData::OptionU64(rows.iter().map(|row| row.step).collect());
                Table::new("kernels").with("step", Unit::None, "Its number; missing outside of steps", steps)
            }
        };
        let table = table
            .with(self.by.as_str(), Unit::None, name_doc, names)
            .with("type", Unit::None, "computation, communication or memory", types)
            .with("launches", Unit::None, "Number of operations", ns(&|row| row.durations.n))
            .with("total_ns", Unit::Nanoseconds, "Time of all", ns(&|row| row.durations.total_ns))
            .with("mean_ns", Unit::Nanoseconds, "Mean of their times", of(&|row| row.durations.mean_ns))
            .with("median_ns", Unit::Nanoseconds, "Median of their times", of(&|row| row.durations.median_ns))
            .with("min_ns", Unit::Nanoseconds, "The shortest", ns(&|row| row.durations.min_ns))
            .with("max_ns", Unit::Nanoseconds, "The longest", ns(&|row| row.durations.max_ns))
            .with(
                "std_ns",
                Unit::Nanoseconds,
                "Deviation of the sample; 0 for one",
                of(&|row| row.durations.std_ns),
            )
            .with("share", Unit::Ratio, "total / total of all operations", {
                of(&|row| self.share(row.durations.total_ns))
            });
        with_shapes(table, rows)
    }

    fn types_table(&self) -> Table {
        let types = self.types.iter().map(|(kind, _)| Arc::from(kind.as_str())).collect();
        let ns = self.types.iter().map(|(_, ns)| *ns).collect();
        let shares = self.types.iter().map(|(_, ns)| self.share(*ns)).collect();
        Table::new("types")
            .with("type", Unit::None, "computation, communication or memory", ColumnData::Text(types))
            .with("total_ns", Unit::Nanoseconds, "Time of all operations", ColumnData::U64(ns))
            .with("share", Unit::Ratio, "total / total of all operations", ColumnData::F64(shares))
    }

    fn queues_table(&self, definitions: &Definitions) -> Table {
        let stream = |location| stream_id(definitions, location);
        let streams = self.queues.iter().map(|queue| stream(queue.location)).collect();
        let longest = self.queues.iter().map(|queue| queue.max_queue_length).collect();
        Table::new("queues")
            .with("rank", Unit::None, RANK_DOC, ranks(self.queues.iter().map(|queue| queue.rank)))
            .with("stream", Unit::None, STREAM_DOC, ColumnData::U64(streams))
            .with("max_queue_length", Unit::None, "Most operations in it at once", ColumnData::U64(longest))
    }

    fn delays_table(&self) -> Table {
        let rows = &self.launch_delays;
        let means = rows.iter().map(|row| row.mean_delay_ns).collect();
        let longest = rows.iter().map(|row| row.max_delay_ns).collect();
        let counts = rows.iter().map(|row| row.n).collect();
        Table::new("launch delays")
            .with("rank", Unit::None, RANK_DOC, ranks(rows.iter().map(|row| row.rank)))
            .with("n", Unit::None, "Number of operations with a launch that does not block", {
                ColumnData::U64(counts)
            })
            .with(
                "mean_delay_ns",
                Unit::Nanoseconds,
                "From the end of the launch to the begin",
                ColumnData::F64(means),
            )
            .with("max_delay_ns", Unit::Nanoseconds, "The longest", ColumnData::U64(longest))
    }
}

/// One row for each step.
fn steps_table(rows: &[StepRow], definitions: &Definitions) -> Table {
    let u64s = |value: &dyn Fn(&StepRow) -> u64| ColumnData::U64(rows.iter().map(value).collect());
    let start = |row: &StepRow| definitions.clock.ns_from_ticks(row.start);
    let excess = rows.iter().map(|row| row.outlier.map(|it| it.excess_ns)).collect();
    let reason = |row: &StepRow| row.outlier.and_then(|it| it.reason);
    let reasons = rows.iter().map(|row| reason(row).map(|(it, _)| Arc::from(it.as_str()))).collect();
    let by = rows.iter().map(|row| reason(row).map(|(_, ns)| ns)).collect();
    let table = Table::new("steps")
        .with("step", Unit::None, "Its number", u64s(&|row| row.step))
        .with("start_ns", Unit::Nanoseconds, "When its first call begins", u64s(&start))
        .with("length_ns", Unit::Nanoseconds, "Length of its longest call", u64s(&|row| row.length_ns))
        .with("n_calls", Unit::None, "Its calls, as a rule one for each rank", u64s(&|row| row.n_calls))
        .with("launches", Unit::None, "Operations that it launches", u64s(&|row| row.launches))
        .with("device_ns", Unit::Nanoseconds, "Their time", u64s(&|row| row.device_ns))
        .with("idle_ns", Unit::Nanoseconds, "Gaps of streams that they end", u64s(&|row| row.idle_ns));
    let parts = IdleCause::ALL.iter().zip(CAUSE_DOCS);
    let table = parts.fold(table, |table, (&cause, doc)| {
        let name = format!("{}_ns", cause.as_str());
        table.with(name, Unit::Nanoseconds, doc, u64s(&|row| row.causes_ns[cause as usize]))
    });
    table
        .with("n_by_time", Unit::None, "Operations counted by when they begin: launch unknown", {
            u64s(&|row| row.n_by_time)
        })
        .with("excess_ns", Unit::Nanoseconds, "Of an outlier: longer than the median step by", {
            ColumnData::OptionU64(excess)
        })
        .with("reason", Unit::None, "What differs most from the median step", ColumnData::OptionText(reasons))
        .with("reason_ns", Unit::Nanoseconds, "How much that differs", ColumnData::OptionU64(by))
}

/// One row for each stream: its idle time by cause.
pub fn idle_table(rows: &[StreamIdle], definitions: &Definitions) -> Table {
    let clock = &definitions.clock;
    let ns = |value: &dyn Fn(&StreamIdle) -> u64| ColumnData::U64(rows.iter().map(value).collect());
    let stream = |row: &StreamIdle| stream_id(definitions, row.location);
    let idle = |row: &StreamIdle| clock.ns_from_ticks(row.idle);
    let span = |row: &StreamIdle| clock.ns_from_ticks(row.span);
    let table = Table::new("idle time by cause")
        .with("rank", Unit::None, RANK_DOC, ranks(rows.iter().map(|row| row.rank)))
        .with("stream", Unit::None, STREAM_DOC, ns(&stream))
        .with(
            "span_ns",
            Unit::Nanoseconds,
            "From the begin of the first operation to the end of the last",
            ns(&span),
        )
        .with(
            "busy_ns",
            Unit::Nanoseconds,
            "Time with an operation",
            ns(&|row| span(row).saturating_sub(idle(row))),
        )
        .with("idle_ns", Unit::Nanoseconds, "Time without one: the sum of the causes", ns(&idle));
    IdleCause::ALL.iter().zip(CAUSE_DOCS).fold(table, |table, (&cause, doc)| {
        let part = |row: &StreamIdle| row.causes_ns(definitions)[cause as usize];
        table.with(format!("{}_ns", cause.as_str()), Unit::Nanoseconds, doc, ns(&part))
    })
}

/// Of the columns with a cause.
const CAUSE_DOCS: [&str; 8] = [
    "The host launches the next operation late",
    "The host waits for a device before it launches",
    "It waits for a kernel of another stream",
    "It, or the host, waits for a copy",
    "It, or the host, waits for other ranks",
    "The next operation follows the one before",
    "The host makes contexts, loads or compiles code",
    "It is not known which call launched the next operation",
];

impl StreamIdle {
    /// Nanoseconds of each cause, which add up to those of the idle time.
    pub fn causes_ns(&self, definitions: &Definitions) -> [u64; 8] {
        definitions.clock.ns_of_parts(self.causes)
    }
}

/// The columns about launches.
fn with_shapes(table: Table, rows: &[KernelRow]) -> Table {
    let most = |row: &KernelRow| row.shape.most;
    let extents = |value: &dyn Fn(&KernelRow) -> Option<[u32; 3]>| {
        let text = |row: &KernelRow| value(row).map(|it| Arc::from(LaunchShape::extent(it)));
        ColumnData::OptionText(rows.iter().map(text).collect())
    };
    let numbers = |value: &dyn Fn(&KernelRow) -> Option<u32>| {
        ColumnData::OptionU64(rows.iter().map(|row| value(row).map(u64::from)).collect())
    };
    let n_shapes = ColumnData::U64(rows.iter().map(|row| row.shape.n_shapes).collect());
    let occupancy = ColumnData::OptionF64(rows.iter().map(|row| row.shape.occupancy).collect());
    table
        .with("n_shapes", Unit::None, "Launch shapes; 0 if not recorded", n_shapes)
        .with(
            "grid",
            Unit::None,
            "Blocks, in the shape of most launches",
            extents(&|row| Some(most(row)?.grid)),
        )
        .with("block", Unit::None, "Threads of a block, likewise", extents(&|row| Some(most(row)?.block)))
        .with(
            "registers",
            Unit::None,
            "Registers of a thread, likewise",
            numbers(&|row| most(row)?.registers),
        )
        .with(
            "shared_bytes",
            Unit::Bytes,
            "Shared memory of a block, likewise",
            numbers(&|row| most(row)?.shared_bytes),
        )
        .with("occupancy", Unit::Ratio, "Estimated by the profiler; mean over the time", occupancy)
}

pub(super) const RANK_DOC: &str = "World rank of the process; missing if unknown";
pub(super) const STREAM_DOC: &str = "Number of the stream";

pub(super) fn ranks(ranks: impl Iterator<Item = Option<WorldRank>>) -> ColumnData {
    ColumnData::OptionU64(ranks.map(|rank| rank.map(|rank| u64::from(rank.0))).collect())
}
