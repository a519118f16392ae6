//! Severities in the requested scope.
//!
//! Along the call tree, with c the callees of a call path p:
//! inclusive(p) = exclusive(p) + Σ inclusive(c), and exclusive(p) = inclusive(p) − Σ inclusive(c).
//! Rows come from the last call path to the first, so when p comes, all of its callees
//! have been read; their sums are kept in one row for each level of the tree. Extremes are passed up in their own way
//! (the least of all below) and never down. Floating-point sums are made in the order of the tree, so they are equal on
//! every machine.

use super::{Aggregation, Formula, MetricKind, ProfileSource, Scope, Severities, SeverityRow, SeverityRows};
use crate::{CallPathId, Level, LocationId, MetricId, MetricValueType, Notice, NoticeCode, ReadError};
use std::ops::Range;

/// Maximum depth of derived metrics that name derived metrics. Tools stack two or three; a cycle ends here.
const MAX_DERIVATIONS: u32 = 16;

/// Why severities cannot be given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SeverityError {
    /// The metric has no value in this scope: extremes over a call path and its callees do not give that of the call
    /// path alone.
    NotAdditive {
        /// The metric's unique name.
        metric: String,
        /// The requested scope.
        scope: Scope,
    },
    /// Derived metrics name each other in a cycle, or too deep.
    Circular {
        /// The metric's unique name.
        metric: String,
    },
    /// They cannot be read.
    Read(ReadError),
}

impl From<ReadError> for SeverityError {
    fn from(error: ReadError) -> Self {
        SeverityError::Read(error)
    }
}

impl std::fmt::Display for SeverityError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SeverityError::NotAdditive { metric, scope } => {
                write!(f, "metric {metric:?} has no {} values: extremes cannot be split", scope.as_str())
            }
            SeverityError::Circular { metric } => {
                write!(
                    f,
                    "metric {metric:?} is derived from itself, or over more than {MAX_DERIVATIONS} steps"
                )
            }
            SeverityError::Read(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SeverityError {}

/// Reads the rows of one metric in one scope, from the last call path to the first. For a metric of several parts
/// ([`MetricKind::Simple`]) the parts are in its values, as for all others.
pub struct ScopedRows<'a> {
    source: &'a dyn ProfileSource,
    metric: MetricId,
    base: Base<'a>,
    step: ScopeStep,
    aggregation: Aggregation,
    /// For each level of the tree, what the nodes there sum up to, whose caller is still to come.
    levels: Vec<SeverityRow>,
    /// The memory of the level that was emptied last. Trees are deep, and few levels hold a sum at a time.
    spare: SeverityRow,
    /// Likewise, the locations whose sum is unknown.
    unknown_levels: Vec<Vec<LocationId>>,
    /// Those of the last row.
    not_finite: Vec<LocationId>,
    first: u32,
    next: u32,
    n_stopped: u64,
    n_undefined: u64,
}

/// How stored rows become those of the scope.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ScopeStep {
    Keep,
    AddCallees,
    TakeCallees,
}

enum Base<'a> {
    Stored(Vec<Peeked<'a>>),
    Formula(Formula, Vec<Operand<'a>>),
}

/// Rows of one stored metric, the next one known.
struct Peeked<'a> {
    rows: Box<dyn SeverityRows + 'a>,
    row: SeverityRow,
    has_row: bool,
    not_finite: Vec<LocationId>,
}

struct Operand<'a> {
    name: (MetricId, Option<Scope>),
    rows: Box<ScopedRows<'a>>,
    row: SeverityRow,
    has_row: bool,
    not_finite: Vec<LocationId>,
    dense: Vec<f64>,
}

