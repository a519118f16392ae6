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

use super::successors::{Growing, Successors};
use super::{ControlFlow, linear_extension};
use crate::node::{LoopSource, StaticId};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Call sites and inner loops of the largest loop body whose order is learned, most frequent first. Work grows with
/// the cube of their number.
const MAX_VERTICES: usize = 512;
/// How many children after a child are counted: bodies without repetition may be as long as the trace.
pub(super) const CHILDREN_AHEAD: usize = 256;
/// Most turns of an order that are tried: loops that call more than some dozen things are rare.
pub(super) const MAX_TURNS: usize = 32;
/// Most rounds of cutting and counting.
pub(super) const MAX_ROUNDS: u32 = 10;

/// Learns the order of the children of one static loop from all its instances, over all locations. Of two that were
/// never seen in one iteration, the one further up in the source comes first, if both lines are known: call sites of
/// one loop are in one function. `source` is [`LoopSource::LearnedExact`] or [`LoopSource::LearnedSampled`].
pub(crate) fn learn<'s>(
    instances: impl IntoIterator<Item = &'s [StaticId]>,
    source: LoopSource,
) -> ControlFlow {
    let (vertices, sequences) = sequences(instances);
    let n = vertices.len();
    if n < 2 {
        return ControlFlow::new(vertices, in_one_order(n, &[]), source);
    }
    let cuts = sequences.iter().map(|sequence| cut_at_repeats(n, &sequence.children)).collect();
    let seen = settled(&vertices, &sequences, cuts);
    let order = match source {
        LoopSource::LearnedSampled => turned(&vertices, &sequences, seen),
        _ => seen,
    };
    let places = places(&vertices, &order);
    ControlFlow { vertices, successors: order, places, source }
}

/// The children of instances of a loop that have the same.
pub(super) struct Sequence {
    /// Their places among the vertices.
    pub children: Vec<Option<usize>>,
    pub n_instances: u64,
}

/// The vertices of a loop with these instances, and the sequences of its children.
pub(super) fn sequences<'s>(
    instances: impl IntoIterator<Item = &'s [StaticId]>,
) -> (Vec<StaticId>, Vec<Sequence>) {
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
    let sequences = counts.iter().map(numbered).collect();
    (vertices, sequences)
}

