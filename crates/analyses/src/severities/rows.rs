//! Rows of a severity profile.

use ouzel_engine::memory;
use ouzel_model::{
    Aggregation, CallPathId, LocationId, MetricId, MetricKind, Notice, ProfileDefinitions, ProfileSource,
    RegionId, Scope, ScopedRows, Severities, SeverityError, SeverityRow, SeverityTotal,
};
use std::ops::Range;

/// Memory for rows that are put together at a time; more groups take more sweeps over the profile. One sweep holds
/// 400 regions of 65,536 locations.
const GROUP_BYTES: u64 = 256 << 20;

/// What a row is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grouping {
    /// A region, wherever it is called.
    Region,
    /// A call path.
    CallPath,
}

/// The values of one call path or region in a metric.
#[derive(Debug, Clone, PartialEq)]
pub struct SeverityEntry {
    /// The call path; `None` in a profile by regions.
    pub path: Option<CallPathId>,
    /// The region.
    pub region: RegionId,
    /// Over all locations; `None` where a formula has no value.
    pub total: Option<f64>,
    /// The mean over locations.
    pub mean: f64,
    /// The least of a location.
    pub min: f64,
    /// The greatest of a location.
    pub max: f64,
    /// The first location with the greatest.
    pub max_location: LocationId,
}

/// The rows of one metric, those with the greatest totals first; call paths and regions without a value are left out.
#[derive(Debug, Clone, PartialEq)]
pub struct SeverityProfile {
    /// The metric.
    pub metric: MetricId,
    /// With or without callees.
    pub scope: Scope,
    /// What a row is about.
    pub grouping: Grouping,
    /// The rows.
    pub entries: Vec<SeverityEntry>,
    /// What was repaired or left out.
    pub notices: Vec<Notice>,
}

/// The profile of one metric.
///
/// # Errors
/// If the metric has no values in this scope, or they cannot be read.
pub fn severity_profile(
    source: &dyn ProfileSource,
    metric: MetricId,
    scope: Scope,
    grouping: Grouping,
) -> Result<SeverityProfile, SeverityError> {
    let definitions = source.definitions();
    let derived_after = matches!(definitions.metric(metric).kind, MetricKind::DerivedAfter(_));
    let (mut entries, notices) = if grouping == Grouping::CallPath && !derived_after {
        by_call_path(source, metric, scope)?
    } else {
        by_group(source, metric, scope, grouping)?
    };
    let size = |entry: &SeverityEntry| entry.total.unwrap_or(0.0).abs();
    entries.sort_by(|a, b| size(b).total_cmp(&size(a)).then((a.path, a.region).cmp(&(b.path, b.region))));
    Ok(SeverityProfile { metric, scope, grouping, entries, notices })
}

type Entries = (Vec<SeverityEntry>, Vec<Notice>);

/// Reads row by row and holds nothing.
fn by_call_path(
    source: &dyn ProfileSource,
    metric: MetricId,
    scope: Scope,
) -> Result<Entries, SeverityError> {
    let definitions = source.definitions();
    let aggregation = definitions.metric(metric).aggregation;
    let mut rows = ScopedRows::open(source, metric, scope, definitions.call_tree.all())?;
    let mut row = SeverityRow::new(definitions.metric(metric).value_type);
    let mut entries = Vec::new();
    while rows.read(&mut row)? {
        let mut total = SeverityTotal::new(aggregation);
        total.add(&row);
        let place = (Some(row.path), definitions.call_tree.node(row.path).region);
        entries.extend(entry(place, &row, total.get(), (aggregation, definitions.locations.len())));
    }
    Ok((entries, rows.notices()))
}

