//! From samples to a tree: open frames, and what is closed when a sample comes without them.
//!
//! Law: memory is bounded by a number of nodes, beyond which the shortest calls lose their order.

use super::{LcaQuality, SampledNode, SampledTree, add_durations, is_loop, next_of};
use crate::node::{Node, StaticId};
use ouzel_engine::{SampleIntervals, roomy};
use ouzel_model::{Lca, Ticks};

/// Nodes of the largest tree of one location; beyond, the shortest calls are folded. Some 15 MB, and
/// as much again while the list grows.
const MAX_NODES: usize = 1 << 18;
/// Frames of a path that are kept, so that walking a tree cannot exhaust the stack of a thread.
pub(super) const MAX_DEPTH: usize = 192;

/// The path of a sample.
#[derive(Debug, Clone, Copy)]
pub struct SamplePath<'p> {
    /// Number of frames that it has in common with the path of the sample before, at the outer end.
    pub common: usize,
    /// Its other frames, outermost first.
    pub beyond: &'p [StaticId],
    /// Whether it had more frames than are kept.
    pub is_cut: bool,
}

/// Builds the tree of one location, sample by sample.
#[derive(Debug)]
pub struct SampleTreeBuilder {
    /// Calls and loops in order of their begins.
    nodes: Vec<SampledNode>,
    /// The places of the root and the frames of the last sample.
    open: Vec<u32>,
    n_samples: u64,
    last: Ticks,
    intervals: SampleIntervals,
    quality: LcaQuality,
    n_inconsistent: u64,
    n_too_deep: u64,
    /// Calls that were entered and are too deep to be kept.
    n_beyond: usize,
    n_nodes: usize,
    max_nodes: usize,
    folded_below: Ticks,
    /// Frames that begin again with a sample; empty between samples.
    again: Vec<StaticId>,
}

impl Default for SampleTreeBuilder {
    fn default() -> Self {
        SampleTreeBuilder {
            nodes: roomy(),
            open: roomy(),
            n_samples: 0,
            last: Ticks(0),
            intervals: SampleIntervals::default(),
            quality: LcaQuality::Exact,
            n_inconsistent: 0,
            n_too_deep: 0,
            n_beyond: 0,
            n_nodes: 0,
            max_nodes: MAX_NODES,
            folded_below: Ticks(0),
            again: roomy(),
        }
    }
}

impl SampleTreeBuilder {
    /// A builder of trees with about so many nodes at most.
    pub(crate) fn with_max_nodes(max_nodes: usize) -> Self {
        SampleTreeBuilder { max_nodes, ..SampleTreeBuilder::default() }
    }

    /// Adds a sample that is not earlier than those before.
    pub fn push(&mut self, time: Ticks, path: SamplePath<'_>, lca: Lca) {
        self.n_too_deep += u64::from(path.is_cut);
        let mut kept = 0;
        if self.n_samples == 0 {
            self.begin(StaticId::Root, time);
        } else {
            self.intervals.add(time.since(self.last));
            kept = self.kept(path, lca);
        }
        if !path.beyond.is_empty() || 1 + kept < self.open.len() {
            self.go_on(time, path, kept);
        }
        self.n_samples += 1;
        self.last = time;
        if self.max_nodes < self.n_nodes {
            self.fold();
        }
    }

    /// Goes from the path of the sample before, of which so many frames are kept, to that of a sample.
    fn go_on(&mut self, time: Ticks, path: SamplePath<'_>, kept: usize) {
        // Frames that both samples show, and that are other instances.
        let mut again = std::mem::take(&mut self.again);
        again.extend((1 + kept..=path.common).map(|depth| self.frame(depth).id));
        self.close(1 + kept, time);
        for id in again.drain(..).chain(path.beyond.iter().copied()) {
            self.begin(id, time);
        }
        self.again = again;
    }

