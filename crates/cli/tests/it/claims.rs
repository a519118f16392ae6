//! No page claims what was not recorded: messages without their records, or other ranks if one rank is recorded.

use crate::run::{Scratch, command, every_trace, json, ran_on, testdata};
use ouzel_testkit::shared_data;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Words that are justified only by recorded messages.
const OF_MESSAGES: [&str; 7] =
    ["message", "partner", "other side", "is sent", "are sent", "late sender", "late receiver"];
/// Words that are justified only by several ranks.
const OF_OTHERS: [&str; 12] = [
    "the others",
    "other ranks",
    "another rank",
    "all ranks",
    "other side",
    "partner",
    "busiest rank",
    "average rank",
    "comes last",
    "each other",
    "one another",
    "between ranks",
];

/// Available traces: folders and files of the shared data that open, and those of the repository.
fn traces() -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = ["pmpi-masterio", "eztrace-pingpong", "nsight-made"].map(testdata).to_vec();
    let Some(shared) = shared_data() else { return paths };
    let folders = [
        "hpctoolkit",
        "hpctoolkit-meas",
        "hpctoolkit-v2v3",
        "sampled",
        "nsight",
        "otf2",
        "projections",
        "chrome",
        "chrome-pytorch",
    ];
    for folder in folders {
        let Ok(entries) = std::fs::read_dir(shared.join("data").join(folder)) else { continue };
        let mut found: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
        found.sort();
        paths.extend(found);
    }
    paths
}

/// The sentences of the page, without reports of damage and lines that name call paths or commands.
fn sentences(page: &str) -> String {
    let mut kept = Vec::new();
    let mut is_kept = true;
    for line in page.lines() {
        let is_heading = !line.is_empty() && !line.starts_with(' ');
        if is_heading {
            is_kept = !line.starts_with("How far to trust it");
        }
        if is_kept && !line.contains(" › ") && !line.contains("ouzel ") {
            kept.push(line.trim());
        }
    }
    kept.join(" ").to_lowercase()
}

