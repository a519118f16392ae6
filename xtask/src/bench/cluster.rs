//! The same questions to one process, with one thread and with two, and to two worker processes of a local cluster.
//!
//! The workers have the same cores as two threads, so the ratio to them is what Dask, encoding and merging add: on one
//! machine, threads are always faster. The ratio to one thread is what two workers gain over one process that has as
//! much as each of them; the last rows say from which size on they gain.

use super::Bench;
use super::table::Row;
use crate::runner::{answers, output};
use anyhow::{Context, Result};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// The peer program's output for a question.
#[derive(Deserialize)]
struct Said {
    question: String,
    here_seconds: f64,
    there_seconds: f64,
    alone_seconds: f64,
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
    let mut rows = Vec::new();
    let mut gains: BTreeMap<String, Option<&str>> = BTreeMap::new();
    for on in sizes(bench.extent.events, bench.extent.events_for_memory) {
        println!("measuring a cluster of two workers on {on} events");
        let anchor = bench.archive(on)?;
        let mut command = Command::new(python);
        command.arg(bench.root.join("peers/python/on_a_cluster.py")).arg(&anchor);
        let said = output(command.arg(bench.extent.rounds_of_python.to_string()))?;
        let said: Vec<Said> = serde_json::from_str(&said).context("on_a_cluster.py prints JSON")?;
        let n_events = bench.n_events(&anchor)?;
        for Said { question, here_seconds, there_seconds, alone_seconds, tasks, client_bytes } in said {
            let what = format!("{question} on 2 workers: {tasks} tasks, {client_bytes} bytes at the client");
            let row = Row::speed(&what, on, there_seconds, n_events);
            rows.push(row.clone().compared("2 threads' time", there_seconds / here_seconds));
            rows.push(row.compared("1 thread's time", there_seconds / alone_seconds));
            // From this size on, and at all larger ones.
            let from = gains.entry(question).or_default();
            *from = (there_seconds < alone_seconds).then(|| from.unwrap_or(on));
        }
    }
    rows.extend(gains.into_iter().map(|(question, from)| {
        let from = from.unwrap_or("none of these");
        Row::said(&format!("{question}: size from which two workers beat one process of one thread"), from)
    }));
    Ok(rows)
}

/// Sizes in ascending order, the one that the rest of the table is measured on among them.
fn sizes(measured: &'static str, largest: &'static str) -> Vec<&'static str> {
    let mut sizes = vec!["75K", "1M", measured, largest];
    sizes.dedup();
    sizes
}
