//! The values that AutoAnalyzer published, and those reconstructed from them.

use crate::clusters::Clustering;
use crate::refine::refine;
use crate::rough::{AttributeSet, Core, DecisionTable};
use crate::search::{Forest, MAX_EFFORT, Search, search};
use ouzel_testkit::golden;
use serde_json::Value;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;

fn integer(value: &Value) -> usize {
    value.as_u64().unwrap() as usize
}

fn integers(value: &Value) -> Vec<usize> {
    value.as_array().unwrap().iter().map(integer).collect()
}

/// Regions by number, callers first, with the position of the caller.
fn regions(parents: &Value) -> (Vec<usize>, Vec<Option<usize>>) {
    let of = |id: usize| parents[id.to_string()].as_u64().map(|parent| parent as usize);
    let mut ids: Vec<usize> = parents.as_object().unwrap().keys().map(|id| id.parse().unwrap()).collect();
    ids.sort_by_key(|&id| (of(id).is_some(), id));
    let place = |id: usize| ids.iter().position(|&other| other == id).unwrap();
    let parents = ids.iter().map(|&id| of(id).map(place)).collect();
    (ids, parents)
}

fn found_in(input: &Value, parents: &Value) -> (Vec<usize>, Search) {
    let (ids, parents) = regions(parents);
    let rows = input.as_array().unwrap();
    let column = |id: &usize| rows.iter().map(|row| row[id.to_string()].as_f64().unwrap()).collect();
    let forest = Forest { parents, times: ids.iter().map(column).collect(), n_processes: rows.len() };
    (ids, search(&forest, Clustering::Ball, MAX_EFFORT, NonZeroUsize::MIN))
}

fn check_external(input: &Value, parents: &Value, expected: &Value) {
    let (ids, found) = found_in(input, parents);
    let labels: Vec<usize> = found.partition.labels().iter().map(|&label| label as usize).collect();
    assert_eq!(labels, integers(&expected["labels"]));
    assert_eq!(found.partition.n_clusters(), integer(&expected["n_clusters"]));
    let severity = expected["S"].as_f64().unwrap();
    assert!((found.severity - severity).abs() < 1e-12 * severity, "{} {severity}", found.severity);
    let names = |regions: &[usize]| regions.iter().map(|&region| ids[region]).collect::<Vec<_>>();
    let ccr: Vec<(usize, Vec<usize>)> =
        found.ccr.iter().map(|ccr| (ccr.level as usize, names(&ccr.regions))).collect();
    let expected_ccr: Vec<(usize, Vec<usize>)> = expected["ccr"]
        .as_array()
        .unwrap()
        .iter()
        .map(|ccr| {
            let region = &ccr["region"];
            let regions = if region.is_array() { integers(region) } else { vec![integer(region)] };
            (integer(&ccr["level"]), regions)
        })
        .collect();
    assert_eq!(ccr, expected_ccr);
    let cccr: Vec<usize> = found.cccr.iter().flat_map(|&at| names(&found.ccr[at].regions)).collect();
    assert_eq!(cccr, integers(&expected["cccr"]));
    assert_eq!(found.composites.is_some(), !expected["composite"].is_null());
}

#[test]
fn external_bottlenecks_are_the_published_ones() {
    let golden = golden("autoanalyzer");
    let (input, expected) = (&golden["input"], &golden["expected"]);
    check_external(&input["st_cpu"], &input["st_parent"], &expected["st_external"]);
    check_external(&input["composite_cpu"], &input["composite_parent"], &expected["composite_external"]);
}

fn classes_of(crnm: &Value, parents: &Value) -> (BTreeMap<String, u8>, Vec<usize>, Vec<usize>) {
    let (ids, parents) = regions(parents);
    let weights: Vec<f64> = ids.iter().map(|id| crnm[id.to_string()].as_f64().unwrap()).collect();
    let found = refine(&weights, &parents);
    let named = |regions: &[usize]| {
        let mut names: Vec<usize> = regions.iter().map(|&region| ids[region]).collect();
        names.sort_unstable();
        names
    };
    let classes = ids.iter().map(usize::to_string).zip(found.classes.iter().copied()).collect();
    (classes, named(&found.ccr), named(&found.cccr))
}

