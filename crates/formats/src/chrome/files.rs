//! Which files of a path are traces, what kind they are by their beginning, and the rank in a file's name.

use crate::heads::{GZIP_MAGIC, unpacked};
use ouzel_files::{Candidate, LOOK_BYTES};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Bytes of the (decompressed) beginning that are looked at. The head of a Kineto file may name thousands of ranks
/// before its first event, but its own words come first.
const HEAD_BYTES: usize = LOOK_BYTES;
/// Bytes in which most files name their format.
const FIRST_BYTES: usize = 4 << 10;
/// Files of a folder that are looked at.
const FILES_MAX: usize = 1 << 14;

/// What a file is, by its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileHead {
    /// A trace that Kineto wrote, for one rank.
    Kineto,
    /// Any other trace.
    Trace,
    /// A CPU profile of V8.
    CpuProfile,
}

/// What a file is; `None` if it cannot be read here.
pub(super) fn head(candidate: &Candidate, path: &Path) -> Option<FileHead> {
    let start = candidate.head(path, 2);
    let may_be_text =
        start.first().is_some_and(|byte| matches!(byte, b'{' | b'[' | 0xef) || byte.is_ascii_whitespace());
    if start != GZIP_MAGIC && !may_be_text {
        return None;
    }
    // The format is mostly named at the very beginning; the rest is read if it is not.
    let known = |n_bytes: usize| kind(&unpacked(candidate.head(path, n_bytes), HEAD_BYTES));
    known(FIRST_BYTES).filter(|head| *head != FileHead::Trace).or_else(|| known(HEAD_BYTES))
}

fn kind(head: &[u8]) -> Option<FileHead> {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let first = head.iter().find(|byte| !byte.is_ascii_whitespace())?;
    let has = |word: &str| memchr::memmem::find(head, word.as_bytes()).is_some();
    let has_events = has("\"ph\"") && has("\"ts\"");
    match first {
        b'[' if has_events => Some(FileHead::Trace),
        b'{' => {
            let is_kineto =
                has("\"schemaVersion\"") || has("\"deviceProperties\"") || has("\"distributedInfo\"");
            if is_kineto
                && (has("\"deviceProperties\"") || has("\"traceEvents\"") || has("\"distributedInfo\""))
            {
                Some(FileHead::Kineto)
            } else if has("\"traceEvents\"") {
                Some(FileHead::Trace)
            } else if has("\"callFrame\"") && has("\"nodes\"") {
                Some(FileHead::CpuProfile)
            } else {
                None
            }
        }
        _ => None,
    }
}

/// How traces of a folder end, packed or not.
pub(super) const ENDINGS: &[&str] =
    &[".json", ".trace", ".cpuprofile", ".pt", ".json.gz", ".trace.gz", ".cpuprofile.gz", ".pt.gz"];

/// The traces of a folder, by name.
pub(super) fn of_folder(candidate: &Candidate) -> Vec<(PathBuf, FileHead)> {
    let path = candidate.path();
    let may_be = |name: &OsStr| {
        let name = name.to_string_lossy().to_ascii_lowercase();
        ENDINGS.iter().any(|end| name.ends_with(end))
    };
    let mut paths = candidate.paths(path, may_be);
    paths.truncate(FILES_MAX);
    paths.sort_by_key(|path| (rank_in_name(path), path.clone()));
    paths.into_iter().filter_map(|path| head(candidate, &path).map(|head| (path, head))).collect()
}

/// The rank that a file's name says: the number after `rank` or `worker`, e.g. `rank-3.json`, `worker12_step_4`.
pub(super) fn rank_in_name(path: &Path) -> Option<u32> {
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    ["rank", "worker"].iter().find_map(|word| {
        name.match_indices(word).find_map(|(at, _)| {
            let rest = name[at + word.len()..].trim_start_matches(['-', '_', '.', '=']);
            let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
            digits.parse().ok()
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_found_in_names() {
        let cases = [
            ("rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz", Some(34)),
            ("sampled_rank-1.json.gz", Some(1)),
            ("worker7_step_12.1694128201553.pt.trace.json.gz", Some(7)),
            ("trace_rank_12.json", Some(12)),
            ("trace.rank=3.json", Some(3)),
            ("ranking.json", None),
            ("trace.json", None),
        ];
        for (name, wanted) in cases {
            assert_eq!(rank_in_name(Path::new(name)), wanted, "{name}");
        }
    }

    #[test]
    fn a_file_is_known_by_its_content() {
        let cases: [(&str, Option<FileHead>); 8] = [
            (" \n[\n {\"ph\":\"X\",\"ts\":1}", Some(FileHead::Trace)),
            ("[{\"a\":1}]", None),
            ("{\"traceEvents\":[]}", Some(FileHead::Trace)),
            ("{\"schemaVersion\":1,\"deviceProperties\":[", Some(FileHead::Kineto)),
            ("{\"schemaVersion\":1}", None),
            ("{\"nodes\":[{\"id\":1,\"callFrame\":{", Some(FileHead::CpuProfile)),
            ("ph ts", None),
            ("", None),
        ];
        for (text, wanted) in cases {
            assert_eq!(kind(text.as_bytes()), wanted, "{text}");
        }
    }
}
