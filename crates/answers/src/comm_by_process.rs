//! `ouzel comm-by-process`.

use ouzel::analyses::comm_matrix::{CommMatrixOutput, ProcessTraffic, TrafficUnit};
use serde::Serialize;

/// What each rank sends and receives.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommByProcessAnswer {
    /// What is counted.
    #[cfg_attr(feature = "schema", schemars(with = "crate::words::TrafficUnit"))]
    pub unit: &'static str,
    /// By rank.
    pub rows: Vec<RankTraffic>,
}

/// One rank.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RankTraffic {
    /// World rank.
    pub rank: u32,
    /// Amount in `unit` at its sends; `null` if the rank has no events, because it is known only as a peer.
    pub sent: Option<u64>,
    /// Amount in `unit` at its receives; likewise.
    pub received: Option<u64>,
}

impl CommByProcessAnswer {
    /// The shape of `output`, counted in `unit`.
    pub fn new(output: &CommMatrixOutput, unit: TrafficUnit) -> Self {
        let row = |row: ProcessTraffic| RankTraffic {
            rank: row.rank.0,
            sent: row.has_events.then(|| unit.of(row.sent)),
            received: row.has_events.then(|| unit.of(row.received)),
        };
        CommByProcessAnswer { unit: unit.as_str(), rows: output.by_process().into_iter().map(row).collect() }
    }
}
