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
use crate::pairs::{Extremes, Pairs};
use crate::prune::prune;
use serde::{Deserialize, Serialize};
use smallvec::{SmallVec, smallvec};

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

    /// One instance that takes `duration`.
    pub(crate) fn one(tree: Node, duration: f64, period: f64) -> Self {
        Weighted { tree, n: 1.0, duration, period }
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

/// The indices of what was merged, ascending.
pub type Members = SmallVec<[usize; 4]>;

/// Merges clusters until they are at most `k` and unlike. Gives the indices of what was merged with the cluster; sorted
/// by the smallest index.
pub(crate) fn merge_clusters<C: Clustering>(
    clusters: Vec<C::Cluster>,
    k: usize,
    clustering: &mut C,
) -> Vec<(Members, C::Cluster)> {
    let rule = clustering.rule();
    // As far as they were needed.
    let mut ratios = Pairs::new(clusters.len(), UNKNOWN);
    let mut clusters: Vec<(Members, C::Cluster)> =
        clusters.into_iter().enumerate().map(|(i, cluster)| (smallvec![i], cluster)).collect();
    while 1 < clusters.len() {
        let (i, j) = match first_equal(&mut ratios, &mut clusters, clustering) {
            Some(pair) => pair,
            None => {
                let Extremes { least, greatest, closest } = ratios.extremes();
                let is_close = least < rule.ratio_min || least / greatest < rule.ratio_relative;
                if !is_close && clusters.len() <= k {
                    break;
                }
                closest
            }
        };
        ratios.remove(j);
        let (of_absorbed, absorbed) = clusters.remove(j);
        let (members, cluster) = &mut clusters[i];
        members.extend(of_absorbed);
        members.sort_unstable();
        clustering.unite(cluster, absorbed);
        ratios.fill_of(i, UNKNOWN);
    }
    clusters
}

/// A ratio that was not computed yet.
const UNKNOWN: f64 = f64::NAN;

/// Fills in the ratios that are missing, pair by pair, until one is 0: that pair is the closest, whatever the others are.
fn first_equal<C: Clustering>(
    ratios: &mut Pairs<f64>,
    clusters: &mut [(Members, C::Cluster)],
    clustering: &mut C,
) -> Option<(usize, usize)> {
    let has_equal = 0.0 < clustering.rule().ratio_min;
    for i in 0..clusters.len() {
        for j in i + 1..clusters.len() {
            let ratio = ratios.get_mut(i, j);
            if ratio.is_nan() {
                let (before, from_high) = clusters.split_at_mut(j);
                *ratio = clustering.ratio(&mut before[i].1, &mut from_high[0].1);
            }
            if *ratio <= 0.0 && has_equal {
                return Some((i, j));
            }
        }
    }
    None
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
) -> Vec<(Members, Weighted)> {
    merge_clusters(clusters, k, &mut Trees(merger))
}

/// Clusters of `instances`, each with the indices of its members; sorted by the smallest member.
pub fn cluster(instances: Vec<Node>, merger: &Merger<'_>) -> Vec<(Members, Weighted)> {
    let timed = |tree: Node| {
        let duration = tree.duration();
        (tree, duration)
    };
    cluster_timed(instances.into_iter().map(timed), merger)
}

/// [`cluster()`] of instances with their durations.
pub(crate) fn cluster_timed(
    instances: impl IntoIterator<Item = (Node, f64)>,
    merger: &Merger<'_>,
) -> Vec<(Members, Weighted)> {
    let period = merger.differ.tolerance / 2.0;
    let singletons = instances.into_iter().map(|(tree, duration)| Weighted::one(tree, duration, period));
    cluster_all(singletons.collect(), &mut Trees(merger))
}

/// Clusters of single instances, each with the indices of its members; sorted by the smallest member.
pub(crate) fn cluster_all<C: Clustering>(
    instances: Vec<C::Cluster>,
    clustering: &mut C,
) -> Vec<(Members, C::Cluster)> {
    let k = clustering.rule().k(instances.len());
    if instances.len() <= k {
        return merge_clusters(instances, k, clustering);
    }
    let singletons = instances.into_iter().enumerate().map(|(i, instance)| (smallvec![i], instance));
    let halved = halve(singletons.collect(), k, clustering);
    unite(halved, Vec::new(), k, clustering)
}

fn halve<C: Clustering>(
    mut set: Vec<(Members, C::Cluster)>,
    k: usize,
    clustering: &mut C,
) -> Vec<(Members, C::Cluster)> {
    if set.len() <= k {
        return set;
    }
    // Instances are numbered from the start of the whole, so the middle is that of absolute indices.
    let (first, end) = (set[0].0[0], set[0].0[0] + set.len());
    let second = set.split_off(middle(first, end) - first);
    let (first, second) = (halve(set, k, clustering), halve(second, k, clustering));
    unite(first, second, k, clustering)
}

/// The index at which instances from `start` to `end` are halved: `(start + end) / 2`.
pub fn middle(start: usize, end: usize) -> usize {
    (start + end) / 2
}

/// Unites two sets of clusters; members of `a` come before those of `b`.
fn unite<C: Clustering>(
    a: Vec<(Members, C::Cluster)>,
    b: Vec<(Members, C::Cluster)>,
    k: usize,
    clustering: &mut C,
) -> Vec<(Members, C::Cluster)> {
    let (members, clusters): (Vec<_>, Vec<_>) = a.into_iter().chain(b).unzip();
    let with_members = |(merged, cluster): (Members, C::Cluster)| {
        let mut of_cluster: Members = merged.iter().flat_map(|&i| members[i].iter().copied()).collect();
        of_cluster.sort_unstable();
        (of_cluster, cluster)
    };
    merge_clusters(clusters, k, clustering).into_iter().map(with_members).collect()
}
