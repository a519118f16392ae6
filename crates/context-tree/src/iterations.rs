//! The iterations of one loop, clustered as they come.
//!
//! A new iteration joins the cluster that it differs least from if the difference is small;
//! otherwise it becomes a new cluster, and when there are too many, the closest two are
//! united. At the end the rules of Algorithm 3 reduce them to K.
//! Law: the result depends on the sequence of iterations alone, and sums of time are kept.
//! Iterations are found in [`recognise`](crate::recognise).
//!
//! Deviation from Algorithm 3, which halves a sequence known as a whole: here the sequence is not.

use crate::alike::{Column, Columns, are_columns};
use crate::assemble::IterationClustering;
use crate::cluster::{Members, Weighted, cluster, cluster_all};
use crate::diff::ratio;
use crate::merge::{Averages, SideWeights};
use crate::merger::{Merger, Over};
use crate::node::{Body, IterationCluster, LoopBody, LoopSource, Node, StaticId};
use crate::pairs::{Extremes, Pairs};
use crate::piece::{Inner, InnerLoop, IterationColumns, Piece, Tools};
use crate::rows::LoopRows;
use crate::run_length::Runs;
use crate::strip::Token;
use smallvec::SmallVec;

/// Clusters above K while the loop is open, so that the first few unlike iterations are not united in haste. Each
/// costs one comparison per iteration.
const CLUSTERS_SPARE: usize = 3;
/// Most clusters while the loop is open, however long it is: on iterations that are all unlike, 19 took twice as long.
const CLUSTERS_MAX: usize = 10;
/// Nodes of trees, per token of the iterations, that may be compared or averaged. Iterations of the same tokens cost
/// none. Every iteration of a program that polls is different; the order of its calls means nothing.
const WORK_PER_TOKEN: u64 = 4;
/// Number of nodes that a loop may use before the limit applies.
const WORK_FREE: u64 = 20_000;
/// Most iterations of a loop that are distinguished. A longer loop becomes a profile: the list of its clusters alone
/// would be a hundred times larger than its tree.
pub(crate) const ITERATIONS_MAX: u32 = 65_536;

/// Iterations of a loop that is not complete.
#[derive(Debug, Default)]
pub struct Iterations {
    /// The token of the loop.
    pub token: Token,
    clusters: Vec<IterationAverage>,
    /// How much clusters differ.
    ratios: Pairs<f64>,
    /// What averages the ratios are of.
    known: Pairs<Known>,
    extremes: Extremes,
    /// The cluster of the iteration before.
    latest: usize,
    /// For each label the one it was united with, or itself.
    labels: Vec<u32>,
    /// The label of each iteration; empty once there are more than [`ITERATIONS_MAX`].
    map: Runs,
    n: u64,
    n_tokens: u64,
    /// Nodes of trees that were compared or averaged.
    work: u64,
    /// Whether that was too much: unlike iterations are profiles from then on.
    is_unordered: bool,
    /// Ratios of the last iteration with each cluster.
    row: Vec<f64>,
    /// What averages they are of.
    known_row: Vec<Known>,
    /// When each iteration ended.
    pub rows: LoopRows,
    /// Every iteration, if they are clustered together at the end.
    kept: Vec<Node>,
}

/// The numbers of iterations in the two averages that a ratio is of; `None` if it is a lower bound.
type Known = Option<(f64, f64)>;

/// Iterations that are alike.
#[derive(Debug)]
struct IterationAverage {
    label: u32,
    n: f64,
    average: Piece,
    /// Number of iterations when its ratios were computed.
    n_compared: f64,
}

/// The next iteration.
#[derive(Debug)]
pub struct Incoming<'a> {
    /// Its tokens and their times.
    pub columns: IterationColumns<'a>,
    /// Its loops and profiles.
    pub aux: Vec<Inner>,
    /// From its start to its end, in ticks.
    pub duration: f64,
    /// When it ended.
    pub end: u64,
}

impl Iterations {
    /// A loop without an iteration so far.
    pub fn new(token: Token) -> Self {
        Iterations { token, ..Iterations::default() }
    }

