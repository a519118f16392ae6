//! `docs/validation.md`: what was planted, what is found, and how far the two are apart.
//!
//! Law: everything in the table comes from `facts.json` and from the answers of
//! `ouzel report --format json` on the recorded archives; misses are rows like others.
//! The tests in `crates/cli/tests/it/zoo.rs` check the same conditions.

use super::facts::{Facts, folder};
use super::{Planted, Program, programs};
use crate::runner::output;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How far the projected gain may be from the measured one, as a part of the run time.
const GAIN_TOLERANCE: f64 = 0.10;
/// What a finding of a program without fault may promise, as a part of the run time.
const CLEAN_MAX: f64 = 0.02;
/// How many steps later than planted a growing fault may be seen.
const SINCE_TOLERANCE: u64 = 5;

/// The parts of a finding that the table shows.
struct Found {
    kind: String,
    title: String,
    call_path: Vec<String>,
    ranks: Vec<u32>,
    iterations: Vec<(u64, u64)>,
    gain_ns: f64,
    gain_fraction: f64,
}

/// A row: a program, and the results for its two archives.
struct Row {
    facts: Facts,
    faulty: Option<Found>,
    /// The kinds of all its findings.
    kinds: Vec<String>,
    fixed: Option<Found>,
    /// Words of the repair, and its gain in a replay.
    replayed: Option<(Vec<String>, f64)>,
}

pub fn write(root: &Path, ouzel: &Path) -> Result<()> {
    let path = page_path(root);
    fs::write(&path, page(root, ouzel)?).with_context(|| format!("cannot write {}", path.display()))?;
    println!("wrote {}", path.display());
    Ok(())
}

pub fn check(root: &Path, ouzel: &Path) -> Result<()> {
    let path = page_path(root);
    let written = fs::read_to_string(&path).unwrap_or_default();
    ensure!(
        written == page(root, ouzel)?,
        "{} is not current: run `cargo xtask zoo --table`",
        path.display()
    );
    println!("{} is current", path.display());
    Ok(())
}

fn page_path(root: &Path) -> PathBuf {
    root.join("docs/validation.md")
}

fn page(root: &Path, ouzel: &Path) -> Result<String> {
    let mut rows = Vec::new();
    for program in programs(root)? {
        let facts = Facts::read(root, &program.name)?;
        let archives = folder(root, &program.name);
        let faulty = findings(ouzel, &archives.join("faulty"))?;
        let kinds = faulty.iter().map(|found| found.kind.clone()).collect();
        let faulty = faulty.into_iter().next();
        let fixed = findings(ouzel, &archives.join("fixed"))?.into_iter().next();
        let words = program.what_if;
        let gain = if words.is_empty() {
            None
        } else {
            Some(replayed_gain(ouzel, &archives.join("faulty"), &words)?)
        };
        rows.push(Row { facts, faulty, kinds, fixed, replayed: gain.map(|gain| (words, gain)) });
    }
    Ok(page_from_rows(&rows))
}

/// What a repair gains in a replay of the faulty program, in nanoseconds.
fn replayed_gain(ouzel: &Path, archive: &Path, words: &[String]) -> Result<f64> {
    let text = output(Command::new(ouzel).args(["what-if", "--format", "json"]).args(words).arg(archive))?;
    let answer: Value = serde_json::from_str(&text).context("the replay is not JSON")?;
    answer["data"]["gain_ns"].as_f64().context("the replay has no gain")
}

/// The findings that promise something, the first being the one that counts. Ouzel says by its exit code 2 that a killed
/// program left incomplete data.
fn findings(ouzel: &Path, archive: &Path) -> Result<Vec<Found>> {
    let answer = Command::new(ouzel).args(["report", "--quiet", "--format", "json"]).arg(archive).output()?;
    ensure!(
        matches!(answer.status.code(), Some(0 | 2)),
        "no report on {}: {}",
        archive.display(),
        String::from_utf8_lossy(&answer.stderr)
    );
    let answer: Value = serde_json::from_slice(&answer.stdout).context("the report is not JSON")?;
    let findings = answer["data"]["findings"].as_array().context("the report has no findings")?;
    Ok(findings.iter().map(found_from_json).filter(|found| found.kind != "nothing_significant").collect())
}

