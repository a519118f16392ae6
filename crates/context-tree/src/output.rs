//! Which locations and iterations are alike.

use crate::alike_locations::Alike;
use crate::assemble::{Assembler, LoopRecord};
use crate::node::{Body, IterationCluster, LoopSource, Node, StaticId};
use crate::sample_tree::LcaQuality;
use ouzel_analyses::peers::{PeerGroup, PeerKind};
use ouzel_model::{LocationId, RegionId, Ticks};
use std::collections::{BTreeMap, BTreeSet};

/// Clusters of locations, by peer group.
#[derive(Debug, Clone, PartialEq)]
pub struct ContextTreesOutput {
    /// The peer groups that have locations.
    pub groups: Vec<TreeGroup>,
}

/// The clusters of one peer group.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeGroup {
    /// The kind of its locations.
    pub kind: PeerKind,
    /// The locations that were folded, in the order of the group.
    pub locations: Vec<LocationId>,
    /// Sorted by smallest member; at most `max(2, ceil(log2 N))` of `N` locations.
    pub clusters: Vec<LocationCluster>,
    /// The loops, by the start of their first iteration; nested loops come last.
    pub loops: Vec<LoopSummary>,
    /// How well instances of calls are known: exactly, as from enters and leaves, or the worst quality of the samples.
    pub lca: LcaQuality,
    /// The longest time between samples of its locations; 0 if all have exact events. Differences of up to the periods of
    /// both locations do not count.
    pub period: Ticks,
}

/// Locations that are alike.
#[derive(Debug, Clone, PartialEq)]
pub struct LocationCluster {
    /// Its index.
    pub id: u32,
    /// In the order of the group.
    pub members: Vec<LocationId>,
    /// The first member: to find the one nearest to the average, all trees would have to be in memory.
    pub representative: LocationId,
    /// The average of the members.
    pub tree: Node,
}

/// Summary of a loop.
#[derive(Debug, Clone, PartialEq)]
pub struct LoopSummary {
    /// From the outermost call to the loop; see [`StaticId::name`]. Iterations between loops are left out. A region that
    /// the trace marks as a loop is the loop that its calls repeat in.
    pub path: Vec<StaticId>,
    /// How it became known.
    pub source: LoopSource,
    /// How its iterations are told apart.
    pub cfg_source: LoopSource,
    /// Whether it is inside of another loop: then it has no rows, and counts are over all iterations of the outer one.
    pub is_nested: bool,
    /// Iterations, of the cluster of locations that has most.
    pub accepted: u64,
    /// Iterations that could not be distinguished or were too many, of the cluster that has most.
    pub rejected: u64,
    /// Whether there may have been more iterations than were found, as in samples; of a nested loop also whether its
    /// number is that of averages over unlike iterations of the outer one.
    pub is_estimate: bool,
    /// Clusters of iterations, of the cluster of locations that has most.
    pub n_clusters: u32,
    /// The regions called in it, most time first, of all clusters of locations.
    pub called: Vec<RegionId>,
    /// The regions called right after it, likewise, but the one that identifies it. None of a nested loop, and of one that
    /// comes several times in a call.
    pub followed_by: BTreeSet<RegionId>,
    /// The iterations of each cluster's representative; empty for a nested loop.
    pub instances: Vec<LoopInstance>,
}

/// A loop of one location.
#[derive(Debug, Clone, PartialEq)]
pub struct LoopInstance {
    /// The cluster of locations that it represents.
    pub cluster: u32,
    /// The location: the cluster's representative.
    pub location: LocationId,
    /// Number of iterations.
    pub n_iterations: u64,
    /// Clusters of these iterations.
    pub n_clusters: u32,
    /// Iterations in each row but the last: 1, or a power of two if there are more than 4096 iterations.
    pub iterations_per_row: u64,
    /// In order; each begins where the one before it ends.
    pub iterations: Vec<IterationRow>,
}

/// An iteration, or neighbouring ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IterationRow {
    /// Index of the iteration, from 0; of several, of the longest.
    pub index: u64,
    /// Its start; of several, of the first.
    pub start: Ticks,
    /// Its end; of several, of the last.
    pub end: Ticks,
    /// Its cluster, of the location's own; of several, of the longest.
    pub cluster: u32,
}

impl LoopSummary {
    /// The call path of the loop, if it is a region, else of the region that it is in; `[]` outside of every region.
    pub fn call_path(&self) -> Vec<RegionId> {
        self.path.iter().filter_map(|id| id.recorded()).collect()
    }

    /// The loops around it that are no region, outermost first.
    pub fn inside_of(&self) -> impl Iterator<Item = StaticId> + '_ {
        let around = self.path.split_last().map_or(&[][..], |(_, around)| around);
        around.iter().copied().filter(|id| matches!(id, StaticId::FoundLoop { .. }))
    }
}

