//! Where processes differ: the search for external bottlenecks, from the top of the region tree down.
//!
//! ```text
//! one cluster? ──► nothing
//! each region of depth 1: without it, do the processes cluster otherwise? ──► 1-CCR ──┐
//! none: each 2, 3, … of them together ──────────────────────────────► composite CCR ──┤
//! below a CCR: of all it holds, does this callee alone keep the clusters? ──► L-CCR ──┴► no CCR below: CCCR
//! ```
//!
//! CCR means critical code region, CCCR the core of one: where to look. Regions of depth 1 are compared among
//! themselves, as nested regions count their time twice; below, the clusters of the full vectors are the reference.
//! Partitions are compared, never labels.
//!
//! Law: the result does not depend on the number of threads. The number of composites has no bound; the search for them
//! ends at `MAX_MEMBERS` regions, `MAX_SUBSETS` composites or `MAX_EFFORT`, and reports that. Times, call paths
//! and causes are handled elsewhere.

use crate::clusters::{Clustering, Evaluated, NearPairs, Partition, evaluate, partition, severity};
use crate::threads::in_order;
use crate::vectors::Vectors;
use std::collections::BTreeSet;
use std::num::NonZeroUsize;

/// Maximum number of regions in a composite.
pub(crate) const MAX_MEMBERS: usize = 4;
/// Maximum number of composites tried.
pub(crate) const MAX_SUBSETS: u64 = 100_000;
/// Maximum number of vector components that the search for composites compares: some seconds on one core.
pub(crate) const MAX_EFFORT: u64 = 6_000_000_000;
/// Maximum number of composites tried between two checks of the effort.
const BATCH: u64 = 64;
/// Number of clusters from which pairs that may be near are listed once instead of searched each time.
const MANY_CLUSTERS: usize = 128;

/// Regions as the search sees them: a forest, and the time of each process in each region, callees included.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Forest {
    /// The caller of each region; callers come before callees. `None` at depth 1.
    pub parents: Vec<Option<usize>>,
    /// For each region, one value for each process.
    pub times: Vec<Vec<f64>>,
    /// Number of processes.
    pub n_processes: usize,
}

impl Forest {
    /// Number of regions.
    pub fn len(&self) -> usize {
        self.parents.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.parents.is_empty()
    }

    /// The regions of depth 1, and the callees of each region.
    pub fn children(&self) -> (Vec<usize>, Vec<Vec<usize>>) {
        let mut roots = Vec::new();
        let mut children = vec![Vec::new(); self.len()];
        for (region, parent) in self.parents.iter().enumerate() {
            match parent {
                Some(parent) => children[*parent].push(region),
                None => roots.push(region),
            }
        }
        (roots, children)
    }

    fn vectors(&self, regions: impl Iterator<Item = usize>) -> Vectors {
        let columns: Vec<&[f64]> = regions.map(|region| &self.times[region][..]).collect();
        Vectors::from_columns(self.n_processes, &columns)
    }
}

/// A critical code region: it makes processes differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ccr {
    /// The region; several for a composite.
    pub regions: Vec<usize>,
    /// Its depth in the search: 1 for regions of depth 1 and composites.
    pub level: u32,
    /// The position among the CCRs of the one it was found in.
    pub within: Option<usize>,
}

/// How the search for composites ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Composites {
    /// Composites that were tried.
    pub n_tried: u64,
    /// Whether any possible composites were not tried.
    pub is_truncated: bool,
}

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    /// Which processes are alike in all regions.
    pub partition: Partition,
    /// Which are alike in the regions of depth 1 alone.
    pub partition_of_depth_1: Partition,
    /// Severity of the differences in all regions.
    pub severity: f64,
    /// Critical code regions: each before those within it.
    pub ccr: Vec<Ccr>,
    /// Positions in `ccr` of those that contain no other: the external bottlenecks.
    pub cccr: Vec<usize>,
    /// Whether composites were needed, and how far the search for them got.
    pub composites: Option<Composites>,
}