fn found_from_json(finding: &Value) -> Found {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    Found {
        kind: text(&finding["kind"]),
        title: text(&finding["title"]),
        call_path: list(&finding["call_path"]).iter().map(text).collect(),
        ranks: list(&finding["ranks"]["list"])
            .iter()
            .filter_map(|rank| rank.as_u64()?.try_into().ok())
            .collect(),
        iterations: list(&finding["iterations"]["ranges"])
            .iter()
            .filter_map(|range| Some((range[0].as_u64()?, range[1].as_u64()?)))
            .collect(),
        gain_ns: finding["gain_ns"].as_f64().unwrap_or_default(),
        gain_fraction: finding["gain_fraction"].as_f64().unwrap_or_default(),
    }
}

impl Row {
    /// What is wrong with the answer; empty for a hit.
    fn misses(&self) -> Vec<&'static str> {
        match (&self.facts.program.planted, &self.faulty) {
            (None, Some(found)) if CLEAN_MAX < found.gain_fraction => {
                vec!["a finding where nothing is wrong"]
            }
            (None, _) => vec![],
            (Some(_), None) => vec!["no finding"],
            (Some(planted), Some(found)) => {
                let mut misses = misses_of(planted, found);
                if planted.false_kinds.iter().any(|kind| self.kinds.contains(kind)) {
                    misses.push("a false finding besides");
                }
                if GAIN_TOLERANCE < self.difference(found).abs() {
                    misses.push("gain");
                }
                misses
            }
        }
    }

    /// Projected less measured gain, as a part of the run time.
    fn difference(&self, found: &Found) -> f64 {
        (found.gain_ns - self.facts.gain_ns as f64) / self.facts.faulty.median_ns as f64
    }
}

fn misses_of(planted: &Planted, found: &Found) -> Vec<&'static str> {
    let mut misses = Vec::new();
    if found.kind != planted.kind {
        misses.push("kind");
    }
    let is_elsewhere = planted.ends_there && !found.call_path.ends_with(&planted.call_path);
    if is_elsewhere || !holds_path(&found.call_path, &planted.call_path) {
        misses.push("call path");
    }
    if planted.ranks.as_ref().is_some_and(|ranks| *ranks != found.ranks) {
        misses.push("ranks");
    }
    let first = found.iterations.first().map(|range| range.0);
    let is_seen = |since: u64| first.is_some_and(|first| (since..=since + SINCE_TOLERANCE).contains(&first));
    if planted.since_iteration.is_some_and(|since| !is_seen(since)) {
        misses.push("first iteration");
    }
    if !planted.iterations.is_empty() && planted.iterations != found.iterations {
        misses.push("iterations");
    }
    misses
}

/// Whether the regions follow each other in the path. A program without regions has only the empty path and MPI.
fn holds_path(found: &[String], planted: &[String]) -> bool {
    if planted.is_empty() {
        return found.iter().all(|region| region.starts_with("MPI_"));
    }
    found.windows(planted.len()).any(|run| run == planted)
}

fn page_from_rows(rows: &[Row]) -> String {
    let planted: Vec<&Row> = rows.iter().filter(|row| row.facts.program.planted.is_some()).collect();
    let mut page = format!(
        "# Validation: does the first finding name the fault?\n\n{} MPI programs in C and Fortran, each with one planted \
         fault and a switch, `--fixed`, that takes it away; and one with nothing wrong.\n{HEAD}",
        planted.len()
    );
    let n_hits = planted.iter().filter(|row| row.misses().is_empty()).count();
    let _ =
        writeln!(page, "\n{n_hits} of {} planted faults are named by the first finding.\n", planted.len());
    page.push_str(
        "| program | first finding | call path | ranks | projected gain | measured gain | difference | |\n",
    );
    page.push_str("|---|---|---|---|---:|---:|---:|---|\n");
    for row in rows {
        page.push_str(&line_of(row));
    }
    page.push_str(BELOW_THE_TABLE);
    page.push_str("\n## After the repair\n\n");
    page.push_str("The largest finding in the fixed program: what is left, or what the diagnosis sees where nothing was planted.\n\n");
    page.push_str("| program | largest finding | call path | projected gain |\n|---|---|---|---:|\n");
    for row in rows.iter().filter(|row| row.facts.program.planted.is_some()) {
        let name = &row.facts.program.name;
        let _ = match &row.fixed {
            None => writeln!(page, "| {name} | nothing significant | | |"),
            Some(found) => writeln!(
                page,
                "| {name} | {} | {} | {:.1} % |",
                found.title,
                found.call_path.join(" › "),
                100.0 * found.gain_fraction
            ),
        };
    }
    page.push_str(REPLAYED);
    for row in rows {
        if let Some((words, gain)) = &row.replayed {
            let (measured, run) = (row.facts.gain_ns as f64, row.facts.faulty.median_ns);
            let _ = writeln!(
                page,
                "| {} | `{}` | {} | {} | {:+.1} % |",
                row.facts.program.name,
                words.join(" "),
                of_run(*gain, run),
                of_run(measured, run),
                100.0 * (gain - measured) / run as f64
            );
        }
    }
    page.push_str("\n## The programs\n\n");
    page.push_str("| program | ranks × threads | the fault | what `--fixed` does | emulated by sleeping | faulty | fixed |\n");
    page.push_str("|---|---|---|---|---|---:|---:|\n");
    for row in rows {
        page.push_str(&program_line(&row.facts));
    }
    page.push_str(&measured_on(rows));
    page
}

