//! Every analysis, for passes run by other processes.

use ouzel_analyses::breakdown::BreakdownFold;
use ouzel_analyses::call_path_profile::{CallPathProfile, TotalProfile};
use ouzel_analyses::clock_repair::ClockRepairs;
use ouzel_analyses::comm_matrix::CommMatrix;
use ouzel_analyses::comm_over_time::CommOverTime;
use ouzel_analyses::communication_totals::Communication;
use ouzel_analyses::counters_over_time::CountersOverTime;
use ouzel_analyses::critical_path::{CallsOfMpi, PathCalls};
use ouzel_analyses::inventory::Inventory;
use ouzel_analyses::io_totals::Io;
use ouzel_analyses::message_histogram::MessageHistogram;
use ouzel_analyses::message_waits::LateMessages;
use ouzel_analyses::metric_profile::MetricProfile;
use ouzel_analyses::paired_operations::Operations;
use ouzel_analyses::patterns::CallSeriesFold;
use ouzel_analyses::phases::{AnchorSightingsFold, PhasesFold, SamplePeriods};
use ouzel_analyses::severity_cube::SeverityCube;
use ouzel_analyses::time_profile::TimeProfile;
use ouzel_analyses::timeline::TimelineFold;
use ouzel_context_tree::ContextTreesFold;
use ouzel_efficiency::device::DeviceFold;
use ouzel_engine::Catalogue;
use ouzel_tiles::Tiles;
use ouzel_waits::accelerators::{KernelsFold, PathWaitsFold, ReportedDevicesFold};
use ouzel_waits::{WaitRecords, Waits};

/// The analyses that processes know of each other; one that is not listed works on one machine only.
pub(super) fn catalogue() -> Catalogue {
    let mut catalogue = Catalogue::default();
    catalogue.add::<AnchorSightingsFold>();
    catalogue.add::<BreakdownFold>();
    catalogue.add::<CallSeriesFold>();
    catalogue.add::<CallsOfMpi>();
    catalogue.add::<DeviceFold>();
    catalogue.add::<ClockRepairs>();
    catalogue.add::<CommMatrix>();
    catalogue.add::<CommOverTime>();
    catalogue.add::<Communication>();
    catalogue.add::<ContextTreesFold>();
    catalogue.add::<CountersOverTime>();
    catalogue.add::<Inventory>();
    catalogue.add::<Io>();
    catalogue.add::<LateMessages>();
    catalogue.add::<MessageHistogram>();
    catalogue.add::<MetricProfile>();
    catalogue.add::<Operations>();
    catalogue.add::<PathCalls>();
    catalogue.add::<PhasesFold>();
    catalogue.add::<CallPathProfile>();
    catalogue.add::<SamplePeriods>();
    catalogue.add::<SeverityCube>();
    catalogue.add::<Tiles>();
    catalogue.add::<TimeProfile>();
    catalogue.add::<TimelineFold>();
    catalogue.add::<TotalProfile>();
    catalogue.add::<Waits>();
    catalogue.add::<WaitRecords>();
    catalogue.add::<KernelsFold>();
    catalogue.add::<ReportedDevicesFold>();
    catalogue.add::<PathWaitsFold>();
    catalogue
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// The first passes its rows to a receiver in this process; questions that settle processes fold with the second.
    const NOT_ASKED: [&str; 2] = ["impl Analysis for CallList {", "impl Analysis for Accelerators {"];

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
                    .filter(|line| !NOT_ASKED.contains(line))
                    .filter(|line| {
                        ["impl Analysis for ", "impl Settle for "].iter().any(|it| line.starts_with(it))
                    })
                    .count(),
            })
            .sum()
    }

    #[test]
    fn no_analysis_is_forgotten() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let n_analyses = ["analyses", "context-tree", "efficiency", "tiles", "waits"]
            .map(|name| n_analyses(&crates.join(name).join("src")));
        assert_eq!(catalogue().names().count(), n_analyses.iter().sum::<usize>());
    }
}
