//! Every analysis, for passes run by other processes.

use crate::breakdown::Breakdown;
use crate::clock_repair::ClockRepairs;
use crate::comm_matrix::CommMatrix;
use crate::comm_over_time::CommOverTime;
use crate::communication::Communication;
use crate::context_tree::ContextTrees;
use crate::critical_path::PathCalls;
use crate::inventory::Inventory;
use crate::late_messages::LateMessages;
use crate::message_histogram::MessageHistogram;
use crate::metric_profile::MetricProfile;
use crate::operations::Operations;
use crate::patterns::CallSeries;
use crate::phases::Phases;
use crate::profile::Profile;
use crate::severity_cube::SeverityCube;
use crate::time_profile::TimeProfile;
use crate::timeline::Timeline;
use ouzel_engine::Catalogue;

/// The analyses of this crate; one that is not listed works on one machine only.
pub fn catalogue() -> Catalogue {
    let mut catalogue = Catalogue::default();
    catalogue.add::<Breakdown>();
    catalogue.add::<CallSeries>();
    catalogue.add::<ClockRepairs>();
    catalogue.add::<CommMatrix>();
    catalogue.add::<CommOverTime>();
    catalogue.add::<Communication>();
    catalogue.add::<ContextTrees>();
    catalogue.add::<Inventory>();
    catalogue.add::<LateMessages>();
    catalogue.add::<MessageHistogram>();
    catalogue.add::<MetricProfile>();
    catalogue.add::<Operations>();
    catalogue.add::<PathCalls>();
    catalogue.add::<Phases>();
    catalogue.add::<Profile>();
    catalogue.add::<SeverityCube>();
    catalogue.add::<TimeProfile>();
    catalogue.add::<Timeline>();
    catalogue
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// Passes its rows to a receiver in this process.
    const STAYS_HERE: &str = "impl Analysis for CallList {";

    /// Counts the places in the sources of a folder where an analysis is implemented.
    fn n_analyses(folder: &Path) -> usize {
        let entries = folder.read_dir().expect("the sources are there");
        let paths = entries.map(|entry| entry.expect("a folder can be listed").path());
        paths
            .map(|path| match path.is_dir() {
                true => n_analyses(&path),
                false if path.file_stem().is_some_and(|stem| stem == "tests") => 0,
                false => std::fs::read_to_string(&path)
                    .expect("a source is text")
                    .lines()
                    .filter(|line| line.starts_with("impl Analysis for ") && *line != STAYS_HERE)
                    .count(),
            })
            .sum()
    }

    #[test]
    fn no_analysis_is_forgotten() {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        assert_eq!(catalogue().names().count(), n_analyses(&sources));
    }
}
