//! Traces of PyTorch: bytes per second and memory of a breakdown, and its time beside HTA's, from files to answer.

use super::measure::{Contender, RunCost, alternate, cost, median, peak_bytes};
use super::table::{Row, Target};
use crate::{setup, workspace};
use anyhow::{Context, Result};
use ouzel_testkit::pytorch::{PyTorchFacts, write_trace};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// HTA takes minutes and gigabytes for the large trace, so it is compared on this many bytes.
const BYTES_FOR_HTA: u64 = 20_000_000;
const ROUNDS_OF_HTA: usize = 3;
/// Of a job as large as people bring: ranks, and bytes of each.
const JOB: (u32, u64) = (64, 200_000_000);
const QUICK_JOB: (u32, u64) = (16, 5_000_000);
/// Bytes that a second of a core is to answer for, whatever else runs.
const BYTES_PER_CORE_SECOND: f64 = 250e6;

/// A folder with the trace of rank 0, of `n_bytes`.
fn trace(root: &Path, n_bytes: u64) -> Result<(PathBuf, PyTorchFacts)> {
    let folder = workspace::cache(root).join("bench").join(format!("pytorch-{n_bytes}"));
    fs::create_dir_all(&folder).context("cannot write into the cache folder")?;
    let path = folder.join("rank-0.pt.trace.json");
    if path.exists() {
        return Ok((folder, write_trace(std::io::sink(), 0, n_bytes)?));
    }
    println!("writing a PyTorch trace of {} MB", n_bytes / 1_000_000);
    let half = path.with_extension("half");
    let facts = write_trace(BufWriter::new(File::create(&half)?), 0, n_bytes)?;
    fs::rename(&half, &path)?;
    Ok((folder, facts))
}

fn breakdown(ouzel: &Path, folder: &Path) -> Contender {
    let arguments: [PathBuf; 6] =
        ["breakdown".into(), folder.into(), "--jobs".into(), "1".into(), "--format".into(), "json".into()];
    Contender::whole_process(ouzel, arguments)
}

/// The rows of the table; what is skipped goes to `skipped`.
pub fn rows(
    root: &Path,
    ouzel: &Path,
    quick: bool,
    rounds: usize,
    skipped: &mut Vec<String>,
) -> Result<Vec<Row>> {
    let (n_bytes, size) = if quick { (50_000_000, "50 MB") } else { (500_000_000, "500 MB") };
    let (folder, facts) = trace(root, n_bytes)?;
    println!("measuring ouzel breakdown on {size}");
    let runs = alternate(&[breakdown(ouzel, &folder)], rounds)?;
    let seconds = median(&runs[0]);
    let peak = |command: &str| {
        let words = [command.as_ref(), folder.as_os_str(), "--jobs".as_ref(), "1".as_ref()];
        peak_bytes(root, ouzel, &words)
    };
    let megabytes = facts.n_bytes as f64 / 1e6;
    let what = format!("ouzel breakdown --jobs 1, PyTorch trace, {:.0} MB/s", megabytes / seconds);
    // 300 MB/s, in events.
    let wanted = Target::AtLeast(300e6 * facts.n_events as f64 / facts.n_bytes as f64);
    let mut rows = vec![
        Row::speed(&what, size, seconds, facts.n_events).at_rate(facts.n_events as f64 / seconds, wanted),
        Row::memory("the same, peak memory", size, peak("breakdown")?, Target::Below(150e6)),
    ];
    // The same from start to end with other commands: what lies between process and work shows.
    for command in ["profile", "info"] {
        let arguments = [command.into(), folder.clone(), "--jobs".into(), "1".into()];
        let runs = alternate(&[Contender::whole_process(ouzel, arguments)], rounds)?;
        let seconds = median(&runs[0]);
        let what = format!("ouzel {command} --jobs 1, PyTorch trace, {:.0} MB/s", megabytes / seconds);
        rows.push(
            Row::speed(&what, size, seconds, facts.n_events).at_rate(facts.n_events as f64 / seconds, wanted),
        );
        rows.push(Row::memory("the same, peak memory", size, peak(command)?, Target::Below(150e6)));
    }
    match setup::install_hta(root) {
        Ok(python) => rows.extend(beside_hta(root, ouzel, &python)?),
        Err(error) => {
            println!("skipped: HTA: {error:#}");
            skipped.push(format!("HTA: {error:#}"));
        }
    }
    Ok(rows)
}

/// A trace of many ranks with two threads. It is removed afterwards: the full one has 12.8 GB.
pub fn job(root: &Path, ouzel: &Path, quick: bool) -> Result<Vec<Row>> {
    let (n_ranks, n_bytes) = if quick { QUICK_JOB } else { JOB };
    let folder = workspace::cache(root).join("bench").join(format!("pytorch-{n_ranks}-{n_bytes}"));
    println!("writing a PyTorch trace of {n_ranks} × {} MB", n_bytes / 1_000_000);
    let facts = crate::synth::write_pytorch_ranks(&folder, n_ranks, n_bytes)?;
    let size = format!("{n_ranks} × {} MB", n_bytes / 1_000_000);
    let wanted = Target::AtLeast(BYTES_PER_CORE_SECOND);
    let mut rows = Vec::new();
    let questions: [&[&str]; 9] = [
        &["breakdown"],
        &["profile"],
        &["idle"],
        &["kernels"],
        &["kernels", "--over-time", "100"],
        &["idle", "--by", "cause"],
        &["critical-path"],
        &["critical-path", "--no-launch-cost"],
        &["report"],
    ];
    for question in questions {
        let command = question.join(" ");
        println!("measuring ouzel {command} on {size}");
        let mut words: Vec<&OsStr> = question.iter().map(OsStr::new).collect();
        words.extend([folder.as_os_str(), OsStr::new("--jobs"), OsStr::new("2")]);
        let RunCost { peak_bytes, cpu_seconds, wall_seconds } = cost(root, ouzel, &words)?;
        let per_core = facts.n_bytes as f64 / cpu_seconds;
        let what = format!("ouzel {command} --jobs 2, PyTorch traces of all ranks");
        rows.push(Row::speed(&what, &size, wall_seconds, facts.n_events).and(
            &format!("{:.0} MB/s of a core,", per_core / 1e6),
            wanted,
            per_core,
            |bytes| format!("{:.0} MB/s", bytes / 1e6),
        ));
        rows.push(Row::memory("the same, peak memory", &size, peak_bytes, Target::Below(300e6)));
    }
    fs::remove_dir_all(&folder).context("cannot remove the generated trace")?;
    Ok(rows)
}

fn beside_hta(root: &Path, ouzel: &Path, python: &Path) -> Result<Vec<Row>> {
    let (folder, facts) = trace(root, BYTES_FOR_HTA)?;
    let script = root.join("peers/python/hta_breakdown.py");
    let contenders = [breakdown(ouzel, &folder), Contender::whole_process(python, [script, folder.clone()])];
    println!("measuring ouzel breakdown and HTA on 20 MB");
    let runs = alternate(&contenders, ROUNDS_OF_HTA)?;
    let (ours, theirs) = (median(&runs[0]), median(&runs[1]));
    Ok(vec![
        Row::speed("HTA, files to temporal breakdown", "20 MB", theirs, facts.n_events),
        Row::speed("ouzel breakdown --jobs 1", "20 MB", ours, facts.n_events).beside(
            "HTA",
            theirs / ours,
            Target::AtLeast(20.0),
        ),
    ])
}
