//! A page has one base of percentages: the run time.

use crate::run::{at_hand, json, ran_on};
use ouzel::model::units;
use serde_json::Value;
use std::path::Path;

/// Findings that the terminal shows.
const MAX_SHOWN: usize = 8;

/// `−415.8 ms` and `9.9 %`, as every page writes them.
fn amount(gain_ns: u64, run_ns: u64) -> (String, String) {
    let share = if run_ns == 0 { 0.0 } else { gain_ns as f64 / run_ns as f64 };
    (format!("−{}", units::time(gain_ns)), units::percent(Some(share)))
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is a number"))
}

fn is_share(fraction: &Value, ns: u64, run_ns: u64) -> bool {
    let share = if run_ns == 0 { 0.0 } else { ns as f64 / run_ns as f64 };
    (fraction.as_f64().expect("what the test made") - share).abs() <= 1e-6 + 1.0 / run_ns.max(1) as f64
}

/// Checks that the pages of a selection of an archive use one base.
fn check(archive: &Path, selection: &[&str]) {
    let of = format!("{archive:?} {selection:?}");
    let with = |words: &[&'static str]| -> Vec<&str> { [words, selection].concat() };
    let data = json(archive, &with(&["report"]))["data"].take();
    let run_ns = number(&data["run"]["span_ns"]);
    let findings = data["findings"].as_array().expect("what the page has");
    let losses = findings.iter().filter(|finding| finding["kind"] != "nothing_significant");
    let expected: Vec<_> = losses.map(|f| amount(number(&f["gain_ns"]), run_ns)).collect();
    for finding in findings {
        let gain_ns = number(&finding["gain_ns"]);
        assert!(is_share(&finding["gain_fraction"], gain_ns, run_ns), "{of}: {finding}");
        // The gain as the sentence reports it.
        let sentence = finding["sentence"].as_str().expect("what the page has");
        for (_, behind) in sentence
            .match_indices(&format!("{} (", units::time(gain_ns)))
            .map(|(at, text)| (at, &sentence[at + text.len()..]))
        {
            assert!(behind.starts_with(&amount(gain_ns, run_ns).1), "{of}: {sentence}");
        }
    }
    let headline = &data["headline"];
    let gain_ns = number(&headline["gain_ns"]);
    assert!(gain_ns <= run_ns && is_share(&headline["gain_fraction"], gain_ns, run_ns), "{of}: {headline}");
    // Losses between synchronisations add up; a replay with all changes is no sum.
    if findings.iter().all(|finding| finding["gain_by"] == "phases") {
        let sum = findings.iter().map(|finding| number(&finding["gain_ns"])).sum::<u64>().min(run_ns);
        assert!(gain_ns.abs_diff(sum) <= findings.len() as u64, "{of}: {headline}");
    }
    for loss in data["losses"].as_array().expect("what the page has") {
        assert!(is_share(&loss["share_of_run"], number(&loss["lost_ns"]), run_ns), "{of}: {loss}");
    }

    let page = ran_on(archive, &with(&["report"])).out;
    let shown: Vec<_> = page.lines().filter_map(told).collect();
    let n = expected.len().min(MAX_SHOWN);
    assert_eq!(shown, expected[..n], "{of}:\n{page}");
    let ran = ran_on(archive, &with(&["report", "--format", "html"]));
    let in_html = ran.out.split("<div class=\"gain\"><b>").skip(1).map(|rest| {
        let (gain, rest) = rest.split_once("</b>").expect("what the page has");
        // The band of a sampled gain comes between.
        let before = rest.split_once(" of the run").expect("what the page has").0;
        let percent = before.rsplit_once('>').expect("what the page has").1;
        (gain.to_owned(), percent.to_owned())
    });
    assert_eq!(in_html.collect::<Vec<_>>(), expected, "{of}");
    let text = headline["text"].as_str().expect("what the page has");
    assert!(ran.out.contains(&format!("<h1>{}</h1>", text.replace('&', "&amp;"))), "{of}: {text}");
    let unwrapped = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(unwrapped.contains(text), "{of}: {text}\n{page}");

    // Segments are parts of the same run, on the page of the run and on their own.
    let segments = json(archive, &with(&["segments"]))["data"].take();
    if segments["n_peers"] != 0 {
        assert_eq!(number(&segments["run_time_ns"]), run_ns, "{of}");
    }
    let iterations = json(archive, &with(&["iterations"]))["data"].take();
    assert_eq!(number(&iterations["run_time_ns"]), run_ns, "{of}");
}

#[test]
fn the_percent_of_a_finding_is_its_gain_by_the_run_time() {
    for archive in at_hand() {
        check(&archive, &[]);
    }
}

#[test]
fn the_percent_of_a_selection_is_by_its_own_time() {
    for archive in at_hand().into_iter().filter(|path| path.to_string_lossy().contains("testdata")) {
        check(&archive, &["--time", "1ms..40ms"]);
        check(&archive, &["--region", "MPI_*"]);
        check(&archive, &["--ranks", "0"]);
    }
}

/// The gain and the percentage of the line that begins a finding.
fn told(line: &str) -> Option<(String, String)> {
    let (_, amount) = line
        .split_once("  −")
        .filter(|(before, _)| before.trim_start().starts_with(|c: char| c.is_ascii_digit()))?;
    let (gain, rest) = amount.split_once("  (")?;
    // Samples add a band.
    let gain = gain.split_once(" ±").map_or(gain, |(gain, _)| gain);
    Some((format!("−{gain}"), rest.split_once(')')?.0.to_owned()))
}
