//! `cargo xtask trials`: what takes too long for `cargo xtask test`, before a release or a large change.
//!
//! Each trial runs by its name; without a name all run, in the order of the table.

mod artifacts;
mod musl;
mod old_kernel;
mod pictures;
mod processors;
mod recipes;
mod record_faults;
mod record_many;
mod record_programs;
mod record_samples;

use crate::steps::{self, Context, Outcome, Step};
use crate::{bench, dist, fuzz, mutate, setup, site, workspace};
use anyhow::{Result, bail, ensure};
use std::fs;
use std::process::Command;
use std::time::Duration;

const HELP: &str = "\
usage: cargo xtask trials [NAME ...]

what takes too long for cargo xtask test; all of them if none is named

  fuzzing          each fuzz target for five minutes, from all inputs found so far
  mutations        damaged archives of all formats for half an hour
  artifacts        what cargo xtask dist makes, installed into empty systems and used; needs root and debootstrap
  processors       all of dist, with musl and for 64-bit ARM, from a Rust that has neither target; needs the same
  musl             the wheel for musl in a system that has no glibc; compiles CPython once; needs the same
  old-kernel       the static binary and the recorder without the system calls that came after Linux 3.10
  recipes          the recipes of packaging/, by the tools of each ecosystem
  record-faults    ouzel record of runs whose ranks are killed in turn, at ten moments, by Open MPI and MPICH
  record-many      ouzel record of a million threads, 2,000 children by vfork, 200 ranks on one node
  record-programs  ouzel record of HPC Challenge, LAMMPS, GROMACS and mpi4py beside an independent count of their calls
  record-samples   the samples of LAMMPS by ouzel record and by perf record, in one run
  pictures         the pictures of the viewer in the documentation, made anew and compared, in a browser
  site             the documentation by mdBook, in two versions, in a browser; compiles mdBook once
  same-bytes       cargo xtask dist from a second clone, which must give the same bytes
  musl-bytes       the same of the archive with musl, in the system of processors, which must have run
  wheel-bytes      the same of the wheels and the sources
  benchmarks       cargo xtask bench, which writes docs/speed.md

OUZEL_DIST=DIR names a folder with what cargo xtask dist made before; else it is made anew.
";

const TRIALS: &[Step] = &[
    ("fuzzing", fuzzing),
    ("mutations", mutations),
    ("artifacts", artifacts::install_and_use),
    ("processors", processors::build_and_use),
    ("musl", musl::install_and_use),
    ("old-kernel", old_kernel::use_all),
    ("recipes", recipes::try_all),
    ("record-faults", record_faults::kill_ranks),
    ("record-many", record_many::many),
    ("record-programs", record_programs::compare),
    ("record-samples", record_samples::compare),
    ("pictures", pictures::compare),
    ("site", site),
    ("same-bytes", same_bytes),
    ("musl-bytes", processors::archive_again),
    ("wheel-bytes", processors::wheels_again),
    ("benchmarks", benchmarks),
];

/// `cargo xtask trials`
pub fn run(words: &[String]) -> Result<()> {
    if words.iter().any(|word| word == "--help") {
        print!("{HELP}");
        return Ok(());
    }
    if let Some(word) = words.iter().find(|word| !TRIALS.iter().any(|(name, _)| name == word)) {
        bail!("no trial {word:?}\n\n{HELP}");
    }
    let root = workspace::root()?;
    println!("== set-up");
    let tools = setup::install(&root)?;
    let wanted = TRIALS.iter().filter(|(name, _)| words.is_empty() || words.iter().any(|word| word == name));
    steps::run(&Context { root, tools }, wanted)
}

fn fuzzing(context: &Context) -> Result<Outcome> {
    Ok(match fuzz::lacks(&context.root) {
        Some(why) => Outcome::Skipped(why),
        None => Outcome::Passed(fuzz::fuzz(&context.root, 300, &[], fuzz::From::Grown)?),
    })
}

/// Other cases than those of `cargo xtask test`, which has the seed 1.
fn mutations(context: &Context) -> Result<Outcome> {
    Ok(Outcome::Passed(mutate::mutate(&context.root, Duration::from_secs(30 * 60), 2)?))
}

fn site(context: &Context) -> Result<Outcome> {
    Ok(Outcome::Passed(site::build_and_look(&context.root)?))
}

/// The folder, the caches and the time of a build must not show in what is handed on.
fn same_bytes(context: &Context) -> Result<Outcome> {
    let place = workspace::target(&context.root)?.join("trials/second-clone");
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    let first = dist::sums(&context.root)?;
    let cloned = Command::new("git").args(["clone", "--quiet"]).arg(&context.root).arg(&place).status()?;
    ensure!(cloned.success(), "git clone ended with {cloned}");
    let mut again = Command::new(workspace::cargo());
    again.args(["xtask", "dist"]).current_dir(&place).env_remove("CARGO_TARGET_DIR");
    let ended = again.status()?;
    ensure!(ended.success(), "cargo xtask dist in the second clone ended with {ended}");
    let second = fs::read_to_string(place.join("target/dist/out").join(dist::SUMS))?;
    Ok(compared(&first, &second))
}

/// The files whose checksums differ, by the lines of both lists.
fn compared(first: &str, second: &str) -> Outcome {
    let differ = |one: &str, other: &str, which: &str| {
        let lines = one.lines().filter(|line| !other.lines().any(|other| other == *line));
        lines.map(|line| format!("{which}: {line}")).collect::<Vec<_>>()
    };
    let mut differing = differ(first, second, "here");
    differing.extend(differ(second, first, "second clone"));
    match differing.is_empty() {
        true => Outcome::Passed(first.lines().map(str::to_owned).collect()),
        false => Outcome::Failed(differing),
    }
}

fn benchmarks(_: &Context) -> Result<Outcome> {
    bench::run(&[])?;
    Ok(Outcome::Passed(vec!["docs/speed.md is written".to_owned()]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_names_every_trial() {
        for (name, _) in TRIALS {
            assert!(HELP.lines().any(|line| line.trim_start().starts_with(name)), "{name}");
        }
        assert!(run(&["nothing".to_owned()]).is_err());
    }

    #[test]
    fn lists_of_checksums_differ_by_line() {
        let Outcome::Failed(lines) = compared("1  a\n2  b\n", "1  a\n3  b\n") else { panic!("they differ") };
        assert_eq!(lines, ["here: 2  b", "second clone: 3  b"]);
        assert!(matches!(compared("1  a\n", "1  a\n"), Outcome::Passed(_)));
    }
}
