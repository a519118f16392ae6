//! Control flow given by edges, as figures and golden values of papers give it.

use super::ControlFlow;
use super::successors::Successors;
use crate::node::{LoopSource, StaticId};
use std::collections::BTreeSet;

impl ControlFlow {
    /// The control flow with these edges; `None` is the entry. Back edges are dropped: those that lead to a vertex
    /// on the path of a depth-first search, which begins at the entry, then at vertices that the entry does not
    /// reach, and takes successors in ascending order. Irreducible flow depends on that order, so it is fixed.
    ///
    /// Takes the square of the number of vertices in bits.
    pub(crate) fn from_edges(edges: &[(Option<StaticId>, StaticId)], source: LoopSource) -> Self {
        let ids = edges.iter().flat_map(|&(from, to)| from.into_iter().chain([to]));
        let vertices: Vec<StaticId> = ids.collect::<BTreeSet<_>>().into_iter().collect();
        let place = |id: StaticId| vertices.binary_search(&id).expect("ends of edges are vertices");
        let entry = vertices.len();
        let mut out: Vec<Vec<usize>> = vec![Vec::new(); entry + 1];
        for &(from, to) in edges {
            out[from.map_or(entry, place)].push(place(to));
        }
        for targets in &mut out {
            targets.sort_unstable();
            targets.dedup();
        }
        let successors = successors_without_back_edges(&out);
        ControlFlow::new(vertices, successors, source)
    }

    /// The call sites and inner loops, ascending.
    pub(crate) fn vertices(&self) -> &[StaticId] {
        &self.vertices
    }

    /// What can run after `before` (`None`: at the start) in one iteration, ascending.
    pub fn successors(&self, before: Option<StaticId>) -> Vec<StaticId> {
        self.vertices.iter().copied().filter(|&next| self.follows(before, next)).collect()
    }
}

/// The search of [`ControlFlow::from_edges`]; the last row of `out` is the entry's.
fn successors_without_back_edges(out: &[Vec<usize>]) -> Successors {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        OnPath,
        Done,
    }
    let entry = out.len() - 1;
    let mut successors = Successors::new(entry + 1, entry);
    let mut states = vec![State::New; out.len()];
    let mut path: Vec<(usize, usize)> = Vec::new();
    for root in std::iter::once(entry).chain(0..entry) {
        if states[root] != State::New {
            continue;
        }
        states[root] = State::OnPath;
        path.push((root, 0));
        while let Some((vertex, next)) = path.last_mut() {
            let vertex = *vertex;
            let Some(&target) = out[vertex].get(*next) else {
                states[vertex] = State::Done;
                path.pop();
                continue;
            };
            match states[target] {
                State::New => {
                    states[target] = State::OnPath;
                    // The edge is visited again when its target is done.
                    path.push((target, 0));
                }
                State::OnPath => *next += 1,
                State::Done => {
                    *next += 1;
                    successors.add(vertex, target);
                }
            }
        }
    }
    successors
}
