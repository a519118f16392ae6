//! `ouzel record`: runs a program and records where it computes, and what it does with MPI and files.
//!
//! Law: standard output and exit code are the program's; what this command says goes to standard error.

use crate::args::time_range::parse_duration;
use crate::command::{Command, Tool};
use crate::exit::Outcome;
use crate::terminal::style::clean;
use crate::terminal::units;
use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use ouzel::model::RankSet;
use ouzel_files::ending;
use ouzel_recording::counters::Wanted;
use ouzel_recording::finish::{Finished, FinishedArchive, Killed, finish};
use ouzel_recording::launch::{self, Choices};
use ouzel_recording::stream;
use ouzel_recording::window::Window;
use std::ffi::OsString;
use std::fs;
use std::io::{Write, stderr, stdout};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{self, ExitStatus, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

pub const COMMAND: Command = Command::about_the_program::<RecordArgs>("record");

/// Run a program and record its call paths and MPI calls, without compiling it anew
#[derive(Debug, Args)]
#[command(
    override_usage = "ouzel record [OPTIONS] -- COMMAND…\n       ouzel record --env -o DIR\n       \
                      ouzel record --finish DIR",
    after_help = "\
Examples:
  ouzel record -o run1 -- mpirun -n 8 ./app input        then: ouzel report run1
  eval \"$(ouzel record --env -o run1)\"; srun ./app; ouzel record --finish run1    in a job script
  ouzel record --dry-run -- ./app                        what can be recorded here

A recording has samples of the call paths of all threads, the calls of MPI in C and Fortran (Open MPI,
MPICH and libraries made from it), with messages, collective operations and communicators, calls of
files and streams with their bytes, OpenMP of programs compiled by GCC, gfortran or Clang, and functions of
code that is compiled with -finstrument-functions (GCC, Clang, gfortran).
DIR is the archive, DIR/traces.otf2. A process that is killed loses nothing that it had recorded.
Standard output and the exit code are those of COMMAND. More: docs/record.md"
)]
pub struct RecordArgs {
    /// Directory of the recording [default: ouzel-run, or ouzel-run-2 and so on]
    #[arg(short = 'o', long = "output", value_name = "DIR")]
    pub directory: Option<PathBuf>,

    /// Print the environment for a job script; run nothing
    #[arg(long, conflicts_with_all = ["finish", "dry_run", "command"])]
    pub env: bool,

    /// Make the archive of a recording whose program was started otherwise, or whose recorder was killed
    #[arg(long, value_name = "DIR", conflicts_with_all = ["dry_run", "command", "directory"])]
    pub finish: Option<PathBuf>,

    /// Say what can be recorded here, and what not; run nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Samples for each second of processor time of a thread
    #[arg(long, value_name = "HZ|off", default_value = "200", value_parser = parse_rate)]
    pub sample: SampleRate,

    /// Whether calls of MPI are recorded
    #[arg(long, value_enum, value_name = "WHEN", default_value = "on")]
    pub mpi: Switch,

    /// Whether OpenMP of GCC and Clang is recorded: parallel regions, barriers, locks, tasks
    #[arg(long, value_enum, value_name = "WHEN", default_value = "on")]
    pub openmp: Switch,

    /// Whether what files and streams do is recorded: read, fopen, printf, send, MPI_File_read and so on
    #[arg(long, value_enum, value_name = "WHEN", default_value = "on")]
    pub io: Switch,

    /// What each thread is counted by: auto (all that is there), none, or names such as cycles,instructions
    #[arg(long, value_name = "auto|none|NAME,…", default_value = "auto", value_parser = Wanted::parse)]
    pub counters: Wanted,

    /// Whether the memory of each process is read, four times a second
    #[arg(long, value_enum, value_name = "WHEN", default_value = "on")]
    pub memory: Switch,

    /// Bytes of events that each thread has mapped at a time, e.g. 1M [default: 256K]
    #[arg(long, value_name = "SIZE", value_parser = parse_buffer)]
    pub buffer: Option<usize>,

    /// How much of the path stayed since the last sample: prefix is an upper bound; exact is refused
    #[arg(long, value_name = "prefix|exact", default_value = "prefix", value_parser = parse_lca)]
    pub lca: Lca,

