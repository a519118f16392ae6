//! The call-path tree of a pass.
//!
//! Node `i` stores its parent and its region; parents come before children, so one
//! forward sweep hands values down and one backward sweep sums inclusive values.
//! Node 0 is the root: outside of every region. Law: `parent(i) < i` for every
//! other node, and no two children of a node have the same region, except that calls that the user did not select may
//! have nodes of their own ([`hidden_child`](CallPathTree::hidden_child)): analyses that see all calls use them to find
//! what is to be shown ([`shown`](CallPathTree::shown)). The tree holds no values.

use crate::{CallPathId, RegionId};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// Slots of the cache before the hash map. A program has a few thousand call paths; 4096 slots of 12 bytes stay in
/// the second-level cache and answer nearly every look-up.
const CACHE_SLOTS: usize = 4096;

/// Call paths, interned.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(from = "Nodes", into = "Nodes")]
pub struct CallPathTree {
    nodes: Vec<CallPathNode>,
    children: FxHashMap<CallPathNode, CallPathId>,
    cache: Box<[(CallPathNode, CallPathId); CACHE_SLOTS]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct CallPathNode {
    parent: CallPathId,
    /// With [`HIDDEN`] if the call is not selected: no more bytes for the sake of a rare case.
    region: RegionId,
}

/// The bit of a region that marks the call as hidden. Regions are counted from 0; no trace has 2^31.
const HIDDEN: u32 = 1 << 31;

#[derive(Serialize, Deserialize)]
struct Nodes(Vec<CallPathNode>);

impl From<Nodes> for CallPathTree {
    /// Nodes that break the law (a corrupt partial) are attached to the root.
    fn from(Nodes(nodes): Nodes) -> Self {
        let mut tree = CallPathTree::default();
        for (i, mut node) in nodes.into_iter().enumerate().skip(1) {
            if node.parent.index() >= i {
                node.parent = CallPathTree::ROOT;
            }
            tree.children.entry(node).or_insert(CallPathId::from_index(i));
            tree.nodes.push(node);
        }
        tree
    }
}

impl From<CallPathTree> for Nodes {
    fn from(tree: CallPathTree) -> Self {
        Nodes(tree.nodes)
    }
}

impl Default for CallPathTree {
    fn default() -> Self {
        let root = CallPathNode { parent: CallPathTree::ROOT, region: RegionId(u32::MAX) };
        CallPathTree {
            nodes: vec![root],
            children: FxHashMap::default(),
            cache: Box::new([(root, CallPathTree::ROOT); CACHE_SLOTS]),
        }
    }
}

impl CallPathTree {
    /// Outside every region.
    pub const ROOT: CallPathId = CallPathId(0);

    /// Number of nodes, the root included.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is only the root.
    pub fn is_empty(&self) -> bool {
        self.nodes.len() == 1
    }

    /// The path of `region` entered from `parent`; created if necessary.
    #[inline]
    pub fn child(&mut self, parent: CallPathId, region: RegionId) -> CallPathId {
        let node = CallPathNode { parent, region };
        let hash = parent.0.wrapping_mul(0x9E37_79B1) ^ region.0.wrapping_mul(0x85EB_CA6B);
        let slot = (hash ^ (hash >> 15)) as usize % CACHE_SLOTS;
        let (cached, path) = self.cache[slot];
        if cached == node {
            return path;
        }
        let path = self.intern(node);
        self.cache[slot] = (node, path);
        path
    }

    #[inline(never)]
    fn intern(&mut self, node: CallPathNode) -> CallPathId {
        let next = CallPathId::from_index(self.nodes.len());
        let path = *self.children.entry(node).or_insert(next);
        if path == next {
            self.nodes.push(node);
        }
        path
    }

    /// The same for a call that the user did not select.
    pub fn hidden_child(&mut self, parent: CallPathId, region: RegionId) -> CallPathId {
        self.child(parent, RegionId(region.0 | HIDDEN))
    }

    /// Whether the call is one that the user did not select.
    fn is_hidden(&self, path: CallPathId) -> bool {
        path != Self::ROOT && self.nodes[path.index()].region.0 & HIDDEN != 0
    }

