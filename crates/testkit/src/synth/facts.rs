//! The truth about a synthetic trace, as stored in `facts.json`.
//!
//! Law: sums are integers. Ticks are true ones, after clock correction;
//! nanoseconds are made from sums of ticks, rounded half up.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What is true of the whole trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// Version of this schema.
    pub schema: String,
    /// Ticks per second.
    pub ticks_per_second: u64,
    /// True time of the first event, the trace's global offset.
    pub start_ticks: u64,
    /// True time of the last event.
    pub end_ticks: u64,
    /// From the first to the last event.
    pub span_ticks: u64,
    /// From the first to the last event.
    pub span_ns: u64,
    /// Ranks, each one process with one location.
    pub n_ranks: u32,
    /// Ranks in each dimension of the Cartesian topology.
    pub grid: [u32; 2],
    /// Iterations of the main loop.
    pub n_iterations: u64,
    /// Event records.
    pub n_events: u64,
    /// Event records by the name that the format gives them.
    pub n_events_by_record: BTreeMap<String, u64>,
    /// Totals of each region that was entered, by name.
    pub regions: Vec<RegionFacts>,
    /// Totals of all ranks. Every message is received.
    pub messages: MessageFacts,
    /// Totals of each collective operation that was used.
    pub collectives: Vec<CollectiveFacts>,
    /// Planted losses.
    pub losses: Losses,
    /// One for each rank.
    pub ranks: Vec<RankFacts>,
}

/// What is true of one rank.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankFacts {
    /// Rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// Its location.
    pub location: u64,
    /// Event records.
    pub n_events: u64,
    /// True time of its first event.
    pub start_ticks: u64,
    /// True time of its last event.
    pub end_ticks: u64,
    /// Each region that the rank entered, by name.
    pub regions: Vec<RegionFacts>,
    /// Its messages.
    pub messages: MessageFacts,
    /// Its part in collective operations.
    pub collectives: Vec<CollectiveFacts>,
}

/// Times and counters of one region.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegionFacts {
    /// Name of the region.
    pub region: String,
    /// Visits.
    pub visits: u64,
    /// Time inside, with callees.
    pub inclusive_ticks: u64,
    /// Time inside, without callees.
    pub exclusive_ticks: u64,
    /// Time inside, with callees.
    pub inclusive_ns: u64,
    /// Time inside, without callees.
    pub exclusive_ns: u64,
    /// Inclusive time of the shortest visit.
    pub visit_min_ticks: u64,
    /// Inclusive time of the longest visit.
    pub visit_max_ticks: u64,
    /// By name; empty without counters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, CounterFacts>,
}

/// What a counter gained in one region.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CounterFacts {
    /// With callees.
    pub inclusive: u64,
    /// Without callees.
    pub exclusive: u64,
}

/// Numbers and bytes of point-to-point messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageFacts {
    /// Messages sent.
    pub n_sent: u64,
    /// Their bytes.
    pub bytes_sent: u64,
    /// Messages received.
    pub n_received: u64,
    /// Their bytes.
    pub bytes_received: u64,
}

/// Calls and bytes of one collective operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectiveFacts {
    /// The operation, as the format names it.
    pub operation: String,
    /// Calls, one for each rank that takes part.
    pub n_calls: u64,
    /// Bytes sent by all callers.
    pub bytes_sent: u64,
    /// Bytes received by all callers.
    pub bytes_received: u64,
}

/// What was planted, in true ticks summed over ranks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Losses {
    /// Ranks that compute longer.
    pub slow_ranks: Vec<u32>,
    /// What they compute longer, in all.
    pub extra_compute_ticks: u64,
    /// Waiting in `MPI_Allreduce` for the last to come, from the collective's begin.
    pub allreduce_wait_ticks: u64,
    /// Waiting in `MPI_Waitall` for messages under way.
    pub halo_wait_ticks: u64,
    /// Output phases through rank 0.
    pub n_output_phases: u64,
    /// Waiting in `MPI_Send` until rank 0 takes the message.
    pub output_send_wait_ticks: u64,
    /// Waiting in the `MPI_Barrier` after the output for the last to come, from the collective's begin.
    pub output_barrier_wait_ticks: u64,
    /// The two above together.
    pub serialised_output_wait_ticks: u64,
}

impl MessageFacts {
    /// Adds the messages of another rank.
    pub(super) fn add(&mut self, other: &MessageFacts) {
        self.n_sent += other.n_sent;
        self.bytes_sent += other.bytes_sent;
        self.n_received += other.n_received;
        self.bytes_received += other.bytes_received;
    }
}

/// Nanoseconds of ticks, rounded half up.
pub(super) fn ns_from_ticks(ticks: u64, ticks_per_second: u64) -> u64 {
    let hz = u128::from(ticks_per_second);
    let ns = (u128::from(ticks) * 2_000_000_000 + hz) / (2 * hz);
    u64::try_from(ns).expect("a run of a few hours has fewer than 2^64 nanoseconds")
}
