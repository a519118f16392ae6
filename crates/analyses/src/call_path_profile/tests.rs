use super::*;
use crate::{By, Per};
use ouzel_model::{ColumnData, Filter, LocationId, Ticks, TraceSource};
use ouzel_testkit::{ToyTrace, golden, laws, random_program, run, run_report};

/// f calls g, which calls f again, on two ranks; rank 0 begins late and has a thread.
const RECURSIVE: &str = "
    0: other @0, enter f @10, enter g @20, enter f @30, leave @50, leave @60, enter g @60, leave @65, leave @100, other @120
    0.1: enter g @5, leave @9
    1: enter f @0, enter g @10, enter f @30, leave @40, leave @40, leave @40";

/// Rows as `names visits inclusive exclusive min max`, with rank and location where there are any.
fn check(text: &str, by: By, per: Per, expected: &[&str]) {
    let trace = ToyTrace::new(text);
    let output = run(&trace, CallPathProfile);
    let definitions = trace.definitions();
    let rows = output.rows(definitions, by, per).into_iter().map(|ProfileRow { key, times }| {
        let name = |region| definitions.region(region).name.to_string();
        let names = match key.call_path {
            Some(path) => output.call_paths.regions(path).into_iter().map(name).collect::<Vec<_>>().join("/"),
            None => name(key.region),
        };
        let rank = key.rank.map_or(String::new(), |rank| format!("rank {rank} "));
        let location = key.location.map_or(String::new(), |location| format!("location {} ", location.0));
        let VisitTimes { visits, inclusive, exclusive, min, max } = times;
        let values = [inclusive, exclusive, min, max].map(|ticks| ticks.0.to_string()).join(" ");
        format!("{rank}{location}{names} {visits} {values}")
    });
    assert_eq!(rows.collect::<Vec<_>>(), expected);
}

#[test]
fn a_recursive_call_adds_its_inclusive_time_once() {
    check(RECURSIVE, By::Region, Per::Total, &["f 4 130 85 10 90", "g 4 79 49 4 40"]);
}

#[test]
fn call_paths_keep_recursion_apart() {
    let expected = ["f 2 130 55 40 90", "f/g 3 75 45 5 40", "f/g/f 2 30 30 10 20", "g 1 4 4 4 4"];
    check(RECURSIVE, By::CallPath, Per::Total, &expected);
}

#[test]
fn ranks_sum_their_locations() {
    let expected = [
        "rank 0 f 2 90 65 20 90",
        "rank 0 g 3 49 29 4 40",
        "rank 1 f 2 40 20 10 40",
        "rank 1 g 1 30 20 30 30",
    ];
    check(RECURSIVE, By::Region, Per::Rank, &expected);
}

#[test]
fn locations_stand_for_themselves_and_ties_go_by_name() {
    let expected =
        ["rank 0 location 0 a 1 5 5 5 5", "rank 1 location 2 a 1 5 5 5 5", "rank 0 location 1 b 1 5 5 5 5"];
    let text = "
        0: enter a @0, leave @5
        0.1: enter b @1, leave @6
        1: enter a @0, leave @5";
    check(text, By::Region, Per::Location, &expected);
}

#[test]
fn a_visit_of_no_length_counts() {
    check("0: enter a @7, leave @7", By::Region, Per::Total, &["a 1 0 0 0 0"]);
}

#[test]
fn calls_without_leave_end_with_the_location_and_stray_leaves_are_nothing() {
    let text = "0: enter a @0, leave b @1, enter b @2, enter c @4, leave a @10, enter d @20, other @25";
    let expected = ["c 1 6 6 6 6", "d 1 5 5 5 5", "a 1 10 2 10 10", "b 1 8 2 8 8"];
    check(text, By::Region, Per::Total, &expected);
}

#[test]
fn time_outside_of_every_region_is_the_rest_of_the_span() {
    let output = run(&ToyTrace::new(RECURSIVE), CallPathProfile);
    let outside: Vec<_> = output.locations.iter().map(|l| (l.span, l.outside)).collect();
    let span = |start, end| Some((Ticks(start), Ticks(end)));
    assert_eq!(outside, [(span(0, 120), Ticks(30)), (span(5, 9), Ticks(0)), (span(0, 40), Ticks(0))]);
    let range = output.run_range.unwrap();
    assert_eq!((range.start, range.end), (Ticks(0), Ticks(120)));
}

#[test]
fn a_time_range_clips_visits() {
    let filter = Filter { time_ns: Some((40, 62)), ..Filter::default() };
    let trace = ToyTrace::new(RECURSIVE);
    let (output, _) = run_report(&trace, &filter, CallPathProfile);
    let rows = &output.locations[0].rows;
    let seen: Vec<_> =
        rows.iter().map(|row| (row.times.visits, row.times.inclusive.0, row.times.exclusive.0)).collect();
    assert_eq!(seen, [(1, 22, 0), (2, 22, 12), (1, 10, 10)]);
    assert_eq!(output.locations[0].location, LocationId(0));
}

