//! When locations come to synchronisations and leave them: what a plan of common anchors is made from.
//!
//! For each region that may synchronise all peers there are two counts over time, of enters and of leaves, summed over
//! the locations of a peer group. That is little, whatever the number of locations, and it is all that
//! [`AnchorPlan`](super::AnchorPlan) needs.
//!
//! Law: counts add up in any order. If there are more than [`MAX_TIMES`] different times, all of them are rounded down to
//! a multiple of the least power of two that leaves no more, which does not depend on the order either.

use super::anchors::{AnchorRules, Flags};
use crate::peers::{PeerGroups, PeerKind};
use crate::semantics::Semantics;
use ouzel_engine::{
    Analysis, AnalysisError, FinishCx, LocationCx, LocationSummary, Question, Scope, SelectionCx, roomy,
};
use ouzel_model::{
    CallPathId, Content, Contents, EventChunk, EventKind, LocationId, Needs, RegionId, Remap, Ticks,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Most times kept of a peer group: 32 MB; chosen by the author.
const MAX_TIMES: usize = 1 << 20;

/// When the peers of each group enter and leave calls that may synchronise all of them.
#[derive(Debug, Clone, Default)]
pub struct AnchorSightings {
    /// What regions mean.
    pub semantics: Semantics,
}

impl Question for AnchorSightings {
    type Analysis = AnchorSightingsFold;
    type Output = SightingsOutput;

    fn prepare(self: Arc<Self>, cx: &SelectionCx<'_>) -> Arc<AnchorSightingsFold> {
        let peers = PeerGroups::new(cx);
        let classes = self.semantics.classes(cx.definitions);
        let rules = peers.groups().iter().map(|group| AnchorRules::new(cx, group, &classes)).collect();
        Arc::new(AnchorSightingsFold { peers, rules })
    }
}

/// [`AnchorSightings`] of the selected peers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AnchorSightingsFold {
    peers: PeerGroups,
    /// By peer group.
    rules: Vec<AnchorRules>,
}

/// The sightings of every peer group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SightingsOutput {
    /// Groups with members that have calls.
    pub groups: Vec<GroupSightings>,
}

/// The sightings of one peer group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupSightings {
    /// What its members are.
    pub kind: PeerKind,
    /// Members that have calls.
    pub locations: Vec<LocationId>,
    /// By (call path, time).
    pub(super) counts: Vec<Count>,
}

/// Enters and leaves of calls of one path at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Count {
    pub call_path: CallPathId,
    pub time: Ticks,
    pub region: RegionId,
    pub n_enters: u32,
    pub n_leaves: u32,
}

/// Counts of one peer group; those behind the first `n_sorted` are in no order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "SortedCounts", from = "SortedCounts")]
struct Counts {
    locations: Vec<LocationId>,
    counts: Vec<Count>,
    n_sorted: usize,
    /// Times are multiples of 2^`log_ticks`.
    log_ticks: u8,
}

/// The same, in order.
#[derive(Serialize, Deserialize)]
struct SortedCounts {
    locations: Vec<LocationId>,
    counts: Vec<Count>,
    log_ticks: u8,
}

impl From<Counts> for SortedCounts {
    fn from(mut counts: Counts) -> Self {
        counts.sort();
        SortedCounts { locations: counts.locations, counts: counts.counts, log_ticks: counts.log_ticks }
    }
}

impl From<SortedCounts> for Counts {
    fn from(sorted: SortedCounts) -> Self {
        let SortedCounts { locations, counts, log_ticks } = sorted;
        Counts { n_sorted: counts.len(), locations, counts, log_ticks }
    }
}

impl Counts {
    fn add(&mut self, locations: &[LocationId], counts: impl Iterator<Item = Count>, log_ticks: u8) {
        self.locations.extend_from_slice(locations);
        self.log_ticks = self.log_ticks.max(log_ticks);
        self.counts.extend(counts);
        // Each sort doubles what is sorted, or the new part is small anyway.
        if self.counts.len() - self.n_sorted > self.n_sorted.max(1 << 12) {
            self.sort();
        }
    }

    /// Sorts the counts and adds up those of one time.
    fn sort(&mut self) {
        self.locations.sort_unstable();
        loop {
            let log = self.log_ticks;
            for count in &mut self.counts {
                count.time = Ticks(count.time.0 >> log << log);
            }
            self.counts.sort_unstable_by_key(|count| (count.call_path, count.time, count.region));
            self.counts.dedup_by(|count, before| {
                let same = (count.call_path, count.time, count.region)
                    == (before.call_path, before.time, before.region);
                if same {
                    before.n_enters += count.n_enters;
                    before.n_leaves += count.n_leaves;
                }
                same
            });
            self.n_sorted = self.counts.len();
            if self.counts.len() <= MAX_TIMES || log == 63 {
                return;
            }
            self.log_ticks += 1;
        }
    }
}

/// The groups' counts so far.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SightingsPartial {
    groups: BTreeMap<u8, Counts>,
}

/// One location while it is folded.
#[derive(Debug)]
pub struct SightingsLocal {
    group: Option<u8>,
    /// The open call whose callees are ignored, or that may synchronise, and the depth that it is at.
    open: Option<(usize, Option<(RegionId, CallPathId)>)>,
    depth: usize,
    has_calls: bool,
    counts: Vec<Count>,
}

