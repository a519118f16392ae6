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

/// How two children are ordered that were never seen in one iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unseen {
    /// Neither follows the other: the second begins an iteration.
    Incomparable,
    /// The line that is further up comes first, if both lines are known. Call sites of one loop are in one function.
    ByLine,
}

/// A learned order.
#[derive(Debug, Clone)]
pub struct Learned {
    /// The order as control flow.
    pub flow: ControlFlow,
    /// The evidence for each edge, strongest first.
    pub support: Vec<Support>,
    /// Pairs that were seen in both orders.
    pub n_contradicting: u64,
    /// Call sites left out because there are too many; each begins an iteration.
    pub n_left_out: u64,
    /// Rounds of cutting and counting until nothing changed; `None` if they did not settle.
    pub n_rounds: Option<u32>,
}

/// The evidence that `before` comes before `after`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Support {
    /// What comes first.
    pub before: StaticId,
    /// What comes later.
    pub after: StaticId,
    /// Iterations that show this order.
    pub n_for: u64,
    /// Iterations that show the other.
    pub n_against: u64,
}

/// Learns the order of the children of one static loop from all its instances, over all locations.
/// `source` is [`LoopSource::LearnedExact`] or [`LoopSource::LearnedSampled`].
pub fn learn<'s>(
    instances: impl IntoIterator<Item = &'s [StaticId]>,
    unseen: Unseen,
    source: LoopSource,
) -> Learned {
    let instances: Vec<&[StaticId]> = instances.into_iter().collect();
    let (vertices, n_left_out) = vertices(&instances);
    let index = |id: &StaticId| vertices.binary_search(id).ok();
    let numbered = |children: &&[StaticId]| children.iter().map(index).collect::<Vec<Option<usize>>>();
    let sequences: Vec<Vec<Option<usize>>> = instances.iter().map(numbered).collect();
    let mut cuts: Vec<Vec<usize>> = sequences.iter().map(|children| cut_at_repeats(children)).collect();
    let mut round = 0;
    loop {
        round += 1;
        let counts = count_pairs(&sequences, &cuts);
        let majority = Majority::new(&vertices, &counts, unseen);
        let again: Vec<_> = sequences.iter().map(|children| majority.cut(vertices.len(), children)).collect();
        let is_settled = again == cuts;
        if is_settled || round == MAX_ROUNDS {
            let n_contradicting = counts.keys().filter(|&&(x, y)| x < y && counts.contains_key(&(y, x)));
            return Learned {
                n_contradicting: n_contradicting.count() as u64,
                support: majority.support,
                flow: ControlFlow::new(vertices, majority.successors, source),
                n_left_out,
                n_rounds: is_settled.then_some(round),
            };
        }
        cuts = again;
    }
}

/// The ids that occur, ascending, at most [`MAX_VERTICES`], and the number of others.
fn vertices(instances: &[&[StaticId]]) -> (Vec<StaticId>, u64) {
    let mut counts: BTreeMap<StaticId, u64> = BTreeMap::new();
    for id in instances.iter().copied().flatten() {
        *counts.entry(*id).or_default() += 1;
    }
    let mut by_count: Vec<(Reverse<u64>, StaticId)> =
        counts.into_iter().map(|(id, n)| (Reverse(n), id)).collect();
    by_count.sort_unstable();
    let n_left_out = by_count.len().saturating_sub(MAX_VERTICES);
    let mut vertices: Vec<StaticId> = by_count.into_iter().take(MAX_VERTICES).map(|(_, id)| id).collect();
    vertices.sort_unstable();
    (vertices, n_left_out as u64)
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

/// The order that most pieces show.
struct Majority {
    successors: Successors,
    support: Vec<Support>,
}

impl Majority {
    /// Edges by decreasing margin, then by lines, then by ids; one that would close a cycle is left out.
    fn new(vertices: &[StaticId], counts: &FxHashMap<(usize, usize), u64>, unseen: Unseen) -> Self {
        let n = vertices.len();
        let against = |x, y| counts.get(&(y, x)).copied().unwrap_or(0);
        let wins = |(&(x, y), &n_for): (&(usize, usize), &u64)| {
            let margin = n_for.checked_sub(against(x, y)).filter(|&margin| 0 < margin && x != y)?;
            Some((Reverse(margin), line(vertices[x]), line(vertices[y]), x, y))
        };
        let mut edges: Vec<_> = counts.iter().filter_map(wins).collect();
        edges.sort_unstable();
        if unseen == Unseen::ByLine {
            let is_seen = |x, y| counts.contains_key(&(x, y)) || counts.contains_key(&(y, x));
            let lined = (0..n).filter_map(|i| Some((line(vertices[i])?, i))).collect::<Vec<_>>();
            let mut by_line = Vec::new();
            for &(line_x, x) in &lined {
                let later = lined.iter().filter(|&&(line_y, y)| line_x < line_y && !is_seen(x, y));
                by_line.extend(later.map(|&(line_y, y)| (Reverse(0), Some(line_x), Some(line_y), x, y)));
            }
            by_line.sort_unstable();
            edges.extend(by_line);
        }
        let mut successors = Successors::new(n + 1, n);
        let mut support = Vec::new();
        for (_, _, _, x, y) in edges {
            if successors.has(y, x) {
                continue;
            }
            if !successors.has(x, y) {
                successors.add_everywhere(n, x, y);
            }
            let n_for = counts.get(&(x, y)).copied().unwrap_or(0);
            let (before, after) = (vertices[x], vertices[y]);
            support.push(Support { before, after, n_for, n_against: against(x, y) });
        }
        for vertex in 0..n {
            successors.add(n, vertex);
        }
        Majority { successors, support }
    }

    /// Where iterations end by Algorithm 1.
    fn cut(&self, entry: usize, children: &[Option<usize>]) -> Vec<usize> {
        let mut cuts = Vec::new();
        let mut before = Some(entry);
        for (i, &child) in children.iter().enumerate() {
            let follows = before.zip(child).is_some_and(|(before, child)| self.successors.has(before, child));
            if !follows && 0 < i {
                cuts.push(i);
            }
            before = child;
        }
        cuts.push(children.len());
        cuts
    }
}
