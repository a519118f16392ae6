//! The average of two trees, weighted.
//!
//! Law: the duration of the result is the weighted mean of the durations, and so is that of
//! every pair of corresponding nodes. A node missing on one side counts as a dummy of no time.
//! Which trees are alike enough to be averaged is decided in [`cluster`](mod@crate::cluster).
//!
//! Source: ICS'18 paper, section 4.2 (`merge` follows the walk of `diff`). The paper says that
//! least, greatest and average are "easily calculated"; joining them naively would mix the
//! variation over iterations into that over locations, hence the two [`Over`].

use crate::align::{Alignment, Step, by_id};
use crate::cluster::{Members, Weighted, merge_cluster_set};
use crate::diff::{IterationGroup, are_alike, groups};
use crate::merger::{Merger, Over};
use crate::node::{Body, Gaps, IterationCluster, LoopBody, Node, Stats};
use crate::run_length::{REJECTED, Runs};
use std::borrow::Cow;

/// The weights of the two sides.
#[derive(Debug, Clone, Copy)]
pub(super) struct SideWeights {
    pub left: f64,
    pub right: f64,
}

impl SideWeights {
    pub fn mean(self, left: f64, right: f64) -> f64 {
        let total = self.left + self.right;
        if total > 0.0 { (self.left * left + self.right * right) / total } else { 0.0 }
    }

    /// The weight of the left part in the mean.
    pub(crate) fn left_part(self, left: f64) -> f64 {
        self.mean(left, 0.0)
    }

    fn swapped(self) -> Self {
        SideWeights { left: self.right, right: self.left }
    }
}