/// The order that the pieces between `cuts` show, cut again by what they show until nothing changes.
fn settled(vertices: &[StaticId], sequences: &[Sequence], cuts: Vec<Vec<usize>>) -> Successors {
    let lines = Lines::new(vertices);
    let mut counts = PairCounts::new(vertices.len());
    let mut cuts = cuts;
    let mut round = 0;
    loop {
        round += 1;
        counts.count(sequences, &cuts);
        let majority = majority(&lines, &counts);
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
    let key = |i: usize| (vertices[i].line().unwrap_or(u32::MAX), vertices[i]);
    let mut by_line: Vec<usize> = (0..n).collect();
    by_line.sort_unstable_by_key(|&i| key(i));
    let mut in_order: Vec<usize> = (0..n).collect();
    let places = places(vertices, &seen);
    in_order.sort_unstable_by_key(|&i| places[i]);
    let n_turns = n.min(MAX_TURNS);
    let n_pieces = pieces_of_turns(sequences, &seen, &places, n_turns);
    let fewest = n_pieces.iter().min().copied().unwrap_or(0);
    // Each instance of the loop may have a part of an iteration at either end.
    let most = fewest + sequences.iter().map(|it| it.n_instances).sum::<u64>();
    let lined = by_line.iter().all(|&i| vertices[i].line().is_some());
    let lines = in_one_order(n, &by_line);
    let of_lines = || -> u64 {
        sequences.iter().map(|it| it.n_instances * cut(&lines, n, &it.children).len() as u64).sum()
    };
    if lined && of_lines() <= most {
        return lines;
    }
    let good = (0..n_turns).filter(|&first| n_pieces[first] <= most);
    match good.min_by_key(|&first| key(in_order[first])) {
        None => lines,
        Some(0) => seen,
        Some(first) => turn(&seen, &in_order, first),
    }
}

/// For each turn of the order `seen`, how many iterations it needs. The turn that begins at `first` puts all places from
/// there before those ahead of it, so a child that follows another stops doing so in the turns that part them, and one
/// behind another in the order follows it in these alone.
fn pieces_of_turns(sequences: &[Sequence], seen: &Successors, places: &[u32], n_turns: usize) -> Vec<u64> {
    let mut n_all = 0;
    // What a turn has more than the one before, or less.
    let mut steps = vec![0_i64; n_turns + 1];
    for Sequence { children, n_instances } in sequences {
        n_all += n_instances * children.len().max(1) as u64;
        for pair in children.windows(2) {
            let (Some(x), Some(y)) = (pair[0], pair[1]) else { continue };
            let n = *n_instances as i64;
            let [from, to] = [x, y].map(|i| places[i] as usize);
            let parting = |low: usize, high: usize| ((low + 1).min(n_turns), (high + 1).min(n_turns));
            if to < from {
                let (start, end) = parting(to, from);
                steps[start] -= n;
                steps[end] += n;
            } else if seen.has(x, y) {
                let (start, end) = parting(from, to);
                steps[0] -= n;
                steps[start] += n;
                steps[end] -= n;
            }
        }
    }
    let mut more = 0;
    let mut of_turn = |step: &i64| {
        more += step;
        n_all.saturating_add_signed(more)
    };
    steps[..n_turns].iter().map(&mut of_turn).collect()
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
    order.fill(n);
    order
}

/// Each before all that come behind it, of `n` vertices.
pub(super) fn in_one_order(n: usize, vertices: &[usize]) -> Successors {
    let mut order = Successors::new(n + 1, n);
    for pair in vertices.windows(2).rev() {
        order.add(pair[0], pair[1]);
    }
    order.fill(n);
    order
}

/// The place of each vertex in one linear extension of an order.
fn places(vertices: &[StaticId], order: &Successors) -> Vec<u32> {
    let n = vertices.len();
    let n_after: Vec<usize> = (0..n).map(|i| order.n_of(i)).collect();
    if n_after.iter().sum::<usize>() < n * (n - 1) / 2 {
        return linear_extension(vertices, order);
    }
    // Of any two one is before the other, so there is only one.
    n_after.into_iter().map(|n_after| (n - 1 - n_after) as u32).collect()
}

/// The ids that occur, ascending, at most [`MAX_VERTICES`]; each of the others begins an iteration.
fn vertices(instances: &BTreeMap<&[StaticId], u64>) -> Vec<StaticId> {
    let mut counts: FxHashMap<StaticId, u64> = FxHashMap::default();
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

/// Where pieces without a repeated child end, of `n` vertices.
fn cut_at_repeats(n: usize, children: &[Option<usize>]) -> Vec<usize> {
    let mut cuts = Vec::new();
    // For each vertex the place behind where it was last.
    let (mut start, mut seen) = (0, vec![0; n]);
    for (i, &child) in children.iter().enumerate() {
        if child.is_none_or(|child| start < seen[child]) {
            if 0 < i {
                cuts.push(i);
            }
            start = i;
        }
        if let Some(child) = child {
            seen[child] = i + 1;
        }
    }
    cuts.push(children.len());
    cuts
}

/// For each pair of vertices the number of pieces in which one is before the other, close enough.
struct PairCounts {
    n: usize,
    counts: Vec<u64>,
}

impl PairCounts {
    fn new(n: usize) -> Self {
        PairCounts { n, counts: vec![0; n * n] }
    }

    fn of(&self, x: usize, y: usize) -> u64 {
        self.counts[x * self.n + y]
    }

    /// Replaces the counts by those of these pieces.
    fn count(&mut self, sequences: &[Sequence], cuts: &[Vec<usize>]) {
        self.counts.fill(0);
        for (Sequence { children, n_instances }, cuts) in sequences.iter().zip(cuts) {
            let mut start = 0;
            for &end in cuts {
                self.add(&children[start..end], *n_instances);
                start = end;
            }
        }
    }

    /// Adds the pairs of a piece.
    fn add(&mut self, piece: &[Option<usize>], n_instances: u64) {
        for (i, x) in piece.iter().enumerate() {
            let Some(x) = *x else { continue };
            let row = &mut self.counts[x * self.n..][..self.n];
            for y in piece[i + 1..].iter().take(CHILDREN_AHEAD).filter_map(|y| *y) {
                row[y] += n_instances;
            }
        }
    }
}

/// The lines of vertices.
struct Lines {
    /// For each vertex the rank of its line among all; 0 without one.
    ranks: Vec<u64>,
    /// Vertices with one line, by line.
    groups: Vec<Vec<usize>>,
}

impl Lines {
    fn new(vertices: &[StaticId]) -> Self {
        let mut by_line: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (i, vertex) in vertices.iter().enumerate() {
            if let Some(line) = vertex.line() {
                by_line.entry(line).or_default().push(i);
            }
        }
        let groups: Vec<Vec<usize>> = by_line.into_values().collect();
        let mut ranks = vec![0; vertices.len()];
        for (rank, group) in (1..).zip(&groups) {
            group.iter().for_each(|&i| ranks[i] = rank);
        }
        Lines { ranks, groups }
    }
}

/// The order that most pieces show: edges by decreasing margin, then by lines, then by ids; one that would close a cycle
/// is left out.
fn majority(lines: &Lines, counts: &PairCounts) -> Successors {
    let n = counts.n;
    let mut edges: Vec<(Reverse<u64>, u64)> = Vec::new();
    for x in 0..n {
        for y in 0..n {
            let n_for = counts.of(x, y);
            if 0 < n_for && x != y && counts.of(y, x) < n_for {
                // At most `MAX_VERTICES`, so each takes less than 16 bits.
                let by = [lines.ranks[x], lines.ranks[y], x as u64, y as u64];
                let by = by.into_iter().fold(0, |by, next| by << 16 | next);
                edges.push((Reverse(n_for - counts.of(y, x)), by));
            }
        }
    }
    edges.sort_unstable();
    let mut order = Growing::new(n);
    for (_, by) in edges {
        order.add((by >> 16 & 0xffff) as usize, (by & 0xffff) as usize);
    }
    let is_seen = |x, y| 0 < counts.of(x, y) || 0 < counts.of(y, x);
    let mut later = vec![0_u64; n.div_ceil(64)];
    for (i, group) in lines.groups.iter().enumerate() {
        if let &[x] = group.as_slice() {
            later.fill(0);
            let all = lines.groups[i + 1..].iter().flatten();
            all.filter(|&&y| !is_seen(x, y)).for_each(|&y| later[y / 64] |= 1 << (y % 64));
            order.add_all(x, |word| later[word]);
            continue;
        }
        for later in &lines.groups[i + 1..] {
            for &x in group {
                later.iter().filter(|&&y| !is_seen(x, y)).for_each(|&y| order.add(x, y));
            }
        }
    }
    order.into_successors()
}

/// Where iterations end by Algorithm 1; `entry` is the row of the entry.
pub(super) fn cut(order: &Successors, entry: usize, children: &[Option<usize>]) -> Vec<usize> {
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
