//! `ouzel record` of what happens in large numbers: a million threads, thousands of children, hundreds of ranks on one node.
//!
//! Law: the program ends as it would; the archive satisfies the reference library, has each process, and lost nothing.

use crate::runner::{answers, bounded};
use crate::steps::{Context, Outcome};
use crate::workspace;
use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Longer than one of them takes.
const SECONDS: u32 = 900;

/// A program that does something very often.
struct Extreme {
    what: &'static str,
    /// In `zoo/record`, with its compiler; nothing for a script.
    source: Option<(&'static str, &'static str)>,
    ranks: Option<&'static str>,
    words: &'static [&'static str],
    /// Processes of the archive.
    processes: usize,
}

const EXTREMES: [Extreme; 3] = [
    Extreme {
        what: "1,000,000 threads one after the other",
        source: Some(("gcc", "samples.c")),
        ranks: None,
        words: &["sequence", "1000000"],
        processes: 1,
    },
    Extreme {
        what: "2,000 children by vfork",
        source: None,
        ranks: None,
        words: &["/usr/bin/python3", "-c", VFORK],
        processes: 1,
    },
    Extreme {
        what: "200 ranks on one node",
        source: Some(("mpicc.openmpi", "overhead.c")),
        ranks: Some("200"),
        words: &["1", "200", "20000"],
        processes: 200,
    },
];

/// Python's `subprocess` calls vfork where it can.
const VFORK: &str = "\
import subprocess, _posixsubprocess
assert subprocess._USE_VFORK
for i in range(2000):
    assert subprocess.run(['/bin/true'], env={}).returncode == 0
";

/// Records each.
pub fn many(context: &Context) -> Result<Outcome> {
    let ouzel = workspace::target(&context.root)?.join("release/ouzel");
    ensure!(ouzel.is_file(), "{} is not built: cargo build --release", ouzel.display());
    let place = workspace::target(&context.root)?.join("trials/record-many");
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place)?;
    let (mut lines, mut failed, mut n_runs) = (Vec::new(), false, 0);
    for extreme in EXTREMES {
        let missing = [extreme.source.map_or("/usr/bin/python3", |it| it.0), "otf2-print"];
        if let Some(program) =
            missing.into_iter().find(|program| !answers(Command::new(program).arg("--version")))
        {
            lines.push(format!("skipped: {}: no {program}", extreme.what));
            continue;
        }
        n_runs += 1;
        match extreme.record(&ouzel, &place, &context.root) {
            Ok(said) => lines.push(format!("{}: {said}", extreme.what)),
            Err(why) => {
                failed = true;
                lines.push(format!("{}: FAILED: {why:#}", extreme.what));
            }
        }
    }
    Ok(match (failed, n_runs) {
        (true, _) => Outcome::Failed(lines),
        (false, 0) => Outcome::Skipped(lines.join("; ")),
        (false, _) => Outcome::Passed(lines),
    })
}

impl Extreme {
    fn record(&self, ouzel: &Path, place: &Path, root: &Path) -> Result<String> {
        let program = place.join("program");
        if let Some((compiler, source)) = self.source {
            let source = root.join("zoo/record").join(source);
            let mut compile = Command::new(compiler);
            compile.args(["-O2", "-w", "-pthread"]).arg(source).arg("-o").arg(&program).arg("-ldl");
            ensure!(compile.status()?.success(), "{compiler} failed");
        }
        let archive = place.join("run");
        let _ = fs::remove_dir_all(&archive);
        let mut record = bounded(SECONDS, ouzel);
        record.args(["record", "--quiet", "-o"]).arg(&archive).arg("--");
        if let Some(ranks) = self.ranks {
            record.args(["mpirun.openmpi", "--oversubscribe", "--allow-run-as-root", "-n", ranks]);
        }
        let programs = self.source.map(|_| program);
        let ran = record.args(programs).args(self.words).output().context("cannot start timeout")?;
        ensure!(ran.status.success(), "{}: {}", ran.status, String::from_utf8_lossy(&ran.stderr).trim());
        let mut print = Command::new("otf2-print");
        print.args(["--silent", "--warnings-as-errors"]).arg(archive.join("traces.otf2"));
        let judged = print.output()?;
        ensure!(judged.status.success(), "otf2-print: {}", String::from_utf8_lossy(&judged.stderr).trim());
        self.judge(ouzel, &archive)
    }

    fn judge(&self, ouzel: &Path, archive: &PathBuf) -> Result<String> {
        let ran = bounded(SECONDS, ouzel).arg("info").arg(archive).args(["--format", "json"]).output()?;
        // With losses, the exit code is 2.
        ensure!(
            ran.status.success(),
            "info: {}: {}",
            ran.status,
            String::from_utf8_lossy(&ran.stderr).trim()
        );
        let info: Value = serde_json::from_slice(&ran.stdout)?;
        let number = |of: &str| info["data"][of].as_u64();
        let n = number("n_processes").context("info has processes")?;
        ensure!(n == self.processes as u64, "{n} processes are recorded");
        let locations = number("n_locations").unwrap_or(0);
        Ok(format!("{n} processes, {locations} locations, no loss"))
    }
}
