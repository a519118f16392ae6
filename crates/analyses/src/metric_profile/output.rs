//! Counters by call path, and their views as tables.

use crate::view::{By, Per, RowKey, RowView};
use ouzel_model::{CallPathId, CallPathTree, ColumnData, Definitions, LocationId, MetricId, Table, Unit};
use rustc_hash::FxHashMap;

/// Accumulated metrics of every call path at every location.
#[derive(Debug, Clone)]
pub struct MetricProfileOutput {
    /// The call paths that the rows refer to.
    pub call_paths: CallPathTree,
    /// The locations read, ascending.
    pub locations: Vec<LocationMetrics>,
    /// Metrics that are no counters, and counters of locations that run no code, by location and metric.
    pub summaries: Vec<MetricSummary>,
}

/// Counters of one location.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocationMetrics {
    /// The location.
    pub location: LocationId,
    /// By metric and call path, ascending. Paths in which a counter did not change have no row.
    pub rows: Vec<PathMetric>,
}

/// What a counter gained in a call path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathMetric {
    /// The counter.
    pub metric: MetricId,
    /// The call path.
    pub call_path: CallPathId,
    /// Gain from enter to leave, in the metric's unit, summed over visits.
    pub inclusive: u64,
    /// The same without what it gained in callees.
    pub exclusive: u64,
}

/// Values of one metric at one location.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MetricSummary {
    /// The location.
    pub location: LocationId,
    /// The metric.
    pub metric: MetricId,
    /// Number of values.
    pub count: u64,
    /// The least, in the metric's unit.
    pub min: f64,
    /// The greatest.
    pub max: f64,
    /// Their sum divided by their number: values, not time, are weighted equally.
    pub mean: f64,
}

/// One row of a view of the counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetricRow {
    /// What the row is about.
    pub key: RowKey,
    /// The counter.
    pub metric: MetricId,
    /// Gain from enter to leave, in the metric's unit. A recursive call counts once, in the outermost.
    pub inclusive: u64,
    /// The same without what it gained in callees.
    pub exclusive: u64,
}

impl MetricProfileOutput {
    /// The counters seen by region or by call path, metric after metric, greatest exclusive value first, then by name.
    pub fn rows(&self, definitions: &Definitions, by: By, per: Per) -> Vec<MetricRow> {
        self.rows_of(&RowView::new(definitions, &self.call_paths, by, per))
    }

    fn rows_of(&self, view: &RowView<'_>) -> Vec<MetricRow> {
        let mut sums: FxHashMap<(MetricId, RowKey), (u64, u64)> = FxHashMap::default();
        for location in &self.locations {
            for row in &location.rows {
                let Some(key) = view.key(location.location, row.call_path) else { continue };
                let (inclusive, exclusive) = sums.entry((row.metric, key)).or_default();
                *exclusive = exclusive.saturating_add(row.exclusive);
                if view.counts_inclusive(row.call_path) {
                    *inclusive = inclusive.saturating_add(row.inclusive);
                }
            }
        }
        let mut rows: Vec<MetricRow> = sums
            .into_iter()
            .map(|((metric, key), (inclusive, exclusive))| MetricRow { key, metric, inclusive, exclusive })
            .collect();
        rows.sort_unstable_by(|a, b| {
            let by_value = a.metric.cmp(&b.metric).then(b.exclusive.cmp(&a.exclusive));
            by_value.then_with(|| view.tie_break(&a.key).cmp(&view.tie_break(&b.key)))
        });
        rows
    }

    /// The rows as a table.
    pub fn table(&self, definitions: &Definitions, by: By, per: Per) -> Table {
        let view = RowView::new(definitions, &self.call_paths, by, per);
        let rows = self.rows_of(&view);
        let keys: Vec<RowKey> = rows.iter().map(|row| row.key).collect();
        let metric = |row: &MetricRow| &definitions.metrics[row.metric.index()];
        view.name_columns("metrics", &keys)
            .with(
                "metric",
                Unit::None,
                "Name of the counter",
                ColumnData::Text(rows.iter().map(|row| metric(row).name.clone()).collect()),
            )
            .with(
                "unit",
                Unit::None,
                "Unit of the values, as recorded",
                ColumnData::Text(rows.iter().map(|row| metric(row).unit.clone()).collect()),
            )
            .with(
                "inclusive",
                Unit::None,
                "Counter at leave minus counter at enter, summed over visits; of recursive calls, only the outermost \
                 counts",
                ColumnData::U64(rows.iter().map(|row| row.inclusive).collect()),
            )
            .with(
                "exclusive",
                Unit::None,
                "The inclusive value minus the counter's gain in callees",
                ColumnData::U64(rows.iter().map(|row| row.exclusive).collect()),
            )
    }
}
