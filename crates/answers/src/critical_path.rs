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
    /// What the path is bound by; the times add up to its length.
    pub bounds: Vec<CriticalPathBound>,
}

/// Time on the path that one resource bounds.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CriticalPathBound {
    /// `cpu`, `gpu`, `launch` (from a launch until the operation begins) or `communication`.
    pub bound: &'static str,
    /// How long.
    pub total_ns: u64,
}

impl CriticalPathAnswer {
    /// The shape of `path`.
    pub fn new(path: &PathProfile, definitions: &Definitions) -> Self {
        CriticalPathAnswer {
            length_ns: definitions.clock.ns_from_ticks(path.length()),
            segments: TableRows(path.segments_table(definitions)),
            by_region: TableRows(path.by_region_table(definitions)),
            bounds: path
                .bounds
                .ns(&definitions.clock)
                .map(|(bound, total_ns)| CriticalPathBound { bound: bound.as_str(), total_ns })
                .into(),
        }
    }
}
