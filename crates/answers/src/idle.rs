//! `ouzel idle`.

use ouzel::IdleByCause;
use ouzel::analyses::Per;
use ouzel::analyses::idle::{IdleOutput, IdleRegions};
use ouzel::model::{Definitions, RegionId, Ticks};
use ouzel::waits::accelerators::{IdleGap, StreamIdle, stream_id};
use ouzel_export::TableRows;
use serde::Serialize;
use std::sync::Arc;

/// How long each rank waits.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IdleAnswer {
    /// What a row is summed over.
    #[cfg_attr(feature = "schema", schemars(with = "crate::words::PerRankOrLocation"))]
    pub per: &'static str,
    /// The regions that count as idle, of those that the trace defines.
    pub idle_regions: Vec<Arc<str>>,
    /// By rank, then by location.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<crate::words::IdleRow>"))]
    pub rows: TableRows,
}

impl IdleAnswer {
    /// The shape of `output`, in which `idle` count.
    pub fn new(output: &IdleOutput, idle: &IdleRegions, definitions: &Definitions, per: Per) -> Self {
        IdleAnswer {
            per: per.as_str(),
            idle_regions: idle.names(definitions),
            rows: TableRows(output.table(definitions, per)),
        }
    }
}

/// With `--by cause`: why each stream of an accelerator has nothing to do.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IdleCausesAnswer {
    /// By rank, then by stream.
    pub rows: Vec<IdleCausesRow>,
    /// The 20 longest gaps of all streams, longest first.
    pub gaps: Vec<IdleGapRow>,
}

/// One gap, and what the host did in it.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IdleGapRow {
    /// World rank of the process; `null` if unknown.
    pub rank: Option<u32>,
    /// Number of the stream, as its profiler shows it.
    pub stream: u64,
    /// From the trace start to the end of the operations before.
    pub start_ns: u64,
    /// From the trace start to the begin of the next operation.
    pub end_ns: u64,
    /// Length of the gap.
    pub idle_ns: u64,
    /// The cause of its largest part: a key of `causes` without `_ns`.
    pub cause: &'static str,
    /// The parts of the gap, which add up to it.
    pub causes: IdleCauses,
    /// The operation that ends it.
    pub next: Option<Arc<str>>,
    /// The thread that launches that operation; `null` if unknown.
    pub thread: Option<Arc<str>>,
    /// Where this thread is longest during the gap, at most three call paths.
    pub host: Vec<IdleGapHost>,
}

/// What a thread did in a gap.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IdleGapHost {
    /// Names from the outermost region; empty outside of all calls.
    pub call_path: Vec<Arc<str>>,
    /// Exclusive time in the gap.
    pub time_ns: u64,
    /// The same / length of the gap.
    pub share: Option<f64>,
}

/// One stream.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IdleCausesRow {
    /// World rank of the process; `null` if unknown.
    pub rank: Option<u32>,
    /// Number of the stream, as its profiler shows it.
    pub stream: u64,
    /// From the begin of its first operation to the end of its last.
    pub span_ns: u64,
    /// Time with an operation.
    pub busy_ns: u64,
    /// Time without one.
    pub idle_ns: u64,
    /// The parts of the idle time, which add up to it.
    pub causes: IdleCauses,
}

/// Idle time by cause.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IdleCauses {
    /// The host launches the next operation late.
    pub host_late_ns: u64,
    /// The host waits for a device before it launches.
    pub host_waits_ns: u64,
    /// It waits for a kernel of another stream.
    pub other_stream_ns: u64,
    /// It, or the host, waits for a copy.
    pub copy_ns: u64,
    /// It, or the host, waits for other ranks.
    pub partner_ns: u64,
    /// The next operation was in the queue, and follows the one before.
    pub dependency_ns: u64,
    /// The host makes contexts, loads or compiles code.
    pub start_up_ns: u64,
    /// It is not known which call launched the next operation.
    pub other_ns: u64,
}

impl IdleCauses {
    /// The parts in the order of [`IdleCause::ALL`](ouzel::waits::accelerators::IdleCause::ALL).
    pub(crate) fn new(ns: [u64; 8]) -> Self {
        let [late, waits, stream, copy, partner, dependency, start_up, other] = ns;
        IdleCauses {
            host_late_ns: late,
            host_waits_ns: waits,
            other_stream_ns: stream,
            copy_ns: copy,
            partner_ns: partner,
            dependency_ns: dependency,
            start_up_ns: start_up,
            other_ns: other,
        }
    }
}

impl IdleCausesAnswer {
    /// The shape of `rows`.
    pub fn new(output: &IdleByCause, definitions: &Definitions) -> Self {
        let row = |row: &StreamIdle| {
            let span_ns = definitions.clock.ns_from_ticks(row.span);
            let idle_ns = definitions.clock.ns_from_ticks(row.idle);
            IdleCausesRow {
                rank: row.rank.map(|rank| rank.0),
                stream: stream_id(definitions, row.location),
                span_ns,
                busy_ns: span_ns.saturating_sub(idle_ns),
                idle_ns,
                causes: IdleCauses::new(row.causes_ns(definitions)),
            }
        };
        let gaps = output.gaps.iter().map(|gap| IdleGapRow::new(gap, definitions)).collect();
        IdleCausesAnswer { rows: output.streams.iter().map(row).collect(), gaps }
    }
}

impl IdleGapRow {
    fn new(gap: &IdleGap, definitions: &Definitions) -> Self {
        let clock = &definitions.clock;
        let name = |region: RegionId| definitions.region(region).name.clone();
        let length = gap.length().0;
        let host = |(path, time): &(Vec<RegionId>, Ticks)| IdleGapHost {
            call_path: path.iter().copied().map(name).collect(),
            time_ns: clock.ns_from_ticks(*time),
            share: (0 < length).then(|| time.0 as f64 / length as f64),
        };
        IdleGapRow {
            rank: gap.rank.map(|rank| rank.0),
            stream: stream_id(definitions, gap.location),
            start_ns: clock.ns_from_ticks(gap.range.start),
            end_ns: clock.ns_from_ticks(gap.range.end),
            idle_ns: clock.ns_from_ticks(gap.length()),
            cause: gap.cause().as_str(),
            causes: IdleCauses::new(clock.ns_of_parts(gap.causes)),
            next: gap.next.map(name),
            thread: gap.thread.map(|thread| definitions.location(thread).name.clone()),
            host: gap.host.iter().map(host).collect(),
        }
    }
}
