//! Clusters of instances that are alike: iterations of a loop, locations of a run.
//!
//! Instances are halved until at most K are left; two sets of clusters unite by merging the
//! closest pair again and again, as long as it is close or there are more than K.
//! Law: the result depends on the instances and their order alone; it has between 1 and K
//! clusters (none of nothing), sorted by their smallest member; every instance is in one.
//!
//! Source: ICS'18 paper, Algorithm 3. Added to the printed form: it stops at one cluster; the
//! whole is merged once even if there are at most K instances; equal ratios are settled by
//! the smallest members.

use crate::diff::{Differ, ratio};
use crate::merger::{ClusterRule, Merger};
use crate::node::Node;
use crate::prune::prune;
use serde::{Deserialize, Serialize};

/// A tree that represents several instances.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Weighted {
    /// Their average.
    pub tree: Node,
    /// How many.
    pub n: f64,
    /// Duration of the average: `tree.duration()`, cached because it is needed often.
    duration: f64,
    /// Ticks between samples, the longest of the instances; 0 of exact events.
    period: f64,
}

impl Weighted {
    /// `n` instances with this average, whose samples are `period` ticks apart.
    pub fn new(tree: Node, n: f64, period: f64) -> Self {
        let duration = tree.duration();
        Weighted { tree, n, duration, period }
    }
}

/// The operations on clusters that Algorithm 3 needs.
pub trait Clustering {
    /// A cluster.
    type Cluster;
    /// When two are alike.
    fn rule(&self) -> ClusterRule;
    /// How much two differ, in relation to their durations.
    fn ratio(&mut self, a: &mut Self::Cluster, b: &mut Self::Cluster) -> f64;
    /// Makes `a` the cluster of the members of both.
    fn unite(&mut self, a: &mut Self::Cluster, b: Self::Cluster);
}

/// Merges clusters until they are at most `k` and unlike. Gives the indices of what was merged, ascending, with
/// the cluster; sorted by the smallest index.
pub(crate) fn merge_clusters<C: Clustering>(
    clusters: Vec<C::Cluster>,
    k: usize,
    clustering: &mut C,
) -> Vec<(Vec<usize>, C::Cluster)> {
    let rule = clustering.rule();
    let mut members: Vec<Vec<usize>> = (0..clusters.len()).map(|i| vec![i]).collect();
    let mut clusters = clusters;
    // Row j holds the ratios of cluster j with those before it, as far as they were needed.
    let mut ratios: Vec<Vec<f64>> = (0..clusters.len()).map(|j| vec![UNKNOWN; j]).collect();
    while 1 < clusters.len() {
        let (i, j) = match first_equal(&mut ratios, rule, |i, j| ratio_of(clustering, &mut clusters, i, j)) {
            Some(pair) => pair,
            None => {
                let (min, max, closest) = extremes(&ratios);
                let is_close = min < rule.ratio_min || min / max < rule.ratio_relative;
                if !is_close && clusters.len() <= k {
                    break;
                }
                closest
            }
        };
        ratios.remove(j);
        for row in &mut ratios[j..] {
            row.remove(j);
        }
        let absorbed = members.remove(j);
        members[i].extend(absorbed);
        members[i].sort_unstable();
        let absorbed = clusters.remove(j);
        clustering.unite(&mut clusters[i], absorbed);
        ratios[i].fill(UNKNOWN);
        for row in &mut ratios[i + 1..] {
            row[i] = UNKNOWN;
        }
    }
    members.into_iter().zip(clusters).collect()
}

/// A ratio that was not computed yet.
const UNKNOWN: f64 = f64::NAN;

/// Fills in the ratios that are missing, pair by pair, until one is 0: that pair is the closest, whatever the others are.
fn first_equal(
    ratios: &mut [Vec<f64>],
    rule: ClusterRule,
    mut ratio: impl FnMut(usize, usize) -> f64,
) -> Option<(usize, usize)> {
    for i in 0..ratios.len() {
        for (j, row) in ratios.iter_mut().enumerate().skip(i + 1) {
            if row[i].is_nan() {
                row[i] = ratio(i, j);
            }
            if row[i] <= 0.0 && 0.0 < rule.ratio_min {
                return Some((i, j));
            }
        }
    }
    None
}

fn ratio_of<C: Clustering>(clustering: &mut C, clusters: &mut [C::Cluster], low: usize, high: usize) -> f64 {
    let (before, from_high) = clusters.split_at_mut(high);
    clustering.ratio(&mut before[low], &mut from_high[0])
}

