use super::*;
use crate::call_path_profile::CallPathProfile;
use crate::golden::TWO_PROCESSES;
use crate::reference::{calls, code_locations, innermost, random_traces, run_range, span};
use crate::time_grid::TimeGrid;
use crate::{By, Per};
use ouzel_model::{ColumnData, Filter, NoticeCode, RegionId, Ticks, TimeRange, TraceSource};
use ouzel_testkit::{ToyTrace, golden, laws, run, run_report};
use std::collections::BTreeMap;
use std::num::NonZeroU16;

fn grid(start: u64, end: u64, n_bins: u16) -> TimeGrid {
    TimeGrid::new(TimeRange { start: Ticks(start), end: Ticks(end) }, NonZeroU16::new(n_bins).unwrap())
}

fn grid_of(range: TimeRange, n_bins: u16) -> TimeGrid {
    TimeGrid::new(range, NonZeroU16::new(n_bins).unwrap())
}

fn by_region(output: &TimeProfileOutput, trace: &ToyTrace) -> BTreeMap<RegionId, Vec<u64>> {
    let rows = output.functions(trace.definitions(), By::Region);
    rows.into_iter()
        .map(|row| (row.key.region, row.exclusive.iter().map(|ticks| ticks.0).collect()))
        .collect()
}

#[test]
fn the_expected_values_are_met() {
    let golden = golden("pipit_ops");
    let trace = ToyTrace::new(TWO_PROCESSES);
    let output = run(&trace, TimeProfile::new(grid(0, 100_000_000_000, 4)));
    assert!(output.grid.is_exact_for(output.run_range));
    let edges = output.grid.edges_ns(trace.definitions());
    let functions = by_region(&output, &trace);
    let bins = golden["expected"]["time_profile_4"].as_array().unwrap();
    assert_eq!(bins.len(), 4);
    let mut n_values = 0;
    for (i, bin) in bins.iter().enumerate() {
        assert_eq!(bin["start"].as_f64().unwrap() as u64, edges[i]);
        assert_eq!(bin["end"].as_f64().unwrap() as u64, edges[i + 1]);
        assert_eq!(bin["idle"].as_f64().unwrap() as u64, output.idle[i].0);
        for (name, ns) in bin["by"].as_object().unwrap() {
            let region = trace.clone().region(name);
            assert_eq!(functions[&region][i], ns.as_f64().unwrap() as u64, "{name} in bin {i}");
            n_values += 1;
        }
    }
    assert_eq!(n_values, 4 * functions.len());
}

/// Ticks of each region and of idleness in each bin.
fn tick_by_tick(trace: &ToyTrace, grid: &TimeGrid) -> (BTreeMap<RegionId, Vec<u64>>, Vec<u64>) {
    let calls = calls(trace);
    let mut by_region: BTreeMap<RegionId, Vec<u64>> = BTreeMap::new();
    let mut idle = vec![0; grid.n_bins()];
    for location in code_locations(trace).into_iter().filter(|&location| span(trace, location).is_some()) {
        for at in grid.range().start.0..grid.range().end.0 {
            let row = match innermost(&calls, location, at) {
                Some(call) => {
                    by_region.entry(*call.path.last().unwrap()).or_insert_with(|| vec![0; grid.n_bins()])
                }
                None => &mut idle,
            };
            row[grid.bin(Ticks(at)).unwrap()] += 1;
        }
    }
    (by_region, idle)
}

#[test]
fn every_tick_goes_to_the_innermost_call_of_its_bin() {
    for (i, trace) in random_traces().enumerate() {
        let range = run_range(&trace);
        // Bins of the run, of a part of it, and of more than it; also more bins than ticks.
        let part = TimeRange { start: Ticks(range.start.0 + 100), end: Ticks(range.end.0 / 2 + 120) };
        let more = TimeRange { start: Ticks(0), end: Ticks(range.end.0 + 77) };
        for (range, n_bins) in [(range, 7), (part, 13), (more, 1), (range, 5000)] {
            let grid = grid_of(range, n_bins);
            let output = run(&trace, TimeProfile::new(grid));
            let (expected, idle) = tick_by_tick(&trace, &grid);
            assert_eq!(by_region(&output, &trace), expected, "trace {i}, {grid:?}");
            assert_eq!(
                output.idle.iter().map(|ticks| ticks.0).collect::<Vec<_>>(),
                idle,
                "trace {i}, {grid:?}"
            );
        }
    }
}

