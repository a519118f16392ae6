//! The order of the children of a loop in the plainest way: a new relation for each turn, each edge in each row.

use super::learned::{CHILDREN_AHEAD, MAX_ROUNDS, MAX_TURNS, Sequence, cut, sequences};
use super::successors::Successors;
use super::{ControlFlow, learn, linear_extension};
use crate::node::{LoopSource, StaticId};
use ouzel_model::RegionId;
use ouzel_testkit::Rng;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;

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
        let starts = std::iter::once(0).chain(cuts.iter().copied());
        for piece in starts.zip(cuts).map(|(start, &end)| &children[start..end]) {
            let pairs = piece
                .iter()
                .enumerate()
                .flat_map(|(i, x)| piece[i + 1..].iter().take(CHILDREN_AHEAD).filter_map(|&y| x.zip(y)));
            pairs.for_each(|pair| *counts.entry(pair).or_default() += n_instances);
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
            let reach = |successors: &Successors, row| row == x || successors.has(row, x);
            (0..n).filter(|&row| reach(&successors, row)).collect::<Vec<_>>().into_iter().for_each(|row| {
                successors.add(row, y);
            });
        }
    }
    for vertex in 0..n {
        successors.add(n, vertex);
    }
    successors
}

/// [`learn`](super::learn).
fn plain(instances: &[Vec<StaticId>], source: LoopSource) -> ControlFlow {
    let (vertices, sequences) = sequences(instances.iter().map(Vec::as_slice));
    let cuts = sequences.iter().map(|sequence| cut_at_repeats(&sequence.children)).collect();
    let seen = settled(&vertices, &sequences, cuts);
    let order = match source {
        LoopSource::LearnedSampled => turned(&vertices, &sequences, seen),
        _ => seen,
    };
    ControlFlow::new(vertices, order, source)
}

/// A loop that calls so many things, some of them from known lines, and misses some in each iteration.
fn instances(rng: &mut Rng, n_vertices: u64) -> Vec<Vec<StaticId>> {
    let (is_lined, n_missed, n_swapped) = (rng.below(3), rng.below(100), rng.below(30));
    let id = |rng: &mut Rng, i: u64| {
        let region = RegionId((7 * i % 31) as u32);
        let line = (10 + (5 * i) % (n_vertices + 2) / (1 + is_lined)) as u32;
        match is_lined {
            0 => StaticId::Region(RegionId(i as u32)),
            1 if rng.below(40) == 0 => StaticId::Region(region),
            _ => StaticId::CallSite { region, line },
        }
    };
    let instance = |rng: &mut Rng| {
        let mut children = Vec::new();
        for _ in 0..1 + rng.below(12) {
            let kept: Vec<u64> = (0..n_vertices).filter(|_| n_missed <= rng.below(100)).collect();
            for i in kept {
                let i = if rng.below(100) < n_swapped { rng.below(n_vertices) } else { i };
                children.push(id(rng, i));
            }
        }
        let start = rng.below(children.len() as u64 + 1) as usize;
        children.split_off(start)
    };
    let all: Vec<_> = (0..1 + rng.below(4)).map(|_| instance(rng)).collect();
    all.into_iter().filter(|children| !children.is_empty()).collect()
}

#[test]
fn the_order_is_that_of_the_plainest_way() {
    let mut rng = Rng::new(16);
    for round in 0..600 {
        let n_vertices = [1, 2, 3, 5, 9, 31, 40, 63, 64, 65, 100, 150][round % 12];
        let instances = instances(&mut rng, n_vertices);
        for source in [LoopSource::LearnedSampled, LoopSource::LearnedExact] {
            let expected = plain(&instances, source);
            let found = learn(instances.iter().map(Vec::as_slice), source);
            assert_eq!(found.vertices, expected.vertices);
            assert_eq!(found.successors, expected.successors, "{round}, {source:?}: {instances:?}");
            assert_eq!(found.places, expected.places);
        }
    }
}
