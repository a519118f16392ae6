//! Programs whose loops have known counts, compiled with optimisation, sampled by `ouzel record`: the loops are those of
//! the binary, and so is the control flow by which their iterations are told apart.

use crate::run::{Scratch, command, json};
use ouzel_testkit::has_programs;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/planted");

/// The line and the count that a source promises.
fn planted(source: &str) -> (u64, u64) {
    let text = std::fs::read_to_string(Path::new(SOURCES).join(source)).expect("a source");
    let promise = |(line, text): (u64, &str)| {
        let count = text.split_once("PLANTED ")?.1.split_whitespace().next()?;
        Some((line, count.parse().ok()?))
    };
    (1..).zip(text.lines()).find_map(promise).expect("a loop is planted")
}

/// Compiles a source and records it.
fn recorded(scratch: &Scratch, compiler: &str, source: &str, words: &[&str], rate: &str) -> PathBuf {
    let (program, run) = (scratch.0.join("program"), scratch.0.join("run"));
    let mut build = Command::new(compiler);
    // Modules of Fortran are written where the compiler runs.
    build.current_dir(&scratch.0).args(words).arg("-o").arg(&program).arg(Path::new(SOURCES).join(source));
    assert!(build.status().expect("the compiler is there").success());
    let mut record = command();
    record.args(["record", "--quiet", "--sample", rate, "-o"]).arg(&run).arg("--").arg(&program);
    let output = record.output().expect("the binary is there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    run
}

fn loops(run: &Path) -> Vec<Value> {
    json(run, &["iterations"])["data"]["loops"].as_array().expect("a list").clone()
}

fn at(loops: &[Value], line: u64) -> Value {
    let ending = format!(":{line}");
    let found = loops.iter().find(|it| it["name"].as_str().is_some_and(|name| name.ends_with(&ending)));
    found.unwrap_or_else(|| panic!("no loop at line {line} in {loops:?}")).clone()
}

#[test]
fn loops_of_sampled_programs_have_the_iterations_that_they_have() {
    for (compiler, source) in [("gcc", "planted.c"), ("g++", "planted.cpp"), ("gfortran", "planted.f90")] {
        if !has_programs(&[compiler]) {
            continue;
        }
        let (line, count) = planted(source);
        let scratch = Scratch::new(&format!("planted-{source}"));
        let run = recorded(&scratch, compiler, source, &["-g", "-O2"], "200");
        let found = at(&loops(&run), line);
        assert_eq!(found["source"], "binary", "{source}: {found}");
        assert_eq!(found["cfg_source"], "binary", "{source}: {found}");
        assert_eq!(found["accepted"], count, "{source}: {found}");
        assert_eq!(found["rejected"], 0, "{source}: {found}");
    }
}

/// Of iterations that are shorter than a few samples, as many are told apart as were, or less.
#[test]
fn counts_of_short_iterations_are_lower_bounds() {
    if !has_programs(&["gcc"]) {
        return;
    }
    let (line, _) = planted("planted.c");
    let scratch = Scratch::new("planted-short");
    let words = ["-g", "-O2", "-DSTEPS=150", "-DWORK=0.008"];
    let run = recorded(&scratch, "gcc", "planted.c", &words, "200");
    let ending = format!(":{line}");
    // Where most iterations are rejected, the loop is a profile.
    for found in
        loops(&run).iter().filter(|it| it["name"].as_str().is_some_and(|name| name.ends_with(&ending)))
    {
        let count = |key: &str| found[key].as_u64().expect("a number");
        assert!(count("accepted") + count("rejected") <= 150, "{found}");
    }
    let profile = json(&run, &["profile"]);
    let rows = profile["data"]["rows"].as_array().expect("rows").clone();
    let own = rows.iter().find(|row| row["region"] == format!("loop at planted.c:{line}"));
    let inclusive = own.expect("the loop is there")["inclusive_ns"].as_u64().expect("a number");
    assert!(1_500_000_000 < inclusive, "{inclusive} ns of 1.92 s of processor time");
}
