//! `--where`, `--trim`, `calls`, `call-tree`, `--metric` and `timeline`: what is shown is what was asked for.

use crate::commands::commands_but;
use crate::run::{Scratch, json, ran_on, testdata};
use ouzel_testkit::synth::{self, Counters, SynthOptions};
use serde_json::Value;

fn rows(answer: &Value) -> Vec<Value> {
    answer["data"]["rows"].as_array().expect("an array").clone()
}

fn ns(row: &Value, key: &str) -> u64 {
    row[key].as_u64().expect("an integer")
}

#[test]
fn calls_that_pass_are_those_of_all_that_would() {
    let archive = testdata("pmpi-jacobi");
    let all = rows(&json(&archive, &["calls"]));
    let words = ["calls", "--where", "name like 'MPI_*' and inclusive > 1ms and rank in 0-3"];
    let some = json(&archive, &words);
    let would = all.iter().filter(|row| {
        let is_mpi = row["region"].as_str().is_some_and(|name| name.starts_with("MPI_"));
        is_mpi && 1_000_000 < ns(row, "inclusive_ns") && ns(row, "rank") < 4
    });
    let key = |row: &Value| ["region", "rank", "enter_ns", "leave_ns"].map(|k| row[k].to_string());
    let (expected, found): (Vec<_>, Vec<_>) =
        (would.map(key).collect(), rows(&some).iter().map(key).collect());
    assert!(!expected.is_empty() && expected.len() < all.len());
    assert_eq!(found, expected);
    assert_eq!(some["data"]["n_calls"], expected.len());
    assert!(some["input"]["filter"]["where"].as_str().is_some_and(|text| text.contains("MPI_*")));
}

#[test]
fn a_filter_of_calls_changes_no_total() {
    let archive = testdata("pmpi-masterio");
    let total = |words: &[&str]| -> u64 {
        rows(&json(&archive, words)).iter().map(|row| ns(row, "exclusive_ns")).sum()
    };
    let (all, some) = (total(&["profile"]), total(&["profile", "--where", "name = write_chunk"]));
    assert!(all.abs_diff(some) <= 100, "rounded to nanoseconds row by row: {all} {some}");
}

#[test]
fn windows_keep_calls_whole_unless_they_are_trimmed() {
    let archive = testdata("pmpi-jacobi");
    let whole = rows(&json(&archive, &["calls", "--time", "800ms..900ms"]));
    let cut = rows(&json(&archive, &["calls", "--time", "800ms..900ms", "--trim"]));
    assert_eq!(whole.len(), cut.len());
    let reaches_out = |row: &&Value| ns(row, "enter_ns") < 800_000_000 || 900_000_000 < ns(row, "leave_ns");
    assert!(whole.iter().filter(reaches_out).count() > 0);
    assert_eq!(cut.iter().filter(reaches_out).count(), 0);
}

#[test]
fn a_wrong_expression_is_told_with_its_place() {
    for (text, needle) in [
        ("depth <", "at character 8"),
        ("rank = 0 and inclusive > 1 m", "at character 28"),
        ("nam like \"MPI_*\"", "at character 1 "),
    ] {
        let ran = ran_on(&testdata("pmpi-jacobi"), &["calls", "--where", text]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(64), ""), "{text}");
        assert!(ran.err.contains(needle), "{text}: {}", ran.err);
    }
}

#[test]
fn the_call_tree_has_the_times_of_the_profile() {
    let archive = testdata("pmpi-masterio");
    let nodes = json(&archive, &["call-tree"])["data"]["nodes"].take();
    let nodes = nodes.as_array().expect("nodes");
    let tree: u64 = nodes.iter().map(|node| ns(node, "exclusive_ns")).sum();
    let profile: u64 = rows(&json(&archive, &["profile"])).iter().map(|row| ns(row, "exclusive_ns")).sum();
    assert!(tree.abs_diff(profile) <= 100, "{tree} {profile}");
}