#[test]
fn over_the_run_the_bins_sum_up_to_the_profile() {
    for trace in random_traces() {
        let output = run(&trace, TimeProfile::new(grid_of(run_range(&trace), 11)));
        let profile = run(&trace, CallPathProfile);
        let rows = profile.rows(trace.definitions(), By::CallPath, Per::Total);
        let expected: BTreeMap<_, _> =
            rows.iter().filter(|row| 0 < row.times.exclusive.0).map(|r| (r.key, r.times.exclusive)).collect();
        let found = output.functions(trace.definitions(), By::CallPath);
        assert_eq!(found.iter().map(|row| (row.key, row.total)).collect::<BTreeMap<_, _>>(), expected);
        assert!(found.is_sorted_by_key(|row| std::cmp::Reverse(row.total)));
    }
}

#[test]
fn time_outside_of_the_bins_is_left_out_and_said() {
    let trace = ToyTrace::new("0: enter main @0, enter f @10, leave @30, leave @100");
    let (output, report) = run_report(&trace, &Filter::default(), TimeProfile::new(grid(20, 40, 2)));
    let names = |name: &str| by_region(&output, &trace)[&trace.clone().region(name)].clone();
    assert_eq!((names("f"), names("main")), (vec![10, 0], vec![0, 10]));
    assert!(!output.grid.is_exact_for(output.run_range));
    assert_eq!(report.notices.iter().map(|n| n.code).collect::<Vec<_>>(), [NoticeCode::NotAvailable]);
    let exact = TimeProfile::new(grid_of(output.run_range.unwrap(), 2));
    let (output, report) = run_report(&trace, &Filter::default(), exact);
    assert!(output.grid.is_exact_for(output.run_range) && report.notices.is_empty());
}

#[test]
fn threads_and_streams_are_idle_outside_of_every_region() {
    let trace = ToyTrace::new(
        "
        0: enter main @0, leave @100
        0.1: enter work @0, leave @50
        0.gpu0: enter kernel @60, leave @80
        0.metrics: metric power=1 @10",
    );
    let output = run(&trace, TimeProfile::new(grid(0, 100, 2)));
    assert_eq!(output.n_locations, 3);
    assert_eq!(output.idle, [Ticks(50), Ticks(80)]);
    let table = output.bins_table(trace.definitions());
    assert_eq!(table.column("idle_ratio").unwrap().data, ColumnData::F64(vec![50.0 / 150.0, 80.0 / 150.0]));
    assert_eq!(table.column("busy_ratio").unwrap().data, ColumnData::F64(vec![100.0 / 150.0, 70.0 / 150.0]));
    let table = output.table(trace.definitions(), By::Region);
    assert_eq!(table.n_rows(), 6);
    assert_eq!(table.column("exclusive_ns").unwrap().data, ColumnData::U64(vec![50, 50, 50, 0, 0, 20]));
    assert_eq!(table.column("bin_end_ns").unwrap().data, ColumnData::U64(vec![50, 100, 50, 100, 50, 100]));
}

#[test]
fn laws_hold() {
    laws::check(
        || TimeProfile::new(grid(150, 2150, 9)),
        |output| {
            let TimeProfileOutput { call_paths, grid, run_range, n_locations, idle, rows } = output;
            let paths: Vec<_> = call_paths.paths().map(|p| call_paths.regions(p)).collect();
            format!("{paths:?} {grid:?} {run_range:?} {n_locations} {idle:?} {rows:?}")
        },
    );
}
