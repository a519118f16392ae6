//! The operations beside `ouzel profile`, and what Python and patterns cost.
//!
//! Each operation is a whole process from the file to its page, in turn with the profile at the same number of
//! threads. Pages are compared, as the JSON of some names every operation of the run.

use super::Bench;
use super::measure::{Contender, alternate, median};
use super::table::{Row, Target};
use crate::runner::answers;
use crate::setup;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Words of the command, and how many times the profile's time it may take.
const OPERATIONS: &[(&[&str], f64)] = &[
    (&["time-profile", "--bins", "100"], 1.5),
    (&["comm-matrix"], 1.5),
    (&["messages"], 1.5),
    (&["idle"], 1.5),
    (&["kernels"], 1.5),
    (&["imbalance"], 1.5),
    (&["critical-path"], 4.0),
    (&["lateness"], 4.0),
    (&["efficiency"], 1.5),
    (&["waits"], 3.0),
    (&["waits", "--delays"], 4.5),
    (&["what-if"], 6.0),
];

/// Threads of every contender.
const JOBS: &str = "2";
/// Calls of the series that patterns are looked for in.
const SERIES: &str = "100000";
/// Message ends that are matched.
const MESSAGE_ENDS: &str = "500000";
/// A quadratic comparison takes seconds.
const ROUNDS_OF_PATTERNS: usize = 3;

/// The rows of the table.
pub fn rows(bench: &Bench, python: Option<&Path>, skipped: &mut Vec<String>) -> Result<Vec<Row>> {
    let anchor = bench.archive(bench.extent.events)?;
    let mut rows = beside_profile(bench, &anchor)?;
    rows.push(matching(bench)?);
    rows.extend(events_into_arrow(bench, python, &anchor, skipped)?);
    rows.extend(patterns(bench, skipped)?);
    Ok(rows)
}

fn beside_profile(bench: &Bench, anchor: &Path) -> Result<Vec<Row>> {
    let on = bench.extent.events;
    let contender = |words: &[&str]| {
        let command = words[0].into();
        let rest = words[1..].iter().map(PathBuf::from);
        let common = ["--jobs", JOBS, "--format", "table"].map(PathBuf::from);
        let arguments: Vec<PathBuf> =
            [command, anchor.to_owned()].into_iter().chain(rest).chain(common).collect();
        Contender::whole_process(&bench.ours.ouzel, arguments)
    };
    let mut contenders = vec![contender(&["profile"])];
    contenders.extend(OPERATIONS.iter().map(|(words, _)| contender(words)));
    println!("measuring {} operations on {on} events", OPERATIONS.len());
    let runs = alternate(&contenders, bench.extent.rounds)?;
    let n_events = bench.n_events(anchor)?;
    let profile = median(&runs[0]);
    let rows = OPERATIONS.iter().zip(&runs[1..]).map(|((words, bound), seconds)| {
        let seconds = median(seconds);
        let what = format!("ouzel {} --jobs {JOBS}", words.join(" "));
        Row::speed(&what, on, seconds, n_events).beside(
            "profile's time",
            seconds / profile,
            Target::AtMost(*bound),
        )
    });
    Ok(rows.collect())
}

/// Message ends matched per second, `ends / (pass that matches − pass that only needs the same events)`: the program
/// measures both in turn, in memory, on two threads.
fn matching(bench: &Bench) -> Result<Row> {
    println!("measuring the matching of {MESSAGE_ENDS} message ends");
    let contender = Contender::own_clock(&bench.ours.matching, [PathBuf::from(MESSAGE_ENDS)]);
    let seconds = median(&alternate(&[contender], bench.extent.rounds)?[0]);
    let n_ends: u64 = MESSAGE_ENDS.parse().context("a number of message ends")?;
    let row = Row::speed("message matching, ends, 2 threads", MESSAGE_ENDS, seconds, n_ends);
    Ok(row.at_rate(n_ends as f64 / seconds, Target::AtLeast(20e6)))
}

/// Rows of `trace.events` into Arrow, by the installed Python package.
fn events_into_arrow(
    bench: &Bench,
    python: Option<&Path>,
    anchor: &Path,
    skipped: &mut Vec<String>,
) -> Result<Vec<Row>> {
    let Some(python) = python else {
        skipped.push("events into Arrow: no Python environment".to_owned());
        return Ok(vec![]);
    };
    println!("installing the Python package");
    let installed = setup::install_package(&bench.root, python)?;
    if !installed.status.success() || !answers(Command::new(python).args(["-c", "import ouzel, pyarrow"])) {
        skipped.push("events into Arrow: the Python package cannot be installed".to_owned());
        return Ok(vec![]);
    }
    let program = bench.root.join("peers/python/events_into_arrow.py");
    let on = bench.extent.events;
    println!("measuring events into Arrow on {on} events");
    let contender = Contender::own_clock(python, [program, anchor.to_owned()]);
    let seconds = median(&alternate(&[contender], bench.extent.rounds_of_python)?[0]);
    let n_events = bench.n_events(anchor)?;
    let per_second = n_events as f64 / seconds;
    let row = Row::speed("trace.events into Arrow, 2 threads", on, seconds, n_events);
    Ok(vec![row.at_rate(per_second, Target::AtLeast(20e6))])
}

/// The matrix profile beside stumpy's, one thread each.
fn patterns(bench: &Bench, skipped: &mut Vec<String>) -> Result<Vec<Row>> {
    let python = match setup::install_stumpy(&bench.root) {
        Ok(python) => python,
        Err(error) => {
            skipped.push(format!("patterns beside stumpy: {error:#}"));
            return Ok(vec![]);
        }
    };
    let program = bench.root.join("peers/python/matrix_profile.py");
    println!("measuring the matrix profile of {SERIES} points");
    let contenders = [
        Contender::own_clock(&bench.ours.matrix_profile, [PathBuf::from(SERIES)]),
        Contender::own_clock(&python, [program, PathBuf::from(SERIES)]),
    ];
    let runs = alternate(&contenders, ROUNDS_OF_PATTERNS)?;
    let [ours, theirs] = &runs[..] else { anyhow::bail!("two contenders, {} results", runs.len()) };
    let (ours, theirs) = (median(ours), median(theirs));
    let n_points: u64 = SERIES.parse().context("a number of points")?;
    Ok(vec![
        Row::speed("stumpy.stump, 1 thread", SERIES, theirs, n_points),
        Row::speed("matrix profile of ouzel patterns, 1 thread", SERIES, ours, n_points).beside(
            "stumpy",
            theirs / ours,
            Target::AtLeast(1.0),
        ),
    ])
}
