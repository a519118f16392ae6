//! The samples of one location, from chunks to a tree like that of exact events.
//!
//! Law: the result depends on the samples alone, not on chunks. Order of calls in loops is learned from the location
//! itself, as others may never be in this process.

use super::builder::{SamplePath, SampleTreeBuilder};
use super::evidence::Evidence;
use super::found_loops::find_loops;
use super::iterations::learn_flows;
use super::paths::{NO_FRAME, SampledPaths};
use super::relative::{LoopRules, RelativeTree};
use super::{LcaQuality, SampledTree};
use crate::assemble::LoopRecord;
use crate::control_flow::Acceptance;
use crate::diff::Differ;
use crate::merger::{Merger, Over};
use crate::node::{LoopSource, Node, StaticId};
use ouzel_engine::roomy;
use ouzel_model::{EventChunk, EventKind, Level, Notice, NoticeCode, Notices, Ticks, popped};
use std::sync::Arc;

/// Nodes of a tree without loops. More is no summary: calls in order can be averaged, but not without end.
const PLAIN_NODES: usize = 8192;
/// Nodes of a tree of recorded and sampled calls: some 4 MB. Where there are more, loops are found as calls come.
const CALL_NODES: usize = 1 << 16;

/// The samples of one location so far.
#[derive(Debug)]
pub struct LocationSamples {
    paths: Arc<SampledPaths>,
    builder: SampleTreeBuilder,
    /// The path of the last sample.
    at: u32,
    /// Frames of the path of a sample that the one before does not have.
    beyond: Vec<StaticId>,
    timing: SampleTiming,
    /// Whether it holds calls, of which some are recorded and the others made of samples.
    of_calls: bool,
}

/// What the times of samples say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SampleTiming {
    /// When the program was interrupted: calls began and ended up to a period before.
    Periodic,
    /// When something began or ended, as accelerators record it.
    Exact,
}

/// The result from the samples of one location.
#[derive(Debug, Clone, PartialEq)]
pub struct SampledLocation {
    /// The tree, in relative form.
    pub tree: Node,
    /// From its start to its end, in ticks.
    pub duration: f64,
    /// Loops that are not inside of others.
    pub loops: Vec<LoopRecord>,
    /// Time between samples: as the user says, else the median interval, of few samples what the trace says.
    pub period: Ticks,
    /// The worst quality of instances.
    pub quality: LcaQuality,
    /// Counts of doubtful or cut samples.
    pub doubts: SampleDoubts,
}

/// Counts of doubtful or cut samples in trees of samples; summed over locations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SampleDoubts {
    /// Samples that claim to keep more of the previous path than the two have in common.
    pub n_inconsistent: u64,
    /// Samples with more frames than trees have levels.
    pub n_too_deep: u64,
    /// Locations whose shortest calls were folded.
    pub n_folded: u64,
}

impl SampleDoubts {
    /// Adds those of other locations.
    pub fn add(&mut self, other: SampleDoubts) {
        self.n_inconsistent += other.n_inconsistent;
        self.n_too_deep += other.n_too_deep;
        self.n_folded += other.n_folded;
    }

    /// Reports them as notices.
    pub fn tell(self, notices: &Notices) {
        let said = [
            (
                self.n_inconsistent,
                "samples claim to keep more of the previous call path than the two paths have in common; the common \
                 part was used",
            ),
            (
                self.n_too_deep,
                "samples have more callers than call trees have levels; the innermost callers were cut",
            ),
            (
                self.n_folded,
                "the samples of locations contain too many calls to keep their order; the shortest calls were merged",
            ),
        ];
        for (count, message) in said.into_iter().filter(|&(count, _)| 0 < count) {
            notices.push(Notice::new(Level::Low, NoticeCode::UncertainInstances, message).times(count));
        }
    }
}

impl LocationSamples {
    /// A location without a sample.
    pub fn new(paths: Arc<SampledPaths>, timing: SampleTiming) -> Self {
        let builder = match paths.has_loops() {
            true => SampleTreeBuilder::default(),
            false => SampleTreeBuilder::with_max_nodes(PLAIN_NODES),
        };
        LocationSamples { paths, builder, at: NO_FRAME, beyond: roomy(), timing, of_calls: false }
    }

    /// Whether it holds calls.
    pub fn is_of_calls(&self) -> bool {
        self.of_calls
    }

    /// Adds the calls of a chunk, of which some are recorded and the others made of samples.
    pub fn fold_calls(&mut self, chunk: &EventChunk<'_>) {
        if !std::mem::replace(&mut self.of_calls, true) {
            self.builder = SampleTreeBuilder::with_max_nodes(CALL_NODES);
        }
        let mut sites = chunk.call_sites;
        for (row, ((&time, &kind), &region)) in
            (chunk.time.iter().zip(chunk.kind).zip(chunk.region)).enumerate()
        {
            match kind {
                EventKind::Enter => {
                    let site = popped(&mut sites, row, |site| site.row);
                    if !self.paths.code().is_call(region) {
                        continue;
                    }
                    let id = self.paths.code().id(region, site.and_then(|site| site.line));
                    let sampled = site.filter(|site| !site.is_recorded).map(|site| site.lca);
                    self.builder.enter(time, id, sampled);
                }
                EventKind::Leave if self.paths.code().is_call(region) => self.builder.leave(time),
                _ => {}
            }
        }
    }

    /// Adds the samples of a chunk.
    pub fn fold(&mut self, chunk: &EventChunk<'_>) {
        for sample in chunk.samples {
            let (to, is_cut) = self.paths.of(sample.context);
            let common = self.paths.common(self.at, to, &mut self.beyond);
            let path = SamplePath { common, beyond: &self.beyond, is_cut };
            self.builder.push(chunk.time[sample.row as usize], path, sample.lca);
            self.at = to;
        }
    }

    /// The tree; `None` without a sample. Calls have none here if the code shows no loop around them, or if there are so
    /// many that the order of those right inside of an outermost loop is lost.
    pub fn finish(self) -> Option<SampledLocation> {
        let tree = match self.of_calls {
            true => self.builder.finish_calls().filter(|tree| self.paths.code().shows_loops(&tree.nodes))?,
            false => self.builder.finish()?,
        };
        let SampledTree { mut nodes, n_samples, period, quality, n_inconsistent, n_too_deep, folded_below } =
            tree;
        let period = match self.timing {
            _ if self.of_calls => self.paths.said_period().unwrap_or(Ticks(0)),
            SampleTiming::Periodic => self.paths.period(period, n_samples),
            SampleTiming::Exact => Ticks(0),
        };
        find_loops(&mut nodes);
        let mut flows = learn_flows(&nodes, LoopSource::LearnedSampled);
        self.paths.code().replace(&nodes, &mut flows);
        let differ = Differ::sampled(&flows, period.0 as f64);
        let rules = LoopRules {
            flows: &flows,
            acceptance: Acceptance::sampled(period),
            evidence: &Evidence {
                code: Some(self.paths.code()),
                period: Some(period).filter(|period| Ticks(0) < *period),
                has_exact_instances: !self.of_calls && quality == LcaQuality::Exact,
            },
            known_by: &|id| self.paths.known_by(id),
            merger: &Merger { differ, ..Merger::exact(&flows, Over::Iterations) },
        };
        let RelativeTree { tree, duration, loops } = RelativeTree::new(nodes, rules);
        let n_folded = u64::from(Ticks(0) < folded_below);
        let doubts = SampleDoubts { n_inconsistent, n_too_deep, n_folded };
        Some(SampledLocation { tree, duration, loops, period, quality, doubts })
    }
}