/// Groups of call paths, as many at a time as memory is granted for.
fn by_group(
    source: &dyn ProfileSource,
    metric: MetricId,
    scope: Scope,
    grouping: Grouping,
) -> Result<Entries, SeverityError> {
    let definitions = source.definitions();
    let n_locations = definitions.locations.len();
    let groups = PathGroups::new(definitions, scope, grouping);
    let aggregation = definitions.metric(metric).aggregation;
    let group_bytes = memory::share(GROUP_BYTES) as usize;
    let at_a_time = (group_bytes / (8 * n_locations.max(1))).max(1);
    let (mut entries, mut notices) = (Vec::new(), Vec::new());
    for start in (0..groups.n).step_by(at_a_time) {
        let range = start..groups.n.min(start + at_a_time);
        let found = grouped(source, metric, scope, &groups, range.clone(), &mut notices)?;
        if start == 0 || !notices.is_empty() {
            // Every sweep has the same problems.
            notices.dedup();
        }
        for (group, (row, total)) in range.zip(found) {
            entries.extend(entry(groups.place(definitions, group), &row, total, (aggregation, n_locations)));
        }
    }
    notices.sort_unstable();
    notices.dedup();
    Ok((entries, notices))
}

/// Which call paths belong together.
struct PathGroups {
    n: usize,
    grouping: Grouping,
    /// For each call path its group; `None` if its values are in another one's already.
    of_path: Vec<Option<usize>>,
}

impl PathGroups {
    fn new(definitions: &ProfileDefinitions, scope: Scope, grouping: Grouping) -> Self {
        let tree = &definitions.call_tree;
        if grouping == Grouping::CallPath {
            return PathGroups { n: tree.len(), grouping, of_path: (0..tree.len()).map(Some).collect() };
        }
        let recursive = tree.recursive();
        let counts = |path: CallPathId| scope == Scope::Exclusive || !recursive[path.index()];
        let group = |path: CallPathId| counts(path).then(|| tree.node(path).region.index());
        PathGroups { n: definitions.regions.len(), grouping, of_path: tree.paths().map(group).collect() }
    }

    fn place(&self, definitions: &ProfileDefinitions, group: usize) -> (Option<CallPathId>, RegionId) {
        match self.grouping {
            Grouping::Region => (None, RegionId::from_index(group)),
            Grouping::CallPath => {
                let path = CallPathId::from_index(group);
                (Some(path), definitions.call_tree.node(path).region)
            }
        }
    }
}

/// For each group of a range, its row and total.
fn grouped(
    source: &dyn ProfileSource,
    metric: MetricId,
    scope: Scope,
    groups: &PathGroups,
    range: Range<usize>,
    notices: &mut Vec<Notice>,
) -> Result<Vec<(SeverityRow, Option<f64>)>, SeverityError> {
    let definitions = source.definitions();
    let of = definitions.metric(metric);
    // Refuses what is circular before the recursion.
    let mut rows = ScopedRows::open(source, metric, scope, definitions.call_tree.all())?;
    if let MetricKind::DerivedAfter(formula) = &of.kind {
        let mut operands = Vec::new();
        for (operand, named) in formula.operands() {
            let scope = named.unwrap_or(scope);
            operands
                .push(((operand, named), grouped(source, operand, scope, groups, range.clone(), notices)?));
        }
        let n_locations = definitions.locations.len();
        return Ok((0..range.len()).map(|i| derived(formula, &operands, i, n_locations)).collect());
    }
    let mut found = vec![SeverityRow::new(of.value_type); range.len()];
    let mut row = SeverityRow::new(of.value_type);
    while rows.read(&mut row)? {
        if let Some(group) = groups.of_path[row.path.index()].filter(|group| range.contains(group)) {
            found[group - range.start].merge(&row, of.aggregation);
        }
    }
    notices.extend(rows.notices());
    let with_total = |row: SeverityRow| {
        let mut total = SeverityTotal::new(of.aggregation);
        total.add(&row);
        let total = total.get();
        (row, total)
    };
    Ok(found.into_iter().map(with_total).collect())
}

/// An operand of a formula, with its row and total for each group.
type Operand = ((MetricId, Option<Scope>), Vec<(SeverityRow, Option<f64>)>);

