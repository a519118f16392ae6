//! Running contenders in turn, so that a slow minute of the machine hits all of them.

use crate::stopwatch::Stopwatch;
use anyhow::{Context, Result};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Peak resident memory of a run in bytes.
pub fn peak_bytes(root: &Path, program: &Path, arguments: &[&OsStr]) -> Result<f64> {
    let mut command = Command::new("python3");
    command.arg(root.join("peers/python/peak_memory.py")).arg(program).args(arguments);
    crate::runner::output(&mut command)?.trim().parse().context("peak_memory.py prints a number")
}

/// What one run took.
pub struct RunCost {
    pub peak_bytes: f64,
    /// Of all threads together.
    pub cpu_seconds: f64,
    pub wall_seconds: f64,
}

/// One run of a program that takes too long for several.
pub fn cost(root: &Path, program: &Path, arguments: &[&OsStr]) -> Result<RunCost> {
    let mut command = Command::new("python3");
    command.arg(root.join("peers/python/peak_memory.py")).arg("--seconds").arg(program).args(arguments);
    let said = crate::runner::output(&mut command)?;
    let numbers: Vec<f64> = said.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    match numbers[..] {
        [peak_bytes, cpu_seconds, wall_seconds] => Ok(RunCost { peak_bytes, cpu_seconds, wall_seconds }),
        _ => anyhow::bail!("peak_memory.py --seconds prints three numbers, not {said:?}"),
    }
}

/// A program and which part of its run counts.
pub struct Contender {
    program: PathBuf,
    arguments: Vec<PathBuf>,
    counts: Counts,
}

enum Counts {
    /// From start to end, output thrown away.
    Process,
    /// The time that the program reports for its loop.
    EventLoop,
}

impl Contender {
    pub fn whole_process(program: &Path, arguments: impl IntoIterator<Item = PathBuf>) -> Self {
        let arguments = arguments.into_iter().collect();
        Self { program: program.into(), arguments, counts: Counts::Process }
    }

    pub fn c_loop(program: &Path, anchor: &Path) -> Self {
        Self::own_clock(program, [anchor.into()])
    }

    /// The time that the program reports for its own work, `events_seconds` in a line of JSON.
    pub fn own_clock(program: &Path, arguments: impl IntoIterator<Item = PathBuf>) -> Self {
        let arguments = arguments.into_iter().collect();
        Self { program: program.into(), arguments, counts: Counts::EventLoop }
    }

    fn seconds(&self) -> Result<f64> {
        let name = self.program.display();
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).stdin(Stdio::null());
        match self.counts {
            Counts::Process => {
                let clock = Stopwatch::start();
                let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
                let seconds = clock.elapsed().as_secs_f64();
                let status = status.with_context(|| format!("cannot start {name}"))?;
                // 2: answered, but not from all of the data.
                anyhow::ensure!(
                    matches!(status.code(), Some(0 | 2)),
                    "{name} {:?}: {status}",
                    self.arguments
                );
                Ok(seconds)
            }
            Counts::EventLoop => {
                let said: serde_json::Value = serde_json::from_str(&crate::runner::output(&mut command)?)?;
                said["events_seconds"].as_f64().context("the program says how long its loop took")
            }
        }
    }
}

/// Seconds of each contender, one list each: a run that does not count, then so many in turn.
pub fn alternate(contenders: &[Contender], rounds: usize) -> Result<Vec<Vec<f64>>> {
    let mut runs = vec![Vec::with_capacity(rounds); contenders.len()];
    for contender in contenders {
        contender.seconds()?;
    }
    for _ in 0..rounds {
        for (contender, runs) in contenders.iter().zip(&mut runs) {
            runs.push(contender.seconds()?);
        }
    }
    Ok(runs)
}

/// The middle value, or the mean of the two in the middle; NaN without values.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match (sorted.len() / 2, sorted.len() % 2) {
        (0, 0) => f64::NAN,
        (middle, 0) => f64::midpoint(sorted[middle - 1], sorted[middle]),
        (middle, _) => sorted[middle],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::float_cmp, reason = "small integers and halves are exact")]
    fn median_is_the_middle() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&[]).is_nan());
    }
}