    /// A call begins. `shown_by`: what the sample that shows it says of the calls around it; `None` if it is recorded.
    pub(crate) fn enter(&mut self, time: Ticks, id: StaticId, shown_by: Option<Lca>) {
        self.see(time);
        if MAX_DEPTH < self.open.len() {
            self.n_beyond += 1;
            self.n_too_deep += 1;
            return;
        }
        self.begin(id, time);
        self.n_samples += 1;
        match shown_by {
            None => {
                // The calls around it learn of it when it is closed.
                let node = self.nodes.last_mut().expect("it began just now");
                (node.has_recorded, node.is_recorded) = (true, true);
            }
            Some(Lca::Exact(_)) => {}
            Some(Lca::AtMost(_)) => self.quality = self.quality.max(LcaQuality::UpperBound),
            Some(Lca::Unknown) => self.quality = LcaQuality::Inferred,
        }
        if self.max_nodes < self.n_nodes {
            self.fold();
        }
    }

    /// The innermost call ends.
    pub(crate) fn leave(&mut self, time: Ticks) {
        self.see(time);
        if 0 < self.n_beyond {
            self.n_beyond -= 1;
        } else if 1 < self.open.len() {
            self.close(self.open.len() - 1, time);
        }
    }

    /// The location is there at this time.
    fn see(&mut self, time: Ticks) {
        if self.open.is_empty() {
            self.begin(StaticId::Root, time);
        }
        self.last = time;
    }

    /// The tree of what was entered and left; `None` of nothing.
    pub(crate) fn finish_calls(self) -> Option<SampledTree> {
        let last = self.last;
        self.finish_at(last, Ticks(0))
    }

    /// The tree; `None` without a sample.
    pub fn finish(self) -> Option<SampledTree> {
        if self.n_samples == 0 {
            return None;
        }
        let period = self.intervals.median().unwrap_or_default();
        let end = Ticks(self.last.0.saturating_add(period.0));
        self.finish_at(end, period)
    }

    /// The tree of what is open until `end`; `None` of nothing.
    fn finish_at(mut self, end: Ticks, period: Ticks) -> Option<SampledTree> {
        self.close(0, end);
        let SampleTreeBuilder { nodes, n_samples, quality, n_inconsistent, n_too_deep, folded_below, .. } =
            self;
        let tree =
            SampledTree { nodes, n_samples, period, quality, n_inconsistent, n_too_deep, folded_below };
        Some(tree).filter(|tree| !tree.nodes.is_empty())
    }

    /// The open node at a depth; the root is at 0.
    fn frame(&mut self, depth: usize) -> &mut SampledNode {
        &mut self.nodes[self.open[depth] as usize]
    }

    /// The frames of `path` that are instances of the sample before: the effective least common ancestor.
    fn kept(&mut self, path: SamplePath<'_>, lca: Lca) -> usize {
        let SamplePath { common, is_cut, .. } = path;
        let (quality, bound) = match lca {
            Lca::Exact(kept) => (LcaQuality::Exact, kept as usize),
            Lca::AtMost(kept) => (LcaQuality::UpperBound, kept as usize),
            Lca::Unknown => (LcaQuality::Inferred, common),
        };
        self.n_inconsistent += u64::from(quality == LcaQuality::Exact && common < bound && !is_cut);
        let mut kept = bound.min(common);
        while kept < common && is_loop(self.frame(1 + kept).id) {
            kept += 1;
        }
        if 0 < kept {
            self.quality = self.quality.max(quality);
            // The frames around it learn of it when it is closed.
            let node = self.frame(kept);
            node.continuity = node.continuity.max(quality);
        }
        kept
    }

    fn begin(&mut self, id: StaticId, time: Ticks) {
        self.open.push(self.nodes.len() as u32);
        self.nodes.push(SampledNode {
            id,
            n_inside: 0,
            first: time,
            last: time,
            end: time,
            folded: None,
            continuity: LcaQuality::Exact,
            has_recorded: false,
            is_recorded: false,
        });
        self.n_nodes += 1;
    }

