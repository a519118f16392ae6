//! Messages, one rule at a time.

use super::*;

#[test]
fn a_buffered_send_does_not_wait_and_an_open_one_possibly_does() {
    check(
        "0: enter MPI_Send @10, send>1 bytes 8 @11, leave @12
         1: enter MPI_Recv @40, recv<0 bytes 8 @48, leave @48",
        &[],
    );
    check(
        "0: enter MPI_Send @10, send>1 bytes 8 @11, leave @50
         1: enter MPI_Recv @40, recv<0 bytes 8 @48, leave @48",
        &["late_receiver 0 MPI_Send: 30 in 1 for 1 MPI_Recv (possible)"],
    );
}

#[test]
fn a_send_longer_than_any_that_was_buffered_waits_certainly() {
    // 8 bytes were buffered, 16 are the shortest that never were, 32 are more.
    let text = "
        0: enter MPI_Send @0, send>1 bytes 8 @0, leave @1, enter MPI_Send @10, send>1 bytes 16 @10, leave @20, enter MPI_Send @30, send>1 bytes 32 @30, leave @45, enter MPI_Send @50, send>1 bytes 8 @50, leave @57
        1: enter MPI_Recv @5, recv<0 bytes 8 @5, leave @5, enter MPI_Recv @20, recv<0 bytes 16 @20, leave @20, enter MPI_Recv @45, recv<0 bytes 32 @45, leave @45, enter MPI_Recv @57, recv<0 bytes 8 @57, leave @57";
    check(
        text,
        &[
            "late_receiver 0 MPI_Send: 15 in 1 for 1 MPI_Recv",
            "late_receiver 0 MPI_Send: 17 in 2 for 1 MPI_Recv (possible)",
        ],
    );
    let trace = ToyTrace::new(text);
    let output = waits(&trace);
    assert_eq!((output.total().0, output.possible().0), (15, 17));
}

#[test]
fn a_synchronous_send_waits_even_if_clocks_say_it_left_early() {
    check(
        "0: enter MPI_Ssend @10, send>1 @11, leave @30
         1: enter MPI_Recv @40, recv<0 @48, leave @48",
        &["late_receiver 0 MPI_Ssend: 20 in 1 for 1 MPI_Recv"],
    );
    check(
        "0: enter MPI_Issend @1, send>1 request 5 @1, leave @2, enter mpi_wait_ @4, request 5 send-complete @30, leave @30
         1: enter MPI_Recv @24, recv<0 @29, leave @29",
        &["late_receiver 0 mpi_wait_: 20 in 1 for 1 MPI_Recv"],
    );
}

#[test]
fn a_call_that_completes_many_waits_for_the_latest() {
    let posts = "enter MPI_Irecv @1, request 7 recv-posted @1, leave @2, enter MPI_Irecv @2, request 8 recv-posted @2, leave @3";
    for call in ["MPI_Waitall", "MPI_Waitany", "MPI_Waitsome"] {
        check(
            &format!(
                "0: {posts}, enter {call} @10, recv<1 request 7 @50, recv<2 request 8 @50, leave @50
                 1: enter MPI_Send @20, send>0 @20, leave @21
                 2: enter MPI_Send @45, send>0 @45, leave @46"
            ),
            &[&format!("late_sender 0 {call}: 35 in 1 for 2 MPI_Send")],
        );
    }
    // Of two that are equally late, the first location.
    check(
        &format!(
            "0: {posts}, enter MPI_Waitall @10, recv<2 request 8 @50, recv<1 request 7 @50, leave @50
             1: enter MPI_Isend @45, send>0 @45, leave @46
             2: enter MPI_Send @45, send>0 @45, leave @46"
        ),
        &["late_sender 0 MPI_Waitall: 35 in 1 for 1 MPI_Isend"],
    );
}

#[test]
fn messages_of_one_call_are_in_no_order() {
    check(
        "0: enter MPI_Irecv @1, request 7 recv-posted @1, leave @2, enter MPI_Irecv @2, request 8 recv-posted @2, leave @3, enter MPI_Waitall @10, recv<2 request 8 @50, recv<1 request 7 @50, leave @50
         1: enter MPI_Send @20, send>0 @20, leave @21
         2: enter MPI_Send @45, send>0 @45, leave @46",
        &["late_sender 0 MPI_Waitall: 35 in 1 for 2 MPI_Send"],
    );
}

#[test]
fn wrong_order_from_one_source() {
    check(
        "0: enter MPI_Recv @0, recv<1 tag 2 @30, leave @30, enter MPI_Recv @31, recv<1 tag 1 @32, leave @32
         1: enter MPI_Send @20, send>0 tag 1 @20, leave @21, enter MPI_Send @29, send>0 tag 2 @29, leave @30",
        &[
            "late_sender 0 MPI_Recv: 29 in 1 for 1 MPI_Send",
            "late_sender_wrong_order_same_source 0 MPI_Recv: 29 in 1 for 1 MPI_Send",
        ],
    );
}

#[test]
fn exchanging_both_ways_waits_for_the_sender_first() {
    check(
        "0: enter MPI_Sendrecv @10, send>1 @10, recv<1 @60, leave @60
         1: enter MPI_Sendrecv @40, send>0 @40, recv<0 @60, leave @60",
        &["late_sender 0 MPI_Sendrecv: 30 in 1 for 1 MPI_Sendrecv"],
    );
}

#[test]
fn a_test_never_waits_but_polls() {
    check(
        "0: enter MPI_Irecv @1, request 7 recv-posted @1, leave @2, enter MPI_Test @5, request 7 tested @6, leave @7, enter MPI_Test @20, request 7 tested @21, leave @22, enter MPI_Test @50, recv<1 request 7 @51, leave @52
         1: enter MPI_Send @40, send>0 @40, leave @41",
        &["polling 0 MPI_Test: 45 in 1"],
    );
    // A call that waits for the request in the end does not poll.
    check(
        "0: enter MPI_Irecv @1, request 7 recv-posted @1, leave @2, enter MPI_Test @5, request 7 tested @6, leave @7, enter MPI_Wait @20, recv<1 request 7 @51, leave @52
         1: enter MPI_Send @40, send>0 @40, leave @41",
        &["late_sender 0 MPI_Wait: 20 in 1 for 1 MPI_Send", "polling 0 MPI_Wait: 14 in 1"],
    );
}

#[test]
fn a_probe_waits_for_the_message_that_is_received_next() {
    check(
        "0: enter MPI_Probe @5, leave @41, enter MPI_Recv @42, recv<1 @43, leave @43
         1: enter MPI_Send @40, send>0 @40, leave @41",
        &["late_sender 0 MPI_Probe: 35 in 1 for 1 MPI_Send"],
    );
    check(
        "0: enter MPI_Iprobe @5, leave @41, enter MPI_Recv @42, recv<1 @43, leave @43
         1: enter MPI_Send @40, send>0 @40, leave @41",
        &[],
    );
}

#[test]
fn a_message_to_oneself_is_no_wait() {
    check("0: enter MPI_Sendrecv @10, send>0 @11, recv<0 @60, leave @60", &[]);
}

#[test]
fn persistent_requests_are_posted_where_they_start() {
    check(
        "0: enter MPI_Start @3, request 7 recv-posted @3, leave @4, enter MPI_Wait @10, recv<1 request 7 @50, leave @50
         1: enter MPI_Startall @40, send>0 request 9 @41, leave @42, enter MPI_Wait @42, request 9 send-complete @43, leave @43",
        &["late_sender 0 MPI_Wait: 30 in 1 for 1 MPI_Startall"],
    );
}