/// Whether any severity of a metric is other than zero; ends at the first. Defined metrics are often empty: tools
/// write all that they know of.
///
/// # Errors
/// If its severities cannot be read.
pub fn has_values(source: &dyn ProfileSource, metric: MetricId) -> Result<bool, SeverityError> {
    let definitions = source.definitions();
    let mut rows = ScopedRows::open(source, metric, Scope::Exclusive, definitions.call_tree.all())?;
    let mut row = SeverityRow::new(definitions.metric(metric).value_type);
    while rows.read(&mut row)? {
        if row.iter().any(|(_, value)| value != 0.0) {
            return Ok(true);
        }
    }
    Ok(false)
}

impl std::fmt::Debug for ScopedRows<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ScopedRows").field("metric", &self.metric).finish_non_exhaustive()
    }
}

impl<'a> ScopedRows<'a> {
    /// Begins to read the call paths of a range, which must hold whole subtrees: the tree
    /// ([`CallTree::all`](super::CallTree::all)) or one subtree of it.
    ///
    /// # Errors
    /// If the metric has no values in this scope, or its rows cannot be found.
    pub fn open(
        source: &'a dyn ProfileSource,
        metric: MetricId,
        scope: Scope,
        paths: Range<CallPathId>,
    ) -> Result<Self, SeverityError> {
        Self::open_at(source, metric, scope, paths, 0)
    }

    fn open_at(
        source: &'a dyn ProfileSource,
        metric: MetricId,
        scope: Scope,
        paths: Range<CallPathId>,
        depth: u32,
    ) -> Result<Self, SeverityError> {
        let definitions = source.definitions();
        let of = definitions.metric(metric);
        if depth > MAX_DERIVATIONS {
            return Err(SeverityError::Circular { metric: of.name.to_string() });
        }
        let (base_scope, base) = match &of.kind {
            MetricKind::Exclusive => (Scope::Exclusive, Base::stored(source, &[metric], &paths)?),
            MetricKind::Inclusive => (Scope::Inclusive, Base::stored(source, &[metric], &paths)?),
            MetricKind::Simple => (Scope::Exclusive, Base::stored(source, &parts(source, metric), &paths)?),
            MetricKind::DerivedBefore(formula, base_scope) => {
                (*base_scope, Base::formula(source, formula, *base_scope, &paths, depth)?)
            }
            MetricKind::DerivedAfter(formula) => {
                (scope, Base::formula(source, formula, scope, &paths, depth)?)
            }
        };
        let step = match (base_scope, scope) {
            (Scope::Exclusive, Scope::Inclusive) => ScopeStep::AddCallees,
            (Scope::Inclusive, Scope::Exclusive) => ScopeStep::TakeCallees,
            _ => ScopeStep::Keep,
        };
        if step == ScopeStep::TakeCallees && of.aggregation != Aggregation::Sum {
            return Err(SeverityError::NotAdditive { metric: of.name.to_string(), scope });
        }
        let n_levels = if step == ScopeStep::Keep { 0 } else { definitions.call_tree.n_levels() + 1 };
        Ok(ScopedRows {
            source,
            metric,
            base,
            step,
            aggregation: of.aggregation,
            levels: vec![SeverityRow::new(of.value_type); n_levels],
            spare: SeverityRow::new(of.value_type),
            unknown_levels: vec![Vec::new(); n_levels],
            not_finite: Vec::new(),
            first: paths.start.0,
            next: paths.end.0,
            n_stopped: 0,
            n_undefined: 0,
        })
    }

