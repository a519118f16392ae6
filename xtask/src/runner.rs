//! Running a program: its output streams through, its closing lines are kept.

use crate::stopwatch::Stopwatch;
use anyhow::{Context, Result};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

/// How a program ended.
#[derive(Debug)]
pub struct Ran {
    pub status: ExitStatus,
    /// The lines by which test runners sum up what they did, in the order of each stream.
    pub closing: Vec<String>,
    pub took: Duration,
}

impl Ran {
    /// Whether [`bounded`] ended it.
    pub fn was_ended(&self) -> bool {
        matches!(self.status.code(), Some(124 | 137))
    }
}

/// A command that is ended after so many seconds.
///
/// By `timeout` of coreutils, because it ends the children too (pip starts compilers).
pub fn bounded(seconds: u32, program: &Path) -> Command {
    let mut command = Command::new("timeout");
    command.arg("--kill-after=10").arg(seconds.to_string()).arg(program);
    command
}

/// Runs to the end, both streams passed on line by line.
///
/// # Errors
/// When the program cannot be started. A failing program is not an error but a status.
pub fn run(command: &mut Command) -> Result<Ran> {
    let clock = Stopwatch::start();
    let name = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {name}"))?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let closing = std::thread::scope(|scope| {
        let streams = [
            scope.spawn(move || out.map_or_else(Vec::new, |stream| pass_on(stream, std::io::stdout()))),
            scope.spawn(move || err.map_or_else(Vec::new, |stream| pass_on(stream, std::io::stderr()))),
        ];
        streams.into_iter().flat_map(|stream| stream.join().unwrap_or_default()).collect()
    });
    let status = child.wait().with_context(|| format!("cannot wait for {name}"))?;
    Ok(Ran { status, closing, took: clock.elapsed() })
}

/// Standard output of a program that must succeed; its standard error passes through.
pub fn output(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let out = command.stderr(Stdio::inherit()).output().with_context(|| format!("cannot start {name}"))?;
    anyhow::ensure!(out.status.success(), "{name} ended with {}", out.status);
    String::from_utf8(out.stdout).with_context(|| format!("{name} printed something that is not text"))
}

/// Whether a program can be started at all; its output is thrown away.
pub fn answers(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

fn pass_on(from: impl Read, mut to: impl Write) -> Vec<String> {
    let mut closing = Vec::new();
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line).is_ok_and(|n_bytes| 0 < n_bytes) {
        // A closed terminal must not stop the program: its result still counts.
        let _ = to.write_all(&line).and_then(|()| to.flush());
        let text = String::from_utf8_lossy(&line);
        if is_closing_line(text.trim()) {
            closing.push(text.trim().to_owned());
        }
        line.clear();
    }
    closing
}

/// nextest: `Summary [...] 12 tests run: ...`; libtest: `test result: ok. ...`;
/// pytest: `12 passed in 0.31s`, with or without `=` on both sides.
/// Each names the tests that fail, and Python those that do not end.
fn is_closing_line(line: &str) -> bool {
    let plain = line.trim_matches(['=', ' ']);
    let pytest = (plain.contains(" passed") || plain.contains(" failed") || plain.contains(" skipped"))
        && plain.contains(" in ")
        && plain.starts_with(|c: char| c.is_ascii_digit());
    let hangs = line.starts_with("File \"") && line.contains(" in test_");
    let starts = ["Summary [", "test result:", "FAIL [", "FAILED "];
    starts.iter().any(|start| line.starts_with(start)) || pytest || hangs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_lines_of_the_three_runners_are_known() {
        for line in [
            "Summary [   0.005s] 3 tests run: 3 passed, 0 skipped",
            "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s",
            "======= 2 failed, 10 passed, 1 skipped in 12.31s =======",
            "10 passed in 0.10s",
            "FAILED python/tests/test_view.py::test_a_view - AssertionError",
            "FAIL [   0.102s] ouzel-cli::it record::a_program",
            "File \"/ouzel/python/tests/test_view.py\", line 12 in test_a_view",
        ] {
            assert!(is_closing_line(line), "{line}");
        }
        for line in
            ["warning: 3 tests passed over in silence", "File \"/python/threading.py\", line 324 in wait"]
        {
            assert!(!is_closing_line(line), "{line}");
        }
    }

    #[test]
    fn a_failing_program_is_a_status_and_keeps_its_closing_lines() {
        let ran = run(Command::new("sh").args(["-c", "echo noise; echo 'test result: FAILED.' >&2; exit 3"]))
            .expect("a shell is there");
        assert_eq!(ran.status.code(), Some(3));
        assert_eq!(ran.closing, ["test result: FAILED."]);
        assert!(!ran.was_ended());
    }

    #[test]
    fn a_program_that_does_not_end_is_ended() {
        let ran = run(bounded(1, Path::new("sleep")).arg("60")).expect("coreutils are there");
        assert!(ran.was_ended());
    }
}
