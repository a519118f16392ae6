//! The region filter: what is not shown becomes `[filtered]`, and time stays.

use crate::check;
use ouzel_model::{Filter, NoticeCode};

fn regions(patterns: &[&str]) -> Filter {
    Filter { regions: patterns.iter().map(|&p| p.to_owned()).collect(), ..Filter::default() }
}

#[test]
fn nested_filtered_calls_become_one() {
    check(
        "0: enter main @0, enter f @10, enter g @20, leave @30, leave @40, enter MPI_Send @50, send>0 bytes 8 @55, leave @60, leave @100",
        &regions(&["MPI_*"]),
        &[
            "enter [filtered] @0",
            "enter [filtered]/MPI_Send @50",
            "MessageSend [8] in [filtered]/MPI_Send @55",
            "leave [filtered]/MPI_Send @60 incl 10 excl 10",
            "leave [filtered] @100 incl 100 excl 90",
        ],
        &[],
    );
}

#[test]
fn time_of_shown_callees_comes_through_hidden_ones() {
    check(
        "0: enter main @0, enter f @10, enter g @20, enter k @21, leave @25, leave @30, leave @40, leave @100",
        &regions(&["main", "k"]),
        &[
            "enter main @0",
            "enter main/[filtered] @10",
            "enter main/[filtered]/k @21",
            "leave main/[filtered]/k @25 incl 4 excl 4",
            "leave main/[filtered] @40 incl 30 excl 26",
            "leave main @100 incl 100 excl 70",
        ],
        &[],
    );
}

#[test]
fn events_of_hidden_calls_belong_to_the_stand_in() {
    check(
        "0: enter main @0, enter f @1, metric x=1 @2, leave @3, metric x=2 @4, leave @5",
        &regions(&["nothing"]),
        &[
            "enter [filtered] @0",
            "Metric [1] in [filtered] @2",
            "Metric [2] in [filtered] @4",
            "leave [filtered] @5 incl 5 excl 5",
        ],
        &[(NoticeCode::EmptySelection, 1)],
    );
}

#[test]
fn a_clipped_hidden_call_is_clipped_as_one() {
    let filter = Filter { time_ns: Some((10, 20)), ..regions(&["k"]) };
    check(
        "0: enter main @0, enter f @5, enter k @8, leave @12, leave @15, leave @30",
        &filter,
        &[
            "enter [filtered] @10",
            "enter [filtered]/k @10",
            "leave [filtered]/k @12 incl 2 excl 2",
            "leave [filtered] @20 incl 10 excl 8",
        ],
        &[],
    );
}

#[test]
fn a_leave_is_matched_by_the_region_as_recorded() {
    // Both are hidden, and yet the leave of f does not end main.
    check(
        "0: enter main @0, enter f @1, leave f @2, enter k @3, leave k @4, leave main @5",
        &regions(&["k"]),
        &[
            "enter [filtered] @0",
            "enter [filtered]/k @3",
            "leave [filtered]/k @4 incl 1 excl 1",
            "leave [filtered] @5 incl 5 excl 4",
        ],
        &[],
    );
}

#[test]
fn ranks_choose_locations() {
    let text = "0: enter a @0, leave @1\n1: enter b @0, leave @1\n1.1: enter c @0, leave @1\n2: enter d @0, leave @1";
    let filter = Filter { ranks: Some("1".parse().unwrap()), ..Filter::default() };
    check(
        text,
        &filter,
        &["enter b @0", "leave b @1 incl 1 excl 1", "enter c @0", "leave c @1 incl 1 excl 1"],
        &[],
    );
}
