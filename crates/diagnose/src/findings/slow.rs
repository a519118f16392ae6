//! Ranks that take longer in whatever they compute, by a similar factor.

use super::context::{Context, Times};
use super::series::median;
use ouzel_analyses::semantics::Category;
use ouzel_model::{CallPathId, CallPathTree, LocationId, SystemNodeId, Ticks};
use std::collections::BTreeMap;

/// A peer is slow in a path if it takes longer than the median peer by this factor: less is noise of the machine.
const SLOW: f64 = 1.08;
/// Share of the computing time in which a slow peer must be slow.
const NEARLY_ALL: f64 = 0.8;
/// Paths below this share of the computing time are not asked.
const LEAST_PATH: f64 = 0.02;
/// Greatest excess over smallest excess that is still a similar factor.
const SIMILAR: f64 = 3.0;

/// Peers that are slow in everything.
#[derive(Debug)]
pub(super) struct Slow {
    /// Peers, ascending.
    pub locations: Vec<LocationId>,
    /// Times the median peer's computing time, of the slowest.
    pub factor: f64,
    /// Paths they are slow in, most time first, with the factor of the slowest.
    pub paths: Vec<(CallPathId, f64)>,
    /// The compute node that they are all ranks of, if no other has slow ranks.
    pub node: Option<SystemNodeId>,
    /// Whether only some of their visits are slow, and the others as fast as those of other peers: then they did not run
    /// all the time.
    pub are_interrupted: bool,
}

/// A peer is interrupted in a path if its mean visit takes so many times that of the median peer,
const INTERRUPTED: f64 = 1.3;
/// and its shortest visit at most so many times that of the median peer.
const AS_SHORT: f64 = 1.15;
/// Least number of visits of each peer, which all must have alike but for this share.
const VISITS: (u64, f64) = (10, 0.02);

/// The slow peers, if there are a few.
pub(super) fn slow(cx: &Context<'_>) -> Option<Slow> {
    let n = cx.group.locations.len();
    if n < 3 {
        return None;
    }
    let paths = computing_paths(cx);
    if paths.len() < 2 {
        return None;
    }
    let total: f64 = paths.iter().map(|path| path.middle).sum();
    let is_interrupted = |peer: &usize| {
        let of = |wanted: Interrupted| {
            paths.iter().filter(move |path| path.is_interrupted(*peer) == wanted).map(|path| path.middle)
        };
        // Of one path, work that grows at one rank looks the same.
        let (sure, possible) = (of(Interrupted::Yes), of(Interrupted::Perhaps));
        2 <= sure.clone().count() && NEARLY_ALL * total <= sure.chain(possible).sum()
    };
    let interrupted: Vec<usize> = (0..n).filter(is_interrupted).collect();
    if !interrupted.is_empty() && 2 * interrupted.len() < n {
        return Some(Slow { are_interrupted: true, ..of_peers(cx, &paths, &interrupted, None) });
    }
    let mut slow: Vec<usize> = Vec::new();
    for peer in 0..n {
        let factors: Vec<f64> = paths.iter().map(|path| path.ticks[peer] / path.middle).collect();
        let is_slow = |i: &usize| SLOW <= factors[*i];
        let time: f64 = (0..paths.len()).filter(is_slow).map(|i| paths[i].middle).sum();
        let excess: Vec<f64> = (0..paths.len()).filter(is_slow).map(|i| factors[i] - 1.0).collect();
        let (least, most) = excess.iter().fold((f64::MAX, 0.0_f64), |(a, b), &e| (a.min(e), b.max(e)));
        if NEARLY_ALL * total <= time && 2 <= excess.len() && most <= SIMILAR * least {
            slow.push(peer);
        }
    }
    let locations: Vec<LocationId> = slow.iter().map(|&peer| cx.group.locations[peer]).collect();
    let node = node_of(cx, &locations);
    // More than an eighth of all are no exception, unless they are a node.
    let n_most = if node.is_some() { n / 2 } else { n / 8 };
    if slow.is_empty() || n_most.max(1) < slow.len() {
        return None;
    }
    Some(of_peers(cx, &paths, &slow, node))
}

fn of_peers(cx: &Context<'_>, paths: &[PathOfPeers], slow: &[usize], node: Option<SystemNodeId>) -> Slow {
    let total: f64 = paths.iter().map(|path| path.middle).sum();
    let factor =
        |path: &PathOfPeers| slow.iter().map(|&peer| path.ticks[peer] / path.middle).fold(0.0_f64, f64::max);
    let of_all = |peer: &usize| paths.iter().map(|path| path.ticks[*peer]).sum::<f64>() / total;
    Slow {
        factor: slow.iter().map(of_all).fold(0.0, f64::max),
        paths: paths.iter().map(|path| (path.path, factor(path))).filter(|&(_, f)| SLOW <= f).collect(),
        locations: slow.iter().map(|&peer| cx.group.locations[peer]).collect(),
        node,
        are_interrupted: false,
    }
}

