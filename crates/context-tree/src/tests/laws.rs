//! Laws on random trees.

use super::*;
use crate::node::Gaps;
use ouzel_model::RegionId;
use ouzel_testkit::Rng;

/// A random tree of a construct: which children it has depends on the seed, so that instances are unlike.
fn tree(rng: &mut Rng, static_id: StaticId, depth: u32) -> Node {
    let time = |rng: &mut Rng| rng.below(1000) as f64 / 8.0;
    let n = if depth == 0 { 0 } else { rng.below(5) };
    let children = |rng: &mut Rng, n: u64| -> Vec<Node> {
        (0..n)
            .map(|_| {
                let child = id(rng.below(6) as u32);
                tree(rng, child, depth - 1)
            })
            .collect()
    };
    match rng.below(8) {
        0 if 0 < depth => {
            let iterations = children(rng, 1 + n);
            let mut node = loop_node(iterations, &LookAhead);
            node.id = static_id;
            node
        }
        1 => {
            let (self_time, visits) = (time(rng), rng.below(9) as f64);
            Node::profile(static_id, self_time, visits, children(rng, n))
        }
        _ => {
            let gaps: Gaps = (0..=n).map(|_| time(rng)).collect();
            Node::call(static_id, gaps, children(rng, n))
        }
    }
}

fn check(seed: u64, law: impl Fn(&mut Rng, Node, Node)) {
    for case in 0..400 {
        let mut rng = Rng::new(seed * 1000 + case);
        let (a, b) = (tree(&mut rng, id(9), 4), tree(&mut rng, id(9), 4));
        law(&mut rng, a, b);
    }
}

fn differs() -> [Differ<'static>; 3] {
    let exact = Differ::exact(&LookAhead);
    let sampled = Differ::sampled(&LookAhead, 10.0);
    [exact, sampled, Differ { dummies: Dummies::Whole, ..sampled }]
}

#[test]
fn differences_do_not_know_the_side() {
    check(1, |_, a, b| {
        for differ in differs() {
            assert_eq!(differ.diff(&a, &b).to_bits(), differ.diff(&b, &a).to_bits(), "{a:?} {b:?}");
            assert_eq!(differ.diff(&a, &a).to_bits(), 0.0_f64.to_bits());
            let ratio = differ.ratio(&a, &b);
            assert!((0.0..=1.0 + 1e-12).contains(&ratio), "{ratio}");
        }
    });
}

#[test]
fn a_difference_is_at_least_that_of_the_durations() {
    check(2, |_, a, b| {
        let differ = Differ::exact(&LookAhead);
        let least = (a.duration() - b.duration()).abs();
        assert!(least <= differ.diff(&a, &b) + 1e-9 * (a.duration() + b.duration()), "{a:?} {b:?}");
    });
}

/// Every duration is that which the statistics tell.
fn check_means(node: &Node) {
    let (mean, duration) = (node.stats.mean(), node.duration());
    assert!((mean - duration).abs() <= 1e-9 * (1.0 + duration), "{mean} instead of {duration} in {node:?}");
    assert!(
        node.stats.min <= mean + 1e-9 * (1.0 + mean) && mean <= node.stats.max + 1e-9 * (1.0 + mean),
        "{node:?}"
    );
    for child in node.children() {
        check_means(child);
    }
    if let Some(body) = node.as_loop() {
        for cluster in &body.clusters {
            check_means(&cluster.tree);
        }
    }
}

#[test]
fn the_average_lasts_the_weighted_mean() {
    check(3, |rng, a, b| {
        let (n_a, n_b) = (1 + rng.below(9), 1 + rng.below(9));
        for over in [Over::Locations, Over::Iterations] {
            let merger = Merger::exact(&LookAhead, over);
            let many = |node: &Node, n: u64| {
                let mut many = node.clone();
                for i in 1..n {
                    merger.merge(&mut many, i as f64, node, 1.0);
                }
                many
            };
            let mut merged = many(&a, n_a);
            merger.merge(&mut merged, n_a as f64, &many(&b, n_b), n_b as f64);
            let expected = (n_a as f64 * a.duration() + n_b as f64 * b.duration()) / (n_a + n_b) as f64;
            let found = merged.duration();
            assert!((found - expected).abs() <= 1e-12 * (1.0 + expected), "{found} instead of {expected}");
            let n = if over == Over::Locations { n_a + n_b } else { 1 };
            assert_eq!(u64::from(merged.stats.n), n);
            check_means(&merged);
        }
    });
}

#[test]
fn there_are_at_most_k_clusters_and_everyone_is_in_one() {
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let n = rng.below(40) as usize;
        let trees: Vec<Node> = (0..n).map(|_| tree(&mut rng, id(9), 2)).collect();
        let merger = Merger::exact(&LookAhead, Over::Locations);
        let clusters = cluster(trees.clone(), &merger);
        assert_eq!(clusters.is_empty(), n == 0);
        assert!(clusters.len() <= merger.rule.k(n));
        assert!(clusters.is_sorted_by_key(|(members, _)| members[0]));
        let mut members: Vec<usize> = clusters.iter().flat_map(|(members, _)| members.clone()).collect();
        members.sort_unstable();
        assert!(members.into_iter().eq(0..n));
        for (members, cluster) in &clusters {
            let mean = members.iter().map(|&i| trees[i].duration()).sum::<f64>() / members.len() as f64;
            assert!((cluster.tree.duration() - mean).abs() <= 1e-9 * (1.0 + mean));
        }
        assert_eq!(clusters, cluster(trees, &merger));
    }
}

#[test]
fn the_bound_is_the_logarithm() {
    let k = |n| ClusterRule::default().k(n);
    assert_eq!([0, 1, 2, 3, 4, 5, 8, 9, 512, 513].map(k), [2, 2, 2, 2, 2, 3, 3, 4, 9, 10]);
}

#[test]
fn equal_instances_are_one_cluster() {
    let trees = (0..2).map(|_| Node::leaf(id(1), 5.0)).collect();
    let merger = Merger::exact(&LookAhead, Over::Locations);
    let clusters = cluster(trees, &merger);
    assert_eq!(clusters.len(), 1);
    assert_eq!(clusters[0].0.as_slice(), [0, 1]);
    // Nothing takes no time.
    assert_eq!(cluster(vec![Node::leaf(id(1), 0.0); 3], &merger).len(), 1);
}

#[test]
fn loops_of_unequal_length_average_iteration_by_iteration() {
    let iterations = |n: usize, last: f64| {
        (0..n).map(|i| Node::leaf(StaticId::Iteration, if i + 1 == n { last } else { 10.0 })).collect()
    };
    let (mut a, b) = (loop_node(iterations(4, 10.0), &LookAhead), loop_node(iterations(5, 30.0), &LookAhead));
    Merger::exact(&LookAhead, Over::Locations).merge(&mut a, 1.0, &b, 1.0);
    let body = a.as_loop().unwrap();
    assert_eq!(body.map.values().collect::<Vec<_>>(), [0, 0, 0, 0, 1]);
    // The last iteration is missing on one of two locations.
    let last = &body.clusters[1].tree;
    assert_eq!((last.stats.n, last.stats.min, last.stats.max, last.duration()), (2, 0.0, 30.0, 15.0));
    assert_eq!(a.id, StaticId::FoundLoop { key: RegionId(0), level: 0 });
}
