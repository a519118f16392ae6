//! The losses of one slot: the same place in every iteration of its loops, as one tree.

use super::node::LossNode;
use super::thresholds::SelfTime;
use crate::imbalance::Loss;
use crate::phases::{Cell, PhaseGroup, Stat};
use crate::semantics::{Category, Class};
use ouzel_model::{CallPathId, CallPathTree, LocationId, Ticks};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// The key of a node of a slot: call path, collectives that left peers out, time outside of callees. Sorts in
/// pre-order, as the call paths of a result are numbered in it.
pub(super) type PathKey = (CallPathId, bool, bool);

/// Data of a node besides its loss.
#[derive(Debug, Clone, Default)]
pub(super) struct PathFacts {
    /// Number of cells that it was made from.
    pub n_cells: u64,
    pub n_visits: u64,
    /// The member that had most when most was lost; the smallest id among equals.
    pub max_at: Option<LocationId>,
    /// The member that had least when most was lost; the smallest id among equals.
    pub min_at: Option<LocationId>,
}

/// For each node and member, what was lost when the member was the extreme one.
type LostByExtreme = FxHashMap<(usize, LocationId), u128>;

/// The heaviest member of each node; the smallest id among equals.
fn heaviest(weights: LostByExtreme, mut put: impl FnMut(usize, LocationId)) {
    let mut weights: Vec<((usize, LocationId), u128)> = weights.into_iter().collect();
    weights.sort_unstable_by_key(|&((node, at), weight)| (node, weight, std::cmp::Reverse(at)));
    weights.into_iter().for_each(|((node, at), _)| put(node, at));
}

/// A node before its place in the tree is known.
struct SlotNode {
    key: PathKey,
    category: Category,
    loss: Loss,
    facts: PathFacts,
}

/// The losses of the phases of one slot.
#[derive(Debug)]
pub(super) struct SlotTree {
    pub keys: Vec<PathKey>,
    pub nodes: Vec<LossNode>,
    pub facts: Vec<PathFacts>,
}

/// The category of a call path; collectives that left peers out count as waiting.
pub(super) fn category(
    call_paths: &CallPathTree,
    classes: &[Class],
    call_path: CallPathId,
    subset: bool,
) -> Category {
    let of_region = |region: ouzel_model::RegionId| classes.get(region.index()).map(|class| class.category);
    match call_paths.region(call_path).and_then(of_region).unwrap_or(Category::Computation) {
        Category::Synchronization if subset => Category::Wait,
        category => category,
    }
}

/// The loss of a duration over all members of a group.
pub(super) fn loss_of(category: Category, stat: &Stat, n_locations: u64) -> Loss {
    Loss::of_extremes(category, n_locations, u128::from(stat.sum.0), stat.max, stat.min)
}

/// The duration of a cell that a node is about. Waiting is judged without callees: they are ignored, or do work
/// of their own.
pub(super) fn stat_of(cell: &Cell, category: Category, is_self: bool) -> &Stat {
    if is_self || category != Category::Computation { &cell.exclusive } else { &cell.inclusive }
}

impl SlotTree {
    /// Adds up the phases of a slot.
    pub fn new(
        group: &PhaseGroup,
        phases: &[u32],
        call_paths: &CallPathTree,
        classes: &[Class],
        self_time: SelfTime,
    ) -> Self {
        let n_locations = group.locations.len() as u64;
        let mut index: FxHashMap<PathKey, usize> = FxHashMap::default();
        let mut sums: Vec<SlotNode> = Vec::new();
        let (mut most, mut least) = (LostByExtreme::default(), LostByExtreme::default());
        for cell in phases.iter().flat_map(|&phase| group.cells_of(phase)) {
            let category = category(call_paths, classes, cell.call_path, cell.subset);
            for is_self in [false, true] {
                if is_self && (self_time == SelfTime::NotApart || category != Category::Computation) {
                    continue;
                }
                let stat = stat_of(cell, category, is_self);
                let loss = loss_of(category, stat, n_locations);
                let key = (cell.call_path, cell.subset, is_self);
                let i = *index.entry(key).or_insert(sums.len());
                if i == sums.len() {
                    let facts = PathFacts::default();
                    sums.push(SlotNode { key, category, loss: Loss::none(n_locations), facts });
                }
                sums[i].loss.add(&loss);
                sums[i].facts.n_cells += 1;
                sums[i].facts.n_visits += cell.n_visits;
                let weight = loss.imbalance.sum + loss.wait.sum;
                *most.entry((i, stat.max_at)).or_default() += weight;
                *least.entry((i, stat.min_at)).or_default() += weight;
            }
        }
        // The last one put is the heaviest.
        heaviest(most, |i, at| sums[i].facts.max_at = Some(at));
        heaviest(least, |i, at| sums[i].facts.min_at = Some(at));
        sums.sort_unstable_by_key(|sum| sum.key);
        SlotTree::link(sums, call_paths)
    }

    /// Finds parents. The time of a path outside of callees is a node only if it has callees here, and that of the
    /// root always.
    fn link(sums: Vec<SlotNode>, call_paths: &CallPathTree) -> Self {
        let paths = sums.iter().map(|sum| sum.key.0).filter(|&call_path| call_path != CallPathTree::ROOT);
        let has_callees: BTreeSet<CallPathId> = paths.map(|call_path| call_paths.parent(call_path)).collect();
        let mut tree = SlotTree { keys: Vec::new(), nodes: Vec::new(), facts: Vec::new() };
        let mut index: BTreeMap<PathKey, usize> = BTreeMap::new();
        for SlotNode { key, category, loss, facts } in sums {
            let (call_path, subset, is_self) = key;
            if is_self && call_path != CallPathTree::ROOT && !has_callees.contains(&call_path) {
                continue;
            }
            let above = match (is_self, call_path) {
                (true, _) => Some((call_path, subset, false)),
                (false, CallPathTree::ROOT) => None,
                (false, _) => Some((call_paths.parent(call_path), false, false)),
            };
            // Differences in the length of phases show in the synchronisation that ends them.
            let is_phase = call_path == CallPathTree::ROOT && !is_self;
            let loss = if is_phase { Loss::none(loss.wait.n_processes) } else { loss };
            index.insert(key, tree.nodes.len());
            tree.keys.push(key);
            tree.nodes.push(LossNode {
                parent: above.and_then(|key| index.get(&key).copied()),
                category,
                loss,
            });
            tree.facts.push(facts);
        }
        tree
    }

    /// The length of the phases, summed over all members.
    pub fn length(group: &PhaseGroup, phases: &[u32]) -> u128 {
        let roots = phases.iter().filter_map(|&phase| group.cells_of(phase).first());
        let roots = roots.filter(|cell| cell.call_path == CallPathTree::ROOT);
        roots.map(|cell| u128::from(cell.inclusive.sum.0)).sum()
    }
}

/// The part of a run that lies between two times.
pub(super) fn range_of(group: &PhaseGroup, phases: &[u32]) -> (Ticks, Ticks) {
    let all = || phases.iter().filter_map(|&phase| group.phases.get(phase as usize));
    let start = all().map(|phase| phase.start).min().unwrap_or(group.run_range.start);
    let end = all().map(|phase| phase.end).max().unwrap_or(group.run_range.start);
    (start, end)
}
