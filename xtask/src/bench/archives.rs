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
    written(root, &format!("synth-{events}"), &["--events", events])
}

/// The same of so many ranks; chunks are small, as one of each rank is held while it is written.
pub fn anchor_of_ranks(root: &Path, events: &str, ranks: &str) -> Result<PathBuf> {
    let options = ["--events", events, "--ranks", ranks, "--chunk", "16384"];
    written(root, &format!("synth-{events}-{ranks}"), &options)
}

fn written(root: &Path, name: &str, options: &[&str]) -> Result<PathBuf> {
    let folder = workspace::cache(root).join("bench").join(name);
    let itself = std::env::current_exe().context("cannot find this program")?;
    if let Some(found) = find_anchor(&folder)
        && fs::metadata(&itself)?.modified()? < fs::metadata(&found)?.modified()?
    {
        return Ok(found);
    }
    println!("writing the archive {name}");
    if folder.exists() {
        fs::remove_dir_all(&folder).context("cannot remove the archive of an older build")?;
    }
    fs::create_dir_all(&folder).context("cannot write into the cache folder")?;
    let mut synth = Command::new(itself);
    synth.arg("synth").args(options).arg("--out").arg(&folder).current_dir(root);
    if !run(&mut synth)?.status.success() {
        fs::remove_dir_all(&folder)?;
        anyhow::bail!("`cargo xtask synth {}` failed", options.join(" "));
    }
    find_anchor(&folder).with_context(|| format!("`cargo xtask synth` wrote no anchor of {name}"))
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
