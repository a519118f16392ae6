//! Severities of a profile, put together over locations: one row for each call path or region.
//!
//! With v(c, l) the value of call path c at location l in the scope asked for, a row of a
//! region holds Σ v(c, l) over its call paths, of recursive calls only the outermost where
//! callees count; for extremes the least or greatest. total = Σ over locations (the
//! extreme of all, for extremes; the formula over the totals of its operands, for a metric
//! derived from sums); mean = Σ / number of locations, or of those that have a value where
//! what is missing is no value.
//!
//! Law: the order of rows and every number follow from the profile alone. Sums of integers
//! are exact below 2^53. Not here: time, traces.

mod rows;
mod table;
#[cfg(test)]
mod tests;

pub use rows::{SeverityEntry, SeverityProfile, severity_profile};
pub use table::Grouping;

use ouzel_model::{
    CallPathId, MetricId, MetricKind, Notice, ProfileSource, Scope, ScopedRows, SeverityError, SeverityRow,
};

/// The whole of a metric: over all call paths and locations, as [`SeverityEntry::total`] counts; `None` if there is
/// no value.
///
/// # Errors
/// If its severities cannot be read.
pub fn metric_total(
    source: &dyn ProfileSource,
    metric: MetricId,
) -> Result<(Option<f64>, Vec<Notice>), SeverityError> {
    let definitions = source.definitions();
    let all = definitions.call_tree.all();
    // Refuses what is circular before the recursion.
    let mut rows = ScopedRows::open(source, metric, Scope::Inclusive, all)?;
    if let MetricKind::DerivedAfter(formula) = &definitions.metric(metric).kind {
        let mut operands = Vec::new();
        for (operand, scope) in formula.operands() {
            operands.push(((operand, scope), metric_total(source, operand)?.0.unwrap_or(0.0)));
        }
        let total = formula.evaluate(&mut |metric, scope| rows::value_of(&operands, (metric, scope)));
        return Ok((Some(total).filter(|total| total.is_finite()), Vec::new()));
    }
    let mut row = SeverityRow::new(definitions.metric(metric).value_type);
    let mut total = rows::Total::new(definitions.metric(metric).aggregation);
    while rows.read(&mut row)? {
        if is_root(source, row.path) {
            total.add(&row);
        }
    }
    Ok((total.get(), rows.notices()))
}

fn is_root(source: &dyn ProfileSource, path: CallPathId) -> bool {
    source.definitions().call_tree.node(path).parent.is_none()
}
