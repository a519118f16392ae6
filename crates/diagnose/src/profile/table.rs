//! The call paths of a report as a table.

use super::{ProfileCallPath, ProfileReport};
use ouzel_model::{ColumnData, Table, Unit};
use std::sync::Arc;

impl ProfileReport {
    /// One row for each call path of the report, times in nanoseconds.
    pub fn table(&self) -> Table {
        let rows = &self.call_paths;
        let numbers =
            |value: &dyn Fn(&ProfileCallPath) -> u64| ColumnData::U64(rows.iter().map(value).collect());
        let optional = |value: &dyn Fn(&ProfileCallPath) -> Option<u64>| {
            ColumnData::OptionU64(rows.iter().map(value).collect())
        };
        Table::new("call paths")
            .with(
                "call_path",
                Unit::None,
                "Regions from the outermost to the innermost",
                ColumnData::TextList(rows.iter().map(|row| row.call_path.clone()).collect()),
            )
            .with(
                "kind",
                Unit::None,
                "What its own time is spent on",
                ColumnData::Text(rows.iter().map(|row| Arc::from(row.kind.as_str())).collect()),
            )
            .with(
                "exclusive_ns",
                Unit::Nanoseconds,
                "Time of all threads without callees",
                numbers(&|row| row.exclusive_ns),
            )
            .with(
                "inclusive_ns",
                Unit::Nanoseconds,
                "Time of all threads with callees",
                numbers(&|row| row.inclusive_ns),
            )
            .with(
                "mean_ns",
                Unit::Nanoseconds,
                "Mean over the processes of the exclusive time of their longest thread",
                numbers(&|row| row.mean_ns),
            )
            .with(
                "most_ns",
                Unit::Nanoseconds,
                "The same of the process with most",
                numbers(&|row| row.most.time_ns),
            )
            .with("most_rank", Unit::None, "Its world rank", optional(&|row| row.most.rank.map(u64::from)))
            .with(
                "least_ns",
                Unit::Nanoseconds,
                "The same of the process with the least",
                numbers(&|row| row.least.time_ns),
            )
            .with("least_rank", Unit::None, "Its world rank", optional(&|row| row.least.rank.map(u64::from)))
            .with(
                "visits",
                Unit::Count,
                "How often it is entered by all threads",
                optional(&|row| row.n_visits),
            )
    }
}