    /// Only these ranks of MPI, e.g. 0-63,128; the others run on without being recorded
    #[arg(long, value_name = "RANKS")]
    pub ranks: Option<RankSet>,

    /// Record nothing before this time after the start of the program, e.g. 90s
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub start_after: Option<u64>,

    /// Record nothing from this time after the start of the program on; the program goes on
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub stop_after: Option<u64>,

    /// Most bytes that one process may write; beyond, it runs on without being recorded
    #[arg(long, value_name = "SIZE", value_parser = ouzel_files::memory::parse_bytes)]
    pub limit: Option<u64>,

    /// Say nothing but what is missing
    #[arg(short, long)]
    pub quiet: bool,

    /// The program and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// How often samples are taken: 0 for never.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleRate(pub u32);

fn parse_rate(text: &str) -> Result<SampleRate, String> {
    /// More would leave the program no time.
    const HZ_MAX: u32 = 10_000;
    if text == "off" {
        return Ok(SampleRate(0));
    }
    let hz = text.parse().ok().filter(|hz| (1..=HZ_MAX).contains(hz));
    hz.map(SampleRate).ok_or_else(|| format!("must be off or a number from 1 to {HZ_MAX}"))
}

fn parse_buffer(text: &str) -> Result<usize, String> {
    stream::chunk_bytes(ouzel_files::memory::parse_bytes(text)?)
}

/// How much of a path stayed since the last sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lca {
    /// By the return addresses and their places that are the same: an upper bound.
    Prefix,
}

fn parse_lca(text: &str) -> Result<Lca, String> {
    match text {
        "prefix" => Ok(Lca::Prefix),
        "exact" => {
            Err("exact needs another return address on the program's stack, with which exceptions, longjmp \
                        and shadow stacks end the program: docs/design/record.md"
                .to_owned())
        }
        _ => Err("must be prefix".to_owned()),
    }
}

/// On or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    /// Recorded
    On,
    /// Left out
    Off,
}

impl Tool for RecordArgs {
    fn run(&self) -> anyhow::Result<Outcome> {
        let choices = Choices {
            sample_hz: Some(self.sample.0).filter(|&hz| 0 < hz),
            without_mpi: self.mpi == Switch::Off,
            without_openmp: self.openmp == Switch::Off,
            with_io: self.io == Switch::On,
            counters: Some(self.counters.to_string()),
            with_memory: self.memory == Switch::On,
            buffer_bytes: self.buffer,
            ranks: self.ranks.as_ref().map(ToString::to_string),
            limit_bytes: self.limit,
            window: self.window()?,
            started_ns: (!self.env).then(now_ns),
        };
        if self.ranks.is_some() && choices.without_mpi {
            bail!("--ranks needs MPI, which says the ranks: leave --mpi off out");
        }
        if let Some(directory) = &self.finish {
            let finished = finish(directory, None).map_err(anyhow::Error::from)?;
            self.tell(&finished);
            let lost = finished.archives.iter().flat_map(|archive| &archive.notices).any(|it| it.is_loss);
            return Ok(if lost { Outcome::DataLost } else { Outcome::Complete });
        }
        if self.dry_run {
            return self.dry_run();
        }
        let directory = self.directory.clone().unwrap_or_else(launch::free_directory);
        if self.env {
            return environment(&directory, &choices);
        }
        if self.command.is_empty() {
            bail!("no program to run: write it after --, as in: ouzel record -o run1 -- mpirun -n 8 ./app");
        }
        self.record(&directory, &choices)
    }
}

/// Nanoseconds since 1970.
fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Prints what a shell evaluates.
fn environment(directory: &Path, choices: &Choices) -> anyhow::Result<Outcome> {
    let directory = launch::make_directory(directory)?;
    let mut out = stdout().lock();
    for (name, value) in launch::environment(&directory, choices)? {
        let value = value.to_str().context("a path that is no text cannot be printed")?;
        writeln!(out, "export {name}='{}'", value.replace('\'', r"'\''"))?;
    }
    Ok(Outcome::Complete)
}

impl RecordArgs {
    /// What is recorded, if it is a part of the run.
    fn window(&self) -> anyhow::Result<Option<Window>> {
        let window =
            Window { start_ns: self.start_after.unwrap_or(0), stop_ns: self.stop_after.unwrap_or(u64::MAX) };
        if window.stop_ns <= window.start_ns {
            bail!("--stop-after must be later than --start-after: both count from the start of the program");
        }
        Ok((self.start_after.is_some() || self.stop_after.is_some()).then_some(window))
    }

