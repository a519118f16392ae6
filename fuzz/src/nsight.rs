//! An export of Nsight Systems, from the bytes of a database to a profile.

use crate::allocation::{ARCHIVE, bounded};
use crate::archive::dir;
use ouzel_analyses::call_path_profile::CallPathProfile;
use ouzel_engine::{AnalysisSet, Pass};
use ouzel_model::Filter;
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;

/// Opens the bytes as an export and makes a profile of it.
pub fn export(data: &[u8]) {
    let path = dir("nsight").join("report.sqlite");
    fs::write(&path, data).expect("the directory is ours");
    bounded(data.len(), ARCHIVE, || open_and_fold(&path));
}

fn open_and_fold(path: &Path) {
    let reader = &ouzel_formats::nsight::READER;
    let candidate = ouzel_formats::Candidate::at(path);
    if (reader.recognise)(&candidate).is_none() {
        return;
    }
    let Ok(opened) = (reader.open)(&candidate) else { return };
    let source = opened.trace.expect("an export is a trace");
    let mut set = AnalysisSet::default();
    let profile = set.add(CallPathProfile);
    let filter = Filter::default();
    let pass = Pass { filter: &filter, jobs: NonZeroUsize::MIN, progress: None };
    let mut report = set.run(&*source, pass).expect("whatever the file holds, the pass ends");
    report.outputs.take(&profile).expect("the profile answers");
}