    /// Adds the next iteration.
    pub fn push(&mut self, new: Incoming<'_>, tools: Tools<'_>) {
        self.rows.push(new.end, new.duration as u64);
        self.n += 1;
        self.n_tokens += new.columns.tokens.len() as u64;
        let rule = tools.merger.rule;
        if tools.assembler.iterations == IterationClustering::AsPrinted {
            let piece = Piece::new(new.columns, new.aux.clone(), new.duration, None);
            self.kept.push(piece.tree(tools).clone());
        }
        let mut new = Candidate { new, piece: None };
        let is_full = (rule.k(self.n as usize) + CLUSTERS_SPARE).min(CLUSTERS_MAX) <= self.clusters.len();
        if is_full {
            self.find_closest(tools);
        }
        let (nearest, at) = self.nearest(&mut new, is_full, tools);
        let is_close = nearest < rule.ratio_min || nearest / self.extremes.greatest < rule.ratio_relative;
        if is_close || (is_full && nearest <= self.extremes.least) {
            self.join(at, new, tools);
        } else {
            if is_full {
                let (i, j) = self.extremes.closest;
                self.unite(i, j, tools);
                self.row.remove(j);
                self.known_row.remove(j);
            }
            self.found(new, tools);
        }
        let label = self.clusters[self.latest].label;
        if self.n <= u64::from(ITERATIONS_MAX) {
            self.map.push(label, 1);
        } else {
            self.map = Runs::default();
        }
        self.look_at_work(tools);
    }

    /// The cluster that an iteration differs least from, and the ratio. Leaves in `row` the ratio with every cluster,
    /// or a lower bound of it if it is not the least, or if the iteration cannot join the cluster.
    fn nearest(&mut self, new: &mut Candidate<'_>, is_full: bool, tools: Tools<'_>) -> (f64, usize) {
        let rule = tools.merger.rule;
        let bounds = self.clusters.iter().map(|cluster| cluster.average.least_ratio(new.new.duration));
        self.row.clear();
        self.row.extend(bounds);
        self.known_row.clear();
        self.known_row.resize(self.clusters.len(), None);
        // Those of the same tokens cost no tree, and one of them is probably close: that of the iteration before, mostly.
        let is_like = |cluster: &IterationAverage| cluster.average.is_like(new.new.columns);
        let latest = self.clusters.get(self.latest).is_some_and(is_like).then_some(self.latest);
        let mut found = (f64::INFINITY, 0);
        if let Some(latest) = latest {
            self.look_at(latest, new, &mut found, is_full, tools);
            if found.0 < rule.ratio_min {
                return found;
            }
        }
        let others = (0..self.clusters.len()).filter(|&i| Some(i) != latest);
        let mut others: SmallVec<[(bool, f64, usize); CLUSTERS_MAX]> =
            others.map(|i| (!self.clusters[i].average.is_like(new.new.columns), self.row[i], i)).collect();
        others.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        for (_, _, i) in others {
            self.look_at(i, new, &mut found, is_full, tools);
            if found.0 < rule.ratio_min {
                break;
            }
        }
        found
    }

    /// Compares an iteration with a cluster, if it may be the nearest and near enough for the iteration to join.
    fn look_at(
        &mut self,
        at: usize,
        new: &mut Candidate<'_>,
        nearest: &mut (f64, usize),
        is_full: bool,
        tools: Tools<'_>,
    ) {
        let bound = self.row[at];
        let may_join = bound < tools.merger.rule.ratio_relative || (is_full && bound <= self.extremes.least);
        if may_join && bound < nearest.0 {
            let cluster = &self.clusters[at];
            let (ratio, is_known) =
                cluster.ratio_with(new, nearest.0, self.is_unordered, &mut self.work, tools);
            self.row[at] = ratio;
            self.known_row[at] = is_known.then_some((cluster.n, 1.0));
        }
        if self.row[at] < nearest.0 {
            *nearest = (self.row[at], at);
        }
    }

