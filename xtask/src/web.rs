//! `cargo xtask web`: the page of the viewer, built by npm from the versions in its lock file.
//!
//! No script of a package runs. The folder `web/dist` is not in git; the next build of Ouzel embeds it.

use crate::{runner, workspace};
use anyhow::{Result, ensure};
use std::path::Path;

/// Builds the page.
///
/// # Errors
/// When npm is missing or fails.
pub fn run(arguments: &[String]) -> Result<()> {
    ensure!(arguments.is_empty(), "web takes no arguments");
    let folder = workspace::root()?.join("web");
    for words in [&["ci", "--ignore-scripts", "--no-audit", "--no-fund"][..], &["run", "build"]] {
        let mut npm = runner::bounded(600, Path::new("npm"));
        let ran = runner::run(npm.args(words).current_dir(&folder))?;
        ensure!(ran.status.success(), "npm {} ended with {}", words.join(" "), ran.status);
    }
    Ok(())
}
