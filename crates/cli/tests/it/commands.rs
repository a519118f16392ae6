//! Every command is known wherever commands are listed.

use std::path::Path;

/// Commands about a run.
fn commands() -> Vec<String> {
    let takes_a_run = |command: &&clap::Command| command.get_arguments().any(|arg| arg.get_id() == "path");
    let program = ouzel_cli::command_line();
    program.get_subcommands().filter(takes_a_run).map(|command| command.get_name().to_owned()).collect()
}

fn text(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Each command but `exceptions` is in the file, in the words of `named`.
fn check(path: &str, exceptions: &[&str], named: impl Fn(&str) -> String) {
    let text = text(path);
    let commands = commands();
    for exception in exceptions {
        assert!(commands.iter().any(|command| command == exception), "{exception} is no command any more");
    }
    for command in commands.iter().filter(|command| !exceptions.contains(&command.as_str())) {
        assert!(text.contains(&named(command)), "{path} has forgotten `{}`", named(command));
    }
}

#[test]
fn damaged_archives_are_given_to_every_command() {
    check("xtask/src/mutate/commands.rs", &[], |command| format!("(\"{command} TRACE"));
}

#[test]
fn hostile_names_are_given_to_every_command() {
    check("crates/cli/tests/it/hostile_names.rs", &["compare", "convert"], |command| {
        format!("&[\"{command}\"")
    });
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
    for command in commands().iter().filter(|command| *command != "print") {
        text(&format!("docs/schema/{command}.json"));
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
