//! The call tree of a profile.
//!
//! Node `i` stores its parent, its region and where it was called from. Nodes are in pre-order: a node, then its first
//! child with all below, then the next child.
//! Laws: `parent(i) < i`; the subtree of `i` is the range `i..end(i)`. Unlike the
//! [`CallPathTree`](crate::CallPathTree) of a pass, a node may have several children
//! of one region (call sites, parameters), there may be several roots, and there is
//! no node for "outside". The tree holds no values.

use crate::{CallPathId, ParameterValue, RegionId};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

/// One node: a region as called from one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallNode {
    /// The caller's node; `None` at a root.
    pub parent: Option<CallPathId>,
    /// What was called.
    pub region: RegionId,
    /// File of the call site, if known.
    pub site_file: Option<Arc<str>>,
    /// Line of the call site, if known.
    pub site_line: Option<u32>,
    /// Its parameters by name, where the tool distinguishes calls by them.
    pub parameters: Box<[(Arc<str>, ParameterValue)]>,
    /// The node's id in its format.
    pub native_id: u64,
}

impl CallNode {
    /// A call of `region` from an unknown place.
    pub fn new(parent: Option<CallPathId>, region: RegionId, native_id: u64) -> Self {
        CallNode { parent, region, site_file: None, site_line: None, parameters: Box::default(), native_id }
    }
}

/// The nodes, in pre-order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallTree {
    nodes: Vec<CallNode>,
    /// One past the last node of each subtree.
    ends: Vec<u32>,
    /// Number of callers of each node.
    depths: Vec<u32>,
}

/// A tree as it was built from nodes in any order.
#[derive(Debug)]
pub struct BuiltCallTree {
    /// The tree.
    pub tree: CallTree,
    /// For each of the given nodes, its position in the tree.
    pub ids: Vec<CallPathId>,
    /// Number of nodes that were their own callers or had a caller that is not there; they are roots now.
    pub n_cut: u64,
}

impl CallTree {
    /// Builds the tree from nodes in any order; `parent` is the position of the caller among `nodes`. Children and
    /// roots stay in the order given.
    pub fn build(mut nodes: Vec<CallNode>) -> BuiltCallTree {
        let n = nodes.len();
        let mut n_cut = 0;
        for (i, node) in nodes.iter_mut().enumerate() {
            if node.parent.is_some_and(|parent| parent.index() >= n || parent.index() == i) {
                node.parent = None;
                n_cut += 1;
            }
        }
        n_cut += cut_cycles(&mut nodes);
        let (order, depths) = pre_order(&nodes);
        let mut ids = vec![CallPathId(0); n];
        for (new, &old) in order.iter().enumerate() {
            ids[old as usize] = CallPathId::from_index(new);
        }
        let mut taken: Vec<Option<CallNode>> = nodes.into_iter().map(Some).collect();
        let mut tree = CallTree { nodes: Vec::with_capacity(n), ends: vec![0; n], depths };
        for &old in &order {
            let mut node = taken[old as usize].take().expect("an order names each node once");
            node.parent = node.parent.map(|parent| ids[parent.index()]);
            tree.nodes.push(node);
        }
        for i in (0..n).rev() {
            tree.ends[i] = tree.ends[i].max(i as u32 + 1);
            if let Some(parent) = tree.nodes[i].parent {
                tree.ends[parent.index()] = tree.ends[parent.index()].max(tree.ends[i]);
            }
        }
        BuiltCallTree { tree, ids, n_cut }
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The node of an id.
    pub fn node(&self, path: CallPathId) -> &CallNode {
        &self.nodes[path.index()]
    }

    /// Every node, callers before callees.
    pub fn nodes(&self) -> &[CallNode] {
        &self.nodes
    }

    /// Every id, callers before callees.
    pub fn paths(&self) -> impl DoubleEndedIterator<Item = CallPathId> + use<> {
        (0..self.nodes.len()).map(CallPathId::from_index)
    }

    /// The whole tree as a range.
    pub fn all(&self) -> Range<CallPathId> {
        CallPathId(0)..CallPathId::from_index(self.nodes.len())
    }

    /// The node and everything below it.
    pub fn subtree(&self, path: CallPathId) -> Range<CallPathId> {
        path..CallPathId(self.ends[path.index()])
    }

    /// Number of callers: 0 at a root.
    pub fn depth(&self, path: CallPathId) -> usize {
        self.depths[path.index()] as usize
    }

    /// Number of levels: one more than the greatest depth; 0 without nodes.
    pub fn n_levels(&self) -> usize {
        self.depths.iter().max().map_or(0, |&depth| depth as usize + 1)
    }

    /// The children of a node, in order.
    pub fn children(&self, path: CallPathId) -> impl Iterator<Item = CallPathId> + '_ {
        let end = self.ends[path.index()];
        let next = move |child: u32| (child < end).then_some(child);
        std::iter::successors(next(path.0 + 1), move |&child| next(self.ends[child as usize])).map(CallPathId)
    }