    /// Runs the program, then makes the archive.
    fn record(&self, directory: &Path, choices: &Choices) -> anyhow::Result<Outcome> {
        // Before the directory is made, so that nothing is left behind without the library.
        launch::library()?;
        let absolute = launch::make_directory(directory)?;
        let variables = launch::environment(&absolute, choices)?;
        let mut command = process::Command::new(&self.command[0]);
        command.args(&self.command[1..]).envs(variables);
        let started = command.spawn();
        let mut child = match started {
            Ok(child) => child,
            Err(error) => {
                remove_if_empty(&absolute);
                return Err(error).with_context(|| format!("cannot run {:?}", self.command[0]));
            }
        };
        let status = {
            let _passed = ending::pass_signals_to(child.id());
            child.wait().context("cannot wait for the program")?
        };
        let killed = status.signal().and_then(|signal| u32::try_from(signal).ok());
        match finish(&absolute, killed.map(|signal| Killed { pid: child.id(), signal })) {
            Ok(finished) => {
                self.tell(&finished);
                if !self.quiet {
                    first_lines(directory);
                }
            }
            Err(error) => {
                say(&error.to_string());
                remove_if_empty(&absolute);
            }
        }
        Ok(Outcome::OfProgram(code(status)))
    }

    /// What was recorded, and what is missing.
    fn tell(&self, finished: &Finished) {
        for archive in &finished.archives {
            for notice in archive.notices.iter().filter(|notice| notice.is_loss || !self.quiet) {
                say(&notice.message);
            }
            if !self.quiet {
                say(&closing_line(archive));
            }
        }
        if 0 < finished.n_left_out && !self.quiet {
            let processes = units::counted(finished.n_left_out as u64, "process", "processes");
            let is_mpi = finished.archives.iter().any(|archive| archive.is_mpi);
            let why = if is_mpi { "without MPI" } else { "that only start others" };
            say(&format!("{processes} {why} left out"));
        }
    }
}

fn closing_line(archive: &FinishedArchive) -> String {
    let (one, many) = if archive.is_mpi { ("rank", "ranks") } else { ("process", "processes") };
    format!(
        "recorded {}: {}, {}, {}, {}, {}",
        archive.path.display(),
        units::counted(archive.n_processes as u64, one, many),
        units::counted(archive.n_locations as u64, "thread", "threads"),
        units::counted(archive.n_events, "event", "events"),
        units::bytes(archive.n_bytes),
        units::time(archive.length_ns),
    )
}

/// The beginning of the report, by another process: it writes to standard output, which is the program's here.
fn first_lines(directory: &Path) {
    /// Title, time that can be recovered, and the first finding.
    const N_LINES: usize = 8;
    let Ok(program) = std::env::current_exe() else { return };
    let mut report = process::Command::new(program);
    report.arg("report").arg(directory).args(["--color", "never", "--no-progress"]);
    let Ok(output) = report.stdin(Stdio::null()).stderr(Stdio::null()).output() else { return };
    let text = String::from_utf8_lossy(&output.stdout);
    let mut to = stderr().lock();
    for line in text.lines().take(N_LINES) {
        let _ = writeln!(to, "{line}");
    }
    let _ = writeln!(to, "ouzel: more: ouzel report {}", clean(&directory.display().to_string()));
}

/// As a shell says it: 128 and the signal for a program that a signal has ended.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}

fn say(line: &str) {
    // Nothing is left to be done if standard error is closed.
    let _ = writeln!(stderr(), "ouzel: {}", clean(line));
}

/// Removes the directory of a recording that came to nothing; one with a piece in it stays.
fn remove_if_empty(directory: &Path) {
    let pieces = directory.join(ouzel_recording::settings::PIECES);
    let entries: Vec<PathBuf> =
        fs::read_dir(&pieces).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    // Without a piece, it matters to nothing which processes were killed.
    if entries.iter().all(|path| path.is_file()) {
        entries.iter().for_each(|path| drop(fs::remove_file(path)));
    }
    let _ = fs::remove_dir(pieces);
    let _ = fs::remove_dir(directory);
}

