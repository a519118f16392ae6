//! The conversion along the call tree, against the definition.

use super::*;
use crate::{LocationId, MetricValueType, Provenance, RegionId, SystemTree};
use std::sync::Arc;

/// Severities in memory: for each metric, for each call path, `(location, value)` pairs.
struct Memory {
    definitions: ProfileDefinitions,
    rows: Vec<Vec<Vec<(u32, f64)>>>,
}

struct MemoryRows<'a> {
    rows: &'a [Vec<(u32, f64)>],
    value_type: MetricValueType,
    first: u32,
    next: u32,
}

impl ProfileSource for Memory {
    fn definitions(&self) -> &ProfileDefinitions {
        &self.definitions
    }

    fn notices(&self) -> &[Notice] {
        &[]
    }

    fn severity_bytes(&self, _: MetricId) -> u64 {
        0
    }

    fn open(
        &self,
        metric: MetricId,
        paths: Range<CallPathId>,
    ) -> Result<Box<dyn SeverityRows + '_>, ReadError> {
        Ok(Box::new(MemoryRows {
            rows: &self.rows[metric.index()],
            value_type: self.definitions.metric(metric).value_type,
            first: paths.start.0,
            next: paths.end.0,
        }))
    }
}

impl SeverityRows for MemoryRows<'_> {
    fn read(&mut self, row: &mut SeverityRow) -> Result<bool, ReadError> {
        while self.next > self.first {
            self.next -= 1;
            let stored = self.rows.get(self.next as usize).map_or(&[][..], Vec::as_slice);
            if stored.is_empty() {
                continue;
            }
            row.path = CallPathId(self.next);
            row.locations = Some(stored.iter().map(|(location, _)| LocationId(*location)).collect());
            row.values = match self.value_type {
                MetricValueType::U64 => Severities::U64(stored.iter().map(|(_, v)| *v as u64).collect()),
                MetricValueType::I64 => Severities::I64(stored.iter().map(|(_, v)| *v as i64).collect()),
                MetricValueType::F64 => Severities::F64(stored.iter().map(|(_, v)| *v).collect()),
            };
            return Ok(true);
        }
        Ok(false)
    }

    fn notices(&mut self) -> Vec<Notice> {
        Vec::new()
    }
}

fn metric(name: &str, kind: MetricKind, aggregation: Aggregation) -> ProfileMetric {
    ProfileMetric {
        name: Arc::from(name),
        display_name: Arc::from(name),
        unit: Arc::from(""),
        description: Arc::from(""),
        parent: None,
        value_type: MetricValueType::F64,
        kind,
        aggregation,
        hidden: false,
    }
}

/// main → (a → b, c), other; two locations.
fn memory(metrics: Vec<ProfileMetric>, rows: Vec<Vec<Vec<(u32, f64)>>>) -> Memory {
    let parents = [None, Some(0), Some(1), Some(0), None];
    let nodes = parents
        .iter()
        .enumerate()
        .map(|(i, parent)| CallNode::new(parent.map(CallPathId), RegionId(i as u32), i as u64))
        .collect();
    let locations = (0..2)
        .map(|i| crate::Location {
            name: Arc::from("thread"),
            kind: crate::LocationKind::CpuThread,
            group: crate::LocationGroupId(0),
            rank: None,
            declared_events: None,
            native_id: i,
        })
        .collect();
    let definitions = ProfileDefinitions {
        provenance: Provenance::default(),
        metrics,
        call_tree: CallTree::build(nodes).tree,
        system_tree: SystemTree::default(),
        locations,
        ..ProfileDefinitions::empty()
    };
    Memory { definitions, rows }
}

fn read(source: &Memory, metric: u32, scope: Scope) -> (Vec<(u32, Vec<f64>)>, Vec<Notice>) {
    let all = source.definitions.call_tree.all();
    let mut rows = ScopedRows::open(source, MetricId(metric), scope, all).unwrap();
    let mut row = SeverityRow::new(MetricValueType::F64);
    let mut found = Vec::new();
    while rows.read(&mut row).unwrap() {
        let mut values = Vec::new();
        row.write_dense(2, f64::NAN, &mut values);
        found.push((row.path.0, values));
    }
    found.reverse();
    (found, rows.notices())
}

fn exclusive() -> Vec<Vec<(u32, f64)>> {
    vec![vec![(0, 1.0)], vec![], vec![(0, 4.0), (1, 8.0)], vec![(1, 16.0)], vec![(0, 32.0)]]
}

const NONE: f64 = f64::NAN;

