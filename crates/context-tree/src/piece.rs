//! An iteration, or the average of iterations, of one location.
//!
//! As long as all of them have the same tokens it is a column of times, and comparing and
//! averaging are loops over numbers. Unlike ones are compared and averaged as trees.
//! Law: the duration of an average is the weighted mean of the durations.
//! Which iterations are averaged is decided in [`iterations`](crate::iterations).

use crate::assemble::Assembler;
use crate::cluster::{Clustering, Members, merge_clusters};
use crate::diff::{diff_iterations, groups, ratio};
use crate::flat_profile::FlatProfile;
use crate::merge::{Averages, SideWeights, merge_iterations};
use crate::merger::{ClusterRule, Merger};
use crate::node::{Body, IterationCluster, LoopBody, Node, StaticId};
use crate::strip::{LEAVE, LOOPS, Strip, Taken, Token, distance, mean};
use crate::strip_diff::{AuxDiff, Walk, diff_strips};
use std::cell::OnceCell;
use std::sync::Arc;

/// An iteration, or an average of iterations.
#[derive(Debug, Clone)]
pub struct Piece {
    /// From its start to its end, in ticks.
    pub duration: f64,
    /// The columns; `None` if its iterations were unlike.
    flat: Option<Flat>,
    /// The tree, if it was needed since the last change; always present if there are no columns.
    tree: OnceCell<Box<Node>>,
    /// Number of nodes of the tree, if there are no columns.
    n_nodes: u64,
}

#[derive(Debug, Clone)]
struct Flat {
    tokens: Arc<[Token]>,
    /// Mean time before each token, in ticks.
    times: Vec<f64>,
    aux: Vec<Inner>,
}

impl Flat {
    fn walk(&self) -> Walk<'_, Inner> {
        Walk::new(&self.tokens, &self.times, &self.aux)
    }
}

/// What a token of a piece represents.
#[derive(Debug, Clone)]
pub enum Inner {
    /// A loop whose iterations are pieces, too.
    Loop(Box<InnerLoop>),
    /// A profile, or a loop of unlike calls.
    Tree(Node),
}

/// A loop of one location.
#[derive(Debug, Clone)]
pub struct InnerLoop {
    /// What it is an instance of.
    pub id: StaticId,
    /// Its iterations.
    pub body: LoopBody<Piece>,
}

/// Tools to compare and average pieces.
#[derive(Debug, Clone, Copy)]
pub struct Tools<'a> {
    /// Makes trees of strips.
    pub assembler: &'a Assembler,
    /// Compares and averages trees.
    pub merger: Merger<'a>,
}

/// An iteration, borrowed from the observed sequence.
#[derive(Debug, Clone, Copy)]
pub struct IterationColumns<'a> {
    /// Its tokens.
    pub tokens: &'a [Token],
    /// The time before each, in ticks.
    pub times: &'a [f64],
}

/// Nodes that an average of unlike iterations may have in any case. It has those of all of them: if it has many times
/// more than each, their order has nothing in common, and only the sums by region are kept.
const NODES_FREE: u64 = 512;

impl Piece {
    /// One iteration; `like` may have the same tokens.
    pub fn new(columns: IterationColumns<'_>, aux: Vec<Inner>, duration: f64, like: Option<&Piece>) -> Self {
        let same = like.and_then(|like| like.flat.as_ref()).filter(|flat| *flat.tokens == *columns.tokens);
        let tokens = same.map_or_else(|| columns.tokens.into(), |flat| flat.tokens.clone());
        let flat = Some(Flat { tokens, times: columns.times.to_vec(), aux });
        Piece { duration, flat, tree: OnceCell::new(), n_nodes: 0 }
    }

