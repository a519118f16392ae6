//! The line that describes the machine of the measurement.

use crate::runner::output;
use anyhow::Result;
use std::fs;
use std::process::Command;

/// Processor, cores, kernel, compilers.
pub fn line() -> Result<String> {
    let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        processors.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or(": unknown processor");
    let model = model.trim_start_matches([' ', '\t', ':']);
    let n_cores = std::thread::available_parallelism()?;
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_else(|_| "unknown".into());
    let rustc = output(Command::new("rustc").arg("--version"))?;
    let cc = output(Command::new("cc").arg("--version"))?;
    let cc = cc.lines().next().unwrap_or_default();
    Ok(format!("{model}, {n_cores} cores, kernel {}, {}, {cc}", kernel.trim(), rustc.trim()))
}
