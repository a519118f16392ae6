//! Runs the binary on the archives of `testdata/`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A finished run.
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

pub fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name)
}

/// The binary, in an environment without settings.
pub fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ouzel"));
    command.env_remove("COLUMNS").env_remove("NO_COLOR").env_remove("SLURM_CPUS_PER_TASK");
    command
}

pub fn ran(words: &[&str]) -> Ran {
    finished(command().args(words).output().expect("the binary is there"))
}

/// Runs `words` with the path of an archive after the first word.
pub fn ran_on(archive: &Path, words: &[&str]) -> Ran {
    let (first, rest) = words.split_first().expect("a command");
    finished(command().arg(first).arg(archive).args(rest).output().expect("the binary is there"))
}

/// Seconds that any answer on small data may take, on any machine under load.
const SECONDS_MAX: &str = "120";

/// Kilobytes of address space that it may use.
const KILOBYTES_MAX: &str = "3000000";

/// Runs the binary with bounds on memory and time: a run that exceeds them is ended without one of our exit codes.
pub fn bounded(words: &[&str]) -> Ran {
    let mut shell = Command::new("sh");
    shell.args([
        "-c",
        "ulimit -v $0; exec timeout \"$@\"",
        KILOBYTES_MAX,
        SECONDS_MAX,
        env!("CARGO_BIN_EXE_ouzel"),
    ]);
    finished(shell.args(words).stdin(Stdio::null()).output().expect("a shell is there"))
}

fn finished(output: Output) -> Ran {
    Ran {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).expect("output is UTF-8"),
        err: String::from_utf8(output.stderr).expect("messages are UTF-8"),
    }
}

pub fn json(archive: &Path, words: &[&str]) -> serde_json::Value {
    let mut words = words.to_vec();
    words.extend(["--format", "json"]);
    let ran = ran_on(archive, &words);
    assert!(matches!(ran.code, Some(0 | 2)), "{words:?}: {}", ran.err);
    assert_eq!(ran.err, "", "{words:?}: in JSON notices are in the envelope");
    serde_json::from_str(&ran.out).expect("the answer is JSON")
}

/// Every available trace: those of the repository, and the shared ones if present.
pub fn at_hand() -> Vec<PathBuf> {
    const FOLDERS: [&str; 7] =
        ["otf2", "sampled", "field", "projections", "hpctoolkit-meas", "chrome-pytorch", "nsight"];
    let shared = ouzel_testkit::shared_data().map(|dir| dir.join("data"));
    let shared = FOLDERS.into_iter().filter_map(|name| Some(shared.as_ref()?.join(name)));
    let zoo = std::fs::read_dir(testdata("zoo"))
        .expect("the zoo is there")
        .map(|entry| entry.expect("can be listed").path());
    let mut found = Vec::new();
    for folder in [testdata("")].into_iter().chain(zoo).chain(shared) {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        let paths = entries.map(|entry| entry.expect("can be listed").path());
        found.extend(paths.filter(|path| path.is_dir() && ouzel::open(path).is_ok()));
    }
    found.sort_unstable();
    assert!(20 <= found.len(), "the repository has so many: {found:?}");
    found
}

/// Every trace at hand, also those of a single file, and databases of HPCToolkit, whose reports are about their profiles
/// if they hold no events.
pub fn every_trace() -> Vec<PathBuf> {
    const FOLDERS: [&str; 6] =
        ["hpctoolkit", "hpctoolkit-v2v3", "hpctoolkit-prof2", "chrome", "chrome-pytorch", "nsight"];
    let mut found = at_hand();
    let shared = ouzel_testkit::shared_data().map(|dir| dir.join("data"));
    let mut todo: Vec<PathBuf> =
        FOLDERS.into_iter().filter_map(|name| Some(shared.as_ref()?.join(name))).collect();
    while let Some(path) = todo.pop() {
        if ouzel::open(&path).is_ok() {
            found.push(path);
        } else if let Ok(entries) = std::fs::read_dir(&path) {
            todo.extend(entries.map(|entry| entry.expect("can be listed").path()));
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// The folder of one test, removed when the test ends.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new(test: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("the folder of temporary files can be written");
        Scratch(path)
    }

    /// A copy of an archive.
    pub fn copied(&self, name: &str) -> PathBuf {
        let to = self.0.join(name);
        copy(&testdata(name), &to);
        to
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A leftover is no reason to fail.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("can be made");
    for entry in std::fs::read_dir(from).expect("can be listed") {
        let entry = entry.expect("can be listed");
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            std::fs::copy(&from, &to).expect("can be copied");
        }
    }
}
