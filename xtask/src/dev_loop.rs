//! `cargo xtask loop`: how long it takes from an edit in an analysis to its tests.
//!
//! The edit is a newer date on one file; what counts is compiling and running after it.
//! The figure to defend is ten seconds.

use crate::runner::{answers, run as run_command};
use crate::workspace;
use anyhow::{Context, Result};
use std::fs::File;
use std::process::Command;
use std::time::SystemTime;

const EDITED: &str = "crates/analyses/src/call_path_profile/fold.rs";
const SECONDS_MAX: f64 = 10.0;

/// `cargo xtask loop`
pub fn run(arguments: &[String]) -> Result<()> {
    anyhow::ensure!(arguments.is_empty(), "loop takes no arguments");
    let root = workspace::root()?;
    let has_nextest = answers(Command::new(workspace::cargo()).args(["nextest", "--version"]));
    let tests: &[&str] = if has_nextest { &["nextest", "run"] } else { &["test", "--lib"] };
    let run_tests = || {
        let mut command = Command::new(workspace::cargo());
        command.args(tests).args(["--package", "ouzel-analyses"]).current_dir(&root);
        let ran = run_command(&mut command)?;
        anyhow::ensure!(ran.status.success(), "the tests ended with {}", ran.status);
        Ok(ran.took.as_secs_f64())
    };
    run_tests()?;
    let edited =
        File::options().append(true).open(root.join(EDITED)).with_context(|| format!("no {EDITED}"))?;
    edited.set_modified(SystemTime::now()).context("cannot touch the file")?;
    let seconds = run_tests()?;
    println!(
        "from an edit in {EDITED} to the tests of its crate: {seconds:.1} s (to stay below {SECONDS_MAX} s)"
    );
    Ok(())
}
