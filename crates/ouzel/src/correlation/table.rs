//! The ranked views as a table.

use super::Correlated;
use ouzel_correlate::Correlation;
use ouzel_model::{ColumnData, ProfileDefinitions, Table, Unit};

impl Correlated {
    /// One row for each view, the best first.
    pub fn table(&self, definitions: &ProfileDefinitions) -> Table {
        let rows = &self.answer.rows;
        let floats = |value: &dyn Fn(&Correlation) -> f64| ColumnData::F64(rows.iter().map(value).collect());
        let shifts = |value: &dyn Fn(&Correlation) -> &Vec<u32>| {
            let list = |row| value(row).iter().map(|&step| u64::from(step)).collect();
            ColumnData::U64List(rows.iter().map(list).collect())
        };
        let metric = |row: &Correlation| definitions.metric(row.view.metric);
        let id = |row: &Correlation| definitions.call_tree.node(row.view.path).native_id;
        Table::new("correlations")
            .with(
                "metric",
                Unit::None,
                "Unique name of the metric",
                ColumnData::Text(rows.iter().map(|row| metric(row).name.clone()).collect()),
            )
            .with(
                "call_path",
                Unit::None,
                "Regions from the outermost to the innermost",
                ColumnData::TextList(
                    rows.iter().map(|row| definitions.call_path_names(row.view.path)).collect(),
                ),
            )
            .with(
                "call_path_id",
                Unit::None,
                "Id of the call path in the profile's file",
                ColumnData::U64(rows.iter().map(id).collect()),
            )
            .with("r", Unit::None, "Filtered correlation r_f at the peak, from -1 to 1", floats(&|row| row.r))
            .with(
                "shift",
                Unit::None,
                "Shift of the peak in places along each axis, wrapping around: the reference's value at x corresponds \
                 to this view's at x + shift",
                shifts(&|row| &row.shift),
            )
            .with("r_max", Unit::None, "Largest R over all shifts", floats(&|row| row.r_max))
            .with("shift_max", Unit::None, "Shift of r_max", shifts(&|row| &row.shift_max))
            .with("r_min", Unit::None, "Smallest R over all shifts", floats(&|row| row.r_min))
            .with("shift_min", Unit::None, "Shift of r_min", shifts(&|row| &row.shift_min))
            .with(
                "coverage",
                Unit::Ratio,
                "Share of the places where the view has a value",
                floats(&|row| row.coverage),
            )
            .with(
                "sign",
                Unit::None,
                "like: high where the reference is high; against: low where the reference is high; none",
                ColumnData::Text(rows.iter().map(|row| sign(row.r).into()).collect()),
            )
    }
}

/// The sign of a correlation in words.
pub fn sign(r: f64) -> &'static str {
    if r > 0.0 {
        "like"
    } else if r < 0.0 {
        "against"
    } else {
        "none"
    }
}