    fn join(&mut self, at: usize, new: Candidate<'_>, tools: Tools<'_>) {
        self.latest = at;
        let cluster = &mut self.clusters[at];
        if new.piece.is_none() && cluster.average.is_like(new.new.columns) {
            let Incoming { columns, aux, duration, .. } = new.new;
            cluster.average.add_like(cluster.n, columns, &aux, duration, tools);
        } else {
            let piece = new.into_piece(None, self.is_unordered, tools);
            self.work += cluster.average.n_nodes() + piece.n_nodes();
            tools.mean(&mut cluster.average, &piece, SideWeights { left: cluster.n, right: 1.0 });
        }
        cluster.n += 1.0;
        self.compare_if_doubled(at, tools);
    }

    fn found(&mut self, new: Candidate<'_>, tools: Tools<'_>) {
        let label = self.labels.len() as u32;
        if label < ITERATIONS_MAX {
            self.labels.push(label);
        }
        let at = self.clusters.len();
        let like = self.clusters.get(self.latest).map(|cluster| &cluster.average);
        let average = new.into_piece(like, self.is_unordered, tools);
        self.clusters.push(IterationAverage { label, n: 1.0, average, n_compared: 1.0 });
        self.ratios.push(&self.row);
        self.known.push(&self.known_row);
        self.latest = at;
        self.extremes = self.ratios.extremes();
    }

    fn unite(&mut self, i: usize, j: usize, tools: Tools<'_>) {
        let absorbed = self.clusters.remove(j);
        self.ratios.remove(j);
        self.known.remove(j);
        // Beyond the limit labels are not needed.
        if let Some(label) = self.labels.get_mut(absorbed.label as usize) {
            *label = self.clusters[i].label;
        }
        let cluster = &mut self.clusters[i];
        if !cluster.average.is_flat_like(&absorbed.average) {
            self.work += cluster.average.n_nodes() + absorbed.average.n_nodes();
        }
        tools.mean(
            &mut cluster.average,
            &absorbed.average,
            SideWeights { left: cluster.n, right: absorbed.n },
        );
        cluster.n += absorbed.n;
        self.latest = i;
        self.compare_if_doubled(i, tools);
        self.extremes = self.ratios.extremes();
    }

    /// The average of many changes little: its ratios are computed again when its iterations have doubled.
    fn compare_if_doubled(&mut self, at: usize, tools: Tools<'_>) {
        if 2.0 * self.clusters[at].n_compared <= self.clusters[at].n && 1 < self.clusters.len() {
            self.compare(at, tools);
        }
    }

    /// Computes the ratios of one cluster with all others, as far as averages have changed since they were computed.
    fn compare(&mut self, at: usize, tools: Tools<'_>) {
        for other in (0..self.clusters.len()).filter(|&other| other != at) {
            let (low, high) = (at.min(other), at.max(other));
            let (low_average, high_average) = (&self.clusters[low].average, &self.clusters[high].average);
            if self.known.get(low, high) == Some((self.clusters[low].n, self.clusters[high].n)) {
                continue;
            }
            let bound = low_average.least_ratio(high_average.duration);
            if tools.merger.rule.ratio_relative <= bound && !low_average.is_flat_like(high_average) {
                *self.ratios.get_mut(low, high) = bound;
                *self.known.get_mut(low, high) = None;
            } else {
                self.compare_pair(low, high, tools);
            }
        }
        self.clusters[at].n_compared = self.clusters[at].n;
        self.extremes = self.ratios.extremes();
    }

    /// Computes the ratio of two clusters.
    fn compare_pair(&mut self, low: usize, high: usize, tools: Tools<'_>) {
        let (low_average, high_average) = (&self.clusters[low].average, &self.clusters[high].average);
        if !low_average.is_flat_like(high_average) {
            self.work += low_average.n_nodes() + high_average.n_nodes();
        }
        *self.ratios.get_mut(low, high) = tools.ratio(low_average, high_average);
        *self.known.get_mut(low, high) = Some((self.clusters[low].n, self.clusters[high].n));
    }

    /// Computes ratios of which only a lower bound is known until the closest pair is none of them.
    fn find_closest(&mut self, tools: Tools<'_>) {
        while let (low, high) = self.extremes.closest
            && high < self.clusters.len()
            && self.known.get(low, high).is_none()
        {
            self.compare_pair(low, high, tools);
            self.extremes = self.ratios.extremes();
        }
    }

