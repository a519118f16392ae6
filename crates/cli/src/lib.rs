//! The command line of Ouzel.
//!
//! ```text
//! words ──clap──► Words (words.rs) ──► the Question of one command (commands/) ──► Outcome ──► exit code
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
mod caller;
mod command;
mod commands;
mod exit;
mod found;
mod notices;
mod output;
mod overview;
mod profile_session;
mod progress;
mod rows;
mod session;
mod terminal;
mod topics;
mod words;

pub use exit::Outcome;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;
use words::Words;
pub use words::program as command_line;

/// The program: whatever happens becomes an exit code and at most one line on standard error.
pub fn program() -> ExitCode {
    ExitCode::from(program_of(std::env::args_os().collect()))
}

/// The same with these words, of which the first is the program; returns the exit code.
///
/// Signals are handled as the binary does from here on, so nothing else may follow in the process.
pub fn program_of(words: Vec<OsString>) -> u8 {
    let code = exit::guarded(|| {
        ouzel_files::ending::remove_on_signals()?;
        let words = Words::parse(words)?;
        if words.memory_limit().is_some() {
            exit::end_at_memory_limit()?;
        }
        answer_to(&words)
    });
    // The end of a binary writes what is still kept; that of another program does not. Nothing is left to be done if the
    // reader has gone.
    let _ = std::io::stdout().flush();
    code
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
        Words::AboutARun(common, question) => {
            ouzel_files::memory::set_limit(common.memory_limit)?;
            ouzel_files::threads::set_most(common.jobs);
            question.run(common)
        }
        Words::AboutTheProgram(tool) => tool.run(),
    }
}
