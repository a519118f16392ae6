//! Severity profiles against sums by hand.

use super::*;
use ouzel_model::{Aggregation, Formula, FormulaStep, MetricKind, MetricValueType};
use ouzel_testkit::ToyProfile;

/// main → (a → main, b): 2 locations; `time` is exclusive.
fn profile() -> ToyProfile {
    let mut toy = ToyProfile::new(2);
    let main = toy.call(None, "main");
    let a = toy.call(Some(main), "a");
    let inner = toy.call(Some(a), "main");
    let b = toy.call(Some(main), "b");
    let time = toy.metric("time", MetricKind::Exclusive, MetricValueType::F64, Aggregation::Sum);
    let visits = toy.metric("visits", MetricKind::Exclusive, MetricValueType::U64, Aggregation::Sum);
    for (path, values) in [(main, [1.0, 2.0]), (a, [4.0, 0.0]), (inner, [8.0, 8.0])] {
        toy.set(time, path, &values);
    }
    toy.set(time, b, &[0.0, 16.0]);
    for path in [main, a, inner, b] {
        toy.set(visits, path, &[2.0, 2.0]);
    }
    let least = toy.metric("least", MetricKind::Exclusive, MetricValueType::F64, Aggregation::Min);
    toy.set_some(least, a, &[(1, 3.0)]);
    let operand = |metric| FormulaStep::Metric(MetricId(metric), None);
    let ratio = Formula::new(vec![operand(time), operand(visits), FormulaStep::Divide]).unwrap();
    toy.metric("ratio", MetricKind::DerivedAfter(ratio), MetricValueType::F64, Aggregation::Formula);
    toy
}

/// Name, total, mean, min, max and place of the greatest of each row.
fn rows(metric: u32, scope: Scope, grouping: Grouping) -> Vec<(String, [f64; 4], u32)> {
    let toy = profile();
    let profile = severity_profile(&toy, MetricId(metric), scope, grouping).unwrap();
    let name = |entry: &SeverityEntry| toy.definitions().regions[entry.region.index()].name.to_string();
    let row = |entry: &SeverityEntry| {
        let values = [entry.total.unwrap_or(f64::NAN), entry.mean, entry.min, entry.max];
        (name(entry), values, entry.max_location.0)
    };
    profile.entries.iter().map(row).collect()
}

fn expected(rows: &[(&str, [f64; 4], u32)]) -> Vec<(String, [f64; 4], u32)> {
    rows.iter().map(|(name, values, at)| ((*name).to_owned(), *values, *at)).collect()
}

#[test]
fn a_region_has_the_sum_of_its_call_paths() {
    let found = rows(0, Scope::Exclusive, Grouping::Region);
    let by_hand = [
        ("main", [19.0, 9.5, 9.0, 10.0], 1),
        ("b", [16.0, 8.0, 0.0, 16.0], 1),
        ("a", [4.0, 2.0, 0.0, 4.0], 0),
    ];
    assert_eq!(found, expected(&by_hand));
}

#[test]
fn of_recursive_calls_the_outermost_counts_with_callees() {
    let found = rows(0, Scope::Inclusive, Grouping::Region);
    let by_hand = [
        ("main", [39.0, 19.5, 13.0, 26.0], 1),
        ("a", [20.0, 10.0, 8.0, 12.0], 0),
        ("b", [16.0, 8.0, 0.0, 16.0], 1),
    ];
    assert_eq!(found, expected(&by_hand));
}

#[test]
fn call_paths_stay_apart() {
    let found = rows(0, Scope::Exclusive, Grouping::CallPath);
    let by_hand = [
        ("main", [16.0, 8.0, 8.0, 8.0], 0),
        ("b", [16.0, 8.0, 0.0, 16.0], 1),
        ("a", [4.0, 2.0, 0.0, 4.0], 0),
        ("main", [3.0, 1.5, 1.0, 2.0], 1),
    ];
    assert_eq!(found, expected(&by_hand));
}

#[test]
fn what_is_missing_is_no_value_of_a_minimum() {
    assert_eq!(rows(2, Scope::Exclusive, Grouping::Region), expected(&[("a", [3.0; 4], 1)]));
}

#[test]
fn a_ratio_is_that_of_sums() {
    for grouping in [Grouping::Region, Grouping::CallPath] {
        let found = rows(3, Scope::Exclusive, grouping);
        let b = found.iter().find(|(name, ..)| name == "b").unwrap();
        assert_eq!((b.1, b.2), ([4.0, 4.0, 0.0, 8.0], 1));
    }
    assert_eq!(metric_total(&profile(), MetricId(3)).unwrap().0, Some(39.0 / 16.0));
    assert_eq!(metric_total(&profile(), MetricId(0)).unwrap().0, Some(39.0));
    assert_eq!(metric_total(&profile(), MetricId(2)).unwrap().0, Some(3.0));
}