    /// The caller's path; the root's is itself.
    pub fn parent(&self, path: CallPathId) -> CallPathId {
        self.nodes[path.index()].parent
    }

    /// The region at the end of the path; `None` for the root.
    pub fn region(&self, path: CallPathId) -> Option<RegionId> {
        (path != Self::ROOT).then(|| RegionId(self.nodes[path.index()].region.0 & !HIDDEN))
    }

    /// Every path but the root, parents before children.
    pub fn paths(&self) -> impl DoubleEndedIterator<Item = CallPathId> + use<> {
        (1..self.nodes.len()).map(CallPathId::from_index)
    }

    /// The regions from the outermost to the innermost.
    pub fn regions(&self, path: CallPathId) -> Vec<RegionId> {
        let mut regions = Vec::new();
        let mut at = path;
        while let Some(region) = self.region(at) {
            regions.push(region);
            at = self.parent(at);
        }
        regions.reverse();
        regions
    }

    /// Number of regions on the path.
    pub fn depth(&self, path: CallPathId) -> usize {
        let (mut depth, mut at) = (0, path);
        while at != Self::ROOT {
            depth += 1;
            at = self.parent(at);
        }
        depth
    }

    /// For each node, whether its region is open already in a caller: recursion.
    /// Inclusive time of a region is summed over the other nodes only.
    pub fn recursive(&self) -> Vec<bool> {
        let mut recursive = vec![false; self.len()];
        for path in self.paths() {
            let region = self.region(path);
            let mut at = self.parent(path);
            while at != Self::ROOT && !recursive[path.index()] {
                recursive[path.index()] = self.region(at) == region;
                at = self.parent(at);
            }
        }
        recursive
    }

    /// Adds the paths of `other` and returns the position of each of them here.
    pub fn absorb(&mut self, other: &CallPathTree) -> Remap {
        let mut new = vec![Self::ROOT; other.len()];
        for path in other.paths() {
            let node = other.nodes[path.index()];
            new[path.index()] = self.child(new[node.parent.index()], node.region);
        }
        Remap { new, n_after: self.len() }
    }

    /// The paths as they are shown: `stand_in` in place of hidden calls, one for those directly inside each other. In
    /// canonical order; also returns the position there of each path of this tree.
    pub fn shown(&self, stand_in: RegionId) -> (CallPathTree, Remap) {
        if !self.paths().any(|path| self.is_hidden(path)) {
            return (
                self.clone(),
                Remap { new: (0..self.len()).map(CallPathId::from_index).collect(), n_after: self.len() },
            );
        }
        let mut tree = CallPathTree::default();
        let mut new = vec![Self::ROOT; self.len()];
        for path in self.paths() {
            let CallPathNode { parent, region } = self.nodes[path.index()];
            let caller = new[parent.index()];
            new[path.index()] = match self.is_hidden(path) {
                true if tree.region(caller) == Some(stand_in) => caller,
                true => tree.child(caller, stand_in),
                false => tree.child(caller, region),
            };
        }
        let (tree, remap) = tree.into_canonical();
        new.iter_mut().for_each(|path| *path = remap.path(*path));
        let n_after = tree.len();
        (tree, Remap { new, n_after })
    }

    /// Renumbers depth first, children by region. Two trees with the same paths are then equal, node by node.
    #[must_use]
    pub fn into_canonical(self) -> (CallPathTree, Remap) {
        let mut children: Vec<Vec<CallPathId>> = vec![Vec::new(); self.len()];
        for path in self.paths() {
            children[self.parent(path).index()].push(path);
        }
        let mut canonical = CallPathTree::default();
        let mut new = vec![Self::ROOT; self.len()];
        let mut pending = vec![Self::ROOT];
        while let Some(path) = pending.pop() {
            if path != Self::ROOT {
                let node = self.nodes[path.index()];
                new[path.index()] = canonical.child(new[node.parent.index()], node.region);
            }
            let below = &mut children[path.index()];
            below.sort_unstable_by_key(|&child| std::cmp::Reverse(self.nodes[child.index()].region));
            pending.append(below);
        }
        let n_after = canonical.len();
        (canonical, Remap { new, n_after })
    }
}

/// The positions of the paths of one tree in another.
#[derive(Debug, Clone)]
pub struct Remap {
    new: Vec<CallPathId>,
    n_after: usize,
}

impl Remap {
    /// The new id of `old`.
    #[inline]
    pub fn path(&self, old: CallPathId) -> CallPathId {
        self.new[old.index()]
    }