fn check(found: &[(u32, Vec<f64>)], expected: &[(u32, [f64; 2])]) {
    let bits = |(path, values): (u32, &[f64])| (path, values.iter().map(|v| v.to_bits()).collect::<Vec<_>>());
    let found: Vec<_> = found.iter().map(|(path, values)| bits((*path, values))).collect();
    let expected: Vec<_> = expected.iter().map(|(path, values)| bits((*path, values))).collect();
    assert_eq!(found, expected);
}

#[test]
fn inclusive_is_the_sum_of_the_subtree() {
    let source = memory(vec![metric("time", MetricKind::Exclusive, Aggregation::Sum)], vec![exclusive()]);
    check(
        &read(&source, 0, Scope::Exclusive).0,
        &[(0, [1.0, NONE]), (2, [4.0, 8.0]), (3, [NONE, 16.0]), (4, [32.0, NONE])],
    );
    check(
        &read(&source, 0, Scope::Inclusive).0,
        &[(0, [5.0, 24.0]), (1, [4.0, 8.0]), (2, [4.0, 8.0]), (3, [NONE, 16.0]), (4, [32.0, NONE])],
    );
}

#[test]
fn exclusive_is_what_callees_leave() {
    let inclusive = vec![
        vec![(0, 5.0), (1, 24.0)],
        vec![(0, 4.0), (1, 8.0)],
        vec![(0, 4.0), (1, 8.0)],
        vec![(1, 16.0)],
        vec![(0, 32.0)],
    ];
    let source = memory(vec![metric("time", MetricKind::Inclusive, Aggregation::Sum)], vec![inclusive]);
    check(
        &read(&source, 0, Scope::Exclusive).0,
        &[(0, [1.0, 0.0]), (1, [0.0, 0.0]), (2, [4.0, 8.0]), (3, [NONE, 16.0]), (4, [32.0, NONE])],
    );
}

#[test]
fn a_subtree_can_be_read_alone() {
    let source = memory(vec![metric("time", MetricKind::Exclusive, Aggregation::Sum)], vec![exclusive()]);
    let subtree = source.definitions.call_tree.subtree(CallPathId(1));
    let mut rows = ScopedRows::open(&source, MetricId(0), Scope::Inclusive, subtree).unwrap();
    let mut row = SeverityRow::new(MetricValueType::F64);
    let mut paths = Vec::new();
    while rows.read(&mut row).unwrap() {
        paths.push(row.path.0);
    }
    assert_eq!(paths, [2, 1]);
}

#[test]
fn extremes_go_up_the_tree_and_not_down() {
    let source = memory(vec![metric("min", MetricKind::Exclusive, Aggregation::Min)], vec![exclusive()]);
    assert_eq!(read(&source, 0, Scope::Inclusive).0[0], (0, vec![1.0, 8.0]));
    let source = memory(vec![metric("max", MetricKind::Inclusive, Aggregation::Max)], vec![exclusive()]);
    let error = ScopedRows::open(&source, MetricId(0), Scope::Exclusive, source.definitions.call_tree.all());
    assert!(matches!(error, Err(SeverityError::NotAdditive { .. })));
}

#[test]
fn a_simple_metric_holds_its_parts() {
    let mut part = metric("part", MetricKind::Simple, Aggregation::Sum);
    part.parent = Some(MetricId(0));
    let whole = metric("whole", MetricKind::Simple, Aggregation::Sum);
    let source = memory(vec![whole, part], vec![exclusive(), vec![vec![(1, 0.5)]]]);
    assert_eq!(read(&source, 0, Scope::Inclusive).0[0], (0, vec![5.0, 24.5]));
    check(&read(&source, 1, Scope::Inclusive).0, &[(0, [NONE, 0.5])]);
}

#[test]
fn derived_metrics_are_computed_before_or_after_sums() {
    let operand = |i| FormulaStep::Metric(MetricId(i), None);
    let ratio = Formula::new(vec![operand(0), operand(1), FormulaStep::Divide]).unwrap();
    let time = metric("time", MetricKind::Exclusive, Aggregation::Sum);
    let visits = metric("visits", MetricKind::Exclusive, Aggregation::Sum);
    let before = MetricKind::DerivedBefore(ratio.clone(), Scope::Exclusive);
    let metrics = vec![
        time,
        visits,
        metric("before", before, Aggregation::Sum),
        metric("after", MetricKind::DerivedAfter(ratio), Aggregation::Formula),
    ];
    let twice = vec![vec![(0, 2.0)], vec![], vec![(0, 2.0), (1, 2.0)], vec![(1, 2.0)], vec![]];
    let source = memory(metrics, vec![exclusive(), twice]);
    let (before, notices) = read(&source, 2, Scope::Inclusive);
    assert_eq!(before[0], (0, vec![0.5 + 2.0, 4.0 + 8.0]));
    assert_eq!(notices.iter().map(|n| n.count).sum::<u64>(), 1, "32 / 0 at the last path");
    assert_eq!(read(&source, 3, Scope::Inclusive).0[0], (0, vec![5.0 / 4.0, 24.0 / 4.0]));
}

