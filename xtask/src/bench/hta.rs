//! The numbers of HolisticTraceAnalysis beside ours, on traces of its own tests. Who is right where they differ is in
//! `docs/accelerators.md`.

use super::table::Row;
use crate::runner::output;
use crate::setup;
use anyhow::{Context, Result};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One number as both have it.
#[derive(Deserialize)]
struct Said {
    trace: String,
    row: String,
    hta: f64,
    ours: f64,
}

/// The rows of the table; what is skipped goes to `skipped`.
pub fn rows(root: &Path, ouzel: &Path, skipped: &mut Vec<String>) -> Result<Vec<Row>> {
    let shared = std::env::var_os("OUZEL_SHARED").map_or_else(|| root.join("../shared"), PathBuf::from);
    let folder = shared.join("data/chrome-pytorch");
    if !folder.is_dir() {
        skipped.push("HTA's numbers: the traces of its tests are not there".to_owned());
        return Ok(vec![]);
    }
    let python = match setup::install_hta(root) {
        Ok(python) => python,
        Err(error) => {
            println!("skipped: HTA: {error:#}");
            skipped.push(format!("HTA: {error:#}"));
            return Ok(vec![]);
        }
    };
    println!("asking HTA and ouzel the same questions");
    let mut command = Command::new(python);
    command.arg(root.join("peers/python/hta_values.py")).arg(ouzel).arg(&folder);
    let said = output(&mut command)?;
    let said = said.lines().last().unwrap_or_default();
    let said: Vec<Said> = serde_json::from_str(said).context("hta_values.py prints JSON")?;
    let row = |Said { trace, row, hta, ours }: &Said| {
        Row::said(&format!("{row}: HTA {hta:.3}, ours {ours:.3}"), trace).compared("HTA's number", ours / hta)
    };
    Ok(said.iter().map(row).collect())
}
