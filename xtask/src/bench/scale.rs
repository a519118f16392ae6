//! Clustering of ever more locations: time must grow with their number and not faster, and memory hardly at all.

use super::measure::{Contender, alternate, median};
use super::table::{Row, Target};
use crate::runner::output;
use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;

/// Locations, and what their clustering may take in seconds on two cores.
const RUNS: [(&str, f64); 3] = [("1000", 0.6), ("10000", 6.0), ("100000", 60.0)];
const ROUNDS: usize = 3;
/// Peak memory with the most locations.
const BYTES_MAX: f64 = 1e9;

/// Rows for the example `cluster_scale`; `peak_memory` is the script that runs a program and prints its peak memory.
pub fn rows(program: &Path, peak_memory: &Path) -> Result<Vec<Row>> {
    println!("measuring the clustering of up to 100000 simulated locations");
    let mut rows = Vec::new();
    for (n_locations, seconds) in RUNS {
        let contender = Contender::whole_process(program, [n_locations.into()]);
        let found = median(&alternate(&[contender], ROUNDS)?[0]);
        let what = format!("clustering of {n_locations} locations, 2 threads");
        rows.push(Row::duration(&what, "", found, Target::Below(seconds)));
    }
    let (n_locations, _) = RUNS[RUNS.len() - 1];
    let mut command = Command::new("python3");
    command.arg(peak_memory).arg(program).arg(n_locations);
    let n_bytes: f64 = output(&mut command)?.trim().parse().context("peak_memory.py prints a number")?;
    let what = format!("clustering of {n_locations} locations, peak memory");
    rows.push(Row::memory(&what, "", n_bytes, Target::Below(BYTES_MAX)));
    Ok(rows)
}