/// By what samples are taken on this system.
fn samples() -> String {
    if !cfg!(target_arch = "x86_64") {
        return "not on this processor: x86-64 alone".to_owned();
    }
    /// Of the kernel: from 3 on, distributions let nobody but root count.
    const PARANOID: &str = "/proc/sys/kernel/perf_event_paranoid";
    let level = ouzel_files::input::read_text(Path::new(PARANOID), 64)
        .ok()
        .and_then(|text| text.trim().parse::<i32>().ok());
    match level {
        Some(level) if level < 3 => "call paths of all threads, by perf_event".to_owned(),
        Some(level) => format!(
            "call paths of all threads, by perf_event for root, else by a timer of at most the kernel's rate \
             ({PARANOID} is {level})"
        ),
        None => "call paths of all threads, by a timer of at most the kernel's rate: perf_event is not there"
            .to_owned(),
    }
}

/// Which calls of files are recorded on this system.
fn io() -> &'static str {
    match cfg!(target_arch = "x86_64") {
        true => "calls of files, sockets, streams and MPI-IO, each with its file and bytes",
        false => {
            "calls of files, sockets, streams and MPI-IO, each with its file and bytes; not printf and fprintf"
        }
    }
}

/// Which calls that wait are recorded on this system.
fn waiting() -> &'static str {
    match cfg!(target_arch = "x86_64") {
        true => {
            "calls that wait for locks, conditions, semaphores, threads, processes and events (not with --sample off)"
        }
        false => "not on this processor: x86-64 alone",
    }
}

/// What of OpenMP is recorded on this system.
fn openmp() -> &'static str {
    match cfg!(target_arch = "x86_64") {
        true => {
            "parallel regions, teams, barriers, shared work, locks and tasks of programs compiled by GCC and Clang"
        }
        false => "not on this processor: x86-64 alone",
    }
}

/// Which of the wanted counters this system has.
fn counters(wanted: &Wanted) -> String {
    /// Where the kernel lists the counters of processors, by the kind of processor.
    const OF_PROCESSORS: [&str; 4] = ["cpu", "cpu_core", "armv8_pmuv3_0", "armv8_pmuv3"];
    let folder = Path::new("/sys/bus/event_source/devices");
    let has_hardware = OF_PROCESSORS.iter().any(|name| folder.join(name).exists());
    let names = |is_there: bool| {
        let all = wanted.counters().iter().filter(|it| (has_hardware || !it.is_of_hardware()) == is_there);
        all.map(|counter| counter.name).collect::<Vec<&str>>().join(", ")
    };
    match (names(true), names(false)) {
        (there, absent) if there.is_empty() && absent.is_empty() => "none".to_owned(),
        (there, absent) if absent.is_empty() => there,
        (there, absent) => {
            let there = if there.is_empty() { "none".to_owned() } else { there };
            format!("{there}; not here, as the processor shows no counters: {absent}")
        }
    }
}

impl RecordArgs {
    /// What can be recorded here.
    fn dry_run(&self) -> anyhow::Result<Outcome> {
        let mut out = stdout().lock();
        match launch::library() {
            Ok(path) => writeln!(out, "library       {}", clean(&path.display().to_string()))?,
            Err(error) => writeln!(out, "library       nothing can be recorded: {error}")?,
        }
        writeln!(
            out,
            "MPI           calls, messages, collectives and communicators of Open MPI and MPICH, C and Fortran"
        )?;
        writeln!(out, "OpenMP        {}", openmp())?;
        writeln!(
            out,
            "functions     of code compiled with -finstrument-functions or changed by ouzel instrument"
        )?;
        writeln!(out, "samples       {}", samples())?;
        writeln!(out, "call paths    what stayed since the last sample is an upper bound (--lca prefix)")?;
        writeln!(out, "counters      {}", counters(&self.counters))?;
        writeln!(out, "memory        of each process, in use and at most")?;
        writeln!(out, "I/O           {}", io())?;
        writeln!(out, "waiting       {}", waiting())?;
        writeln!(out, "not recorded  starts and ends of threads, who holds a lock")?;
        if let Some(program) = self.command.first() {
            let text = launch::obstacle(Path::new(program)).unwrap_or_else(|| "can be recorded".to_owned());
            writeln!(out, "program       {}: {text}", clean(&program.to_string_lossy()))?;
        }
        Ok(Outcome::Complete)
    }
}
