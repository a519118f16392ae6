//! Lists of calls, against the agreed ones and by hand.

use super::CallList;
use crate::golden::TWO_PROCESSES;
use ouzel_engine::list;
use ouzel_model::{Borders, ColumnData, Filter, MetricId, Table, TraceSource};
use ouzel_testkit::ToyTrace;
use ouzel_testkit::golden;
use serde_json::{Value, json};
use std::sync::mpsc::sync_channel;

/// The calls that `filter` selects, in the order of the enters of each location.
fn listed(trace: &ToyTrace, filter: &Filter, metrics: &[MetricId]) -> Table {
    let (sender, receiver) = sync_channel(64);
    let definitions = trace.definitions();
    let selection = filter.resolve(definitions);
    let window = selection.window.filter(|_| filter.borders == Borders::Keep);
    let calls = CallList::new(definitions, metrics, window, sender);
    let listed = list(trace, filter, selection.locations, calls, None).unwrap();
    assert_eq!(listed.outcome, Ok(()));
    drop(listed);
    let mut batches = receiver.into_iter().map(|batch| batch.into_table(definitions, metrics));
    let mut table = batches
        .next()
        .unwrap_or_else(|| super::CallBatch::new(metrics.len()).into_table(definitions, metrics));
    batches.for_each(|more| table.append(more));
    table
}

/// Row `i` of a column as JSON.
fn value(table: &Table, name: &str, i: usize) -> Value {
    match &table.column(name).unwrap_or_else(|| panic!("a column {name}")).data {
        ColumnData::U64(values) => json!(values[i]),
        ColumnData::OptionU64(values) => json!(values[i]),
        ColumnData::Text(values) => json!(&*values[i]),
        _ => panic!("{name} has another type"),
    }
}

/// The named columns, one text for each row, by location and number.
fn rows(table: &Table, columns: &[&str]) -> Vec<String> {
    let mut order: Vec<usize> = (0..table.n_rows()).collect();
    order.sort_by_key(|&i| (value(table, "location", i).as_u64(), value(table, "call", i).as_u64()));
    let row = |i| columns.iter().map(|name| value(table, name, i).to_string()).collect::<Vec<_>>().join(" ");
    order.into_iter().map(row).collect()
}

fn agreed(calls: &Value) -> Vec<String> {
    let mut calls: Vec<&Value> = calls.as_array().expect("a list").iter().collect();
    calls.sort_by_key(|c| (c["proc"].as_u64(), c["enter"].as_u64(), std::cmp::Reverse(c["leave"].as_u64())));
    calls.iter().map(|c| format!("{} {} {} {}", c["proc"], c["name"], c["enter"], c["leave"])).collect()
}

#[test]
fn the_example_of_two_processes_has_its_agreed_calls() {
    let golden = golden("pipit_ops");
    let expected = &golden["expected"];
    let trace = ToyTrace::new(TWO_PROCESSES);
    let table = listed(&trace, &Filter::default(), &[]);
    let columns = ["rank", "region", "enter_ns", "leave_ns"];
    assert_eq!(rows(&table, &columns), agreed(&expected["calls"]));
    let mut times: Vec<String> = expected["calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| format!("{} {} {} {} {}", c["proc"], c["enter"], c["name"], c["inc"], c["exc"]))
        .collect();
    let mut found = rows(&table, &["rank", "enter_ns", "region", "inclusive_ns", "exclusive_ns"]);
    times.sort();
    found.sort();
    assert_eq!(found, times);

    let window = Filter { time_ns: Some((10_000_000_000, 20_000_000_000)), ..Filter::default() };
    let kept = listed(&trace, &window, &[]);
    assert_eq!(rows(&kept, &columns), agreed(&expected["filter_overlap_10_20s"]));
    let trimmed = listed(&trace, &Filter { borders: Borders::Trim, ..window }, &[]);
    assert_eq!(rows(&trimmed, &columns), agreed(&expected["filter_trim_10_20s"]));
}

#[test]
fn parents_depths_and_children_are_those_of_listed_calls() {
    let trace = ToyTrace::new(
        "0: enter main @0, enter f @10, enter g @20, leave @30, enter g @32, leave @33, leave @40, enter g @50, leave @60, leave @100",
    );
    let columns = ["call", "parent", "depth", "n_children", "region", "inclusive_ns", "exclusive_ns"];
    assert_eq!(
        rows(&listed(&trace, &Filter::default(), &[]), &columns),
        [
            "0 null 0 2 \"main\" 100 60",
            "1 0 1 2 \"f\" 30 19",
            "2 1 2 0 \"g\" 10 10",
            "3 1 2 0 \"g\" 1 1",
            "4 0 1 0 \"g\" 10 10"
        ]
    );
    let without_f = Filter::default().and("name != f".parse().unwrap());
    assert_eq!(
        rows(&listed(&trace, &without_f, &[]), &columns),
        ["0 null 0 3 \"main\" 100 60", "1 0 1 0 \"g\" 10 10", "2 0 1 0 \"g\" 1 1", "3 0 1 0 \"g\" 10 10"]
    );
    let long = Filter::default().and("inclusive >= 30ns and depth > 0".parse().unwrap());
    assert_eq!(rows(&listed(&trace, &long, &[]), &columns), ["0 null 0 0 \"f\" 30 19"]);
}

#[test]
fn counters_are_calculated_for_each_call() {
    let mut trace = ToyTrace::new(
        "0: enter main @0, metric m=100 @1, enter f @1, metric m=130 @2, enter g @2, metric m=150 @3, leave @3, metric m=155 @4, leave @4, metric m=7 @5, leave @6",
    );
    let metric = trace.metric("m");
    let table = listed(&trace, &Filter::default(), &[metric]);
    // The counter went back in main, which began before its first value.
    assert_eq!(
        rows(&table, &["region", "m_inclusive", "m_exclusive"]),
        ["\"main\" null null", "\"f\" 55 35", "\"g\" 20 20"]
    );
}

#[test]
fn rows_do_not_depend_on_chunks() {
    for seed in 0..20 {
        let faults = ouzel_testkit::Faults::Leaves;
        let trace = ouzel_testkit::RandomTrace { seed, n_locations: 3, n_events: 200, faults }.build();
        let filter = Filter::default().and("not name like 'MPI_*' or exclusive > 10ns".parse().unwrap());
        let filter = Filter { time_ns: Some((300, 2000)), ..filter };
        let metrics = [MetricId(0)];
        let whole = listed(&trace, &Filter { time_ns: None, ..filter.clone() }, &metrics);
        let n_whole = whole.n_rows();
        assert_eq!(
            listed(
                &trace.clone().with_chunk_events(3),
                &Filter { time_ns: None, ..filter.clone() },
                &metrics
            ),
            whole
        );
        assert!(listed(&trace, &filter, &[]).n_rows() <= n_whole);
    }
}
