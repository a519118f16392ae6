//! Archives of real applications, with what is known of them: the findings must be those of an expert.

use crate::run::{json, ran_on};
use ouzel_testkit::shared_data;
use serde_json::Value;

/// How far a gain may be from the known one, as a part of the run time.
const TOLERANCE: f64 = 0.10;

/// The report of an application; `None` without the shared data.
fn report(name: &str) -> Option<Value> {
    let archive = shared_data()?.join("data/field").join(name);
    Some(json(&archive, &["report"])["data"].take())
}

fn findings(data: &Value) -> &[Value] {
    data["findings"].as_array().expect("a list")
}

fn gain_s(finding: &Value) -> f64 {
    finding["gain_ns"].as_f64().expect("a number") / 1e9
}

fn run_s(data: &Value) -> f64 {
    data["run"]["span_ns"].as_f64().expect("a number") / 1e9
}

fn ends_in(finding: &Value, name: &str) -> bool {
    let path = finding["call_path"].as_array().expect("a list");
    path.last().and_then(Value::as_str).is_some_and(|last| last.starts_with(name))
}

fn assert_efficiencies(data: &Value, expected: [f64; 3]) {
    for (name, expected) in ["load_balance", "serialisation", "transfer"].into_iter().zip(expected) {
        let found = data["efficiency"][name].as_f64().expect("a ratio");
        assert!((found - expected).abs() < 0.003, "{name}: {found} instead of {expected}");
    }
}

/// Gains of calls of all ranks that are said to be called too often.
fn called_too_often(data: &Value) -> impl Iterator<Item = f64> {
    findings(data).iter().filter(|it| it["kind"] == "excess_synchronisation").map(gain_s)
}

#[test]
fn miniamr_is_imbalanced_by_work_that_moves_with_the_mesh() {
    let Some(data) = report("miniamr-8-nolb/traces.otf2") else { return };
    let first = &findings(&data)[0];
    assert_eq!(first["kind"], "load_imbalance", "{first}");
    assert!(first.to_string().contains("stencil_calc"), "{first}");
    // All computation balanced within ten check sums.
    assert!((gain_s(first) - 2.439).abs() <= TOLERANCE * run_s(&data), "{first}");
    let epochs = data["epochs"].as_array().expect("a list");
    assert!(3 <= epochs.len() && first["epochs"].as_array().is_some_and(|it| 3 <= it.len()), "{epochs:?}");
    // The first mesh has its work on rank 0: five times the mean.
    assert_eq!(epochs[0]["most_ranks"]["ranges"], "0");
    assert!(epochs[0]["load_balance"].as_f64().is_some_and(|it| it < 0.4), "{epochs:?}");
    assert!(called_too_often(&data).all(|gain| gain <= 0.170 + TOLERANCE * run_s(&data)), "{data}");
    assert!(
        findings(&data).iter().all(|it| it["kind"] != "iteration_outlier"),
        "set-up is no iteration: {data}"
    );
    assert_efficiencies(&data, [0.866, 0.559, 0.727]);
}

#[test]
fn lulesh_waits_for_its_own_sends() {
    let Some(data) = report("lulesh-8/traces.otf2") else { return };
    let first = &findings(&data)[0];
    assert!(first["kind"] == "communication_cost" && ends_in(first, "MPI_Waitall"), "{first}");
    assert!(2 <= first["more_call_paths"].as_array().map_or(0, Vec::len), "all paths are named: {first}");
    assert!(called_too_often(&data).all(|gain| gain <= 0.100 + TOLERANCE * run_s(&data)), "{data}");
    // Another finding has what the calls cost; this one is about waiting in them.
    let often = findings(&data).iter().filter(|it| it["kind"] == "excess_synchronisation");
    often.for_each(|it| assert!(!it["sentence"].to_string().contains("Removing"), "{it}"));
    let sentences: Vec<&str> = findings(&data).iter().filter_map(|it| it["sentence"].as_str()).collect();
    assert!(sentences.iter().all(|it| !it.contains("Domain&")), "names are short: {sentences:?}");
    assert_efficiencies(&data, [0.826, 0.493, 0.356]);
}

