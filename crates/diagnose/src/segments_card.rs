//! What is lost before each synchronisation, with names and nanoseconds.
//!
//! Segments are those of the main threads that have a loss worth repairing. Law: the projected run time is the run time
//! less their `imb_sync + sum_wait`. For causes see [`findings`](crate::findings).

use ouzel_analyses::loss_tree::{PathLoss, Segment, Thresholds, segments};
use ouzel_analyses::phases::PhasesOutput;
use ouzel_analyses::semantics::{Category, Class};
use ouzel_model::{CallPathId, Definitions};
use serde::Serialize;
use std::sync::Arc;

/// Segments of the run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SegmentsCard {
    /// In order of time.
    pub segments: Vec<SegmentCard>,
    /// The run time without their losses.
    pub projected_run_time_ns: u64,
}

/// What leads up to one synchronisation of all ranks, over all iterations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SegmentCard {
    /// From 1, in order of time; numbered as in `ouzel segments`.
    pub id: u32,
    /// When the first rank began it for the first time.
    pub start_ns: u64,
    /// When the last rank ended it for the last time.
    pub end_ns: u64,
    /// How often it occurred: 1 outside loops.
    pub n_phases: u64,
    /// Call path of the synchronisation; `None` at the end of the run.
    pub sync: Option<Vec<Arc<str>>>,
    /// Imbalance of the synchronisation: `Σ (mean − min)` of the time in it.
    pub imb_sync_ns: u64,
    /// Imbalance of `paths`.
    pub sum_imb_ns: u64,
    /// Waiting of `paths`.
    pub sum_wait_ns: u64,
    /// Row of the diagnosis table; see `ouzel_analyses::loss_tree::Diagnosis`.
    pub diagnosis_row: u8,
    /// The significant call paths, in order of the call tree.
    pub paths: Vec<SegmentPath>,
}

/// What is lost in one call path of a segment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SegmentPath {
    /// Regions from the outermost; empty for code outside recorded regions.
    pub call_path: Vec<Arc<str>>,
    /// What its time is spent on.
    pub category: Category,
    /// Imbalance, added up over iterations.
    pub imb_ns: u64,
    /// Waiting, added up over iterations.
    pub wait_ns: u64,
}

impl SegmentsCard {
    /// The segments of the main threads, or of the first group present if there are none.
    pub fn new(phases: &PhasesOutput, definitions: &Definitions, classes: &[Class]) -> Self {
        let Some(group) = phases.main_group() else { return SegmentsCard::default() };
        let found = segments(group, &phases.call_paths, classes, &Thresholds::default());
        let clock = &definitions.clock;
        let names = |path: CallPathId| -> Vec<Arc<str>> {
            let regions = phases.call_paths.regions(path);
            regions.into_iter().map(|region| definitions.region(region).name.clone()).collect()
        };
        let path = |path: &PathLoss| SegmentPath {
            call_path: names(path.call_path),
            category: path.category,
            imb_ns: path.imb.ns(clock),
            wait_ns: path.wait.ns(clock),
        };
        let card = |segment: &Segment| SegmentCard {
            id: segment.id,
            start_ns: clock.ns_from_ticks(segment.start),
            end_ns: clock.ns_from_ticks(segment.end),
            n_phases: segment.phases.len() as u64 * group.phases_per_entry,
            sync: segment.sync.map(names),
            imb_sync_ns: segment.imb_sync.ns(clock),
            sum_imb_ns: segment.sum_imb.ns(clock),
            sum_wait_ns: segment.sum_wait.ns(clock),
            diagnosis_row: segment.diagnosis_row,
            paths: segment.paths.iter().map(path).collect(),
        };
        SegmentsCard {
            segments: found.segments.iter().filter(|segment| segment.reported).map(card).collect(),
            projected_run_time_ns: found.projected_reported.ns(clock),
        }
    }
}
