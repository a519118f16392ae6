//! Cases counted by hand: what calls cost, and what they wait for.

use super::golden::{costs, waits};
use crate::simulator::*;

const COSTLY: Machine = Machine {
    overhead: 1,
    latency: 5,
    bytes_per_tick: Some(4),
    eager_limit: 8,
    transfer: Transfer::InFlight,
    rooted: Coupling::Data,
    all_to_all: Coupling::Data,
};

/// Runs `ranks` and compares the waits, and the end of each rank.
fn check(machine: &Machine, ranks: Vec<Vec<Step>>, expected: &[&str], ends: &[u64]) {
    let run = simulate(&Program::new(ranks), machine);
    assert_eq!(waits(&run), expected);
    let end = |spans: &Vec<run::Span>| spans.last().map_or(0, |span| span.end);
    assert_eq!(run.spans.iter().map(end).collect::<Vec<_>>(), ends);
}

#[test]
fn an_eager_message_arrives_while_its_receiver_works() {
    let sender = || [work("foo", 10), send(1)].concat();
    // 8 bytes take 5 + 2 ticks after the own tick of the sender.
    let waits = ["late_sender MPI_Recv: 1 waits 6 from 4 for 0 in MPI_Send"];
    check(&COSTLY, vec![sender(), [work("foo", 4), recv(0)].concat()], &waits, &[11, 18]);
    check(&COSTLY, vec![sender(), [work("foo", 40), recv(0)].concat()], &[], &[11, 41]);
    let in_call = Machine { transfer: Transfer::InCall, ..COSTLY };
    check(&in_call, vec![sender(), [work("foo", 40), recv(0)].concat()], &[], &[11, 48]);
}

#[test]
fn a_rendezvous_begins_when_both_are_there() {
    let late = [work("foo", 10), recv(0)].concat();
    let waits = ["late_receiver MPI_Ssend: 0 waits 10 from 0 for 1 in MPI_Recv"];
    check(&COSTLY, vec![ssend(1), late], &waits, &[18, 18]);
    let posted = [call(Call::Irecv(0, from(0))), work("foo", 3), call(Call::Waitall)].concat();
    let waits = ["late_sender MPI_Waitall: 1 waits 6 from 4 for 0 in MPI_Ssend"];
    check(&COSTLY, vec![[work("foo", 10), ssend(1)].concat(), posted], &waits, &[18, 18]);
}

#[test]
fn a_call_of_several_messages_waits_once() {
    let post = |slot, rank| call(Call::Irecv(slot, from(rank)));
    let first =
        [call(Call::Isend(0, Outgoing { mode: SendMode::Synchronous, ..to(1) })), post(1, 1), post(2, 2)];
    let first = [first.concat(), call(Call::Waitall)].concat();
    let second = [work("foo", 10), send(0), work("foo", 20), recv(0)].concat();
    let third = [work("foo", 20), send(0)].concat();
    // The late receiver comes last of all, but senders were late.
    let waits = ["late_sender MPI_Waitall: 0 waits 20 from 0 for 2 in MPI_Send"];
    check(&Machine::default(), vec![first, second, third], &waits, &[30, 30, 20]);
}

#[test]
fn wait_any_ends_with_the_first_and_the_next_with_the_second() {
    let post = |slot, rank| call(Call::Irecv(slot, from(rank)));
    let first =
        [post(1, 1), post(2, 2), call(Call::Waitany), call(Call::Waitany), call(Call::Waitany)].concat();
    let sender = |ticks| [work("foo", ticks), send(0)].concat();
    let waits = [
        "late_sender MPI_Waitany: 0 waits 10 from 0 for 2 in MPI_Send",
        "late_sender MPI_Waitany: 0 waits 20 from 10 for 1 in MPI_Send",
    ];
    check(&Machine::default(), vec![first, sender(30), sender(10)], &waits, &[30, 30, 10]);
}

#[test]
fn a_loop_of_tests_polls_and_does_not_wait() {
    let polls = [call(Call::Irecv(1, from(1))), work("foo", 4), call(Call::Poll(1, 10))].concat();
    let run = simulate(&Program::new(vec![polls, [work("foo", 15), send(0)].concat()]), &Machine::default());
    assert_eq!((run.total_wait(), run.run_time), (0, 24));
    let call_path = vec!["MPI_Test"];
    assert_eq!(run.polling, [Polling { rank: 0, call_path, start: 4, ticks: 20 }]);
}

