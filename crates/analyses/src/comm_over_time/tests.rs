use super::*;
use crate::comm_matrix::Traffic;
use crate::reference::{random_traces, run_range};
use crate::time_grid::TimeGrid;
use ouzel_model::{ColumnData, Filter, NoticeCode, Ticks, TimeRange, TraceSource};
use ouzel_testkit::{ToyPayload, ToyTrace, golden, laws, run, run_report};
use std::num::NonZeroU16;

fn grid(start: u64, end: u64, n_bins: u16) -> TimeGrid {
    TimeGrid::new(TimeRange { start: Ticks(start), end: Ticks(end) }, NonZeroU16::new(n_bins).unwrap())
}

#[test]
fn the_expected_values_are_met() {
    let golden = golden("pipit_ops");
    let trace = crate::comm_matrix::tests::golden_messages(&golden);
    let output = run(&trace, CommOverTime::new(grid(0, 40, 4)));
    assert!(output.grid.is_exact_for(output.run_range));
    let (bytes, edges): (Vec<u64>, Vec<f64>) =
        serde_json::from_value(golden["expected"]["comm_over_time_4"].clone()).unwrap();
    assert_eq!(output.bins.iter().map(|bin| bin.sent.bytes).collect::<Vec<_>>(), bytes);
    let found = output.grid.edges_ns(trace.definitions());
    assert_eq!(found.iter().map(|&ns| ns as f64).collect::<Vec<_>>(), edges);
}

#[test]
fn every_end_is_in_the_bin_of_its_time() {
    for trace in random_traces() {
        let range = run_range(&trace);
        for grid in
            [grid(range.start.0, range.end.0, 9), grid(range.start.0 + 50, range.end.0 / 2 + 60, 4000)]
        {
            let output = run(&trace, CommOverTime::new(grid));
            let mut expected = vec![BinTraffic::default(); grid.n_bins()];
            let mut outside = BinTraffic::default();
            let edges = grid.edges();
            for event in trace.definitions().location_ids().flat_map(|location| trace.events(location)) {
                let is_inside = grid.range().start <= event.time && event.time <= grid.range().end;
                let bin = (0..grid.n_bins()).rev().find(|&k| edges[k] <= event.time);
                let bin = bin.filter(|_| is_inside).map_or(&mut outside, |bin| &mut expected[bin]);
                match &event.what {
                    ToyPayload::Send(end) => bin.sent.add(Traffic::one(end.bytes)),
                    ToyPayload::Recv(end) => bin.received.add(Traffic::one(end.bytes)),
                    _ => {}
                }
            }
            assert_eq!(output.bins, expected, "{grid:?}");
            assert_eq!(output.outside, outside, "{grid:?}");
        }
    }
}

#[test]
fn what_is_in_no_bin_is_said() {
    let trace =
        ToyTrace::new("0: send>0 bytes 8 @1, send>4294967295 @2, recv<0 bytes 8 @5, recv<0 bytes 7 @9");
    let (output, report) = run_report(&trace, &Filter::default(), CommOverTime::new(grid(2, 8, 2)));
    assert_eq!((output.outside.sent, output.outside.received), (Traffic::one(8), Traffic::one(7)));
    assert_eq!(output.null_peers, 1);
    let found: Vec<_> = report.notices.iter().map(|n| (n.code, n.count)).collect();
    assert_eq!(found, [(NoticeCode::UnmatchedMessages, 1), (NoticeCode::NotAvailable, 2)]);
    let table = output.table(trace.definitions());
    assert_eq!(table.column("bytes_received").unwrap().data, ColumnData::U64(vec![0, 8]));
    assert_eq!(table.column("sends").unwrap().data, ColumnData::U64(vec![0, 0]));
}

#[test]
fn laws_hold() {
    laws::check(|| CommOverTime::new(grid(150, 2150, 9)), |output| format!("{output:?}"));
}
