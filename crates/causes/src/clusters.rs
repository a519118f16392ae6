//! Which processes are alike.
//!
//! Ball rule: for each process p in ascending order that is in no cluster yet, all such processes nearer to p than a
//! tenth of the length of p's vector, including p, are a cluster if there are at least two. Each of the rest is a
//! cluster of its own. Vectors at distance zero are always near, so vectors of only zeros are one cluster. Density
//! rule: processes are
//! alike if a chain of near ones connects them, near being a tenth of the longer vector; slow
//! drift over the ranks is one cluster by it, and several by the ball rule.
//!
//! Law: clusters are numbered by their smallest member, so two partitions are equal if their
//! labels are. Near vectors have near lengths (the triangle inequality), so only a window of
//! the vectors sorted by length is compared; what is left out cannot be near.
//! Source: the grouping of processes in AutoAnalyzer, with the count of members corrected (a
//! pair is a cluster, as its own results have it).

use crate::threads::in_order;
use crate::vectors::Vectors;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};

/// Share of a vector's length within which others are near.
pub const NEAR: f64 = 0.1;
/// Margin for rounding where lengths are used in place of distances.
const ROUNDING: f64 = 1e-9;

/// How processes are clustered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Clustering {
    /// Balls around processes, in ascending order.
    #[default]
    Ball,
    /// Chains of near processes.
    Density,
}

/// Processes in clusters: the cluster of each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    labels: Vec<u32>,
    n: u32,
}

impl Partition {
    /// The partition that `labels` describe, in whatever numbering.
    fn numbered(labels: &[u32]) -> Self {
        let mut names: Vec<u32> = vec![u32::MAX; labels.iter().map(|&l| l as usize + 1).max().unwrap_or(0)];
        let mut n = 0;
        let mut name = |label: u32| {
            let name = &mut names[label as usize];
            if *name == u32::MAX {
                *name = n;
                n += 1;
            }
            *name
        };
        let labels = labels.iter().map(|&label| name(label)).collect();
        Partition { labels, n }
    }

    /// The cluster of each process.
    pub fn labels(&self) -> &[u32] {
        &self.labels
    }

    /// Number of clusters.
    pub fn n_clusters(&self) -> usize {
        self.n as usize
    }

    /// The members of each cluster, ascending.
    pub fn members(&self) -> Vec<Vec<usize>> {
        let mut members = vec![Vec::new(); self.n as usize];
        for (process, &label) in self.labels.iter().enumerate() {
            members[label as usize].push(process);
        }
        members
    }
}

/// What a partition is compared with, and what it cost.
#[derive(Debug)]
pub(crate) struct Evaluated {
    /// The partition; `None` if it is not the one it was compared with.
    pub partition: Option<Partition>,
    /// Components of vectors that were looked at, at most: the same on every machine.
    pub effort: u64,
}

/// The partition of the vectors.
pub fn partition(vectors: &Vectors, rule: Clustering) -> Partition {
    evaluate(vectors, rule, None, None).partition.expect("there is nothing to differ from")
}

/// The partition of the vectors, abandoned as soon as it is known not to be `reference`. Only pairs of `near` are
/// compared where it is given.
pub(crate) fn evaluate(
    vectors: &Vectors,
    rule: Clustering,
    reference: Option<&Partition>,
    near: Option<&NearPairs>,
) -> Evaluated {
    match rule {
        Clustering::Ball => balls(vectors, reference, near),
        Clustering::Density => chains(vectors, reference, near),
    }
}

/// For each process, those that may be near it in any of several sets of vectors that differ only in some components.
/// Where almost no process is near another, finding that out for each set anew would take most of the time.
#[derive(Debug)]
pub(crate) struct NearPairs {
    lists: Vec<Vec<u32>>,
}

/// Maximum number of pairs kept; beyond, clusters are large, few of them are compared with all, and no list is needed.
const MAX_PAIRS: usize = 4_000_000;
/// Processes whose lists are made by one thread at a time.
const BLOCK: usize = 256;

