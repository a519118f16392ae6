//! Building the programs, running them, and keeping what they record.
//!
//! Law: a run is bounded by `timeout`, and an archive replaces the one before only when its
//! run has ended well. What is missing on the machine is reported, and is no failure.

use super::Program;
use super::facts::{Facts, Runs, folder};
use crate::bench::machine;
use crate::runner::{answers, bounded, output};
use crate::setup::{Tools, install_debian_package, install_mpi};
use crate::workspace;
use anyhow::{Context, Result, ensure};
use ouzel_testkit::compiles_mpi;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Seconds for one run: the longest program takes two, starting and ending MPI two more.
const RUN_SECONDS: u32 = 60;
/// Seconds for one compiler call.
const COMPILE_SECONDS: u32 = 120;
/// The parts of the tracer that all programs need.
const TRACER: [(&str, &str); 6] = [
    ("zoo/trace/record.c", "record.o"),
    ("zoo/trace/mpi.c", "mpi.o"),
    ("zoo/trace/messages.c", "messages.o"),
    ("zoo/trace/collectives.c", "collectives.o"),
    ("zoo/trace/device.c", "device.o"),
    ("zoo/trace/write.c", "write.o"),
];
/// The parts that Fortran programs need besides.
const FORTRAN: (&str, &str) = ("zoo/trace/fortran.c", "fortran.o");
const FORTRAN_MODULE: (&str, &str) = ("zoo/trace/zoo.F90", "zoo.o");

/// How far a recorded run may be from the median of those without tracing: it would be a run that the machine disturbed.
const RECORDED_TOLERANCE: f64 = 0.01;
/// How often a disturbed run is recorded anew.
const N_RECORDINGS_MAX: usize = 8;

/// Compiled parts, and where they are.
pub struct Workshop {
    root: PathBuf,
    folder: PathBuf,
    has_fortran: bool,
    machine: String,
}

/// One finished run.
struct Run {
    wall_ns: u64,
    real_time: bool,
}

impl Workshop {
    /// Installs and compiles what the programs need; none if that cannot be had.
    ///
    /// # Errors
    /// When the tracer does not compile.
    pub fn set_up(root: &Path) -> Result<Option<Self>> {
        install_mpi(&mut Tools::default());
        let is_there = |program: &str| answers(Command::new(program).arg("--version"));
        if !is_there("otf2-config")
            && let Err(error) = install_debian_package("libotf2-trace-dev")
        {
            println!("skipped: libotf2-trace-dev: {error:#}");
        }
        if !(is_there("mpirun") && compiles_mpi("mpicc") && is_there("otf2-config")) {
            return Ok(None);
        }
        let folder = workspace::cache(root).join("zoo");
        fs::create_dir_all(&folder).context("cannot write into the cache folder")?;
        let mpi = output(Command::new("mpirun").arg("--version"))?;
        let machine = format!("{}, {}", machine::line()?, mpi.lines().next().unwrap_or_default());
        let workshop = Workshop { root: root.into(), folder, has_fortran: is_there("mpif90"), machine };
        for (source, object) in TRACER.into_iter().chain([FORTRAN]) {
            workshop.compile("mpicc", &["-Wall", "-Wextra", "-fopenmp", "-c", source, "-o", object])?;
        }
        if workshop.has_fortran {
            let (source, object) = FORTRAN_MODULE;
            workshop.compile("mpif90", &["-Wall", "-c", source, "-o", object])?;
        }
        Ok(Some(workshop))
    }

    /// Whether there is a compiler for its language.
    pub fn can_build(&self, program: &Program) -> bool {
        self.has_fortran || !is_fortran(program)
    }

    /// Builds, measures and records one program.
    ///
    /// # Errors
    /// When it does not compile, does not end well, or its archive cannot be kept.
    pub fn run(&self, program: &Program, n_repetitions: usize) -> Result<Facts> {
        self.build(program)?;
        let (mut faulty_ns, mut fixed_ns) = (Vec::new(), Vec::new());
        // In turn, so that what changes on the machine meanwhile changes both.
        for _ in 0..n_repetitions {
            faulty_ns.push(self.start(program, &[], None)?.wall_ns);
            fixed_ns.push(self.start(program, &["--fixed"], None)?.wall_ns);
        }
        let faulty = self.record(program, "faulty", &[], &faulty_ns)?;
        let fixed = self.record(program, "fixed", &["--fixed"], &fixed_ns)?;
        let faulty_runs = Runs::new(faulty_ns, faulty.wall_ns)?;
        let fixed_runs = Runs::new(fixed_ns, fixed.wall_ns)?;
        let facts = Facts {
            program: program.clone(),
            gain_ns: faulty_runs.median_ns.cast_signed() - fixed_runs.median_ns.cast_signed(),
            faulty: faulty_runs,
            fixed: fixed_runs,
            machine: self.machine.clone(),
            real_time: faulty.real_time && fixed.real_time,
        };
        facts.write(&self.root)?;
        Ok(facts)
    }