/// Rows of [`Memory`], but for values that are not finite.
struct Unfinished(Memory);

struct UnfinishedRows<'a>(MemoryRows<'a>, Vec<LocationId>);

impl ProfileSource for Unfinished {
    fn definitions(&self) -> &ProfileDefinitions {
        &self.0.definitions
    }

    fn notices(&self) -> &[Notice] {
        &[]
    }

    fn severity_bytes(&self, _: MetricId) -> u64 {
        0
    }

    fn open(
        &self,
        metric: MetricId,
        paths: Range<CallPathId>,
    ) -> Result<Box<dyn SeverityRows + '_>, ReadError> {
        let rows = &self.0.rows[metric.index()];
        let value_type = MetricValueType::F64;
        let rows = MemoryRows { rows, value_type, first: paths.start.0, next: paths.end.0 };
        Ok(Box::new(UnfinishedRows(rows, Vec::new())))
    }
}

impl SeverityRows for UnfinishedRows<'_> {
    fn read(&mut self, row: &mut SeverityRow) -> Result<bool, ReadError> {
        self.1.clear();
        if !self.0.read(row)? {
            return Ok(false);
        }
        let (good, bad): (Vec<_>, Vec<_>) = row.iter().partition(|(_, value)| value.is_finite());
        self.1.extend(bad.into_iter().map(|(location, _)| location));
        row.locations = Some(good.iter().map(|(location, _)| *location).collect());
        row.values = Severities::F64(good.iter().map(|(_, value)| *value).collect());
        Ok(true)
    }

    fn not_finite(&self) -> &[LocationId] {
        &self.1
    }

    fn notices(&mut self) -> Vec<Notice> {
        Vec::new()
    }
}

#[test]
fn what_is_not_finite_is_known_up_the_tree() {
    let rows = vec![
        vec![(0, 1.0), (1, 1.0)],
        vec![(0, 2.0)],
        vec![(0, f64::NAN), (1, 8.0)],
        vec![(1, 16.0)],
        vec![(0, 32.0), (1, f64::INFINITY)],
    ];
    let unknown = |kind: MetricKind, scope| {
        let source = Unfinished(memory(vec![metric("time", kind, Aggregation::Sum)], vec![rows.clone()]));
        let all = source.0.definitions.call_tree.all();
        let mut scoped = ScopedRows::open(&source, MetricId(0), scope, all).unwrap();
        let mut row = SeverityRow::new(MetricValueType::F64);
        let mut found = Vec::new();
        while scoped.read(&mut row).unwrap() {
            found.extend(scoped.not_finite().iter().map(|location| (row.path.0, location.0)));
        }
        found
    };
    assert_eq!(unknown(MetricKind::Exclusive, Scope::Exclusive), [(4, 1), (2, 0)]);
    assert_eq!(unknown(MetricKind::Exclusive, Scope::Inclusive), [(4, 1), (2, 0), (1, 0), (0, 0)]);
    // Its caller lacks what it is to be taken off; the caller of that does not.
    assert_eq!(unknown(MetricKind::Inclusive, Scope::Exclusive), [(4, 1), (2, 0), (1, 0)]);
}

#[test]
fn a_circle_of_derived_metrics_is_refused() {
    let itself = Formula::new(vec![FormulaStep::Metric(MetricId(0), None)]).unwrap();
    let source =
        memory(vec![metric("x", MetricKind::DerivedAfter(itself), Aggregation::Formula)], vec![vec![]]);
    let error = ScopedRows::open(&source, MetricId(0), Scope::Inclusive, source.definitions.call_tree.all());
    assert!(matches!(error, Err(SeverityError::Circular { .. })));
}

#[test]
fn callees_that_exceed_their_caller_are_told() {
    let mut visits = metric("visits", MetricKind::Inclusive, Aggregation::Sum);
    visits.value_type = MetricValueType::U64;
    let rows = vec![vec![(0, 1.0)], vec![(0, 3.0)], vec![], vec![], vec![]];
    let source = memory(vec![visits], vec![rows]);
    let (found, notices) = read(&source, 0, Scope::Exclusive);
    assert_eq!(found[0].1[0].to_bits(), 0.0_f64.to_bits());
    assert_eq!((notices.len(), notices[0].count), (1, 1));
}