    /// One iteration of which only sums by region are kept.
    pub(crate) fn unordered(
        columns: IterationColumns<'_>,
        aux: &[Inner],
        duration: f64,
        tools: Tools<'_>,
    ) -> Self {
        let mut profile = FlatProfile::default();
        let mut aux = aux.iter();
        for (&token, &time) in columns.tokens.iter().zip(columns.times) {
            let is_tree = LOOPS <= token && token != LEAVE;
            let node = if is_tree { aux.next().map(|inner| inner.to_node(tools)) } else { None };
            profile.add_token(token, time, node.as_ref());
        }
        Piece::of_tree(profile.into_node(StaticId::Iteration), duration)
    }

    pub(crate) fn of_tree(tree: Node, duration: f64) -> Self {
        Piece { duration, flat: None, n_nodes: tree.n_nodes() as u64, tree: OnceCell::from(Box::new(tree)) }
    }

    /// Keeps only sums by region.
    pub(crate) fn forget_order(&mut self, tools: Tools<'_>) {
        let mut profile = FlatProfile::default();
        profile.add_tree(self.tree(tools), 1.0);
        *self = Piece::of_tree(profile.into_node(StaticId::Iteration), self.duration);
    }

    /// A lower bound of the ratio with a piece of this duration: what lasts longer on one side differs at least by that.
    pub(crate) fn least_ratio(&self, duration: f64) -> f64 {
        ratio((self.duration - duration).abs(), self.duration + duration)
    }

    /// Whether all its iterations have the same tokens.
    pub(crate) fn is_flat(&self) -> bool {
        self.flat.is_some()
    }

    /// Whether both have the same tokens.
    pub(crate) fn is_flat_like(&self, other: &Piece) -> bool {
        matches!((&self.flat, &other.flat), (Some(a), Some(b)) if is_same(&a.tokens, &b.tokens))
    }

    /// Approximate number of nodes that it has or would have as a tree.
    pub fn n_nodes(&self) -> u64 {
        self.flat.as_ref().map_or(self.n_nodes, |flat| flat.tokens.len() as u64 / 2)
    }

    fn is_unordered(&self) -> bool {
        self.flat.is_none() && self.tree.get().is_some_and(|tree| matches!(tree.body, Body::Profile { .. }))
    }

    /// Whether it has these tokens and no others were averaged into it.
    pub(crate) fn is_like(&self, columns: IterationColumns<'_>) -> bool {
        self.flat.as_ref().is_some_and(|flat| *flat.tokens == *columns.tokens)
    }

    /// The difference from an iteration for which [`is_like`](Self::is_like) holds, or any value above `limit`.
    pub(crate) fn diff_like(
        &self,
        columns: IterationColumns<'_>,
        aux: &[Inner],
        limit: f64,
        tools: Tools<'_>,
    ) -> f64 {
        let Some(flat) = &self.flat else { return f64::INFINITY };
        let mut diff = distance(&flat.times, columns.times, limit);
        for (a, b) in flat.aux.iter().zip(aux) {
            if limit < diff {
                break;
            }
            diff += tools.diff_inner(a, b);
        }
        diff
    }

    /// Makes it, the average of `n`, the average of `n + 1` with an iteration for which
    /// [`is_like`](Self::is_like) holds.
    pub(crate) fn add_like(
        &mut self,
        n: f64,
        columns: IterationColumns<'_>,
        aux: &[Inner],
        duration: f64,
        tools: Tools<'_>,
    ) {
        let w = SideWeights { left: n, right: 1.0 };
        self.tree = OnceCell::new();
        self.duration = w.mean(self.duration, duration);
        let Some(flat) = &mut self.flat else { return };
        mean(&mut flat.times, n, columns.times, 1.0);
        for (a, b) in flat.aux.iter_mut().zip(aux) {
            tools.mean_inner(a, b, w);
        }
    }

    /// As a tree.
    pub fn tree(&self, tools: Tools<'_>) -> &Node {
        self.tree.get_or_init(|| Box::new(self.to_tree(tools)))
    }

    /// As a tree of its own. None is kept: a piece inside of another is mostly asked once.
    fn own_tree(&self, tools: Tools<'_>) -> Node {
        self.tree.get().map_or_else(|| self.to_tree(tools), |tree| Node::clone(tree))
    }