#[test]
fn internal_bottlenecks_are_the_published_ones() {
    let golden = golden("autoanalyzer");
    let (input, expected) = (&golden["input"], &golden["expected"]);
    let (classes, ccr, cccr) = classes_of(&input["st_crnm"], &input["st_parent"]);
    assert_eq!(serde_json::to_value(classes).unwrap(), expected["st_classes"]);
    assert_eq!(ccr, integers(&expected["st_internal"]["ccr"]));
    assert_eq!(cccr, integers(&expected["st_internal"]["cccr"]));
    let flat = input["npar_crnm"].as_object().unwrap().keys().map(|id| (id.clone(), Value::Null)).collect();
    let (classes, ccr, _) = classes_of(&input["npar_crnm"], &Value::Object(flat));
    assert_eq!(serde_json::to_value(classes).unwrap(), expected["npar_classes"]);
    assert_eq!(ccr, [3, 12]);
}

/// A table of the file, and the numbers of its rows.
fn table(input: &Value) -> (DecisionTable, Vec<usize>) {
    let rows = input["rows"].as_array().unwrap();
    let coded = |values: Vec<&Value>| -> Vec<u32> {
        let mut known: Vec<&Value> = Vec::new();
        let code = |value| {
            let at = known.iter().position(|&other| other == value).unwrap_or(known.len());
            if at == known.len() {
                known.push(value);
            }
            at as u32
        };
        values.into_iter().map(code).collect()
    };
    let n = input["names"].as_array().unwrap().len();
    let columns = (0..n).map(|at| coded(rows.iter().map(|row| &row[at]).collect())).collect();
    let decisions = coded(input["D"].as_array().unwrap().iter().collect());
    (DecisionTable { columns, decisions }, integers(&input["ids"]))
}

fn names(set: AttributeSet) -> Vec<String> {
    set.iter().map(|at| format!("a{}", at + 1)).collect()
}

#[test]
fn cores_are_the_published_ones() {
    let golden = golden("autoanalyzer");
    for (name, expected) in golden["expected"]["cores"].as_object().unwrap() {
        let (table, ids) = table(&golden["input"]["tables"][name]);
        let mut matrix = BTreeMap::new();
        for i in 0..table.n_rows() {
            for j in i + 1..table.n_rows() {
                let cell = match table.cell(i, j) {
                    None => Value::from(0),
                    Some(cell) if cell.is_empty() => Value::from(-1),
                    Some(cell) => Value::from(names(cell)),
                };
                matrix.insert(format!("{},{}", ids[i], ids[j]), cell);
            }
        }
        assert_eq!(serde_json::to_value(matrix).unwrap(), expected["matrix"], "{name}");
        let discernment = table.discernment();
        assert_eq!(discernment.n_inconsistent as usize, integer(&expected["inconsistent"]), "{name}");
        let core = Core::new(&discernment);
        let json = |sets: Vec<Vec<String>>| serde_json::to_value(sets).unwrap();
        assert_eq!(json(core.candidates().map(names).collect()), expected["candidates"], "{name}");
        assert_eq!(json(core.clauses.iter().copied().map(names).collect()), expected["cnf"], "{name}");
        assert_eq!(serde_json::to_value(names(core.core())).unwrap(), expected["core"], "{name}");
        for explanation in &core.explanations {
            let named = serde_json::to_value(names(explanation.attributes)).unwrap();
            let products = expected["dnf"].as_array().unwrap();
            let product = products.iter().find(|product| product[0] == named).unwrap();
            assert_eq!(Some(explanation.multiplicity.value()), product[1].as_f64(), "{name} {named}");
        }
    }
}

/// Attributes of the core that are high in a bottleneck explain it.
fn causes(golden: &Value, name: &str, bottlenecks: &[usize]) -> Value {
    let (table, ids) = table(&golden["input"]["tables"][name]);
    let core = Core::new(&table.discernment()).core();
    let causes = bottlenecks.iter().map(|id| {
        let row = ids.iter().position(|other| other == id).unwrap();
        let high = core.iter().filter(|&at| table.columns[at][row] == 1);
        (id.to_string(), high.map(|at| format!("a{}", at + 1)).collect::<Vec<_>>())
    });
    serde_json::to_value(causes.collect::<BTreeMap<_, _>>()).unwrap()
}

#[test]
fn causes_of_regions_are_the_published_ones() {
    let golden = golden("autoanalyzer");
    let expected = &golden["expected"];
    assert_eq!(causes(&golden, "npar1way_witness", &[3, 12]), expected["root_causes_npar"]);
    assert_eq!(causes(&golden, "table3", &[8, 11]), expected["root_causes_st"]);
}