/// A path of the tree as the path of a loop: a loop found directly in a region that is marked as one is that region.
fn loop_path(path: &[StaticId], assembler: &Assembler) -> Vec<StaticId> {
    let caller = |i: usize| i.checked_sub(1).map(|i| path[i]);
    let is_own = |i: usize| assembler.is_loop_of(path[i], caller(i));
    (0..path.len()).filter(|&i| !is_own(i)).map(|i| path[i]).collect()
}

/// The loops of a location that are in no other. What is left between the iterations of a marked loop is inside of it.
fn outermost(records: Vec<LoopRecord>, assembler: &Assembler) -> Vec<LoopRecord> {
    let with_path = |record: LoopRecord| LoopRecord { path: loop_path(&record.path, assembler), ..record };
    let mut records: Vec<LoopRecord> = records.into_iter().map(with_path).collect();
    let paths: BTreeSet<Vec<StaticId>> = records.iter().map(|record| record.path.clone()).collect();
    records.retain(|record| !(1..record.path.len()).any(|n| paths.contains(&record.path[..n])));
    records
}

impl TreeGroup {
    pub(super) fn new(group: &PeerGroup, alike: Vec<Alike>, assembler: &Assembler) -> Self {
        let location = |&member: &u32| group.members[member as usize];
        let mut members: Vec<u32> =
            alike.iter().flat_map(|cluster| cluster.members.iter().copied()).collect();
        members.sort_unstable();
        let mut loops = Loops::default();
        let period = Ticks(alike.iter().map(|cluster| cluster.period).max().unwrap_or(0));
        let lca = alike.iter().map(|cluster| cluster.quality).max().unwrap_or_default();
        let mut clusters = Vec::new();
        let mut called = Called::default();
        for (id, Alike { members, average, loops: records, .. }) in alike.into_iter().enumerate() {
            let members: Vec<LocationId> = members.iter().map(location).collect();
            let representative = members[0];
            let mut seen: BTreeMap<Vec<StaticId>, u32> = BTreeMap::new();
            for record in outermost(records, assembler) {
                let nth = seen.entry(record.path.clone()).or_default();
                let rows = &record.rows;
                let mut start = rows.start;
                let iterations = rows.rows.iter().map(|row| {
                    let began = std::mem::replace(&mut start, row.end);
                    let index = u64::from(row.longest);
                    IterationRow { index, start: Ticks(began), end: Ticks(row.end), cluster: row.cluster }
                });
                let instance = LoopInstance {
                    cluster: id as u32,
                    location: representative,
                    n_iterations: rows.n,
                    n_clusters: record.n_clusters,
                    iterations_per_row: rows.iterations_per_row(),
                    iterations: iterations.collect(),
                };
                let summary = loops.get(record.path, *nth, [record.source, record.cfg_source]);
                *nth += 1;
                summary.is_nested = false;
                summary.accepted = summary.accepted.max(record.accepted);
                summary.rejected = summary.rejected.max(record.rejected);
                summary.is_estimate |= record.is_estimate;
                summary.n_clusters = summary.n_clusters.max(record.n_clusters);
                summary.instances.push(instance);
            }
            let mut nested = Loops::default();
            let mut nest =
                Nest { assembler, path: Vec::new(), caller: None, is_incomplete: false, called: &mut called };
            nested.add_nested(&average.tree, &mut nest, (None, members.len() as f64));
            loops.add(nested);
            clusters.push(LocationCluster { id: id as u32, members, representative, tree: average.tree });
        }
        TreeGroup {
            kind: group.kind,
            locations: members.iter().map(location).collect(),
            clusters,
            loops: loops.into_summaries(&called),
            lca,
            period,
        }
    }
}

/// Loops by path and, as one call may have several loops of one body, their number.
#[derive(Default)]
struct Loops(BTreeMap<(Vec<StaticId>, u32), LoopSummary>);

/// The regions that are called in each loop and right after it, by its path.
#[derive(Default)]
struct Called {
    times: BTreeMap<Vec<StaticId>, BTreeMap<RegionId, f64>>,
    after: BTreeMap<Vec<StaticId>, BTreeSet<RegionId>>,
}

impl Called {
    /// Adds what `n` instances of a node call; a loop inside calls what its iterations do.
    fn add(times: &mut BTreeMap<RegionId, f64>, node: &Node, n: f64) {
        match &node.body {
            Body::Call { children, .. } | Body::Profile { children, .. } => {
                for child in children {
                    match child.id.region() {
                        Some(region) => *times.entry(region).or_default() += n * child.stats.mean(),
                        None => Called::add(times, child, n),
                    }
                }
            }
            Body::Loop(body) => {
                for cluster in &body.clusters {
                    Called::add(times, &cluster.tree, n * cluster.n as f64);
                }
            }
        }
    }

    /// The regions of a loop, most time first.
    fn by_time(&self, path: &[StaticId]) -> Vec<RegionId> {
        let mut times: Vec<(&RegionId, &f64)> = self.times.get(path).into_iter().flatten().collect();
        times.sort_by(|a, b| b.1.total_cmp(a.1));
        times.into_iter().map(|(region, _)| *region).collect()
    }
}

