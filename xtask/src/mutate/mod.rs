//! `cargo xtask mutate`: spoilt archives of all formats, read by the binary as users run it, under limits.
//!
//! ```text
//! seed ──► sample ──copied──► spoilt files ──► commands under limits ──► what must hold of each
//! ```
//!
//! Each case follows from its number alone: the sample, what is spoilt, and the commands. Law, for each command: it
//! ends without being killed, with a documented exit code; it does not panic; its answer is well formed; failures and
//! lost data are reported; no input is changed, and nothing is left behind but a complete answer.
//! Limits: 2 GiB of memory, 10 s of processor time, 256 MiB of output.

mod case;
mod commands;
mod files;
mod samples;
mod spoil;

use crate::stopwatch::Stopwatch;
use crate::workspace;
use anyhow::{Context, Result, bail, ensure};
use case::Case;
use samples::Sample;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const HELP: &str = "\
usage: cargo xtask mutate [--seconds N] [--seed S]
       cargo xtask mutate --case NUMBER

  --seconds N     how long (default 60)
  --seed S        where cases begin (default 1): other seeds, other cases
  --case NUMBER   one case, shown; its folder is kept

Asked is target/release/ouzel, or $OUZEL. Even cases are of archives in the repository, odd ones of small archives of
../shared/data, where they are.
";

/// Cases of one seed.
const CASES_PER_SEED: u64 = 1 << 32;
/// Failures after which a run ends: more would add little.
const MAX_FAILURES: usize = 20;

/// `cargo xtask mutate`
pub fn run(arguments: &[String]) -> Result<()> {
    let root = workspace::root()?;
    let (mut seconds, mut seed) = (60, 1);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut number = || -> Result<u64> {
            let text = rest.next().with_context(|| format!("{argument} needs a number\n\n{HELP}"))?;
            text.parse().with_context(|| format!("{text:?} is no number"))
        };
        match argument.as_str() {
            "--help" | "-h" => {
                print!("{HELP}");
                return Ok(());
            }
            "--seconds" => seconds = number()?,
            "--seed" => seed = number()?,
            "--case" => {
                let case = number()?;
                return Bench::new(&root)?.show(case);
            }
            other => bail!("no option {other:?}\n\n{HELP}"),
        }
    }
    let lines = mutate(&root, Duration::from_secs(seconds), seed)?;
    lines.iter().for_each(|line| println!("{line}"));
    Ok(())
}

/// Tries cases for the given time; returns how many.
///
/// # Errors
/// With each case in which something does not hold.
pub fn mutate(root: &Path, length: Duration, seed: u64) -> Result<Vec<String>> {
    let bench = Bench::new(root)?;
    let clock = Stopwatch::start();
    let next = AtomicU64::new(seed.wrapping_mul(CASES_PER_SEED));
    let failures = Mutex::new(Vec::new());
    let n_runs = AtomicU64::new(0);
    let work = || -> Result<()> {
        while clock.elapsed() < length {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(case) = bench.case(number) else { continue };
            let folder = bench.folder.join(format!("case-{number}"));
            let (ran, flaws) = case.run(&bench.ouzel, &folder)?;
            n_runs.fetch_add(ran, Ordering::Relaxed);
            std::fs::remove_dir_all(&folder)
                .with_context(|| format!("cannot remove {}", folder.display()))?;
            let mut failures = failures.lock().expect("no thread panics");
            failures.extend(flaws.into_iter().map(|flaw| (number, flaw)));
            if MAX_FAILURES <= failures.len() {
                break;
            }
        }
        Ok(())
    };
    let n_threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| -> Result<()> {
        let others: Vec<_> = (1..n_threads).map(|_| scope.spawn(work)).collect();
        work()?;
        others.into_iter().try_for_each(|other| other.join().expect("no thread panics"))
    })?;
    let n_cases = next.load(Ordering::Relaxed) - seed.wrapping_mul(CASES_PER_SEED);
    let mut failures = failures.into_inner().expect("no thread panics");
    failures.sort();
    if failures.is_empty() {
        let (n_samples, n_runs) = (bench.samples.len(), n_runs.load(Ordering::Relaxed));
        return Ok(vec![format!("{n_cases} cases of {n_samples} archives, {n_runs} commands: all hold")]);
    }
    let text =
        |(number, flaw): &(u64, String)| format!("{flaw}\n  again: cargo xtask mutate --case {number}");
    let texts: Vec<String> = failures.iter().map(text).collect();
    bail!("{} flaws in {n_cases} cases\n{}", failures.len(), texts.join("\n"))
}

/// What cases are made of and tried with.
struct Bench {
    ouzel: PathBuf,
    samples: Vec<Sample>,
    /// Numbers of samples, of the repository and of elsewhere.
    own: Vec<usize>,
    foreign: Vec<usize>,
    folder: PathBuf,
}

impl Bench {
    fn new(root: &Path) -> Result<Bench> {
        let target = workspace::target(root)?;
        let ouzel = match std::env::var_os("OUZEL") {
            Some(ouzel) => std::path::absolute(ouzel)?,
            None => built(root, &target)?,
        };
        let folder = target.join("mutate").join(std::process::id().to_string());
        std::fs::create_dir_all(&folder)?;
        let samples = samples::all(root, &ouzel, &folder)?;
        let numbers = |is_own| (0..samples.len()).filter(|&i| samples[i].is_own == is_own).collect();
        Ok(Bench { ouzel, own: numbers(true), foreign: numbers(false), samples, folder })
    }

    /// The case of a number; `None` if its samples are not there.
    fn case(&self, number: u64) -> Option<Case<'_>> {
        let of = if number.is_multiple_of(2) { &self.own } else { &self.foreign };
        let of: Vec<&Sample> = of.iter().map(|&i| &self.samples[i]).collect();
        (!of.is_empty()).then(|| Case::new(number, &of))
    }

    fn show(self, number: u64) -> Result<()> {
        let case = self.case(number).context("there is no ../shared/data, which odd cases are of")?;
        let folder = self.folder.join(format!("case-{number}"));
        println!("{case}\nin {}", folder.display());
        let (_, flaws) = case.run(&self.ouzel, &folder)?;
        // The folder stays, to be looked at.
        std::mem::forget(self);
        flaws.iter().for_each(|flaw| println!("flaw: {flaw}"));
        ensure!(flaws.is_empty(), "{} flaws", flaws.len());
        println!("all holds");
        Ok(())
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        // What cannot be removed is among build products and does no harm.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn built(root: &Path, target: &Path) -> Result<PathBuf> {
    let mut build = Command::new(workspace::cargo());
    let status = build.args(["build", "--release", "--quiet"]).current_dir(root).status();
    ensure!(status.context("cannot run cargo")?.success(), "the binary cannot be built");
    Ok(target.join("release/ouzel"))
}
