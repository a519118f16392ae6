//! Recorded runs in which each rank is killed in turn, at ten moments, under each implementation of MPI.
//!
//! Law: every archive opens and satisfies the reference library, has each call that a rank finished, and says who was killed.

use crate::runner::{answers, bounded};
use crate::steps::{Context, Outcome};
use crate::workspace;
use anyhow::{Context as _, Result, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Compilers and launchers.
const IMPLEMENTATIONS: [(&str, &str, &str); 2] =
    [("Open MPI", "mpicc.openmpi", "mpirun.openmpi"), ("MPICH", "mpicc.mpich", "mpirun.mpich")];
const N_RANKS: usize = 4;
/// When a rank is killed, in milliseconds since its start.
const MOMENTS: [u32; 10] = [50, 150, 300, 500, 750, 1_000, 1_300, 1_600, 2_000, 2_300];
/// Longer than a run that nobody ends.
const SECONDS: u32 = 120;

/// Kills ranks.
pub fn kill_ranks(context: &Context) -> Result<Outcome> {
    if !answers(Command::new("otf2-print").arg("--version")) {
        return Ok(Outcome::Skipped("no otf2-print to judge the archives".to_owned()));
    }
    let ouzel = workspace::target(&context.root)?.join("release/ouzel");
    ensure!(ouzel.is_file(), "{} is not built: cargo build --release", ouzel.display());
    let place = workspace::target(&context.root)?.join("trials/record-faults");
    fs::create_dir_all(&place)?;
    let (mut lines, mut failed, mut n_runs) = (Vec::new(), false, 0);
    for (name, compiler, launcher) in IMPLEMENTATIONS {
        if !answers(Command::new(compiler).arg("--version")) {
            lines.push(format!("skipped: {name}: no {compiler}"));
            continue;
        }
        let program = place.join("killed");
        let mut compile = Command::new(compiler);
        compile.args(["-O2", "-pthread"]).arg(context.root.join("zoo/record/killed.c"));
        ensure!(compile.arg("-o").arg(&program).status()?.success(), "{compiler} failed");
        for (number, moment) in MOMENTS.into_iter().enumerate() {
            let run = KilledRun { ouzel: &ouzel, place: &place, launcher, victim: number % N_RANKS, moment };
            let said = run.record(&program).and_then(|()| run.judge());
            n_runs += 1;
            if let Err(why) = &said {
                failed = true;
                lines.push(format!("{name}, rank {} after {moment} ms: FAILED: {why:#}", run.victim));
            }
        }
        lines.push(format!("{name}: {} runs of {N_RANKS} ranks", MOMENTS.len()));
    }
    fs::remove_dir_all(&place)?;
    Ok(match (failed, n_runs) {
        (true, _) => Outcome::Failed(lines),
        (false, 0) => Outcome::Skipped("no implementation of MPI".to_owned()),
        (false, _) => Outcome::Passed(lines),
    })
}

struct KilledRun<'a> {
    ouzel: &'a Path,
    place: &'a Path,
    launcher: &'a str,
    victim: usize,
    moment: u32,
}

impl KilledRun<'_> {
    fn archive(&self) -> PathBuf {
        self.place.join("run")
    }

    fn counter(&self, rank: usize) -> PathBuf {
        self.place.join(format!("count.{rank}"))
    }

    fn record(&self, program: &Path) -> Result<()> {
        if self.archive().exists() {
            fs::remove_dir_all(self.archive())?;
        }
        (0..N_RANKS).for_each(|rank| drop(fs::remove_file(self.counter(rank))));
        let mut record = bounded(SECONDS, self.ouzel);
        record.args(["record", "--quiet", "-o"]).arg(self.archive()).args(["--", self.launcher]);
        if self.launcher.ends_with("openmpi") {
            record.args(["--oversubscribe", "--allow-run-as-root"]);
        }
        record.args(["-n", &N_RANKS.to_string()]).arg(program);
        record.args([self.victim.to_string(), self.moment.to_string()]).arg(self.place.join("count"));
        let ran = record.output().context("cannot start timeout")?;
        ensure!(!ran.status.success(), "the run ended well, although a rank was killed");
        ensure!(ran.status.code() != Some(124), "the run did not end");
        Ok(())
    }

    fn ask(&self, words: &[&str]) -> Result<Output> {
        let mut ask = bounded(SECONDS, self.ouzel);
        let ran = ask.arg(words[0]).arg(self.archive()).args(&words[1..]).output()?;
        let code = ran.status.code();
        ensure!(matches!(code, Some(0 | 2)), "{}: {}", words[0], String::from_utf8_lossy(&ran.stderr).trim());
        Ok(ran)
    }

    fn judge(&self) -> Result<()> {
        let anchor = self.archive().join("traces.otf2");
        let judged = Command::new("otf2-print").arg("--warnings-as-errors").arg(&anchor).output()?;
        let complaint = String::from_utf8_lossy(&judged.stderr).trim().to_owned();
        ensure!(judged.status.success() && complaint.is_empty(), "otf2-print: {complaint}");
        let info = String::from_utf8(self.ask(&["info"])?.stdout)?;
        let report = String::from_utf8(self.ask(&["report"])?.stdout)?;
        // A launcher that ends its own part at once says no more of whom it waited for.
        let says = |page: &str| page.contains("killed by signal 9") || page.contains("ended without notice");
        let losses = || info.lines().filter(|line| line.trim_start().starts_with("lost")).collect::<Vec<_>>();
        ensure!(says(&info) && says(&report), "no process is said to have been killed: {:?}", losses());
        let profile =
            self.ask(&["profile", "--per", "rank", "--region", "MPI_Allreduce", "--format", "json"])?;
        let profile: serde_json::Value = serde_json::from_slice(&profile.stdout)?;
        let rows = profile["data"]["rows"].as_array().context("a profile has rows")?;
        for rank in 0..N_RANKS {
            // Ranks that ended before they began have no count.
            let Ok(bytes) = fs::read(self.counter(rank)) else { continue };
            let Ok(bytes) = <[u8; 8]>::try_from(bytes) else { continue };
            let n = u64::from_ne_bytes(bytes);
            let of_rank = rows.iter().filter(|row| row["rank"].as_u64() == Some(rank as u64));
            let visits: u64 = of_rank.filter_map(|row| row["visits"].as_u64()).sum();
            if visits < n {
                bail!("rank {rank} finished {n} reductions, of which {visits} are recorded");
            }
            let has_name = info.contains(&format!("rank {} was killed by signal 9", self.victim));
            ensure!(n == 0 || has_name, "info does not name rank {}", self.victim);
        }
        Ok(())
    }
}
