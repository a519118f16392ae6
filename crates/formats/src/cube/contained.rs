//! Whether the values of an old profile contain those of the metrics that are parts of them.
//!
//! CUBE 3 stores the value of a metric without its parts: where an MPI call takes time, `time` has nothing of its own
//! and `mpi` has it. Some writers stored values with their parts under the same version number; adding the parts once
//! more would count time several times. Law: the values are taken to contain their parts if no value is less than the
//! sum of its parts and some are equal to it; files of the usual kind differ at their first such call.

use super::CubeSource;
use ouzel_model::{
    CallPathId, Level, MetricId, MetricKind, Notice, NoticeCode, ProfileSource, ReadError, SeverityRow,
    SeverityRows,
};
use std::sync::Arc;

/// Relative difference that writing numbers in decimal digits may make.
const ROUNDING: f64 = 1e-9;

/// Makes the metrics of `source` contain their parts, if they do; a notice if so.
pub(super) fn settle(source: &mut CubeSource) -> Option<Notice> {
    let metrics = &source.definitions.metrics;
    let is_simple = |id: &MetricId| metrics[id.index()].kind == MetricKind::Simple;
    let simple: Vec<MetricId> = source.definitions.metric_ids().filter(is_simple).collect();
    let mut is_equal = false;
    for &whole in &simple {
        let is_part = |id: &&MetricId| metrics[id.index()].parent == Some(whole);
        let parts: Vec<MetricId> = simple.iter().filter(is_part).copied().collect();
        // A file that cannot be read is reported where it is read for an answer.
        is_equal |= compare(source, whole, &parts).ok().flatten()?;
    }
    if !is_equal {
        return None;
    }
    for id in simple {
        source.definitions.metrics[id.index()].kind = MetricKind::Exclusive;
    }
    let message =
        "values contain those of the metrics that are parts of them, unlike in other files of CUBE 3";
    Some(Notice::new(Level::Low, NoticeCode::NotRepresented, message).in_file(Arc::clone(source.cube.file())))
}

/// Whether some value equals the sum of its parts; `None` if one is less.
fn compare(source: &CubeSource, whole: MetricId, parts: &[MetricId]) -> Result<Option<bool>, ReadError> {
    let n = source.definitions.locations.len();
    let mut rows = Rows::open(source, whole)?;
    let mut of_parts = parts.iter().map(|&part| Rows::open(source, part)).collect::<Result<Vec<_>, _>>()?;
    let (mut values, mut sums) = (vec![0.0; n], vec![0.0; n]);
    let mut is_equal = false;
    for path in source.definitions.call_tree.paths().rev() {
        sums.fill(0.0);
        for part in &mut of_parts {
            part.add(path, &mut sums)?;
        }
        values.fill(0.0);
        rows.add(path, &mut values)?;
        for (&value, &sum) in values.iter().zip(&sums) {
            if sum < 0.0 || value < sum * (1.0 - ROUNDING) {
                return Ok(None);
            }
            is_equal |= 0.0 < sum && value <= sum * (1.0 + ROUNDING);
        }
    }
    Ok(Some(is_equal))
}

/// Rows of a metric as they are stored, the next one known.
struct Rows<'a> {
    rows: Box<dyn SeverityRows + 'a>,
    row: SeverityRow,
    has_row: bool,
}

impl<'a> Rows<'a> {
    fn open(source: &'a CubeSource, metric: MetricId) -> Result<Self, ReadError> {
        let mut rows = source.open(metric, source.definitions.call_tree.all())?;
        let mut row = SeverityRow::new(source.definitions.metric(metric).value_type);
        let has_row = rows.read(&mut row)?;
        Ok(Rows { rows, row, has_row })
    }

    fn add(&mut self, path: CallPathId, sums: &mut [f64]) -> Result<(), ReadError> {
        if !self.has_row || self.row.path != path {
            return Ok(());
        }
        for (location, value) in self.row.iter() {
            sums[location.index()] += value;
        }
        self.has_row = self.rows.read(&mut self.row)?;
        Ok(())
    }
}
