//! The iterations of one loop, clustered as they come.
//!
//! A new iteration joins the cluster that it differs least from, if that is little; else it
//! is a cluster of its own, and when there are too many, the closest two are united. At the
//! end the rules of Algorithm 3 reduce them to K. Iterations of the same tokens are compared
//! as columns of numbers ([`strip`](super::strip)), unlike ones as trees.
//! Law: the result depends on the sequence of iterations alone, and sums of time are kept.
//! Not here: finding the iterations ([`recognise`](super::recognise)).
//!
//! Deviation from Algorithm 3, which halves a sequence known as a whole: here it is not.

use super::assemble::Assembler;
use super::cluster::{ClusterRule, Clustering, extremes, merge_clusters};
use super::diff::ratio;
use super::merge::{Merger, Over};
use super::node::{IterationCluster, LoopBody, LoopSource, Node, StaticId};
use super::rows::Rows;
use super::run_length::Runs;
use super::strip::{Token, add, distance};

/// Clusters while the loop is open: not less than K of the longest loop, `log2` of [`ITERATIONS_MAX`], would be
/// needed to lose nothing; 12 costs an eighth less time, and what is united then are the closest.
const CLUSTERS_OPEN: usize = 12;
/// Iterations of a loop that are told apart. A longer loop becomes a profile: the list of its clusters alone would
/// outgrow its tree a hundred times.
pub const ITERATIONS_MAX: u32 = 65_536;

/// Iterations of a loop that is not complete.
#[derive(Debug, Default)]
pub struct Iterations {
    /// The token of the loop.
    pub token: Token,
    clusters: Vec<Cluster>,
    /// Row `j` has the ratios of cluster `j` with those before it.
    ratios: Vec<Vec<f64>>,
    /// The least ratio of any pair, that pair, and the greatest ratio.
    closest: f64,
    closest_pair: (usize, usize),
    farthest: f64,
    /// The cluster of the iteration before.
    latest: usize,
    /// For each label the one it was united with, or itself.
    labels: Vec<u32>,
    /// The label of each iteration; empty once there are more than [`ITERATIONS_MAX`].
    map: Runs,
    n: u64,
    /// When each iteration ended.
    pub rows: Rows,
}

/// Iterations that are alike.
#[derive(Debug)]
pub struct Cluster {
    label: u32,
    n: f64,
    /// Mean, in ticks.
    duration: f64,
    /// The columns, if all its iterations have the same tokens.
    flat: Option<Flat>,
    /// The average as a tree; of a flat cluster kept only until it changes.
    tree: Option<Node>,
    /// Number of iterations when its ratios were computed.
    n_compared: f64,
}

#[derive(Debug)]
struct Flat {
    tokens: Vec<Token>,
    sums: Vec<f64>,
    aux: Vec<Node>,
}

/// One iteration, borrowed from what is being observed.
#[derive(Debug)]
pub struct Incoming<'a> {
    /// Its tokens.
    pub tokens: &'a [Token],
    /// The time before each.
    pub times: &'a [f64],
    /// Its loops and profiles.
    pub aux: Vec<Node>,
    /// From its start to its end, in ticks.
    pub duration: f64,
    /// As a tree, once it was needed.
    pub tree: Option<Node>,
}

/// What clusters are compared and averaged with.
#[derive(Debug, Clone, Copy)]
pub struct Tools<'a> {
    /// Makes trees of strips.
    pub assembler: &'a Assembler,
    /// Compares and averages trees.
    pub merger: Merger<'a>,
}

impl Iterations {
    /// A loop without an iteration so far.
    pub fn new(token: Token) -> Self {
        Iterations { token, ..Iterations::default() }
    }

    /// Adds the next iteration, which ended at `end`.
    pub fn push(&mut self, mut new: Incoming<'_>, end: u64, tools: Tools<'_>) {
        self.rows.push(end, new.duration as u64);
        self.n += 1;
        let rule = tools.merger.rule;
        let (mut nearest, mut at) = (f64::INFINITY, 0);
        let latest_first =
            std::iter::once(self.latest).chain((0..self.clusters.len()).filter(|&i| i != self.latest));
        for i in latest_first.take(self.clusters.len()) {
            let ratio = self.clusters[i].ratio_with(&mut new, nearest, tools);
            if ratio < nearest {
                (nearest, at) = (ratio, i);
            }
            if nearest < rule.ratio_min {
                break;
            }
        }
        let is_close = nearest < rule.ratio_min || nearest / self.farthest < rule.ratio_relative;
        let is_full = self.clusters.len() == CLUSTERS_OPEN;
        if is_close || (is_full && nearest <= self.closest) {
            self.join(at, new, tools);
        } else {
            if is_full {
                let (i, j) = self.closest_pair;
                self.unite(i, j, tools);
            }
            self.found(new, tools);
        }
        let label = self.clusters[self.latest].label;
        if self.n <= u64::from(ITERATIONS_MAX) {
            self.map.push(label, 1);
        } else {
            self.map = Runs::default();
        }
    }