/// Looks for the regions that make processes differ.
/// Composites are tried until `max_effort` components of vectors have been compared.
pub fn search(forest: &Forest, rule: Clustering, max_effort: u64, jobs: NonZeroUsize) -> Search {
    let (roots, children) = forest.children();
    let full = forest.vectors(0..forest.len());
    let reference = partition(&full, rule);
    let partition_of_depth_1 = partition(&forest.vectors(roots.iter().copied()), rule);
    let mut found = Search {
        severity: severity(&full, jobs),
        partition: reference,
        partition_of_depth_1,
        ccr: Vec::new(),
        cccr: Vec::new(),
        composites: None,
    };
    drop(full);
    if found.partition.n_clusters() <= 1 {
        return found;
    }
    let without =
        |left_out: &[usize]| forest.vectors(roots.iter().copied().filter(|r| !left_out.contains(r)));
    let timed: Vec<usize> =
        roots.iter().copied().filter(|&region| forest.times[region].iter().any(|&t| t != 0.0)).collect();
    let none = vec![0.0; forest.n_processes];
    let near = if is_scattered(&found.partition_of_depth_1) {
        NearPairs::new(&without(&[]), true, &none, jobs)
    } else {
        None
    };
    let is_ccr = in_order(timed.len(), jobs, |at| {
        let judged = evaluate(&without(&[timed[at]]), rule, Some(&found.partition_of_depth_1), near.as_ref());
        judged.partition.is_none()
    });
    drop(near);
    let mut tops: Vec<Vec<usize>> =
        timed.iter().zip(is_ccr).filter(|(_, is_ccr)| *is_ccr).map(|(&region, _)| vec![region]).collect();
    if tops.is_empty() {
        let (composites, hits) = composites(forest, &timed, rule, max_effort, jobs);
        found.composites = Some(composites);
        tops = hits;
    }
    let mut pending: Vec<Ccr> =
        tops.into_iter().rev().map(|regions| Ccr { regions, level: 1, within: None }).collect();
    let mut seen: BTreeSet<usize> = BTreeSet::new();
    while let Some(ccr) = pending.pop() {
        let at = found.ccr.len();
        let below: Vec<usize> = match ccr.regions[..] {
            [region] => children[region].clone(),
            _ => ccr.regions.clone(),
        };
        let hidden = subtrees(&children, &ccr.regions);
        let near = if below.len() > 1 && is_scattered(&found.partition) {
            let rest = forest.vectors((0..forest.len()).filter(|&region| !hidden[region]));
            NearPairs::new(&rest, false, &greatest_squares(forest, &below), jobs)
        } else {
            None
        };
        let keeps = in_order(below.len(), jobs, |child| {
            let kept = (0..forest.len()).filter(|&region| !hidden[region] || region == below[child]);
            evaluate(&forest.vectors(kept), rule, Some(&found.partition), near.as_ref()).partition.is_some()
        });
        let inner: Vec<usize> =
            below.iter().zip(keeps).filter(|(_, keeps)| *keeps).map(|(&b, _)| b).collect();
        if inner.is_empty() {
            found.cccr.push(at);
        }
        // Composites share members; each is followed once.
        let new = inner.into_iter().rev().filter(|&region| seen.insert(region));
        let level = ccr.level + 1;
        pending.extend(new.map(|region| Ccr { regions: vec![region], level, within: Some(at) }));
        found.ccr.push(ccr);
    }
    found
}

/// Whether there are many clusters, of fewer than two processes on average: then it takes long to see that a partition
/// stays the same, while a different one is detected early.
fn is_scattered(partition: &Partition) -> bool {
    let n = partition.n_clusters();
    MANY_CLUSTERS < n && partition.labels().len() < 2 * n
}

/// For each process, the square of its greatest time in one of the regions.
fn greatest_squares(forest: &Forest, regions: &[usize]) -> Vec<f64> {
    let greatest = |process: usize| {
        regions.iter().map(|&region| forest.times[region][process].powi(2)).fold(0.0, f64::max)
    };
    (0..forest.n_processes).map(greatest).collect()
}

/// For each region, whether it is in or below `tops`.
fn subtrees(children: &[Vec<usize>], tops: &[usize]) -> Vec<bool> {
    let mut inside = vec![false; children.len()];
    let mut pending = tops.to_vec();
    while let Some(region) = pending.pop() {
        inside[region] = true;
        pending.extend(&children[region]);
    }
    inside
}

