//! Which files make one trace: `NAME.sts`, and for each PE `NAME.<pe>.log` or `NAME.<pe>.log.gz`.
//!
//! Logs lie beside the `.sts` file or in folders `NAME.projdir.<n>`. What a file is, its
//! content says; its name says to which run and PE it belongs.

use super::lines::LogLines;
use crate::heads::unpacked;
use ouzel_files::{Candidate, Inputs};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Cursor;
use std::path::{Path, PathBuf};

/// The first word of a log.
pub(super) const LOG_MAGIC: &[u8] = b"PROJECTIONS-RECORD";

/// Lines that are read to recognise an `.sts` file: the keywords come in the first dozens.
const N_LINES_SEEN: usize = 64;

/// The files of one trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Files {
    /// Names and versions; `None` if only logs are there.
    pub sts: Option<PathBuf>,
    /// The log of each PE.
    pub logs: BTreeMap<u32, PathBuf>,
    /// Summaries: they hold sums over intervals, no events.
    pub n_summaries: usize,
}

/// Every trace that a path names: a folder may hold several, a file belongs to one.
pub(super) fn find(candidate: &Candidate) -> Vec<Files> {
    let path = candidate.path();
    if candidate.is_dir() {
        return in_folder(candidate, path);
    }
    if !candidate.is_file() {
        return Vec::new();
    }
    let Some((folder, name)) = path.parent().zip(path.file_name().and_then(|name| name.to_str())) else {
        return Vec::new();
    };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    if is_log(candidate, path) {
        let run = log_name(name).map(|(run, _)| run.to_owned());
        // A folder of logs alone, or a renamed log: the run it belongs to is unknown.
        let home = in_projdir(folder).unwrap_or(folder);
        let mut all = in_folder(candidate, home);
        let holds = |files: &Files| {
            files
                .logs
                .values()
                .any(|log| log.file_name() == path.file_name() && log.parent() == path.parent())
        };
        all.retain(|files| run.is_some() && holds(files));
        return match all.is_empty() {
            false => all,
            true => vec![Files { sts: None, logs: BTreeMap::from([(0, path.to_owned())]), n_summaries: 0 }],
        };
    }
    if !is_sts(candidate, path) {
        return Vec::new();
    }
    let runs = runs_in(candidate, folder);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    // A renamed `.sts` file owns the logs of the folder if they are of one run.
    let run = runs.get(stem).or_else(|| runs.values().next().filter(|_| runs.len() == 1));
    let RunFiles { logs, n_summaries } = run.cloned().unwrap_or_default();
    vec![Files { sts: Some(path.to_owned()), logs, n_summaries }]
}

/// Adds the files of the traces that a path names, and all files named like their run, which would belong to it.
pub(super) fn add_files(candidate: &Candidate, inputs: &mut Inputs) {
    for Files { sts, logs, .. } in find(candidate) {
        let run_of = |log: &PathBuf| {
            let (run, _) = log_name(log.file_name()?.to_str()?)?;
            Some((log.parent()?.to_owned(), format!("{run}.")))
        };
        let runs: BTreeSet<(PathBuf, String)> = logs.values().filter_map(run_of).collect();
        for (folder, run) in runs {
            inputs.add_named(folder, &run, &["log", "log.gz", "sts", "sum"]);
        }
        sts.into_iter().chain(logs.into_values()).for_each(|file| inputs.add_file(file));
    }
}

/// The folder that owns a folder `NAME.projdir.<n>`.
fn in_projdir(folder: &Path) -> Option<&Path> {
    folder.file_name()?.to_str()?.contains(".projdir.").then(|| folder.parent())?
}

/// The logs and summaries of one run.
#[derive(Debug, Clone, Default)]
struct RunFiles {
    logs: BTreeMap<u32, PathBuf>,
    n_summaries: usize,
}