    fn to_tree(&self, tools: Tools<'_>) -> Node {
        let Some(flat) = &self.flat else { return Node::leaf(StaticId::Iteration, self.duration) };
        let aux = flat.aux.iter().map(|inner| Taken { node: inner.to_node(tools), rows: None });
        let strip = Strip { tokens: flat.tokens.to_vec(), times: flat.times.clone(), aux: aux.collect() };
        tools.assembler.iteration(strip)
    }
}

impl Inner {
    /// As a tree.
    pub(crate) fn to_node(&self, tools: Tools<'_>) -> Node {
        match self {
            Inner::Loop(inner) => inner.to_node(tools),
            Inner::Tree(node) => node.clone(),
        }
    }

    /// From its start to its end, in ticks.
    pub fn duration(&self) -> f64 {
        match self {
            Inner::Tree(node) => node.duration(),
            Inner::Loop(inner) => {
                let LoopBody { gap, clusters, profiles, .. } = &inner.body;
                gap + clusters.iter().map(|cluster| cluster.n as f64 * cluster.tree.duration).sum::<f64>()
                    + profiles.iter().map(Node::duration).sum::<f64>()
            }
        }
    }
}

impl InnerLoop {
    /// As a tree.
    pub(crate) fn to_node(&self, tools: Tools<'_>) -> Node {
        let LoopBody { source, cfg_source, gap, clusters, map, profiles, rejected, is_estimate } = &self.body;
        let tree = |cluster: &IterationCluster<Piece>| IterationCluster {
            n: cluster.n,
            tree: cluster.tree.own_tree(tools),
        };
        Node::of_loop(
            self.id,
            LoopBody {
                source: *source,
                cfg_source: *cfg_source,
                gap: *gap,
                clusters: clusters.iter().map(tree).collect(),
                map: map.clone(),
                profiles: profiles.clone(),
                rejected: *rejected,
                is_estimate: *is_estimate,
            },
        )
    }
}

impl Tools<'_> {
    /// The time by which two pieces differ, in ticks.
    pub(crate) fn diff(self, a: &Piece, b: &Piece) -> f64 {
        if let (Some(x), Some(y)) = (&a.flat, &b.flat) {
            if !is_same(&x.tokens, &y.tokens) {
                return diff_strips(x.walk(), y.walk(), &self);
            }
            let of_aux: f64 = x.aux.iter().zip(&y.aux).map(|(a, b)| self.diff_inner(a, b)).sum();
            return distance(&x.times, &y.times, f64::INFINITY) + of_aux;
        }
        self.merger.differ.diff(a.tree(self), b.tree(self))
    }

    /// The difference in relation to the durations.
    pub fn ratio(self, a: &Piece, b: &Piece) -> f64 {
        ratio(self.diff(a, b), a.duration + b.duration)
    }

    fn diff_inner(self, a: &Inner, b: &Inner) -> f64 {
        match (a, b) {
            (Inner::Loop(a), Inner::Loop(b)) => {
                let outside = self.merger.differ.diff_outside(&a.body, &b.body);
                let groups = groups(&a.body.map, &b.body.map);
                let diff = |a: &Piece, b: &Piece| self.diff(a, b);
                outside + diff_iterations((&a.body, &b.body), &groups, diff, |piece| piece.duration)
            }
            (Inner::Tree(a), Inner::Tree(b)) => self.merger.differ.diff(a, b),
            _ => self.merger.differ.diff(&a.to_node(self), &b.to_node(self)),
        }
    }

    fn mean_inner(self, a: &mut Inner, b: &Inner, w: SideWeights) {
        match (&mut *a, b) {
            (Inner::Loop(a), Inner::Loop(b)) => {
                self.merger.merge_outside(&mut a.body, &b.body, w);
                merge_iterations(&mut a.body, &b.body, w, &self);
            }
            (Inner::Tree(a), b) => self.merger.mean(a, &b.to_node(self), w),
            (Inner::Loop(_), b) => {
                let mut tree = a.to_node(self);
                self.merger.mean(&mut tree, &b.to_node(self), w);
                *a = Inner::Tree(tree);
            }
        }
    }

    fn mean_unlike(self, a: &mut Piece, b: &Piece, w: SideWeights) {
        let limit = (4 * a.n_nodes().min(b.n_nodes())).max(NODES_FREE);
        let mut other = None;
        if a.is_unordered() != b.is_unordered() {
            a.forget_order(self);
            other = Some(b.clone());
        }
        if let Some(other) = &mut other {
            other.forget_order(self);
        }
        let mut tree = a.tree.take().map_or_else(|| a.to_tree(self), |tree| *tree);
        self.merger.mean(&mut tree, other.as_ref().unwrap_or(b).tree(self), w);
        *a = Piece::of_tree(tree, a.duration);
        if limit < a.n_nodes && !a.is_unordered() {
            a.forget_order(self);
        }
    }

    fn dwindle_inner(self, a: &mut Inner, w: SideWeights) {
        match a {
            Inner::Tree(node) => self.merger.dwindle(node, w),
            Inner::Loop(inner) => {
                self.merger.dwindle_outside(&mut inner.body, w);
                for cluster in &mut inner.body.clusters {
                    self.dwindle(&mut cluster.tree, w);
                }
            }
        }
    }
}

