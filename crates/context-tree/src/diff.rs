//! How much two trees differ: the time to be added or removed to make them equal.
//!
//! Law: `diff(a, b) == diff(b, a)`, bit for bit; `diff(a, a) == 0`. It is no metric if the
//! tolerance is above zero: the triangle inequality fails, so no search may prune by it.
//! Which children correspond is decided in [`align`](crate::align).
//!
//! Iterations of a loop that either side rejected, as too short to be told apart, are compared as a profile.
//!
//! Source: ICS'18 paper, Algorithm 2 and sections 4.1 and 4.2.1. Two things differ from the
//! printed form. Unlike children are passed over in an order that does not depend on the side.
//! And Fig. 7's 2V is the value without the deduction of 2V that Algorithm 2 makes for samples.

use crate::align::{Alignment, Order, Step, by_id};
use crate::node::{Body, LoopBody, Node};
use crate::run_length::{REJECTED, Runs};
use smallvec::SmallVec;
use std::borrow::Cow;

/// Most iterations that the samples of a location may miss at the start of a loop. Each is shorter than a sampling
/// period; more of them would take so many periods.
const MISSING_MAX: u32 = 2;

/// What a missing subtree costs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Dummies {
    /// As printed: the tolerance is deducted from every gap of it, so that many short calls cost nothing.
    #[default]
    EachGap,
    /// The tolerance is deducted once, from the duration of the whole.
    Whole,
}

/// How trees are compared.
#[derive(Clone, Copy)]
pub struct Differ<'a> {
    /// Program order.
    pub order: &'a dyn Order,
    /// What is deducted from each difference, in ticks: twice the sampling period, 0 for exact events.
    pub tolerance: f64,
    /// What a missing subtree costs.
    pub dummies: Dummies,
}

impl std::fmt::Debug for Differ<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Differ { tolerance, dummies, .. } = self;
        f.debug_struct("Differ")
            .field("tolerance", tolerance)
            .field("dummies", dummies)
            .finish_non_exhaustive()
    }
}

impl<'a> Differ<'a> {
    /// For exact events.
    pub fn exact(order: &'a dyn Order) -> Self {
        Differ { order, tolerance: 0.0, dummies: Dummies::EachGap }
    }

    /// For samples taken every `period` ticks.
    pub fn sampled(order: &'a dyn Order, period: f64) -> Self {
        Differ { order, tolerance: 2.0 * period, dummies: Dummies::EachGap }
    }

    /// `max(0, |a - b| - tolerance)`, in ticks.
    pub fn gap(&self, a: f64, b: f64) -> f64 {
        ((a - b).abs() - self.tolerance).max(0.0)
    }

    /// The time by which two instances of one construct differ, in ticks.
    ///
    /// Calls are aligned child by child, profiles by id, loops iteration by iteration (in groups,
    /// see `groups`). If only one of them has order, it is ignored.
    pub(crate) fn diff(&self, a: &Node, b: &Node) -> f64 {
        match (&a.body, &b.body) {
            (Body::Call { gaps: ga, children: ca }, Body::Call { gaps: gb, children: cb }) => {
                if let ([], []) = (ca.as_slice(), cb.as_slice()) {
                    return self.gap(ga[0], gb[0]);
                }
                if are_alike(ca, cb) {
                    return self.diff_alike((ga, ca), (gb, cb));
                }
                let steps = Alignment::new(self.order, a.id, ca, cb);
                self.diff_calls((ga, ca), (gb, cb), steps)
            }
            (Body::Loop(a), Body::Loop(b)) => self.diff_loops(a, b),
            (
                Body::Profile { self_time: sa, children: ca, .. },
                Body::Profile { self_time: sb, children: cb, .. },
            ) => self.gap(*sa, *sb) + self.diff_profiles(ca, cb),
            _ => self.diff(&a.to_profile(), &b.to_profile()),
        }
    }

    /// [`diff`](Self::diff) divided by the sum of the durations; 0 if both are 0.
    pub fn ratio(&self, a: &Node, b: &Node) -> f64 {
        ratio(self.diff(a, b), a.duration() + b.duration())
    }

