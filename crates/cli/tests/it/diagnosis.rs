//! `segments`, `clusters`, `iterations` and the findings of `report`, from outside.

use crate::run::{Scratch, json, ran_on, testdata};
use expect_test::expect;
use serde_json::Value;
use std::path::Path;

const COMMANDS: [&str; 4] = ["report", "segments", "clusters", "iterations"];

fn serialised() -> std::path::PathBuf {
    testdata("zoo/serialised_output/faulty")
}

fn list<'a>(answer: &'a Value, key: &str) -> &'a [Value] {
    answer["data"][key].as_array().unwrap_or_else(|| panic!("{key} is a list: {answer}"))
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is a number"))
}

#[test]
fn segments_add_up_to_the_projected_run_time() {
    for archive in ["pmpi-jacobi", "pmpi-masterio", "zoo/serialised_output/faulty", "zoo/hot_barrier/faulty"]
    {
        let answer = json(&testdata(archive), &["segments"]);
        let segments = list(&answer, "segments");
        assert!(!segments.is_empty(), "{archive}");
        let mut lost = 0;
        for segment in segments {
            let (start, end) = (number(&segment["start_ns"]), number(&segment["end_ns"]));
            assert!(start < end && number(&segment["duration_ns"]) <= end - start, "{archive}: {segment}");
            lost += number(&segment["imb_sync_ns"]) + number(&segment["sum_wait_ns"]);
            let sum = |key: &str| -> u64 {
                segment["paths"].as_array().expect("paths").iter().map(|path| number(&path[key])).sum()
            };
            // Each is rounded to a nanosecond separately.
            for (total, of_paths) in [("sum_imb_ns", sum("imb_ns")), ("sum_wait_ns", sum("wait_ns"))] {
                assert!(number(&segment[total]).abs_diff(of_paths) <= 16, "{archive}: {total} in {segment}");
            }
            let n = number(&segment["n_phases"]);
            assert_eq!(segment["iterations"].as_array().map(|all| all.len() as u64), Some(n), "{archive}");
        }
        let data = &answer["data"];
        let projected = number(&data["run_time_ns"]).saturating_sub(lost);
        assert!(number(&data["projected_run_time_ns"]).abs_diff(projected) <= 16, "{archive}: {projected}");
    }
}

#[test]
fn a_serialised_section_is_a_segment_with_its_call_paths() {
    let page = ran_on(&serialised(), &["segments"]);
    assert_eq!(page.code, Some(0), "{}", page.err);
    let lines: Vec<&str> = page.out.lines().map(str::trim).collect();
    let title = "2  Uneven work and waiting before MPI_Barrier in write_output, 4 times";
    assert!(lines.contains(&title), "{}", page.out);
    assert!(page.out.contains("write_output › write_chunk"), "{}", page.out);
    let one = ran_on(&serialised(), &["segments", "--id", "2"]);
    assert!(one.out.contains("The 4 times that it comes") && one.out.contains("rank 0"), "{}", one.out);
    let none = ran_on(&serialised(), &["segments", "--id", "77"]);
    assert_eq!((none.code, none.out.as_str()), (Some(1), ""));
    assert!(none.err.contains("there is no segment 77"), "{}", none.err);
}

