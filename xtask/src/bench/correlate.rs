//! Filtered correlation: one question from spectra yet to compute and from kept ones, beside the paper's times on its
//! machine and beside NumPy and SciPy on this one.
//!
//! Views are made up, random and smooth, and unrelated: the bounds spare little, which is the hard case. Two threads.

use super::measure::{Contender, alternate, median};
use super::table::{Row, Target};
use crate::runner::{output, run};
use crate::{setup, workspace};
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A topology as large as one of the paper's.
struct Case {
    name: &'static str,
    sizes: &'static str,
    n_places: u64,
    n_views: u64,
    /// Seconds of one question in the paper.
    paper: f64,
    /// Views that the peer gets: all, or so many that its spectra fit into memory; compared per view then.
    n_views_of_peer: u64,
}

const SWEEP3D: Case = Case {
    name: "65,536 x 850, 3-D",
    sizes: "32x32x64",
    n_places: 65_536,
    n_views: 850,
    paper: 0.6,
    n_views_of_peer: 850,
};
const PSOPEN: Case = Case {
    name: "65,536 x 2031, 7-D",
    sizes: "4x4x4x8x2x16x4",
    n_places: 65_536,
    n_views: 2031,
    paper: 1.8,
    n_views_of_peer: 2031,
};
const NEKBONE: Case = Case {
    name: "1,835,008 x 624, 7-D",
    sizes: "28x8x8x8x2x16x4",
    n_places: 1_835_008,
    n_views: 624,
    paper: 52.3,
    n_views_of_peer: 24,
};

const JOBS: &str = "2";
/// How many times as fast as the paper the twenty nearest are to be found, and as NumPy.
const RATIO_TO_PAPER: f64 = 5.0;
const RATIO_TO_NUMPY: f64 = 2.0;
const PEAK_BYTES: f64 = 2e9;

/// The rows of the table.
pub fn rows(root: &Path, quick: bool, rounds: usize, skipped: &mut Vec<String>) -> Result<Vec<Row>> {
    let example =
        ["build", "--release", "--quiet", "--package", "ouzel-correlate", "--example", "correlate_speed"];
    let ran = run(Command::new(workspace::cargo()).current_dir(root).args(example))?;
    anyhow::ensure!(ran.status.success(), "cargo {} failed", example.join(" "));
    let ours = workspace::target(root)?.join("release/examples/correlate_speed");
    let folder = workspace::cache(root).join("bench");
    fs::create_dir_all(&folder).context("cannot write into the cache folder")?;
    let python = match setup::install_scipy(root) {
        Ok(python) => Some(python),
        Err(error) => {
            skipped.push(format!("correlation beside NumPy: {error:#}"));
            None
        }
    };
    let mut rows = Vec::new();
    for case in [SWEEP3D, PSOPEN, NEKBONE] {
        // Two planes of half the frequencies, of 8 bytes each: a little more than the values.
        let needed = case.n_places * (case.n_views * 9 + case.n_views_of_peer * 8) / (1 << 20);
        let free = free_megabytes(&folder)?;
        if quick && case.n_views == NEKBONE.n_views {
            skipped.push(format!("correlation, {}: only without --quick", case.name));
        } else if needed + needed / 4 > free {
            skipped.push(format!("correlation, {}: {needed} MB of disk needed, {free} free", case.name));
        } else {
            rows.extend(case.rows(root, &folder, &ours, python.as_deref(), rounds)?);
        }
    }
    Ok(rows)
}

fn free_megabytes(folder: &Path) -> Result<u64> {
    let said = output(Command::new("df").args(["--output=avail", "--block-size=1M"]).arg(folder))?;
    said.lines().last().unwrap_or_default().trim().parse().context("df says how much is free")
}

/// A file that is gone when the measurement is.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.0));
    }
}

impl Case {
    fn arguments(&self, command: &str, n_views: u64, file: &Path) -> Vec<PathBuf> {
        let words = [command, self.sizes, &n_views.to_string(), JOBS].map(PathBuf::from);
        words.into_iter().chain([file.to_owned()]).collect()
    }

