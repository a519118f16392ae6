//! The timeline as a table.

use super::output::TimelineOutput;
use ouzel_model::{ColumnData, Definitions, LocationId, Table, Unit};
use std::sync::Arc;

impl TimelineOutput {
    /// One row for each stretch in which a location does the same, those of a location in order of time. The ends of
    /// a stretch are instants of the grid: what begins and ends between two instants has no row.
    pub fn table(&self, definitions: &Definitions) -> Table {
        let ns = |column| definitions.clock.ns_from_ticks(self.at(column));
        let mut locations: Vec<LocationId> = Vec::new();
        let (mut starts, mut ends) = (Vec::new(), Vec::new());
        let mut regions: Vec<Option<Arc<str>>> = Vec::new();
        let mut paths: Vec<Vec<Arc<str>>> = Vec::new();
        let name = |region| definitions.region(region).name.clone();
        for row in &self.rows {
            let mut column = 0;
            for run in &row.runs {
                let from = column;
                column += run.n_columns;
                let Some(path) = run.call_path else { continue };
                locations.push(row.location);
                starts.push(ns(from));
                ends.push(ns(column));
                let region = self.call_paths.region(path);
                regions.push(region.map(name));
                paths.push(self.call_paths.regions(path).into_iter().map(name).collect());
            }
        }
        let native = locations.iter().map(|&location| definitions.location(location).native_id).collect();
        let rank = |&location: &LocationId| definitions.location(location).rank.map(|rank| u64::from(rank.0));
        let ranks = locations.iter().map(rank).collect();
        Table::new("timeline")
            .with("rank", Unit::None, "World rank; missing if unknown", ColumnData::OptionU64(ranks))
            .with("location", Unit::None, "Id of the location in the trace's files", ColumnData::U64(native))
            .with("start_ns", Unit::Nanoseconds, "First instant of the stretch", ColumnData::U64(starts))
            .with("end_ns", Unit::Nanoseconds, "First instant after it", ColumnData::U64(ends))
            .with(
                "region",
                Unit::None,
                "The innermost region; missing outside all recorded regions",
                ColumnData::OptionText(regions),
            )
            .with(
                "call_path",
                Unit::None,
                "Regions from the outermost to this one",
                ColumnData::TextList(paths),
            )
    }
}