/// The text of an HTML page without its styles and scripts.
fn text_of_html(page: &str) -> String {
    let mut text = page.to_owned();
    for (open, close) in [("<style", "</style>"), ("<script", "</script>"), ("<", ">")] {
        while let Some(start) = text.find(open) {
            let end = text[start..].find(close).map_or(text.len(), |end| start + end + close.len());
            text.replace_range(start..end, " ");
        }
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

fn claimed<'w>(text: &str, words: &'w [&'w str]) -> Vec<&'w str> {
    words.iter().copied().filter(|word| text.contains(word)).collect()
}

#[test]
fn no_page_claims_what_was_not_recorded() {
    let (mut n_without_messages, mut n_alone) = (0, 0);
    for path in traces() {
        let output =
            command().env("COLUMNS", "2000").arg("report").arg(&path).output().expect("the binary is there");
        if !matches!(output.status.code(), Some(0 | 2)) {
            continue;
        }
        let answer = json(&path, &["report"]);
        // Of a profile nothing is said that happens at a time.
        if answer["schema"].as_str().is_some_and(|schema| schema.contains("profile-report")) {
            continue;
        }
        let recorded = &answer["data"]["run"]["recorded"];
        let name = path.display();
        let page = sentences(&String::from_utf8_lossy(&output.stdout));
        assert!(recorded["messages"].is_boolean(), "{name}: {recorded}");
        if recorded["messages"] == false {
            assert_eq!(claimed(&page, &OF_MESSAGES), [""; 0], "{name} has no messages: {page}");
            n_without_messages += 1;
        }
        if recorded["n_processes"] == 1 {
            assert_eq!(claimed(&page, &OF_OTHERS), [""; 0], "{name} has one rank: {page}");
            n_alone += 1;
        }
        if recorded["calls"] == false {
            let calls = page.split(' ').zip(page.split(' ').skip(1)).filter(|(n, word)| {
                word.starts_with("call") && n.chars().all(|c| c.is_ascii_digit() || c == ',') && !n.is_empty()
            });
            assert_eq!(calls.count(), 0, "{name} is sampled: nobody knows how many calls there were: {page}");
        }
    }
    assert!(0 < n_without_messages || shared_data().is_none(), "{n_without_messages} without messages");
    assert!(0 < n_alone || shared_data().is_none(), "{n_alone} of one rank");
}

#[test]
fn pages_with_pictures_claim_no_more() {
    let scratch = Scratch::new("claims");
    let Some(shared) = shared_data() else { return };
    // A heading and a definition say "all ranks" for any number of ranks.
    let of_others: Vec<&str> = OF_OTHERS.iter().copied().filter(|word| *word != "all ranks").collect();
    for (name, words) in [
        ("hpctoolkit/viewer-acc_f3", [&OF_MESSAGES[..], &of_others].concat()),
        ("hpctoolkit/pingpong-pipit", OF_MESSAGES.to_vec()),
        ("nsight/pipit-cloverleaf", of_others.clone()),
    ] {
        let out = scratch.0.join(format!("{}.html", name.replace('/', "-")));
        let ran = ran_on(&shared.join("data").join(name), &["report", "-o", &out.display().to_string()]);
        assert!(matches!(ran.code, Some(0 | 2)), "{}", ran.err);
        let page = read(&out);
        let (before, after) = page.split_once("how far to trust it").unwrap_or((page.as_str(), ""));
        let page = format!("{before} {}", after.split_once("how well the time").unwrap_or_default().1);
        assert_eq!(claimed(&page, &words), [""; 0], "{name}: {page}");
    }
}

fn read(path: &Path) -> String {
    text_of_html(&std::fs::read_to_string(path).expect("the page was written"))
}

/// What pages say where no finding is significant is what the profile of the same trace says.
#[test]
fn nothing_significant_is_said_as_it_is() {
    let Some(shared) = shared_data() else { return };
    for (name, headline, sentence) in [
        // Two processes without ranks, of which one has a single sample.
        (
            "nsight/jacc-cg",
            "Nothing significant is lost in",
            "The processes have no ranks, so they are not compared",
        ),
        // All of it is messages and barriers.
        (
            "otf2/eztrace-pingpong",
            "No single change would recover more than 1.0 % of",
            "The rest is in calls that wait or communicate, longest in MPI_Recv in pp",
        ),
        // Threads of OpenMP wait in its barrier, where samples show them.
        (
            "hpctoolkit/viewer-inline.meta.db",
            "Nothing significant is lost in",
            "threads wait for others of their process for 746.9 ms (15.9 %) on average in gomp_team_barrier_wait_end",
        ),
        // What a device hardly ever runs is on the host.
        (
            "hpctoolkit-v2v3/viewer-xml-acc_f3",
            "Nothing significant is lost in",
            "They are busy in 2.4 % of it; most of the rest is before their first operation or after their last.",
        ),
    ] {
        let data = json(&shared.join("data").join(name), &["report"])["data"].take();
        let said = data["findings"][0]["sentence"].as_str().expect("a sentence");
        assert!(said.contains(sentence), "{name}: {said}");
        let text = data["headline"]["text"].as_str().expect("a headline");
        assert!(text.starts_with(headline), "{name}: {text}");
        let advice = data["findings"][0]["advice"].as_str().expect("advice");
        assert_eq!(advice.contains("what the host does"), said.contains("They are busy"), "{name}: {advice}");
    }
    // Measurements of hpcrun have entries of the program below each other.
    let data = json(&shared.join("data/hpctoolkit-meas/test-small.m"), &["report"])["data"].take();
    assert!(data["efficiency"]["parallel"].as_f64().is_some_and(|it| 0.99 < it), "{}", data["efficiency"]);
}

/// Findings of one page have titles of their own.
#[test]
fn findings_are_told_apart() {
    for path in every_trace() {
        let ran = ran_on(&path, &["report", "--format", "json"]);
        if !matches!(ran.code, Some(0 | 2)) {
            continue;
        }
        let data = serde_json::from_str::<Value>(&ran.out).expect("an answer is JSON")["data"].take();
        let titles: Vec<String> =
            data["findings"].as_array().into_iter().flatten().map(|it| it["title"].to_string()).collect();
        let is_twice = |title: &String| 1 < titles.iter().filter(|other| *other == title).count();
        assert!(!titles.iter().any(is_twice), "{}: {titles:#?}", path.display());
    }
}
