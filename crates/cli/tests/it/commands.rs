//! Every command is known wherever commands are listed.

use crate::run::{command, testdata};
use std::path::Path;

/// Commands that answer about a run. `view` serves answers until it is stopped.
pub fn commands() -> Vec<String> {
    let takes_a_run = |command: &&clap::Command| {
        command.get_arguments().any(|arg| arg.get_id() == "path") && command.get_name() != "view"
    };
    let program = ouzel_cli::command_line();
    program.get_subcommands().filter(takes_a_run).map(|command| command.get_name().to_owned()).collect()
}

/// The same without `exceptions`.
pub fn commands_but(exceptions: &[&str]) -> Vec<String> {
    let (left_out, kept): (Vec<_>, Vec<_>) =
        commands().into_iter().partition(|command| exceptions.contains(&command.as_str()));
    assert_eq!(left_out.len(), exceptions.len(), "an exception is no command any more: {exceptions:?}");
    kept
}

fn text(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Each command but `exceptions` is in the file, in the words of `named`.
fn check(path: &str, exceptions: &[&str], named: impl Fn(&str) -> String) {
    let text = text(path);
    for command in commands_but(exceptions) {
        assert!(text.contains(&named(&command)), "{path} has forgotten `{}`", named(&command));
    }
}

#[test]
fn damaged_archives_are_given_to_every_command() {
    check("xtask/src/mutate/commands.rs", &[], |command| format!("(\"{command} TRACE"));
}

/// The answers of these are as long as the trace, or those of two profiles.
#[test]
fn every_command_is_measured_on_many_ranks() {
    let exceptions = ["calls", "print", "convert", "compare"];
    check("xtask/src/bench/ranks.rs", &exceptions, |command| format!("&[\"{command}\""));
}

#[test]
fn every_answer_in_json_is_described_and_checked_against_its_schema() {
    check("docs/json.md", &["print"], |command| format!("{command}`"));
    check("tests/python/test_json_schema.py", &["print"], |command| format!("\"{command}\""));
    for command in commands_but(&["print"]) {
        text(&format!("docs/schema/{command}.json"));
    }
}

#[test]
fn pages_fit_their_width_and_are_never_empty() {
    for name in commands_but(&["print", "compare", "convert"]) {
        for archive in ["pmpi-jacobi", "eztrace-fortran-ring", "zoo/lock_convoy/faulty"] {
            for columns in [80, 200] {
                let mut command = command();
                command.arg(&name).arg(testdata(archive)).env("COLUMNS", columns.to_string());
                let output = command.output().expect("the binary is there");
                assert!(output.status.success(), "{name} {archive}");
                let page = String::from_utf8(output.stdout).expect("pages are UTF-8");
                // Where there is nothing to show, a notice gives the reason.
                let n_lines = page.lines().count() + output.stderr.len();
                let says_why = page.contains("no operation of an accelerator");
                assert!(!page.contains('\x1b') && (3 < n_lines || says_why), "{name} {archive}: {page}");
                // Commands, file names and the notices at the end of `info` are never broken.
                let prose = |line: &&str| !line.contains("ouzel ") && !line.contains('/');
                let is_shown = |line: &&str| !line.starts_with("what was lost, repaired");
                for line in page.lines().take_while(is_shown).filter(prose) {
                    assert!(line.chars().count() <= columns, "{name} {archive} {columns}: {line}");
                }
            }
        }
    }
}

/// The table of the README names all commands, and nothing else.
#[test]
fn the_readme_names_all_commands() {
    let readme = text("README.md");
    let table = readme.split("## Commands\n\n```text\n").nth(1).and_then(|rest| rest.split("```").next());
    let lines = table.expect("the table of commands").lines().filter_map(|line| line.strip_prefix("ouzel "));
    let is_name = |word: &&str| word.starts_with(|first: char| first.is_ascii_lowercase());
    // Names end where words in capitals or explanations begin.
    let heads = lines.filter_map(|line| line.split("  ").next());
    let names =
        heads.flat_map(|head| head.split([' ', ',']).filter(|word| !word.is_empty()).take_while(is_name));
    let mut named: Vec<&str> = names.collect();
    let program = ouzel_cli::command_line();
    let mut commands: Vec<&str> = program.get_subcommands().map(clap::Command::get_name).collect();
    named.sort_unstable();
    named.dedup();
    commands.sort_unstable();
    assert_eq!(named, commands);
}
