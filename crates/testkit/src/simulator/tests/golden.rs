//! The simulator gives the printed values.

use crate::simulator::golden::{self, ReceiveOrder};
use crate::simulator::*;
use std::collections::BTreeMap;

fn run(program: &Program) -> Run {
    simulate(program, &Machine::default())
}

/// `late_sender MPI_Recv: 1 waits 90 from 10 for 0 in MPI_Send`, one for each wait.
pub(super) fn waits(run: &Run) -> Vec<String> {
    let line = |wait: &Wait| {
        let (class, call, of) = (wait.class.as_str(), wait.call_path.join("/"), wait.culprit_path.join("/"));
        let Wait { rank, ticks, start, culprit, .. } = wait;
        format!("{class} {call}: {rank} waits {ticks} from {start} for {culprit} in {of}")
    };
    run.waits.iter().map(line).collect()
}

/// `late_sender: 0 in foo costs 90`, one for each entry.
pub(super) fn costs(costs: &BTreeMap<DelayKey, u64>) -> Vec<String> {
    let line = |((class, rank, call_path), ticks): (&DelayKey, &u64)| {
        format!("{}: {rank} in {} costs {ticks}", class.as_str(), call_path.join("/"))
    };
    costs.iter().map(line).collect()
}

/// Costs by rank, over all classes and call paths.
fn by_rank(costs: &BTreeMap<DelayKey, u64>, n_ranks: usize) -> Vec<u64> {
    let mut sums = vec![0; n_ranks];
    for ((_, rank, _), ticks) in costs {
        sums[*rank] += ticks;
    }
    sums
}

fn twice_as_fast(program: &Program, region: &str, rank: usize) -> u64 {
    run(&program.changed(&Change::faster(Code::named(region).on(rank..=rank), 2))).run_time
}

#[test]
fn g1_a_chain_of_delays() {
    let program = golden::chain();
    let run = run(&program);
    assert_eq!(
        waits(&run),
        [
            "late_sender MPI_Recv: 1 waits 90 from 10 for 0 in MPI_Send",
            "late_sender MPI_Recv: 2 waits 100 from 10 for 1 in MPI_Send",
        ]
    );
    let delays = run.delays();
    assert_eq!(
        costs(&delays.short_term),
        ["late_sender: 0 in foo costs 90", "late_sender: 1 in foo costs 10"]
    );
    assert_eq!(costs(&delays.long_term), ["late_sender: 0 in foo costs 90"]);
    assert_eq!((delays.indirect, delays.propagating), (vec![0, 90], vec![90, 0]));
    assert_eq!((run.run_time, run.useful), (110, vec![100, 20, 10]));
    assert_eq!(simulate(&program, &Machine::default().ideal()).run_time, 110);
    assert_eq!(twice_as_fast(&program, "foo", 0), 60);
}

#[test]
fn g2_one_late_to_a_barrier() {
    let run = run(&golden::late_to_barrier());
    assert_eq!(run.waiting(WaitClass::WaitAtBarrier), [90, 90, 90, 0]);
    let delays = run.delays();
    assert_eq!(costs(&delays.short_term), ["wait_at_barrier: 3 in foo costs 270"]);
    assert_eq!(costs(&delays.long_term), [""; 0]);
}

#[test]
fn g3_a_delay_that_goes_on_through_a_barrier() {
    let program = golden::through_a_collective();
    let run = run(&program);
    assert_eq!(run.waiting(WaitClass::LateSender), [0, 40, 0]);
    assert_eq!(run.waiting(WaitClass::WaitAtBarrier), [20, 0, 60]);
    let delays = run.delays();
    assert_eq!(by_rank(&delays.short_term, 3), [40, 40, 0]);
    assert_eq!(costs(&delays.long_term), ["wait_at_barrier: 0 in foo costs 40"]);
    assert_eq!((run.total_wait(), run.run_time, run.useful), (120, 80, vec![60, 40, 20]));
    assert_eq!(twice_as_fast(&program, "foo", 0), 55);
    assert_eq!(twice_as_fast(&program, "foo", 1), 65);
}

#[test]
fn g4_a_delay_that_is_partly_compensated() {
    let run = run(&golden::compensated());
    assert_eq!(waits(&run), ["late_sender MPI_Recv: 1 waits 10 from 70 for 0 in MPI_Send"]);
    assert_eq!(costs(&run.delays().short_term), ["late_sender: 0 in foo costs 10"]);
}

