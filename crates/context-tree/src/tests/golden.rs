//! The stored values of `golden/diff_fig7_fig8.json` and `golden/diff_loop_groups.json`.

use super::*;
use crate::node::Gaps;
use ouzel_testkit::golden;
use serde_json::Value;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// The successors that the file gives.
struct Successors(BTreeMap<StaticId, Vec<StaticId>>);

impl Order for Successors {
    fn compare(&self, _: StaticId, a: StaticId, b: StaticId) -> Option<Ordering> {
        if self.0.get(&a)?.contains(&b) {
            return Some(Ordering::Less);
        }
        self.0.get(&b)?.contains(&a).then_some(Ordering::Greater)
    }
}

fn static_id(name: &Value) -> StaticId {
    id(u32::from(name.as_str().unwrap().as_bytes()[0]))
}

fn node(value: &Value) -> Node {
    let gaps: Gaps = value["gaps"].as_array().unwrap().iter().map(|gap| gap.as_f64().unwrap()).collect();
    let children = value["children"].as_array().unwrap().iter().map(node).collect();
    Node::call(static_id(&value["id"]), gaps, children)
}

fn is(found: f64, expected: &Value) {
    let expected = expected.as_f64().unwrap();
    assert!((found - expected).abs() < 1e-12, "{found} instead of {expected}");
}

#[test]
fn differences_are_those_of_figures_7_and_8() {
    let file = golden("diff_fig7_fig8");
    let of_n = file["input"]["successors"]["N"].as_object().unwrap();
    let list = |ids: &Value| ids.as_array().unwrap().iter().map(static_id).collect();
    let order = Successors(
        of_n.iter().map(|(name, ids)| (static_id(&Value::from(name.as_str())), list(ids))).collect(),
    );
    for case in file["expected"]["cases"].as_array().unwrap() {
        for order in [&order as &dyn Order, &LookAhead] {
            let differ = Differ { tolerance: case["tol"].as_f64().unwrap(), ..Differ::exact(order) };
            let (a, b) = (node(&case["a"]), node(&case["b"]));
            is(a.duration(), &case["a"]["dur"]);
            is(differ.diff(&a, &b), &case["diff"]);
            is(differ.ratio(&a, &b), &case["diffRatio"]);
            is(differ.ratio(&b, &a), &case["diffRatio"]);
        }
    }

    let expected = &file["expected"]["merge_weighted_1_3"];
    let case = &file["expected"]["cases"][4];
    assert_eq!(case["name"], "missing_child_exact");
    let merger = Merger::exact(&order, Over::Locations);
    let mut three = node(&case["b"]);
    merger.merge(&mut three, 1.0, &node(&case["b"]), 1.0);
    merger.merge(&mut three, 2.0, &node(&case["b"]), 1.0);
    let mut a = node(&case["a"]);
    merger.merge(&mut a, 1.0, &three, 3.0);
    is(a.duration(), &expected["dur"]);
    let b = &a.children()[1];
    is(b.duration(), &expected["B"]["dur"]);
    let stats = &expected["B"]["stats"];
    assert_eq!(u64::from(b.stats.n), stats["n"].as_u64().unwrap());
    is(b.stats.sum, &stats["sum"]);
    is(b.stats.min, &stats["min"]);
    is(b.stats.max, &stats["max"]);
}

#[test]
fn loops_differ_by_groups_of_iterations() {
    let file = golden("diff_loop_groups");
    let loop_from = |key: &str| {
        let durations = file["input"][key].as_array().unwrap();
        loop_of(&durations.iter().map(|d| d.as_f64().unwrap()).collect::<Vec<_>>(), &LookAhead)
    };
    let (a, b) = (loop_from("a_iterations"), loop_from("b_iterations"));
    for (node, key) in [(&a, "clusters_a"), (&b, "clusters_b")] {
        let body = node.as_loop().unwrap();
        let members = |cluster| {
            let is_member = |&(_, of): &(usize, u32)| of as usize == cluster;
            body.map.values().enumerate().filter(is_member).map(|(i, _)| Value::from(i)).collect::<Vec<_>>()
        };
        let found: Vec<Value> = (0..body.clusters.len()).map(|c| members(c).into()).collect();
        assert_eq!(Value::from(found), file["expected"][key]);
    }
    let differ = Differ { tolerance: file["input"]["tol"].as_f64().unwrap(), ..Differ::exact(&LookAhead) };
    is(differ.diff(&a, &b), &file["expected"]["diff"]);
    is(differ.diff(&b, &a), &file["expected"]["diff"]);
}