    /// Replaces the contents of `row` by the next row that has a value; `false` if there is none.
    ///
    /// # Errors
    /// If the rest cannot be read.
    pub fn read(&mut self, row: &mut SeverityRow) -> Result<bool, ReadError> {
        while self.next > self.first {
            self.next -= 1;
            let path = CallPathId(self.next);
            row.clear();
            self.not_finite.clear();
            let n_locations = self.source.definitions().locations.len();
            self.n_undefined += self.base.read_at(path, n_locations, row, &mut self.not_finite)?;
            if self.step != ScopeStep::Keep {
                self.apply_callees(path, row);
            }
            row.path = path;
            if !row.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Turns the stored row of `path` into that of the scope, by what its callees sum up to.
    fn apply_callees(&mut self, path: CallPathId, row: &mut SeverityRow) {
        let depth = self.source.definitions().call_tree.depth(path);
        let (here, below) = self.levels.split_at_mut(depth + 1);
        let (here, below) = (&mut here[depth], &mut below[0]);
        if here.is_empty() {
            std::mem::swap(here, &mut self.spare);
        }
        if self.step == ScopeStep::AddCallees {
            self.n_stopped += row.merge(below, self.aggregation);
            self.n_stopped += here.merge(row, self.aggregation);
        } else {
            self.n_stopped += here.merge(row, self.aggregation);
            self.n_stopped += row.subtract(below);
        }
        if !below.is_empty() {
            self.spare = std::mem::replace(below, SeverityRow::new(below.values.value_type()));
            self.spare.clear();
        }
        let (here, below) = self.unknown_levels.split_at_mut(depth + 1);
        let (here, below) = (&mut here[depth], &mut below[0]);
        if self.step == ScopeStep::AddCallees {
            unite(&mut self.not_finite, below);
            unite(here, &self.not_finite);
        } else {
            unite(here, &self.not_finite);
            unite(&mut self.not_finite, below);
        }
        below.clear();
    }

    /// The locations whose value the last row leaves out, or has without its unknown part, because a value it is made
    /// of is not finite; ascending.
    pub fn not_finite(&self) -> &[LocationId] {
        &self.not_finite
    }

    /// What was repaired or left out so far; called once, at the end.
    pub fn notices(&mut self) -> Vec<Notice> {
        let name = &self.source.definitions().metric(self.metric).name;
        let mut notices = match &mut self.base {
            Base::Stored(parts) => parts.iter_mut().flat_map(|part| part.rows.notices()).collect(),
            Base::Formula(_, operands) => {
                operands.iter_mut().flat_map(|operand| operand.rows.notices()).collect::<Vec<_>>()
            }
        };
        let mut tell = |level, n: u64, message: String| {
            if n > 0 {
                notices.push(Notice::new(level, NoticeCode::DoubtfulSeverities, message).times(n));
            }
        };
        tell(
            Level::Medium,
            self.n_stopped,
            format!(
                "severities of metric {name:?} do not add up along the call tree: callees exceed their caller, or the sum its type"
            ),
        );
        tell(
            Level::Low,
            self.n_undefined,
            format!("derived metric {name:?} has no value where its formula divides by zero"),
        );
        notices
    }
}

/// The metric and all that are part of it, as far as they are stored alike.
fn parts(source: &dyn ProfileSource, metric: MetricId) -> Vec<MetricId> {
    let definitions = source.definitions();
    let mut is_part = vec![false; definitions.metrics.len()];
    is_part[metric.index()] = true;
    for id in definitions.metric_ids() {
        let of = definitions.metric(id);
        let within = of.parent.is_some_and(|parent| is_part[parent.index()]);
        is_part[id.index()] |= within && of.kind == MetricKind::Simple && of.aggregation == Aggregation::Sum;
    }
    definitions.metric_ids().filter(|id| is_part[id.index()]).collect()
}

impl<'a> Base<'a> {
    fn stored(
        source: &'a dyn ProfileSource,
        metrics: &[MetricId],
        paths: &Range<CallPathId>,
    ) -> Result<Self, ReadError> {
        let open = |&metric: &MetricId| {
            let mut rows = source.open(metric, paths.clone())?;
            let mut row = SeverityRow::new(source.definitions().metric(metric).value_type);
            let has_row = rows.read(&mut row)?;
            let not_finite = rows.not_finite().to_vec();
            Ok(Peeked { rows, row, has_row, not_finite })
        };
        Ok(Base::Stored(metrics.iter().map(open).collect::<Result<_, ReadError>>()?))
    }

    fn formula(
        source: &'a dyn ProfileSource,
        formula: &Formula,
        scope: Scope,
        paths: &Range<CallPathId>,
        depth: u32,
    ) -> Result<Self, SeverityError> {
        let open = |(metric, named): (MetricId, Option<Scope>)| {
            let scope = named.unwrap_or(scope);
            let mut rows = ScopedRows::open_at(source, metric, scope, paths.clone(), depth + 1)?;
            let mut row = SeverityRow::new(MetricValueType::F64);
            let has_row = rows.read(&mut row)?;
            let (rows, not_finite) = (Box::new(rows), Vec::new());
            let mut operand =
                Operand { name: (metric, named), rows, row, has_row, not_finite, dense: Vec::new() };
            operand.not_finite.extend_from_slice(operand.rows.not_finite());
            Ok(operand)
        };
        let operands = formula.operands().into_iter().map(open).collect::<Result<_, SeverityError>>()?;
        Ok(Base::Formula(formula.clone(), operands))
    }

    /// Puts what is stored for `path` into the empty `row`; returns how many values a formula left undefined.
    fn read_at(
        &mut self,
        path: CallPathId,
        n_locations: usize,
        row: &mut SeverityRow,
        not_finite: &mut Vec<LocationId>,
    ) -> Result<u64, ReadError> {
        match self {
            Base::Stored(parts) => {
                for part in parts.iter_mut().filter(|part| part.has_row && part.row.path == path) {
                    if row.is_empty() {
                        std::mem::swap(row, &mut part.row);
                    } else {
                        row.merge(&part.row, Aggregation::Sum);
                    }
                    unite(not_finite, &part.not_finite);
                    part.has_row = part.rows.read(&mut part.row)?;
                    part.not_finite.clear();
                    part.not_finite.extend_from_slice(part.rows.not_finite());
                }
                Ok(0)
            }
            Base::Formula(formula, operands) => {
                let here = |operand: &&Operand<'_>| operand.has_row && operand.row.path == path;
                operands.iter().filter(here).for_each(|operand| unite(not_finite, &operand.not_finite));
                evaluate(formula, operands, path, n_locations, row)
            }
        }
    }
}

/// Adds `others` to the ascending `ids`.
fn unite(ids: &mut Vec<LocationId>, others: &[LocationId]) {
    if !others.is_empty() {
        ids.extend_from_slice(others);
        ids.sort_unstable();
        ids.dedup();
    }
}

/// The formula for every location, where any operand has a value.
fn evaluate(
    formula: &Formula,
    operands: &mut [Operand<'_>],
    path: CallPathId,
    n_locations: usize,
    row: &mut SeverityRow,
) -> Result<u64, ReadError> {
    if operands.iter().all(|operand| !operand.has_row || operand.row.path != path) {
        return Ok(0);
    }
    for operand in operands.iter_mut() {
        operand.dense.clear();
        if operand.has_row && operand.row.path == path {
            operand.row.write_dense(n_locations, 0.0, &mut operand.dense);
            operand.has_row = operand.rows.read(&mut operand.row)?;
            operand.not_finite.clear();
            operand.not_finite.extend_from_slice(operand.rows.not_finite());
        } else {
            operand.dense.resize(n_locations, 0.0);
        }
    }
    let (mut locations, mut values, mut n_undefined) = (Vec::new(), Vec::new(), 0);
    for at in 0..n_locations {
        let mut any = false;
        let value = formula.evaluate(&mut |metric, scope| {
            let operand = operands.iter().find(|operand| operand.name == (metric, scope));
            let value = operand.expect("every operand of a formula is open").dense[at];
            any |= value != 0.0;
            value
        });
        if value.is_finite() {
            locations.push(LocationId::from_index(at));
            values.push(value);
        } else {
            // Nothing happened here: no value, and nothing to tell.
            n_undefined += u64::from(any);
        }
    }
    row.locations = (locations.len() < n_locations).then_some(locations);
    row.values = Severities::F64(values);
    Ok(n_undefined)
}