impl NearPairs {
    /// The pairs that may be near when components are taken away from `vectors`: one that any may be if
    /// `leaves_one_out`; none, but one added of which the square is at most `added` of its process, otherwise. `None`
    /// if there are too many.
    pub(crate) fn new(
        vectors: &Vectors,
        leaves_one_out: bool,
        added: &[f64],
        jobs: NonZeroUsize,
    ) -> Option<Self> {
        let n = vectors.len();
        let lengths = vectors.lengths();
        let limits: Vec<f64> =
            lengths.iter().zip(added).map(|(l, more)| NEAR * NEAR * (l * l + more)).collect();
        let is_full = AtomicBool::new(false);
        let most = MAX_PAIRS / n.div_ceil(BLOCK).max(1);
        // Each pair once, at the smaller of the two.
        let blocks = in_order(n.div_ceil(BLOCK), jobs, |block| {
            let mut pairs = Vec::new();
            for p in block * BLOCK..((block + 1) * BLOCK).min(n) {
                let may = |&q: &usize| vectors.may_be_near(p, q, limits[p].max(limits[q]), leaves_one_out);
                pairs.extend((p + 1..n).filter(may).map(|q| (p as u32, q as u32)));
                if is_full.load(Ordering::Relaxed) || pairs.len() > most {
                    is_full.store(true, Ordering::Relaxed);
                    return None;
                }
            }
            Some(pairs)
        });
        let mut lists: Vec<Vec<u32>> = (0..n as u32).map(|p| vec![p]).collect();
        for (p, q) in blocks.into_iter().collect::<Option<Vec<_>>>()?.into_iter().flatten() {
            lists[p as usize].push(q);
            lists[q as usize].push(p);
        }
        Some(NearPairs { lists })
    }
}

const NONE: u32 = u32::MAX;

/// Vectors by length, without those that are in a cluster.
struct ByLength {
    lengths: Vec<f64>,
    order: Vec<u32>,
    n_gone: usize,
}

impl ByLength {
    fn new(vectors: &Vectors) -> Self {
        let lengths = vectors.lengths();
        let mut order: Vec<u32> = (0..vectors.len() as u32).collect();
        order.sort_by(|&a, &b| lengths[a as usize].total_cmp(&lengths[b as usize]).then(a.cmp(&b)));
        ByLength { lengths, order, n_gone: 0 }
    }

    /// Those whose length is at most `reach` from `length`.
    fn window(&self, length: f64, reach: f64) -> &[u32] {
        let reach = reach + ROUNDING * length;
        let below = self.order.partition_point(|&at| self.lengths[at as usize] < length - reach);
        let above = self.order.partition_point(|&at| self.lengths[at as usize] <= length + reach);
        &self.order[below..above]
    }

    /// Forgets vectors in clusters once they are most of all.
    fn drop_gone(&mut self, n: usize, labels: &[u32]) {
        self.n_gone += n;
        if 2 * self.n_gone > self.order.len() {
            self.order.retain(|&at| labels[at as usize] == NONE);
            self.n_gone = 0;
        }
    }
}

fn balls(vectors: &Vectors, reference: Option<&Partition>, near: Option<&NearPairs>) -> Evaluated {
    let n = vectors.len();
    let members = reference.map(Partition::members);
    let mut by_length = ByLength::new(vectors);
    let mut labels = vec![NONE; n];
    let mut effort = (n * vectors.n_dims()) as u64;
    let mut ball: Vec<u32> = Vec::new();
    for p in 0..n {
        if labels[p] != NONE {
            continue;
        }
        let reach = NEAR * by_length.lengths[p];
        let limit = reach * reach;
        ball.clear();
        let window = match near {
            Some(near) => &near.lists[p][..],
            None => by_length.window(by_length.lengths[p], reach),
        };
        effort += (window.len() * vectors.n_dims()) as u64;
        for &q in window.iter().filter(|&&q| labels[q as usize] == NONE) {
            let squared = vectors.squared_distance(p, q as usize, limit);
            if squared < limit || squared == 0.0 {
                ball.push(q);
            }
        }
        if ball.len() < 2 {
            continue;
        }
        if let (Some(reference), Some(members)) = (reference, &members) {
            let label = reference.labels[p];
            let is_same = members[label as usize].len() == ball.len()
                && ball.iter().all(|&q| reference.labels[q as usize] == label);
            if !is_same {
                return Evaluated { partition: None, effort };
            }
        }
        ball.iter().for_each(|&q| labels[q as usize] = p as u32);
        by_length.drop_gone(ball.len(), &labels);
    }
    for (p, label) in labels.iter_mut().enumerate().filter(|(_, label)| **label == NONE) {
        *label = p as u32;
    }
    compared(&labels, reference, effort)
}

