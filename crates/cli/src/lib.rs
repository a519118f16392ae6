//! The command line of Ouzel.
//!
//! ```text
//! words ──clap──► LowArgs (args/low.rs) ──checked──► Args (args/) ──► one command ──► Outcome ──► exit code
//! ```
//!
//! A command opens a `Session`, runs one pass, and hands a table,
//! a page or a JSON answer to the session, which knows where it goes.
//! Law: nothing but results goes to standard output; a closed pipe is no error; users
//! never see a panic as a stack trace; files are complete or absent, and output paths are
//! checked before any work. This crate computes nothing.
//!
//! It is a library so that other programs can use its command lines, such as the fuzz targets.
#![forbid(unsafe_code)]

mod args;
mod catalogue;
mod causes;
mod clusters;
mod convert;
mod correlate;
mod exit;
mod found;
mod info;
mod iterations;
mod licenses;
mod notices;
mod operations;
mod output;
mod print;
mod profile;
mod profile_session;
mod progress;
mod report;
mod rows;
mod rules;
mod segments;
mod session;
mod terminal;

use args::{Args, Command, Words};
pub use exit::Outcome;
use std::ffi::OsString;
use std::process::ExitCode;

/// The program: whatever happens becomes an exit code and at most one line on standard error.
pub fn program() -> ExitCode {
    exit::guarded(|| {
        ouzel_files::unfinished::remove_on_signals()?;
        let words = Words::parse(std::env::args_os())?;
        if words.memory_limit().is_some() {
            exit::end_at_memory_limit()?;
        }
        answer_to(&words)
    })
}

/// Runs a command line whose first word is the program.
///
/// # Errors
/// A [`clap::Error`] for help, version and every misuse; else why there is no answer.
pub fn answer(words: impl IntoIterator<Item = OsString>) -> anyhow::Result<Outcome> {
    answer_to(&Words::parse(words)?)
}

fn answer_to(words: &Words) -> anyhow::Result<Outcome> {
    match words {
        Words::Ask(args) => run(args),
        Words::Licenses(args) => licenses::run(args),
    }
}

fn run(args: &Args) -> anyhow::Result<Outcome> {
    ouzel_files::memory::set_limit(args.common.memory_limit)?;
    match &args.command {
        Command::Report(command) => report::run(&args.common, command),
        Command::Segments(command) => segments::run(&args.common, command),
        Command::Clusters(command) => clusters::run(&args.common, command),
        Command::Iterations(command) => iterations::run(&args.common, command),
        Command::Info(command) => info::run(&args.common, command),
        Command::Print(command) => print::run(&args.common, command),
        Command::Profile(command) => profile::run(&args.common, command),
        Command::Correlate(command) => correlate::run(&args.common, command),
        Command::Causes(command) => causes::run(&args.common, command),
        Command::Operation(command) => operations::run(&args.common, command),
        Command::Convert(command) => convert::run(&args.common, command),
    }
}