    fn join(&mut self, at: usize, new: Incoming<'_>, tools: Tools<'_>) {
        self.latest = at;
        let cluster = &mut self.clusters[at];
        cluster.join(new, tools);
        // The average of many moves little: its ratios are computed again when it has doubled.
        if 2.0 * cluster.n_compared <= cluster.n && 1 < self.clusters.len() {
            self.compare(at, tools);
        }
    }

    fn found(&mut self, new: Incoming<'_>, tools: Tools<'_>) {
        let label = self.labels.len() as u32;
        if label < ITERATIONS_MAX {
            self.labels.push(label);
        }
        let at = self.clusters.len();
        self.clusters.push(Cluster::new(new, label));
        self.ratios.push(vec![0.0; at]);
        self.latest = at;
        self.compare(at, tools);
    }

    fn unite(&mut self, i: usize, j: usize, tools: Tools<'_>) {
        let absorbed = self.clusters.remove(j);
        self.ratios.remove(j);
        for row in &mut self.ratios[j..] {
            row.remove(j);
        }
        // Beyond the limit nobody asks for labels.
        if let Some(label) = self.labels.get_mut(absorbed.label as usize) {
            *label = self.clusters[i].label;
        }
        self.clusters[i].unite(absorbed, tools);
        self.compare(i, tools);
    }

    /// Computes the ratios of one cluster with all others.
    fn compare(&mut self, at: usize, tools: Tools<'_>) {
        for other in (0..self.clusters.len()).filter(|&other| other != at) {
            let (low, high) = (at.min(other), at.max(other));
            let (before, from_high) = self.clusters.split_at_mut(high);
            self.ratios[high][low] = before[low].ratio(&mut from_high[0], tools);
        }
        self.clusters[at].n_compared = self.clusters[at].n;
        (self.closest, self.farthest, self.closest_pair) = extremes(&self.ratios);
    }

    /// The loop with at most K clusters, and the rows of its iterations. More than [`ITERATIONS_MAX`] iterations are
    /// one profile.
    pub fn close(mut self, source: LoopSource, tools: Tools<'_>) -> (LoopBody, Rows) {
        let k = tools.merger.rule.k(self.n as usize);
        let labels: Vec<u32> = self.clusters.iter().map(|cluster| cluster.label).collect();
        let merged = merge_clusters(std::mem::take(&mut self.clusters), k, &mut Columns(tools));
        let mut cluster_of_label = vec![0; self.labels.len()];
        let mut clusters = Vec::new();
        for (i, (members, mut cluster)) in merged.into_iter().enumerate() {
            for member in members {
                if let Some(cluster) = cluster_of_label.get_mut(labels[member] as usize) {
                    *cluster = i as u32;
                }
            }
            clusters.push(IterationCluster { n: cluster.n as u64, tree: cluster.take_tree(tools) });
        }
        let root = |mut label: u32| {
            while self.labels[label as usize] != label {
                label = self.labels[label as usize];
            }
            label
        };
        let map = self.map.renamed(|label| cluster_of_label[root(label) as usize]);
        let mut body = LoopBody { source, gap: 0.0, clusters, map, profiles: Vec::new(), rejected: 0 };
        if u64::from(ITERATIONS_MAX) < self.n {
            body.reject_all();
        }
        self.rows.set_clusters(&body.map);
        (body, self.rows)
    }
}

impl Cluster {
    fn new(new: Incoming<'_>, label: u32) -> Self {
        let Incoming { tokens, times, aux, duration, tree } = new;
        let flat = Flat { tokens: tokens.to_vec(), sums: times.to_vec(), aux };
        Cluster { label, n: 1.0, duration, flat: Some(flat), tree, n_compared: 1.0 }
    }

    /// The ratio of the difference, or something at least `limit` if it is.
    fn ratio_with(&mut self, new: &mut Incoming<'_>, limit: f64, tools: Tools<'_>) -> f64 {
        let both = self.duration + new.duration;
        let least = ratio((self.duration - new.duration).abs(), both);
        if limit <= least {
            return least;
        }
        if let Some(flat) = &self.flat
            && flat.tokens == new.tokens
        {
            let mut diff = distance(&flat.sums, self.n, new.times, limit * both * self.n) / self.n;
            if diff < limit * both {
                diff +=
                    flat.aux.iter().zip(&new.aux).map(|(a, b)| tools.merger.differ.diff(a, b)).sum::<f64>();
            }
            return ratio(diff, both);
        }
        ratio(tools.merger.differ.diff(self.tree(tools), new.tree(tools)), both)
    }

