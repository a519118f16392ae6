//! How the program ends: exit codes, errors and panics as one line each.
//!
//! 0 complete · 1 failed · 2 answered, but data were lost · 64 usage; `record` ends as the program did. A signal ends the program as
//! a signal does (130 for SIGINT and 143 for SIGTERM in a shell), once unfinished files are removed.

use ouzel::model::visible;
use ouzel_files::{ending, memory};
use std::borrow::Cow;
use std::io::{ErrorKind, Write};
use std::panic::{PanicHookInfo, catch_unwind, set_hook};
use std::sync::Mutex;

/// How a command that could answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// From all of the data that were asked for.
    Complete,
    /// Some of the data are lost; the answer is from the rest.
    DataLost,
    /// A program was run, and this is how it ended.
    OfProgram(u8),
}

impl Outcome {
    fn code(self) -> u8 {
        match self {
            Outcome::Complete => COMPLETE,
            Outcome::DataLost => LOST,
            Outcome::OfProgram(code) => code,
        }
    }
}

const COMPLETE: u8 = 0;
const FAILED: u8 = 1;
const LOST: u8 = 2;
const USAGE: u8 = 64;

/// The message and place of the last panic, for the one line about it.
static LAST_PANIC: Mutex<Option<String>> = Mutex::new(None);

/// Runs `main` and turns whatever happens into an exit code and at most one line on standard error.
pub fn guarded(main: impl FnOnce() -> anyhow::Result<Outcome> + std::panic::UnwindSafe) -> u8 {
    set_hook(Box::new(remember_panic));
    let ended = catch_unwind(main);
    // If the program is ending, a missing unfinished file is not an error worth reporting.
    ending::wait_if_ending();
    match ended {
        Ok(Ok(outcome)) => outcome.code(),
        Ok(Err(error)) => failed(&error),
        Err(_) => {
            let what = LAST_PANIC.lock().ok().and_then(|mut last| last.take());
            complain(&format!("internal error: {}", what.as_deref().unwrap_or("no message")));
            FAILED
        }
    }
}

/// Ends the program from another thread when its memory stays above the limit.
///
/// # Errors
/// If that thread cannot be started.
pub fn end_at_memory_limit() -> std::io::Result<()> {
    memory::watch(|reached| ending::end_process(1, || complain(&format!("error: {reached}"))))
}

fn remember_panic(info: &PanicHookInfo<'_>) {
    let text = info.payload().downcast_ref::<&str>().copied();
    let text = text.or_else(|| info.payload().downcast_ref::<String>().map(String::as_str));
    let payload = text.unwrap_or("no message").replace('\n', " ");
    let place = info.location().map(|l| format!(" ({}:{})", l.file(), l.line())).unwrap_or_default();
    if let Ok(mut last) = LAST_PANIC.lock() {
        *last = Some(format!("{payload}{place}"));
    }
}

fn failed(error: &anyhow::Error) -> u8 {
    if let Some(usage) = error.downcast_ref::<clap::Error>() {
        // Help and version are "errors" of the parser, too. If they cannot be printed, neither can anything else. Words
        // are quoted there as they were given, even if a shell expanded them from file names.
        let text = usage.to_string();
        let is_clean = text.lines().all(|line| matches!(visible(line), Cow::Borrowed(_)));
        let _ = match is_clean {
            true => usage.print(),
            false => text.lines().try_for_each(|line| writeln!(std::io::stderr(), "{}", visible(line))),
        };
        return if usage.use_stderr() { USAGE } else { COMPLETE };
    }
    if is_closed_pipe(error) {
        return COMPLETE;
    }
    complain(&format!("error: {}", told_once(error)));
    FAILED
}

/// The error and its causes, without those that the text before already contains.
pub fn told_once(error: &anyhow::Error) -> String {
    let mut told = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if told.is_empty() {
            told = cause;
        } else if !told.contains(&cause) {
            told = format!("{told}: {cause}");
        }
    }
    // One line, whatever the names in it contain.
    visible(&told).into_owned()
}

/// Whether the reader of our output has closed the pipe, as `| head` does.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let io = cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
        let json = cause.downcast_ref::<serde_json::Error>().and_then(serde_json::Error::io_error_kind);
        let table = match cause.downcast_ref::<ouzel_export::ExportError>() {
            Some(ouzel_export::ExportError::Io(error)) => Some(error.kind()),
            _ => None,
        };
        io.or(json).or(table) == Some(ErrorKind::BrokenPipe)
    })
}

fn complain(line: &str) {
    // Nothing is left to be done if standard error is closed, too.
    let _ = writeln!(std::io::stderr(), "ouzel: {}", visible(line));
}
