//! Waits of programs that are counted by hand.

use super::programs::{Ranks, chain, late_at_barrier, message_before_barrier, reports};
use super::*;

#[test]
fn a_chain_of_messages() {
    let (output, rows) = chain().waits();
    assert_eq!(
        rows,
        [
            "late_sender 1 main/MPI_Recv: 90 in 1 for 0 main/MPI_Send",
            "late_sender 2 main/MPI_Recv: 100 in 1 for 1 main/MPI_Send",
        ]
    );
    assert_eq!((output.total().0, output.run_time.0, output.n_ranks), (190, 110, 3));
}

#[test]
fn a_barrier_waits_for_its_last() {
    let (output, rows) = late_at_barrier().waits();
    let of = |rank: usize| format!("wait_at_barrier {rank} main/MPI_Barrier: 90 in 1 for 3 main/MPI_Barrier");
    assert_eq!(rows, [0, 1, 2].map(of));
    assert_eq!(output.total().0, 270);
}

#[test]
fn a_message_before_a_barrier() {
    let (output, rows) = message_before_barrier().waits();
    assert_eq!(
        rows,
        [
            "late_sender 1 main/MPI_Recv: 40 in 1 for 0 main/MPI_Send",
            "wait_at_barrier 0 main/MPI_Barrier: 20 in 1 for 1 main/MPI_Barrier",
            "wait_at_barrier 2 main/MPI_Barrier: 60 in 1 for 1 main/MPI_Barrier",
        ]
    );
    assert_eq!((output.total().0, output.run_time.0), (120, 80));
}

/// Even ranks send to the next one three times, with extra work before the late end.
fn pairs(late: usize, send: &str) -> WaitsOutput {
    let mut ranks = Ranks::new(4);
    for _ in 0..3 {
        for rank in 0..4 {
            ranks.work(rank, if rank % 2 == late { 12 } else { 5 });
        }
        ranks.message(0, 1, send);
        ranks.message(2, 3, send);
        ranks.barrier();
    }
    ranks.waits().0
}

#[test]
fn late_senders_and_receivers() {
    assert_eq!(sum(&pairs(0, "MPI_Send"), WaitClass::LateSender), 42);
    assert_eq!(pairs(0, "MPI_Send").total().0, 42);
    // A buffered send waits for nobody; then the barrier does.
    assert_eq!(sum(&pairs(1, "MPI_Send"), WaitClass::LateReceiver), 0);
    assert_eq!(pairs(1, "MPI_Send").possible().0, 0);
    assert_eq!(sum(&pairs(1, "MPI_Ssend"), WaitClass::LateReceiver), 42);
    assert_eq!(pairs(1, "MPI_Ssend").total().0, 42);
}

/// `n` ranks with `work` each, and one collective, three times.
fn repeated(call: &str, op: &str, work: &[u64], leaves: impl Fn(usize, &[u64]) -> u64 + Copy) -> WaitsOutput {
    let mut ranks = Ranks::new(work.len());
    for _ in 0..3 {
        work.iter().enumerate().for_each(|(rank, &work)| ranks.work(rank, work));
        ranks.collective(call, op, leaves);
        // What a repetition leaves behind does not reach the next one.
        let last = ranks.0.iter().map(|rank| rank.1).max().unwrap_or(0);
        for rank in 0..work.len() {
            let rest = last - ranks.0[rank].1;
            ranks.work(rank, rest);
        }
    }
    ranks.waits().0
}

fn last(_: usize, arrived: &[u64]) -> u64 {
    arrived.iter().copied().max().unwrap_or(0)
}

#[test]
fn imbalance_at_barriers_and_all_to_all() {
    // (high − low) · repetitions · half of the ranks.
    let work = [10, 10, 25, 25];
    assert_eq!(sum(&repeated("MPI_Barrier", "barrier", &work, last), WaitClass::WaitAtBarrier), 15 * 3 * 2);
    let work = [10, 25, 10, 25];
    assert_eq!(sum(&repeated("MPI_Alltoall", "alltoall", &work, last), WaitClass::WaitAtNxn), 15 * 3 * 2);
}

#[test]
fn late_roots_and_early_roots() {
    let root = |_: usize, arrived: &[u64]| arrived[1];
    for (call, op) in [
        ("MPI_Bcast", "bcast root 1"),
        ("MPI_Scatter", "scatter root 1"),
        ("MPI_Scatterv", "scatterv root 1"),
    ] {
        let output = repeated(call, op, &[5, 12, 5, 5], root);
        assert_eq!((sum(&output, WaitClass::LateBroadcast), output.total().0), (7 * 3 * 3, 7 * 3 * 3));
    }
    let of_root = |rank: usize, arrived: &[u64]| if rank == 1 { last(rank, arrived) } else { 0 };
    for (call, op) in
        [("MPI_Reduce", "reduce root 1"), ("MPI_Gather", "gather root 1"), ("MPI_Gatherv", "gatherv root 1")]
    {
        let output = repeated(call, op, &[12, 5, 12, 14], of_root);
        assert_eq!((sum(&output, WaitClass::WaitForLast), output.total().0), (9 * 3, 9 * 3));
        assert_eq!(sum(&output, WaitClass::EarlyReduce), 7 * 3);
    }
}

#[test]
fn messages_in_right_and_wrong_order() {
    let wrong = [WaitClass::WrongOrderSameSource, WaitClass::WrongOrderDifferentSource];
    let right = reports(5, 3, 10, |n| (1..n).collect()).waits().0;
    assert_eq!(right.total().0, 420);
    assert_eq!(wrong.map(|class| sum(&right, class)), [0, 0]);
    let of_root = |output: &WaitsOutput| -> Vec<u64> {
        let waits = output.waits.iter().filter(|it| it.location.0 == 0 && it.class == WaitClass::LateSender);
        waits.map(|it| it.ticks().0).collect()
    };
    assert_eq!(of_root(&right), [10; 12]);
    let reversed = reports(5, 3, 10, |n| (1..n).rev().collect()).waits().0;
    assert_eq!(reversed.total().0, 420);
    assert_eq!(of_root(&reversed), [40; 3]);
    assert_eq!(wrong.map(|class| sum(&reversed, class)), [0, 120]);
    // Workers wait (k − 1)·w at first, then (n − 2)·w.
    let of_worker = |output: &WaitsOutput, k: u32| -> u64 {
        output.waits.iter().filter(|it| it.location.0 == k).map(|it| it.ticks().0).sum()
    };
    for output in [right, reversed] {
        assert_eq!([1, 2, 3, 4].map(|k| of_worker(&output, k)), [60, 70, 80, 90]);
    }
}