    fn build(&self, program: &Program) -> Result<()> {
        let source = format!("zoo/programs/{}", program.source);
        let mut words = vec!["-fopenmp", source.as_str(), "-o", program.name.as_str()];
        let compiler = if is_fortran(program) {
            words.extend(["-ffree-line-length-none", FORTRAN_MODULE.1, FORTRAN.1]);
            "mpif90"
        } else {
            "mpicc"
        };
        words.extend(TRACER.map(|(_, object)| object));
        words.push("-lotf2");
        self.compile(compiler, &words)
    }

    /// Runs a compiler in the workshop; sources are named from the root.
    fn compile(&self, compiler: &str, words: &[&str]) -> Result<()> {
        let mut command = bounded(COMPILE_SECONDS, Path::new(compiler));
        command.current_dir(&self.folder).args(["-O1", "-g"]);
        for word in words {
            if word.starts_with("zoo/") {
                command.arg(self.root.join(word));
            } else {
                command.arg(word);
            }
        }
        output(&mut command).map(drop).with_context(|| format!("cannot compile {words:?}"))
    }

    /// Runs with tracing and keeps as `variant` the archive whose run time is nearest to the median of `untraced_ns`:
    /// the first that is near enough, or the best of several.
    fn record(
        &self,
        program: &Program,
        variant: &str,
        arguments: &[&str],
        untraced_ns: &[u64],
    ) -> Result<Run> {
        let median_ns = Runs::new(untraced_ns.to_vec(), 0)?.median_ns as f64;
        let kept = folder(&self.root, &program.name).join(variant);
        let fresh = self.folder.join(format!("{}-{variant}", program.name));
        let mut best: Option<(f64, Run)> = None;
        for _ in 0..N_RECORDINGS_MAX {
            remove(&fresh)?;
            let run = self.start(program, arguments, Some(&fresh))?;
            let off = (run.wall_ns as f64 / median_ns - 1.0).abs();
            if best.as_ref().is_none_or(|(least, _)| off < *least) {
                remove(&kept)?;
                copy(&fresh, &kept)?;
                best = Some((off, run));
            }
            remove(&fresh)?;
            if off <= RECORDED_TOLERANCE {
                break;
            }
        }
        let (off, run) = best.context("nothing was recorded")?;
        if RECORDED_TOLERANCE < off {
            println!("{} {variant}: the recorded run is {:.1} % off the median", program.name, 100.0 * off);
        }
        Ok(run)
    }

    fn start(&self, program: &Program, arguments: &[&str], trace: Option<&Path>) -> Result<Run> {
        let mut command = bounded(RUN_SECONDS, Path::new("mpirun"));
        command.current_dir(&self.folder).args(["--oversubscribe", "--bind-to", "none"]);
        command.args(["--mca", "btl", "self,vader", "--mca", "mpi_yield_when_idle", "1"]);
        command.arg("-n").arg(program.n_ranks.to_string()).arg(format!("./{}", program.name)).args(arguments);
        // Containers often run everything as root, for which Open MPI requires two confirmations.
        command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        command.env("OMP_NUM_THREADS", program.n_threads.to_string()).env("OMP_WAIT_POLICY", "passive");
        match trace {
            Some(trace) => command.env("ZOO_TRACE", trace),
            None => command.env_remove("ZOO_TRACE"),
        };
        run_from_output(&output(&mut command)?)
            .with_context(|| format!("{} {arguments:?} has not said how long it ran", program.name))
    }
}

/// `zoo wall_ns=…` and `zoo real_time=…` among the lines of a program.
fn run_from_output(text: &str) -> Result<Run> {
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix("zoo ")?.strip_prefix(key));
        line.with_context(|| format!("no line `zoo {key}`"))
    };
    let wall_ns = value("wall_ns=")?.trim().parse().context("wall_ns is not a number")?;
    Ok(Run { wall_ns, real_time: value("real_time=")?.trim() == "1" })
}

fn is_fortran(program: &Program) -> bool {
    program.source.ends_with(".F90")
}

fn remove(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    Ok(())
}

/// Copies an archive: files, and one level of folders.
fn copy(from: &Path, to: &Path) -> Result<()> {
    ensure!(from.join("traces.otf2").is_file(), "no archive was written to {}", from.display());
    for folder in [Path::new(""), Path::new("traces")] {
        fs::create_dir_all(to.join(folder)).with_context(|| format!("cannot write {}", to.display()))?;
        for entry in fs::read_dir(from.join(folder))? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                fs::copy(entry.path(), to.join(folder).join(entry.file_name()))?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_say_how_long_they_ran() {
        let run = run_from_output("noise\nzoo real_time=1\nzoo wall_ns=123\n").expect("both lines are there");
        assert_eq!((run.wall_ns, run.real_time), (123, true));
        assert!(run_from_output("zoo wall_ns=123\n").is_err());
        assert!(run_from_output("zoo real_time=0\nzoo wall_ns=x\n").is_err());
    }
}
