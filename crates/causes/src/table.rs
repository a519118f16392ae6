//! The causes as one table.

use crate::output::{Causes, RegionName};
use ouzel_model::{ColumnData, Table, Unit};
use std::sync::Arc;

/// One row: a bottleneck with an attribute that explains it, or with none.
struct ExplainedRow<'a> {
    kind: &'static str,
    region: &'a RegionName,
    class: Option<u64>,
    share: Option<f64>,
    times: Option<(f64, f64)>,
    attribute: Option<&'a str>,
    unit: Option<&'a str>,
    values: Option<(f64, f64)>,
    correlation: Option<f64>,
}

impl<'a> ExplainedRow<'a> {
    /// A bottleneck, without anything known of it.
    fn of(kind: &'static str, region: &'a RegionName) -> Self {
        ExplainedRow {
            kind,
            region,
            class: None,
            share: None,
            times: None,
            attribute: None,
            unit: None,
            values: None,
            correlation: None,
        }
    }
}

fn extremes(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &v| (low.min(v), high.max(v)))
}

impl Causes {
    /// Every bottleneck with each attribute that explains it; one row without an attribute if none does.
    pub fn table(&self) -> Table {
        let rows = self.rows();
        with_explanations(with_bottlenecks(Table::new("causes"), &rows, &self.time.unit), &rows)
    }

    fn rows(&self) -> Vec<ExplainedRow<'_>> {
        let mut rows: Vec<ExplainedRow<'_>> = Vec::new();
        for cause in self.external.causes.iter().filter(|cause| cause.differs_by_itself) {
            let row = || ExplainedRow {
                times: Some(extremes(&cause.time_by_cluster)),
                ..ExplainedRow::of("external", &cause.region)
            };
            rows.extend(cause.explained_by.iter().map(|by| ExplainedRow {
                attribute: Some(&by.attribute),
                unit: Some(&by.unit),
                values: Some(extremes(&by.by_cluster)),
                correlation: by.correlation,
                ..row()
            }));
            rows.extend(cause.explained_by.is_empty().then(row));
        }
        for cause in &self.internal.causes {
            let row = || ExplainedRow {
                class: Some(u64::from(cause.class)),
                share: Some(cause.share),
                ..ExplainedRow::of("internal", &cause.region)
            };
            rows.extend(cause.explained_by.iter().map(|by| ExplainedRow {
                attribute: Some(&by.attribute),
                unit: Some(&by.unit),
                values: Some((by.elsewhere, by.mean)),
                ..row()
            }));
            rows.extend(cause.explained_by.is_empty().then(row));
        }
        rows
    }
}

/// The columns that say what costs time.
fn with_bottlenecks(table: Table, rows: &[ExplainedRow<'_>], time_unit: &str) -> Table {
    let paths = rows.iter().map(|row| row.region.call_path.clone()).collect();
    let itself =
        |row: &ExplainedRow<'_>| Arc::from(if row.region.itself { "itself" } else { "with_callees" });
    let time = Unit::Other(Arc::from(time_unit));
    table
        .with(
            "kind",
            Unit::None,
            "external: processes differ; internal: the region costs much",
            texts(rows, |row| Arc::from(row.kind)),
        )
        .with("call_path", Unit::None, "The bottleneck, from the root", ColumnData::TextList(paths))
        .with(
            "scope",
            Unit::None,
            "Whether it is the call path with the regions it calls, or by itself",
            texts(rows, itself),
        )
        .with(
            "class",
            Unit::None,
            "For an internal one, 3 (high) or 4 (very high)",
            ColumnData::OptionU64(rows.iter().map(|row| row.class).collect()),
        )
        .with(
            "share",
            Unit::Ratio,
            "For an internal one, mean share of a process's time",
            numbers(rows, |row| row.share),
        )
        .with(
            "time_least",
            time.clone(),
            "For an external one, mean time in the cluster with the least",
            numbers(rows, |row| row.times.map(|t| t.0)),
        )
        .with(
            "time_most",
            time,
            "For an external one, mean time in the cluster with the most",
            numbers(rows, |row| row.times.map(|t| t.1)),
        )
}

/// The columns of the attribute that explains it.
fn with_explanations(table: Table, rows: &[ExplainedRow<'_>]) -> Table {
    table
        .with(
            "attribute",
            Unit::None,
            "What explains it; missing if it is unexplained",
            maybe(rows, |row| row.attribute.map(Arc::from)),
        )
        .with(
            "attribute_unit",
            Unit::None,
            "Unit of the attribute's values",
            maybe(rows, |row| row.unit.map(Arc::from)),
        )
        .with(
            "value_low",
            Unit::None,
            "Least mean of a cluster; for an internal one, mean over the regions where it is not high",
            numbers(rows, |row| row.values.map(|v| v.0)),
        )
        .with(
            "value_high",
            Unit::None,
            "Greatest mean of a cluster; for an internal one, the mean here",
            numbers(rows, |row| row.values.map(|v| v.1)),
        )
        .with(
            "correlation",
            Unit::Ratio,
            "For an external one, correlation of the attribute with the time over the processes",
            numbers(rows, |row| row.correlation),
        )
}

fn texts(rows: &[ExplainedRow<'_>], of: impl Fn(&ExplainedRow<'_>) -> Arc<str>) -> ColumnData {
    ColumnData::Text(rows.iter().map(of).collect())
}

fn maybe(rows: &[ExplainedRow<'_>], of: impl Fn(&ExplainedRow<'_>) -> Option<Arc<str>>) -> ColumnData {
    ColumnData::OptionText(rows.iter().map(of).collect())
}

fn numbers(rows: &[ExplainedRow<'_>], of: impl Fn(&ExplainedRow<'_>) -> Option<f64>) -> ColumnData {
    ColumnData::OptionF64(rows.iter().map(of).collect())
}
