//! Exports of Nsight Systems: rows per second of a profile, and its memory, beside SQLite itself.
//!
//! The peer is Python's `sqlite3` with the sums of one table after the other in SQL: no more than a part of the work.

use super::measure::{Contender, alternate, median};
use super::table::{Row, Target};
use crate::runner::output;
use crate::workspace;
use anyhow::{Context, Result};
use ouzel_testkit::nsight::{ROWS_PER_STEP, Shape, fill};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An export of about 4.4 M rows, or a tenth of it.
fn export(root: &Path, quick: bool) -> Result<(PathBuf, u64, &'static str)> {
    let (n_steps, size) = if quick { (5_000, "440K rows") } else { (50_000, "4.4M rows") };
    let folder = workspace::cache(root).join("bench");
    fs::create_dir_all(&folder).context("cannot write into the cache folder")?;
    let path = folder.join(format!("nsight-{n_steps}.sqlite"));
    let shape = Shape { rank: 0, n_ranks: 1, n_threads: 8, n_steps };
    let n_rows = u64::from(shape.n_threads) * u64::from(shape.n_steps) * ROWS_PER_STEP;
    if !path.exists() {
        println!("writing an export of {size}");
        let half = path.with_extension("half");
        drop(fs::remove_file(&half));
        anyhow::ensure!(fill(&half, shape)? == n_rows, "the generator counts its rows");
        fs::rename(&half, &path)?;
    }
    Ok((path, n_rows, size))
}

/// The rows of the table.
pub fn rows(root: &Path, ouzel: &Path, quick: bool, rounds: usize) -> Result<Vec<Row>> {
    let (path, n_rows, size) = export(root, quick)?;
    let profile =
        ["profile".into(), path.clone(), "--jobs".into(), "1".into(), "--format".into(), "json".into()];
    let sql = root.join("peers/python/profile_nsight.py");
    let contenders = [
        Contender::whole_process(ouzel, profile),
        Contender::whole_process(Path::new("python3"), [sql, path.clone()]),
    ];
    println!("measuring {} contenders on {size}", contenders.len());
    let runs = alternate(&contenders, rounds)?;
    let (ours, theirs) = (median(&runs[0]), median(&runs[1]));
    let mut memory = Command::new("python3");
    memory.arg(root.join("peers/python/peak_memory.py")).arg(ouzel).arg("profile").arg(&path);
    memory.args(["--jobs", "1", "--format", "json"]);
    let n_bytes: f64 = output(&mut memory)?.trim().parse().context("peak_memory.py prints a number")?;
    Ok(vec![
        Row::speed("SQL sums of an Nsight export", size, theirs, n_rows),
        Row::speed("ouzel profile --jobs 1, Nsight export", size, ours, n_rows)
            .at_rate(n_rows as f64 / ours, Target::AtLeast(2e6)),
        Row::memory("the same, peak memory", size, n_bytes, Target::Below(200e6)),
    ])
}
