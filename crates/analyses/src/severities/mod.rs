//! Severities of a profile, combined over locations: one row for each call path or region.
//!
//! With v(c, l) the value of call path c at location l in the requested scope, a row of a
//! region holds Σ v(c, l) over its call paths, of recursive calls only the outermost where
//! callees count; for extremes the least or greatest. total = Σ over locations (the
//! extreme of all, for extremes; the formula over the totals of its operands, for a metric
//! derived from sums); mean = Σ / number of locations, or of those with a value if missing
//! values do not count as zero.
//!
//! Law: the order of rows and every number follow from the profile alone. Sums of integers
//! are exact below 2^53. Independent of time and traces.

mod rows;
mod table;
#[cfg(test)]
mod tests;

pub use rows::{Grouping, SeverityEntry, SeverityProfile, severity_profile};

use ouzel_model::{
    CallPathId, MetricId, MetricKind, Notice, ProfileSource, Scope, ScopedRows, SeverityError, SeverityRow,
    SeverityTotal,
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
    let of = definitions.metric(metric);
    let mut row = SeverityRow::new(of.value_type);
    let mut total = SeverityTotal::new(of.aggregation);
    // Values stored with callees need only the rows of the roots: a thousandth of a large profile.
    if matches!(of.kind, MetricKind::Inclusive) {
        let roots: Vec<CallPathId> = definitions.call_tree.roots().take(ROOTS_MAX + 1).collect();
        if roots.len() <= ROOTS_MAX {
            let mut notices = Vec::new();
            for &root in roots.iter().rev() {
                rows = ScopedRows::open(source, metric, Scope::Inclusive, root..CallPathId(root.0 + 1))?;
                if rows.read(&mut row)? {
                    total.add(&row);
                }
                notices.extend(rows.notices());
            }
            notices.sort_unstable();
            notices.dedup();
            return Ok((total.get(), notices));
        }
    }
    while rows.read(&mut row)? {
        if definitions.call_tree.node(row.path).parent.is_none() {
            total.add(&row);
        }
    }
    Ok((total.get(), rows.notices()))
}

/// Most roots of a call tree that are read one by one: programs have one, threads and streams some more. Opening the
/// rows of a metric costs about as much as reading some rows.
const ROOTS_MAX: usize = 16;