    /// The difference from an instance that takes no time and has nothing inside.
    pub(crate) fn diff_dummy(&self, node: &Node) -> f64 {
        if self.dummies == Dummies::Whole {
            return self.gap(node.duration(), 0.0);
        }
        let all = |nodes: &[Node]| nodes.iter().map(|node| self.diff_dummy(node)).sum::<f64>();
        match &node.body {
            Body::Call { gaps, children } => {
                // The dummy's one gap is compared with all gaps, as they stay pending to the end.
                self.gap(gaps.iter().sum(), 0.0) + all(children)
            }
            Body::Loop(body) => {
                let iterations: f64 =
                    body.clusters.iter().map(|c| c.n as f64 * self.diff_dummy(&c.tree)).sum();
                self.gap(body.gap, 0.0) + iterations + all(&body.profiles)
            }
            Body::Profile { self_time, children, .. } => self.gap(*self_time, 0.0) + all(children),
        }
    }

    fn diff_calls(&self, a: (&[f64], &[Node]), b: (&[f64], &[Node]), steps: Alignment<'_>) -> f64 {
        let (mut sum, mut pending) = (0.0, (a.0[0], b.0[0]));
        for step in steps {
            match step {
                Step::Both(i, j) => {
                    sum += self.gap(pending.0, pending.1);
                    sum += self.diff(&a.1[i], &b.1[j]);
                    pending = (a.0[i + 1], b.0[j + 1]);
                }
                Step::Left(i) => {
                    sum += self.diff_dummy(&a.1[i]);
                    pending.0 += a.0[i + 1];
                }
                Step::Right(j) => {
                    sum += self.diff_dummy(&b.1[j]);
                    pending.1 += b.0[j + 1];
                }
            }
        }
        sum + self.gap(pending.0, pending.1)
    }

    /// [`diff_calls`](Self::diff_calls) of calls that call the same in the same order.
    fn diff_alike(&self, a: (&[f64], &[Node]), b: (&[f64], &[Node])) -> f64 {
        let (mut sum, mut pending) = (0.0, (a.0[0], b.0[0]));
        let calls = a.1.iter().zip(b.1);
        for ((left, right), (&next_a, &next_b)) in calls.zip(a.0[1..].iter().zip(&b.0[1..])) {
            sum += self.gap(pending.0, pending.1);
            sum += self.diff(left, right);
            pending = (next_a, next_b);
        }
        sum + self.gap(pending.0, pending.1)
    }

    fn diff_profiles(&self, a: &[Node], b: &[Node]) -> f64 {
        let one = |step| match step {
            Step::Both(i, j) => self.diff(&a[i], &b[j]),
            Step::Left(i) => self.diff_dummy(&a[i]),
            Step::Right(j) => self.diff_dummy(&b[j]),
        };
        by_id(a, b).map(one).sum()
    }

    fn diff_loops(&self, a: &LoopBody, b: &LoopBody) -> f64 {
        let missing = self.missing(a, b);
        if missing == 0 {
            return self.diff_loops_at(a, b, 0);
        }
        self.diff_loops_at(a, b, missing).min(self.diff_loops_at(a, b, 0))
    }

    /// The number of iterations that one of two sampled loops has more than the other, if they may be those that ran
    /// before its first sample: few.
    fn missing(&self, a: &LoopBody, b: &LoopBody) -> u32 {
        if self.tolerance <= 0.0 {
            return 0;
        }
        let n = u32::try_from(a.map.len().abs_diff(b.map.len())).unwrap_or(u32::MAX);
        if n <= MISSING_MAX { n } else { 0 }
    }

    /// The numbers of the iterations of two loops. Samples may miss short iterations before the first that they show: if
    /// the loops differ less that way, those of the shorter one are counted as rejected, and the others keep step.
    pub(super) fn in_step(&self, a: &LoopBody, b: &LoopBody) -> (Runs, Runs) {
        let missing = self.missing(a, b);
        let is_less = || self.diff_loops_at(a, b, missing) < self.diff_loops_at(a, b, 0);
        let (of_a, of_b) = maps(a, b, if 0 < missing && is_less() { missing } else { 0 });
        (of_a.into_owned(), of_b.into_owned())
    }

    /// The difference if the shorter loop misses so many iterations at its start.
    fn diff_loops_at(&self, a: &LoopBody, b: &LoopBody, missing: u32) -> f64 {
        let (of_a, of_b) = maps(a, b, missing);
        let groups = groups(&of_a, &of_b);
        let outside = match groups.iter().any(|group| group.is_rejected) {
            true => self.diff_with_rejected(a, b, &groups),
            false => self.diff_outside(a, b),
        };
        outside + diff_iterations((a, b), &groups, |a, b| self.diff(a, b), |node| self.diff_dummy(node))
    }

