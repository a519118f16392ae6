//! A Chrome trace, from its text to a profile.

use crate::allocation::{ARCHIVE, bounded};
use ouzel_analyses::call_path_profile::CallPathProfile;
use ouzel_engine::{AnalysisSet, Pass};
use ouzel_formats::chrome::ChromeSource;
use ouzel_model::Filter;
use std::num::NonZeroUsize;

/// Reads the bytes as a trace and makes a profile of it.
pub fn trace(data: &[u8]) {
    bounded(data.len(), ARCHIVE, || {
        let Ok(source) = ChromeSource::from_text("fuzz.json", data.to_vec()) else { return };
        let mut set = AnalysisSet::default();
        let profile = set.add(CallPathProfile);
        let filter = Filter::default();
        let pass = Pass { filter: &filter, jobs: NonZeroUsize::MIN, progress: None };
        let mut report = set.run(&source, pass).expect("whatever the text holds, the pass ends");
        report.outputs.take(&profile).expect("the profile answers");
    });
}