fn in_folder(candidate: &Candidate, folder: &Path) -> Vec<Files> {
    let runs = runs_in(candidate, folder);
    let names = candidate.text_names(folder);
    let mut found = Vec::new();
    for (name, run) in &runs {
        let sts = [format!("{name}.sts"), format!("{name}.sum.sts")];
        let sts =
            sts.iter().map(|name| folder.join(name)).find(|path| is_sts(candidate, path)).or_else(|| {
                // The only file of its kind belongs to the only run.
                let is_candidate =
                    |name: &&String| log_name(name).is_none() && is_sts(candidate, &folder.join(name));
                names.iter().find(is_candidate).filter(|_| runs.len() == 1).map(|name| folder.join(name))
            });
        let is_a_trace = run.logs.values().next().is_some_and(|log| is_log(candidate, log));
        if is_a_trace || (run.logs.is_empty() && sts.is_some()) {
            found.push(Files { sts, logs: run.logs.clone(), n_summaries: run.n_summaries });
        }
    }
    found
}

/// Every run of a folder, by name.
fn runs_in(candidate: &Candidate, folder: &Path) -> BTreeMap<String, RunFiles> {
    let mut runs: BTreeMap<String, RunFiles> = BTreeMap::new();
    let mut take = |folder: &Path, name: &str| {
        if let Some((run, pe)) = log_name(name) {
            let logs = &mut runs.entry(run.to_owned()).or_default().logs;
            // If a log lies there both ways, the compressed one is the tracer's.
            let is_new = logs.get(&pe).is_none_or(|_| name.ends_with(".gz"));
            if is_new {
                logs.insert(pe, folder.join(name));
            }
        } else if let Some((run, _)) = numbered(name, ".sum") {
            runs.entry(run.to_owned()).or_default().n_summaries += 1;
        }
    };
    for name in candidate.text_names(folder) {
        if name.contains(".projdir.") && folder.join(&name).is_dir() {
            let inner = folder.join(&name);
            for name in candidate.text_names(&inner) {
                take(&inner, &name);
            }
        } else {
            take(folder, &name);
        }
    }
    runs
}

/// Run and PE of the name of a log.
fn log_name(name: &str) -> Option<(&str, u32)> {
    numbered(name.strip_suffix(".gz").unwrap_or(name), ".log")
}

fn numbered<'a>(name: &'a str, extension: &str) -> Option<(&'a str, u32)> {
    let (run, pe) = name.strip_suffix(extension)?.rsplit_once('.')?;
    pe.bytes().all(|b| b.is_ascii_digit()).then(|| Some((run, pe.parse().ok()?)))?
}

/// The beginning of a file, which shows what it is.
const HEAD_BYTES: usize = 16 << 10;

/// The lines a file begins with, unpacked if need be; the last one may be cut.
fn head_lines(candidate: &Candidate, path: &Path) -> LogLines {
    let head = candidate.head(path, HEAD_BYTES);
    LogLines::new(Box::new(Cursor::new(unpacked(head, HEAD_BYTES))))
}

/// Whether a file begins as a log does, packed or not.
fn is_log(candidate: &Candidate, path: &Path) -> bool {
    let mut lines = head_lines(candidate, path);
    matches!(lines.next(), Ok(Some(line)) if line.starts_with(LOG_MAGIC))
}

/// Whether the first lines of a file are those of an `.sts` file.
fn is_sts(candidate: &Candidate, path: &Path) -> bool {
    let mut lines = head_lines(candidate, path);
    let mut n_keywords = 0;
    for _ in 0..N_LINES_SEEN {
        let Ok(Some(line)) = lines.next() else { break };
        let keyword = line.split(u8::is_ascii_whitespace).next().unwrap_or_default();
        n_keywords +=
            usize::from(matches!(keyword, b"TOTAL_CHARES" | b"TOTAL_EPS" | b"TOTAL_MSGS" | b"PROCESSORS"));
        let is_text = line.iter().all(|&b| b == b'\t' || (b' '..=b'~').contains(&b) || 0x80 <= b);
        if !is_text || 3 <= n_keywords {
            break;
        }
    }
    3 <= n_keywords
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_logs_tell_run_and_pe() {
        assert_eq!(log_name("pingpong.prj.10.log.gz"), Some(("pingpong.prj", 10)));
        assert_eq!(log_name("a.0.log"), Some(("a", 0)));
        for name in ["a.log", "a.x.log", "a.0.sum", "a.99999999999.log", "a.0.log.zst", ".log"] {
            assert_eq!(log_name(name), None, "{name}");
        }
    }
}
