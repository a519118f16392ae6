//! Profiles from outside: questions of CUBE and HPCToolkit users, and the message that there are no events.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

use crate::run::{Scratch, json, ran_on};
use ouzel::formats::cube::write;
use ouzel::model::{Aggregation, MetricKind, MetricValueType};
use ouzel_testkit::{ToyProfile, shared_data};
use serde_json::Value;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// main (1 s, 2 s) → solve (3 s, 5 s), main → MPI_Send (4 s at the second location only).
fn toy(folder: &Path) -> PathBuf {
    let mut profile = ToyProfile::new(2);
    let main = profile.call(None, "main");
    let solve = profile.call(Some(main), "solve");
    let send = profile.call(Some(main), "MPI_Send");
    let sum = |profile: &mut ToyProfile, name: &str| {
        profile.metric(name, MetricKind::Exclusive, MetricValueType::F64, Aggregation::Sum)
    };
    let time = sum(&mut profile, "time");
    profile.set(time, main, &[1.0, 2.0]);
    profile.set(time, solve, &[3.0, 5.0]);
    profile.set_some(time, send, &[(1, 4.0)]);
    let sent = sum(&mut profile, "bytes_sent");
    profile.set_some(sent, send, &[(1, 800.0)]);
    sum(&mut profile, "bytes_received");
    let path = folder.join("profile.cubex");
    write::write(&profile, File::create(&path).unwrap()).unwrap();
    path
}

/// The rows of an answer: the name in its first column, and a number.
fn rows(answer: &Value, name: &str, number: &str) -> Vec<(String, f64)> {
    let text = |value: &Value| match value {
        Value::Array(parts) => {
            parts.iter().map(|part| part.as_str().unwrap()).collect::<Vec<_>>().join(" › ")
        }
        value => value.as_str().unwrap().to_owned(),
    };
    let rows = answer["data"]["rows"].as_array().unwrap().iter();
    rows.map(|row| (text(&row[name]), row[number].as_f64().unwrap())).collect()
}

fn named(rows: &[(&str, f64)]) -> Vec<(String, f64)> {
    rows.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
}

#[test]
fn regions_and_call_paths_have_what_was_written() {
    let scratch = Scratch::new("profile-values");
    let path = toy(&scratch.0);
    let by_region = json(&path, &["profile"]);
    let expected = named(&[("solve", 8.0), ("MPI_Send", 4.0), ("main", 3.0)]);
    assert_eq!(rows(&by_region, "region", "total"), expected);
    assert_eq!(by_region["data"]["total"], 15.0);
    let inclusive = json(&path, &["profile", "--metric", "time", "--call-paths", "--scope", "inclusive"]);
    let expected = named(&[("main", 15.0), ("main › solve", 8.0), ("main › MPI_Send", 4.0)]);
    assert_eq!(rows(&inclusive, "call_path", "total"), expected);
}

#[test]
fn metrics_are_listed_and_those_that_never_happened_apart() {
    let scratch = Scratch::new("profile-info");
    let path = toy(&scratch.0);
    let page = ran_on(&path, &["info"]);
    assert_eq!(page.code, Some(0), "{}", page.err);
    let line = |start: &str| page.out.lines().find(|line| line.trim_start().starts_with(start)).unwrap();
    assert!(line("time ").ends_with("15.00 sec"), "{}", page.out);
    assert!(line("bytes_sent ").ends_with("800.0 sec"), "{}", page.out);
    assert!(page.out.contains("bytes_received\n"), "{}", page.out);
    assert!(!page.out.lines().any(|line| line.trim_start().starts_with("bytes_received ")), "{}", page.out);
    let csv = ran_on(&path, &["info", "--format", "csv"]);
    assert_eq!(csv.out.lines().count(), 4, "a header and three metrics: {}", csv.out);
}

#[test]
fn several_metrics_are_shown_one_after_the_other() {
    let scratch = Scratch::new("profile-several");
    let path = toy(&scratch.0);
    let page = ran_on(&path, &["profile", "--metric", "bytes_*", "--metric", "time"]);
    assert_eq!(page.code, Some(0), "{}", page.err);
    let at = |text: &str| page.out.find(text).unwrap_or_else(|| panic!("{text}: {}", page.out));
    assert!(at("bytes_sent [sec], exclusive") < at("bytes_received [sec], exclusive"));
    assert!(at("bytes_received [sec], exclusive") < at("time [sec], exclusive"));
    let refused = ran_on(&path, &["profile", "--metric", "bytes_*", "--format", "csv"]);
    assert_eq!((refused.code, refused.out.as_str()), (Some(1), ""));
    assert!(refused.err.contains("2 metrics match"), "{}", refused.err);
}

