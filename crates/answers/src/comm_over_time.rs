//! `ouzel comm-over-time`.

use ouzel::analyses::comm_matrix::{Traffic, TrafficUnit};
use ouzel::analyses::comm_over_time::{BinTraffic, CommOverTimeOutput};
use ouzel::model::Definitions;
use serde::Serialize;

/// When how much is sent and received.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommOverTimeAnswer {
    /// Edges of the bins since the trace start, one more than bins.
    pub bin_edges_ns: Vec<u64>,
    /// What is counted.
    #[cfg_attr(feature = "schema", schemars(with = "crate::words::TrafficUnit"))]
    pub unit: &'static str,
    /// What is sent in each bin, in `unit`.
    pub sent: Vec<u64>,
    /// What is received in each bin, in `unit`.
    pub received: Vec<u64>,
}

impl CommOverTimeAnswer {
    /// The shape of `output`, counted in `unit`.
    pub fn new(output: &CommOverTimeOutput, definitions: &Definitions, unit: TrafficUnit) -> Self {
        let values =
            |side: fn(&BinTraffic) -> Traffic| output.bins.iter().map(|bin| unit.of(side(bin))).collect();
        CommOverTimeAnswer {
            bin_edges_ns: output.grid.edges_ns(definitions),
            unit: unit.as_str(),
            sent: values(|bin| bin.sent),
            received: values(|bin| bin.received),
        }
    }
}