struct PathOfPeers {
    path: CallPathId,
    /// By peer, in the order of the group.
    ticks: Vec<f64>,
    middle: f64,
    /// Number of visits and length of the shortest one, by peer.
    visits: Vec<(f64, f64)>,
    /// The medians of these.
    usual: (f64, f64),
    /// Whether peers make enough visits, and all about as many.
    are_visits_alike: bool,
    /// The sampling period, if samples show the visits.
    period: Option<f64>,
}

/// Whether only some visits of a peer to a path are longer than those of the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Interrupted {
    No,
    /// All that samples tell of visits shorter than two periods is that they take longer together.
    Perhaps,
    Yes,
}

impl PathOfPeers {
    /// `visits` are the number of visits and the length of the shortest one, by peer.
    #[expect(clippy::cast_precision_loss, reason = "ratios of times")]
    fn new(path: CallPathId, ticks: Vec<f64>, visits: Vec<(u64, u64)>, period: Option<Ticks>) -> Self {
        let counts = || visits.iter().map(|it| it.0);
        let (least, most) = (counts().min().unwrap_or_default(), counts().max().unwrap_or_default());
        let are_visits_alike = VISITS.0 <= least && (most - least) as f64 <= VISITS.1 * most as f64;
        let visits: Vec<(f64, f64)> = visits.into_iter().map(|it| (it.0 as f64, it.1 as f64)).collect();
        let median_of = |of: fn(&(f64, f64)) -> f64| median(&visits.iter().map(of).collect::<Vec<_>>());
        let usual = (median_of(|it| it.0), median_of(|it| it.1));
        let period = period.map(|period| period.0 as f64);
        PathOfPeers { path, middle: median(&ticks), ticks, visits, usual, are_visits_alike, period }
    }

    fn is_interrupted(&self, peer: usize) -> Interrupted {
        if self.ticks[peer] < INTERRUPTED * self.middle {
            return Interrupted::No;
        }
        let ((n, shortest), (usual_n, usual_shortest)) = (self.visits[peer], self.usual);
        let is_so = match self.period {
            None => shortest <= AS_SHORT * usual_shortest,
            // A visit may be longer than samples show it by a period.
            Some(period) => {
                shortest <= usual_shortest + period
                    && INTERRUPTED * (shortest + period) * n <= self.ticks[peer]
            }
        };
        match self.period {
            _ if self.are_visits_alike && is_so => Interrupted::Yes,
            Some(period) if self.middle < 2.0 * period * usual_n => Interrupted::Perhaps,
            _ => Interrupted::No,
        }
    }
}

/// Paths that compute at all peers, most time first.
#[expect(clippy::cast_precision_loss, reason = "ratios of times")]
fn computing_paths(cx: &Context<'_>) -> Vec<PathOfPeers> {
    let computes = |path: &CallPathId| {
        *path == CallPathTree::ROOT
            || (cx.category(*path, false) == Category::Computation && !cx.is_inside_waiting(*path))
    };
    let all = std::iter::once(CallPathTree::ROOT).chain(cx.paths().paths()).filter(computes);
    let of = |path| {
        let ticks: Vec<f64> =
            cx.by_peer(path, Times::Exclusive).into_iter().map(|(_, ticks)| ticks as f64).collect();
        let period = cx.group.noise_of(path).map(|noise| noise.period);
        PathOfPeers::new(path, ticks, cx.visits_by_peer(path), period)
    };
    let mut paths: Vec<PathOfPeers> = all.map(of).filter(|path| 0.0 < path.middle).collect();
    let total: f64 = paths.iter().map(|path| path.middle).sum();
    paths.retain(|path| LEAST_PATH * total <= path.middle);
    paths.sort_by(|a, b| b.middle.total_cmp(&a.middle).then(a.path.cmp(&b.path)));
    paths
}

/// The compute node whose peers are `slow` and no others, if there are two nodes and two peers there.
fn node_of(cx: &Context<'_>, slow: &[LocationId]) -> Option<SystemNodeId> {
    let nodes = cx.definitions.system_tree.compute_nodes();
    let node = |location: &LocationId| {
        let group = cx.definitions.location(*location).group;
        let mut at = cx.definitions.location_groups[group.index()].system_node;
        // A tree is no deeper than it has nodes; a damaged one may have a cycle.
        for _ in 0..=cx.definitions.system_tree.nodes.len() {
            match at {
                Some(id) if nodes.contains(&id) => return Some(id),
                Some(id) => at = cx.definitions.system_tree.nodes[id.index()].parent,
                None => return None,
            }
        }
        None
    };
    let mut by_node: BTreeMap<SystemNodeId, Vec<LocationId>> = BTreeMap::new();
    for location in &cx.group.locations {
        by_node.entry(node(location)?).or_default().push(*location);
    }
    let of_slow = by_node.iter().find(|(_, peers)| slow.first().is_some_and(|s| peers.contains(s)))?;
    let mut expected = of_slow.1.clone();
    expected.sort_unstable();
    let mut found = slow.to_vec();
    found.sort_unstable();
    (2 <= by_node.len() && 2 <= expected.len() && expected == found).then_some(*of_slow.0)
}