/// The least ratio, the greatest, and the first pair that has the least.
pub(super) fn extremes(ratios: &[Vec<f64>]) -> (f64, f64, (usize, usize)) {
    let (mut min, mut max, mut closest) = (f64::INFINITY, 0.0_f64, (0, 1));
    for (j, row) in ratios.iter().enumerate() {
        for (i, &ratio) in row.iter().enumerate() {
            max = max.max(ratio);
            if ratio < min || (ratio <= min && (i, j) < closest) {
                (min, closest) = (ratio, (i, j));
            }
        }
    }
    (min, max, closest)
}

/// Nodes of an average that are kept in order: several times those of a single tree, which has 4096 calls at most.
const NODES_MAX: usize = 16_384;

/// Algorithm 3 over trees.
struct Trees<'m, 'a>(&'m Merger<'a>);

impl<'a> Trees<'_, 'a> {
    /// The merger of two: each side is uncertain by its own period. With one period that is the paper's 2V.
    fn of_pair(&self, a: &Weighted, b: &Weighted) -> Merger<'a> {
        let differ = Differ { tolerance: a.period + b.period, ..self.0.differ };
        Merger { differ, ..*self.0 }
    }
}

impl Clustering for Trees<'_, '_> {
    type Cluster = Weighted;

    fn rule(&self) -> ClusterRule {
        self.0.rule
    }

    fn ratio(&mut self, a: &mut Weighted, b: &mut Weighted) -> f64 {
        ratio(self.of_pair(a, b).differ.diff(&a.tree, &b.tree), a.duration + b.duration)
    }

    fn unite(&mut self, a: &mut Weighted, b: Weighted) {
        self.of_pair(a, &b).merge(&mut a.tree, a.n, &b.tree, b.n);
        a.period = a.period.max(b.period);
        prune(&mut a.tree, NODES_MAX);
        a.n += b.n;
        a.duration = a.tree.duration();
    }
}

/// [`merge_clusters`] over trees.
pub(crate) fn merge_cluster_set(
    clusters: Vec<Weighted>,
    k: usize,
    merger: &Merger<'_>,
) -> Vec<(Vec<usize>, Weighted)> {
    merge_clusters(clusters, k, &mut Trees(merger))
}

/// Clusters of `instances`, each with the indices of its members, ascending; sorted by the smallest member.
pub fn cluster(instances: Vec<Node>, merger: &Merger<'_>) -> Vec<(Vec<usize>, Weighted)> {
    let k = merger.rule.k(instances.len());
    let period = merger.differ.tolerance / 2.0;
    let singletons: Vec<_> = instances
        .into_iter()
        .enumerate()
        .map(|(i, tree)| (vec![i], Weighted::new(tree, 1.0, period)))
        .collect();
    let halved = halve(singletons, k, merger);
    unite(halved, Vec::new(), k, merger)
}

fn halve(mut set: Vec<(Vec<usize>, Weighted)>, k: usize, merger: &Merger<'_>) -> Vec<(Vec<usize>, Weighted)> {
    if set.len() <= k {
        return set;
    }
    // Instances are numbered from the start of the whole, so the middle is that of absolute indices.
    let (first, end) = (set[0].0[0], set[0].0[0] + set.len());
    let second = set.split_off(middle(first, end) - first);
    unite(halve(set, k, merger), halve(second, k, merger), k, merger)
}

/// The index at which instances from `start` to `end` are halved: `(start + end) / 2`.
pub fn middle(start: usize, end: usize) -> usize {
    (start + end) / 2
}

/// Unites two sets of clusters; members of `a` come before those of `b`.
pub fn unite(
    a: Vec<(Vec<usize>, Weighted)>,
    b: Vec<(Vec<usize>, Weighted)>,
    k: usize,
    merger: &Merger<'_>,
) -> Vec<(Vec<usize>, Weighted)> {
    let (members, clusters): (Vec<_>, Vec<_>) = a.into_iter().chain(b).unzip();
    let with_members = |(merged, cluster): (Vec<usize>, Weighted)| {
        let mut of_cluster: Vec<usize> = merged.iter().flat_map(|&i| members[i].iter().copied()).collect();
        of_cluster.sort_unstable();
        (of_cluster, cluster)
    };
    merge_cluster_set(clusters, k, merger).into_iter().map(with_members).collect()
}
