//! The paper's Algorithm 4, simulated: output that is serialised through rank 0, as exact events.
//!
//! Three times every rank exchanges an array with its local group and sends it to rank 0, which
//! receives and writes in the order of ranks. The local group of rank 0 waits for it in the
//! next exchange, all others in the send. Published: clusters of 1, 15 and 496 of 512 processes.

use super::super::*;
use ouzel_model::{Filter, TraceSource};
use ouzel_testkit::{ToyTrace, run};
use std::fmt::Write;

/// Ticks that rank 0 takes to write the array of one rank.
const WRITE: u64 = 100;
/// Ticks of an exchange among ranks that are all there, and of the barrier.
const EXCHANGE: u64 = 1000;
/// Ticks that rank 0 takes to write the grid.
const WRITE_GRID: u64 = 5000;

/// Ranks of which every fourth is in one local group.
fn block(n_ranks: usize) -> usize {
    (n_ranks / 4).min(64)
}

/// Ranks that exchange with `rank`.
fn group(rank: usize, n_ranks: usize) -> impl Iterator<Item = usize> {
    let block = block(n_ranks);
    let start = rank / block * block;
    (start + rank % 4..n_ranks.min(start + block)).step_by(4)
}

/// Calls in a row, each beginning where the one before it ended.
struct Rank {
    text: String,
    now: u64,
}

impl Rank {
    fn call(&mut self, name: &str, end: u64) {
        write!(self.text, ", enter {name} @{}, leave @{end}", self.now).unwrap();
        self.now = end;
    }
}

fn simulated(n_ranks: usize) -> ToyTrace {
    let start = |rank| Rank { text: format!("{rank}: enter main @0"), now: 0 };
    let mut ranks: Vec<Rank> = (0..n_ranks).map(start).collect();
    ranks[0].call("write_grid", WRITE_GRID);
    for _ in 0..3 {
        let arrived: Vec<u64> = ranks.iter().map(|rank| rank.now).collect();
        for (i, rank) in ranks.iter_mut().enumerate() {
            let last = group(i, n_ranks).map(|member| arrived[member]).max().unwrap();
            rank.call("MPI_Alltoall", last + EXCHANGE);
        }
        let (zero, others) = ranks.split_first_mut().unwrap();
        zero.call("write", zero.now + WRITE);
        for rank in others {
            let received = zero.now.max(rank.now);
            zero.call("MPI_Recv", received);
            zero.call("write", received + WRITE);
            rank.call("MPI_Send", received);
        }
    }
    let end = ranks.iter().map(|rank| rank.now).max().unwrap() + EXCHANGE;
    let mut text = String::new();
    for rank in &mut ranks {
        rank.call("MPI_Barrier", end);
        writeln!(text, "{}, leave @{end}", rank.text).unwrap();
    }
    ToyTrace::new(&text)
}

#[test]
fn ranks_cluster_by_what_they_wait_in() {
    for (n_ranks, sizes) in [(64, (3, 60)), (128, (7, 120)), (512, (15, 496))] {
        let trace = simulated(n_ranks);
        let output = run(&trace, ContextTrees::new(trace.definitions(), &Filter::default()));
        let [group] = &output.groups[..] else { panic!("{:?}", output.groups.len()) };
        let members: Vec<Vec<usize>> =
            group.clusters.iter().map(|c| c.members.iter().map(|m| m.index()).collect()).collect();
        let near: Vec<usize> = (4..block(n_ranks)).step_by(4).collect();
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
