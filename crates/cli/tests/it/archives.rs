//! `convert --to otf2`: the converted archive means the same as the original.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

use crate::run::{Ran, Scratch, ran_on, testdata};
use ouzel::analyses::call_path_profile::CallPathProfile;
use ouzel::analyses::communication_totals::Communication;
use ouzel::analyses::inventory::{EVENT_KINDS, Inventory};
use ouzel::analyses::metric_profile::MetricProfile;
use ouzel::analyses::{By, Per};
use ouzel::engine::AnalysisSet;
use ouzel::model::{EventKind, Filter};
use ouzel_testkit::synth::{self, Counters, Skew, SynthOptions};
use ouzel_testkit::{Rng, shared_data};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn convert(from: &Path, to: &Path, more: &[&str]) -> Ran {
    let mut words = vec!["convert", to.to_str().expect("paths of tests are UTF-8"), "--to", "otf2"];
    words.extend(more);
    ran_on(from, &words)
}

pub fn converted(from: &Path, to: &Path, more: &[&str]) {
    let ran = convert(from, to, more);
    assert_eq!(ran.code, Some(0), "{from:?} {more:?}: {}", ran.err);
}

/// Everything that the analyses report, by names and numbers that do not depend on ids.
fn answers(path: &Path, filter: Filter) -> BTreeMap<&'static str, String> {
    let trace = ouzel::open(path).unwrap();
    let definitions = trace.definitions();
    let mut set = AnalysisSet::default();
    let keys = (set.add(CallPathProfile), set.add(Communication), set.add(MetricProfile), set.add(Inventory));
    let options = ouzel::Options { filter, ..ouzel::Options::default() };
    let mut outputs = trace.run(&set, &options).unwrap().outputs;
    let profile = outputs.take(&keys.0).unwrap();
    let communication = outputs.take(&keys.1).unwrap();
    let metrics = outputs.take(&keys.2).unwrap();
    let inventory = outputs.take(&keys.3).unwrap();
    let counts = inventory.locations.iter().map(|location| {
        let counts = EVENT_KINDS.iter().zip(location.events).filter(|(kind, _)| **kind != EventKind::Other);
        let counts: Vec<_> = counts.map(|(&kind, n)| (kind.as_str(), n)).collect();
        (definitions.location(location.location).native_id, location.max_depth, counts)
    });
    let summaries = metrics.summaries.iter().map(|of| {
        let name = &definitions.metrics[of.metric.index()].name;
        (definitions.location(of.location).native_id, name, of.count, of.min, of.max, of.mean)
    });
    let (by, per) = (By::CallPath, Per::Location);
    let peers = (communication.unresolved_peers, communication.null_peers);
    let unmatched = (communication.unmatched_sends, communication.unmatched_receives);
    BTreeMap::from([
        ("profile", format!("{:?}", profile.table(definitions, by, per))),
        ("messages", format!("{:?}", communication.table(definitions, by, per))),
        ("totals", format!("{:?} {:?}", communication.total_messages(), communication.total_collectives())),
        ("peers", format!("{peers:?}")),
        ("unmatched", format!("{unmatched:?}")),
        ("metrics", format!("{:?}", metrics.table(definitions, by, per))),
        ("summaries", format!("{:?}", summaries.collect::<Vec<_>>())),
        ("inventory", format!("{:?}", counts.collect::<Vec<_>>())),
    ])
}

pub fn assert_same_answers(one: &Path, filter: &Filter, other: &Path) {
    let (one_says, other_says) = (answers(one, filter.clone()), answers(other, Filter::default()));
    // A message with one end outside of a selection is unmatched in an archive of it, but not in the selection.
    let is_whole = *filter == Filter::default();
    for (what, says) in one_says.into_iter().filter(|(what, _)| is_whole || *what != "unmatched") {
        assert!(says == other_says[what], "{what} of {one:?}, {filter:?}:\n{says}\n{}", other_says[what]);
    }
}

/// Every file of an archive with its bytes.
fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut todo = vec![dir.to_owned()];
    while let Some(dir) = todo.pop() {
        for entry in std::fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                todo.push(path);
            } else {
                let bytes = std::fs::read(&path).unwrap();
                all.insert(path, bytes);
            }
        }
    }
    let inside = |path: PathBuf| path.strip_prefix(dir).unwrap().to_owned();
    all.into_iter().map(|(path, bytes)| (inside(path), bytes)).collect()
}

