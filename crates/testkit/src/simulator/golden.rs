//! Programs whose waits, delays and times are known, as they stand in the literature and in other tools' tests.
//!
//! Work is in regions `foo`, `bar` and `work`. All are exact on the default [`Machine`](super::Machine).

use super::program::{
    Call, CollectiveKind, Comm, Outgoing, Program, SendMode, Step, barrier, call, collective, from, recv,
    repeat, send, ssend, to, work,
};

/// G1: a chain of delays. Rank 0 computes long; rank 1 waits for it, rank 2 for rank 1.
pub fn chain() -> Program {
    Program::new(vec![
        [work("foo", 100), send(1)].concat(),
        [work("foo", 10), recv(0), work("foo", 10), send(2)].concat(),
        [work("foo", 10), recv(1)].concat(),
    ])
}

/// G2: the last of four ranks comes late to a barrier.
pub fn late_to_barrier() -> Program {
    let rank = |ticks| [work("foo", ticks), barrier()].concat();
    Program::new(vec![rank(10), rank(10), rank(10), rank(100)])
}

/// G3: a delay that goes on through a barrier.
pub fn through_a_collective() -> Program {
    Program::new(vec![
        [work("foo", 50), send(1), work("foo", 10), barrier()].concat(),
        [work("foo", 10), recv(0), work("foo", 30), barrier()].concat(),
        [work("foo", 20), barrier()].concat(),
    ])
}

/// G4: a wait that is shorter than the delays before it, because the waiter has one of its own.
pub fn compensated() -> Program {
    Program::new(vec![
        [work("foo", 60), work("bar", 20), send(1)].concat(),
        [work("foo", 30), work("bar", 40), recv(0)].concat(),
    ])
}

/// P1: two ranks that work in turn, in milliseconds.
pub fn in_turn() -> Program {
    Program::new(vec![
        [work("work", 1000), send(1), recv(1)].concat(),
        [work("work", 500), recv(0), work("work", 1000), send(0)].concat(),
    ])
}

/// A1: in pairs of ranks, the sending (even) one works longer.
pub fn ats_late_sender(n_ranks: usize, base: u64, extra: u64, n_repetitions: usize) -> Program {
    pairs(n_ranks, [base + extra, base], n_repetitions, SendMode::Standard)
}

/// A1: in pairs of ranks, the receiving (odd) one works longer.
pub fn ats_late_receiver(
    n_ranks: usize,
    base: u64,
    extra: u64,
    n_repetitions: usize,
    mode: SendMode,
) -> Program {
    pairs(n_ranks, [base, base + extra], n_repetitions, mode)
}

/// A1: the upper half of the ranks works longer before each barrier.
pub fn ats_imbalance_at_barrier(n_ranks: usize, low: u64, high: u64, n_repetitions: usize) -> Program {
    let rank = |rank| [work("work", if rank < n_ranks / 2 { low } else { high }), barrier()].concat();
    Program::new((0..n_ranks).map(|number| repeat(n_repetitions, &rank(number))).collect())
}

/// A1: every second rank works longer before each exchange of all with all.
pub fn ats_imbalance_at_alltoall(n_ranks: usize, low: u64, high: u64, n_repetitions: usize) -> Program {
    let exchange = || collective(CollectiveKind::Alltoall, 0, 0);
    let rank = |rank| [work("work", if rank % 2 == 0 { low } else { high }), exchange()].concat();
    Program::new((0..n_ranks).map(|number| repeat(n_repetitions, &rank(number))).collect())
}

/// A1: the root of a broadcast or scatter works longer.
pub fn ats_late_broadcast(
    n_ranks: usize,
    base: u64,
    root_extra: u64,
    root: usize,
    n_repetitions: usize,
) -> Program {
    let kinds = [CollectiveKind::Bcast, CollectiveKind::Scatter];
    rooted(n_ranks, kinds, [base + root_extra, base], root, n_repetitions)
}

/// A1: all but the root of a reduction or gather work longer.
pub fn ats_early_reduce(
    n_ranks: usize,
    root_work: u64,
    base_extra: u64,
    root: usize,
    n_repetitions: usize,
) -> Program {
    let kinds = [CollectiveKind::Reduce, CollectiveKind::Gather];
    rooted(n_ranks, kinds, [root_work, root_work + base_extra], root, n_repetitions)
}

/// A2: the lower half of four ranks waits for late senders while the upper half comes late to a barrier of its own.
pub fn ats_two_halves(extra: u64, n_repetitions: usize) -> Program {
    let half: Comm = 1;
    let outgoing = Outgoing { comm: half, ..to(1) };
    let incoming = super::Incoming { comm: half, ..from(0) };
    let at_barrier = || collective(CollectiveKind::Barrier, 2, 2);
    let steps = [
        [work("work", 10 + extra), call(Call::Send(outgoing))].concat(),
        [work("work", 10), call(Call::Recv(incoming))].concat(),
        [work("work", 10), at_barrier()].concat(),
        [work("work", 10 + 2 * extra), at_barrier()].concat(),
    ];
    let ranks = steps.iter().map(|steps| repeat(n_repetitions, steps)).collect();
    Program::new(ranks).with_comm(vec![0, 1]).with_comm(vec![2, 3])
}

/// In which order rank 0 of [`ats_order`] receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceiveOrder {
    /// As the messages are sent.
    Right,
    /// The last one first.
    Wrong,
}

/// A3: rank 0 starts a chain of workers; each works, starts the next and reports to rank 0.
pub fn ats_order(n_ranks: usize, ticks: u64, n_repetitions: usize, order: ReceiveOrder) -> Program {
    let mut workers: Vec<usize> = (1..n_ranks).collect();
    if order == ReceiveOrder::Wrong {
        workers.reverse();
    }
    let collect: Vec<Step> = workers.into_iter().flat_map(recv).collect();
    let worker = |rank: usize| {
        let next = if rank + 1 < n_ranks { send(rank + 1) } else { Vec::new() };
        [recv(rank - 1), work("work", ticks), next, send(0)].concat()
    };
    let mut steps = vec![[send(1), collect].concat()];
    steps.extend((1..n_ranks).map(worker));
    Program::new(steps.iter().map(|steps| repeat(n_repetitions, steps)).collect())
}

fn pairs(n_ranks: usize, work_of: [u64; 2], n_repetitions: usize, mode: SendMode) -> Program {
    let rank = |rank: usize| {
        let message = match (rank % 2, mode) {
            (0, SendMode::Standard) => send(rank + 1),
            (0, SendMode::Synchronous) => ssend(rank + 1),
            _ => recv(rank - 1),
        };
        repeat(n_repetitions, &[work("work", work_of[rank % 2]), message].concat())
    };
    Program::new((0..n_ranks).map(rank).collect())
}

/// Repetitions of two operations in turn; `work_of` root and others.
fn rooted(
    n_ranks: usize,
    kinds: [CollectiveKind; 2],
    work_of: [u64; 2],
    root: usize,
    n_repetitions: usize,
) -> Program {
    let rank = |rank: usize| {
        let ticks = work_of[usize::from(rank != root)];
        let one = |n: usize| [work("work", ticks), collective(kinds[n % 2], 0, root)].concat();
        (0..n_repetitions).flat_map(one).collect()
    };
    Program::new((0..n_ranks).map(rank).collect())
}
