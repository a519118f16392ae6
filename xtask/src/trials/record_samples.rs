//! Samples of `ouzel record` beside those that `perf record` takes of the same run, of a program that none of us wrote.
//!
//! Law: of each function, the shares of both differ by at most three standard errors.

use super::record_programs::LAMMPS;
use crate::runner::{answers, bounded, output};
use crate::setup::install_debian_package;
use crate::steps::{Context, Outcome};
use crate::workspace;
use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Longer than one run takes.
const SECONDS: u32 = 600;
/// Samples a second of the recorder.
const HZ: u32 = 1000;
/// Those of `perf`: another number, so that the two do not keep step.
const HZ_OF_PERF: u32 = 997;
/// Functions with less of the samples are not compared.
const LEAST_SHARE: f64 = 0.005;
const STANDARD_ERRORS: f64 = 3.0;
/// The file with the program's functions.
const LIBRARY: &str = "liblammps";

/// Samples by function.
type Shares = BTreeMap<String, f64>;

/// Records LAMMPS, with one process and without a launcher, by both at the same time.
pub fn compare(context: &Context) -> Result<Outcome> {
    let place = workspace::target(&context.root)?.join("trials/record-samples");
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place)?;
    let mut perf = Command::new("perf");
    if !answers(perf.args(["record", "-o"]).arg(place.join("try")).args(["--", "true"])) {
        return Ok(Outcome::Skipped("perf record: it is not there, or may not record here".to_owned()));
    }
    if !answers(Command::new("lmp").arg("-help"))
        && let Err(why) = install_debian_package("lammps")
    {
        return Ok(Outcome::Skipped(format!("{why:#}")));
    }
    let ouzel = workspace::target(&context.root)?.join("release/ouzel");
    ensure!(ouzel.is_file(), "{} is not built: cargo build --release", ouzel.display());
    fs::write(place.join("in.melt"), format!("{LAMMPS}run 2500\n"))?;
    let mut both = bounded(SECONDS, Path::new("perf"));
    both.args(["record", "-q", "-F", &HZ_OF_PERF.to_string(), "-o", "perf.data", "--"]).arg(&ouzel);
    both.args(["record", "--quiet", "--sample", &HZ.to_string(), "-o", "run", "--", "lmp", "-in", "in.melt"]);
    output(both.current_dir(&place).env("OMP_NUM_THREADS", "1"))?;
    let (perf, own) = (samples_of_perf(&place)?, samples_of_ouzel(&ouzel, &place)?);
    let own: Shares = own.into_iter().filter(|(function, _)| perf.contains_key(function)).collect();
    let (n_perf, n_own): (f64, f64) = (perf.values().sum(), own.values().sum());
    let (mut lines, mut failed, mut n_compared) = (Vec::new(), false, 0);
    for (function, n) in perf.iter().filter(|(_, n)| LEAST_SHARE * n_perf <= **n) {
        let (theirs, ours) = (n / n_perf, own.get(function).copied().unwrap_or(0.0) / n_own);
        let of_both = (n + ours * n_own) / (n_perf + n_own);
        let error = (of_both * (1.0 - of_both) * (1.0 / n_perf + 1.0 / n_own)).sqrt();
        let n_errors = (ours - theirs) / error;
        n_compared += 1;
        failed |= STANDARD_ERRORS < n_errors.abs();
        let (ours, theirs) = (ours * 100.0, theirs * 100.0);
        lines.push(format!("{function}: {ours:.2} %, by perf {theirs:.2} %: {n_errors:+.1} standard errors"));
    }
    ensure!(2 < n_compared, "perf has {n_compared} functions of {LIBRARY} to compare with");
    lines.insert(0, format!("{n_own:.0} samples, and {n_perf:.0} of perf, {n_compared} functions"));
    Ok(if failed { Outcome::Failed(lines) } else { Outcome::Passed(lines) })
}

/// Functions of the program's library, without the types of their arguments.
fn samples_of_perf(place: &Path) -> Result<Shares> {
    let mut script = bounded(SECONDS, Path::new("perf"));
    script.args(["script", "-i", "perf.data", "--comm", "lmp", "-F", "ip,sym,dso"]);
    let mut samples = Shares::new();
    for line in output(script.current_dir(place))?.lines().filter(|line| line.contains(LIBRARY)) {
        let named = line.trim_start().split_once(' ').and_then(|(_, rest)| rest.rsplit_once(" ("));
        let Some((name, _)) = named else { continue };
        *samples.entry(without_types(name)).or_default() += 1.0;
    }
    Ok(samples)
}

/// Exclusive time in periods.
fn samples_of_ouzel(ouzel: &Path, place: &Path) -> Result<Shares> {
    let mut profile = bounded(SECONDS, ouzel);
    profile.args(["profile", "run", "--format", "json"]);
    let answer: Value = serde_json::from_str(&output(profile.current_dir(place))?)?;
    let mut samples = Shares::new();
    for row in answer["data"]["rows"].as_array().context("a profile has rows")? {
        let (Some(region), Some(ns)) = (row["region"].as_str(), row["exclusive_ns"].as_f64()) else {
            continue;
        };
        *samples.entry(without_types(region)).or_default() += ns * f64::from(HZ) / 1e9;
    }
    Ok(samples)
}

fn without_types(name: &str) -> String {
    name.split('(').next().unwrap_or(name).to_owned()
}