/// The smallest composites of regions of depth 1 without which the processes cluster otherwise.
fn composites(
    forest: &Forest,
    roots: &[usize],
    rule: Clustering,
    max_effort: u64,
    jobs: NonZeroUsize,
) -> (Composites, Vec<Vec<usize>>) {
    let mut ended = Composites::default();
    let mut effort = 0;
    for size in 2..roots.len() {
        if size > MAX_MEMBERS {
            ended.is_truncated = true;
            break;
        }
        let mut hits = Vec::new();
        let mut next = Some((0..size).collect::<Vec<usize>>());
        while next.is_some() {
            // As many as the remaining effort allows, judged by those before; two at first.
            let each = effort / ended.n_tried.max(1);
            let room = max_effort.saturating_sub(effort).checked_div(each).unwrap_or(2);
            if ended.n_tried >= MAX_SUBSETS || effort >= max_effort {
                ended.is_truncated = true;
                return (ended, hits);
            }
            let mut batch: Vec<Vec<usize>> = Vec::new();
            while let Some(subset) = next.take_if(|_| (batch.len() as u64) < room.clamp(2, BATCH)) {
                next = successor(&subset, roots.len());
                batch.push(subset.iter().map(|&at| roots[at]).collect());
            }
            ended.n_tried += batch.len() as u64;
            let judged = in_order(batch.len(), jobs, |at| is_composite_ccr(forest, roots, &batch[at], rule));
            for (subset, (is_ccr, cost)) in batch.into_iter().zip(judged) {
                effort += cost;
                if is_ccr {
                    hits.push(subset);
                }
            }
        }
        if !hits.is_empty() {
            return (ended, hits);
        }
    }
    (ended, Vec::new())
}

/// Whether the processes cluster differently without the composite, and the effort to find out.
fn is_composite_ccr(forest: &Forest, roots: &[usize], composite: &[usize], rule: Clustering) -> (bool, u64) {
    let mut sum = vec![0.0; forest.n_processes];
    for &region in composite {
        for (sum, time) in sum.iter_mut().zip(&forest.times[region]) {
            *sum += time;
        }
    }
    let mut columns: Vec<&[f64]> =
        roots.iter().filter(|r| !composite.contains(r)).map(|&r| &forest.times[r][..]).collect();
    let without = Vectors::from_columns(forest.n_processes, &columns);
    columns.push(&sum);
    let with = Vectors::from_columns(forest.n_processes, &columns);
    let Evaluated { partition: reference, effort } = evaluate(&with, rule, None, None);
    let judged = evaluate(&without, rule, reference.as_ref(), None);
    (judged.partition.is_none(), effort + judged.effort)
}

/// The next subset of `0..n` of the same size, in the order of words.
fn successor(subset: &[usize], n: usize) -> Option<Vec<usize>> {
    let mut next = subset.to_vec();
    let size = subset.len();
    let place = (0..size).rev().find(|&place| next[place] < n - size + place)?;
    next[place] += 1;
    for after in place + 1..size {
        next[after] = next[after - 1] + 1;
    }
    Some(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOBS: NonZeroUsize = NonZeroUsize::MIN;

    fn forest(parents: &[Option<usize>], rows: &[&[f64]]) -> Forest {
        let times = (0..parents.len()).map(|region| rows.iter().map(|row| row[region]).collect()).collect();
        Forest { parents: parents.to_vec(), times, n_processes: rows.len() }
    }

    #[test]
    fn alike_processes_have_no_bottleneck() {
        let found =
            search(&forest(&[None, None], &[&[1.0, 2.0], &[1.01, 2.0]]), Clustering::Ball, MAX_EFFORT, JOBS);
        assert_eq!((found.partition.n_clusters(), found.ccr.len(), found.composites), (1, 0, None));
    }

    #[test]
    fn what_is_spread_over_more_than_a_composite_is_said() {
        // Rank 1 is slower everywhere: all of it must be removed before the difference disappears.
        let parents = [None; 7];
        let found = search(&forest(&parents, &[&[1.0; 7], &[2.0; 7]]), Clustering::Ball, MAX_EFFORT, JOBS);
        assert!(found.ccr.is_empty());
        assert_eq!(found.composites, Some(Composites { n_tried: 21 + 35 + 35, is_truncated: true }));
    }

    #[test]
    fn threads_do_not_show() {
        let rows: Vec<Vec<f64>> =
            (0..40).map(|p| (0..9).map(|r| f64::from((p * r * 7) % 5 + 1)).collect()).collect();
        let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
        let parents = [None, Some(0), Some(1), None, Some(3), None, None, None, Some(7)];
        let forest = forest(&parents, &rows);
        for rule in [Clustering::Ball, Clustering::Density] {
            let one = search(&forest, rule, MAX_EFFORT, JOBS);
            for jobs in [2, 3, 8] {
                assert_eq!(search(&forest, rule, MAX_EFFORT, NonZeroUsize::new(jobs).unwrap()), one);
            }
        }
    }

    #[test]
    fn subsets_come_in_order_and_once() {
        let mut next = Some(vec![0, 1, 2]);
        let mut all = Vec::new();
        while let Some(subset) = next {
            next = successor(&subset, 6);
            all.push(subset);
        }
        assert_eq!(all.len(), 20);
        assert!(all.is_sorted() && all.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
