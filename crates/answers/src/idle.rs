//! `ouzel idle`.

use ouzel::analyses::Per;
use ouzel::analyses::idle::{IdleOutput, IdleRegions};
use ouzel::model::Definitions;
use ouzel::waits::accelerators::{StreamIdle, stream_id};
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
    pub fn new(rows: &[StreamIdle], definitions: &Definitions) -> Self {
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
        IdleCausesAnswer { rows: rows.iter().map(row).collect() }
    }
}