    /// Number of nodes of the new tree.
    pub fn n_after(&self) -> usize {
        self.n_after
    }

    /// Both renumberings as one, this one first.
    #[must_use]
    pub fn then(&self, next: &Remap) -> Remap {
        let new = self.new.iter().map(|&path| next.path(path)).collect();
        Remap { new, n_after: next.n_after }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(paths: &[&[u32]]) -> (CallPathTree, Vec<CallPathId>) {
        let mut tree = CallPathTree::default();
        let ids = paths
            .iter()
            .map(|p| p.iter().fold(CallPathTree::ROOT, |at, &r| tree.child(at, RegionId(r))))
            .collect();
        (tree, ids)
    }

    fn all(tree: &CallPathTree) -> Vec<Vec<RegionId>> {
        tree.paths().map(|p| tree.regions(p)).collect()
    }

    #[test]
    fn canonical_trees_do_not_know_the_order_of_insertion() {
        let (a, _) = tree(&[&[1, 2], &[1, 3, 2], &[0]]);
        let (b, ids) = tree(&[&[0], &[1, 3], &[1, 2], &[1, 3, 2]]);
        let (a, _) = a.into_canonical();
        let (b, remap) = b.into_canonical();
        assert_eq!(all(&a), all(&b));
        assert_eq!(b.regions(remap.path(ids[3])), [RegionId(1), RegionId(3), RegionId(2)]);
        assert!(b.paths().all(|p| b.parent(p) < p));
    }

    #[test]
    fn absorbing_keeps_what_a_path_means() {
        let (mut a, _) = tree(&[&[1, 2]]);
        let (b, ids) = tree(&[&[2, 1], &[1, 2, 2]]);
        let remap = a.absorb(&b);
        for id in ids {
            assert_eq!(a.regions(remap.path(id)), b.regions(id));
        }
        assert_eq!(remap.n_after(), a.len());
    }

    #[test]
    fn hidden_calls_are_shown_as_one_stand_in() {
        let mut tree = CallPathTree::default();
        let [main, solve, recv, other] = [1, 2, 3, 9].map(RegionId);
        let in_main = tree.child(CallPathTree::ROOT, main);
        let in_solve = tree.hidden_child(in_main, solve);
        let in_recv = tree.hidden_child(in_solve, recv);
        let shown_recv = tree.child(in_solve, recv);
        assert_eq!(tree.regions(in_recv), [main, solve, recv]);
        assert_ne!(in_recv, shown_recv);
        let (canonical, canon) = tree.clone().into_canonical();
        for (tree, paths) in [
            (&tree, [in_solve, in_recv, shown_recv]),
            (&canonical, [in_solve, in_recv, shown_recv].map(|path| canon.path(path))),
        ] {
            let (shown, remap) = tree.shown(other);
            let found = paths.map(|path| shown.regions(remap.path(path)));
            assert_eq!(found, [vec![main, other], vec![main, other], vec![main, other, recv]]);
            assert_eq!(remap.n_after(), shown.len());
        }
    }

    #[test]
    fn recursion_is_a_region_below_itself() {
        let (t, ids) = tree(&[&[1], &[1, 2], &[1, 2, 1], &[3, 1]]);
        let recursive = t.recursive();
        assert_eq!(ids.iter().map(|p| recursive[p.index()]).collect::<Vec<_>>(), [false, false, true, false]);
    }

    #[test]
    fn a_cache_collision_does_not_confuse_paths() {
        let mut tree = CallPathTree::default();
        let first: Vec<_> = (0..20_000).map(|r| tree.child(CallPathTree::ROOT, RegionId(r))).collect();
        let again: Vec<_> = (0..20_000).map(|r| tree.child(CallPathTree::ROOT, RegionId(r))).collect();
        assert_eq!(first, again);
        assert_eq!(tree.len(), 20_001);
    }
}
