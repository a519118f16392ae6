//! `ouzel idle`.

use ouzel::analyses::Per;
use ouzel::analyses::idle::{IdleOutput, IdleRegions};
use ouzel::model::Definitions;
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