fn line_of(row: &Row) -> String {
    let program = &row.facts.program;
    let misses = row.misses();
    let verdict =
        if misses.is_empty() { "hit".to_owned() } else { format!("**miss**: {}", misses.join(", ")) };
    let measured = match program.planted {
        Some(_) => of_run(row.facts.gain_ns as f64, row.facts.faulty.median_ns),
        None => String::new(),
    };
    match &row.faulty {
        None => format!("| {} | nothing significant | | | | {measured} | | {verdict} |\n", program.name),
        Some(found) => format!(
            "| {} | {} (`{}`) | {} | {} | {} | {measured} | {} | {verdict} |\n",
            program.name,
            found.title,
            found.kind,
            found.call_path.join(" › "),
            ranks_in_words(&found.ranks, program),
            of_run(found.gain_ns, row.facts.faulty.median_ns),
            match program.planted {
                Some(_) => format!("{:+.1} %", 100.0 * row.difference(found)),
                None => String::new(),
            },
        ),
    }
}

fn ranks_in_words(ranks: &[u32], program: &Program) -> String {
    if ranks.len() == program.n_ranks as usize {
        return "all".to_owned();
    }
    ranks.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

fn of_run(ns: f64, run_ns: u64) -> String {
    format!("{:.0} ms ({:.1} %)", ns / 1e6, 100.0 * ns / run_ns as f64)
}

fn program_line(facts: &Facts) -> String {
    let program = &facts.program;
    format!(
        "| [{}](../zoo/programs/{}) | {} × {} | {} | {} | {} | {:.0} ms | {:.0} ms |\n",
        program.name,
        program.source,
        program.n_ranks,
        program.n_threads,
        program.fault,
        program.fix,
        program.emulated,
        facts.faulty.median_ns as f64 / 1e6,
        facts.fixed.median_ns as f64 / 1e6,
    )
}

fn measured_on(rows: &[Row]) -> String {
    let machines: BTreeSet<&str> = rows.iter().map(|row| row.facts.machine.as_str()).collect();
    let machines: Vec<&str> = machines.into_iter().collect();
    let counts: Vec<usize> = rows.iter().map(|row| row.facts.faulty.untraced_ns.len()).collect();
    let (least, most) = (counts.iter().min().copied(), counts.iter().max().copied());
    let (least, most) = (least.unwrap_or_default(), most.unwrap_or_default());
    let counts = if least == most { least.to_string() } else { format!("{least} to {most}") };
    let tracing = rows.iter().map(|row| {
        (row.facts.faulty.traced_ns as f64 / row.facts.faulty.median_ns as f64 - 1.0).abs() * 100.0
    });
    let priority = if rows.iter().all(|row| row.facts.real_time) { "with" } else { "not all with" };
    format!(
        "\nTimes are medians of {counts} runs without tracing, faulty and fixed in turn, {priority} real-time priority; \
         recorded runs differ from them by at most {:.1} %.\nMeasured on: {}.\n",
        tracing.fold(0.0, f64::max),
        machines.join("; "),
    )
}

/// After the line that counts the programs.
const HEAD: &str = "\
Some are one fault and little else; others look like applications, with several communicators, nested functions, phases, set-up and end.
`ouzel report` reads the trace of the faulty program; its first finding should name the fault, and the gain it projects should be what the repair gains when it is measured.

This page is written by `cargo xtask zoo --table` from the archives in [testdata/zoo](../testdata/zoo/ORIGIN.md), and `cargo xtask test` fails when it is not current.
`cargo xtask zoo` builds and runs the programs anew.

What to know about the numbers:

- Work is emulated: a rank that computes sleeps up to a deadline, so that 16 ranks on two cores take as long as on 16 cores. It varies by up to 0.4 % at random, the same in every run.
- Communication is real Open MPI over shared memory, but a rank that waits inside of MPI tests and sleeps in turn (20 to 80 µs) instead of spinning, which would take the cores from the others.
- Where the fault is what the network costs, a latency is slept inside of the MPI call, as the table of the programs says. Such latencies are larger than those of real networks, as the amounts of work between them are.
- An accelerator is a stand-in: a stream whose kernels take the time they are said to take, recorded as CUDA is.
- A program that is killed ends at a step, the same faulty and fixed; what the last buffer of 64 events of each rank held is not in its archive, and nothing is left that was entered.
- Ranks start the recorded run together; MPI_Init is not part of it.
- The rules were written with most of these programs at hand. A hit shows that a rule works and that its gain is right, not that every program with this fault is recognised.
";

const BELOW_THE_TABLE: &str = "
Gains are of the run time of the faulty program; the difference is projected less measured gain.
A hit is: the kind is the planted one, the planted call path is part of the finding's, and its end where a function is at fault with all that it calls, the ranks are the planted ones where some ranks are at fault, the first iteration is at most 5 after the planted one where the fault begins late, the iterations are the planted ones where only some have it, no other finding is of a kind that would be false, and the difference is at most 10 % of the run time.
For the program without a fault a hit is: no finding above 2 %.
";

const REPLAYED: &str = "
## The repair by replay

What `ouzel what-if` projects from the trace of the faulty program for what `--fixed` does.
The other repairs have no words there: they change the order of calls (late_sender), take a synchronisation away (hot_barrier), or concern threads (lock_convoy), for example.

| program | what-if | projected gain | measured gain | difference |
|---|---|---:|---:|---:|
";

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn finding() -> Value {
        json!({
            "kind": "growing_imbalance", "title": "t", "call_path": ["main", "step", "move"],
            "ranks": {"ranges": "3", "list": [3]}, "iterations": {"n_all": 40, "ranges": [[12, 39]]},
            "gain_ns": 30, "gain_fraction": 0.3,
        })
    }

    fn planted() -> Planted {
        Planted {
            kind: "growing_imbalance".into(),
            call_path: vec!["step".into(), "move".into()],
            ranks: Some(vec![3]),
            since_iteration: Some(10),
            iterations: vec![],
            epochs: vec![],
            ends_there: false,
            false_kinds: vec![],
        }
    }

    #[test]
    fn each_part_of_a_fault_can_be_missed() {
        let found = |change: fn(&mut Value)| {
            let mut finding = finding();
            change(&mut finding);
            misses_of(&planted(), &found_from_json(&finding))
        };
        assert_eq!(found(|_| ()), Vec::<&str>::new());
        assert_eq!(found(|finding| finding["kind"] = json!("slow_rank")), ["kind"]);
        assert_eq!(found(|finding| finding["call_path"] = json!(["main", "move"])), ["call path"]);
        assert_eq!(found(|finding| finding["call_path"] = json!([])), ["call path"]);
        assert!(holds_path(&["MPI_Allreduce".into()], &[]) && holds_path(&[], &[]));
        assert!(!holds_path(&["main".into()], &[]));
        assert_eq!(found(|finding| finding["ranks"]["list"] = json!([2, 3])), ["ranks"]);
        assert_eq!(found(|finding| finding["iterations"] = json!(null)), ["first iteration"]);
        assert_eq!(found(|finding| finding["iterations"]["ranges"][0][0] = json!(9)), ["first iteration"]);
        let whole = Planted { ends_there: true, ..planted() };
        assert_eq!(misses_of(&whole, &found_from_json(&finding())), Vec::<&str>::new());
        let whole = Planted { call_path: vec!["main".into(), "step".into()], ..whole };
        assert_eq!(misses_of(&whole, &found_from_json(&finding())), ["call path"]);
        let outputs = Planted { iterations: vec![(12, 39)], since_iteration: None, ..planted() };
        assert_eq!(misses_of(&outputs, &found_from_json(&finding())), Vec::<&str>::new());
        let outputs = Planted { iterations: vec![(12, 38)], ..outputs };
        assert_eq!(misses_of(&outputs, &found_from_json(&finding())), ["iterations"]);
    }
}
