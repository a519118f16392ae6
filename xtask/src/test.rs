//! `cargo xtask test`: the set-up, then every check and test, then what ran and what did not.
//!
//! To add a step, write a function of its signature and name it in `STEPS`.

use crate::audit::{self, Audit};
use crate::runner::{answers, bounded, run as run_command};
use crate::steps::{self, Context, Outcome, Step, cargo, judge};
use crate::{fuzz, mutate, setup, tidy, web, workspace, zoo};
use anyhow::{Context as _, Result};
use ouzel_testkit::skips;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Cheap checks first. The release build comes before the steps that run the tool.
const STEPS: &[Step] = &[
    ("format", format),
    ("tidy", tidy_up),
    ("audit", audit_crates),
    ("lints", lints),
    ("page of the viewer", viewer_page),
    ("tests", tests),
    ("fuzzing", fuzzing),
    ("doctests", doctests),
    ("documentation", documentation),
    ("release build", release_build),
    ("validation table", validation_table),
    ("mutations", mutations),
    ("python tests", python_tests),
    ("python package", python_package),
    ("README commands", readme_commands),
];

/// `cargo xtask test`
pub fn run(arguments: &[String]) -> Result<()> {
    anyhow::ensure!(arguments.is_empty(), "test takes no arguments");
    let root = workspace::root()?;
    println!("== set-up");
    let tools = setup::install(&root)?;
    let skipped_tests = workspace::target(&root)?.join(skips::FOLDER);
    let _ = fs::remove_dir_all(&skipped_tests);
    let judged = steps::run(&Context { root, tools }, STEPS);
    let n_without_data = skips::names(&skipped_tests).len();
    if 0 < n_without_data {
        println!("{}", skips::summary(n_without_data));
    }
    judged
}

fn format(context: &Context) -> Result<Outcome> {
    Ok(judge(run_command(&mut cargo(context, &["fmt", "--all", "--check"]))?))
}

fn tidy_up(context: &Context) -> Result<Outcome> {
    let found = tidy::check(&context.root)?;
    found.print();
    Ok(match found.flaws.len() {
        0 => Outcome::Passed(vec![]),
        n => Outcome::Failed(vec![format!("{n} flaws (see above)")]),
    })
}

/// Each check that is left out has its own line.
fn audit_crates(context: &Context) -> Result<Outcome> {
    let Audit { mut passed, skipped, flaws } = audit::audit(&context.root)?;
    passed.extend(skipped.iter().map(|line| format!("skipped: {line}")));
    Ok(if flaws.is_empty() { Outcome::Passed(passed) } else { Outcome::Failed(flaws) })
}

/// Whether docs/validation.md shows the program's current answers.
fn validation_table(context: &Context) -> Result<Outcome> {
    zoo::check(&context.root, &workspace::target(&context.root)?.join("release/ouzel"))?;
    Ok(Outcome::Passed(vec![]))
}

fn lints(context: &Context) -> Result<Outcome> {
    let arguments = ["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"];
    Ok(judge(run_command(&mut cargo(context, &arguments))?))
}

/// Without npm or its packages the viewer shows how to build its page, and its other tests run all the same.
fn viewer_page(context: &Context) -> Result<Outcome> {
    if let Err(error) = web::install(&context.root) {
        return Ok(Outcome::Skipped(format!("{error:#}")));
    }
    web::build_and_test(&context.root)?;
    Ok(Outcome::Passed(Vec::new()))
}

fn tests(context: &Context) -> Result<Outcome> {
    let has_nextest = answers(&mut cargo(context, &["nextest", "--version"]));
    let arguments: &[&str] = match has_nextest {
        true => &["nextest", "run", "--workspace", "--no-fail-fast", "--status-level", "fail"],
        // A module of Python is no program: asked for all targets, Cargo would try to link it as one.
        false => &[
            "test",
            "--workspace",
            "--exclude",
            "ouzel-python",
            "--all-targets",
            "--no-fail-fast",
            "--quiet",
        ],
    };
    Ok(judge(run_command(&mut cargo(context, arguments))?))
}

/// Each target for a few seconds, from the seeds: enough to see that it builds and still holds.
fn fuzzing(context: &Context) -> Result<Outcome> {
    Ok(match fuzz::lacks(&context.root) {
        Some(why) => Outcome::Skipped(why),
        None => Outcome::Passed(fuzz::fuzz(&context.root, 4, &[], fuzz::From::Repository)?),
    })
}

fn doctests(context: &Context) -> Result<Outcome> {
    Ok(judge(run_command(&mut cargo(context, &["test", "--workspace", "--doc", "--quiet"]))?))
}

/// Links between items are rustdoc's to check; links to files are `tidy`'s.
fn documentation(context: &Context) -> Result<Outcome> {
    let mut doc = cargo(context, &["doc", "--workspace", "--no-deps", "--quiet"]);
    Ok(judge(run_command(doc.env("RUSTDOCFLAGS", "-D warnings"))?))
}

fn release_build(context: &Context) -> Result<Outcome> {
    Ok(judge(run_command(&mut cargo(context, &["build", "--release", "--quiet"]))?))
}

/// Spoilt archives of all formats for a minute; the same ones each time.
fn mutations(context: &Context) -> Result<Outcome> {
    Ok(Outcome::Passed(mutate::mutate(&context.root, Duration::from_secs(60), 1)?))
}