    /// Closes what is open beyond the outermost `n_open`.
    fn close(&mut self, n_open: usize, time: Ticks) {
        while n_open < self.open.len()
            && let Some(at) = self.open.pop()
        {
            let n_inside = self.nodes.len() as u32 - 1 - at;
            let node = &mut self.nodes[at as usize];
            (node.n_inside, node.last, node.end) = (n_inside, self.last, time);
            let (has_recorded, continuity) = (node.has_recorded, node.continuity);
            let Some(&caller) = self.open.last() else { return };
            let caller = &mut self.nodes[caller as usize];
            caller.has_recorded |= has_recorded;
            if 1 < self.open.len() {
                caller.continuity = caller.continuity.max(continuity);
            }
        }
    }

    /// Folds short calls until the tree has half of the nodes it may have, or all is folded.
    fn fold(&mut self) {
        let least = self.intervals.median().unwrap_or_default().0.max(1).saturating_mul(2);
        self.folded_below = Ticks(self.folded_below.0.max(least));
        loop {
            self.fold_once();
            self.n_nodes = self.nodes.iter().map(SampledNode::n_kept).sum();
            if self.n_nodes <= self.max_nodes / 2 {
                return;
            }
            if self.folded_below.0 == u64::MAX {
                // What is left is one node for each call site: as much as the definitions.
                self.max_nodes = self.n_nodes.saturating_mul(4);
                return;
            }
            self.folded_below = Ticks(self.folded_below.0.saturating_mul(2));
        }
    }

    /// Folds closed calls that are shorter than the limit.
    fn fold_once(&mut self) {
        let mut before = std::mem::take(&mut self.nodes);
        let mut left = before.as_mut_slice();
        let mut n_gone = 0;
        for depth in 0..self.open.len() {
            let (open, inside) = left.split_first_mut().expect("open nodes are in the tree");
            let end = self.open.get(depth + 1).map_or(inside.len(), |&next| next as usize - 1 - n_gone);
            n_gone += 1 + end;
            let (closed, behind) = inside.split_at_mut(end);
            self.open[depth] = self.nodes.len() as u32;
            self.nodes.push(open.clone());
            fold_short(closed, self.folded_below, &mut self.nodes);
            left = behind;
        }
    }
}

/// Moves neighbours to the end of `into`; those that are shorter than `limit` become one with a profile of them.
fn fold_short(mut nodes: &mut [SampledNode], limit: Ticks, into: &mut Vec<SampledNode>) {
    // The place of the neighbour before.
    let mut before = None;
    while let Some(next) = next_of(&mut nodes) {
        let folded = before.and_then(|at: usize| into.get_mut(at)?.folded.as_mut().map(|_| at));
        let node = &mut next[0];
        if limit <= node.duration() && node.folded.is_none() {
            let at = into.len();
            into.push(node.clone());
            fold_short(&mut next[1..], limit, into);
            into[at].n_inside = (into.len() - 1 - at) as u32;
            before = Some(at);
        } else if let Some(at) = folded {
            let with = &mut into[at];
            with.continuity = with.continuity.max(node.continuity);
            with.has_recorded |= node.has_recorded;
            (with.end, with.last) = (node.end, node.last);
            fold_into(next, with.folded.as_mut().expect("it is folded"));
        } else {
            before = Some(into.len());
            let mut with = SampledNode { n_inside: 0, folded: node.folded.take(), ..*node };
            if with.folded.is_none() {
                let mut profile = Box::new(Node::no_instance(StaticId::Folded));
                fold_into(next, &mut profile);
                (with.id, with.folded) = (StaticId::Folded, Some(profile));
            }
            into.push(with);
        }
    }
}

/// Adds only the durations of a node and what is inside of it to a profile of folded calls.
fn fold_into(nodes: &mut [SampledNode], folded: &mut Node) {
    match nodes[0].folded.take() {
        Some(profile) => folded.absorb(*profile),
        None => folded.add_instance(None, |children| add_durations(nodes, children)),
    }
}
