//! The paper's Algorithm 4 as exact events. Published: clusters of 1, 15 and 496 of 512 processes.

use super::*;
use ouzel_model::TraceSource;
use ouzel_testkit::SerialisedOutput;
use ouzel_testkit::run;

#[test]
fn ranks_cluster_by_what_they_wait_in() {
    for (n_ranks, sizes) in [(64, (3, 60)), (128, (7, 120)), (512, (15, 496))] {
        let simulation = SerialisedOutput { n_ranks, exchange: 1000 };
        let (trace, _) = simulation.through_rank_0();
        let output = run(&trace, ContextTrees::default());
        let [group] = &output.groups[..] else { panic!("{:?}", output.groups.len()) };
        let members: Vec<Vec<usize>> =
            group.clusters.iter().map(|c| c.members.iter().map(|m| m.index()).collect()).collect();
        let near: Vec<usize> = (4..simulation.block()).step_by(4).collect();
        let far: Vec<usize> = (1..n_ranks).filter(|rank| !near.contains(rank)).collect();
        assert_eq!((near.len(), far.len()), sizes);
        // In the order of their first members.
        assert_eq!(members, [vec![0], far, near], "{n_ranks} ranks");
        // All ranks have the loop over arrays. It ends with the last exchange, as an iteration ends with its
        // synchronisation: what rank 0 receives last is a loop of its own.
        let arrays = &group.loops[0];
        assert_eq!(arrays.path[1].name(trace.definitions()), "loop~MPI_Alltoall");
        assert_eq!((arrays.is_nested, arrays.accepted, arrays.instances.len()), (false, 3, 3));
        let receives: Vec<_> = group.loops[1].instances.iter().map(|i| (i.cluster, i.n_iterations)).collect();
        assert_eq!(receives, [(0, n_ranks as u64 - 1)]);
    }
}
