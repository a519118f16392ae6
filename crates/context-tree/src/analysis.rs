//! The fold: enters and leaves, or samples where there are none, into trees; trees into clusters.

use crate::align::{LookAhead, Order};
use crate::assemble::Assembler;
use crate::builder::Builder;
use crate::merger::{Merger, Over};
use crate::output::{ContextTreesOutput, TreeGroup};
use crate::partial::{Alike, Halving};
use crate::sample_tree::{LocationSamples, SampleDoubts, SampleTiming, SampledPaths};
use ouzel_analyses::peers::{PeerGroups, PeerKind};
use ouzel_analyses::semantics::{Category, Semantics};
use ouzel_engine::{Analysis, AnalysisError, FinishCx, LocationCx, LocationSummary, Question, SelectionCx};
use ouzel_model::{Content, Contents, EventChunk, EventKind, Needs, Remap, Ticks};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Trees of locations, clustered.
#[derive(Debug, Clone, Default)]
pub struct ContextTrees {
    /// What regions mean: synchronising ones separate iterations.
    pub semantics: Semantics,
    /// Time between samples, where neither the trace nor its samples say it right.
    pub period: Option<Ticks>,
}

impl Question for ContextTrees {
    type Analysis = ContextTreesFold;
    type Output = ContextTreesOutput;

    fn prepare(self: Arc<Self>, cx: &SelectionCx<'_>) -> Arc<ContextTreesFold> {
        let is_anchor = |region| self.semantics.class(region).category == Category::Synchronization;
        let anchors = cx.definitions.regions.iter().map(is_anchor).collect();
        Arc::new(ContextTreesFold {
            peers: PeerGroups::new(cx),
            assembler: Arc::new(Assembler::new(cx.definitions, anchors)),
            paths: Arc::new(SampledPaths::new(cx.definitions, self.period)),
        })
    }
}

/// [`ContextTrees`] of the selected peers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ContextTreesFold {
    peers: PeerGroups,
    assembler: Arc<Assembler>,
    paths: Arc<SampledPaths>,
}

/// A location while it is folded: its group, its index there, and its tree; `None` if it has no peers.
pub(crate) type ContextTreesLocal = Option<Box<FoldedMember>>;

/// A location of a peer group.
#[derive(Debug)]
pub struct FoldedMember {
    group: usize,
    member: u32,
    builder: Builder,
    /// Only until the first enter, as exact events make samples useless, unless the code shows loops around both.
    samples: Option<LocationSamples>,
}

/// The clusters of each peer group.
///
/// Averages are floats. They are taken along a fixed tree over the locations, so that they do not depend on the
/// order of folding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContextTreesPartial {
    groups: Vec<Halving>,
    doubts: SampleDoubts,
}

static LOOK_AHEAD: LookAhead = LookAhead;

impl ContextTreesFold {
    fn merger() -> Merger<'static> {
        let order: &dyn Order = &LOOK_AHEAD;
        Merger::exact(order, Over::Locations)
    }

    fn n_members(&self, group: usize) -> u32 {
        self.peers.groups().get(group).map_or(0, |group| group.members.len() as u32)
    }
}

impl Analysis for ContextTreesFold {
    type Local = ContextTreesLocal;
    type Partial = ContextTreesPartial;
    type Output = ContextTreesOutput;
    const NAME: &'static str = "context_trees";
    const PARTIAL_VERSION: u32 = 3;

    fn needs(&self) -> Needs {
        if self.paths.is_empty() { Needs::NOTHING } else { Needs::SAMPLES }
    }

    fn speaks_of(&self) -> Contents {
        Contents::of(&[Content::Calls, Content::Samples])
    }

    fn empty(&self) -> ContextTreesPartial {
        let groups = vec![Halving::default(); self.peers.groups().len()];
        ContextTreesPartial { groups, doubts: SampleDoubts::default() }
    }

    fn begin(&self, cx: &LocationCx<'_>) -> ContextTreesLocal {
        let (group, member) = self.peers.place(cx.location)?;
        let builder = Builder::new(self.assembler.clone());
        let kind = self.peers.groups().get(group).map(|group| group.kind);
        let timing = match kind {
            Some(PeerKind::AcceleratorStream) => SampleTiming::Exact,
            _ => SampleTiming::Periodic,
        };
        let samples = (!self.paths.is_empty()).then(|| LocationSamples::new(self.paths.clone(), timing));
        Some(Box::new(FoldedMember { group, member: member as u32, builder, samples }))
    }

    fn fold(&self, local: &mut ContextTreesLocal, chunk: &EventChunk<'_>) {
        let Some(local) = local else { return };
        let has_code = self.paths.has_code();
        if !has_code && local.samples.is_some() && chunk.kind.contains(&EventKind::Enter) {
            local.samples = None;
        }
        if let Some(samples) = &mut local.samples {
            if has_code && (samples.is_of_calls() || chunk.kind.contains(&EventKind::Enter)) {
                samples.fold_calls(chunk);
            } else {
                samples.fold(chunk);
            }
        }
        let builder = &mut local.builder;
        for ((&time, &kind), &region) in chunk.time.iter().zip(chunk.kind).zip(chunk.region) {
            match kind {
                EventKind::Enter => builder.enter(region, time.0),
                EventKind::Leave => builder.leave(time.0),
                _ => {}
            }
        }
    }

    fn end(
        &self,
        local: ContextTreesLocal,
        _: &LocationCx<'_>,
        _: &LocationSummary,
        into: &mut ContextTreesPartial,
    ) {
        let Some(local) = local else { return };
        let FoldedMember { group, member, builder, samples } = *local;
        let one = match samples.and_then(LocationSamples::finish) {
            Some(samples) => {
                into.doubts.add(samples.doubts);
                Alike::sampled(member, samples)
            }
            None => {
                let (tree, loops) = builder.finish();
                Alike::one(member, tree, loops)
            }
        };
        if let Some(halving) = into.groups.get_mut(group) {
            halving.add(one, self.n_members(group), &Self::merger());
        }
    }

    fn remap(&self, _: &mut ContextTreesPartial, _: &Remap) {
        // Trees are of regions, not of call paths.
    }

    fn merge(&self, into: &mut ContextTreesPartial, from: ContextTreesPartial) {
        into.doubts.add(from.doubts);
        for (i, (halving, other)) in into.groups.iter_mut().zip(from.groups).enumerate() {
            halving.merge(other, self.n_members(i), &Self::merger());
        }
    }

    fn finish(
        &self,
        partial: ContextTreesPartial,
        cx: &FinishCx<'_>,
    ) -> Result<ContextTreesOutput, AnalysisError> {
        partial.doubts.tell(cx.notices);
        let groups = self.peers.groups().iter().zip(partial.groups).map(|(group, halving)| {
            let clusters = halving.finish(group.members.len() as u32, &Self::merger());
            TreeGroup::new(group, clusters, &self.assembler)
        });
        Ok(ContextTreesOutput { groups: groups.filter(|group| !group.locations.is_empty()).collect() })
    }
}
