//! The archives that are measured: written by `cargo xtask synth`, kept in the cache
//! until this program, and so perhaps the generator, is built anew.

use crate::runner::run;
use crate::workspace;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The anchor of the synthetic archive with so many events (`75K`, `10M`), written if it is not there.
pub fn anchor(root: &Path, events: &str) -> Result<PathBuf> {
    let folder = workspace::cache(root).join("bench").join(format!("synth-{events}"));
    let itself = std::env::current_exe().context("cannot find this program")?;
    if let Some(found) = find_anchor(&folder)
        && fs::metadata(&itself)?.modified()? < fs::metadata(&found)?.modified()?
    {
        return Ok(found);
    }
    println!("writing an archive of {events} events");
    if folder.exists() {
        fs::remove_dir_all(&folder).context("cannot remove the archive of an older build")?;
    }
    fs::create_dir_all(&folder).context("cannot write into the cache folder")?;
    let mut synth = Command::new(itself);
    synth.args(["synth", "--events", events, "--out"]).arg(&folder).current_dir(root);
    if !run(&mut synth)?.status.success() {
        fs::remove_dir_all(&folder)?;
        anyhow::bail!("`cargo xtask synth --events {events}` failed");
    }
    find_anchor(&folder).with_context(|| format!("`cargo xtask synth` wrote no anchor for {events} events"))
}

fn find_anchor(folder: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?;
    let mut anchors: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "otf2"))
        .collect();
    anchors.sort();
    anchors.into_iter().next()
}