#[test]
fn p1_two_ranks_in_turn() {
    let program = golden::in_turn();
    let run = run(&program);
    assert_eq!(run.waiting(WaitClass::LateSender), [1000, 500]);
    assert_eq!((run.run_time, run.useful), (2000, vec![1000, 1500]));
    // Serialisation 1500 / 2000 = 0.75, transfer 2000 / 2000 = 1.
    assert_eq!(simulate(&program, &Machine::default().ideal()).run_time, 2000);
}

#[test]
fn a1_messages_of_ats() {
    let late_sender = run(&golden::ats_late_sender(4, 10, 7, 3));
    assert_eq!(late_sender.waiting(WaitClass::LateSender), [0, 21, 0, 21]);
    assert_eq!(late_sender.total_wait(), 42);
    let eager = run(&golden::ats_late_receiver(4, 10, 7, 3, SendMode::Standard));
    assert_eq!(eager.total_wait(), 0);
    let program = golden::ats_late_receiver(4, 10, 7, 3, SendMode::Synchronous);
    assert_eq!(run(&program).waiting(WaitClass::LateReceiver), [21, 0, 21, 0]);
    let standard = golden::ats_late_receiver(4, 10, 7, 3, SendMode::Standard);
    let rendezvous = simulate(&standard, &Machine { eager_limit: 7, ..Machine::default() });
    assert_eq!(rendezvous.waiting(WaitClass::LateReceiver), [21, 0, 21, 0]);
}

#[test]
fn a1_collective_operations_of_ats() {
    let check = |program: &Program, class, expected: &[u64]| {
        let run = run(program);
        assert_eq!(run.waiting(class), expected);
        assert_eq!(run.total_wait(), expected.iter().sum::<u64>());
    };
    check(&golden::ats_imbalance_at_barrier(4, 10, 15, 3), WaitClass::WaitAtBarrier, &[15, 15, 0, 0]);
    check(&golden::ats_imbalance_at_alltoall(4, 10, 15, 3), WaitClass::WaitAtNxn, &[15, 0, 15, 0]);
    check(&golden::ats_late_broadcast(4, 10, 5, 1, 3), WaitClass::LateBroadcast, &[15, 0, 15, 15]);
    check(&golden::ats_early_reduce(4, 10, 5, 2, 3), WaitClass::WaitForLast, &[0, 0, 15, 0]);
    let early: u64 =
        run(&golden::ats_early_reduce(4, 10, 5, 2, 3)).waits.iter().map(|w| w.early_reduce).sum();
    assert_eq!(early, 15);
}

#[test]
fn a2_halves_do_not_make_each_other_wait() {
    let run = run(&golden::ats_two_halves(7, 3));
    assert_eq!(run.waiting(WaitClass::LateSender), [0, 21, 0, 0]);
    assert_eq!(run.waiting(WaitClass::WaitAtBarrier), [0, 0, 42, 0]);
    assert!(run.waits.iter().all(|wait| wait.rank / 2 == wait.culprit / 2));
    assert_eq!(by_rank(&run.delays().short_term, 4), [21, 0, 0, 42]);
}

#[test]
fn a3_receiving_in_the_right_and_in_the_wrong_order() {
    let check = |order, n_waits, wrong_order: Option<WrongOrder>, short_term: [u64; 5]| {
        let run = run(&golden::ats_order(5, 10, 3, order));
        assert_eq!((run.total_wait(), run.run_time), (420, 120));
        let of_first: Vec<&Wait> = run.waits.iter().filter(|wait| wait.rank == 0).collect();
        assert_eq!((of_first.len(), of_first.iter().map(|wait| wait.ticks).sum::<u64>()), (n_waits, 120));
        assert!(of_first.iter().all(|wait| wait.wrong_order == wrong_order));
        assert_eq!(run.waiting(WaitClass::LateSender), [120, 60, 10 + 60, 20 + 60, 30 + 60]);
        // Ticks are shared whole, so that sums of thirds and halves need times that can be divided.
        let run = self::run(&golden::ats_order(5, 600, 3, order));
        assert_eq!(by_rank(&run.delays().short_term, 5), short_term);
    };
    check(ReceiveOrder::Right, 3 * 4, None, [0, 40 * 60, 20 * 60, 55 * 20, 15 * 30]);
    check(ReceiveOrder::Wrong, 3, Some(WrongOrder::DifferentSource), [0, 10 * 60, 10 * 60, 10 * 60, 30 * 60]);
}
