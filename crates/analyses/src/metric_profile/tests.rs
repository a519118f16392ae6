use super::*;
use crate::{By, Per};
use ouzel_model::{
    ColumnData, Filter, Level, LocationId, Metric, MetricId, MetricMode, MetricValueType, NoticeCode,
    TraceSource,
};
use ouzel_testkit::{ToyTrace, laws, run, run_report};
use std::sync::Arc;

/// Values precede the enter or leave that they belong to, at the same time.
const NESTED: &str = "
    0: metric c=100 @0, enter f @0, metric c=110 d=5 @2, enter g @2, metric c=140 d=9 @5, leave @5, metric c=145 @6, enter f @6, metric c=150 @7, leave @7, metric c=200 d=10 @9, leave @9
    1: metric c=7 @1, enter f @1, metric c=8 @2, leave @2";

/// Rows as `metric names inclusive exclusive`.
fn rows(trace: &ToyTrace, by: By, per: Per) -> Vec<String> {
    let output = run(trace, MetricProfile);
    let definitions = trace.definitions();
    let name = |region| definitions.region(region).name.to_string();
    let text = |row: MetricRow| {
        let names = match row.key.call_path {
            Some(path) => output.call_paths.regions(path).into_iter().map(name).collect::<Vec<_>>().join("/"),
            None => name(row.key.region),
        };
        let rank = row.key.rank.map_or(String::new(), |rank| format!("rank {rank} "));
        let metric = &definitions.metrics[row.metric.index()].name;
        format!("{metric} {rank}{names} {} {}", row.inclusive, row.exclusive)
    };
    output.rows(definitions, by, per).into_iter().map(text).collect()
}

#[test]
fn gains_go_to_the_innermost_call_and_up_to_its_callers() {
    let trace = ToyTrace::new(NESTED);
    // f on rank 0: 200 - 100 = 100, of which 30 in g and 5 in the inner f; on rank 1: 1.
    assert_eq!(
        rows(&trace, By::CallPath, Per::Total),
        ["c f 101 66", "c f/g 30 30", "c f/f 5 5", "d f/g 4 4", "d f 5 1",]
    );
}

#[test]
fn a_recursive_call_adds_its_inclusive_value_once() {
    let trace = ToyTrace::new(NESTED).with_chunk_events(3);
    assert_eq!(
        rows(&trace, By::Region, Per::Rank),
        ["c rank 0 f 100 70", "c rank 0 g 30 30", "c rank 1 f 1 1", "d rank 0 g 4 4", "d rank 0 f 5 1",]
    );
}

#[test]
fn calls_before_the_first_value_are_counted() {
    let (_, report) = run_report(&ToyTrace::new(NESTED), &Filter::default(), MetricProfile);
    let seen: Vec<_> = report.notices.iter().map(|n| (n.level, n.code, n.count, n.location)).collect();
    assert_eq!(seen, [(Level::Low, NoticeCode::NotAvailable, 1, Some(LocationId(0)))]);
}

#[test]
fn a_counter_that_goes_back_gains_nothing_there() {
    let text = "0: metric c=10 @0, enter f @0, metric c=3 @1, enter g @1, metric c=5 @2, leave @2, metric c=9 @3, leave @3";
    let trace = ToyTrace::new(text);
    assert_eq!(rows(&trace, By::CallPath, Per::Total), ["c f 6 4", "c f/g 2 2"]);
    let (_, report) = run_report(&trace, &Filter::default(), MetricProfile);
    let seen: Vec<_> = report.notices.iter().map(|n| (n.level, n.count)).collect();
    assert_eq!(seen, [(Level::Medium, 1)]);
}

#[test]
fn signed_counters_may_begin_below_zero() {
    let text = format!("0: metric c={} @0, enter f @0, metric c=4 @1, leave @1", (-3_i64).cast_unsigned());
    let mut trace = ToyTrace::new(&text);
    trace.definitions_mut().metrics[0].value_type = MetricValueType::I64;
    assert_eq!(rows(&trace, By::Region, Per::Total), ["c f 7 7"]);
}

#[test]
fn metrics_that_are_no_counters_are_summarised() {
    let float = |value: f64| value.to_bits();
    let text = format!(
        "0: metric t={} @0, enter f @0, metric t={} @1, leave @1, metric t={} @2
         0.metrics: metric power=30 @0, metric power=10 @5, metric power=20 @9",
        float(1.5),
        float(-2.0),
        float(0.5)
    );
    let mut trace = ToyTrace::new(&text);
    trace.definitions_mut().metrics[0] = Metric {
        name: Arc::from("t"),
        description: Arc::from(""),
        unit: Arc::from("K"),
        mode: MetricMode::Absolute,
        value_type: MetricValueType::F64,
    };
    assert_eq!(rows(&trace, By::Region, Per::Total), Vec::<String>::new());
    let output = run(&trace, MetricProfile);
    let summary = |location, metric, min, max, mean| MetricSummary {
        location: LocationId(location),
        metric: MetricId(metric),
        count: 3,
        min,
        max,
        mean,
    };
    // `power` counts up in name, but its location runs nothing: no call can own its values.
    assert_eq!(output.summaries, [summary(0, 0, -2.0, 1.5, 0.0), summary(1, 1, 10.0, 30.0, 20.0)]);
}

#[test]
fn tables_have_metric_and_unit() {
    let trace = ToyTrace::new(NESTED);
    let table = run(&trace, MetricProfile).table(trace.definitions(), By::Region, Per::Total);
    let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["region", "metric", "unit", "inclusive", "exclusive"]);
    assert_eq!(table.column("exclusive").unwrap().data, ColumnData::U64(vec![71, 30, 4, 1]));
}

#[test]
fn laws_hold() {
    laws::check(
        || MetricProfile,
        |output| {
            let paths: Vec<_> = output.call_paths.paths().map(|p| output.call_paths.regions(p)).collect();
            format!("{paths:?} {:?} {:?}", output.locations, output.summaries)
        },
    );
}