/// LULESH runs 150 steps, and reduces its time step in all but the first.
#[test]
fn the_last_step_of_lulesh_is_known() {
    let Some(shared) = shared_data() else { return };
    let archive = shared.join("data/field/lulesh-8");
    let loops = json(&archive, &["iterations"])["data"]["loops"].take();
    let outermost = &loops[0];
    assert_eq!(
        (&outermost["accepted"], &outermost["once_more"]),
        (&149.into(), &true.into()),
        "{}",
        outermost["name"]
    );
    let page = ran_on(&archive, &["iterations"]);
    let said = page.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let expected =
        "LagrangeLeapFrog runs once more right after it: probably a last iteration that ends differently";
    assert!(said.contains(expected), "{}", page.out);
}

#[test]
fn hpccg_loses_its_time_in_sends_and_reductions() {
    let Some(data) = report("hpccg-4/traces.otf2") else { return };
    let first = &findings(&data)[0];
    assert!(first["kind"] == "communication_cost" && ends_in(first, "MPI_Send"), "{first}");
    assert_eq!(first["iterations"]["n_all"], 599, "{first}");
    for finding in findings(&data) {
        assert_ne!(finding["kind"], "communication_imbalance", "all middle ranks send alike: {finding}");
        let share = finding["gain_fraction"].as_f64().expect("a ratio");
        assert!(finding["kind"] != "load_imbalance" || share < 0.02, "the product is balanced: {finding}");
    }
    assert!(called_too_often(&data).all(|gain| gain <= 0.020 + TOLERANCE * run_s(&data)), "{data}");
    assert_efficiencies(&data, [0.959, 0.958, 0.482]);
}

#[test]
fn amg_has_no_messages_to_combine() {
    let Some(data) = report("amg-8-eztrace") else { return };
    assert!(findings(&data).iter().all(|it| it["kind"] != "small_messages"), "{data}");
    // Without a replay nobody knows what messages keep together.
    let often = findings(&data).iter().filter(|it| it["kind"] == "excess_synchronisation");
    often.for_each(|it| assert_eq!(it["confidence"], "possible", "{it}"));
}

#[test]
fn amg_is_slow_once_on_one_rank() {
    let Some(data) = report("amg-8-eztrace") else { return };
    let outlier = findings(&data).iter().find(|it| it["kind"] == "iteration_outlier").expect("iteration 3");
    // Rank 7 computes for 293 ms in it, the others for 22 to 36.
    assert_eq!(outlier["ranks"]["ranges"], "7", "{outlier}");
    let sentence = outlier["sentence"].as_str().expect("a sentence");
    assert!(sentence.starts_with("Iteration 3 takes much longer than usual on rank 7: "), "{sentence}");
    assert_eq!(outlier["title"], "One slow iteration of 20");
    // That is most of its load imbalance: the program is nearly balanced.
    let uneven = findings(&data).iter().find(|it| it["kind"] == "load_imbalance").expect("rank 7");
    assert_eq!(uneven["ranks"]["ranges"], "7", "{uneven}");
    assert!(uneven["sentence"].to_string().contains("most of it once: "), "{uneven}");
    assert!(uneven["advice"].to_string().contains("what else ran on the machine then"), "{uneven}");
}

#[test]
fn a_run_without_definitions_has_no_findings() {
    let Some(data) = report("amg-gmres-8-killed") else { return };
    assert_eq!(findings(&data).len(), 0, "{data}");
    assert!(data["headline"]["text"].as_str().is_some_and(|it| it.starts_with("No findings")), "{data}");
    assert!(data["headline"]["incomplete"].is_string(), "{data}");
}