    /// The difference of two loops outside of the iterations that both accepted.
    fn diff_with_rejected(&self, a: &LoopBody, b: &LoopBody, groups: &[IterationGroup]) -> f64 {
        let (mut gaps, mut profiles) = ((a.gap, b.gap), (a.profiles.clone(), b.profiles.clone()));
        for IterationGroup { left, right, n, .. } in groups.iter().copied().filter(|g| g.is_rejected) {
            if let Some(left) = left {
                a.add_iterations(left, n as f64, &mut gaps.0, &mut profiles.0);
            }
            if let Some(right) = right {
                b.add_iterations(right, n as f64, &mut gaps.1, &mut profiles.1);
            }
        }
        self.gap(gaps.0, gaps.1) + self.diff_profiles(&profiles.0, &profiles.1)
    }

    /// The difference of two loops outside of their iterations.
    pub(super) fn diff_outside<T>(&self, a: &LoopBody<T>, b: &LoopBody<T>) -> f64 {
        self.gap(a.gap, b.gap) + self.diff_profiles(&a.profiles, &b.profiles)
    }
}

/// The difference of two loops, iteration by iteration.
pub(super) fn diff_iterations<T>(
    (a, b): (&LoopBody<T>, &LoopBody<T>),
    groups: &[IterationGroup],
    diff: impl Fn(&T, &T) -> f64,
    diff_dummy: impl Fn(&T) -> f64,
) -> f64 {
    let mut sum = 0.0;
    for group in groups.iter().filter(|group| !group.is_rejected) {
        let each = match (group.left, group.right) {
            (Some(l), Some(r)) => diff(&a.clusters[l].tree, &b.clusters[r].tree),
            (Some(l), None) => diff_dummy(&a.clusters[l].tree),
            (None, Some(r)) => diff_dummy(&b.clusters[r].tree),
            (None, None) => 0.0,
        };
        sum += group.n as f64 * each;
    }
    sum
}

/// Whether two calls call the same in the same order.
pub(super) fn are_alike(a: &[Node], b: &[Node]) -> bool {
    a.len() == b.len() && a.iter().map(|node| node.id).eq(b.iter().map(|node| node.id))
}

/// The numbers of the iterations of two loops, the shorter of which misses so many at its start.
fn maps<'r>(a: &'r LoopBody, b: &'r LoopBody, missing: u32) -> (Cow<'r, Runs>, Cow<'r, Runs>) {
    let is_a = a.map.len() < b.map.len();
    let of = |body: &'r LoopBody, is_shorter| match missing {
        1.. if is_shorter => Cow::Owned(body.map.behind_rejected(missing)),
        _ => Cow::Borrowed(&body.map),
    };
    (of(a, is_a), of(b, !is_a))
}

/// `diff / both`; 0 if both take no time.
pub fn ratio(diff: f64, both: f64) -> f64 {
    if both > 0.0 { diff / both } else { 0.0 }
}

/// Iterations of two loops that are in the same cluster on the left and in the same on the right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IterationGroup {
    /// Index of the left cluster; `None` for iterations that the left loop does not have or rejected.
    pub left: Option<usize>,
    /// Index of the right cluster.
    pub right: Option<usize>,
    /// Whether one of the two loops rejected them.
    pub is_rejected: bool,
    /// Number of iterations.
    pub n: u64,
}

/// Groups of iterations; most loops have one or two kinds, and need no allocation.
pub type IterationGroups = SmallVec<[IterationGroup; 4]>;

/// Pairs the iterations of two loops by their index, and groups the pairs by their clusters; in the order of the
/// first pair of each group, which does not depend on the side.
pub fn groups(a: &Runs, b: &Runs) -> IterationGroups {
    let mut groups = IterationGroups::new();
    for (left, right, n) in a.zip(b) {
        let new = IterationGroup::of(left, right);
        match groups.iter_mut().find(|group| group.is_like(new)) {
            Some(group) => group.n += u64::from(n),
            None => groups.push(IterationGroup { n: u64::from(n), ..new }),
        }
    }
    groups
}

impl IterationGroup {
    /// The group of a pair of values, without iterations.
    pub(super) fn of(left: Option<u32>, right: Option<u32>) -> Self {
        let is_rejected = left == Some(REJECTED) || right == Some(REJECTED);
        let cluster = |of: Option<u32>| of.filter(|&of| of != REJECTED).map(|of| of as usize);
        IterationGroup { left: cluster(left), right: cluster(right), is_rejected, n: 0 }
    }

    /// Whether both are of the same clusters.
    pub(super) fn is_like(self, other: IterationGroup) -> bool {
        IterationGroup { n: 0, ..self } == IterationGroup { n: 0, ..other }
    }
}
