//! `cargo xtask fuzz`: builds the fuzz targets, and runs each for a bounded time.
//!
//! The coverage that the fuzzer needs comes from flags that stable compilers know, so no other
//! toolchain is asked for; libFuzzer itself is C++ and is built with the system's compiler.
//! What a run finds interesting is kept beside the build products, so that the next goes on from
//! there; `fuzz/corpus/` holds the seeds, which no run changes. `--keep` chooses from the fewest of
//! what was found that reach the same code, for `fuzz/kept/`: a clone begins near where long runs ended.
//! The tests begin with what the repository holds, in one order and with one seed, so that they try
//! the same inputs on every machine; other runs draw their own seed.

use crate::runner::{answers, bounded};
use crate::stopwatch::Stopwatch;
use crate::workspace;
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const HELP: &str = "\
usage: cargo xtask fuzz [--seconds N] [TARGET ...]
       cargo xtask fuzz --seeds
       cargo xtask fuzz --keep [TARGET ...]

  --seconds N   how long each target runs (default 10)
  --seeds       write the seeds in fuzz/corpus/ anew
  --keep        put short inputs that together reach most of what was reached into fuzz/kept/
  TARGET        a file of fuzz/fuzz_targets/, without its ending; all of them if none is named
";

/// What turns on the coverage that libFuzzer follows; the same that `cargo fuzz` gives.
const COVERAGE: &[&str] = &[
    "--cfg=fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
];

/// Seconds after which one input counts as a hang.
const HANG_SECONDS: u32 = 20;
/// Bytes of an input at most: some chunks of the smallest size.
const MAX_INPUT_BYTES: u32 = 4096;
const MAX_RESIDENT_MB: u32 = 1024;

/// `cargo xtask fuzz`
pub fn run(arguments: &[String]) -> Result<()> {
    let root = workspace::root()?;
    match parse(arguments).with_context(|| format!("see below\n\n{HELP}"))? {
        Task::Help => print!("{HELP}"),
        Task::Seeds => write_seeds(&root)?,
        Task::Keep { targets } => keep(&root, &targets)?,
        Task::Fuzz { seconds, targets } => {
            if let Some(why) = lacks(&root) {
                bail!("{why}");
            }
            for line in fuzz(&root, seconds, &targets, From::Grown)? {
                println!("{line}");
            }
        }
    }
    Ok(())
}

#[derive(Debug, PartialEq, Eq)]
enum Task {
    Help,
    Seeds,
    Keep { targets: Vec<String> },
    Fuzz { seconds: u32, targets: Vec<String> },
}

fn parse(arguments: &[String]) -> Result<Task> {
    let (mut seconds, mut targets, mut is_keeping) = (10, Vec::new(), false);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--help" | "-h" => return Ok(Task::Help),
            "--seeds" => return Ok(Task::Seeds),
            "--keep" => is_keeping = true,
            "--seconds" => {
                let value = rest.next().context("--seconds needs a number")?;
                seconds = value.parse().with_context(|| format!("{value:?} is no number of seconds"))?;
                ensure!(0 < seconds, "a run takes a second at least");
            }
            option if option.starts_with('-') => bail!("no option {option:?}"),
            target => targets.push(target.to_owned()),
        }
    }
    Ok(if is_keeping { Task::Keep { targets } } else { Task::Fuzz { seconds, targets } })
}

/// The reason why the targets cannot be built here, if there is one.
pub fn lacks(root: &Path) -> Option<String> {
    let compiles = ["c++", "g++", "clang++"].iter().any(|name| answers(Command::new(name).arg("--version")));
    if !compiles {
        return Some("no C++ compiler, which libFuzzer needs".to_owned());
    }
    let mut fetch = Command::new(workspace::cargo());
    fetch.args(["fetch", "--quiet", "--manifest-path", "fuzz/Cargo.toml"]).current_dir(root);
    (!answers(&mut fetch)).then(|| "the crates of the fuzz targets cannot be fetched".to_owned())
}

/// What a run begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum From {
    /// What the repository holds; each run tries the same inputs.
    Repository,
    /// What earlier runs found, too; each run tries others.
    Grown,
}

/// Builds the targets and runs those named, or all; gives back a line on each.
///
/// # Errors
/// With the reproducers, if a target found something; the others run all the same.
pub fn fuzz(root: &Path, seconds: u32, named: &[String], from: From) -> Result<Vec<String>> {
    let targets = chosen(root, named)?;
    let place = workspace::target(root)?.join("fuzz");
    let binaries = build(root, &place)?;
    let (mut lines, mut found) = (Vec::new(), Vec::new());
    for target in &targets {
        let one = One::new(root, target, &place);
        match one.run(&binaries.join(target), seconds, from)? {
            Ok(line) => lines.push(line),
            Err(line) => found.push(line),
        }
    }
    ensure!(found.is_empty(), "{}", found.join("\n"));
    Ok(lines)
}

