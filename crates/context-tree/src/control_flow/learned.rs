//! Control flow learned from the sequences of children of a loop, for use without a binary.
//!
//! A call site runs at most once in an iteration, as an inner loop is a node of its own: a repeated id is a new
//! iteration. The order of each pair inside of such pieces is counted; the majority is the order; with it, the
//! sequences are cut again, until nothing changes. Law: the result depends on the multiset of sequences alone.
//! Limitation: an iteration that ends with x and one after it that begins with y are taken for one iteration if x
//! comes before y in the code.
//!
//! Source: no paper; replaces the control-flow graph of Algorithm 1.

use super::successors::Successors;
use super::{ControlFlow, line};
use crate::node::{LoopSource, StaticId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Call sites and inner loops of the largest loop body whose order is learned, most frequent first. Work grows with
/// the cube of their number.
const MAX_VERTICES: usize = 512;
/// How many children after a child are counted: bodies without repetition may be as long as the trace.
const CHILDREN_AHEAD: usize = 256;
/// Most rounds of cutting and counting.
const MAX_ROUNDS: u32 = 10;

/// Learns the order of the children of one static loop from all its instances, over all locations. Of two that were
/// never seen in one iteration, the one further up in the source comes first, if both lines are known: call sites of
/// one loop are in one function. `source` is [`LoopSource::LearnedExact`] or [`LoopSource::LearnedSampled`].
pub(crate) fn learn<'s>(
    instances: impl IntoIterator<Item = &'s [StaticId]>,
    source: LoopSource,
) -> ControlFlow {
    let instances: Vec<&[StaticId]> = instances.into_iter().collect();
    let vertices = vertices(&instances);
    let index = |id: &StaticId| vertices.binary_search(id).ok();
    let numbered = |children: &&[StaticId]| children.iter().map(index).collect::<Vec<Option<usize>>>();
    let sequences: Vec<Vec<Option<usize>>> = instances.iter().map(numbered).collect();
    let mut cuts: Vec<Vec<usize>> = sequences.iter().map(|children| cut_at_repeats(children)).collect();
    let mut round = 0;
    loop {
        round += 1;
        let majority = majority(&vertices, &count_pairs(&sequences, &cuts));
        let again: Vec<_> =
            sequences.iter().map(|children| cut(&majority, vertices.len(), children)).collect();
        if again == cuts || round == MAX_ROUNDS {
            return ControlFlow::new(vertices, majority, source);
        }
        cuts = again;
    }
}

/// The ids that occur, ascending, at most [`MAX_VERTICES`]; each of the others begins an iteration.
fn vertices(instances: &[&[StaticId]]) -> Vec<StaticId> {
    let mut counts: BTreeMap<StaticId, u64> = BTreeMap::new();
    for id in instances.iter().copied().flatten() {
        *counts.entry(*id).or_default() += 1;
    }
    let mut by_count: Vec<(Reverse<u64>, StaticId)> =
        counts.into_iter().map(|(id, n)| (Reverse(n), id)).collect();
    by_count.sort_unstable();
    let mut vertices: Vec<StaticId> = by_count.into_iter().take(MAX_VERTICES).map(|(_, id)| id).collect();
    vertices.sort_unstable();
    vertices
}

/// Where pieces without a repeated child end.
fn cut_at_repeats(children: &[Option<usize>]) -> Vec<usize> {
    let mut cuts = Vec::new();
    let mut seen = FxHashSet::default();
    for (i, child) in children.iter().enumerate() {
        if child.is_none() || !seen.insert(*child) {
            if 0 < i {
                cuts.push(i);
            }
            seen.clear();
            seen.insert(*child);
        }
    }
    cuts.push(children.len());
    cuts
}

/// The number of pieces in which x is before y, close enough.
fn count_pairs(sequences: &[Vec<Option<usize>>], cuts: &[Vec<usize>]) -> FxHashMap<(usize, usize), u64> {
    let mut counts = FxHashMap::default();
    for (children, cuts) in sequences.iter().zip(cuts) {
        let mut start = 0;
        for &end in cuts {
            let piece = &children[start..end];
            for (i, &x) in piece.iter().enumerate() {
                let behind = piece[i + 1..].iter().take(CHILDREN_AHEAD);
                for pair in behind.filter_map(|&y| x.zip(y)) {
                    *counts.entry(pair).or_default() += 1;
                }
            }
            start = end;
        }
    }
    counts
}

/// The order that most pieces show: edges by decreasing margin, then by lines, then by ids; one that would close a cycle
/// is left out.
fn majority(vertices: &[StaticId], counts: &FxHashMap<(usize, usize), u64>) -> Successors {
    let n = vertices.len();
    let against = |x, y| counts.get(&(y, x)).copied().unwrap_or(0);
    let wins = |(&(x, y), &n_for): (&(usize, usize), &u64)| {
        let margin = n_for.checked_sub(against(x, y)).filter(|&margin| 0 < margin && x != y)?;
        Some((Reverse(margin), line(vertices[x]), line(vertices[y]), x, y))
    };
    let mut edges: Vec<_> = counts.iter().filter_map(wins).collect();
    edges.sort_unstable();
    let is_seen = |x, y| counts.contains_key(&(x, y)) || counts.contains_key(&(y, x));
    let lined = (0..n).filter_map(|i| Some((line(vertices[i])?, i))).collect::<Vec<_>>();
    let mut by_line = Vec::new();
    for &(line_x, x) in &lined {
        let later = lined.iter().filter(|&&(line_y, y)| line_x < line_y && !is_seen(x, y));
        by_line.extend(later.map(|&(line_y, y)| (Reverse(0), Some(line_x), Some(line_y), x, y)));
    }
    by_line.sort_unstable();
    edges.extend(by_line);
    let mut successors = Successors::new(n + 1, n);
    for (_, _, _, x, y) in edges {
        if !successors.has(y, x) && !successors.has(x, y) {
            successors.add_everywhere(n, x, y);
        }
    }
    for vertex in 0..n {
        successors.add(n, vertex);
    }
    successors
}

/// Where iterations end by Algorithm 1; `entry` is the row of the entry.
fn cut(order: &Successors, entry: usize, children: &[Option<usize>]) -> Vec<usize> {
    let mut cuts = Vec::new();
    let mut before = Some(entry);
    for (i, &child) in children.iter().enumerate() {
        let follows = before.zip(child).is_some_and(|(before, child)| order.has(before, child));
        if !follows && 0 < i {
            cuts.push(i);
        }
        before = child;
    }
    cuts.push(children.len());
    cuts
}
