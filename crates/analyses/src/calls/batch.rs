//! Rows of calls, laid out in columns.

use ouzel_model::{ColumnData, Definitions, MetricId, Table, Unit};
use std::sync::Arc;

/// Rows of calls that travel together.
#[derive(Debug, Default)]
pub struct CallBatch {
    pub(super) rank: Vec<Option<u64>>,
    pub(super) thread: Vec<Option<u64>>,
    pub(super) location: Vec<u64>,
    pub(super) call: Vec<u64>,
    pub(super) parent: Vec<Option<u64>>,
    pub(super) depth: Vec<u64>,
    pub(super) n_children: Vec<u64>,
    pub(super) region: Vec<Arc<str>>,
    pub(super) enter_ns: Vec<u64>,
    pub(super) leave_ns: Vec<u64>,
    pub(super) inclusive_ns: Vec<u64>,
    pub(super) exclusive_ns: Vec<u64>,
    /// Inclusive and exclusive gains of each chosen counter.
    pub(super) gains: Vec<[Vec<Option<u64>>; 2]>,
}

impl CallBatch {
    /// No row, with columns for so many counters.
    pub fn new(n_metrics: usize) -> Self {
        CallBatch { gains: vec![Default::default(); n_metrics], ..CallBatch::default() }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.call.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.call.is_empty()
    }

    /// The rows as a table; `metrics` are the chosen counters.
    pub fn into_table(self, definitions: &Definitions, metrics: &[MetricId]) -> Table {
        let rank = "World rank of the process; missing if unknown";
        let thread = "Number of the location among its process's locations that run code";
        let mut table = Table::new("calls")
            .with("rank", Unit::None, rank, ColumnData::OptionU64(self.rank))
            .with("thread", Unit::None, thread, ColumnData::OptionU64(self.thread))
            .with(
                "location",
                Unit::None,
                "Id of the location in the trace's files",
                ColumnData::U64(self.location),
            )
            .with(
                "call",
                Unit::None,
                "Number of the call at its location, in the order in which calls begin",
                ColumnData::U64(self.call),
            )
            .with(
                "parent",
                Unit::None,
                "Number of the innermost listed call that contains it; missing for outermost calls",
                ColumnData::OptionU64(self.parent),
            )
            .with("depth", Unit::Count, "Number of listed calls that contain it", ColumnData::U64(self.depth))
            .with(
                "n_children",
                Unit::Count,
                "Number of listed calls whose parent is this call",
                ColumnData::U64(self.n_children),
            )
            .with("region", Unit::None, "Name of the called region", ColumnData::Text(self.region))
            .with(
                "enter_ns",
                Unit::Nanoseconds,
                "When it began, since the trace start",
                ColumnData::U64(self.enter_ns),
            )
            .with(
                "leave_ns",
                Unit::Nanoseconds,
                "When it ended, since the trace start",
                ColumnData::U64(self.leave_ns),
            )
            .with(
                "inclusive_ns",
                Unit::Nanoseconds,
                "Time from enter to leave",
                ColumnData::U64(self.inclusive_ns),
            )
            .with(
                "exclusive_ns",
                Unit::Nanoseconds,
                "The same without the time in callees, listed or not",
                ColumnData::U64(self.exclusive_ns),
            );
        for (&metric, [inclusive, exclusive]) in metrics.iter().zip(self.gains) {
            let metric = &definitions.metrics[metric.index()];
            let unit = || Unit::Other(metric.unit.clone());
            table = table
                .with(
                    format!("{}_inclusive", metric.name),
                    unit(),
                    "What the counter gained from enter to leave; missing if unknown",
                    ColumnData::OptionU64(inclusive),
                )
                .with(
                    format!("{}_exclusive", metric.name),
                    unit(),
                    "The same without its gain in callees",
                    ColumnData::OptionU64(exclusive),
                );
        }
        table
    }
}
