use super::*;
use ouzel_model::{ColumnData, EventKind, Filter, Level, LocationId, NoticeCode, TraceSource};
use ouzel_testkit::{ToyTrace, laws, run, run_report};

const MIXED: &str = "
    0: enter a @0, enter b @1, send>1 @2, leave @3, enter b @4, enter c @5, leave @6, leave @7, leave @8, flush @9, onoff @10, onoff @11
    1: enter a @0, recv<0 @2, collective-begin @3, collective barrier @4, metric m=1 n=2 @5, param p=1 @6, sample a/b @6, other @7";

#[test]
fn events_are_counted_by_kind() {
    let trace = ToyTrace::new(MIXED).with_chunk_events(2);
    let (output, report) = run_report(&trace, &Filter::default(), Inventory);
    let counts: Vec<u64> = EVENT_KINDS.iter().map(|&kind| output.n_events(kind)).collect();
    assert_eq!(counts, [5, 5, 1, 1, 0, 1, 1, 0, 0, 1, 1, 1, 1, 2, 1]);
    assert_eq!((output.locations[0].max_depth, output.locations[1].max_depth, output.max_depth()), (3, 1, 3));
    let seen: Vec<_> = report.notices.iter().map(|n| (n.level, n.code, n.count, n.location)).collect();
    assert_eq!(
        seen,
        [
            (Level::Medium, NoticeCode::BufferFlushes, 1, Some(LocationId(0))),
            (Level::Medium, NoticeCode::MeasurementOff, 2, Some(LocationId(0))),
            (Level::Low, NoticeCode::OpenCalls, 1, Some(LocationId(1))),
        ]
    );
}

#[test]
fn the_table_has_what_occurs() {
    let trace = ToyTrace::new(MIXED);
    let table = run(&trace, Inventory).table(trace.definitions());
    assert_eq!(table.n_rows(), 14);
    assert_eq!(
        table.column("events").unwrap().data,
        ColumnData::U64(vec![4, 4, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1])
    );
}

#[test]
fn kinds_stand_at_their_place() {
    for (i, &kind) in EVENT_KINDS.iter().enumerate() {
        assert_eq!(kind as usize, i);
    }
    let mut names: Vec<&str> = EVENT_KINDS.iter().map(|&kind| kind.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), EVENT_KINDS.len());
    assert_eq!(EventKind::CollectiveEnd.as_str(), "collective_end");
}

#[test]
fn laws_hold() {
    laws::check(|| Inventory, |output| format!("{output:?}"));
}
