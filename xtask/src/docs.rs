//! Whether what is made from the shapes of answers is up to date. The work is done by `ouzel-docs`, so that other chores
//! need not wait until all analyses are built.

use anyhow::{Context, Result, bail};
use std::process::Command;

/// Compares the files, or writes them.
///
/// # Errors
/// If one is stale, or the program cannot be run.
pub fn run(arguments: &[String]) -> Result<()> {
    let mut command = Command::new(env!("CARGO"));
    command.args(["run", "--quiet", "--package", "ouzel-docs", "--"]).args(arguments);
    match command.status().context("cannot run ouzel-docs")?.success() {
        true => Ok(()),
        false => bail!("what is generated is stale: cargo xtask docs --write"),
    }
}
