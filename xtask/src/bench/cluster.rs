//! The same questions to one process with two threads and to two worker processes of a local cluster.
//!
//! The workers have the same cores as the threads, so the ratio is what Dask, encoding and merging add. A trace that
//! one machine reads in a second needs no cluster: the figure shows the cost of a cluster, not its benefit.

use super::Bench;
use super::table::Row;
use crate::runner::{answers, output};
use anyhow::{Context, Result};
use serde::Deserialize;
use std::path::Path;
use std::process::Command;

/// The peer program's output for a question.
#[derive(Deserialize)]
struct Said {
    question: String,
    here_seconds: f64,
    there_seconds: f64,
    tasks: u64,
    client_bytes: u64,
}

/// The rows of the table, by the Python package that was installed before.
pub fn rows(bench: &Bench, python: Option<&Path>, skipped: &mut Vec<String>) -> Result<Vec<Row>> {
    let imports = |python: &&Path| answers(Command::new(python).args(["-c", "import ouzel, distributed"]));
    let Some(python) = python.filter(imports) else {
        skipped.push("on a cluster: the Python package or Dask is not installed".to_owned());
        return Ok(vec![]);
    };
    let on = bench.extent.events;
    let anchor = bench.archive(on)?;
    println!("measuring a cluster of two workers on {on} events");
    let mut command = Command::new(python);
    command.arg(bench.root.join("peers/python/on_a_cluster.py")).arg(&anchor);
    let said = output(command.arg(bench.extent.rounds_of_python.to_string()))?;
    let said: Vec<Said> = serde_json::from_str(&said).context("on_a_cluster.py prints JSON")?;
    let n_events = bench.n_events(&anchor)?;
    let row = |said: &Said| {
        let Said { question, tasks, client_bytes, .. } = said;
        let what = format!("{question} on 2 workers: {tasks} tasks, {client_bytes} bytes at the client");
        let ratio = said.there_seconds / said.here_seconds;
        Row::speed(&what, on, said.there_seconds, n_events).compared("2 threads' time", ratio)
    };
    Ok(said.iter().map(row).collect())
}