    fn ratio(&mut self, other: &mut Cluster, tools: Tools<'_>) -> f64 {
        let both = self.duration + other.duration;
        if let (Some(a), Some(b)) = (&self.flat, &other.flat)
            && a.tokens == b.tokens
        {
            let of_times: f64 =
                a.sums.iter().zip(&b.sums).map(|(x, y)| (x / self.n - y / other.n).abs()).sum();
            let of_aux: f64 = a.aux.iter().zip(&b.aux).map(|(a, b)| tools.merger.differ.diff(a, b)).sum();
            return ratio(of_times + of_aux, both);
        }
        ratio(tools.merger.differ.diff(self.tree(tools), other.tree(tools)), both)
    }

    fn join(&mut self, mut new: Incoming<'_>, tools: Tools<'_>) {
        match &mut self.flat {
            Some(flat) if flat.tokens == new.tokens => {
                add(&mut flat.sums, new.times);
                for (mean, one) in flat.aux.iter_mut().zip(new.aux) {
                    tools.merger.merge(mean, self.n, one, 1.0);
                }
                self.tree = None;
            }
            _ => {
                let mut tree = self.take_tree(tools);
                tools.merger.merge(&mut tree, self.n, new.take_tree(tools), 1.0);
                self.tree = Some(tree);
            }
        }
        self.duration = (self.duration * self.n + new.duration) / (self.n + 1.0);
        self.n += 1.0;
    }

    fn unite(&mut self, mut other: Cluster, tools: Tools<'_>) {
        match (&mut self.flat, &mut other.flat) {
            (Some(a), Some(b)) if a.tokens == b.tokens => {
                add(&mut a.sums, &b.sums);
                for (mean, one) in a.aux.iter_mut().zip(b.aux.drain(..)) {
                    tools.merger.merge(mean, self.n, one, other.n);
                }
                self.tree = None;
            }
            _ => {
                let mut tree = self.take_tree(tools);
                tools.merger.merge(&mut tree, self.n, other.take_tree(tools), other.n);
                self.tree = Some(tree);
            }
        }
        self.duration = (self.duration * self.n + other.duration * other.n) / (self.n + other.n);
        self.n += other.n;
    }

    fn tree(&mut self, tools: Tools<'_>) -> &Node {
        let Cluster { flat, tree, n, .. } = self;
        tree.get_or_insert_with(|| {
            let flat = flat.as_ref().expect("a cluster is flat or a tree");
            tools.assembler.iteration(&flat.tokens, &flat.sums, *n, flat.aux.clone())
        })
    }

    /// Takes the tree; the cluster is no longer flat.
    fn take_tree(&mut self, tools: Tools<'_>) -> Node {
        self.tree(tools);
        self.flat = None;
        self.tree.take().expect("it was made just now")
    }
}

impl Incoming<'_> {
    fn tree(&mut self, tools: Tools<'_>) -> &Node {
        let Incoming { tokens, times, aux, tree, .. } = self;
        tree.get_or_insert_with(|| tools.assembler.iteration(tokens, times, 1.0, aux.clone()))
    }

    fn take_tree(&mut self, tools: Tools<'_>) -> Node {
        self.tree(tools);
        self.tree.take().expect("it was made just now")
    }
}

/// Algorithm 3 over clusters in columns.
struct Columns<'a>(Tools<'a>);

impl Clustering for Columns<'_> {
    type Cluster = Cluster;

    fn rule(&self) -> ClusterRule {
        self.0.merger.rule
    }

    fn ratio(&mut self, a: &mut Cluster, b: &mut Cluster) -> f64 {
        a.ratio(b, self.0)
    }

    fn unite(&mut self, a: &mut Cluster, b: Cluster) {
        a.unite(b, self.0);
    }
}

impl LoopBody {
    /// A loop of one location over these iterations.
    pub fn of_iterations(iterations: Vec<Node>, source: LoopSource, merger: &Merger<'_>) -> Self {
        let merger = Merger { over: Over::Iterations, ..*merger };
        let n = iterations.len();
        let mut cluster_of = vec![0; n];
        let mut clusters = Vec::new();
        for (i, (members, cluster)) in super::cluster::cluster(iterations, &merger).into_iter().enumerate() {
            for &member in &members {
                cluster_of[member] = i as u32;
            }
            clusters.push(IterationCluster { n: members.len() as u64, tree: cluster.tree });
        }
        let map = Runs::from_values(cluster_of);
        LoopBody { source, gap: 0.0, clusters, map, profiles: Vec::new(), rejected: 0 }
    }

    /// Makes every iteration a rejected one: only sums of durations are left.
    pub fn reject_all(&mut self) {
        let clusters = std::mem::take(&mut self.clusters);
        let n: u64 = clusters.iter().map(|cluster| cluster.n).sum();
        self.map = Runs::default();
        self.rejected += n;
        let whole = LoopBody {
            source: self.source,
            gap: self.gap,
            clusters,
            map: Runs::default(),
            profiles: std::mem::take(&mut self.profiles),
            rejected: 0,
        };
        let profile = Node::of_loop(StaticId::Iteration, whole).into_profile();
        if let super::node::Body::Profile { self_time, children, .. } = profile.body {
            self.gap = self_time;
            self.profiles = children;
        }
    }
}
