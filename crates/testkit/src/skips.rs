//! Which tests found no data to look at, so that a run can say how many passed without.
//!
//! A test that is left out, or a part of it, leaves a file with its name in [`FOLDER`] of Cargo's
//! build products. `cargo xtask test` and the test `skipped` of this crate count them.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Where the files are, below the folder of Cargo's build products.
pub const FOLDER: &str = "skipped-tests";

/// Says that the running test has no data, and leaves its name. The line goes straight to standard error: a harness
/// hides what passing tests print.
///
/// # Panics
/// If the name cannot be left: the test would pass unseen.
pub(crate) fn note<T>(why: &str) -> Option<T> {
    let name = test_name();
    let _ = writeln!(std::io::stderr(), "skipped: {name}: {why}");
    let folder = folder_of_this_run();
    let left =
        fs::create_dir_all(&folder).and_then(|()| fs::write(folder.join(name.replace('/', "-")), run_id()));
    left.unwrap_or_else(|error| panic!("{name} cannot be counted in {}: {error}", folder.display()));
    None
}

/// Number of tests of this run of nextest that had no data.
pub fn count_of_this_run() -> usize {
    let is_of_this_run = |file: &PathBuf| fs::read_to_string(file).is_ok_and(|id| id == run_id());
    names(&folder_of_this_run()).iter().filter(|file| is_of_this_run(file)).count()
}

/// The files in a folder of skipped tests; none if there is no folder.
pub fn names(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// The line that sums up a run with `n` tests without data.
pub fn summary(n: usize) -> String {
    format!(
        "skipped: {n} test{} had no shared data, or less than they can look at; names in target/{FOLDER}",
        if n == 1 { "" } else { "s" }
    )
}

/// What distinguishes runs of nextest; empty with other runners.
fn run_id() -> String {
    std::env::var("NEXTEST_RUN_ID").unwrap_or_default()
}

fn test_name() -> String {
    let binary = std::env::current_exe().expect("a running test has a program");
    let binary = binary.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let binary = binary.rsplit_once('-').map_or(&*binary, |(name, _hash)| name);
    let thread = std::thread::current();
    let of_nextest = std::env::var("NEXTEST_TEST_NAME").ok();
    format!("{binary} {}", of_nextest.as_deref().or(thread.name()).unwrap_or("in a thread"))
}

/// Test programs are in `target/PROFILE/deps`.
fn folder_of_this_run() -> PathBuf {
    let program = std::env::current_exe().expect("a running test has a program");
    program.ancestors().nth(3).expect("a test program is three folders deep").join(FOLDER)
}
