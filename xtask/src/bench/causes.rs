//! Bottlenecks and their causes in a generated CUBE profile of many processes.

use super::measure::{Contender, alternate, median};
use super::table::{Row, Target};
use crate::runner::run;
use crate::workspace;
use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;

/// 100 regions below `main` × 10,000 processes, with 8 metrics: 65 MB.
const SIZE: [&str; 2] = ["101", "10000"];
const ROUNDS: usize = 3;
/// Seconds that the whole command may take.
const LIMIT: f64 = 5.0;

/// The row: the command from start to end, on two threads.
pub fn rows(root: &Path, ouzel: &Path, examples: &Path) -> Result<Vec<Row>> {
    let folder = workspace::cache(root).join("bench");
    std::fs::create_dir_all(&folder).context("cannot make the folder of generated profiles")?;
    let profile = folder.join("uneven.cubex");
    let mut make = Command::new(examples.join("make_cubex"));
    make.arg(&profile).args(SIZE);
    anyhow::ensure!(run(&mut make)?.status.success(), "make_cubex failed");
    let arguments = ["causes".into(), profile, "--jobs".into(), "2".into(), "--format".into(), "csv".into()];
    let runs = alternate(&[Contender::whole_process(ouzel, arguments)], ROUNDS)?;
    let what = "ouzel causes, 100 regions, 2 threads";
    Ok(vec![Row::duration(what, "10,000 processes", median(&runs[0]), Target::AtMost(LIMIT))])
}
