//! Jobs and partials on their way between processes.

use crate::archive::dir;
use ouzel::engine::Progress;
use ouzel::workers::{BUILD, Group, Job, Workers};
use ouzel::{Options, Trace};
use std::error::Error;
use std::fs;
use std::sync::OnceLock;

const TABLE: &str = "Timestamp (ns),Event Type,Name,Process,Thread,Msg Size,Partner\n";

/// A trace of three processes.
fn trace() -> &'static Trace {
    static TRACE: OnceLock<Trace> = OnceLock::new();
    TRACE.get_or_init(|| {
        let path = dir("workers").join("trace.csv");
        let mut text = TABLE.replace(",Thread,Msg Size,Partner", "");
        for rank in 0..3 {
            for (time, what, name) in
                [(0, "Enter", "main"), (2 + rank, "Enter", "solve"), (7, "Leave", "solve")]
            {
                text += &format!("{time},{what},{name},{rank}\n");
            }
            text += &format!("9,Leave,main,{rank}\n");
        }
        fs::write(&path, text).expect("the directory is ours");
        ouzel::open(&path).expect("it is a table of events")
    })
}

/// Workers, one of which sends modified bytes.
#[derive(Debug)]
struct Spoilt<'d> {
    /// Which of the bytes that are sent are changed: jobs, parts that are folded, merged ones.
    which: u8,
    /// Offsets of two bytes and new bytes.
    edits: &'d [u8],
}

impl Spoilt<'_> {
    fn spoil(&self, which: u8, mut bytes: Vec<u8>) -> Vec<u8> {
        if which != self.which % 4 {
            return bytes;
        }
        // The name of the build is checked first; the edits come after it.
        let start = BUILD.len() + 1;
        for edit in self.edits.chunks_exact(3) {
            let at = start + usize::from(u16::from_le_bytes([edit[0], edit[1]]));
            match bytes.get_mut(at) {
                Some(byte) => *byte = edit[2],
                None if edit[2].is_multiple_of(2) => bytes.push(edit[2]),
                None => bytes.truncate(start.max(bytes.len().saturating_sub(usize::from(edit[2])))),
            }
        }
        bytes
    }
}

impl Workers for Spoilt<'_> {
    fn group_bytes(&self) -> u64 {
        1
    }

    fn run(
        &self,
        job: &Job,
        groups: &[Group],
        _: Option<&Progress>,
    ) -> Result<Vec<Vec<u8>>, Box<dyn Error + Send + Sync>> {
        let job = Job::decode(&self.spoil(0, job.encode()?))?;
        // As many pieces as the job requires, up to a realistic number.
        if 64 < job.n_buckets() {
            return Err("too many buckets".into());
        }
        let mut folded = Vec::new();
        for group in groups {
            let parts = job.fold(trace(), &group.locations)?;
            folded.push(parts.into_iter().map(|part| self.spoil(1, part)).collect::<Vec<_>>());
        }
        let mut parts = Vec::new();
        for i in 0..job.n_buckets() {
            let pieces = folded.iter().filter_map(|parts| parts.get(1 + i)).map(Vec::as_slice);
            parts.push(self.spoil(2, job.settle(trace(), pieces)?));
        }
        let rests = folded.iter().filter_map(|parts| parts.first()).map(Vec::as_slice);
        parts.push(self.spoil(3, job.merge(rests)?));
        Ok(parts)
    }
}

/// The first byte chooses whose bytes are modified, the second the question.
pub fn spoilt(data: &[u8]) {
    let [which, what, edits @ ..] = data else { return };
    let workers = Spoilt { which: *which, edits };
    let options = Options { workers: Some(&workers), ..Options::default() };
    let trace = trace();
    // Modified bytes are refused, or do not affect whether there is an answer.
    match what % 4 {
        0 => drop(trace.ask(ouzel::analyses::call_path_profile::CallPathProfile, &options)),
        1 => drop(trace.ask(ouzel::analyses::inventory::Inventory, &options)),
        2 => drop(trace.severity_cube(&options)),
        _ => drop(trace.diagnose(
            &ouzel::analyses::semantics::Semantics::default(),
            ouzel_engine::AnalysisSet::default(),
            &options,
        )),
    }
}
