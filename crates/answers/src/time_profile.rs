//! `ouzel time-profile`.

use ouzel::analyses::By;
use ouzel::analyses::time_profile::{BinnedRow, TimeProfileOutput};
use ouzel::model::{Definitions, Ticks};
use serde::Serialize;
use std::sync::Arc;

/// Where the time went, bin by bin.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimeProfileAnswer {
    /// Edges of the bins since the trace start, one more than bins.
    pub bin_edges_ns: Vec<u64>,
    /// Number of locations that run code: the time of a bin is its width times this number.
    pub n_locations: u64,
    /// Most time first.
    pub functions: Vec<BinnedRegion>,
    /// In each bin: its width times `n_locations`, less the time in any region.
    pub idle_ns: Vec<u64>,
}

/// One region or call path.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BinnedRegion {
    /// Name of the region.
    pub region: Arc<str>,
    /// With `--call-paths`: names from the outermost region.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub call_path: Option<Vec<Arc<str>>>,
    /// Exclusive time in each bin.
    pub exclusive_ns: Vec<u64>,
}

impl TimeProfileAnswer {
    /// The shape of `output`, seen `by`.
    pub fn new(output: &TimeProfileOutput, definitions: &Definitions, by: By) -> Self {
        let ns = |ticks: &[Ticks]| ticks.iter().map(|&t| definitions.clock.ns_from_ticks(t)).collect();
        let entry = |row: BinnedRow| BinnedRegion {
            region: definitions.region(row.key.region).name.clone(),
            call_path: row.key.call_path.map(|_| output.path_names(&row.key, definitions)),
            exclusive_ns: ns(&row.exclusive),
        };
        TimeProfileAnswer {
            bin_edges_ns: output.grid.edges_ns(definitions),
            n_locations: output.n_locations,
            functions: output.functions(definitions, by).into_iter().map(entry).collect(),
            idle_ns: ns(&output.idle),
        }
    }
}