#[test]
fn counters_stand_in_place_of_time() {
    let scratch = Scratch::new("selection-counters");
    let options =
        SynthOptions { n_events: 8_000, n_ranks: 4, counters: Counters::On, ..SynthOptions::default() };
    synth::write_archive(&scratch.0, &options).expect("the archive can be written");
    let info = json(&scratch.0, &["profile", "--metric", "*"]);
    let first = rows(&info)[0].clone();
    let suffix = "_exclusive";
    let keys = first.as_object().expect("a row").keys().find(|key| key.ends_with(suffix)).cloned();
    let column = keys.expect("a column of a counter");
    let name = column.trim_end_matches(suffix);
    let data = json(&scratch.0, &["imbalance", "--metric", name, "--top-ranks", "2"])["data"].take();
    assert_eq!((data["metric"].as_str(), data["n_processes"].as_u64()), (Some(name), Some(4)));
    for row in data["rows"].as_array().expect("rows") {
        assert!(ns(row, "min") <= ns(row, "mean") && ns(row, "mean") <= ns(row, "max"), "{row}");
        let n_top = row["top_ranks"].as_array().expect("ranks").len();
        assert!(n_top <= 2 && (n_top > 0) == (ns(row, "max") > 0), "{row}");
    }
    let other = scratch.0.display().to_string();
    let ran = ran_on(&scratch.0, &["compare", &other, "--metric", name]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let ran = ran_on(&scratch.0, &["imbalance", "--metric", "no_such_counter"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("no_such_counter") && ran.err.contains(name), "{}", ran.err);
}

#[test]
fn the_user_says_how_many_ranks_are_named() {
    let archive = testdata("pmpi-jacobi");
    let n_named = |n: &str| -> Vec<usize> {
        let rows = rows(&json(&archive, &["imbalance", "--top-ranks", n]));
        rows.iter().map(|row| row["top_ranks"].as_array().expect("ranks").len()).collect()
    };
    assert!(n_named("0").iter().all(|n| *n == 0));
    assert_eq!(n_named("1").iter().max(), Some(&1));
    assert_eq!(n_named("100").iter().max(), Some(&9));
    let csv = ran_on(&archive, &["imbalance", "--top-ranks", "2", "--format", "csv"]).out;
    assert!(csv.lines().next().is_some_and(|head| head.ends_with(",top_ranks")), "{csv}");
}

#[test]
fn names_that_the_trace_does_not_have_are_told_by_every_command() {
    let archive = testdata("pmpi-jacobi");
    // These take no such selection or need more words.
    for command in commands_but(&["print", "patterns", "correlate", "causes", "compare", "convert"]) {
        for selection in [["--region", "nope*"], ["--where", "name = nope"]] {
            let answer = json(&archive, &[&command, selection[0], selection[1]]);
            let told = answer["notices"].as_array().expect("an array").iter().filter(|notice| {
                notice["code"] == "empty-selection"
                    && notice["message"].as_str().is_some_and(|text| text.contains("nope"))
            });
            assert_eq!(told.count(), 1, "{command} {selection:?}: {}", answer["notices"]);
        }
    }
    let ran = ran_on(&archive, &["profile", "--region", "nope"]);
    assert!(ran.err.contains("no region of the trace is named like \"nope\""), "{}", ran.err);
}

/// The finding's own command asks for one region by rank; the other calls of each rank would hide the answer.
#[test]
fn what_a_profile_by_rank_does_not_select_is_one_line() {
    let archive = testdata("zoo/serialised_output/faulty");
    let ran = ran_on(&archive, &["profile", "--call-paths", "--per", "rank", "--region", "write_chunk"]);
    assert_eq!(ran.out.lines().count(), 4, "{}", ran.out);
    assert!(
        ran.out.lines().nth(1).is_some_and(|row| row.contains("write_chunk") && row.contains("514.7 ms"))
    );
    assert!(
        ran.out.contains("… 23.57 s (97.9 %) of all ranks in calls that are not selected"),
        "{}",
        ran.out
    );
    let by_region = ran_on(&archive, &["profile", "--region", "write_chunk"]);
    assert!(by_region.out.contains("[filtered]"), "{}", by_region.out);
}