impl AuxDiff<Inner> for Tools<'_> {
    fn diff(&self, a: &Inner, b: &Inner) -> f64 {
        self.diff_inner(a, b)
    }

    fn dummy(&self, aux: &Inner) -> f64 {
        aux.duration()
    }
}

fn is_same(a: &Arc<[Token]>, b: &Arc<[Token]>) -> bool {
    Arc::ptr_eq(a, b) || a == b
}

impl Averages for Tools<'_> {
    type Tree = Piece;

    fn mean(&self, a: &mut Piece, b: &Piece, w: SideWeights) {
        if let (Some(x), Some(y)) = (&mut a.flat, &b.flat)
            && is_same(&x.tokens, &y.tokens)
        {
            mean(&mut x.times, w.left, &y.times, w.right);
            for (a, b) in x.aux.iter_mut().zip(&y.aux) {
                self.mean_inner(a, b, w);
            }
            a.tree = OnceCell::new();
        } else {
            self.mean_unlike(a, b, w);
        }
        a.duration = w.mean(a.duration, b.duration);
    }

    fn dwindle(&self, a: &mut Piece, w: SideWeights) {
        a.duration = w.left_part(a.duration);
        let Some(flat) = &mut a.flat else {
            if let Some(tree) = a.tree.get_mut() {
                self.merger.dwindle(tree, w);
            }
            return;
        };
        for time in &mut flat.times {
            *time = w.left_part(*time);
        }
        for inner in &mut flat.aux {
            self.dwindle_inner(inner, w);
        }
        a.tree = OnceCell::new();
    }

    fn clusters(&self, pieces: Vec<(Piece, f64)>, n: u64) -> Vec<(Members, Piece)> {
        let k = self.merger.rule.k(n as usize);
        let clusters = merge_clusters(pieces, k, &mut { *self });
        clusters.into_iter().map(|(members, (piece, _))| (members, piece)).collect()
    }
}

impl Clustering for Tools<'_> {
    type Cluster = (Piece, f64);

    fn rule(&self) -> ClusterRule {
        self.merger.rule
    }

    fn ratio(&mut self, a: &mut (Piece, f64), b: &mut (Piece, f64)) -> f64 {
        Tools::ratio(*self, &a.0, &b.0)
    }

    fn unite(&mut self, a: &mut (Piece, f64), b: (Piece, f64)) {
        self.mean(&mut a.0, &b.0, SideWeights { left: a.1, right: b.1 });
        a.1 += b.1;
    }
}
