//! `ouzel profile` of a profile.

use crate::ProfileColumn;
use crate::profile_info::aggregation_text;
use ouzel::analyses::severities::Grouping;
use ouzel::model::{ProfileMetric, Scope, Table};
use ouzel_export::Rows;
use serde::Serialize;

/// One metric of a profile in each region or call path.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SeveritiesAnswer<'a> {
    /// Unique name of the metric, as the profile defines it.
    pub metric: &'a str,
    /// Its name to display.
    pub display_name: &'a str,
    /// Its unit; values have it.
    pub unit: &'a str,
    /// What it is.
    pub description: &'a str,
    /// What the profile stores: values without callees, with callees, without callees and without child metrics
    /// (`simple`, CUBE 3), or computed from others.
    #[cfg_attr(feature = "schema", schemars(with = "crate::words::MetricKind"))]
    pub kind: &'static str,
    /// How values are combined: `formula` is one of sums.
    #[cfg_attr(feature = "schema", schemars(with = "crate::words::Aggregation"))]
    pub aggregation: &'static str,
    /// Whether a row holds the callees, too.
    #[cfg_attr(feature = "schema", schemars(with = "crate::words::Scope"))]
    pub scope: &'static str,
    /// What a row is about.
    #[cfg_attr(feature = "schema", schemars(with = "crate::words::ByRegionOrCallPath"))]
    pub by: &'static str,
    /// Over all call paths and locations; `null` without a value.
    pub total: Option<f64>,
    /// What the keys of the rows mean.
    pub columns: Vec<ProfileColumn<'a>>,
    /// Greatest `total` first.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<crate::words::SeverityRow>"))]
    pub rows: Rows<'a>,
}

impl<'a> SeveritiesAnswer<'a> {
    /// The shape of `table`, the severities of `metric`.
    pub fn new(
        metric: &'a ProfileMetric,
        table: &'a Table,
        (scope, grouping): (Scope, Grouping),
        total: Option<f64>,
    ) -> Self {
        SeveritiesAnswer {
            metric: &metric.name,
            display_name: &metric.display_name,
            unit: &metric.unit,
            description: &metric.description,
            kind: metric.kind.as_str(),
            aggregation: aggregation_text(metric.aggregation),
            scope: scope.as_str(),
            by: if grouping == Grouping::CallPath { "call_path" } else { "region" },
            total,
            columns: ProfileColumn::all(table),
            rows: Rows(table),
        }
    }
}