fn python_tests(context: &Context) -> Result<Outcome> {
    let Some(python) = &context.tools.python else {
        return Ok(Outcome::Skipped("no Python environment".into()));
    };
    if !answers(Command::new(python).args(["-c", "import pytest"])) {
        return Ok(Outcome::Skipped("pytest is not installed".into()));
    }
    let environment = [
        ("XTASK", std::env::current_exe()?),
        ("OUZEL", workspace::target(&context.root)?.join("release/ouzel")),
    ];
    pytest(context, python, "tests/python", &environment)
}

fn python_package(context: &Context) -> Result<Outcome> {
    let Some(python) = &context.tools.python else {
        return Ok(Outcome::Skipped("no Python environment".into()));
    };
    if !answers(Command::new(python).args(["-c", "import maturin, pytest"])) {
        return Ok(Outcome::Skipped("maturin or pytest is not installed".into()));
    }
    let installed = judge(setup::install_package(&context.root, python)?);
    if let Outcome::Failed(_) = installed {
        return Ok(installed);
    }
    pytest(context, python, "python/tests", &[])
}

/// The tests of a folder, by pytest.
///
/// Some start daemons, kernels and clusters of other projects, which do not always end. After two minutes in one test
/// the stacks of all threads are printed, and tests that do not end at all run once more, which the outcome says.
fn pytest(
    context: &Context,
    python: &Path,
    folder: &str,
    environment: &[(&str, PathBuf)],
) -> Result<Outcome> {
    const SECONDS: u32 = 500;
    let run = || {
        let mut pytest = bounded(SECONDS, python);
        pytest
            .args([
                "-X",
                "faulthandler",
                "-m",
                "pytest",
                "--quiet",
                "-rs",
                "-o",
                "faulthandler_timeout=120",
                folder,
            ])
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .current_dir(&context.root);
        run_command(&mut pytest)
    };
    let first = run()?;
    if !first.was_ended() {
        return Ok(judge(first));
    }
    let mut lines = vec![format!("the first attempt did not end within {SECONDS} s")];
    lines.extend(first.closing);
    Ok(match judge(run()?) {
        Outcome::Passed(second) => Outcome::Passed(lines.into_iter().chain(second).collect()),
        Outcome::Failed(second) => Outcome::Failed(lines.into_iter().chain(second).collect()),
        skipped @ Outcome::Skipped(_) => skipped,
    })
}

fn readme_commands(context: &Context) -> Result<Outcome> {
    let page = fs::read_to_string(context.root.join("README.md")).context("cannot read README.md")?;
    let commands = commands_on_test_data(&page);
    anyhow::ensure!(!commands.is_empty(), "README.md shows no command on a trace of testdata/");
    let binaries = workspace::target(&context.root)?.join("release");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(binaries).chain(std::env::split_paths(&path)))?;
    let mut lines = Vec::new();
    let mut n_failed = 0;
    for command in commands {
        println!("$ {command}");
        let mut shell = bounded(300, Path::new("sh"));
        let ran = run_command(shell.args(["-c", command]).env("PATH", &path).current_dir(&context.root))?;
        // 2 is an answer too, but not from all of the data.
        let answered = matches!(ran.status.code(), Some(0 | 2));
        n_failed += usize::from(!answered);
        lines.push(format!("{command}: {} ({:.1} s)", ran.status, ran.took.as_secs_f64()));
    }
    Ok(if n_failed == 0 { Outcome::Passed(lines) } else { Outcome::Failed(lines) })
}

/// The lines of README's shell blocks that work on a trace of this repository.
///
/// Commands with a trace of the reader's own, and the command that runs this very
/// program, are for the reader.
fn commands_on_test_data(readme: &str) -> Vec<&str> {
    let mut commands = Vec::new();
    let mut in_shell_block = false;
    for line in readme.lines().map(str::trim) {
        if let Some(info) = line.strip_prefix("```") {
            in_shell_block = !in_shell_block && matches!(info, "sh" | "bash" | "shell" | "console");
        } else if in_shell_block && line.contains("testdata/") {
            commands.push(line.trim_start_matches("$ "));
        }
    }
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_is_in_the_table_of_contributing() {
        let text = fs::read_to_string(workspace::root().unwrap().join("CONTRIBUTING.md")).unwrap();
        let (_, table) = text.split_once("| step | what it checks |\n|---|---|\n").unwrap();
        let rows = table.lines().map_while(|line| line.strip_prefix("| ")?.split(" |").next());
        let steps: Vec<&str> = STEPS.iter().map(|(name, _)| *name).collect();
        assert_eq!(rows.collect::<Vec<_>>(), steps);
    }

    #[test]
    fn readme_commands_are_those_on_our_own_traces() {
        let readme = "\
intro with testdata/ in prose
```sh
git clone x && cd ouzel
cargo run --release -- report testdata/a
cargo xtask test
```
```text
ouzel report testdata/not-a-command
```
```console
$ ouzel info testdata/b
ouzel report traces.otf2
```
";
        let expected = ["cargo run --release -- report testdata/a", "ouzel info testdata/b"];
        assert_eq!(commands_on_test_data(readme), expected);
    }
}