/// The position of a walk through a tree.
struct Nest<'a> {
    assembler: &'a Assembler,
    /// From the outermost call.
    path: Vec<StaticId>,
    /// The enclosing node.
    caller: Option<StaticId>,
    /// Whether loops of this path are missing from other iterations of an outer loop, which are only sums.
    is_incomplete: bool,
    called: &'a mut Called,
}

/// The number for all nested loops of one path, which are not distinguished.
const ALL: u32 = u32::MAX;

impl Loops {
    fn get(&mut self, path: Vec<StaticId>, nth: u32, sources: [LoopSource; 2]) -> &mut LoopSummary {
        let [source, cfg_source] = sources;
        self.0.entry((path.clone(), nth)).or_insert(LoopSummary {
            path,
            source,
            cfg_source,
            is_nested: true,
            accepted: 0,
            rejected: 0,
            is_estimate: false,
            n_clusters: 0,
            called: Vec::new(),
            followed_by: BTreeSet::new(),
            instances: Vec::new(),
        })
    }

    /// Adds the loops inside of loops; `n` is how often the node comes, if it is inside of one, and `weight` how often it
    /// comes at all locations.
    fn add_nested(&mut self, node: &Node, nest: &mut Nest<'_>, (n, weight): (Option<u64>, f64)) {
        let caller = nest.caller.replace(node.id);
        let is_own = nest.assembler.is_loop_of(node.id, caller);
        let is_step = !is_own && !matches!(node.id, StaticId::Root | StaticId::Iteration | StaticId::Folded);
        if is_step {
            nest.path.push(node.id);
        }
        match &node.body {
            Body::Call { children, .. } => {
                let is_own = |child: &Node| nest.assembler.is_loop_of(child.id, Some(node.id));
                let own: Vec<bool> = children.iter().map(is_own).collect();
                // What is beside the iterations of a marked loop is inside of it, too.
                let beside = if own.contains(&true) { Some(n.unwrap_or(1)) } else { n };
                for pair in children.windows(2).filter(|_| n.is_none()) {
                    let (StaticId::FoundLoop { key, .. }, Some(region)) = (pair[0].id, pair[1].id.region())
                    else {
                        continue;
                    };
                    if region != key {
                        let path = nest.path.iter().copied().chain([pair[0].id]).collect();
                        nest.called.after.entry(path).or_default().insert(region);
                    }
                }
                for (child, is_own) in children.iter().zip(own) {
                    self.add_nested(child, nest, (if is_own { n } else { beside }, weight));
                }
            }
            Body::Loop(body) => {
                Called::add(nest.called.times.entry(nest.path.clone()).or_default(), node, weight);
                if let Some(n) = n {
                    let summary = self.get(nest.path.clone(), ALL, [body.source, body.cfg_source]);
                    summary.accepted += n * body.n_iterations();
                    summary.rejected += n * body.rejected;
                    summary.is_estimate |= body.is_estimate || nest.is_incomplete;
                    summary.n_clusters = summary.n_clusters.max(body.clusters.len() as u32);
                }
                let is_incomplete = nest.is_incomplete;
                let is_sum = |cluster: &IterationCluster| matches!(cluster.tree.body, Body::Profile { .. });
                nest.is_incomplete |= body.clusters.iter().any(is_sum);
                for cluster in &body.clusters {
                    let n = n.unwrap_or(1) * cluster.n;
                    self.add_nested(&cluster.tree, nest, (Some(n), weight * cluster.n as f64));
                }
                nest.is_incomplete = is_incomplete;
            }
            Body::Profile { .. } => {}
        }
        if is_step {
            nest.path.pop();
        }
        nest.caller = caller;
    }

    /// Adds the nested loops of another cluster of locations.
    fn add(&mut self, other: Loops) {
        for ((path, nth), loop_of_other) in other.0 {
            let summary = self.get(path, nth, [loop_of_other.source, loop_of_other.cfg_source]);
            summary.accepted = summary.accepted.max(loop_of_other.accepted);
            summary.rejected = summary.rejected.max(loop_of_other.rejected);
            summary.is_estimate |= loop_of_other.is_estimate;
            summary.n_clusters = summary.n_clusters.max(loop_of_other.n_clusters);
        }
    }

    fn into_summaries(self, called: &Called) -> Vec<LoopSummary> {
        let comes_again: BTreeSet<Vec<StaticId>> =
            self.0.keys().filter(|(_, nth)| 0 < *nth).map(|(path, _)| path.clone()).collect();
        let mut summaries: Vec<LoopSummary> = self.0.into_values().collect();
        for summary in &mut summaries {
            summary.called = called.by_time(&summary.path);
            if !comes_again.contains(&summary.path) {
                summary.followed_by = called.after.get(&summary.path).cloned().unwrap_or_default();
            }
        }
        let start = |summary: &LoopSummary| {
            summary
                .instances
                .iter()
                .filter_map(|instance| instance.iterations.first())
                .map(|row| row.start)
                .min()
        };
        summaries.sort_by_cached_key(|summary| (summary.is_nested, start(summary)));
        summaries
    }
}
