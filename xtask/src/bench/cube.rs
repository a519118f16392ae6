//! Every severity of a generated CUBE profile, beside `pycubexr`.

use super::measure::{Contender, alternate, median, peak_bytes};
use super::table::{Row, Target};
use crate::runner::{output, run};
use crate::workspace;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// 200 call paths × 256 locations × 40 metrics: 2 million values, 16 MB.
const SIZE: [&str; 3] = ["200", "256", "40"];
const ROUNDS: usize = 5;
/// How many times as fast we are to be.
const RATIO: f64 = 20.0;

/// Our programs: one writes a profile, one reads it.
pub struct Programs {
    make: PathBuf,
    sum: PathBuf,
}

impl Programs {
    /// The examples of `ouzel-cube`, as they are built.
    pub fn in_folder(examples: &Path) -> Self {
        Programs { make: examples.join("make_cubex"), sum: examples.join("sum_cubex") }
    }
}

/// 400 call paths × 3600 locations × 40 metrics: 460 MB.
const LARGE_SIZE: [&str; 3] = ["400", "3600", "40"];
/// What `ouzel info` of a large profile may take.
const INFO_SECONDS: f64 = 0.3;
const INFO_BYTES: f64 = 60e6;

/// `ouzel info` of a large profile, from start to end.
fn info(root: &Path, ouzel: &Path, ours: &Programs, folder: &Path) -> Result<Vec<Row>> {
    let profile = folder.join("large.cubex");
    if !profile.exists() {
        let half = profile.with_extension("half");
        anyhow::ensure!(
            run(Command::new(&ours.make).arg(&half).args(LARGE_SIZE))?.status.success(),
            "make_cubex failed"
        );
        std::fs::rename(&half, &profile)?;
    }
    println!("measuring ouzel info of a large CUBE profile");
    let runs = alternate(&[Contender::whole_process(ouzel, ["info".into(), profile.clone()])], ROUNDS)?;
    let n_bytes = peak_bytes(root, ouzel, &["info".as_ref(), profile.as_os_str()])?;
    Ok(vec![
        Row::duration("ouzel info, CUBE profile", "460 MB", median(&runs[0]), Target::AtMost(INFO_SECONDS)),
        Row::memory("the same, peak memory", "460 MB", n_bytes, Target::Below(INFO_BYTES)),
    ])
}

/// The rows; those beside pycubexr need Python.
pub fn rows(root: &Path, ouzel: &Path, python: Option<&Path>, ours: &Programs) -> Result<Vec<Row>> {
    let folder = workspace::cache(root).join("bench");
    std::fs::create_dir_all(&folder).context("cannot make the folder of generated profiles")?;
    let mut rows = info(root, ouzel, ours, &folder)?;
    let profile = folder.join("generated.cubex");
    let mut make = Command::new(&ours.make);
    make.arg(&profile).args(SIZE);
    anyhow::ensure!(run(&mut make)?.status.success(), "make_cubex failed");
    let script = root.join("peers/python/read_cubex.py");
    let said =
        |command: &mut Command| -> Result<serde_json::Value> { Ok(serde_json::from_str(&output(command)?)?) };
    let our_answer = said(Command::new(&ours.sum).arg(&profile))?;
    let n_values = our_answer["n_values"].as_u64().context("sum_cubex says how many values there are")?;
    let what = "ouzel-cube, every severity, 1 thread";
    let Some(python) = python else {
        println!("skipped: pycubexr, for there is no Python environment");
        let seconds = median(&alternate(&[Contender::whole_process(&ours.sum, [profile])], ROUNDS)?[0]);
        rows.push(Row::speed(what, "2M values", seconds, n_values));
        return Ok(rows);
    };
    let their_answer = said(Command::new(python).arg(&script).arg(&profile))?;
    let sums = [&our_answer, &their_answer].map(|answer| answer["sum"].as_f64().unwrap_or(f64::NAN));
    let agree =
        our_answer["n_values"] == their_answer["n_values"] && (sums[0] - sums[1]).abs() <= 1e-9 * sums[0];
    anyhow::ensure!(agree, "ouzel-cube and pycubexr read different things: {our_answer} and {their_answer}");
    let contenders = [
        Contender::whole_process(&ours.sum, [profile.clone()]),
        Contender::whole_process(python, [script, profile]),
    ];
    let runs = alternate(&contenders, ROUNDS)?;
    let (mine, theirs) = (median(&runs[0]), median(&runs[1]));
    rows.extend([
        Row::speed("pycubexr 2.1.1, every severity", "2M values", theirs, n_values),
        Row::speed(what, "2M values", mine, n_values).beside(
            "pycubexr",
            theirs / mine,
            Target::AtLeast(RATIO),
        ),
    ]);
    Ok(rows)
}
