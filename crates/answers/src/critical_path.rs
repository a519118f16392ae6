//! `ouzel critical-path`.

use ouzel::analyses::critical_path::PathProfile;
use ouzel::model::Definitions;
use ouzel_export::TableRows;
use serde::Serialize;

/// The chain of work and waiting that determines the run time.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CriticalPathAnswer {
    /// From the start of the path to the end of the run.
    pub length_ns: u64,
    /// In order of time, without gap or overlap.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<crate::words::CriticalPathStep>"))]
    pub segments: TableRows,
    /// Most time first.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<crate::words::CriticalPathRegion>"))]
    pub by_region: TableRows,
}

impl CriticalPathAnswer {
    /// The shape of `path`.
    pub fn new(path: &PathProfile, definitions: &Definitions) -> Self {
        CriticalPathAnswer {
            length_ns: definitions.clock.ns_from_ticks(path.length()),
            segments: TableRows(path.segments_table(definitions)),
            by_region: TableRows(path.by_region_table(definitions)),
        }
    }
}
