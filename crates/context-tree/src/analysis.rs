//! The fold: enters and leaves, or samples where there are none, into trees; trees into clusters.

use crate::align::{LookAhead, Order};
use crate::alike_locations::Alike;
use crate::assemble::{Assembler, IterationClustering};
use crate::builder::Builder;
use crate::merger::{Merger, Over};
use crate::output::{ContextTreesOutput, TreeGroup};
use crate::partial::Halving;
use crate::sample_tree::{LocationSamples, SampleDoubts, SampleTiming, SampledPaths};
use ouzel_analyses::peers::{PeerGroups, PeerKind};
use ouzel_analyses::phases::{AnchorCounter, IterationParts, PartRules};
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
    /// Which synchronisations end which parts of iterations, where those of one place are not alike.
    pub parts: Option<IterationParts>,
    /// How iterations of enter and leave events are clustered.
    pub iterations: IterationClustering,
}

impl Question for ContextTrees {
    type Analysis = ContextTreesFold;
    type Output = ContextTreesOutput;

    fn prepare(self: Arc<Self>, cx: &SelectionCx<'_>) -> Arc<ContextTreesFold> {
        let is_anchor = |region| self.semantics.class(region).category == Category::Synchronization;
        let anchors = cx.definitions.regions.iter().map(is_anchor).collect();
        let peers = PeerGroups::new(cx);
        let parts = self.parts.as_ref();
        Arc::new(ContextTreesFold {
            parts: parts
                .map_or_else(Vec::new, |parts| PartRules::by_group(parts, cx, &peers, &self.semantics)),
            peers,
            assembler: Arc::new(Assembler::new(cx.definitions, anchors, self.iterations)),
            paths: Arc::new(SampledPaths::new(cx.definitions, self.period)),
            period: self.period,
        })
    }
}

/// [`ContextTrees`] of the selected peers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ContextTreesFold {
    peers: PeerGroups,
    /// By peer group; empty if none has parts.
    parts: Vec<Option<PartRules>>,
    assembler: Arc<Assembler>,
    paths: Arc<SampledPaths>,
    /// See [`ContextTrees::period`].
    period: Option<Ticks>,
}

/// A location while it is folded: its group, its index there, and its tree; `None` if it has no peers.
pub(crate) type ContextTreesLocal = Option<Box<FoldedMember>>;

/// A location of a peer group.
#[derive(Debug)]
pub struct FoldedMember {
    group: usize,
    member: u32,
    builder: Builder,
    /// What synchronises all peers, if the iterations of the group have parts.
    counter: AnchorCounter,
    /// Only until the first enter, as exact events make samples useless, unless the code shows loops around both.
    samples: Option<LocationSamples>,
    /// Whether some of its calls are made of samples.
    has_sampled_calls: bool,
}

/// The clusters of each peer group.
///
/// Averages are floats. They are taken along a fixed tree over the locations, so that they do not depend on the
/// order of folding.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
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

    fn parts_of(&self, group: usize) -> Option<&PartRules> {
        self.parts.get(group).and_then(Option::as_ref)
    }

    fn n_members(&self, group: usize) -> u32 {
        self.peers.groups().get(group).map_or(0, |group| group.members.len() as u32)
    }
}

/// The calls of a chunk, each synchronisation with the part of an iteration that it ends.
fn fold_parts(builder: &mut Builder, counter: &mut AnchorCounter, rules: &PartRules, chunk: &EventChunk<'_>) {
    let mut collectives = chunk.collectives.iter();
    let regions = chunk.region.iter().zip(chunk.regions_shown());
    for ((&time, &kind), (&region, shown)) in chunk.time.iter().zip(chunk.kind).zip(regions) {
        match kind {
            EventKind::Enter => {
                counter.enter(rules, region, region != *shown);
                builder.enter(region, time.0);
            }
            EventKind::Leave => {
                if let Some(part) = counter.leave(rules) {
                    builder.set_part(part);
                }
                builder.leave(time.0);
            }
            EventKind::CollectiveEnd => {
                let Some(collective) = collectives.next() else { continue };
                if collective.request.is_none() {
                    counter.collective(rules, collective.comm);
                }
            }
            _ => {}
        }
    }
}

impl Analysis for ContextTreesFold {
    type Local = ContextTreesLocal;
    type Partial = ContextTreesPartial;
    type Output = ContextTreesOutput;
    const NAME: &'static str = "context_trees";
    const PARTIAL_VERSION: u32 = 5;

    fn needs(&self) -> Needs {
        let needs = if self.paths.is_empty() { Needs::NOTHING } else { Needs::SAMPLES };
        if self.parts.is_empty() { needs } else { needs.union(Needs::COLLECTIVES) }
    }

    fn speaks_of(&self) -> Contents {
        Contents::of(&[Content::Calls, Content::Samples])
    }

    fn empty(&self) -> ContextTreesPartial {
        let groups = self.peers.groups().iter().map(|_| Halving::default()).collect();
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
        let counter = AnchorCounter::default();
        let has_sampled_calls = false;
        Some(Box::new(FoldedMember {
            group,
            member: member as u32,
            builder,
            counter,
            samples,
            has_sampled_calls,
        }))
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
        local.has_sampled_calls |= chunk.call_sites.iter().any(|site| !site.is_recorded);
        let builder = &mut local.builder;
        if let Some(rules) = self.parts_of(local.group) {
            return fold_parts(builder, &mut local.counter, rules, chunk);
        }
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
        cx: &LocationCx<'_>,
        summary: &LocationSummary,
        into: &mut ContextTreesPartial,
    ) {
        let Some(local) = local else { return };
        let FoldedMember { group, member, builder, samples, has_sampled_calls, .. } = *local;
        let one = match samples.and_then(LocationSamples::finish) {
            Some(samples) => {
                into.doubts.add(samples.doubts);
                Alike::sampled(member, samples)
            }
            None => {
                let (mut tree, mut loops) = builder.finish();
                if has_sampled_calls {
                    self.assembler.doubt_iterations(&mut tree, &mut loops);
                }
                match summary.sampling_period.filter(|_| cx.completes_calls) {
                    Some(period) => Alike::beside_calls(member, tree, loops, self.period.unwrap_or(period)),
                    None => Alike::one(member, tree, loops),
                }
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
        let mut groups = Vec::new();
        for (group, halving) in self.peers.groups().iter().zip(partial.groups) {
            let clusters = halving.finish(group.members.len() as u32, &Self::merger());
            let clusters = clusters.map_err(|reason| AnalysisError {
                analysis: Self::NAME,
                reason: format!("a temporary file cannot be read: {reason}"),
            })?;
            groups.push(TreeGroup::new(group, clusters, &self.assembler));
        }
        groups.retain(|group| !group.locations.is_empty());
        Ok(ContextTreesOutput { groups })
    }
}
