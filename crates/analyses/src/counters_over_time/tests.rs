use super::state::{ordered, value};
use super::*;
use crate::time_grid::TimeGrid;
use ouzel_model::{
    ColumnData, Filter, MetricId, MetricMode, MetricValueType, NoticeCode, Ticks, TimeRange, TraceSource,
};
use ouzel_testkit::{ToyTrace, laws, run, run_report};
use std::num::NonZeroU16;

fn grid(start: u64, end: u64, n_bins: u16) -> TimeGrid {
    TimeGrid::new(TimeRange { start: Ticks(start), end: Ticks(end) }, NonZeroU16::new(n_bins).unwrap())
}

fn gains(output: &CountersOverTimeOutput, at: usize) -> &[u64] {
    match &output.metrics[at].bins {
        CounterBins::Gains(gains) => gains,
        CounterBins::Values(_) => panic!("no counter"),
    }
}

const TWO: &str = "
    0: metric c=100 @0, enter f @0, metric c=110 @2, metric c=137 d=5 @11, leave @20, metric d=9 @20
    1: metric c=7 @5, enter f @5, metric c=10 @5, metric c=11 @30, leave @40";

#[test]
fn a_gain_is_spread_over_the_time_since_the_reading_before() {
    let trace = ToyTrace::new(TWO);
    let output = run(&trace, CountersOverTime::new(grid(0, 40, 4), Vec::new()));
    // 10 up to 2; 27 over 9 ticks of which 8 are before 10; 3 at 5; 1 over 25 ticks, whole at their end.
    assert_eq!(gains(&output, 0), [10 + 24 + 3, 3, 1, 0]);
    assert_eq!(output.metrics[0].n_locations, 2);
    // 4 over 9 ticks from 11: all of them within one bin but the last instant.
    assert_eq!(gains(&output, 1), [0, 4, 0, 0]);
    let table = output.table(trace.definitions());
    assert_eq!(
        table.column("gain").unwrap().data,
        ColumnData::OptionU64([37, 3, 1, 0, 0, 4, 0, 0].map(Some).to_vec())
    );
}

#[test]
fn only_what_was_asked_for_is_there_and_sums_are_last_less_first() {
    for n in [1, 3, 7, 1000] {
        let trace = ToyTrace::new(TWO).with_chunk_events(2);
        let output = run(&trace, CountersOverTime::new(grid(0, 40, n), vec![MetricId(0)]));
        assert_eq!(output.metrics.len(), 1);
        assert_eq!(gains(&output, 0).iter().sum::<u64>(), (137 - 100) + (11 - 7), "{n} bins");
    }
}

#[test]
fn a_value_holds_until_the_next_one() {
    let below = (-2_i64).cast_unsigned();
    let text = format!(
        "0: metric t=5 @0, enter f @1, metric t={below} @20, metric t=3 @25, leave @39
         1: enter f @30, metric t=40 @31, leave @32"
    );
    let mut trace = ToyTrace::new(&text);
    let metric = &mut trace.definitions_mut().metrics[0];
    (metric.mode, metric.value_type) = (MetricMode::Absolute, MetricValueType::I64);
    let output = run(&trace, CountersOverTime::new(grid(0, 40, 4), Vec::new()));
    let values = vec![Some((5.0, 5.0)), Some((5.0, 5.0)), Some((-2.0, 3.0)), Some((3.0, 40.0))];
    assert_eq!(output.metrics[0].bins, CounterBins::Values(values));
    let later = run(&trace, CountersOverTime::new(grid(40, 80, 2), Vec::new()));
    assert_eq!(later.metrics[0].bins, CounterBins::Values(vec![None, None]));
}

#[test]
fn a_counter_that_goes_back_gains_nothing_there() {
    let trace = ToyTrace::new("0: metric c=10 @0, enter f @0, metric c=3 @5, metric c=8 @10, leave @10");
    let analysis = CountersOverTime::new(grid(0, 10, 2), Vec::new());
    let (output, report) = run_report(&trace, &Filter::default(), analysis);
    assert_eq!(gains(&output, 0), [0, 5]);
    let found: Vec<_> = report.notices.iter().map(|n| (n.code, n.count)).collect();
    assert_eq!(found, [(NoticeCode::NotAvailable, 1)]);
}

#[test]
fn ordered_numbers_are_ordered_like_their_values() {
    let floats = [f64::NEG_INFINITY, -2.5, -0.0, 0.0, 1e-300, 7.0, f64::INFINITY];
    let keys = floats.map(|float| ordered(float.to_bits(), MetricValueType::F64));
    assert!(keys.is_sorted());
    for (key, float) in keys.into_iter().zip(floats) {
        assert_eq!(value(key, MetricValueType::F64).to_bits(), float.to_bits());
    }
    let signed = [i64::MIN, -5, 0, 5, i64::MAX].map(|n| ordered(n.cast_unsigned(), MetricValueType::I64));
    assert!(signed.is_sorted());
    assert_eq!(value(signed[1], MetricValueType::I64).to_bits(), (-5.0_f64).to_bits());
}

#[test]
fn laws_hold() {
    laws::check(|| CountersOverTime::new(grid(150, 2150, 9), Vec::new()), |output| format!("{output:?}"));
}
