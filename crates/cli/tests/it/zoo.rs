//! Programs with a planted fault: the first finding names it, and its gain is that of the repair.
//!
//! The archives are recorded runs of real MPI programs (`cargo xtask zoo`); the expected results are in the
//! `facts.json` beside them. The table in docs/validation.md shows the same, hit or miss.
//! `MISSES` lists the programs whose fault the first finding does not name yet, and what is wrong with it: a test fails
//! when one of them becomes a hit or misses otherwise, so that the list tells the truth.

use crate::run::{json, ran_on, testdata};
use serde_json::Value;
use std::path::PathBuf;

/// How far the projected gain may be from the measured one, as a part of the run time.
const GAIN_TOLERANCE: f64 = 0.10;
/// Most gain that a finding may promise in a program without fault, as a part of the run time.
const CLEAN_MAX: f64 = 0.02;
/// How many steps later than planted a growing fault may be seen.
const SINCE_TOLERANCE: u64 = 5;
/// Programs of which the first finding is not yet right, with what is wrong.
const MISSES: &[(&str, &[&str])] = &[];

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

/// What is wrong with the first finding: its kind, call path, ranks, iterations or gain against the facts.
fn misses(facts: &Value, findings: &[Value]) -> Vec<&'static str> {
    let Some(first) = findings.first() else { return vec!["no finding"] };
    let planted = &facts["program"]["planted"];
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let (found, expected) = (list(&first["call_path"]), list(&planted["call_path"]));
    let has_path = if expected.is_empty() {
        found.iter().all(|region| region.as_str().is_some_and(|name| name.starts_with("MPI_")))
    } else {
        found.windows(expected.len()).any(|run| run == expected)
    };
    let is_elsewhere = planted["ends_there"] == true && !found.ends_with(&expected);
    let seen = first["iterations"]["ranges"][0][0].as_u64();
    let since = planted["since_iteration"].as_u64();
    let is_late = |since: u64| seen.is_none_or(|seen| !(since..=since + SINCE_TOLERANCE).contains(&seen));
    let iterations = list(&planted["iterations"]);
    let false_kinds = list(&planted["false_kinds"]);
    let number = |value: &Value| value.as_f64().expect("a number");
    let off =
        (number(&first["gain_ns"]) - number(&facts["gain_ns"])).abs() / number(&facts["faulty"]["median_ns"]);
    let wrong = [
        (first["kind"] != planted["kind"], "kind"),
        (is_elsewhere || !has_path, "call path"),
        (planted["ranks"].is_array() && first["ranks"]["list"] != planted["ranks"], "ranks"),
        (since.is_some_and(is_late), "first iteration"),
        (!iterations.is_empty() && list(&first["iterations"]["ranges"]) != iterations, "iterations"),
        (findings.iter().any(|finding| false_kinds.contains(&finding["kind"])), "false finding besides"),
        (GAIN_TOLERANCE < off, "gain"),
    ];
    wrong.into_iter().filter(|(is_wrong, _)| *is_wrong).map(|(_, what)| what).collect()
}

fn check(program: &str) {
    let findings = findings(program, "faulty");
    let shown: Vec<String> = findings
        .iter()
        .map(|finding| {
            format!(
                "{} {} {} {} {}",
                finding["kind"],
                finding["call_path"],
                finding["ranks"],
                finding["iterations"],
                finding["gain_ns"]
            )
        })
        .collect();
    let known = MISSES.iter().find(|(name, _)| *name == program).map_or(&[][..], |(_, misses)| misses);
    assert_eq!(misses(&facts(program), &findings), known, "{program}: {shown:#?}");
}

