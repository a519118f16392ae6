//! What is known of a recorded pair: what was planted, and how long it ran.

use super::Program;
use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// `testdata/zoo/<name>/facts.json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Facts {
    /// The program as it was when it was recorded.
    pub program: Program,
    /// How long the faulty program ran.
    pub faulty: Runs,
    /// How long the fixed program ran.
    pub fixed: Runs,
    /// `faulty.median_ns - fixed.median_ns`: what the repair gains.
    pub gain_ns: i64,
    /// Processor, cores, kernel, MPI.
    pub machine: String,
    /// Whether the ranks ran with real-time priority, which other load of the machine cannot delay.
    pub real_time: bool,
}

/// Repeated runs of one variant. Times are from the common start of all ranks to the last
/// rank's end, which the program measures itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Runs {
    /// Runs without tracing, in order.
    pub untraced_ns: Vec<u64>,
    /// Their median.
    pub median_ns: u64,
    /// The run that was recorded.
    pub traced_ns: u64,
}

impl Runs {
    /// # Errors
    /// When there is no run.
    pub fn new(untraced_ns: Vec<u64>, traced_ns: u64) -> Result<Self> {
        let mut sorted = untraced_ns.clone();
        sorted.sort_unstable();
        ensure!(!sorted.is_empty(), "no run was measured");
        Ok(Runs { median_ns: sorted[sorted.len() / 2], untraced_ns, traced_ns })
    }
}

/// The folder of the archives of a program.
pub fn folder(root: &Path, name: &str) -> PathBuf {
    root.join("testdata/zoo").join(name)
}

impl Facts {
    /// # Errors
    /// When the file is not there or cannot be understood.
    pub fn read(root: &Path, name: &str) -> Result<Self> {
        let path = folder(root, name).join("facts.json");
        let text = fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}: run `cargo xtask zoo`", path.display()))?;
        serde_json::from_str(&text).with_context(|| path.display().to_string())
    }

    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, root: &Path) -> Result<()> {
        let path = folder(root, &self.program.name).join("facts.json");
        let text = serde_json::to_string_pretty(self).context("facts are JSON")?;
        fs::write(&path, text + "\n").with_context(|| format!("cannot write {}", path.display()))
    }

    /// The measured times in one line.
    pub fn line(&self) -> String {
        let (faulty, fixed) = (self.faulty.median_ns as f64 / 1e6, self.fixed.median_ns as f64 / 1e6);
        let percent = 100.0 * (faulty - fixed) / faulty;
        format!("faulty {faulty:.1} ms, fixed {fixed:.1} ms, the repair gains {percent:.1} %")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_of_the_sorted_runs() {
        let runs = Runs::new(vec![30, 10, 20], 40).expect("there are runs");
        assert_eq!((runs.median_ns, runs.untraced_ns), (20, vec![30, 10, 20]));
        assert!(Runs::new(vec![], 1).is_err());
    }
}
