//! Control flow learned from the sequences of children of a loop, for use without a binary.
//!
//! A call site runs at most once in an iteration, as an inner loop is a node of its own: a repeated id is a new
//! iteration. The order of each pair inside of such pieces is counted; the majority is the order; with it, the
//! sequences are cut again, until nothing changes. Law: the result depends on the multiset of sequences alone.
//! Limitation: an iteration that ends with x and one after it that begins with y are taken for one iteration if x
//! comes before y in the code.
//!
//! Samples miss short calls, also the first of a loop, so what repeats in them shows the order around the loop but not
//! where an iteration begins: `S A S A S` is `SA SA S` or `S AS AS`. Of all turns of the order that need about as few
//! iterations, the one that follows the lines of the source is taken, else the one that begins with the least id:
//! locations that miss different calls agree.
//!
//! Source: no paper; replaces the control-flow graph of Algorithm 1.

use super::successors::Successors;
use super::{ControlFlow, linear_extension};
use crate::node::{LoopSource, StaticId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Call sites and inner loops of the largest loop body whose order is learned, most frequent first. Work grows with
/// the cube of their number.
const MAX_VERTICES: usize = 512;
/// How many children after a child are counted: bodies without repetition may be as long as the trace.
const CHILDREN_AHEAD: usize = 256;
/// Most turns of an order that are tried: loops that call more than some dozen things are rare.
const MAX_TURNS: usize = 32;
/// Most rounds of cutting and counting.
const MAX_ROUNDS: u32 = 10;

/// Learns the order of the children of one static loop from all its instances, over all locations. Of two that were
/// never seen in one iteration, the one further up in the source comes first, if both lines are known: call sites of
/// one loop are in one function. `source` is [`LoopSource::LearnedExact`] or [`LoopSource::LearnedSampled`].
pub(crate) fn learn<'s>(
    instances: impl IntoIterator<Item = &'s [StaticId]>,
    source: LoopSource,
) -> ControlFlow {
    let mut counts: BTreeMap<&[StaticId], u64> = BTreeMap::new();
    for children in instances {
        *counts.entry(children).or_default() += 1;
    }
    let vertices = vertices(&counts);
    let index = |id: &StaticId| vertices.binary_search(id).ok();
    let numbered = |(children, &n_instances): (&&[StaticId], &u64)| {
        let children = children.iter().map(index).collect();
        Sequence { children, n_instances }
    };
    let sequences: Vec<Sequence> = counts.iter().map(numbered).collect();
    let cuts = sequences.iter().map(|sequence| cut_at_repeats(&sequence.children)).collect();
    let seen = settled(&vertices, &sequences, cuts);
    let order = match source {
        LoopSource::LearnedSampled => turned(&vertices, &sequences, seen),
        _ => seen,
    };
    ControlFlow::new(vertices, order, source)
}

/// The children of instances of a loop that have the same.
struct Sequence {
    /// Their places among the vertices.
    children: Vec<Option<usize>>,
    n_instances: u64,
}

/// The order that the pieces between `cuts` show, cut again by what they show until nothing changes.
fn settled(vertices: &[StaticId], sequences: &[Sequence], cuts: Vec<Vec<usize>>) -> Successors {
    let mut cuts = cuts;
    let mut round = 0;
    loop {
        round += 1;
        let majority = majority(vertices, &count_pairs(sequences, &cuts));
        let again: Vec<_> = sequences.iter().map(|it| cut(&majority, vertices.len(), &it.children)).collect();
        if again == cuts || round == MAX_ROUNDS {
            return majority;
        }
        cuts = again;
    }
}