impl Merger<'_> {
    /// Makes `a` the mean of `a` and `b`, two instances of one construct; weights are numbers of instances.
    pub fn merge(&self, a: &mut Node, n_a: f64, b: &Node, n_b: f64) {
        self.merge_nodes(a, b, SideWeights { left: n_a, right: n_b });
    }

    fn merge_nodes(&self, a: &mut Node, b: &Node, w: SideWeights) {
        a.stats = match self.over {
            Over::Locations => Stats {
                n: a.stats.n + b.stats.n,
                sum: a.stats.sum + b.stats.sum,
                min: a.stats.min.min(b.stats.min),
                max: a.stats.max.max(b.stats.max),
            },
            Over::Iterations => Stats {
                n: a.stats.n.max(b.stats.n),
                sum: w.mean(a.stats.sum, b.stats.sum),
                min: w.mean(a.stats.min, b.stats.min),
                max: w.mean(a.stats.max, b.stats.max),
            },
        };
        match (&mut a.body, &b.body) {
            (Body::Call { gaps, children }, Body::Call { gaps: gb, children: cb }) => {
                if are_alike(children, cb) {
                    for (gap, other) in gaps.iter_mut().zip(gb) {
                        *gap = w.mean(*gap, *other);
                    }
                    for (child, other) in children.iter_mut().zip(cb) {
                        self.merge_nodes(child, other, w);
                    }
                } else {
                    let steps: Vec<Step> = Alignment::new(self.differ.order, a.id, children, cb).collect();
                    let left = (std::mem::take(gaps), std::mem::take(children));
                    (*gaps, *children) = self.merge_unlike(left, (gb, cb), &steps, w);
                }
            }
            (Body::Loop(a), Body::Loop(b)) => self.merge_loops(a, b, w),
            (
                Body::Profile { self_time, visits, children },
                Body::Profile { self_time: s, visits: v, children: cb },
            ) => {
                *self_time = w.mean(*self_time, *s);
                *visits = w.mean(*visits, *v);
                self.merge_profiles(children, cb, w);
            }
            (_, body) => {
                let id = a.id;
                let profile = |body| Node { id, stats: Stats::default(), body }.into_profile();
                let empty = Body::Call { gaps: Gaps::new(), children: Vec::new() };
                let mut left = profile(std::mem::replace(&mut a.body, empty));
                self.merge_nodes(&mut left, &profile(body.clone()), w);
                a.body = left.body;
            }
        }
    }

    fn merge_unlike(
        &self,
        a: (Gaps, Vec<Node>),
        b: (&[f64], &[Node]),
        steps: &[Step],
        w: SideWeights,
    ) -> (Gaps, Vec<Node>) {
        let (mut gaps, mut children) =
            (Gaps::with_capacity(steps.len() + 1), Vec::with_capacity(steps.len()));
        let mut left = a.1.into_iter();
        let why = "steps name every child once, in order";
        // The time passed on each side since the last child that was written.
        let mut pending = (a.0[0], b.0[0]);
        for &step in steps {
            match step {
                Step::Both(i, j) => {
                    gaps.push(w.mean(pending.0, pending.1));
                    let mut child = left.next().expect(why);
                    self.merge_nodes(&mut child, &b.1[j], w);
                    children.push(child);
                    pending = (a.0[i + 1], b.0[j + 1]);
                }
                Step::Left(i) => {
                    gaps.push(w.left_part(pending.0));
                    let mut child = left.next().expect(why);
                    self.merge_dummy(&mut child, w);
                    children.push(child);
                    pending.0 = a.0[i + 1];
                }
                Step::Right(j) => {
                    gaps.push(w.swapped().left_part(pending.1));
                    let mut child = b.1[j].clone();
                    self.merge_dummy(&mut child, w.swapped());
                    children.push(child);
                    pending.1 = b.0[j + 1];
                }
            }
        }
        gaps.push(w.mean(pending.0, pending.1));
        (gaps, children)
    }

    fn merge_profiles(&self, a: &mut Vec<Node>, b: &[Node], w: SideWeights) {
        if are_alike(a, b) {
            a.iter_mut().zip(b).for_each(|(a, b)| self.merge_nodes(a, b, w));
            return;
        }
        let steps: Vec<Step> = by_id(a, b).collect();
        let mut left = std::mem::take(a).into_iter();
        let why = "steps name every child once, in order";
        for step in steps {
            a.push(match step {
                Step::Both(_, j) => {
                    let mut child = left.next().expect(why);
                    self.merge_nodes(&mut child, &b[j], w);
                    child
                }
                Step::Left(_) => {
                    let mut child = left.next().expect(why);
                    self.merge_dummy(&mut child, w);
                    child
                }
                Step::Right(j) => {
                    let mut child = b[j].clone();
                    self.merge_dummy(&mut child, w.swapped());
                    child
                }
            });
        }
    }

    /// Makes `node`, the left side, the mean of itself and a dummy.
    fn merge_dummy(&self, node: &mut Node, w: SideWeights) {
        node.stats = match self.over {
            Over::Locations => Stats {
                n: node.stats.n + w.right as u32,
                sum: node.stats.sum,
                min: node.stats.min.min(0.0),
                max: node.stats.max.max(0.0),
            },
            Over::Iterations => {
                let Stats { n, sum, min, max } = node.stats;
                Stats { n, sum: w.left_part(sum), min: w.left_part(min), max: w.left_part(max) }
            }
        };
        match &mut node.body {
            Body::Call { gaps, children } => {
                for gap in gaps {
                    *gap = w.left_part(*gap);
                }
                for child in children {
                    self.merge_dummy(child, w);
                }
            }
            Body::Loop(body) => {
                body.is_estimate = true;
                body.gap = w.left_part(body.gap);
                for cluster in &mut body.clusters {
                    self.merge_dummy(&mut cluster.tree, w);
                }
                for profile in &mut body.profiles {
                    self.merge_dummy(profile, w);
                }
            }
            Body::Profile { self_time, visits, children } => {
                *self_time = w.left_part(*self_time);
                *visits = w.left_part(*visits);
                for child in children {
                    self.merge_dummy(child, w);
                }
            }
        }
    }

    fn merge_loops(&self, a: &mut LoopBody, b: &LoopBody, w: SideWeights) {
        let (of_a, of_b) = self.differ.in_step(a, b);
        let mut b = Cow::Borrowed(b);
        a.map = of_a;
        if b.map != of_b {
            b.to_mut().map = of_b;
        }
        reject_together(a, &mut b);
        self.merge_outside(a, &b, w);
        merge_iterations(a, &b, w, self);
    }

    /// Averages the time and calls outside of the iterations of two loops.
    pub(super) fn merge_outside<T>(&self, a: &mut LoopBody<T>, b: &LoopBody<T>, w: SideWeights) {
        a.source = a.source.max(b.source);
        a.cfg_source = a.cfg_source.max(b.cfg_source);
        a.gap = w.mean(a.gap, b.gap);
        a.rejected = a.rejected.max(b.rejected);
        a.is_estimate |= b.is_estimate || a.map.len() != b.map.len();
        self.merge_profiles(&mut a.profiles, &b.profiles, w);
    }

    /// Averages what is outside of the iterations of a loop and what a dummy has.
    pub(super) fn dwindle_outside<T>(&self, a: &mut LoopBody<T>, w: SideWeights) {
        a.is_estimate = true;
        a.gap = w.left_part(a.gap);
        for profile in &mut a.profiles {
            self.merge_dummy(profile, w);
        }
    }
}

/// How averages of iterations are averaged and clustered, whatever their form.
pub(super) trait Averages {
    /// The average of an iteration.
    type Tree: Clone;
    /// Makes `a` the mean of both.
    fn mean(&self, a: &mut Self::Tree, b: &Self::Tree, w: SideWeights);
    /// Makes `a`, the left side, the mean of itself and a dummy.
    fn dwindle(&self, a: &mut Self::Tree, w: SideWeights);
    /// Clusters of averages, each with its number of iterations, `n` in all.
    fn clusters(&self, trees: Vec<(Self::Tree, f64)>, n: u64) -> Vec<(Members, Self::Tree)>;
}