#[test]
fn work_that_moves_is_told_by_epochs() {
    let mut n_epochs = 0;
    for program in ["adaptive_mesh", "rebalanced_mesh"] {
        let facts = facts(program);
        let planted = facts["program"]["planted"]["epochs"].as_array().expect("planted epochs").clone();
        let data = json(&folder(program).join("faulty"), &["report"])["data"].take();
        let found = data["epochs"].as_array().expect("a list");
        let ranks = |epochs: &[Value], of: &dyn Fn(&Value) -> Value| -> Vec<Value> {
            epochs.iter().map(of).collect()
        };
        assert_eq!(
            ranks(found, &|epoch| epoch["most_ranks"]["list"].clone()),
            ranks(&planted, &|epoch| epoch["ranks"].clone()),
            "{program}: {found:?}"
        );
        assert_eq!(data["findings"][0]["epochs"].as_array().map(Vec::len), Some(planted.len()), "{program}");
        n_epochs += found.len();
    }
    assert_eq!(n_epochs, 7);
}

/// Epochs, and what their commands say of each, are those of the report.
#[test]
fn all_commands_have_the_epochs_of_the_report() {
    for program in ["adaptive_mesh", "rebalanced_mesh"] {
        let archive = folder(program).join("faulty");
        let data = |words: &[&str]| json(&archive, words)["data"].take();
        let epochs = data(&["report"])["epochs"].take();
        assert_eq!(data(&["segments"])["epochs"], epochs, "{program}");
        let parts = data(&["efficiency", "--per", "epoch"])["runs"][0]["parts"].take();
        let iterations = data(&["iterations"]);
        assert_eq!(iterations["epochs"], epochs, "{program}");
        let (epochs, parts) = (epochs.as_array().expect("a list"), parts.as_array().expect("a list"));
        assert_eq!(epochs.len(), parts.len(), "{program}");
        // Of the outermost loop with most time: the first one.
        let rows = iterations["loops"][0]["iterations"].as_array().expect("a list");
        for (epoch, part) in epochs.iter().zip(parts) {
            let same =
                ["id", "start_ns", "iterations", "most_ranks", "parallel", "load_balance", "communication"];
            same.iter().for_each(|key| assert_eq!(epoch[key], part[key], "{program}: {key} of {epoch}"));
            let number = |key: &str| epoch[key].as_u64().expect("a number");
            assert_eq!(part["time_ns"], number("end_ns") - number("start_ns"), "{program}");
            let in_it = rows.iter().filter(|row| row["epoch"] == epoch["id"] && row["location_cluster"] == 0);
            let indices: Vec<u64> = in_it.map(|row| row["index"].as_u64().expect("a number")).collect();
            let range = indices.first().zip(indices.last()).map(|(first, last)| vec![[*first, *last]]);
            assert_eq!(epoch["iterations"]["ranges"], serde_json::json!(range), "{program}: {epoch}");
        }
        let page = ran_on(&archive, &["efficiency", "--per", "epoch"]).out;
        assert!(page.contains("most to do"), "{page}");
    }
    // All ranks have as much to do: no epochs.
    let data = json(&folder("adaptive_mesh").join("fixed"), &["efficiency", "--per", "epoch"]);
    let run = &data["data"]["runs"][0];
    let missing = run["missing"].as_array().expect("a list").iter().find(|it| it["metric"] == "parts");
    assert!(
        run["parts"].is_null() && missing.is_some_and(|it| it["reason"].to_string().contains("no epochs"))
    );
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
    assert_eq!(n_replayed, 23);
}

/// Whether no replay of the ranks tells what a finding gains: it is about threads or accelerators, slow iterations, or a
/// program that was killed.
fn is_beyond_replay(program: &str, finding: &Value) -> bool {
    let title = finding["title"].as_str().expect("a title");
    let is_within_ranks = title.ends_with("threads of each process") || title.ends_with("on accelerators");
    program == "killed"
        || is_within_ranks
        || finding["kind"] == "lock_contention"
        || finding["kind"] == "iteration_outlier"
}