    fn rows(
        &self,
        root: &Path,
        folder: &Path,
        ours: &Path,
        python: Option<&Path>,
        rounds: usize,
    ) -> Result<Vec<Row>> {
        let spectra = Scratch(folder.join(format!("correlate-{}.spectra", self.n_views)));
        let values = Scratch(folder.join(format!("correlate-{}.values", self.n_views)));
        let mine =
            |command: &str| Contender::own_clock(ours, self.arguments(command, self.n_views, &spectra.0));
        println!("measuring correlation, {}", self.name);
        // Once: it takes minutes where views are many, and writes what the others read.
        run_once(ours, self.arguments("first", self.n_views, &spectra.0))?;
        let mut contenders = vec![mine("top"), mine("all")];
        let script = root.join("peers/python/correlate_views.py");
        if let Some(python) = python {
            run_once(ours, self.arguments("values", self.n_views_of_peer, &values.0))?;
            let theirs = |command: &str| {
                let rest = self.arguments(command, self.n_views_of_peer, &values.0);
                Contender::own_clock(python, [script.clone()].into_iter().chain(rest))
            };
            contenders.extend([theirs("top"), theirs("first")]);
            self.check(ours, python, &script, &values.0)?;
        }
        let runs = alternate(&contenders, rounds.min(3))?;
        let firsts = alternate(&[mine("first")], 1)?;
        let (top, all, first) = (median(&runs[0]), median(&runs[1]), median(&firsts[0]));
        let n_values = self.n_places * self.n_views;
        let row = |what: &str, seconds| Row::speed(what, self.name, seconds, n_values);
        let paper = self.paper;
        let to_paper = Target::AtLeast(RATIO_TO_PAPER);
        let mut rows = vec![
            row("correlate, top 20, spectra kept", top).beside("the paper's", paper / top, to_paper),
            row("correlate, all, spectra kept", all).beside("the paper's", paper / all, Target::AtLeast(1.0)),
            row("correlate, top 20, spectra computed and kept", first),
        ];
        if let [_, _, their_top, their_first] = &runs[..] {
            let per_view = self.n_views as f64 / self.n_views_of_peer as f64;
            let (their_top, their_first) = (median(their_top) * per_view, median(their_first) * per_view);
            let wanted = || Target::AtLeast(RATIO_TO_NUMPY);
            rows.push(row("NumPy and SciPy, top 20, spectra in memory", their_top));
            rows.push(row("correlate, top 20, spectra kept", top).beside("NumPy", their_top / top, wanted()));
            rows.push(row("NumPy and SciPy, top 20, spectra computed", their_first));
            let ratio = their_first / first;
            rows.push(row("correlate, top 20, spectra computed and kept", first).beside(
                "NumPy",
                ratio,
                wanted(),
            ));
        }
        for command in ["top", "first"] {
            let mut measured = Command::new("python3");
            measured.arg(root.join("peers/python/peak_memory.py")).arg(ours);
            measured.args(self.arguments(command, self.n_views, &spectra.0));
            let said = output(&mut measured)?;
            let n_bytes: f64 =
                said.lines().last().unwrap_or_default().parse().context("peak_memory.py prints a number")?;
            let what = format!("correlate, {command}, peak memory, profile in it");
            rows.push(Row::memory(&what, self.name, n_bytes, Target::Below(PEAK_BYTES)));
        }
        Ok(rows)
    }

    /// Both find the same views, and the same R.
    fn check(&self, ours: &Path, python: &Path, script: &Path, values: &Path) -> Result<()> {
        let spectra = Scratch(values.with_extension("check"));
        let n_views = self.n_views_of_peer;
        let said = |command: &mut Command| -> Result<serde_json::Value> {
            Ok(serde_json::from_str(output(command)?.lines().last().unwrap_or_default())?)
        };
        let mine = said(Command::new(ours).args(self.arguments("first", n_views, &spectra.0)))?;
        let theirs = said(Command::new(python).arg(script).args(self.arguments("top", n_views, values)))?;
        let rows = |answer: &serde_json::Value| -> Vec<(u64, f64)> {
            let rows = answer["rows"].as_array().into_iter().flatten();
            rows.filter_map(|row| Some((row[0].as_u64()?, row[1].as_f64()?))).collect()
        };
        let (mine, theirs) = (rows(&mine), rows(&theirs));
        let agree = !mine.is_empty()
            && mine.len() == theirs.len()
            && mine.iter().zip(&theirs).all(|(a, b)| a.0 == b.0 && (a.1 - b.1).abs() < 1e-9);
        anyhow::ensure!(agree, "correlate and NumPy find different views: {mine:?} and {theirs:?}");
        Ok(())
    }
}

fn run_once(program: &Path, arguments: Vec<PathBuf>) -> Result<()> {
    output(Command::new(program).args(arguments)).map(drop)
}
