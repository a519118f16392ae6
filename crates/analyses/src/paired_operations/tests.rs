use super::*;
use ouzel_model::TraceSource;
use ouzel_testkit::{ToyTrace, laws, run};

fn operations(trace: &ToyTrace) -> OperationsOutput {
    run(trace, Operations::new(trace.definitions()))
}

/// `location kind enter-leave` of each operation.
fn described(output: &OperationsOutput) -> Vec<String> {
    let line =
        |op: &Operation| format!("{} {} {}-{}", op.location.0, op.kind.as_str(), op.enter.0, op.leave.0);
    output.operations.iter().map(line).collect()
}

/// Locations of the members of each instance.
fn members(output: &OperationsOutput) -> Vec<Vec<(u32, u64)>> {
    let member =
        |&(op, arrived): &(u32, ouzel_model::Ticks)| (output.operations[op as usize].location.0, arrived.0);
    output.collectives.iter().map(|instance| instance.members.iter().map(member).collect()).collect()
}

#[test]
fn operations_stand_where_they_are_posted_or_completed() {
    let trace = ToyTrace::new(
        "0: enter MPI_Irecv @1, request 7 recv-posted @2, leave @3, enter work @3, send>1 @4, leave @9, enter MPI_Wait @10, recv<1 request 7 @11, leave @12
         1: enter MPI_Isend @2, send>0 request 4 @3, leave @5, enter MPI_Wait @6, request 4 send-complete @8, leave @8, recv<0 @9",
    );
    let output = operations(&trace);
    assert_eq!(described(&output), ["0 send 4-4", "0 receive 10-12", "1 send 2-5", "1 receive 9-9"]);
    let messages: Vec<_> = output.messages.iter().map(|m| (m.send, m.receive)).collect();
    assert_eq!(messages, [(0, 3), (2, 1)]);
    assert_eq!(output.n_unmatched_ends, 0);
}

#[test]
fn the_nth_collectives_of_all_members_are_one() {
    let trace = ToyTrace::new(
        "comm pair = 0 1
         0: enter MPI_Barrier @1, collective barrier @2, leave @9, enter MPI_Allreduce @10, collective allreduce comm pair @12, leave @12
         1: enter MPI_Allreduce @3, collective allreduce comm pair @11, leave @12, enter MPI_Barrier @13, collective barrier @14, leave @14
         2: enter MPI_Ibarrier @5, request 3 collective-posted @5, leave @6, enter MPI_Wait @7, collective barrier request 3 @9, leave @9",
    );
    assert_eq!(members(&operations(&trace)), [vec![(0, 1), (1, 13), (2, 5)], vec![(0, 10), (1, 3)]]);
}

#[test]
fn one_that_was_left_before_others_arrived_is_another() {
    // The first barrier of rank 0 lies before what was recorded of rank 1.
    let trace = ToyTrace::new(
        "0: enter MPI_Barrier @1, collective barrier @2, leave @2, enter MPI_Barrier @10, collective barrier @20, leave @20
         1: enter MPI_Barrier @15, collective barrier @20, leave @20",
    );
    let output = operations(&trace);
    assert_eq!(members(&output), [vec![(0, 10), (1, 15)]]);
    assert_eq!(output.n_unaligned_collectives, 1);
}

#[test]
fn members_that_name_one_communicator_differently_meet() {
    let trace = ToyTrace::new(
        "comm a = 0 1
         comm b = 0 1
         0: enter MPI_Barrier @1, collective barrier comm a @2, leave @2
         1: enter MPI_Barrier @1, collective barrier comm b @2, leave @2",
    );
    assert_eq!(members(&operations(&trace)), [vec![(0, 1), (1, 1)]]);
}

#[test]
fn only_synchronous_sends_are_known_to_wait() {
    let trace = ToyTrace::new(
        "0: enter MPI_Send @1, send>1 @2, leave @9, enter mpi_ssend_ @10, send>1 @11, leave @30
         1: enter MPI_Recv @5, recv<0 @6, leave @6, enter MPI_Recv @25, recv<0 @30, leave @30",
    );
    let output = operations(&trace);
    let rows: Vec<_> = output.rendezvous.iter().map(|r| (r.enter.0, r.leave.0, r.receive_posted.0)).collect();
    assert_eq!(rows, [(10, 30, 25)]);
}

#[test]
fn laws_hold() {
    laws::check_made_for(Operations::new, |output| {
        let paths: Vec<_> = output.call_paths.paths().map(|p| output.call_paths.regions(p)).collect();
        let OperationsOutput { operations, messages, rendezvous, collectives, lines, .. } = output;
        let n = (output.n_unmatched_ends, output.n_unaligned_collectives);
        format!("{paths:?} {operations:?} {messages:?} {rendezvous:?} {collectives:?} {lines:?} {n:?}")
    });
}
