//! `--memory-limit`: commands stay below it, or end with an error that names it.

use crate::commands::commands_but;
use crate::run::{Scratch, command, ran, ran_on, testdata};
use ouzel_testkit::synth::{self, SynthOptions};
use ouzel_testkit::workspace_root;
use std::path::Path;
use std::process::Command;

/// What a process may use beyond its limit: what two threads read and a table's growth between two checks.
const TOLERANCE_BYTES: u64 = 40 << 20;

/// What makes a command use more memory.
const WORDS: [(&str, &[&str]); 6] = [
    ("profile", &["--call-paths", "--per", "location"]),
    ("report", &["--format", "html"]),
    ("lateness", &["--operations", "--format", "json"]),
    ("timeline", &["--format", "json"]),
    ("calls", &["--format", "csv"]),
    ("print", &["--format", "json"]),
];

/// Whether it succeeded, the peak of resident memory in bytes, and its error output; `None` without Python.
fn measured(words: &[&str], path: &Path) -> Option<(bool, u64, String)> {
    let mut python = Command::new("python3");
    python.arg(workspace_root().join("peers/python/peak_memory.py")).arg(command().get_program());
    let output = python.arg(words[0]).arg(path).args(&words[1..]).output().ok()?;
    let peak = String::from_utf8_lossy(&output.stdout).trim().parse().ok()?;
    Some((output.status.success(), peak, String::from_utf8_lossy(&output.stderr).into_owned()))
}

#[test]
fn commands_stay_below_the_limit_or_say_that_it_is_reached() {
    let scratch = Scratch::new("memory-limit");
    synth::write_archive(&scratch.0, &SynthOptions { n_events: 1_500_000, ..SynthOptions::default() })
        .unwrap();
    let archive = scratch.0.join("traces.otf2");
    let mut n_refused = 0;
    for (limit, limit_bytes) in [("32M", 32_u64 << 20), ("64M", 64 << 20)] {
        for name in commands_but(&["compare", "convert"]) {
            let rest = WORDS.iter().find(|(command, _)| *command == name).map_or(&[][..], |(_, rest)| rest);
            let words = [&[&*name][..], rest, &["--jobs", "2", "--memory-limit", limit]].concat();
            let Some((is_answered, peak_bytes, said)) = measured(&words, &archive) else {
                println!("skipped: no python3");
                return;
            };
            assert!(
                peak_bytes <= limit_bytes + TOLERANCE_BYTES,
                "{words:?}: {peak_bytes} bytes at the peak: {said}"
            );
            if !is_answered {
                n_refused += 1;
                assert!(
                    said.contains("the memory limit of") && said.contains("--memory-limit"),
                    "{words:?}: {said}"
                );
                assert_eq!(said.lines().count(), 1, "{words:?}: {said}");
            }
        }
    }
    assert!(0 < n_refused, "a limit of 32 MiB is too small for some of them");
}

#[test]
fn the_limit_is_checked_and_honoured_from_the_start() {
    let archive = testdata("pmpi-jacobi");
    for size in ["", "0", "-1", "many", "1.5G"] {
        let limit = format!("--memory-limit={size}");
        assert_eq!(ran_on(&archive, &["profile", &limit]).code, Some(64), "{size:?}");
    }
    assert_eq!(ran_on(&archive, &["profile", "--memory-limit", "1G"]).code, Some(0));
    let refused = ran_on(&archive, &["profile", "--memory-limit", "1M"]);
    assert_eq!((refused.code, refused.out.as_str()), (Some(1), ""), "{}", refused.err);
    assert!(refused.err.contains("the memory limit of 1.0 MB is reached"), "{}", refused.err);
    assert!(ran(&["profile", "--help"]).out.contains("--memory-limit"));
}