/// The reference tool prints all of an archive without complaint.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
pub fn assert_reference_reads(anchor: &Path) {
    let mut command = Command::new("otf2-print");
    match command.args(["--show-all", "--warnings-as-errors"]).arg(anchor).stdout(Stdio::null()).output() {
        Err(_) => eprintln!("SKIPPED: otf2-print is not installed (Debian package otf2-tools)"),
        Ok(out) => {
            let said = String::from_utf8_lossy(&out.stderr);
            assert!(out.status.success() && said.is_empty(), "{anchor:?}: {said}");
        }
    }
}

/// Real archives: those of the repository, and the shared ones where they are.
fn archives() -> Vec<PathBuf> {
    let mut all = BTreeMap::new();
    let shared = shared_data().map(|dir| dir.join("data/otf2"));
    for dir in [Some(testdata("")), shared].into_iter().flatten() {
        for entry in std::fs::read_dir(&dir).unwrap() {
            let entry = entry.unwrap();
            if ouzel::open(&entry.path()).is_ok_and(|trace| trace.format() == ouzel::Format::Otf2) {
                // Some are in both places.
                all.entry(entry.file_name()).or_insert(entry.path());
            }
        }
    }
    assert!(5 <= all.len(), "the repository has five archives: {all:?}");
    all.into_values().collect()
}

#[test]
fn real_archives_say_the_same_when_converted() {
    for (nth, path) in archives().iter().enumerate() {
        let scratch = Scratch::new(&format!("real-{nth}"));
        let to = ["one", "again", "twice"].map(|name| scratch.0.join(name));
        converted(path, &to[0], &[]);
        assert_same_answers(path, &Filter::default(), &to[0]);
        assert_reference_reads(&to[0].join("traces.otf2"));
        converted(path, &to[1], &[]);
        assert_eq!(files(&to[0]), files(&to[1]), "{path:?}");
        // A second conversion changes nothing but the order of texts.
        converted(&to[0], &to[2], &[]);
        assert_same_answers(&to[0], &Filter::default(), &to[2]);
        let events = |dir: &Path| -> BTreeMap<_, _> {
            files(dir).into_iter().filter(|(path, _)| path.extension().is_some_and(|e| e == "evt")).collect()
        };
        assert!(!events(&to[0]).is_empty());
        assert_eq!(events(&to[0]), events(&to[2]), "{path:?}");
    }
}

/// A filter and its command-line options.
type Selection = (Filter, Vec<String>);

fn selections(path: &Path, rng: &mut Rng) -> Vec<Selection> {
    let trace = ouzel::open(path).unwrap();
    let mut set = AnalysisSet::default();
    set.add(Inventory);
    let report = trace.run(&set, &ouzel::Options::default()).unwrap();
    let range = report.run_range.unwrap();
    let ns = |ticks| trace.definitions().clock.ns_from_ticks(ticks);
    let (start, end) = (ns(range.start), ns(range.end));
    let mut all = Vec::new();
    for _ in 0..3 {
        let mut at = || start + rng.below(end - start + 1);
        let (one, other) = (at(), at());
        let time = (one.min(other), one.max(other) + 1);
        all.push((
            Filter { time_ns: Some(time), ..Filter::default() },
            vec!["--time".to_owned(), format!("{}ns..{}ns", time.0, time.1)],
        ));
    }
    let ranks = trace.definitions().ranks();
    if let Some(rank) = ranks.get(ranks.len() / 2) {
        let text = rank.to_string();
        let filter = Filter { ranks: text.parse().ok(), ..Filter::default() };
        all.push((filter, vec!["--ranks".to_owned(), text]));
    }
    let region = "MPI_*".to_owned();
    let filter = Filter { regions: vec![region.clone()], ..Filter::default() };
    all.push((filter, vec!["--region".to_owned(), region]));
    let mut mixed = all[0].0.clone();
    mixed.ranks = all.iter().find_map(|(filter, _)| filter.ranks.clone());
    mixed.regions = vec!["*a*".to_owned()];
    let mut words = all[0].1.clone();
    words.extend(all.iter().filter(|(f, _)| f.ranks.is_some()).flat_map(|(_, words)| words.clone()));
    words.extend(["--region", "*a*"].map(str::to_owned));
    all.push((mixed, words));
    all
}