fn chains(vectors: &Vectors, reference: Option<&Partition>, near: Option<&NearPairs>) -> Evaluated {
    if let Some(near) = near {
        return chains_of(vectors, reference, near);
    }
    let n = vectors.len();
    let by_length = ByLength::new(vectors);
    let mut above: Vec<u32> = (0..n as u32).collect();
    let mut effort = (n * vectors.n_dims()) as u64;
    for (place, &q) in by_length.order.iter().enumerate() {
        let length = by_length.lengths[q as usize];
        let reach = NEAR * length;
        let limit = reach * reach;
        // The others of the window are longer, and look down to this one.
        let shortest = length - reach - ROUNDING * length;
        for &p in by_length.order[..place].iter().rev() {
            if by_length.lengths[p as usize] < shortest {
                break;
            }
            let (a, b) = (root(&mut above, p), root(&mut above, q));
            if a == b {
                continue;
            }
            effort += vectors.n_dims() as u64;
            let squared = vectors.squared_distance(p as usize, q as usize, limit);
            if squared < limit || squared == 0.0 {
                above[a.max(b) as usize] = a.min(b);
            }
        }
    }
    let labels: Vec<u32> = (0..n as u32).map(|at| root(&mut above, at)).collect();
    compared(&labels, reference, effort)
}

fn chains_of(vectors: &Vectors, reference: Option<&Partition>, near: &NearPairs) -> Evaluated {
    let mut above: Vec<u32> = (0..vectors.len() as u32).collect();
    let mut effort = 0;
    for (p, (list, length)) in near.lists.iter().zip(vectors.lengths()).enumerate() {
        let limit = (NEAR * length) * (NEAR * length);
        effort += (list.len() * vectors.n_dims()) as u64;
        for &q in list {
            let squared = vectors.squared_distance(p, q as usize, limit);
            if squared < limit || squared == 0.0 {
                let (a, b) = (root(&mut above, p as u32), root(&mut above, q));
                above[a.max(b) as usize] = a.min(b);
            }
        }
    }
    let labels: Vec<u32> = (0..vectors.len() as u32).map(|at| root(&mut above, at)).collect();
    compared(&labels, reference, effort)
}

fn compared(labels: &[u32], reference: Option<&Partition>, effort: u64) -> Evaluated {
    let partition = Partition::numbered(labels);
    let is_same = reference.is_none_or(|reference| *reference == partition);
    Evaluated { partition: is_same.then_some(partition), effort }
}

/// The smallest known member of the cluster of `at`; the way there gets shorter.
fn root(above: &mut [u32], mut at: u32) -> u32 {
    while above[at as usize] != at {
        let next = above[above[at as usize] as usize];
        above[at as usize] = next;
        at = next;
    }
    at
}