#[test]
fn what_is_not_there_is_told_with_what_is_near() {
    let scratch = Scratch::new("profile-wrong");
    let path = toy(&scratch.0);
    for (words, told) in [
        (&["profile", "--metric", "tine"][..], "no metric \"tine\"; it has: time\n"),
        (&["profile", "--metric", "bytes"], "it has: bytes_received, bytes_sent\n"),
        (&["profile", "--per", "rank"], "--messages and --per need a trace"),
        (&["profile", "--ranks", "0"], "--ranks, --time, --region and --where need a trace"),
        (&["report", "--ranks", "0"], "--ranks, --time, --region and --where need a trace"),
        (&["timeline"], "a profile without events; use `ouzel info` or `ouzel profile --metric`"),
    ] {
        let ran = ran_on(&path, words);
        assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{words:?}: {}", ran.err);
        assert!(ran.err.contains(told), "{words:?}: {}", ran.err);
    }
}

#[test]
fn a_report_on_a_profile_says_the_same_in_every_form() {
    let scratch = Scratch::new("profile-report");
    let path = toy(&scratch.0);
    let page = ran_on(&path, &["report"]);
    assert_eq!((page.code, page.err.as_str()), (Some(0), ""), "{}", page.out);
    let answer = json(&path, &["report"]);
    assert_eq!(answer["schema"], "ouzel/profile-report/1");
    let data = &answer["data"];
    // Computation 4 s and 7 s, MPI 4 s on the second: 11 of 15 s.
    let headline = data["headline"].as_str().unwrap();
    let expected = "73.3 % of the time of 2 threads (longest 11.00 s) is computation, 26.7 % MPI; up to \
                    1.500 s may be lost to uneven work";
    assert_eq!(headline, expected);
    assert_eq!(data["efficiency"]["parallel"], 0.5);
    assert_eq!(data["efficiency"]["transfer"], Value::Null);
    // main with solve is 4 s and 7 s, solve alone 3 s and 5 s: two thirds of the difference are not most of it.
    let found = &data["imbalances"][0];
    assert_eq!(found["call_path"], serde_json::json!(["main"]));
    assert_eq!(found["gain_at_most_ns"], 1_500_000_000_u64);
    let text = page.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [headline, found["sentence"].as_str().unwrap(), found["assumption"].as_str().unwrap()] {
        assert!(text.contains(words), "{words}: {}", page.out);
    }
    let file = scratch.0.join("report.html");
    let ran = ran_on(&path, &["report", "-o", file.to_str().unwrap()]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let html = fs::read_to_string(&file).unwrap();
    for words in [headline, found["title"].as_str().unwrap(), found["sentence"].as_str().unwrap()] {
        assert!(html.contains(words), "{words}: {html}");
    }
    let csv = ran_on(&path, &["report", "--format", "csv"]);
    assert_eq!(csv.out.lines().count(), 1 + data["call_paths"].as_array().unwrap().len(), "{}", csv.out);
}

#[test]
fn a_profile_becomes_a_long_table() {
    let scratch = Scratch::new("profile-convert");
    let path = toy(&scratch.0);
    let out = scratch.0.join("long.csv");
    let ran = ran_on(&path, &["convert", out.to_str().unwrap(), "--to", "csv"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let text = fs::read_to_string(&out).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("metric,scope,call_path,call_path_id,rank,location,value"));
    let of = |metric: &str| {
        let rows = text.lines().filter(|line| line.starts_with(metric));
        rows.map(|line| line.rsplit(',').next().unwrap().parse::<f64>().unwrap()).sum::<f64>()
    };
    assert_eq!((of("time,"), of("bytes_sent,"), of("bytes_received,")), (15.0, 800.0, 0.0));
    let again = ran_on(&path, &["convert", out.to_str().unwrap(), "--to", "csv"]);
    assert_eq!(again.code, Some(1), "nothing is replaced without --force");
    let folder = scratch.0.join("tables");
    let answer = json(&path, &["convert", folder.to_str().unwrap(), "--to", "parquet"]);
    assert_eq!(answer["data"]["files"][0]["path"], folder.join("severities.parquet").to_str().unwrap());
    let copy = scratch.0.join("copy.cubex");
    let ran = ran_on(&path, &["convert", copy.to_str().unwrap(), "--to", "cube"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(json(&path, &["profile"])["data"]["rows"], json(&copy, &["profile"])["data"]["rows"]);
}

/// A folder that holds both is treated as a trace, unless a metric is named that only the profile has.
#[test]
fn a_trace_and_a_profile_live_together() {
    let scratch = Scratch::new("profile-both");
    let both = scratch.copied("pmpi-jacobi");
    let before = json(&both, &["profile"]);
    toy(&both);
    let info = json(&both, &["info"]);
    assert_eq!(info["data"]["profile"]["n_call_paths"], 3);
    assert!(info["data"]["n_events"].as_u64().unwrap() > 0);
    let page = ran_on(&both, &["info"]);
    assert!(page.out.contains("a profile beside the trace"), "{}", page.out);
    assert_eq!(json(&both, &["profile"])["data"], before["data"], "the trace answers");
    let of_profile = json(&both, &["profile", "--metric", "time"]);
    assert_eq!(
        (&of_profile["schema"], &of_profile["data"]["total"]),
        (&"ouzel/severities/1".into(), &15.0.into())
    );
    let wrong = ran_on(&both, &["profile", "--metric", "tine"]);
    assert_eq!(wrong.code, Some(1));
    assert!(
        wrong.err.contains("beside the trace, the profile has no metric \"tine\"; it has: time"),
        "{}",
        wrong.err
    );
    assert_eq!(ran_on(&both, &["time-profile"]).code, ran_on(&both, &["breakdown"]).code);
}

/// The available recorded profiles: files of CUBE, folders of HPCToolkit.
fn recorded() -> Vec<PathBuf> {
    let Some(shared) = shared_data() else { return Vec::new() };
    let mut found = Vec::new();
    let mut folders = vec![shared.join("data/cube"), shared.join("data/cube3-xml")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().contains(".cube") {
                found.push(path);
            }
        }
    }
    let databases = fs::read_dir(shared.join("data/hpctoolkit")).unwrap();
    found.extend(
        databases.map(|entry| entry.unwrap().path()).filter(|path| path.join("profile.db").is_file()),
    );
    found.sort();
    assert!(!found.is_empty());
    found
}

/// Metrics of every recorded profile: exclusive values of a sum add up to its total, or a notice says otherwise.
#[test]
fn metrics_of_every_recorded_profile_add_up() {
    for path in recorded() {
        let info = json(&path, &["info"]);
        let data = if info["data"]["profile"].is_object() { &info["data"]["profile"] } else { &info["data"] };
        let metrics = data["metrics"].as_array().unwrap();
        // One run of the program for each metric: the first with something to show.
        let shown = metrics.iter().filter(|metric| {
            metric["aggregation"] == "sum" && metric["total"].as_f64().is_some_and(|total| total != 0.0)
        });
        for metric in shown.take(4) {
            let name = metric["name"].as_str().unwrap();
            let answer = json(&path, &["profile", "--metric", name, "--call-paths"]);
            let sum: f64 = rows(&answer, "call_path", "total").iter().map(|(_, value)| value).sum();
            let total = metric["total"].as_f64().unwrap();
            // A file of its reader's tests has inclusive values that exceed those of the caller: a notice reports that.
            let notices = answer["notices"].as_array().unwrap();
            let is_doubtful = notices.iter().any(|notice| notice["code"] == "doubtful-severities");
            let is_close = (sum - total).abs() <= 1e-6 * total.abs();
            assert!(is_close != is_doubtful, "{path:?} {name}: {sum}, not {total}, doubtful: {is_doubtful}");
        }
    }
}

/// Renames a member of an archive, so that it is missing.
fn without(profile: &Path, member: &str) -> PathBuf {
    let mut bytes = fs::read(profile).unwrap();
    let name = format!("{member}\0");
    // Members begin at multiples of 512 bytes, with their name.
    let at = (0..bytes.len()).step_by(512).find(|&at| bytes[at..].starts_with(name.as_bytes())).unwrap();
    bytes[at] = b'_';
    let path = profile.with_file_name(format!("without-{member}.cubex"));
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn a_missing_member_is_told_by_its_name() {
    let scratch = Scratch::new("profile-missing");
    let whole = toy(&scratch.0);
    for member in ["0.index", "0.data"] {
        let path = without(&whole, member);
        let ran = ran_on(&path, &["profile", "--metric", "time"]);
        assert_eq!(ran.code, Some(2), "{member}: {}", ran.err);
        assert!(ran.out.contains("no call path has a value"), "{}", ran.out);
        assert!(ran.err.contains(&format!("the archive holds no {member}")), "{}", ran.err);
        assert!(ran.err.contains(path.to_str().unwrap()), "{}", ran.err);
        // Existing data are shown; lost data are reported.
        let other = json(&path, &["profile", "--metric", "bytes_sent"]);
        assert_eq!(other["data"]["total"], 800.0);
        let info = ran_on(&path, &["info"]);
        assert_eq!(info.code, Some(2), "{member}: {}", info.out);
        assert!(info.out.contains(&format!("the archive holds no {member}")), "{}", info.out);
    }
    let path = without(&whole, "anchor.xml");
    let ran = ran_on(&path, &["info"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""));
    assert!(ran.err.contains("the archive holds no anchor.xml"), "{}", ran.err);
    assert!(ran.err.contains(path.to_str().unwrap()), "{}", ran.err);
    // Tools write no files for a metric without events.
    let path = without(&without(&whole, "0.index"), "0.data");
    let ran = ran_on(&path, &["profile", "--metric", "time"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("no call path has a value"), "{}", ran.out);
}
