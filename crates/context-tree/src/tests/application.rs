//! A simulated application, as exact events and as samples: the ranks that behave alike are found in both.

use super::*;
use ouzel_testkit::{OutputApplication, SampledLca, Sampler, SimulatedApplication, ToyTrace, run};

/// Clusters of ranks.
fn clusters(trace: &ToyTrace) -> Vec<Vec<usize>> {
    let output = run(trace, ContextTrees::default());
    let members = |c: &LocationCluster| c.members.iter().map(|member| member.index()).collect();
    let mut clusters: Vec<Vec<usize>> = output.groups[0].clusters.iter().map(members).collect();
    clusters.sort();
    clusters
}

fn planted(simulated: &SimulatedApplication) -> Vec<Vec<usize>> {
    let mut clusters = simulated.clusters.to_vec();
    clusters.sort();
    clusters
}

#[test]
fn samples_cluster_as_planted() {
    for n_ranks in [48, 64, 128] {
        for seed in 1..=3 {
            let simulated = OutputApplication::of_ranks(n_ranks, seed).run();
            let planted = planted(&simulated);
            assert_eq!(clusters(&simulated.trace), planted, "{n_ranks} ranks, seed {seed}, exact");
            // A fiftieth to a twelfth of the shortest iteration.
            for period in [240, 500, 1000] {
                let regular = Sampler { jitter: period / 20, ..Sampler::every(period, seed + 100) };
                let bounded = Sampler { lca: SampledLca::AtMost, ..regular };
                for sampler in [regular, bounded, Sampler { lost_per_mille: 50, ..regular }] {
                    let found = clusters(&simulated.samples(&sampler));
                    assert_eq!(found, planted, "{n_ranks} ranks, seed {seed}, {sampler:?}");
                }
            }
        }
    }
}
