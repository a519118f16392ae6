//! The time range `[start, end)`: calls are clipped, events outside are gone.

use crate::{check, see};
use ouzel_model::{Filter, LocationId, NoticeCode, Ticks};
use ouzel_testkit::{ToyTrace, run_report};

fn range(start: u64, end: u64) -> Filter {
    Filter { time_ns: Some((start, end)), ..Filter::default() }
}

#[test]
fn a_call_around_the_range_is_clipped_at_both_ends() {
    check(
        "0: enter main @0, leave @100",
        &range(10, 20),
        &["enter main @10", "leave main @20 incl 10 excl 10"],
        &[],
    );
}

#[test]
fn calls_over_a_border_are_clipped_with_their_callees() {
    check(
        "0: enter main @0, enter f @5, send>0 bytes 1 @9, send>0 bytes 2 @12, leave @15, enter g @18, leave @30, leave @40",
        &range(10, 20),
        &[
            "enter main @10",
            "enter main/f @10",
            "MessageSend [2] in main/f @12",
            "leave main/f @15 incl 5 excl 5",
            "enter main/g @18",
            "leave main/g @20 incl 2 excl 2",
            "leave main @20 incl 10 excl 3",
        ],
        &[],
    );
}

#[test]
fn what_ended_before_the_range_is_no_callee_inside_it() {
    check(
        "0: enter main @0, enter f @1, leave @9, enter g @12, leave @13, leave @20",
        &range(10, 30),
        &[
            "enter main @10",
            "enter main/g @12",
            "leave main/g @13 incl 1 excl 1",
            "leave main @20 incl 10 excl 9",
        ],
        &[],
    );
}

#[test]
fn a_leave_at_the_start_ends_a_call_outside() {
    check(
        "0: enter main @0, enter f @5, leave @10, enter g @10, leave @12, leave @15",
        &range(10, 20),
        &[
            "enter main @10",
            "enter main/g @10",
            "leave main/g @12 incl 2 excl 2",
            "leave main @15 incl 5 excl 3",
        ],
        &[],
    );
}

#[test]
fn events_at_the_start_are_inside() {
    // The call of the first message has no time inside; the message is not lost, nor where it was sent.
    check(
        "0: enter main @0, enter f @5, send>0 bytes 1 @10, leave @10, enter g @10, send>0 bytes 2 @10, leave @12, leave @15",
        &range(10, 20),
        &[
            "MessageSend [1] in main/f @10",
            "enter main @10",
            "enter main/g @10",
            "MessageSend [2] in main/g @10",
            "leave main/g @12 incl 2 excl 2",
            "leave main @15 incl 5 excl 3",
        ],
        &[],
    );
}

#[test]
fn events_at_the_end_are_outside() {
    check(
        "0: enter main @0, enter f @15, leave @20, send>0 bytes 1 @20, enter g @20, leave @21, leave @25",
        &range(10, 20),
        &[
            "enter main @10",
            "enter main/f @15",
            "leave main/f @20 incl 5 excl 5",
            "leave main @20 incl 10 excl 5",
        ],
        &[],
    );
}

#[test]
fn calls_that_end_with_the_location_are_clipped_and_told() {
    let open = [(NoticeCode::OpenCalls, 1)];
    let main = ["enter main @10", "leave main @15 incl 5 excl 5"];
    check(
        "0: enter main @0, flush @15",
        &range(10, 20),
        &[main[0], "BufferFlush [] in main @15", main[1]],
        &open,
    );
    check("0: enter main @10", &range(10, 20), &["enter main @10", "leave main @10 incl 0 excl 0"], &open);
    // Here the call is known to last beyond the range.
    check(
        "0: enter main @0, flush @25",
        &range(10, 20),
        &["enter main @10", "leave main @20 incl 10 excl 10"],
        &[],
    );
}

#[test]
fn a_location_outside_the_range_shows_nothing() {
    for text in [
        "0: enter main @0, leave @5",
        "0: enter main @0, enter f @3, leave f @10",
        "0: enter main @20, leave @30",
        "0: enter main @25, leave @30",
        "0:",
    ] {
        assert_eq!(see(text, &range(10, 20)).0.lines(), [""; 0], "{text}");
    }
}

#[test]
fn a_range_in_a_gap_shows_nothing() {
    check("0: enter f @0, leave @5, enter g @30, leave @31", &range(10, 20), &[], &[]);
}

#[test]
fn an_empty_range_shows_nothing() {
    for filter in [range(10, 10), range(20, 10), range(0, 0)] {
        check("0: enter main @0, send>0 @10, enter f @10, leave @12, leave @40", &filter, &[], &[]);
    }
}

#[test]
fn the_span_of_a_location_is_cut_to_the_range() {
    let trace = ToyTrace::new(
        "0: enter main @0, leave @100\n1: enter main @12, leave @15\n2: other @3\n3: other @90",
    );
    for n in [1, 2, 64] {
        let (_, report) = run_report(&trace.clone().with_chunk_events(n), &range(10, 20), crate::Log);
        let spans: Vec<_> = report.locations.values().map(|l| l.span.map(|(a, b)| (a.0, b.0))).collect();
        assert_eq!(spans, [Some((10, 20)), Some((12, 15)), None, None], "chunks of {n}");
        let run = report.run_range.expect("two locations overlap");
        assert_eq!((run.start, run.end), (Ticks(10), Ticks(20)));
    }
}

#[test]
fn ranges_count_nanoseconds_on_any_clock() {
    let trace = ToyTrace::new("0: enter main @0, leave @100").with_ticks_per_second(500_000_000);
    let (seen, _) = run_report(&trace, &range(19, 41), crate::Log);
    assert_eq!(seen.lines(), ["enter main @10", "leave main @21 incl 11 excl 11"]);
}

#[test]
fn reading_stops_where_the_range_ends() {
    let trace = ToyTrace::new("0: enter main @0, enter f @1, leave @2, enter f @50, leave @60, leave @70");
    let trace = trace.with_chunk_events(1);
    let (_, report) = run_report(&trace, &range(0, 10), crate::Log);
    assert_eq!(report.locations[&LocationId(0)].n_events, 4);
}