#[test]
fn hidden_regions_keep_their_time_under_one_name() {
    let filter = Filter { regions: vec!["g".to_owned()], ..Filter::default() };
    let trace = ToyTrace::new(RECURSIVE);
    let (output, _) = run_report(&trace, &filter, CallPathProfile);
    let rows = output.rows(trace.definitions(), By::Region, Per::Total);
    let seen: Vec<_> = rows
        .iter()
        .map(|row| (&*trace.definitions().region(row.key.region).name, row.times.exclusive.0))
        .collect();
    assert_eq!(seen, [("[filtered]", 85), ("g", 49)]);
}

#[test]
fn tables_speak_nanoseconds_and_names() {
    let trace = ToyTrace::new(RECURSIVE).with_ticks_per_second(3_000_000_000);
    let table = run(&trace, CallPathProfile).table(trace.definitions(), By::CallPath, Per::Location);
    let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
    let values = ["visits", "inclusive_ns", "exclusive_ns", "min_ns", "max_ns"];
    let described = ["paradigm", "role", "file", "line"];
    assert_eq!(names, [&["region", "call_path", "rank", "location"][..], &values, &described].concat());
    // 45, 25, 20, 20, 10, 10 and 4 ticks of a third of a nanosecond, rounded half up.
    let exclusive = &table.column("exclusive_ns").unwrap().data;
    assert_eq!(*exclusive, ColumnData::U64(vec![15, 8, 7, 7, 3, 3, 1]));
    let ColumnData::TextList(paths) = &table.column("call_path").unwrap().data else { panic!("not a list") };
    assert_eq!(paths[2].iter().map(|name| &**name).collect::<Vec<_>>(), ["f", "g"]);
    assert!(table.columns.iter().all(|column| !column.doc.is_empty()));
}

#[test]
fn corrupt_times_stop_at_the_greatest_number() {
    let text = "
        0: enter a @0, leave @18446744073709551615
        1: enter a @0, leave @18446744073709551615";
    let greatest = u64::MAX.to_string();
    let expected = format!("a 2 {greatest} {greatest} {greatest} {greatest}");
    check(text, By::Region, Per::Total, &[&expected]);
    let trace = ToyTrace::new(text).with_ticks_per_second(3);
    let table = run(&trace, CallPathProfile).table(trace.definitions(), By::Region, Per::Total);
    assert_eq!(table.column("exclusive_ns").unwrap().data, ColumnData::U64(vec![u64::MAX]));
}

#[test]
fn laws_hold() {
    laws::check(
        || CallPathProfile,
        |output| {
            let paths: Vec<_> = output.call_paths.paths().map(|p| output.call_paths.regions(p)).collect();
            format!("{paths:?} {:?} {:?}", output.locations, output.run_range)
        },
    );
}

#[test]
fn totals_keep_the_laws() {
    laws::check(
        || TotalProfile,
        |output| {
            let paths: Vec<_> = output.call_paths.paths().map(|p| output.call_paths.regions(p)).collect();
            format!("{paths:?} {:?}", output.rows)
        },
    );
}

#[test]
fn totals_are_those_of_all_locations() {
    for seed in 0..20 {
        let trace = random_program(seed);
        let definitions = trace.definitions();
        let (of_each, total) = (run(&trace, CallPathProfile), run(&trace, TotalProfile));
        for by in [By::Region, By::CallPath] {
            assert_eq!(total.rows(definitions, by), of_each.rows(definitions, by, Per::Total), "{seed}");
            assert_eq!(total.table(definitions, by), of_each.table(definitions, by, Per::Total), "{seed}");
        }
    }
}

#[test]
fn the_example_of_two_processes_has_its_agreed_profile() {
    let agreed = golden("pipit_ops");
    let trace = ToyTrace::new(crate::golden::TWO_PROCESSES);
    let output = run(&trace, CallPathProfile);
    let name = |region| trace.definitions().region(region).name.to_string();
    let expected = agreed["expected"]["flat_total"].as_object().unwrap();
    let rows = output.rows(trace.definitions(), By::Region, Per::Total);
    assert_eq!(rows.len(), expected.len());
    for row in rows {
        let name = name(row.key.region);
        assert_eq!(Some(row.times.exclusive.0), expected[&name].as_u64(), "{name}");
    }
    let expected = agreed["expected"]["cct"].as_object().unwrap();
    let rows = output.rows(trace.definitions(), By::CallPath, Per::Total);
    assert_eq!(rows.len(), expected.len());
    for ProfileRow { key, times } in rows {
        let regions = output.call_paths.regions(key.call_path.unwrap());
        let path = regions.into_iter().map(name).collect::<Vec<_>>().join("/");
        let seen = [times.visits, times.inclusive.0, times.exclusive.0];
        assert_eq!(serde_json::json!(seen), expected[&path], "{path}");
    }
}
