//! A simulated application, as exact events and as samples: the ranks that behave alike are found in both.

use super::*;
use ouzel_model::{Ticks, TraceSource};
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

/// Published: clusters of 1, 15 and 496 of 512 processes.
#[test]
fn an_uneven_start_does_not_split_the_clusters_of_512_ranks() {
    let simulated = OutputApplication::of_ranks(512, 9).run();
    let planted = planted(&simulated);
    assert_eq!(planted.iter().map(Vec::len).collect::<Vec<_>>(), [1, 496, 15]);
    let sampler = Sampler { jitter: 60, ..Sampler::every(1200, 7) };
    assert_eq!(clusters(&simulated.samples(&sampler)), planted);
}

#[test]
fn loops_say_how_they_are_known() {
    let simulated = OutputApplication::of_ranks(48, 2).run();
    let sampled = simulated.samples(&Sampler::every(500, 3));
    let loops = |trace: &ToyTrace| -> Vec<(String, LoopSource, LoopSource, u64)> {
        let output = run(trace, ContextTrees::default());
        let found = output.groups[0].loops.iter().filter(|found| !found.is_nested);
        let name = |found: &LoopSummary| found.path.last().unwrap().name(trace.definitions());
        found.map(|found| (name(found), found.source, found.cfg_source, found.accepted)).collect()
    };
    let marked = |n| ("loop@30".to_owned(), LoopSource::Marked, LoopSource::LearnedSampled, n);
    assert_eq!(loops(&sampled)[0], marked(14));
    let exact = &loops(&simulated.trace)[0];
    assert_eq!((exact.1, exact.2, exact.3), (LoopSource::Marked, LoopSource::TandemRepeat, 14));
    // Without the loops, they are found in the function that has them.
    let unmarked = simulated.unmarked();
    let found = loops(&unmarked.samples(&Sampler::every(500, 3)));
    let (name, source, cfg_source, n) = &found[0];
    assert_eq!(
        (name.as_str(), *source, *cfg_source),
        ("loop~main", LoopSource::TandemRepeat, LoopSource::LearnedSampled)
    );
    assert_eq!(*n, 14);
}

#[test]
fn differences_within_the_periods_do_not_count() {
    let simulated = OutputApplication::of_ranks(48, 2).run();
    let sampled = simulated.samples(&Sampler { jitter: 50, ..Sampler::every(500, 3) });
    let period =
        |given| run(&sampled, ContextTrees { period: given, ..ContextTrees::default() }).groups[0].period.0;
    let estimated = period(None);
    assert!((480..=520).contains(&estimated), "{estimated}");
    assert_eq!(period(Some(Ticks(700))), 700);
    assert_eq!(run(&simulated.trace, ContextTrees::default()).groups[0].period.0, 0);
    // With a period beyond all differences, all ranks are alike.
    let blunt = ContextTrees { period: Some(Ticks(1_000_000)), ..ContextTrees::default() };
    assert_eq!(run(&sampled, blunt).groups[0].clusters.len(), 1);
}

#[test]
fn samples_beside_mpi_cluster_as_planted() {
    for (n_ranks, seed) in [(48, 1), (64, 2)] {
        let simulated = OutputApplication::of_ranks(n_ranks, seed).run();
        for period in [240, 600, 1000, 3000] {
            let sampler =
                Sampler { jitter: period / 20, lost_per_mille: 20, ..Sampler::every(period, seed + 100) };
            let found = clusters(&simulated.samples_beside_mpi(&sampler));
            assert_eq!(found, planted(&simulated), "{n_ranks} ranks, seed {seed}, {sampler:?}");
        }
    }
}