/// The targets that are named, or all.
fn chosen(root: &Path, named: &[String]) -> Result<Vec<String>> {
    let all = targets(root)?;
    for name in named {
        ensure!(all.contains(name), "no target {name:?}; there are: {}", all.join(", "));
    }
    Ok(all.into_iter().filter(|target| named.is_empty() || named.contains(target)).collect())
}

/// Inputs that are kept of a target at most, and the bytes of one.
const KEPT_INPUTS_MAX: usize = 32;
const KEPT_BYTES_MAX: u64 = 512;
/// Seconds that choosing them may take.
const KEEP_SECONDS: u32 = 300;

/// Chooses what is kept of the inputs that were found: of those that are short the longest, as each reaches most.
fn keep(root: &Path, named: &[String]) -> Result<()> {
    let place = workspace::target(root)?.join("fuzz");
    let binaries = build(root, &place)?;
    for target in chosen(root, named)? {
        let one = One::new(root, &target, &place);
        let (n, n_bytes) = one.keep(&binaries.join(&target))?;
        println!("fuzz {target}: kept {n} inputs, {n_bytes} bytes");
    }
    Ok(())
}

/// The targets, sorted.
fn targets(root: &Path) -> Result<Vec<String>> {
    let folder = root.join("fuzz/fuzz_targets");
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "rs") {
            names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        }
    }
    names.sort();
    Ok(names)
}

fn cargo_in_fuzz(root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(workspace::cargo());
    command.args(arguments).args(["--quiet", "--release", "--manifest-path", "fuzz/Cargo.toml"]);
    command.current_dir(root);
    command
}

/// Builds every target; gives back the folder of the binaries.
fn build(root: &Path, place: &Path) -> Result<PathBuf> {
    // With a target named, build scripts and macros are built without the flags.
    let host = host()?;
    let mut command = cargo_in_fuzz(root, &["build", "--bins", "--target", &host]);
    let mut flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    for flag in COVERAGE {
        flags.push(' ');
        flags.push_str(flag);
    }
    let status = command.arg("--target-dir").arg(place).env("RUSTFLAGS", flags).status();
    ensure!(status.context("cannot run cargo")?.success(), "the fuzz targets cannot be built");
    Ok(place.join(host).join("release"))
}

/// The platform that is compiled for.
pub fn host() -> Result<String> {
    let out = Command::new("rustc").arg("-vV").output().context("cannot run rustc")?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc names no host")?.to_owned())
}

struct One<'a> {
    target: &'a str,
    seeds: PathBuf,
    kept: PathBuf,
    place: &'a Path,
}

impl<'a> One<'a> {
    fn new(root: &Path, target: &'a str, place: &'a Path) -> Self {
        let folder = |of: &str| root.join("fuzz").join(of).join(target);
        One { target, seeds: folder("corpus"), kept: folder("kept"), place }
    }

    /// Where a run keeps what it finds.
    fn grown(&self) -> PathBuf {
        self.place.join("grown").join(self.target)
    }

    /// Replaces what is kept; gives back the number of inputs and their bytes.
    fn keep(&self, binary: &Path) -> Result<(usize, u64)> {
        let chosen = self.place.join("chosen").join(self.target);
        if chosen.exists() {
            fs::remove_dir_all(&chosen)?;
        }
        fs::create_dir_all(&chosen)?;
        let there = [self.grown(), self.kept.clone()].into_iter().filter(|folder| folder.is_dir());
        let mut command = bounded(KEEP_SECONDS, binary);
        command.arg("-set_cover_merge=1").arg(format!("-timeout={HANG_SECONDS}")).arg(&chosen).args(there);
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        ensure!(
            status.context("cannot start the fuzzer")?.success(),
            "{}: no inputs were chosen",
            self.target
        );
        let mut inputs = Vec::new();
        for entry in fs::read_dir(&chosen)? {
            let entry = entry?;
            inputs.push((entry.metadata()?.len(), entry.path()));
        }
        inputs.retain(|(length, _)| *length <= KEPT_BYTES_MAX);
        inputs.sort();
        if self.kept.exists() {
            fs::remove_dir_all(&self.kept)?;
        }
        fs::create_dir_all(&self.kept)?;
        let (mut n, mut n_bytes) = (0, 0);
        for (length, path) in inputs.iter().rev().take(KEPT_INPUTS_MAX) {
            fs::copy(path, self.kept.join(path.file_name().context("a file has a name")?))?;
            (n, n_bytes) = (n + 1, n_bytes + length);
        }
        Ok((n, n_bytes))
    }

