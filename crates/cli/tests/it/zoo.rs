//! Programs with a planted fault: the first finding names it, and its gain is that of the repair.
//!
//! The archives are recorded runs of real MPI programs (`cargo xtask zoo`); the expected results are in the
//! `facts.json` beside them. The table in docs/validation.md shows the same, hit or miss.

use crate::run::{json, testdata};
use serde_json::Value;
use std::path::PathBuf;

/// How far the projected gain may be from the measured one, as a part of the run time.
const GAIN_TOLERANCE: f64 = 0.10;
/// Most gain that a finding may promise in a program without fault, as a part of the run time.
const CLEAN_MAX: f64 = 0.02;
/// How many steps later than planted a growing fault may be seen.
const SINCE_TOLERANCE: u64 = 5;

fn facts(program: &str) -> Value {
    let path = folder(program).join("facts.json");
    let text = std::fs::read_to_string(&path).expect("facts lie beside the archives");
    serde_json::from_str(&text).expect("facts are JSON")
}

fn folder(program: &str) -> PathBuf {
    testdata("zoo").join(program)
}

fn findings(program: &str, variant: &str) -> Vec<Value> {
    let answer = json(&folder(program).join(variant), &["report"]);
    answer["data"]["findings"].as_array().expect("a report has findings").clone()
}

/// The call path, the ranks and the gain of the first finding against the facts.
fn check(program: &str) {
    let facts = facts(program);
    let findings = findings(program, "faulty");
    let shown: Vec<String> = findings
        .iter()
        .map(|finding| {
            format!(
                "{} {} {} {}",
                finding["kind"], finding["call_path"], finding["ranks"], finding["gain_ns"]
            )
        })
        .collect();
    let shown = format!("{program}: {shown:#?}");
    let first = findings.first().unwrap_or_else(|| panic!("{shown}"));
    let planted = &facts["program"]["planted"];
    assert_eq!(first["kind"], planted["kind"], "{shown}");

    let regions = |value: &Value| value.as_array().expect("a call path is a list").clone();
    let (found, expected) = (regions(&first["call_path"]), regions(&planted["call_path"]));
    assert!(found.windows(expected.len()).any(|run| run == expected), "{expected:?} in {shown}");
    if planted["ranks"].is_array() {
        assert_eq!(first["ranks"]["list"], planted["ranks"], "{shown}");
    }
    if let Some(since) = planted["since_iteration"].as_u64() {
        let seen = first["iterations"]["ranges"][0][0].as_u64().expect("iterations are named");
        assert!((since..=since + SINCE_TOLERANCE).contains(&seen), "since {seen}, planted {since}: {shown}");
    }

    let number = |value: &Value| value.as_f64().expect("a number");
    let (projected, measured) = (number(&first["gain_ns"]), number(&facts["gain_ns"]));
    let off = (projected - measured).abs() / number(&facts["faulty"]["median_ns"]);
    assert!(off <= GAIN_TOLERANCE, "projected {projected} ns, measured {measured} ns: {shown}");
}

#[test]
fn replayed_repairs_gain_what_was_measured() {
    let path = testdata("zoo").join("../../zoo/programs.json");
    let programs: Value =
        serde_json::from_str(&std::fs::read_to_string(path).expect("the list of programs")).expect("JSON");
    let mut n_replayed = 0;
    for program in programs.as_array().expect("a list") {
        let words = program["what_if"].as_array().cloned().unwrap_or_default();
        if words.is_empty() {
            continue;
        }
        let name = program["name"].as_str().expect("a name");
        let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
        let answer = json(&folder(name).join("faulty"), &[&["what-if"], &words[..]].concat());
        let facts = facts(name);
        let number = |value: &Value| value.as_f64().expect("a number");
        let (projected, measured) = (number(&answer["data"]["gain_ns"]), number(&facts["gain_ns"]));
        let off = (projected - measured).abs() / number(&facts["faulty"]["median_ns"]);
        assert!(off <= GAIN_TOLERANCE, "{name}: projected {projected} ns, measured {measured} ns");
        n_replayed += 1;
    }
    assert_eq!(n_replayed, 7);
}

#[test]
fn static_imbalance() {
    check("static_imbalance");
}

#[test]
fn slow_rank() {
    check("slow_rank");
}

#[test]
fn drifting_imbalance() {
    check("drifting_imbalance");
}

#[test]
fn serialised_output() {
    check("serialised_output");
}

#[test]
fn late_sender() {
    check("late_sender");
}

#[test]
fn hot_barrier() {
    check("hot_barrier");
}

#[test]
fn small_messages() {
    check("small_messages");
}

#[test]
fn redundant_collective() {
    check("redundant_collective");
}

#[test]
fn communication_imbalance() {
    check("communication_imbalance");
}

#[test]
fn lock_convoy() {
    check("lock_convoy");
}

#[test]
fn the_clean_program_has_no_finding_above_two_percent() {
    for variant in ["faulty", "fixed"] {
        for finding in findings("clean", variant) {
            let fraction = finding["gain_fraction"].as_f64().expect("a number");
            assert!(fraction <= CLEAN_MAX, "{variant}: {finding:#}");
        }
    }
}

/// Every program of the list has been recorded, and is one of the tests above.
#[test]
fn every_program_is_tested() {
    let list = std::fs::read_to_string(testdata("../zoo/programs.json")).expect("the list is there");
    let list: Value = serde_json::from_str(&list).expect("the list is JSON");
    let tests = include_str!("zoo.rs");
    for program in list.as_array().expect("a list of programs") {
        let name = program["name"].as_str().expect("programs have names");
        assert!(tests.contains(&format!("\"{name}\"")), "no test of {name}");
        let recorded = &facts(name)["program"];
        assert_eq!(recorded["planted"], program["planted"], "{name} was recorded with other facts planted");
        for variant in ["faulty", "fixed"] {
            let trust = &json(&folder(name).join(variant), &["report"])["notices"];
            let lost = trust
                .as_array()
                .expect("notices are a list")
                .iter()
                .filter(|notice| notice["level"] != "low");
            assert_eq!(lost.count(), 0, "{name} {variant}: {trust}");
        }
    }
}