    /// Whether the closest pair, which is known, is to be united whatever the number of clusters.
    fn is_closest_close(&mut self, tools: Tools<'_>) -> bool {
        let rule = tools.merger.rule;
        // No ratio is above 1.
        if rule.ratio_min <= self.extremes.least && self.extremes.least < rule.ratio_relative {
            let pairs = (1..self.clusters.len()).flat_map(|high| (0..high).map(move |low| (low, high)));
            for (low, high) in pairs {
                if self.extremes.least / self.extremes.greatest < rule.ratio_relative {
                    return true;
                }
                if self.known.get(low, high).is_none() {
                    self.compare_pair(low, high, tools);
                    self.extremes.greatest = self.extremes.greatest.max(self.ratios.get(low, high));
                }
            }
        }
        self.extremes.least < rule.ratio_min
            || self.extremes.least / self.extremes.greatest < rule.ratio_relative
    }

    /// Stops comparing the order of calls in unlike iterations if that has become too much work.
    fn look_at_work(&mut self, tools: Tools<'_>) {
        if self.is_unordered || self.work <= WORK_FREE + WORK_PER_TOKEN * self.n_tokens {
            return;
        }
        self.is_unordered = true;
        for cluster in &mut self.clusters {
            if !cluster.average.is_flat() {
                cluster.average.forget_order(tools);
            }
        }
        self.known.fill(None);
    }

    /// The loop with at most K clusters, and the rows of its iterations. More than [`ITERATIONS_MAX`] iterations are
    /// one profile.
    pub fn close(mut self, source: LoopSource, tools: Tools<'_>) -> (LoopBody<Piece>, LoopRows) {
        let rule = tools.merger.rule;
        let k = rule.k(self.n as usize);
        // Some ratios are of averages that have changed since.
        for at in 0..self.clusters.len() {
            self.compare(at, tools);
        }
        while 1 < self.clusters.len() {
            self.find_closest(tools);
            if self.clusters.len() <= k && !self.is_closest_close(tools) {
                break;
            }
            let (i, j) = self.extremes.closest;
            self.unite(i, j, tools);
            self.compare(i, tools);
        }
        let mut cluster_of_label = vec![0; self.labels.len()];
        for (i, cluster) in self.clusters.iter().enumerate() {
            if let Some(of_label) = cluster_of_label.get_mut(cluster.label as usize) {
                *of_label = i as u32;
            }
        }
        // A label points to the one it was united with, which is always an earlier one.
        for label in 0..self.labels.len() {
            let root = self.labels[label] as usize;
            if root < label {
                cluster_of_label[label] = cluster_of_label[root];
            }
        }
        let map = self.map.renamed(|label| cluster_of_label[label as usize]);
        let clusters = self.clusters.into_iter();
        let clusters = clusters
            .map(|IterationAverage { n, average, .. }| IterationCluster { n: n as u64, tree: average });
        let clusters = clusters.collect();
        let cfg_source = LoopSource::TandemRepeat;
        let mut body = LoopBody { clusters, map, ..LoopBody::empty(source, cfg_source) };
        if tools.assembler.iterations == IterationClustering::AsPrinted {
            let printed = LoopBody::of_iterations(self.kept, source, &tools.merger);
            let piece = |IterationCluster { n, tree }: IterationCluster| IterationCluster {
                n,
                tree: Piece::of_tree(tree.clone(), tree.duration()),
            };
            body.clusters = printed.clusters.into_iter().map(piece).collect();
            body.map = printed.map;
        }
        if u64::from(ITERATIONS_MAX) < self.n {
            body.reject_all(tools);
        }
        self.rows.set_clusters(&body.map);
        (body, self.rows)
    }
}

/// The next iteration, and its piece once it was needed.
struct Candidate<'a> {
    new: Incoming<'a>,
    piece: Option<Piece>,
}

