//! Help, version and misuse.

use crate::run::ran;

const COMMANDS: [&str; 25] = [
    "report",
    "segments",
    "clusters",
    "iterations",
    "info",
    "print",
    "profile",
    "correlate",
    "causes",
    "timeline",
    "time-profile",
    "comm-matrix",
    "messages",
    "comm-by-process",
    "comm-over-time",
    "breakdown",
    "imbalance",
    "idle",
    "critical-path",
    "lateness",
    "patterns",
    "compare",
    "calls",
    "call-tree",
    "convert",
];

#[test]
fn every_command_teaches_with_examples() {
    for command in COMMANDS {
        let help = ran(&[command, "--help"]);
        assert_eq!((help.code, help.err.as_str()), (Some(0), ""), "{command}");
        assert!(help.out.contains(&format!("  ouzel {command} ")), "{command}: no example in\n{}", help.out);
        let all = ran(&["--help"]);
        assert!(all.out.contains(&format!("  {command} ")), "{command} is not listed in\n{}", all.out);
    }
}

#[test]
fn help_lines_fit_a_page() {
    for command in COMMANDS {
        let help = ran(&[command, "--help"]).out;
        let longest = help.lines().max_by_key(|line| line.chars().count()).unwrap_or_default();
        assert!(longest.chars().count() <= 110, "{command}: {longest}");
    }
}

#[test]
fn misuse_ends_with_64() {
    for words in [
        &["profile"][..],
        &["nothing"],
        &[],
        &["profile", "t", "--ranks", "5-2"],
        &["profile", "t", "--time", "now"],
        &["profile", "t", "--jobs", "0"],
        &["profile", "t", "--format", "parquet"],
        &["info", "t", "--format", "html"],
        &["segments", "t", "-o", "t.html"],
        &["segments", "t", "--id", "1", "--top", "1"],
        &["convert", "t", "out"],
        &["time-profile", "t", "--bins", "0"],
        &["compare", "t"],
        &["idle", "t", "--plot", "t.pdf"],
        &["messages", "t", "--log", "--bins", "3"],
        &["comm-matrix", "t", "--unit", "words"],
        &["idle", "t", "--format", "html"],
    ] {
        let ran = ran(words);
        assert_eq!((ran.code, ran.out.as_str()), (Some(64), ""), "{words:?}");
        assert!(ran.err.contains("--help"), "{words:?}: {}", ran.err);
    }
}

#[test]
fn the_version_is_told() {
    let ran = ran(&["--version"]);
    assert_eq!((ran.code, ran.out), (Some(0), format!("ouzel {}\n", env!("CARGO_PKG_VERSION"))));
}