/// Severity of the differences: greatest distance of two vectors / length of the shortest vector. 0 if all are zero,
/// infinite if one is and another is not.
///
/// A vector further from the mean than any other has bounds the distance of two: it is at most the sum of theirs, so
/// most pairs need no look.
pub fn severity(vectors: &Vectors, jobs: NonZeroUsize) -> f64 {
    let n = vectors.len();
    let dims = vectors.n_dims();
    let shortest = vectors.lengths().into_iter().fold(f64::INFINITY, f64::min);
    let mut mean = vec![0.0; dims];
    for at in 0..n {
        for (mean, value) in mean.iter_mut().zip(vectors.vector(at)) {
            *mean += value / n as f64;
        }
    }
    let radius = |at: usize| {
        vectors.vector(at).iter().zip(&mean).map(|(value, mean)| (value - mean).powi(2)).sum::<f64>().sqrt()
    };
    let mut by_radius: Vec<(f64, u32)> = (0..n).map(|at| (radius(at), at as u32)).collect();
    by_radius.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    // The furthest from the mean are a good first guess.
    let pair = |one: usize, other: usize| -> f64 {
        vectors.squared_distance(by_radius[one].1 as usize, by_radius[other].1 as usize, f64::INFINITY)
    };
    let guess = (1..n.min(BLOCK)).map(|other| pair(0, other)).fold(0.0, f64::max);
    let greatest_of = |block: usize| {
        let (mut greatest, mut squared) = (guess.sqrt(), guess);
        for one in block * BLOCK..((block + 1) * BLOCK).min(n) {
            for other in 0..one {
                if (by_radius[one].0 + by_radius[other].0) * (1.0 + ROUNDING) <= greatest {
                    break;
                }
                let distance = pair(one, other);
                if distance > squared {
                    (greatest, squared) = (distance.sqrt(), distance);
                }
            }
        }
        squared
    };
    let greatest = in_order(n.div_ceil(BLOCK), jobs, greatest_of).into_iter().fold(0.0, f64::max).sqrt();
    if greatest == 0.0 { 0.0 } else { greatest / shortest }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ouzel_testkit::Rng;

    fn columns(rows: &[Vec<f64>]) -> Vec<Vec<f64>> {
        (0..rows[0].len()).map(|dim| rows.iter().map(|row| row[dim]).collect()).collect()
    }

    fn vectors(rows: &[Vec<f64>]) -> Vectors {
        let columns = columns(rows);
        let columns: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
        Vectors::from_columns(rows.len(), &columns)
    }

    fn distance(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
    }

    fn length(a: &[f64]) -> f64 {
        distance(a, &vec![0.0; a.len()])
    }

    /// The rule as it is written, without windows.
    fn balls_as_written(rows: &[Vec<f64>]) -> Vec<u32> {
        let mut labels = vec![NONE; rows.len()];
        for p in 0..rows.len() {
            let near = |q: usize| {
                let d = distance(&rows[p], &rows[q]);
                d < NEAR * length(&rows[p]) || d == 0.0
            };
            let ball: Vec<usize> = (0..rows.len()).filter(|&q| labels[q] == NONE && near(q)).collect();
            if labels[p] == NONE && ball.len() >= 2 {
                ball.iter().for_each(|&q| labels[q] = p as u32);
            }
        }
        for (p, label) in labels.iter_mut().enumerate() {
            if *label == NONE {
                *label = p as u32;
            }
        }
        labels
    }

    fn chains_as_written(rows: &[Vec<f64>]) -> Vec<u32> {
        let n = rows.len();
        let mut labels: Vec<u32> = (0..n as u32).collect();
        let is_near = |p: usize, q: usize| {
            let d = distance(&rows[p], &rows[q]);
            d == 0.0 || d < NEAR * length(&rows[p]).max(length(&rows[q]))
        };
        for at in 0..n * n * n {
            let (p, q) = (at / n % n, at % n);
            if is_near(p, q) {
                let least = labels[p].min(labels[q]);
                (labels[p], labels[q]) = (least, least);
            }
        }
        labels
    }

    fn random_rows(rng: &mut Rng) -> Vec<Vec<f64>> {
        let (n, dims) = (1 + rng.below(24) as usize, 1 + rng.below(12) as usize);
        let kinds: Vec<Vec<f64>> =
            (0..4).map(|_| (0..dims).map(|_| rng.below(20) as f64).collect()).collect();
        (0..n)
            .map(|_| {
                let kind = &kinds[rng.below(4) as usize];
                kind.iter().map(|&x| x * (1.0 + rng.below(100) as f64 * 0.002)).collect()
            })
            .collect()
    }

    #[test]
    fn windows_leave_nothing_out() {
        let mut rng = Rng::new(7);
        for _ in 0..2000 {
            let rows = random_rows(&mut rng);
            let vectors = vectors(&rows);
            for (rule, expected) in
                [(Clustering::Ball, balls_as_written(&rows)), (Clustering::Density, chains_as_written(&rows))]
            {
                let found = partition(&vectors, rule);
                assert_eq!(found, Partition::numbered(&expected), "{rule:?} {rows:?}");
                let n = rows.len();
                let near = NearPairs::new(&vectors, true, &vec![0.0; n], NonZeroUsize::MIN).unwrap();
                assert_eq!(evaluate(&vectors, rule, None, Some(&near)).partition.as_ref(), Some(&found));
                let same = evaluate(&vectors, rule, Some(&found), None);
                assert_eq!(same.partition, Some(found));
            }
        }
    }

    #[test]
    fn severity_is_that_of_all_pairs() {
        let mut rng = Rng::new(8);
        for _ in 0..500 {
            let rows = random_rows(&mut rng);
            let mut greatest = 0.0_f64;
            for a in &rows {
                rows.iter().for_each(|b| greatest = greatest.max(distance(a, b)));
            }
            let shortest = rows.iter().map(|row| length(row)).fold(f64::INFINITY, f64::min);
            let expected = if greatest == 0.0 { 0.0 } else { greatest / shortest };
            let found = severity(&vectors(&rows), NonZeroUsize::MIN);
            let is_equal = found.to_bits() == expected.to_bits();
            assert!(is_equal || (found - expected).abs() <= 1e-12 * expected, "{found} {expected}");
        }
    }

    #[test]
    fn pairs_of_all_are_near_wherever_components_are_left_out_or_added() {
        let mut rng = Rng::new(9);
        for _ in 0..600 {
            let rows = random_rows(&mut rng);
            let columns = columns(&rows);
            let of = |kept: &dyn Fn(usize) -> bool| {
                let kept: Vec<&[f64]> =
                    (0..columns.len()).filter(|&at| kept(at)).map(|at| &columns[at][..]).collect();
                Vectors::from_columns(rows.len(), &kept)
            };
            let none = vec![0.0; rows.len()];
            let without_one = NearPairs::new(&of(&|_| true), true, &none, NonZeroUsize::MIN).unwrap();
            // Without the first half, and any one of it put back.
            let half = columns.len() / 2;
            let most = |p: usize| columns[..half].iter().map(|c| c[p] * c[p]).fold(0.0, f64::max);
            let added: Vec<f64> = (0..rows.len()).map(most).collect();
            let with_one = NearPairs::new(&of(&|at| half <= at), false, &added, NonZeroUsize::MIN).unwrap();
            for rule in [Clustering::Ball, Clustering::Density] {
                for one in 0..columns.len() {
                    let less = of(&|at| at != one);
                    let found = evaluate(&less, rule, None, Some(&without_one)).partition;
                    assert_eq!(found, Some(partition(&less, rule)));
                    let more = of(&|at| half <= at || at == one.min(half.max(1) - 1));
                    let found = evaluate(&more, rule, None, Some(&with_one)).partition;
                    assert!(half == 0 || found == Some(partition(&more, rule)));
                }
            }
        }
    }

    #[test]
    fn zeros_are_alike_and_pairs_are_clusters() {
        let rows = [vec![0.0], vec![5.0], vec![0.0], vec![5.1], vec![9.0]];
        assert_eq!(partition(&vectors(&rows), Clustering::Ball).labels(), [0, 1, 0, 1, 2]);
        assert!(severity(&vectors(&rows), NonZeroUsize::MIN).is_infinite());
        assert_eq!(
            severity(&vectors(&[vec![0.0], vec![0.0]]), NonZeroUsize::MIN).to_bits(),
            0.0_f64.to_bits()
        );
    }

    #[test]
    fn drift_is_one_cluster_by_density_only() {
        let rows: Vec<Vec<f64>> = (0..30).map(|i| vec![100.0 * 1.05_f64.powi(i)]).collect();
        assert_eq!(partition(&vectors(&rows), Clustering::Density).n_clusters(), 1);
        assert!(partition(&vectors(&rows), Clustering::Ball).n_clusters() > 5);
    }
}
