//! Calls that are not nested: the rules for exact traces.

use crate::check;
use ouzel_model::{Filter, NoticeCode};

#[test]
fn nested_calls_need_no_repair() {
    check(
        "0: enter main @0, enter f @10, send>0 bytes 64 @12, leave @20, metric cycles=7 @25, leave @40",
        &Filter::default(),
        &[
            "enter main @0",
            "enter main/f @10",
            "MessageSend [64] in main/f @12",
            "leave main/f @20 incl 10 excl 10",
            "Metric [7] in main @25",
            "leave main @40 incl 40 excl 30",
        ],
        &[],
    );
}

#[test]
fn a_leave_closes_what_is_open_above_its_call() {
    check(
        "0: enter a @0, enter b @1, enter c @2, send>0 bytes 5 @3, leave a @10, recv<0 bytes 6 @12",
        &Filter::default(),
        &[
            "enter a @0",
            "enter a/b @1",
            "enter a/b/c @2",
            "MessageSend [5] in a/b/c @3",
            "leave a/b/c @10 incl 8 excl 8",
            "leave a/b @10 incl 9 excl 1",
            "leave a @10 incl 10 excl 1",
            "MessageRecv [6] in - @12",
        ],
        &[(NoticeCode::TruncatedCalls, 2)],
    );
}

#[test]
fn a_leave_closes_the_nearest_call_of_its_region() {
    check(
        "0: enter a @0, enter b @1, enter a @2, enter c @3, leave a @5, leave b @6, leave a @7",
        &Filter::default(),
        &[
            "enter a @0",
            "enter a/b @1",
            "enter a/b/a @2",
            "enter a/b/a/c @3",
            "leave a/b/a/c @5 incl 2 excl 2",
            "leave a/b/a @5 incl 3 excl 1",
            "leave a/b @6 incl 5 excl 2",
            "leave a @7 incl 7 excl 2",
        ],
        &[(NoticeCode::TruncatedCalls, 1)],
    );
}

#[test]
fn a_leave_without_its_call_is_dropped() {
    check(
        "0: leave z @0, enter a @1, leave z @2, send>0 bytes 5 @2, collective barrier bytes 9 @3, leave z @4, leave a @5",
        &Filter::default(),
        &["enter a @1", "MessageSend [5] in a @2", "CollectiveEnd [9] in a @3", "leave a @5 incl 4 excl 4"],
        &[(NoticeCode::UnmatchedLeaves, 3)],
    );
}

#[test]
fn open_calls_end_with_the_last_record() {
    check(
        "0: enter a @0, enter b @4, other @9",
        &Filter::default(),
        &[
            "enter a @0",
            "enter a/b @4",
            "Other [] in a/b @9",
            "leave a/b @9 incl 5 excl 5",
            "leave a @9 incl 9 excl 4",
        ],
        &[(NoticeCode::OpenCalls, 2)],
    );
}

#[test]
fn several_values_of_a_row_stay_with_it() {
    check(
        "0: enter a @0, enter b @1, metric x=1 y=2 @2, leave a @3, param n=4 @3, metric x=5 y=6 @4, request 8 tested @4",
        &Filter::default(),
        &[
            "enter a @0",
            "enter a/b @1",
            "Metric [1, 2] in a/b @2",
            "leave a/b @3 incl 2 excl 2",
            "leave a @3 incl 3 excl 1",
            "Parameter [0] in - @3",
            "Metric [5, 6] in - @4",
            "Request [8] in - @4",
        ],
        &[(NoticeCode::TruncatedCalls, 1)],
    );
}
