//! The reference values of the method.
#![expect(clippy::unwrap_used, reason = "a test")]

mod common;

use common::{grid, profile, topology, view};
use ouzel_correlate::{AxisSet, Correlation, Question, Run, correlate};
use serde_json::Value;
use std::num::NonZeroUsize;

fn flat(value: &Value, into: &mut Vec<f64>) {
    match value.as_array() {
        Some(items) => items.iter().for_each(|item| flat(item, into)),
        None => into.push(value.as_f64().unwrap()),
    }
}

fn ask(sizes: &[u32], v0: &[f64], v1: &[f64], filter: &str) -> Correlation {
    let profile = profile(&[v0.to_vec(), v1.to_vec()]);
    let grid = grid(&profile, &topology(sizes, &[]));
    let axes = AxisSet::from_indices(filter.char_indices().filter(|(_, f)| *f == '1').map(|(at, _)| at));
    let mut found =
        correlate(&profile, &grid, &Question::new(view(0), axes), &Run::new(NonZeroUsize::MIN)).unwrap();
    assert_eq!((found.rows.len(), found.n_views), (1, 1));
    found.rows.remove(0)
}

fn check(found: &Correlation, expected: &Value, what: &str) {
    let near = |found: f64, name: &str| {
        let expected = expected[name].as_f64().unwrap();
        assert!((found - expected).abs() < 1e-12, "{what}: {name} {found} instead of {expected}");
    };
    near(found.r, "r");
    near(found.r_max, "max");
    near(found.r_min, "min");
    let shift: Vec<u64> =
        expected["shift"].as_array().unwrap().iter().map(|at| at.as_u64().unwrap()).collect();
    assert_eq!(found.shift.iter().map(|&at| u64::from(at)).collect::<Vec<_>>(), shift, "{what}");
}

/// Pearson's correlation: the correlation without a filter at no shift.
fn pearson(v0: &[f64], v1: &[f64]) -> f64 {
    let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
    let (m0, m1) = (mean(v0), mean(v1));
    let sum = |f: &dyn Fn(f64, f64) -> f64| v0.iter().zip(v1).map(|(a, b)| f(a - m0, b - m1)).sum::<f64>();
    sum(&|a, b| a * b) / (sum(&|a, _| a * a) * sum(&|_, b| b * b)).sqrt()
}

#[test]
fn every_reference_value_is_met() {
    let golden = ouzel_testkit::golden("correlation");
    let mut n_checked = 0;
    for case in golden["expected"]["cases"].as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        let sizes: Vec<u32> =
            case["dims"].as_array().unwrap().iter().map(|d| d.as_u64().unwrap() as u32).collect();
        let values = |name: &str| {
            let mut values = Vec::new();
            flat(&case[name], &mut values);
            values
        };
        let (v0, v1) = (values("v0"), values("v1"));
        for (key, expected) in case["expected"].as_object().unwrap() {
            let what = format!("{name} {key}");
            if key.chars().all(|c| c == '0' || c == '1') {
                check(&ask(&sizes, &v0, &v1, key), expected, &what);
            } else if let Some(filter) = key.strip_prefix("rf01_f") {
                check(&ask(&sizes, &v0, &v1, filter), expected, &what);
            } else if let Some(filter) = key.strip_prefix("rf02_f") {
                check(&ask(&sizes, &v0, &values("v2"), filter), expected, &what);
            } else if key == "r01" || key == "r02" {
                let other = if key == "r01" { v1.clone() } else { values("v2") };
                let all = ask(&sizes, &v0, &other, "11");
                let expected = expected.as_f64().unwrap();
                assert!((pearson(&v0, &other) - expected).abs() < 1e-12, "{what}");
                assert!((all.r - expected).abs() < 1e-12, "{what}: unshifted it is the greatest");
            } else {
                assert!(key == "mag4" || key == "R_direct_01", "{what}: not checked");
                continue;
            }
            n_checked += 1;
        }
    }
    assert_eq!(n_checked, 2 * 8 + 1 + 3 + 7 + 3 + 7);
}