#[test]
fn every_rank_is_in_one_cluster() {
    let answer = json(&serialised(), &["clusters"]);
    let shown: Vec<String> = list(&answer, "clusters")
        .iter()
        .map(|c| format!("{} {} {} {}", c["id"], c["size"], c["ranks"]["ranges"], c["representative_rank"]))
        .collect();
    expect![[r#"
        0 1 "0" 0
        1 7 "1-7" 1
        2 8 "8-15" 8"#]]
    .assert_eq(&shown.join("\n"));
    let mut ranks: Vec<u64> = list(&answer, "clusters")
        .iter()
        .flat_map(|cluster| cluster["ranks"]["list"].as_array().expect("ranks").iter().map(number))
        .collect();
    ranks.sort_unstable();
    assert_eq!(ranks, (0..16).collect::<Vec<u64>>());
    let difference = &list(&answer, "clusters")[0]["differences"][0];
    assert_eq!(difference["call_path"][3], "write_chunk", "{difference}");
    assert_eq!(difference["reference_ns"], 0, "the others write nothing");
}

#[test]
fn iterations_follow_each_other() {
    let answer = json(&serialised(), &["iterations"]);
    let first = &list(&answer, "loops")[0];
    assert_eq!(
        (&first["name"], &first["call_path"]),
        (&"loop~timestep".into(), &serde_json::json!(["main"]))
    );
    assert_eq!((number(&first["accepted"]), number(&first["rejected"])), (24, 0));
    assert_eq!(first["source"], "tandem-repeat");
    let iterations = first["iterations"].as_array().expect("iterations");
    assert_eq!(iterations.len(), 24 * first["instances"].as_array().expect("instances").len());
    for pair in
        iterations.windows(2).filter(|pair| pair[0]["location_cluster"] == pair[1]["location_cluster"])
    {
        assert_eq!(pair[0]["end_ns"], pair[1]["start_ns"]);
        assert_eq!(number(&pair[0]["index"]) + 1, number(&pair[1]["index"]));
    }
    let page = ran_on(&serialised(), &["iterations"]);
    assert!(page.out.contains("▂▂▂▂▂█▂▂▂▂▂█▂▂▂▂▂█▂▂▂▂▂█"), "output in every sixth: {}", page.out);
}

#[test]
fn the_report_leads_with_the_findings() {
    let page = ran_on(&serialised(), &["report"]);
    let lines: Vec<&str> = page.out.lines().collect();
    let headline = lines.iter().position(|line| line.contains("can be recovered")).expect("a headline");
    assert!(headline <= 5 && lines[headline + 2].starts_with("  1  "), "{}", page.out);
    assert!(lines[headline + 2].contains('−') && lines[headline + 2].contains('%'), "{}", page.out);
    for word in ["Seen: ", "Usually done: ", "ouzel segments", "ouzel clusters", "ouzel iterations"] {
        assert!(page.out.contains(word), "{word}: {}", page.out);
    }
    let answer = json(&serialised(), &["report"]);
    let first = &list(&answer, "findings")[0];
    for key in ["kind", "title", "call_path", "ranks", "time_range_ns", "gain_ns", "gain_fraction"] {
        assert!(!first[key].is_null(), "{key} of {first}");
    }
    assert!(first["evidence"].as_array().is_some_and(|all| !all.is_empty()), "{first}");
    let table = ran_on(&serialised(), &["report", "--format", "csv"]);
    assert!(table.out.starts_with("kind,title,call_path,ranks,"), "{}", table.out);
}

/// Users who paste a command from a page about a part of a run want to see more of that part.
#[test]
fn commands_on_the_page_of_a_part_ask_for_that_part() {
    let selection = "--ranks 0-15 --time 0.1s..20s";
    let words: Vec<&str> = std::iter::once("report").chain(selection.split(' ')).collect();
    let page = ran_on(&serialised(), &words);
    assert!(page.out.lines().next().is_some_and(|title| title.ends_with(selection)), "{}", page.out);
    let commands: Vec<&str> =
        page.out.lines().filter_map(|line| Some(&line[line.find("ouzel ")?..])).collect();
    assert!(3 < commands.len(), "{}", page.out);
    let place = Path::new(env!("CARGO_BIN_EXE_ouzel")).parent().expect("it is in a folder");
    for line in commands {
        assert!(line.contains(selection), "{line}");
        if line.contains(" -o ") {
            continue;
        }
        let mut shell = std::process::Command::new("/bin/sh");
        let output = shell.args(["-c", line]).env("PATH", place).output().expect("there is a shell");
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn a_run_without_losses_says_so() {
    let page = ran_on(&testdata("zoo/clean/fixed"), &["report"]);
    assert!(page.out.contains("Nothing significant"), "{}", page.out);
    assert!(!page.out.contains("can be recovered"), "{}", page.out);
    let segments = ran_on(&testdata("zoo/redundant_collective/fixed"), &["segments"]);
    assert!(
        segments.out.contains("Nothing significant") && segments.out.contains("--all"),
        "{}",
        segments.out
    );
    let all = json(&testdata("zoo/redundant_collective/fixed"), &["segments", "--all"]);
    assert!(!list(&all, "segments").is_empty());
}

#[test]
fn traces_with_little_in_them_get_clear_words() {
    let archive = testdata("pmpi-masterio");
    for (words, needle) in [
        (&["segments", "--ranks", "3", "--time", "..500ms"][..], "there is only one rank"),
        (&["segments", "--time", "800ms..1s"], "no call that synchronises all ranks"),
        (&["report", "--ranks", "99"], "No findings: "),
        (&["segments", "--ranks", "99"], "no selected location runs code"),
        (&["clusters", "--ranks", "3"], "nothing to compare it with"),
        (&["clusters", "--ranks", "99"], "no selected location runs code"),
        (&["iterations", "--time", "..500ms"], "No iterations were found"),
    ] {
        let ran = ran_on(&archive, words);
        assert_eq!(ran.code, Some(0), "{words:?}: {}", ran.err);
        assert!(ran.out.replace('\n', " ").contains(needle), "{words:?}: {}", ran.out);
    }
    for words in [["report", "--ranks", "99"], ["report", "--ranks", "3"], ["report", "--time", "..1ns"]] {
        let ran = ran_on(&archive, &words);
        assert_eq!(ran.code, Some(0), "{words:?}: {}", ran.err);
        assert!(3 < ran.out.lines().count(), "{words:?}: {}", ran.out);
    }
}

#[test]
fn damage_and_wrong_paths_end_as_they_should() {
    let scratch = Scratch::new("diagnosis-damage");
    let archive = scratch.copied("pmpi-jacobi");
    let events = archive.join("traces/4.evt");
    let bytes = std::fs::read(&events).unwrap();
    std::fs::write(&events, &bytes[..bytes.len() / 2]).unwrap();
    let empty = scratch.0.join("empty");
    std::fs::create_dir(&empty).unwrap();
    for word in COMMANDS {
        let ran = ran_on(&archive, &[word]);
        assert_eq!(ran.code, Some(2), "{word}: {}", ran.err);
        let told = format!("{}{}", ran.out, ran.err);
        assert!(told.contains("4.evt"), "{word} names the damaged file: {told}");
        for path in [empty.as_path(), Path::new("no-such-trace")] {
            let ran = ran_on(path, &[word]);
            assert_eq!(
                (ran.code, ran.out.as_str(), ran.err.lines().count()),
                (Some(1), "", 1),
                "{word} {path:?}"
            );
        }
    }
}

#[test]
fn the_page_with_pictures_is_one_file() {
    let scratch = Scratch::new("html");
    let out = scratch.0.join("report.html");
    let ran = ran_on(&serialised(), &["report", "-o", out.to_str().unwrap()]);
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (Some(0), "", ""));
    let page = std::fs::read_to_string(&out).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("write_chunk"));
    assert_eq!(ran_on(&serialised(), &["report", "--format", "html"]).out, page);
}

#[test]
fn answers_of_the_diagnosis_do_not_depend_on_the_number_of_threads() {
    for word in COMMANDS {
        let answer = |jobs| json(&testdata("pmpi-jacobi"), &[word, "--jobs", jobs]);
        assert_eq!(answer("1"), answer("3"), "{word}");
    }
}