/// The turn of the order `seen` in samples that begins where iterations begin, or the order of lines.
fn turned(vertices: &[StaticId], sequences: &[Sequence], seen: Successors) -> Successors {
    let n = vertices.len();
    let n_pieces = |order: &Successors| -> u64 {
        sequences.iter().map(|it| it.n_instances * cut(order, n, &it.children).len() as u64).sum()
    };
    let key = |i: usize| (vertices[i].line().unwrap_or(u32::MAX), vertices[i]);
    let mut by_line: Vec<usize> = (0..n).collect();
    by_line.sort_unstable_by_key(|&i| key(i));
    let mut in_order: Vec<usize> = (0..n).collect();
    let places = linear_extension(vertices, &seen);
    in_order.sort_unstable_by_key(|&i| places[i]);
    let turns = (1..n.min(MAX_TURNS)).map(|first| turn(&seen, &in_order, first));
    let mut turns: Vec<(u64, Successors)> = turns.map(|order| (n_pieces(&order), order)).collect();
    turns.insert(0, (n_pieces(&seen), seen));
    let fewest = turns.iter().map(|(n_pieces, _)| *n_pieces).min().unwrap_or(0);
    // Each instance of the loop may have a part of an iteration at either end.
    let most = fewest + sequences.iter().map(|it| it.n_instances).sum::<u64>();
    let lined = by_line.iter().all(|&i| vertices[i].line().is_some());
    let lines = in_one_order(&by_line);
    if lined && n_pieces(&lines) <= most {
        return lines;
    }
    let is_good = |(_, (n_pieces, _)): &(usize, (u64, Successors))| *n_pieces <= most;
    let turns = turns.into_iter().enumerate().filter(is_good);
    let best = turns.min_by_key(|&(first, _)| in_order.get(first).map(|&i| key(i)));
    best.map_or(lines, |(_, (_, order))| order)
}

/// The order `seen` with what is before `first` in its linear extension moved behind the rest.
fn turn(seen: &Successors, in_order: &[usize], first: usize) -> Successors {
    let n = in_order.len();
    let mut order = Successors::new(n + 1, n);
    let (behind, ahead) = in_order.split_at(first);
    for part in [behind, ahead] {
        for (i, &x) in part.iter().enumerate() {
            part[i + 1..].iter().filter(|&&y| seen.has(x, y)).for_each(|&y| order.add(x, y));
        }
    }
    for &x in ahead {
        behind.iter().for_each(|&y| order.add(x, y));
    }
    (0..n).for_each(|vertex| order.add(n, vertex));
    order
}

/// Each before all that come behind it.
fn in_one_order(vertices: &[usize]) -> Successors {
    let n = vertices.len();
    let mut order = Successors::new(n + 1, n);
    for (i, &x) in vertices.iter().enumerate() {
        vertices[i + 1..].iter().for_each(|&y| order.add(x, y));
        order.add(n, x);
    }
    order
}

/// The ids that occur, ascending, at most [`MAX_VERTICES`]; each of the others begins an iteration.
fn vertices(instances: &BTreeMap<&[StaticId], u64>) -> Vec<StaticId> {
    let mut counts: BTreeMap<StaticId, u64> = BTreeMap::new();
    for (&children, n_instances) in instances {
        children.iter().for_each(|&id| *counts.entry(id).or_default() += n_instances);
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
fn count_pairs(sequences: &[Sequence], cuts: &[Vec<usize>]) -> FxHashMap<(usize, usize), u64> {
    let mut counts = FxHashMap::default();
    for (Sequence { children, n_instances }, cuts) in sequences.iter().zip(cuts) {
        let mut start = 0;
        for &end in cuts {
            let piece = &children[start..end];
            for (i, &x) in piece.iter().enumerate() {
                let behind = piece[i + 1..].iter().take(CHILDREN_AHEAD);
                for pair in behind.filter_map(|&y| x.zip(y)) {
                    *counts.entry(pair).or_default() += n_instances;
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
        Some((Reverse(margin), vertices[x].line(), vertices[y].line(), x, y))
    };
    let mut edges: Vec<_> = counts.iter().filter_map(wins).collect();
    edges.sort_unstable();
    let is_seen = |x, y| counts.contains_key(&(x, y)) || counts.contains_key(&(y, x));
    let lined = (0..n).filter_map(|i| Some((vertices[i].line()?, i))).collect::<Vec<_>>();
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