#[test]
fn a_receive_from_any_source_gets_the_first_message() {
    let any = || call(Call::Recv(Incoming { from: None, ..from(0) }));
    let sender = |ticks| [work("foo", ticks), send(0)].concat();
    let waits = [
        "late_sender MPI_Recv: 0 waits 10 from 0 for 2 in MPI_Send",
        "late_sender MPI_Recv: 0 waits 20 from 10 for 1 in MPI_Send",
    ];
    let ranks = vec![[any(), any()].concat(), sender(30), sender(10)];
    check(&Machine::default(), ranks, &waits, &[30, 30, 10]);
}

#[test]
fn a_message_that_is_received_after_a_later_one_of_its_sender_is_in_wrong_order() {
    let message = |tag| call(Call::Send(Outgoing { tag, ..to(1) }));
    let receive = |tag| call(Call::Recv(Incoming { tag: Some(tag), ..from(0) }));
    let sender = [work("foo", 10), message(1), work("foo", 10), message(2)].concat();
    let run = simulate(&Program::new(vec![sender, [receive(2), receive(1)].concat()]), &Machine::default());
    let orders: Vec<_> = run.waits.iter().map(|wait| (wait.ticks, wait.wrong_order)).collect();
    assert_eq!(orders, [(20, Some(WrongOrder::SameSource))]);
}

#[test]
fn members_wait_for_those_whose_data_they_need() {
    let ranks =
        |kind| [30, 10, 20].map(|ticks| [work("foo", ticks), collective(kind, 0, 1)].concat()).to_vec();
    let of_reduce = ["wait_for_last MPI_Reduce: 1 waits 20 from 10 for 0 in MPI_Reduce"];
    check(&Machine::default(), ranks(CollectiveKind::Reduce), &of_reduce, &[30, 30, 20]);
    let of_scan = [
        "early_scan MPI_Scan: 1 waits 20 from 10 for 0 in MPI_Scan",
        "early_scan MPI_Scan: 2 waits 10 from 20 for 0 in MPI_Scan",
    ];
    check(&Machine::default(), ranks(CollectiveKind::Scan), &of_scan, &[30, 30, 30]);
    check(&Machine::default(), ranks(CollectiveKind::Bcast), &[], &[30, 10, 20]);
    // What is added by waiting for all is no wait for data.
    let coupled = Machine { rooted: Coupling::All, ..COSTLY };
    check(&coupled, ranks(CollectiveKind::Bcast), &[], &[38, 38, 38]);
    let uncoupled = Machine { all_to_all: Coupling::None, ..Machine::default() };
    check(&uncoupled, ranks(CollectiveKind::Allreduce), &[], &[30, 10, 20]);
    let run = simulate(&Program::new(ranks(CollectiveKind::Gather)), &Machine::default());
    assert_eq!(run.waits.iter().map(|wait| wait.early_reduce).collect::<Vec<_>>(), [10]);
}

#[test]
fn what_comes_before_a_barrier_delays_nothing_after_it() {
    let check = |first: [Vec<Step>; 2], second: [Vec<Step>; 2], short_term: &[&str]| {
        let rank = |(first, second)| [first, barrier(), second, barrier()].concat();
        let program = Program::new(first.into_iter().zip(second).map(rank).collect());
        let delays = simulate(&program, &Machine::default()).delays();
        assert_eq!(
            (costs(&delays.short_term), delays.long_term.len()),
            (short_term.iter().map(|&line| line.to_owned()).collect(), 0)
        );
    };
    // Each makes the other wait once. Over both phases they do the same.
    let both = ["wait_at_barrier: 0 in foo costs 10", "wait_at_barrier: 1 in foo costs 10"];
    check([work("foo", 20), work("foo", 10)], [work("foo", 10), work("foo", 20)], &both);
    // Nobody waits at the first barrier.
    let last = ["wait_at_barrier: 1 in foo costs 10"];
    check([work("foo", 10), work("bar", 10)], [work("foo", 10), work("foo", 20)], &last);
}