/// The formula for group `i`: for each location where it has a value, and over the totals.
fn derived(
    formula: &ouzel_model::Formula,
    operands: &[Operand],
    i: usize,
    n_locations: usize,
) -> (SeverityRow, Option<f64>) {
    let mut row = SeverityRow::new(ouzel_model::MetricValueType::F64);
    if operands.iter().all(|(_, rows)| rows[i].0.is_empty()) {
        return (row, None);
    }
    let dense = |(name, rows): &Operand| {
        let mut values = Vec::new();
        rows[i].0.write_dense(n_locations, 0.0, &mut values);
        (*name, values)
    };
    let dense: Vec<_> = operands.iter().map(dense).collect();
    let (mut locations, mut values) = (Vec::new(), Vec::new());
    for at in 0..n_locations {
        let value = formula.evaluate(&mut |metric, scope| {
            dense.iter().find(|(name, _)| *name == (metric, scope)).map_or(0.0, |(_, values)| values[at])
        });
        if value.is_finite() {
            locations.push(LocationId::from_index(at));
            values.push(value);
        }
    }
    (row.locations, row.values) = (Some(locations), Severities::F64(values));
    let totals: Vec<_> = operands.iter().map(|(name, rows)| (*name, rows[i].1.unwrap_or(0.0))).collect();
    let total = formula.evaluate(&mut |metric, scope| value_of(&totals, (metric, scope)));
    (row, Some(total).filter(|total| total.is_finite()))
}

/// The value of an operand; zero if it is missing.
pub(super) fn value_of(
    operands: &[((MetricId, Option<Scope>), f64)],
    name: (MetricId, Option<Scope>),
) -> f64 {
    operands.iter().find(|(operand, _)| *operand == name).map_or(0.0, |(_, value)| *value)
}

fn entry(
    (path, region): (Option<CallPathId>, RegionId),
    row: &SeverityRow,
    total: Option<f64>,
    (aggregation, n_locations): (Aggregation, usize),
) -> Option<SeverityEntry> {
    let (mut n, (mut min, max)) = (row.values.len(), range(row)?);
    let max_location = row.iter().find(|&(_, value)| max <= value)?.0;
    let mut max = (max_location, max);
    let sum = match (aggregation, total) {
        (Aggregation::Sum, Some(total)) => total,
        _ => row.iter().map(|(_, value)| value).sum(),
    };
    if aggregation == Aggregation::Sum && n < n_locations {
        // Missing values are zero.
        n = n_locations;
        min = min.min(0.0);
        if max.1 < 0.0 {
            max = (first_absent(row), 0.0);
        }
    }
    Some(SeverityEntry { path, region, total, mean: sum / n as f64, min, max: max.1, max_location: max.0 })
}

/// The least and the greatest value of a row; `None` if it has none.
fn range(row: &SeverityRow) -> Option<(f64, f64)> {
    let least = |a: f64, b: f64| if b < a { b } else { a };
    let greatest = |a: f64, b: f64| if b > a { b } else { a };
    let wider = |(min, max), (a, b)| (least(min, a), greatest(max, b));
    let first = row.iter().next()?.1;
    let Severities::F64(values) = &row.values else {
        return row.iter().map(|(_, value)| (value, value)).reduce(wider);
    };
    // Side by side, as a comparison waits for the one before.
    let mut lanes = [(first, first); 8];
    let (blocks, rest) = values.as_chunks::<8>();
    for block in blocks {
        for (lane, &value) in lanes.iter_mut().zip(block) {
            *lane = wider(*lane, (value, value));
        }
    }
    rest.iter().map(|&value| (value, value)).chain(lanes).reduce(wider)
}

/// The first location that a row leaves out.
fn first_absent(row: &SeverityRow) -> LocationId {
    let present = row.iter().enumerate().find(|(i, (location, _))| location.index() != *i);
    LocationId::from_index(present.map_or(row.values.len(), |(i, _)| i))
}
