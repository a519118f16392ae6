//! Collectives, one rule at a time.

use super::*;
use ouzel_model::{CartDimension, CartMembers, CartTopology, CommId, CommRank, Communicator, WorldRank};

/// One line for each rank: a call with begin, record and leave.
fn ranks(call: &str, op: &str, times: &[(u64, u64)]) -> String {
    let line = |(rank, (enter, leave)): (usize, &(u64, u64))| {
        format!("{rank}: enter {call} @{enter}, collective {op} @{leave}, leave @{leave}")
    };
    times.iter().enumerate().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_barrier_has_waits_and_completions() {
    check(
        &ranks("MPI_Barrier", "barrier", &[(0, 25), (20, 23)]),
        &[
            "wait_at_barrier 0 MPI_Barrier: 20 in 1 for 1 MPI_Barrier",
            "barrier_completion 0 MPI_Barrier: 2 in 1",
        ],
    );
    // Who left before the last came waited as long as it stayed.
    check(
        &ranks("MPI_Barrier", "barrier", &[(0, 10), (20, 23)]),
        &[
            "wait_at_barrier 0 MPI_Barrier: 10 in 1 for 1 MPI_Barrier",
            "barrier_completion 1 MPI_Barrier: 3 in 1",
        ],
    );
}

#[test]
fn begins_and_ends_are_those_of_the_records() {
    check(
        "0: enter MPI_Barrier @0, collective-begin @2, collective barrier @21, leave @30
         1: enter MPI_Barrier @15, collective-begin @20, collective barrier @22, leave @23",
        &[
            "wait_at_barrier 0 MPI_Barrier: 18 in 1 for 1 MPI_Barrier",
            "barrier_completion 1 MPI_Barrier: 1 in 1",
        ],
    );
}

#[test]
fn members_without_data_have_no_part() {
    check(
        "0: enter MPI_Allreduce @0, collective allreduce bytes 8/8 @12, leave @12
         1: enter MPI_Allreduce @10, collective allreduce bytes 8/8 @12, leave @12
         2: enter MPI_Allreduce @50, collective allreduce bytes 0/0 @51, leave @51",
        &["wait_at_nxn 0 MPI_Allreduce: 10 in 1 for 1 MPI_Allreduce"],
    );
}

#[test]
fn what_may_be_less_is_an_upper_bound() {
    check(
        &ranks("MPI_Alltoallv", "alltoallv bytes 8/8", &[(0, 20), (20, 20)]),
        &["wait_at_nxn 0 MPI_Alltoallv: 20 in 1 for 1 MPI_Alltoallv (upper_bound)"],
    );
}

#[test]
fn a_scan_waits_for_lower_ranks() {
    check(
        &ranks("MPI_Scan", "scan bytes 8/8", &[(10, 11), (0, 11), (30, 30), (5, 31)]),
        &["early_scan 1 MPI_Scan: 10 in 1 for 0 MPI_Scan", "early_scan 3 MPI_Scan: 25 in 1 for 2 MPI_Scan"],
    );
}

#[test]
fn groups_of_ranks_wait_for_their_own() {
    // Two halves at the same time; the last of one does not matter to the other.
    check(
        "comm low = 0 1
         comm high = 2 3
         0: enter MPI_Barrier @0, collective barrier comm low @10, leave @10
         1: enter MPI_Barrier @10, collective barrier comm low @10, leave @10
         2: enter MPI_Bcast @0, collective bcast comm high root 1 bytes 0/8 @70, leave @70
         3: enter MPI_Bcast @70, collective bcast comm high root 1 bytes 8/0 @70, leave @70",
        &[
            "wait_at_barrier 0 MPI_Barrier: 10 in 1 for 1 MPI_Barrier",
            "late_broadcast 2 MPI_Bcast: 70 in 1 for 3 MPI_Bcast",
        ],
    );
}

#[test]
fn over_an_intercommunicator_groups_wait_for_each_other() {
    let check = |text: &str, expected: &[&str]| {
        let mut trace = ToyTrace::new(&format!("comm inter = 0 1\n{text}"));
        let of = |ranks: [u32; 2]| -> std::sync::Arc<[WorldRank]> { ranks.map(WorldRank).into() };
        let remote_members = Some(of([2, 3]));
        trace.definitions_mut().communicators[1] =
            Communicator { remote_members, ..Communicator::of_ranks("inter", of([0, 1])) };
        assert_eq!(described(&waits(&trace), trace.definitions()), expected);
    };
    check(
        "0: enter MPI_Barrier @0, collective barrier comm inter @50, leave @50
         1: enter MPI_Barrier @50, collective barrier comm inter @50, leave @50
         2: enter MPI_Barrier @20, collective barrier comm inter @50, leave @50
         3: enter MPI_Barrier @30, collective barrier comm inter @50, leave @50",
        &[
            "wait_at_barrier 0 MPI_Barrier: 30 in 1 for 3 MPI_Barrier",
            "wait_at_barrier 2 MPI_Barrier: 30 in 1 for 1 MPI_Barrier",
            "wait_at_barrier 3 MPI_Barrier: 20 in 1 for 1 MPI_Barrier",
        ],
    );
    // The root is in one group; the others of its group have no part.
    check(
        "0: enter MPI_Bcast @0, collective bcast comm inter bytes 8/8 @1, leave @1
         1: enter MPI_Bcast @40, collective bcast comm inter bytes 8/0 @40, leave @40
         2: enter MPI_Bcast @10, collective bcast comm inter root 1 bytes 0/8 @40, leave @40
         3: enter MPI_Bcast @45, collective bcast comm inter root 1 bytes 0/8 @46, leave @46",
        &["late_broadcast 2 MPI_Bcast: 30 in 1 for 1 MPI_Bcast"],
    );
}

#[test]
fn a_non_blocking_collective_waits_where_it_completes() {
    check(
        "0: enter MPI_Ibarrier @0, request 1 collective-posted @0, leave @1, enter MPI_Wait @10, collective barrier request 1 @55, leave @56
         1: enter MPI_Ibarrier @50, request 1 collective-posted @51, leave @52, enter MPI_Wait @60, collective barrier request 1 @60, leave @61",
        &["wait_at_barrier 0 MPI_Wait: 40 in 1 for 1 MPI_Ibarrier"],
    );
}

#[test]
fn processes_wait_for_each_other_at_start_and_end() {
    check(
        "0: enter MPI_Init @0, leave @12, send>1 @15, enter MPI_Finalize @20, leave @50
         1: enter MPI_Init_thread @10, leave @11, recv<0 @16, enter MPI_Finalize @45, leave @50",
        &[
            "wait_at_init 0 MPI_Init: 10 in 1 for 1 MPI_Init_thread",
            "init_completion 0 MPI_Init: 1 in 1",
            "wait_at_finalize 0 MPI_Finalize: 25 in 1 for 1 MPI_Finalize",
        ],
    );
    // A process without the call: how long the others waited is not known.
    check(
        "0: enter MPI_Finalize @20, leave @50
         1: enter MPI_Barrier @10, collective barrier @10, leave @10",
        &[],
    );
}

#[test]
fn an_instance_without_some_of_its_members_has_no_value() {
    let trace = ToyTrace::new(
        "0: enter MPI_Barrier @0, collective barrier @20, leave @20
         1: enter MPI_Barrier @20, collective barrier @20, leave @20
         2: enter work @0, leave @20",
    );
    let (output, report) = run_report(&trace, &Filter::default(), Waits::new(trace.definitions()));
    assert_eq!(output.waits, []);
    let of = |notice: &&ouzel_model::Notice| notice.code == NoticeCode::UnalignedSynchronisations;
    assert_eq!(report.notices.iter().filter(of).map(|notice| notice.count).collect::<Vec<_>>(), [2]);
}

#[test]
fn what_is_not_selected_is_waited_for_all_the_same() {
    let trace = ToyTrace::new(&ranks("MPI_Barrier", "barrier", &[(0, 100), (10, 100), (100, 100)]));
    let of = |filter: Filter| run_report(&trace, &filter, Waits::new(trace.definitions())).0;
    let ranks = Filter { ranks: Some("0-1".parse().expect("ranks")), ..Filter::default() };
    assert_eq!(of(ranks).total().0, 190);
    let half = of(Filter { time_ns: Some((5, 50)), ..Filter::default() });
    assert_eq!((half.total().0, half.run_time.0), (45 + 40, 45));
}

/// Four ranks that come at 0, 10, 20 and 30 and leave at 30.
fn neighbours() -> ToyTrace {
    let call = "MPI_Neighbor_allgather";
    let rank = |rank: u64| {
        let enter = rank * 10;
        format!("{rank}: enter {call} @{enter}, collective allgather bytes 8/16 @30, leave @30")
    };
    let ranks: Vec<String> = (0..4).map(rank).collect();
    ToyTrace::new(&ranks.join("\n"))
}

#[test]
fn neighbours_wait_for_each_other_alone() {
    let mut trace = neighbours();
    let dimension = |periodic| CartDimension { name: "x".into(), size: 4, periodic };
    let topology = |periodic| CartTopology {
        name: "line".into(),
        comm: Some(CommId(0)),
        dimensions: vec![dimension(periodic)],
        members: CartMembers::Ranks((0..4).map(CommRank).collect()),
        coordinates: vec![0, 1, 2, 3],
    };
    let of = |trace: &ToyTrace| described(&waits(trace), trace.definitions());
    let call = "MPI_Neighbor_allgather";
    let row = |rank: u64, wait: u64, culprit: u64, certainty: &str| {
        format!("wait_at_nxn {rank} {call}: {wait} in 1 for {culprit} {call}{certainty}")
    };
    // Without a topology it may be all.
    let bound = " (upper_bound)";
    assert_eq!(of(&trace), [row(0, 30, 3, bound), row(1, 20, 3, bound), row(2, 10, 3, bound)]);
    trace.definitions_mut().topologies = vec![topology(false)];
    assert_eq!(of(&trace), [row(0, 10, 1, ""), row(1, 10, 2, ""), row(2, 10, 3, "")]);
    trace.definitions_mut().topologies = vec![topology(true)];
    assert_eq!(of(&trace), [row(0, 30, 3, ""), row(1, 10, 2, ""), row(2, 10, 3, "")]);
}
