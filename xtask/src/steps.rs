//! A table of steps, run one after the other: what `test` and `trials` have in common.
//!
//! A failing step does not stop the others, so one run shows everything that is wrong.

use crate::runner::Ran;
use crate::setup::Tools;
use crate::stopwatch::Stopwatch;
use crate::workspace;
use anyhow::Result;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// What a step may use.
pub struct Context {
    pub root: PathBuf,
    pub tools: Tools,
}

/// How a step ended, with the lines that the summary shows.
pub enum Outcome {
    Passed(Vec<String>),
    Failed(Vec<String>),
    Skipped(String),
}

/// A name and what it does.
pub type Step = (&'static str, fn(&Context) -> Result<Outcome>);

/// Runs all steps and prints a summary.
///
/// # Errors
/// When a step failed.
pub fn run<'a>(context: &Context, steps: impl IntoIterator<Item = &'a Step>) -> Result<()> {
    let clock = Stopwatch::start();
    let mut report = Vec::new();
    for (name, step) in steps {
        println!("== {name}");
        let clock = Stopwatch::start();
        let outcome = step(context).unwrap_or_else(|error| Outcome::Failed(vec![format!("{error:#}")]));
        report.push((*name, outcome, clock.elapsed()));
    }
    summarise(&context.tools.skipped, &report, clock.elapsed())
}

fn summarise(missing: &[String], report: &[(&str, Outcome, Duration)], took: Duration) -> Result<()> {
    println!("\n== summary");
    for line in missing {
        println!("skipped: {line}");
    }
    for (name, outcome, took) in report {
        let seconds = took.as_secs();
        match outcome {
            Outcome::Passed(closing) => {
                println!("passed   {name} ({seconds} s)");
                print_indented(closing);
            }
            Outcome::Failed(why) => {
                println!("FAILED   {name} ({seconds} s)");
                print_indented(why);
            }
            Outcome::Skipped(why) => println!("skipped: {name}: {why}"),
        }
    }
    let n_failed = report.iter().filter(|(_, outcome, _)| matches!(outcome, Outcome::Failed(_))).count();
    let n_skipped = report.iter().filter(|(_, outcome, _)| matches!(outcome, Outcome::Skipped(_))).count();
    let n_passed = report.len() - n_failed - n_skipped;
    println!("{n_passed} steps passed, {n_failed} failed, {n_skipped} skipped in {} s", took.as_secs());
    anyhow::ensure!(n_failed == 0, "{n_failed} of {} steps failed", report.len());
    Ok(())
}

fn print_indented(lines: &[String]) {
    for line in lines {
        println!("           {line}");
    }
}

/// The outcome of a program that says by its exit code whether all is well.
pub fn judge(ran: Ran) -> Outcome {
    if ran.status.success() {
        Outcome::Passed(ran.closing)
    } else {
        let mut why = ran.closing;
        why.push(format!("ended with {}", ran.status));
        Outcome::Failed(why)
    }
}

/// What is built once needs no traces of how it was built, which take more room than all else.
pub fn cargo(context: &Context, arguments: &[&str]) -> Command {
    let mut command = Command::new(workspace::cargo());
    command.args(arguments).current_dir(&context.root).env("CARGO_INCREMENTAL", "0");
    command
}
