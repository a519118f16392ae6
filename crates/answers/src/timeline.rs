//! `ouzel timeline`.

use ouzel::analyses::timeline::TimelineOutput;
use ouzel::model::Definitions;
use ouzel_export::TableRows;
use serde::Serialize;

/// What every rank does over time, at instants of a grid.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimelineAnswer {
    /// Time of the first instant.
    pub origin_ns: u64,
    /// Time from one instant to the next.
    pub spacing_ns: u64,
    /// Number of instants.
    pub n_columns: u32,
    /// Locations without a row, as there are too many.
    pub n_left_out: u64,
    /// Stretches in which a location does the same thing, as far as the instants show.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<crate::words::Stretch>"))]
    pub stretches: TableRows,
}

impl TimelineAnswer {
    /// The shape of `timeline`.
    pub fn new(timeline: &TimelineOutput, definitions: &Definitions) -> Self {
        TimelineAnswer {
            origin_ns: definitions.clock.ns_from_ticks(timeline.origin),
            spacing_ns: definitions.clock.ns_from_ticks(timeline.spacing),
            n_columns: timeline.n_columns,
            n_left_out: timeline.n_left_out,
            stretches: TableRows(timeline.table(definitions)),
        }
    }
}
