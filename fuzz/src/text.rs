//! Formats of text: Projections logs and tables of events, from bytes to a profile.

use crate::allocation::{ARCHIVE, bounded};
use crate::archive::dir;
use ouzel_analyses::communication_totals::Communication;
use ouzel_analyses::call_path_profile::CallPathProfile;
use ouzel_engine::{AnalysisSet, Pass};
use ouzel_formats::{Candidate, Reader};
use ouzel_model::Filter;
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;

/// The first two bytes are the length of the `.sts` file; the rest is the log of PE 0.
pub fn projections(data: &[u8]) {
    let (length, rest) = match data {
        [low, high, rest @ ..] => (usize::from(u16::from_le_bytes([*low, *high])), rest),
        _ => (0, data),
    };
    let (sts, log) = rest.split_at(length.min(rest.len()));
    let folder = dir("projections");
    fs::write(folder.join("run.sts"), sts).expect("the directory is ours");
    fs::write(folder.join("run.0.log"), log).expect("the directory is ours");
    bounded(data.len(), ARCHIVE, || open_and_fold(&ouzel_formats::projections::READER, &folder));
}

/// A table of events.
pub fn csv(data: &[u8]) {
    let path = dir("csv").join("table");
    fs::write(&path, data).expect("the directory is ours");
    bounded(data.len(), ARCHIVE, || open_and_fold(&ouzel_formats::csv::READER, &path));
}

fn open_and_fold(reader: &Reader, path: &Path) {
    let candidate = Candidate::at(path);
    if (reader.recognise)(&candidate).is_none() {
        return;
    }
    let Ok(opened) = (reader.open)(&candidate) else { return };
    let source = opened.trace.expect("a text format is a trace");
    let mut set = AnalysisSet::default();
    let keys = (set.add(CallPathProfile), set.add(Communication::default()));
    let filter = Filter::default();
    let pass = Pass { filter: &filter, jobs: NonZeroUsize::MIN, progress: None };
    let mut report = set.run(&*source, pass).expect("whatever the files hold, the pass ends");
    report.outputs.take(&keys.0).expect("the profile answers");
    report.outputs.take(&keys.1).expect("the messages are counted");
}
