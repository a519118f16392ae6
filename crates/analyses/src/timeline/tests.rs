use super::state::Spacing;
use super::*;
use ouzel_model::{CallPathTree, Filter, LocationId, NoticeCode, Ticks, TraceSource};
use ouzel_testkit::{ToyTrace, laws, run, run_report};
use std::fmt::Write;

/// Each row as `columns×path` runs, paths by the names of their regions.
fn text(trace: &ToyTrace, output: &TimelineOutput) -> Vec<String> {
    let name = |run: &TimelineRun| match run.call_path {
        None => "-".to_owned(),
        Some(path) if path == CallPathTree::ROOT => "outside".to_owned(),
        Some(path) => {
            let regions = output.call_paths.regions(path);
            let names: Vec<&str> =
                regions.iter().map(|&region| &*trace.definitions().region(region).name).collect();
            names.join("/")
        }
    };
    let row = |row: &TimelineRow| {
        let runs: Vec<String> =
            row.runs.iter().map(|run| format!("{}×{}", run.n_columns, name(run))).collect();
        runs.join(" ")
    };
    output.rows.iter().map(row).collect()
}

#[test]
fn a_row_tells_the_innermost_call_at_each_instant() {
    let trace = ToyTrace::new(
        "
        0: enter main @2, enter f @4, leave @6, enter g @6, leave @9, leave @12
        1: other @0, enter f @3, leave @5, other @8",
    );
    let output = run(&trace, Timeline::default());
    assert_eq!((output.origin.0, output.spacing.0, output.n_columns), (0, 1, 12));
    // Events that the analysis does not need still belong to the span of a location.
    let expected = ["2×- 2×main 2×main/f 3×main/g 3×main", "3×outside 2×f 3×outside 4×-"];
    assert_eq!(text(&trace, &output), expected);
}

/// The expected row, event by event: calls with `enter <= t < leave`, the innermost last.
fn check_against_definition(n_calls: u64, length: u64) {
    let mut events = String::from("0: enter main @5");
    let mut calls = vec![(5_u64, 5 + n_calls * length, "main")];
    for i in 0..n_calls {
        let (enter, leave) = (5 + i * length + i % 3, 5 + (i + 1) * length - i % 2);
        let name = ["main/a", "main/b"][i as usize % 2];
        calls.push((enter, leave, name));
        let _ = write!(events, ", enter {} @{enter}, leave @{leave}", &name[5..]);
    }
    let _ = write!(events, ", leave @{}", 5 + n_calls * length);
    let trace = ToyTrace::new(&events);
    let output = run(&trace, Timeline::default());
    assert!(output.n_columns <= 2048 && 1024 < output.n_columns, "{} columns", output.n_columns);
    assert_eq!(output.origin.0 % output.spacing.0, 0);
    let mut column = 0;
    for run in &output.rows[0].runs {
        for _ in 0..run.n_columns {
            let at = output.at(column).0;
            let open = calls.iter().rev().find(|(enter, leave, _)| *enter <= at && at < *leave);
            let path = output.call_paths.regions(run.call_path.unwrap());
            let names: Vec<&str> = path.iter().map(|&r| &*trace.definitions().region(r).name).collect();
            assert_eq!(names.join("/"), open.map_or("", |call| call.2), "at {at}");
            column += 1;
        }
    }
    assert_eq!(column, output.n_columns);
}

#[test]
fn rows_on_coarser_grids_keep_to_the_definition() {
    check_against_definition(300, 5);
    check_against_definition(1000, 7);
    check_against_definition(700, 1013);
    check_against_definition(20, 1_000_003);
}

#[test]
fn short_locations_share_the_grid_of_the_long_ones() {
    let trace = ToyTrace::new(
        "
        0: enter a @0, leave @10000
        1: enter b @4000, leave @4100",
    );
    let output = run(&trace, Timeline::default());
    assert_eq!((output.spacing.0, output.n_columns), (8, 1250));
    assert_eq!(text(&trace, &output), ["1250×a", "500×- 13×b 737×-"]);
    assert_eq!(output.row(LocationId(1)), Some(&output.rows[1]));
    assert_eq!(output.row(LocationId(2)), None);
}

#[test]
fn of_many_locations_every_nth_has_a_row_and_the_rest_is_counted() {
    let lines: String = (0..10).fold(String::new(), |mut lines, rank| {
        let _ = writeln!(lines, "{rank}: enter a @0, leave @{}", 10 + rank);
        lines
    });
    let trace = ToyTrace::new(&lines);
    let filter = Filter::default();
    let analysis = Timeline { most_rows: 4, ..Timeline::default() };
    let (output, report) = run_report(&trace, &filter, analysis);
    assert_eq!(output.rows.iter().map(|row| row.location.0).collect::<Vec<_>>(), [0, 3, 6, 9]);
    assert_eq!(output.n_left_out, 6);
    let codes: Vec<_> = report.notices.iter().map(|notice| notice.code).collect();
    assert_eq!(codes, [NoticeCode::NotAvailable]);
    let (all, report) = run_report(&trace, &filter, Timeline::default());
    assert_eq!((all.rows.len(), all.n_left_out, report.notices.len()), (10, 0, 0));
}

#[test]
fn a_time_range_cuts_the_rows() {
    let trace = ToyTrace::new("0: enter a @0, enter b @100, leave @200, leave @300");
    let filter = Filter { time_ns: Some((150, 250)), ..Filter::default() };
    let (output, _) = run_report(&trace, &filter, Timeline::default());
    assert_eq!((output.origin.0, output.n_columns), (150, 100));
    assert_eq!(text(&trace, &output), ["50×a/b 50×a"]);
}

#[test]
fn a_declared_length_changes_nothing_unless_it_is_far_too_long() {
    let text = "0: enter a @0, enter b @90000, leave @150000, leave @200000\n1: enter a @100, leave @300";
    let plain = run(&ToyTrace::new(text), Timeline::default());
    assert_eq!((plain.spacing.0, plain.n_columns), (128, 1563));
    for (declared, spacing) in [(200_000, 128), (10_000_000, 128), (20_000_000, 256), (100, 128)] {
        let mut trace = ToyTrace::new(text);
        trace.definitions_mut().clock.declared_length = Some(Ticks(declared));
        let output = run(&trace, Timeline::default());
        assert_eq!(output.spacing.0, spacing, "declared {declared}");
        if spacing == plain.spacing.0 {
            assert_eq!(output.rows, plain.rows);
        }
    }
}

#[test]
fn laws_hold() {
    for log2 in [0, 5] {
        check_laws(log2);
    }
}

fn check_laws(log2: u32) {
    laws::check(
        || Timeline { finest: Spacing { log2 }, ..Timeline::default() },
        |output| {
            let TimelineOutput { call_paths, origin, spacing, n_columns, rows, n_left_out } = output;
            let paths: Vec<_> = call_paths.paths().map(|p| call_paths.regions(p)).collect();
            format!("{paths:?} {origin:?} {spacing:?} {n_columns} {rows:?} {n_left_out}")
        },
    );
}