impl Averages for Merger<'_> {
    type Tree = Node;

    fn mean(&self, a: &mut Node, b: &Node, w: SideWeights) {
        self.merge_nodes(a, b, w);
    }

    fn dwindle(&self, a: &mut Node, w: SideWeights) {
        self.merge_dummy(a, w);
    }

    fn clusters(&self, trees: Vec<(Node, f64)>, n: u64) -> Vec<(Members, Node)> {
        let merger = Merger { over: Over::Iterations, ..*self };
        let period = self.differ.tolerance / 2.0;
        let trees = trees.into_iter().map(|(tree, n)| Weighted::new(tree, n, period)).collect();
        let clusters = merge_cluster_set(trees, self.rule.k(n as usize), &merger);
        clusters.into_iter().map(|(members, cluster)| (members, cluster.tree)).collect()
    }
}

/// Moves the iterations that the other loop rejected into the profiles of a loop, on both sides: an average has an
/// iteration only if all its members have it.
fn reject_together(a: &mut LoopBody, b: &mut Cow<'_, LoopBody>) {
    let is_one_sided = |group: &IterationGroup| group.is_rejected && group.left.or(group.right).is_some();
    let groups: Vec<IterationGroup> = groups(&a.map, &b.map).into_iter().filter(is_one_sided).collect();
    if groups.is_empty() {
        return;
    }
    let (mut of_a, mut of_b) = (Runs::default(), Runs::default());
    for (left, right, n) in a.map.zip(&b.map) {
        let is_rejected = IterationGroup::of(left, right).is_rejected;
        for (map, of) in [(&mut of_a, left), (&mut of_b, right)] {
            if let Some(of) = of {
                map.push(if is_rejected { REJECTED } else { of }, n);
            }
        }
    }
    let b = b.to_mut();
    for group in groups {
        if let Some(left) = group.left {
            a.reject(left, group.n);
        }
        if let Some(right) = group.right {
            b.reject(right, group.n);
        }
    }
    (a.map, b.map) = (of_a, of_b);
    a.forget_empty();
    b.forget_empty();
}

impl LoopBody {
    /// Moves `n` iterations of a cluster into the profiles.
    fn reject(&mut self, cluster: usize, n: u64) {
        let (mut gap, mut profiles) = (self.gap, std::mem::take(&mut self.profiles));
        self.add_iterations(cluster, n as f64, &mut gap, &mut profiles);
        (self.gap, self.profiles) = (gap, profiles);
        self.rejected += n;
        if let Some(cluster) = self.clusters.get_mut(cluster) {
            cluster.n -= n.min(cluster.n);
        }
    }

    /// Removes clusters without iterations.
    fn forget_empty(&mut self) {
        let mut kept = 0;
        let new: Vec<u32> = (self.clusters.iter())
            .map(|cluster| {
                kept += u32::from(0 < cluster.n);
                kept.saturating_sub(1)
            })
            .collect();
        self.clusters.retain(|cluster| 0 < cluster.n);
        self.map = self.map.renamed(|of| new.get(of as usize).copied().unwrap_or(0));
    }
}

/// Averages two loops iteration by iteration, in groups, and clusters the groups again.
pub(super) fn merge_iterations<A: Averages>(
    a: &mut LoopBody<A::Tree>,
    b: &LoopBody<A::Tree>,
    w: SideWeights,
    averages: &A,
) {
    let mut groups = groups(&a.map, &b.map);
    // What either side rejected is in the profiles of both.
    groups.retain(|group| !group.is_rejected);
    let n: u64 = groups.iter().map(|group| group.n).sum();
    let mut of_a: Vec<Option<A::Tree>> =
        std::mem::take(&mut a.clusters).into_iter().map(|cluster| Some(cluster.tree)).collect();
    let merged = groups.iter().enumerate().map(|(at, group)| {
        // The last group of a cluster takes its tree.
        let mut take = |i: usize| {
            let is_last = groups[at + 1..].iter().all(|later| later.left != Some(i));
            let tree = if is_last { of_a[i].take() } else { of_a[i].clone() };
            tree.expect("only the last group takes it")
        };
        let tree = match (group.left, group.right) {
            (Some(i), Some(j)) => {
                let mut tree = take(i);
                averages.mean(&mut tree, &b.clusters[j].tree, w);
                tree
            }
            (Some(i), None) => {
                let mut tree = take(i);
                averages.dwindle(&mut tree, w);
                tree
            }
            (None, j) => {
                let mut tree =
                    b.clusters[j.expect("a group has iterations on one side at least")].tree.clone();
                averages.dwindle(&mut tree, w.swapped());
                tree
            }
        };
        (tree, group.n as f64)
    });
    let clusters = averages.clusters(merged.collect(), n);
    let mut cluster_of_group = vec![0; groups.len()];
    for (i, (members, _)) in clusters.iter().enumerate() {
        for &group in members {
            cluster_of_group[group] = i as u32;
        }
    }
    let mut map = Runs::default();
    for (left, right, n) in a.map.zip(&b.map) {
        let of = IterationGroup::of(left, right);
        let at = groups.iter().position(|group| group.is_like(of));
        map.push(at.map_or(REJECTED, |at| cluster_of_group[at]), n);
    }
    a.map = map;
    let of_cluster = |(members, tree): (Members, A::Tree)| IterationCluster {
        n: members.iter().map(|&group| groups[group].n).sum(),
        tree,
    };
    a.clusters = clusters.into_iter().map(of_cluster).collect();
}