#[test]
fn a_selection_is_an_archive_that_says_the_same() {
    let mut rng = Rng::new(20_261);
    for (nth, path) in archives().iter().enumerate() {
        let scratch = Scratch::new(&format!("selected-{nth}"));
        for (part, (filter, words)) in selections(path, &mut rng).into_iter().enumerate() {
            let to = scratch.0.join(part.to_string());
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            converted(path, &to, &words);
            assert_same_answers(path, &filter, &to);
            assert_reference_reads(&to.join("traces.otf2"));
        }
    }
}

#[test]
fn synthetic_archives_say_the_same_when_converted() {
    for (nth, (counters, skew)) in
        [(Counters::Off, Skew::None), (Counters::On, Skew::Constant), (Counters::On, Skew::Drifting)]
            .into_iter()
            .enumerate()
    {
        let scratch = Scratch::new(&format!("synth-{nth}"));
        let (from, to) = (scratch.0.join("from"), scratch.0.join("to"));
        let options = SynthOptions {
            n_events: 20_000,
            n_ranks: 5,
            ticks_per_second: 3_699_958_577,
            counters,
            skew,
            ..SynthOptions::default()
        };
        let facts = synth::write_archive(&from, &options).unwrap();
        converted(&from, &to, &[]);
        assert_same_answers(&from, &Filter::default(), &to);
        assert_reference_reads(&to.join("traces.otf2"));
        let n_events = crate::run::json(&to, &["info"])["data"]["n_events"].as_u64();
        assert_eq!(n_events, Some(facts.n_events));
        // Corrected times stay synchronised times.
        let clocks = |dir: &Path| {
            let told = crate::run::json(dir, &["info"])["notices"].to_string();
            told.contains("clocks-unsynchronised")
        };
        assert_eq!(clocks(&from), clocks(&to), "{skew:?}");
    }
}

#[test]
fn nothing_is_replaced_unless_asked() {
    let scratch = Scratch::new("otf2-force");
    let (from, to) = (testdata("pmpi-masterio"), scratch.0.join("out"));
    converted(&from, &to, &[]);
    let before = files(&to);
    let refused = convert(&testdata("pmpi-jacobi"), &to, &[]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.err.contains("--force"), "{}", refused.err);
    assert_eq!(files(&to), before);
    converted(&testdata("pmpi-jacobi"), &to, &["--force"]);
    assert_same_answers(&testdata("pmpi-jacobi"), &Filter::default(), &to);
    let left: Vec<_> = std::fs::read_dir(&to).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 3, "{left:?}");
}

#[test]
fn an_anchor_of_any_name_can_be_asked_for() {
    let scratch = Scratch::new("otf2-anchor");
    let to = scratch.0.join("deep/run 7.otf2");
    converted(&testdata("eztrace-pingpong"), &to, &[]);
    assert!(to.is_file() && scratch.0.join("deep/run 7").is_dir());
    assert_same_answers(&testdata("eztrace-pingpong"), &Filter::default(), &to);
    assert_eq!(convert(&testdata("eztrace-pingpong"), &to, &[]).code, Some(1));
}

#[test]
fn damage_is_told_and_the_rest_converted() {
    let scratch = Scratch::new("otf2-damage");
    let (from, to) = (scratch.copied("pmpi-jacobi"), scratch.0.join("out"));
    let file = files(&from).into_keys().find(|path| path.extension().is_some_and(|e| e == "evt")).unwrap();
    let file = from.join(file);
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    let ran = convert(&from, &to, &[]);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert_same_answers(&from, &Filter::default(), &to);
    assert_reference_reads(&to.join("traces.otf2"));
    assert_eq!(ran_on(&to, &["info"]).code, Some(0), "what is there is whole");
}

#[test]
fn what_fails_leaves_nothing() {
    let scratch = Scratch::new("otf2-fails");
    let blocked = scratch.0.join("file");
    std::fs::write(&blocked, "in the way").unwrap();
    let ran = convert(&testdata("pmpi-jacobi"), &blocked.join("below"), &["--force"]);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    let ran = convert(&testdata("pmpi-jacobi").join("none"), &scratch.0.join("out"), &[]);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert_eq!(files(&scratch.0).len(), 1);
    assert!(!scratch.0.join("out").exists());
}