    /// The roots, in order.
    pub fn roots(&self) -> impl Iterator<Item = CallPathId> + '_ {
        let n = self.nodes.len() as u32;
        let next = move |root: u32| (root < n).then_some(root);
        std::iter::successors(next(0), move |&root| next(self.ends[root as usize])).map(CallPathId)
    }

    /// The nodes from the root to `path`.
    pub fn from_root(&self, path: CallPathId) -> Vec<CallPathId> {
        let mut nodes: Vec<CallPathId> =
            std::iter::successors(Some(path), |&at| self.node(at).parent).collect();
        nodes.reverse();
        nodes
    }

    /// For each node, whether its region is open already in a caller: recursion. Inclusive values of a region are
    /// summed over the other nodes only.
    pub fn recursive(&self) -> Vec<bool> {
        let n_regions = self.nodes.iter().map(|node| node.region.index() + 1).max().unwrap_or(0);
        let mut n_open = vec![0_u32; n_regions];
        let mut open: Vec<CallPathId> = Vec::new();
        let mut recursive = vec![false; self.len()];
        for path in self.paths() {
            while let Some(&last) = open.last().filter(|last| self.ends[last.index()] <= path.0) {
                n_open[self.node(last).region.index()] -= 1;
                open.pop();
            }
            let region = self.node(path).region.index();
            recursive[path.index()] = n_open[region] > 0;
            n_open[region] += 1;
            open.push(path);
        }
        recursive
    }
}

/// Makes the first node found of each cycle a root; returns how many.
fn cut_cycles(nodes: &mut [CallNode]) -> u64 {
    // 0: not seen; otherwise the walk that saw it.
    let mut seen = vec![0_u32; nodes.len()];
    let mut n_cut = 0;
    for start in 0..nodes.len() {
        let walk = start as u32 + 1;
        let mut at = start;
        while seen[at] == 0 {
            seen[at] = walk;
            let Some(parent) = nodes[at].parent else { break };
            if seen[parent.index()] == walk {
                nodes[at].parent = None;
                n_cut += 1;
                break;
            }
            at = parent.index();
        }
    }
    n_cut
}

/// The positions of the nodes in pre-order, with their depths in that order.
fn pre_order(nodes: &[CallNode]) -> (Vec<u32>, Vec<u32>) {
    const NONE: u32 = u32::MAX;
    let mut first_child = vec![NONE; nodes.len()];
    let mut next_sibling = vec![NONE; nodes.len()];
    let mut last_root = NONE;
    // Backwards, so that each list begins with the first of the siblings.
    for (i, node) in nodes.iter().enumerate().rev() {
        let first = node.parent.map_or(&mut last_root, |parent| &mut first_child[parent.index()]);
        next_sibling[i] = *first;
        *first = i as u32;
    }
    let (mut order, mut depths) = (Vec::with_capacity(nodes.len()), Vec::with_capacity(nodes.len()));
    let mut pending = vec![(last_root, 0)];
    while let Some((at, depth)) = pending.pop() {
        if at == NONE {
            continue;
        }
        order.push(at);
        depths.push(depth);
        pending.push((next_sibling[at as usize], depth));
        pending.push((first_child[at as usize], depth + 1));
    }
    (order, depths)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(parent: Option<u32>, region: u32) -> CallNode {
        CallNode::new(parent.map(CallPathId), RegionId(region), 0)
    }

    fn regions(tree: &CallTree) -> Vec<u32> {
        tree.nodes().iter().map(|node| node.region.0).collect()
    }

    #[test]
    fn nodes_in_any_order_become_pre_order() {
        // 10 → (11 → 13, 12), 20; given with children before parents.
        let nodes =
            vec![node(Some(2), 13), node(Some(3), 12), node(Some(3), 11), node(None, 10), node(None, 20)];
        let BuiltCallTree { tree, ids, n_cut } = CallTree::build(nodes);
        assert_eq!(n_cut, 0);
        assert_eq!(regions(&tree), [10, 12, 11, 13, 20], "siblings stay in the order given");
        assert_eq!(ids.iter().map(|id| id.0).collect::<Vec<_>>(), [3, 1, 2, 0, 4]);
        assert_eq!(tree.subtree(CallPathId(0)), CallPathId(0)..CallPathId(4));
        assert_eq!(tree.children(CallPathId(0)).map(|c| c.0).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(tree.roots().map(|c| c.0).collect::<Vec<_>>(), [0, 4]);
        assert_eq!(tree.from_root(CallPathId(3)).iter().map(|c| c.0).collect::<Vec<_>>(), [0, 2, 3]);
        assert_eq!((tree.depth(CallPathId(3)), tree.n_levels()), (2, 3));
    }

    #[test]
    fn cycles_and_lost_callers_become_roots() {
        let nodes =
            vec![node(Some(1), 0), node(Some(2), 1), node(Some(1), 2), node(Some(9), 3), node(Some(4), 4)];
        let BuiltCallTree { tree, n_cut, .. } = CallTree::build(nodes);
        assert_eq!((tree.len(), n_cut), (5, 3));
        assert!(tree.paths().all(|path| tree.node(path).parent.is_none_or(|parent| parent < path)));
    }

    #[test]
    fn recursion_is_a_region_below_itself() {
        let nodes = vec![node(None, 1), node(Some(0), 2), node(Some(1), 1), node(Some(0), 2), node(None, 2)];
        let tree = CallTree::build(nodes).tree;
        assert_eq!(regions(&tree), [1, 2, 1, 2, 2]);
        assert_eq!(tree.recursive(), [false, false, true, false, false]);
    }

    #[test]
    fn an_empty_tree_is_a_tree() {
        let tree = CallTree::build(Vec::new()).tree;
        assert!(tree.is_empty() && tree.roots().next().is_none() && tree.n_levels() == 0);
    }
}
