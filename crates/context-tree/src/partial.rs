//! Clusters of the locations folded so far.
//!
//! The members of a peer group are halved as in Algorithm 3, whichever have been folded:
//! a node of this fixed tree is complete when all of its members are there, and then holds
//! at most K clusters. Law: the clusters depend on the set of locations alone, not on the
//! order in which they came; with neighbours folded together there are about
//! `K · log2 N` trees.
//! This module does not compare or average trees itself.

use crate::alike_locations::Alike;
use crate::assemble::LoopRecord;
use crate::cluster::{merge_cluster_set, middle};
use crate::merger::Merger;
use crate::parked::{MemberRange, Parked};
use crate::sample_tree::LcaQuality;
use serde::{Deserialize, Serialize};

/// Clusters by their range of members: singletons, and the greatest complete nodes of the halving tree.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Halving {
    parked: Parked,
    /// Why some of what was put aside is lost, if it is.
    lost: Option<String>,
}

/// A node of the halving tree and the ranges it is made of.
struct Above {
    range: MemberRange,
    parts: Vec<MemberRange>,
}

impl Halving {
    /// Adds one location of a group of `n`.
    pub fn add(&mut self, location: Alike, n: u32, merger: &Merger<'_>) {
        let member = location.members[0];
        self.insert((member, member + 1), vec![location], n, merger);
    }

    /// Adds the locations of another part of the same group of `n`.
    pub fn merge(&mut self, mut other: Halving, n: u32, merger: &Merger<'_>) {
        self.lost = self.lost.take().or(other.lost.take());
        for range in other.parked.ranges() {
            let clusters = other.take(range);
            self.insert(range, clusters, n, merger);
            self.lost = self.lost.take().or(other.lost.take());
        }
    }

    fn take(&mut self, range: MemberRange) -> Vec<Alike> {
        self.parked.take(range).unwrap_or_else(|error| {
            self.lost = Some(error.to_string());
            Vec::new()
        })
    }

    fn insert(&mut self, range: MemberRange, clusters: Vec<Alike>, n: u32, merger: &Merger<'_>) {
        let k = merger.rule.k(n as usize);
        let (mut complete, mut clusters) = (range, clusters);
        while let Some(above) = above(complete, n, k)
            && above.parts.iter().all(|part| *part == complete || self.parked.contains(*part))
        {
            self.parked.put(complete, clusters);
            let parts: Vec<Alike> = above.parts.iter().flat_map(|part| self.take(*part)).collect();
            // At most K instances are not compared before they meet others.
            let is_leaf = above.range.1 - above.range.0 <= k as u32;
            clusters = if is_leaf { parts } else { unite(parts, k, merger) };
            complete = above.range;
        }
        self.parked.put(complete, clusters);
        self.parked.make_room();
    }

    /// At most K clusters of all locations; missing locations are skipped.
    ///
    /// # Errors
    /// The reason, if some of what was put aside cannot be read.
    pub fn finish(mut self, n: u32, merger: &Merger<'_>) -> Result<Vec<Alike>, String> {
        let k = merger.rule.k(n as usize);
        let mut clusters = Vec::new();
        for range in self.parked.ranges() {
            let is_first = clusters.is_empty();
            clusters.extend(self.take(range));
            if !is_first && 2 * k < clusters.len() {
                clusters = unite(clusters, k, merger);
            }
        }
        self.lost.map_or_else(|| Ok(unite(clusters, k, merger)), Err)
    }
}

/// The parent, in the halving tree over `n` members, of the node of a range; `None` for the whole.
fn above(range: MemberRange, n: u32, k: usize) -> Option<Above> {
    let mut at = (0, n);
    let mut found = None;
    while at != range {
        let (start, end) = at;
        if end - start <= k as u32 {
            found =
                Some(Above { range: at, parts: (start..end).map(|member| (member, member + 1)).collect() });
            break;
        }
        let middle = middle(start as usize, end as usize) as u32;
        let parts = vec![(start, middle), (middle, end)];
        found = Some(Above { range: at, parts });
        at = if range.0 < middle { (start, middle) } else { (middle, end) };
    }
    found
}

/// A cluster without its average.
struct Rest {
    members: Vec<u32>,
    loops: Vec<LoopRecord>,
    period: u64,
    quality: LcaQuality,
}

/// Algorithm 3's merge; the clusters are in order of their first members.
fn unite(clusters: Vec<Alike>, k: usize, merger: &Merger<'_>) -> Vec<Alike> {
    let mut rest: Vec<Option<Rest>> = Vec::with_capacity(clusters.len());
    let mut averages = Vec::with_capacity(clusters.len());
    for Alike { members, average, loops, period, quality } in clusters {
        rest.push(Some(Rest { members, loops, period, quality }));
        averages.push(average);
    }
    let mut take = |i: usize| rest[i].take().expect("a cluster is merged once");
    let united = merge_cluster_set(averages, k, merger).into_iter().map(|(indices, average)| {
        // The first member of the first cluster is the first of all.
        let Rest { mut members, loops, mut period, mut quality } = take(indices[0]);
        for &i in &indices[1..] {
            let other = take(i);
            members.extend(other.members);
            period = period.max(other.period);
            quality = quality.max(other.quality);
        }
        members.sort_unstable();
        Alike { members, average, loops, period, quality }
    });
    united.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::align::LookAhead;
    use crate::cluster::cluster;
    use crate::merger::Over;
    use crate::node::{Node, StaticId};
    use ouzel_testkit::Rng;

    fn tree(i: u32) -> Node {
        Node::leaf(StaticId::Root, [100.0, 200.0, 101.0, 350.0][i as usize % 4] + f64::from(i % 7))
    }

    #[test]
    fn any_order_gives_the_clusters_of_algorithm_3() {
        let merger = Merger::exact(&LookAhead, Over::Locations);
        for n in [1, 2, 3, 5, 8, 33, 100] {
            let expected: Vec<Vec<usize>> =
                cluster((0..n).map(tree).collect(), &merger).into_iter().map(|c| c.0.into_vec()).collect();
            let mut rng = Rng::new(u64::from(n));
            for _ in 0..4 {
                let mut order: Vec<u32> = (0..n).collect();
                rng.shuffle(&mut order);
                let mut parts = [Halving::default(), Halving::default()];
                for member in order {
                    let part = &mut parts[rng.below(2) as usize];
                    part.add(Alike::one(member, tree(member), Vec::new()), n, &merger);
                }
                let [mut all, other] = parts;
                all.merge(other, n, &merger);
                assert_eq!(all.parked.ranges(), [(0, n)]);
                let found = all.finish(n, &merger).expect("all is there");
                let found: Vec<Vec<usize>> =
                    found.iter().map(|c| c.members.iter().map(|&m| m as usize).collect()).collect();
                assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn neighbours_leave_few_trees() {
        let merger = Merger::exact(&LookAhead, Over::Locations);
        let (n, mut halving) = (1000, Halving::default());
        for member in 0..n - 1 {
            halving.add(Alike::one(member, tree(member), Vec::new()), n, &merger);
            let n_trees = halving.parked.n_trees();
            assert!(n_trees <= 10 * 11, "{n_trees} trees of {member}");
        }
        let clusters = halving.finish(n, &merger).expect("all is there");
        assert_eq!(clusters.iter().map(|cluster| cluster.members.len()).sum::<usize>(), 999);
    }
}