    /// The inputs that the repository holds, sorted.
    fn held(&self) -> Result<Vec<String>> {
        let mut paths = Vec::new();
        for folder in [&self.seeds, &self.kept].into_iter().filter(|folder| folder.is_dir()) {
            for entry in fs::read_dir(folder)? {
                paths.push(entry?.path().display().to_string());
            }
        }
        paths.sort();
        ensure!(!paths.is_empty(), "no seeds in {}", self.seeds.display());
        Ok(paths)
    }

    /// Runs the target; gives back a line on how it went, as an error if it found something.
    fn run(&self, binary: &Path, seconds: u32, from: From) -> Result<std::result::Result<String, String>> {
        let name = self.target;
        let grown = self.grown();
        let artifacts = self.place.join("artifacts");
        fs::create_dir_all(&grown)?;
        fs::create_dir_all(&artifacts)?;
        let log = artifacts.join(format!("{name}.log"));
        let list = artifacts.join(format!("{name}.inputs"));
        fs::write(&list, self.held()?.join(","))?;
        let clock = Stopwatch::start();
        // Normally the fuzzer ends itself; the limit is for one that cannot.
        let mut command = bounded(seconds + 4 * HANG_SECONDS, binary);
        match from {
            From::Repository => command.arg("-seed=1"),
            From::Grown => command.arg(&grown),
        };
        let status = command
            .arg(format!("-seed_inputs=@{}", list.display()))
            .args([format!("-max_total_time={seconds}"), format!("-timeout={HANG_SECONDS}")])
            .args([format!("-rss_limit_mb={MAX_RESIDENT_MB}"), format!("-max_len={MAX_INPUT_BYTES}")])
            .arg(format!("-artifact_prefix={}/{name}-", artifacts.display()))
            .stdout(Stdio::null())
            .stderr(fs::File::create(&log)?)
            .status()
            .with_context(|| format!("cannot start {}", binary.display()))?;
        let said = String::from_utf8_lossy(&fs::read(&log)?).into_owned();
        let took = clock.elapsed().as_secs();
        if status.success() {
            let runs = said.lines().rev().find(|line| line.starts_with("Done "));
            let runs = runs.and_then(|line| line.split_whitespace().nth(1)).unwrap_or("?");
            println!("fuzz {name}: {runs} inputs in {took} s");
            return Ok(Ok(format!("fuzz {name}: {runs} inputs in {took} s, nothing found")));
        }
        println!("{said}");
        let panic = said.lines().skip_while(|line| !line.contains("panicked at")).take(2);
        let reproducer = said.lines().find_map(|line| Some(line.split_once("Test unit written to ")?.1));
        Ok(Err(format!(
            "fuzz {name}: {status}; {}; reproduce with {} {}",
            panic.collect::<Vec<_>>().join(" "),
            binary.display(),
            reproducer.unwrap_or("(no reproducer)"),
        )))
    }
}

fn write_seeds(root: &Path) -> Result<()> {
    let place = workspace::target(root)?.join("fuzz");
    let status = cargo_in_fuzz(root, &["run", "--example", "seeds"]).arg("--target-dir").arg(&place).status();
    ensure!(status.context("cannot run cargo")?.success(), "the seeds cannot be written");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        let task = |arguments: &[&str]| {
            let arguments: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
            parse(&arguments)
        };
        let all = task(&[]).expect("nothing is needed");
        assert_eq!(all, Task::Fuzz { seconds: 10, targets: vec![] });
        let one = task(&["--seconds", "60", "anchor"]).expect("both are known");
        assert_eq!(one, Task::Fuzz { seconds: 60, targets: vec!["anchor".to_owned()] });
        assert_eq!(task(&["--seeds"]).expect("it is known"), Task::Seeds);
        assert_eq!(task(&["--keep"]).expect("it is known"), Task::Keep { targets: vec![] });
        assert!(task(&["--seconds", "0"]).is_err() && task(&["--minutes"]).is_err());
    }

    #[test]
    fn every_target_has_seeds() {
        let root = workspace::root().expect("the tests run in the repository");
        let targets = targets(&root).expect("there are targets");
        assert!(targets.len() >= 10);
        for target in targets {
            assert!(root.join("fuzz/corpus").join(&target).is_dir(), "{target} has no seeds");
        }
    }
}