impl Analysis for AnchorSightingsFold {
    type Local = SightingsLocal;
    type Partial = SightingsPartial;
    type Output = SightingsOutput;
    const NAME: &'static str = "anchor_sightings";
    const PARTIAL_VERSION: u32 = 1;
    /// As for phases.
    const SCOPE: Scope = Scope::Locations;

    fn needs(&self) -> Needs {
        Needs::CALL_PATHS
    }

    fn speaks_of(&self) -> Contents {
        Contents::of(&[Content::Calls])
    }

    fn empty(&self) -> SightingsPartial {
        SightingsPartial::default()
    }

    fn begin(&self, cx: &LocationCx<'_>) -> SightingsLocal {
        let group = self.peers.place(cx.location).map(|(group, _)| group as u8);
        SightingsLocal { group, open: None, depth: 0, has_calls: false, counts: roomy() }
    }

    fn fold(&self, local: &mut SightingsLocal, chunk: &EventChunk<'_>) {
        let Some(group) = local.group else { return };
        let rules = &self.rules[usize::from(group)];
        let calls = chunk.region.iter().zip(chunk.regions_shown()).zip(chunk.paths_shown());
        for ((&at, &kind), ((&region, shown), &call_path)) in chunk.time.iter().zip(chunk.kind).zip(calls) {
            let count = |region, call_path, n_enters| Count {
                call_path,
                time: at,
                region,
                n_enters,
                n_leaves: 1 - n_enters,
            };
            match kind {
                EventKind::Enter => {
                    local.has_calls = true;
                    local.depth += 1;
                    if local.open.is_some() {
                        continue;
                    }
                    let flags = rules.flags(region);
                    let flags = if region == *shown { flags } else { rules.of_hidden(flags) };
                    let anchor = flags.may_be_anchor().then_some((region, call_path));
                    if let Some((region, call_path)) = anchor {
                        local.counts.push(count(region, call_path, 1));
                    }
                    if anchor.is_some() || flags.has(Flags::LEAF) {
                        local.open = Some((local.depth, anchor));
                    }
                }
                EventKind::Leave => {
                    let closed = local.open.take_if(|(depth, _)| *depth == local.depth);
                    if let Some((_, Some((region, call_path)))) = closed {
                        local.counts.push(count(region, call_path, 0));
                    }
                    local.depth = local.depth.saturating_sub(1);
                }
                _ => {}
            }
        }
    }

    fn end(
        &self,
        local: SightingsLocal,
        cx: &LocationCx<'_>,
        _: &LocationSummary,
        into: &mut SightingsPartial,
    ) {
        let Some(group) = local.group.filter(|_| local.has_calls) else { return };
        into.groups.entry(group).or_default().add(&[cx.location], local.counts.into_iter(), 0);
    }

    fn remap(&self, partial: &mut SightingsPartial, remap: &Remap) {
        for counts in partial.groups.values_mut() {
            counts.counts.iter_mut().for_each(|count| count.call_path = remap.path(count.call_path));
            counts.n_sorted = 0;
            counts.sort();
        }
    }

    fn merge(&self, into: &mut SightingsPartial, from: SightingsPartial) {
        for (group, counts) in from.groups {
            let Counts { locations, counts, log_ticks, .. } = counts;
            into.groups.entry(group).or_default().add(&locations, counts.into_iter(), log_ticks);
        }
    }

    fn finish(&self, partial: SightingsPartial, _: &FinishCx<'_>) -> Result<SightingsOutput, AnalysisError> {
        let groups = partial.groups.into_iter().map(|(group, mut counts)| {
            counts.sort();
            let kind = self.peers.groups()[usize::from(group)].kind;
            GroupSightings { kind, locations: counts.locations, counts: counts.counts }
        });
        Ok(SightingsOutput { groups: groups.collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ouzel_testkit::{ToyTrace, laws, run};

    #[test]
    fn laws_hold() {
        laws::check(AnchorSightings::default, |output| format!("{output:?}"));
    }

    #[test]
    fn calls_that_may_synchronise_are_counted_by_time() {
        let trace = ToyTrace::new(
            "0: enter main @0, enter MPI_Barrier @5, leave @9, leave @12
             1: enter main @0, enter MPI_Barrier @5, leave @8, enter MPI_Send @8, leave @12, leave @12",
        );
        let output = run(&trace, AnchorSightings::default());
        let counts = output.groups[0].counts.iter().map(|it| (it.time.0, it.n_enters, it.n_leaves));
        assert_eq!(counts.collect::<Vec<_>>(), [(5, 2, 0), (8, 0, 1), (9, 0, 1)]);
    }

    #[test]
    fn too_many_times_are_rounded_in_any_order() {
        let count = |time| Count {
            call_path: CallPathId(1),
            time: Ticks(time),
            region: RegionId(0),
            n_enters: 1,
            n_leaves: 0,
        };
        let n = MAX_TIMES as u64 + 10;
        let add = |ranges: &[std::ops::Range<u64>]| {
            let mut counts = Counts::default();
            for range in ranges {
                let mut part = Counts::default();
                part.add(&[], range.clone().map(|i| count(3 * i)), 0);
                counts.add(&[], part.counts.iter().copied(), part.log_ticks);
            }
            SortedCounts::from(counts).counts
        };
        let (a, b) = (add(&[0..n / 3, n / 3..n]), add(&[n / 2..n, 0..n / 2]));
        assert!(a == b && a.len() <= MAX_TIMES && MAX_TIMES / 2 < a.len(), "{} {}", a.len(), b.len());
        assert_eq!(a.iter().map(|it| u64::from(it.n_enters)).sum::<u64>(), n);
    }
}