impl Candidate<'_> {
    fn piece(&mut self, like: Option<&Piece>, is_unordered: bool, tools: Tools<'_>) -> &Piece {
        let Candidate { new, piece } = self;
        piece.get_or_insert_with(|| {
            let aux = std::mem::take(&mut new.aux);
            if is_unordered && like.is_none() {
                Piece::unordered(new.columns, &aux, new.duration, tools)
            } else {
                Piece::new(new.columns, aux, new.duration, like)
            }
        })
    }

    fn into_piece(mut self, like: Option<&Piece>, is_unordered: bool, tools: Tools<'_>) -> Piece {
        self.piece(like, is_unordered, tools);
        self.piece.expect("it was made just now")
    }
}

impl IterationAverage {
    /// The ratio of the difference, or any value of at least `limit` if it is at least `limit`; and whether it is the
    /// ratio that two averages would have.
    fn ratio_with(
        &self,
        candidate: &mut Candidate<'_>,
        limit: f64,
        is_unordered: bool,
        work: &mut u64,
        tools: Tools<'_>,
    ) -> (f64, bool) {
        let new = &candidate.new;
        let both = self.average.duration + new.duration;
        if candidate.piece.is_none() && self.average.is_like(new.columns) {
            // Its sum may have ended early, and adds in another order.
            return (ratio(self.average.diff_like(new.columns, &new.aux, limit * both, tools), both), false);
        }
        if is_unordered && self.average.is_flat() {
            // Iterations in another order are not compared: they count as completely unlike.
            return (1.0, false);
        }
        let piece = candidate.piece(None, is_unordered, tools);
        if !self.average.is_flat_like(piece) {
            *work += self.average.n_nodes() + piece.n_nodes();
        }
        (tools.ratio(&self.average, piece), true)
    }
}

impl LoopBody {
    /// A loop of one location over these iterations.
    pub(crate) fn of_iterations(iterations: Vec<Node>, source: LoopSource, merger: &Merger<'_>) -> Self {
        let merger = Merger { over: Over::Iterations, ..*merger };
        let n = iterations.len();
        let averages = if are_columns(&iterations) {
            averages_of_columns(iterations, &merger)
        } else {
            averages_of(cluster(iterations, &merger))
        };
        let (clusters, cluster_of) = numbered(averages, n);
        let map = Runs::from_values(cluster_of);
        LoopBody { clusters, map, ..LoopBody::empty(source, LoopSource::TandemRepeat) }
    }
}

/// The averages of clusters with their members.
pub(crate) fn averages_of(clusters: Vec<(Members, Weighted)>) -> Vec<(Members, Node)> {
    clusters.into_iter().map(|(members, average)| (members, average.tree)).collect()
}

/// The clusters of `n` iterations, and for each of these the index of its cluster.
pub(crate) fn numbered(averages: Vec<(Members, Node)>, n: usize) -> (Vec<IterationCluster>, Vec<u32>) {
    let mut cluster_of = vec![0; n];
    let mut clusters = Vec::with_capacity(averages.len());
    for (i, (members, tree)) in averages.into_iter().enumerate() {
        for &member in &members {
            cluster_of[member] = i as u32;
        }
        clusters.push(IterationCluster { n: members.len() as u64, tree });
    }
    (clusters, cluster_of)
}

/// The averages of iterations that are columns.
fn averages_of_columns(mut iterations: Vec<Node>, merger: &Merger<'_>) -> Vec<(Members, Node)> {
    let columns = iterations.iter().map(Column::new).collect();
    let average = |(members, column): (Members, Column)| {
        let first = &mut iterations[members[0]];
        let mut tree = std::mem::replace(first, Node::leaf(StaticId::Iteration, 0.0));
        column.fill(&mut tree);
        (members, tree)
    };
    cluster_all(columns, &mut Columns(merger)).into_iter().map(average).collect()
}

impl LoopBody<Piece> {
    /// Makes every iteration a rejected one: only sums of durations are left.
    fn reject_all(&mut self, tools: Tools<'_>) {
        let inner = InnerLoop { id: StaticId::Iteration, body: self.clone() };
        if let Body::Profile { self_time, children, .. } = inner.to_node(tools).into_profile().body {
            self.gap = self_time;
            self.profiles = children;
        }
        self.rejected += self.clusters.iter().map(|cluster| cluster.n).sum::<u64>();
        self.clusters.clear();
        self.map = Runs::default();
    }
}
