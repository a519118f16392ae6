//! The loops of a flow graph and how they are nested.
//!
//! A loop is a set of blocks of which each can reach each other (a strongly connected component). Its header is where
//! it is entered; without the header, the components that are left are the loops inside. Where all entries lead to one
//! block, that block dominates the loop, and the loops are the natural ones, united by header. A loop with several
//! entries is irreducible; of them, the one at the lowest address is its header.
//!
//! Source: Steensgaard's nesting; for reducible graphs the same as natural loops by dominators (Ramalingam, TOPLAS'99).

use crate::flow::FlowGraph;

/// Loops deeper than this are not told apart: work grows with the depth.
const DEPTH_MAX: usize = 64;

/// A loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Loop {
    /// The block that an iteration begins with.
    pub header: usize,
    /// The blocks, those of inner loops too, ascending.
    pub blocks: Vec<usize>,
    /// The blocks that lead to the header, ascending.
    pub latches: Vec<usize>,
    /// The next loop around it.
    pub parent: Option<usize>,
    /// Whether there are several entries.
    pub is_irreducible: bool,
}

/// The loops, outer ones before inner ones.
pub(crate) fn find(graph: &FlowGraph) -> Vec<Loop> {
    let reached = graph.reached();
    let n = graph.blocks.len();
    let mut predecessors: Vec<Vec<usize>> = vec![Vec::new(); n];
    for (from, block) in graph.blocks.iter().enumerate() {
        block.successors.iter().for_each(|&to| predecessors[to].push(from));
    }
    let mut loops: Vec<Loop> = Vec::new();
    let mut search = Search::new(n);
    let mut open: Vec<(Vec<usize>, Option<usize>, usize)> = vec![((0..n).collect(), None, 0)];
    while let Some((blocks, parent, depth)) = open.pop() {
        let components = search.components(graph, &blocks);
        for mut component in components {
            component.sort_unstable();
            let is_in = |block: &usize| component.binary_search(block).is_ok();
            let is_loop =
                1 < component.len() || graph.blocks[component[0]].successors.contains(&component[0]);
            if !is_loop {
                continue;
            }
            let is_entered = |&&block: &&usize| {
                block == graph.entry || predecessors[block].iter().any(|from| !is_in(from) && reached[*from])
            };
            let entries: Vec<usize> = component.iter().filter(is_entered).copied().collect();
            let header = entries.first().copied().unwrap_or(component[0]);
            let latches = predecessors[header].iter().copied().filter(|from| is_in(from)).collect();
            let inner: Vec<usize> = component.iter().copied().filter(|&block| block != header).collect();
            if depth < DEPTH_MAX {
                open.push((inner, Some(loops.len()), depth + 1));
            }
            let is_irreducible = 1 < entries.len();
            loops.push(Loop { header, blocks: component, latches, parent, is_irreducible });
        }
    }
    loops
}

/// Tarjan's search for components in a part of the graph, without recursion.
struct Search {
    /// The search that a block was last in.
    epoch: Vec<u32>,
    now: u32,
    index: Vec<u32>,
    low: Vec<u32>,
    on_stack: Vec<bool>,
}

const NEW: u32 = u32::MAX;

impl Search {
    fn new(n: usize) -> Self {
        Search { epoch: vec![0; n], now: 0, index: vec![NEW; n], low: vec![0; n], on_stack: vec![false; n] }
    }

    /// The components among `blocks`.
    fn components(&mut self, graph: &FlowGraph, blocks: &[usize]) -> Vec<Vec<usize>> {
        self.now += 1;
        for &block in blocks {
            (self.epoch[block], self.index[block]) = (self.now, NEW);
        }
        let (mut components, mut stack, mut next) = (Vec::new(), Vec::new(), 0);
        let mut path: Vec<(usize, usize)> = Vec::new();
        for &root in blocks {
            if self.index[root] != NEW {
                continue;
            }
            path.push(self.enter(root, &mut next, &mut stack));
            while let Some((block, place)) = path.last_mut() {
                let block = *block;
                if let Some(&to) = graph.blocks[block].successors.get(*place) {
                    *place += 1;
                    let is_here = self.epoch[to] == self.now;
                    let is_new = is_here && self.index[to] == NEW;
                    path.extend(is_new.then(|| self.enter(to, &mut next, &mut stack)));
                    self.lower(block, to, is_here && !is_new);
                    continue;
                }
                path.pop();
                if let Some(&(caller, _)) = path.last() {
                    self.low[caller] = self.low[caller].min(self.low[block]);
                }
                if self.low[block] == self.index[block] {
                    let start = stack.iter().rposition(|&on| on == block).unwrap_or(0);
                    let component = stack.split_off(start);
                    component.iter().for_each(|&member| self.on_stack[member] = false);
                    components.push(component);
                }
            }
        }
        components
    }

    /// Notes that an open block leads to another, if that is open, too.
    fn lower(&mut self, block: usize, to: usize, is_seen: bool) {
        if is_seen && self.on_stack[to] {
            self.low[block] = self.low[block].min(self.index[to]);
        }
    }

    fn enter(&mut self, block: usize, next: &mut u32, stack: &mut Vec<usize>) -> (usize, usize) {
        (self.index[block], self.low[block], self.on_stack[block]) = (*next, *next, true);
        *next += 1;
        stack.push(block);
        (block, 0)
    }
}
