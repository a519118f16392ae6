//! `cargo xtask zoo`: runs the programs with planted faults and records what they do.
//!
//! Shape: `zoo/programs.json` lists what is planted; each program is built, run faulty and
//! fixed, and recorded into `testdata/zoo/<name>/{faulty,fixed}` beside its `facts.json`.
//! From these `--table` makes `docs/validation.md`. Law: tests and the table need only the
//! recorded archives, never MPI. The programs and their tracer are in `zoo/`.

mod facts;
mod record;
mod table;

use crate::runner::output;
use crate::workspace;
use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const HELP: &str = "\
usage: cargo xtask zoo [--only NAME] [--repetitions N]
       cargo xtask zoo --table | --check

runs the programs with planted faults and records archives into testdata/zoo

  --only NAME        one program
  --repetitions N    untraced runs, of which the median counts (default 5)
  --table            write docs/validation.md from the recorded archives; needs no MPI
  --check            whether docs/validation.md is what --table would write
";

/// A program of the zoo, as `zoo/programs.json` has it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Program {
    /// Of the program and of its folder of archives.
    pub name: String,
    /// File in `zoo/programs`.
    pub source: String,
    /// MPI processes.
    pub n_ranks: u32,
    /// OpenMP threads of each.
    pub n_threads: u32,
    /// What is wrong, in words.
    pub fault: String,
    /// What `--fixed` does about it.
    pub fix: String,
    /// What is replaced by sleeping.
    pub emulated: String,
    /// Words of `ouzel what-if` that say what `--fixed` does; empty if no words do.
    #[serde(default)]
    pub what_if: Vec<String>,
    /// Whether the run ends as if it were killed, and the archive with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub killed: bool,
    /// What the first finding must report; none if nothing is wrong.
    pub planted: Option<Planted>,
}

/// A fault as the diagnosis should name it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Planted {
    /// The kind of finding.
    pub kind: String,
    /// Regions that follow each other somewhere in the call path of the finding.
    pub call_path: Vec<String>,
    /// The ranks at fault; none if all ranks are equally at fault.
    pub ranks: Option<Vec<u32>>,
    /// The first step with the fault, counted from 0; none if all steps have it.
    pub since_iteration: Option<u64>,
    /// The steps with the fault, as inclusive ranges; empty if `since_iteration` says it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub iterations: Vec<(u64, u64)>,
    /// Which ranks are at fault when, if they change; `ranks` are all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub epochs: Vec<Epoch>,
    /// Whether the path of the finding ends with the planted one: a function is at fault with all that it calls.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ends_there: bool,
    /// Kinds of which any finding, also a later one, would be false.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub false_kinds: Vec<String>,
}

/// Some steps, and the ranks that are at fault in them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Epoch {
    /// First and last step.
    pub iterations: (u64, u64),
    /// The ranks at fault.
    pub ranks: Vec<u32>,
}

enum Task {
    Record { only: Option<String>, n_repetitions: usize },
    Table,
    Check,
}

/// `cargo xtask zoo`
pub fn run(arguments: &[String]) -> Result<()> {
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        print!("{HELP}");
        return Ok(());
    }
    let root = workspace::root()?;
    match parse(arguments).with_context(|| format!("see below\n\n{HELP}"))? {
        Task::Record { only, n_repetitions } => record_all(&root, only.as_deref(), n_repetitions),
        Task::Table => table::write(&root, &built(&root)?),
        Task::Check => table::check(&root, &built(&root)?),
    }
}

fn parse(arguments: &[String]) -> Result<Task> {
    let (mut only, mut n_repetitions) = (None, 5);
    let mut rest = arguments.iter();
    while let Some(name) = rest.next() {
        let mut value = || rest.next().with_context(|| format!("{name} needs a value"));
        match name.as_str() {
            "--only" => only = Some(value()?.clone()),
            "--repetitions" => n_repetitions = value()?.parse().context("not a number")?,
            "--table" if arguments.len() == 1 => return Ok(Task::Table),
            "--check" if arguments.len() == 1 => return Ok(Task::Check),
            other => bail!("no option {other:?}, or not together with others"),
        }
    }
    ensure!((1..=101).contains(&n_repetitions), "between 1 and 101 repetitions");
    Ok(Task::Record { only, n_repetitions })
}

/// # Errors
/// When `docs/validation.md` is not what `--table` would write with the answers of the program `ouzel`.
pub fn check(root: &Path, ouzel: &Path) -> Result<()> {
    table::check(root, ouzel)
}

/// The program of this checkout, built for development.
fn built(root: &Path) -> Result<PathBuf> {
    output(Command::new(workspace::cargo()).current_dir(root).args(["build", "--quiet", "-p", "ouzel-cli"]))?;
    Ok(workspace::target(root)?.join("debug/ouzel"))
}

/// The programs, in the order of the table.
///
/// # Errors
/// When `zoo/programs.json` cannot be read or understood.
pub fn programs(root: &Path) -> Result<Vec<Program>> {
    let text = fs::read_to_string(root.join("zoo/programs.json")).context("cannot read zoo/programs.json")?;
    serde_json::from_str(&text).context("zoo/programs.json")
}

fn record_all(root: &Path, only: Option<&str>, n_repetitions: usize) -> Result<()> {
    let mut programs = programs(root)?;
    programs.retain(|program| only.is_none_or(|only| program.name == only));
    ensure!(!programs.is_empty(), "no program {:?} in zoo/programs.json", only.unwrap_or_default());
    let Some(workshop) = record::Workshop::set_up(root)? else {
        println!("skipped: the zoo was not run, recorded archives stay as they are");
        return Ok(());
    };
    let mut n_skipped = 0;
    for program in &programs {
        println!("== {}", program.name);
        if workshop.can_build(program) {
            let facts = workshop.run(program, n_repetitions)?;
            println!("{}", facts.line());
        } else {
            println!("skipped: {}: no Fortran compiler for MPI (mpif90)", program.name);
            n_skipped += 1;
        }
    }
    println!("{} programs recorded, {n_skipped} skipped", programs.len() - n_skipped);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_have_a_source_and_a_name_of_their_own() {
        let root = workspace::root().expect("tests run in the repository");
        let programs = programs(&root).expect("the list can be read");
        for program in &programs {
            assert!(root.join("zoo/programs").join(&program.source).is_file(), "{}", program.source);
            assert_eq!(programs.iter().filter(|other| other.name == program.name).count(), 1);
        }
        assert_eq!(programs.iter().filter(|program| program.planted.is_none()).count(), 1, "one is clean");
        assert!(2 <= programs.iter().filter(|program| program.source.ends_with(".F90")).count());
    }

    #[test]
    fn options_do_not_mix() {
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        assert!(matches!(parse(&words(&["--table"])), Ok(Task::Table)));
        assert!(matches!(
            parse(&words(&["--repetitions", "3"])),
            Ok(Task::Record { only: None, n_repetitions: 3 })
        ));
        for wrong in [&["--table", "--only"][..], &["--repetitions", "0"], &["--only"], &["clean"]] {
            assert!(parse(&words(wrong)).is_err(), "{wrong:?}");
        }
    }
}
