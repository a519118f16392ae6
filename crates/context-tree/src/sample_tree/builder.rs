//! From samples to a tree: open frames, and what is closed when a sample comes without them.
//!
//! Law: memory is bounded by a number of nodes, beyond which the shortest calls lose their order.

use super::{Inside, LcaQuality, SampledNode, SampledTree, is_loop};
use crate::node::StaticId;
use ouzel_engine::{SampleIntervals, roomy};
use ouzel_model::{Lca, Ticks};

/// Nodes of the largest tree of one location; beyond, the shortest calls are folded. Some 20 MB.
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
    /// The root, then the frames of the last sample. Their number of samples is that before they began.
    open: Vec<SampledNode>,
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
        again.extend(self.open[1 + kept..=path.common].iter().map(|node| node.id));
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
                self.open.iter_mut().skip(1).for_each(|node| node.has_recorded = true);
                self.open.last_mut().expect("it began just now").is_recorded = true;
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
    pub(crate) fn finish_calls(mut self) -> Option<SampledTree> {
        let last = self.last;
        self.close(1, last);
        let mut root = self.open.pop()?;
        (root.end, root.last, root.n_samples) = (last, last, self.n_samples);
        let SampleTreeBuilder { quality, n_inconsistent, n_too_deep, folded_below, .. } = self;
        Some(SampledTree { root, period: Ticks(0), quality, n_inconsistent, n_too_deep, folded_below })
    }

    /// The tree; `None` without a sample.
    pub fn finish(mut self) -> Option<SampledTree> {
        if self.n_samples == 0 {
            return None;
        }
        let period = self.intervals.median().unwrap_or_default();
        self.close(1, Ticks(self.last.0.saturating_add(period.0)));
        let mut root = self.open.pop()?;
        root.end = Ticks(self.last.0.saturating_add(period.0));
        root.last = self.last;
        root.n_samples = self.n_samples;
        let SampleTreeBuilder { quality, n_inconsistent, n_too_deep, folded_below, .. } = self;
        Some(SampledTree { root, period, quality, n_inconsistent, n_too_deep, folded_below })
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
        while kept < common && is_loop(self.open[1 + kept].id) {
            kept += 1;
        }
        if 0 < kept {
            self.quality = self.quality.max(quality);
            // The frames around it learn of it when it is closed.
            let node = &mut self.open[kept];
            node.continuity = node.continuity.max(quality);
        }
        kept
    }

    fn begin(&mut self, id: StaticId, time: Ticks) {
        self.open.push(SampledNode {
            id,
            first: time,
            last: time,
            start: time,
            end: time,
            n_samples: self.n_samples,
            continuity: LcaQuality::Exact,
            has_recorded: false,
            is_recorded: false,
            inside: Inside::Ordered(Vec::new()),
        });
        self.n_nodes += 1;
    }

    /// Closes what is open beyond the outermost `n_open`.
    fn close(&mut self, n_open: usize, time: Ticks) {
        while n_open < self.open.len() {
            let mut node = self.open.pop().expect("more are open");
            node.last = self.last;
            node.end = time;
            node.n_samples = self.n_samples - node.n_samples;
            let n_left = self.open.len();
            let parent = self.open.last_mut().expect("the root stays open");
            parent.has_recorded |= node.has_recorded;
            if 1 < n_left {
                parent.continuity = parent.continuity.max(node.continuity);
            }
            if let Inside::Ordered(children) = &mut parent.inside {
                if children.is_empty() {
                    // Most calls of samples have no other callee than this one.
                    children.reserve_exact(1);
                }
                children.push(node);
            }
        }
    }

    /// Folds short calls until the tree has half of the nodes it may have, or all is folded.
    fn fold(&mut self) {
        let least = self.intervals.median().unwrap_or_default().0.max(1).saturating_mul(2);
        self.folded_below = Ticks(self.folded_below.0.max(least));
        loop {
            self.n_nodes = self.open.iter_mut().map(|node| fold_short(node, self.folded_below)).sum();
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
}

/// Neighbouring children that are shorter than `limit` become one profile. Returns the number of nodes that are left.
fn fold_short(node: &mut SampledNode, limit: Ticks) -> usize {
    let Inside::Ordered(children) = &mut node.inside else { return node.n_nodes() };
    let mut n_nodes = 1;
    let mut kept: Vec<SampledNode> = Vec::new();
    for mut child in std::mem::take(children) {
        if limit <= child.duration() && child.id != StaticId::Folded {
            n_nodes += fold_short(&mut child, limit);
            kept.push(child);
            continue;
        }
        match kept.last_mut() {
            Some(SampledNode {
                inside: Inside::Profile(before),
                end,
                last,
                n_samples,
                continuity,
                has_recorded,
                id,
                ..
            }) if *id == StaticId::Folded => {
                *continuity = (*continuity).max(child.continuity);
                *n_samples += child.n_samples;
                *has_recorded |= child.has_recorded;
                (*end, *last) = (child.end, child.last);
                child.fold_into(before);
            }
            _ => kept.push(child.into_folded()),
        }
    }
    let folded = kept.iter().filter(|child| child.id == StaticId::Folded);
    n_nodes += folded.map(SampledNode::n_nodes).sum::<usize>();
    *children = kept;
    n_nodes
}