/// Of both twins: what is said to gain more than 2 % of the run is what a replay gains, and what `ouzel what-if` gains by
/// spreading the work of that function.
#[test]
fn no_finding_above_two_percent_is_refuted_by_a_replay() {
    let path = testdata("zoo").join("../../zoo/programs.json");
    let programs: Value =
        serde_json::from_str(&std::fs::read_to_string(path).expect("the list of programs")).expect("JSON");
    let (mut n_replayed, mut n_balanced) = (0, 0);
    for program in programs.as_array().expect("a list") {
        let name = program["name"].as_str().expect("a name");
        for variant in ["faulty", "fixed"] {
            let number = |value: &Value| value.as_f64().expect("a number");
            let is_large = |it: &&Value| CLEAN_MAX < number(&it["gain_fraction"]);
            let findings = findings(name, variant);
            for finding in findings.iter().filter(is_large).filter(|it| !is_beyond_replay(name, it)) {
                assert_ne!(finding["gain_by"], "phases", "{name} {variant}: {finding:#}");
                n_replayed += 1;
                let epochs = finding["epochs"].as_array().expect("a list");
                let code = finding["call_path"].as_array().and_then(|path| path.last()?.as_str());
                let Some(code) = code.filter(|_| finding["kind"] == "load_imbalance" && epochs.is_empty())
                else {
                    continue;
                };
                let words = ["what-if", "--balance", &format!("{code}/**")];
                let data = json(&folder(name).join(variant), &words)["data"].take();
                // Spread over more than the finding is about, it may gain more.
                let (said, gained) = (number(&finding["gain_ns"]), number(&data["gain_ns"]));
                let tolerance = GAIN_TOLERANCE * said / number(&finding["gain_fraction"]);
                assert!(said <= gained + tolerance, "{name} {variant}: {gained} ns of {finding:#}");
                n_balanced += 1;
            }
        }
    }
    assert!(30 < n_replayed && 8 < n_balanced, "{n_replayed} and {n_balanced}");
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
fn halo3d() {
    check("halo3d");
}

#[test]
fn adaptive_mesh() {
    check("adaptive_mesh");
}

#[test]
fn conjugate_gradient() {
    check("conjugate_gradient");
}

#[test]
fn task_farm() {
    check("task_farm");
}

#[test]
fn ocean_atmosphere() {
    check("ocean_atmosphere");
}

#[test]
fn multigrid() {
    check("multigrid");
}

#[test]
fn rebalanced_mesh() {
    check("rebalanced_mesh");
}

#[test]
fn pipeline() {
    check("pipeline");
}

#[test]
fn ensemble() {
    check("ensemble");
}

#[test]
fn killed() {
    check("killed");
}

#[test]
fn oversubscribed() {
    check("oversubscribed");
}

#[test]
fn mpi_only() {
    check("mpi_only");
}

#[test]
fn gpu_stencil() {
    check("gpu_stencil");
}

#[test]
fn slow_start() {
    check("slow_start");
}

#[test]
fn setup_phase() {
    check("setup_phase");
}

#[test]
fn periodic_output() {
    check("periodic_output");
}

#[test]
fn wrong_order() {
    check("wrong_order");
}

#[test]
fn late_broadcast() {
    check("late_broadcast");
}

#[test]
fn early_reduce() {
    check("early_reduce");
}

#[test]
fn delay_chain() {
    check("delay_chain");
}

#[test]
fn helper_threads() {
    check("helper_threads");
}

#[test]
fn unequal_tasks() {
    check("unequal_tasks");
}

#[test]
fn starving_device() {
    check("starving_device");
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

/// The report on a program that was killed says that its trace is incomplete.
#[test]
fn a_killed_program_is_doubtful() {
    for variant in ["faulty", "fixed"] {
        let answer = json(&folder("killed").join(variant), &["report"]);
        let notices = answer["notices"].as_array().expect("notices are a list");
        let has =
            |code: &str| notices.iter().any(|notice| notice["code"] == code && notice["level"] == "medium");
        let is_by_order = answer["data"]["alignment"]["by"] == "synchronisations";
        let is_said = !is_by_order || has("unaligned-synchronisations");
        assert!(has("unmatched-messages") && is_said, "{variant}: {notices:#?}");
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
        if program["killed"] == true {
            continue;
        }
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
