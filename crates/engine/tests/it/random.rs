//! What holds for any trace.

use crate::Log;
use crate::log::Seen;
use ouzel_model::{EventKind, Filter, LocationId};
use ouzel_testkit::{Faults, RandomTrace, ToyTrace, run};
use ouzel_testkit::{laws, run_report};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn traces() -> impl Strategy<Value = ToyTrace> {
    (any::<u64>(), 1..5_u32, 1..250_usize, any::<bool>()).prop_map(|(seed, n_locations, n_events, faulty)| {
        let faults = if faulty { Faults::Leaves } else { Faults::None };
        RandomTrace { seed, n_locations, n_events, faults }.build()
    })
}

fn seen(trace: &ToyTrace, filter: &Filter) -> Seen {
    run_report(trace, filter, Log).0
}

fn patterns() -> impl Strategy<Value = Vec<String>> {
    let names = ["main", "solve", "step", "exchange", "MPI_*", "MPI_Send", "s*", "none"];
    proptest::sample::subsequence(names.to_vec(), 1..4)
        .prop_map(|names| names.into_iter().map(str::to_owned).collect())
}

/// Inclusive and exclusive time per location and path, of visits cut to `[start, end)`.
pub fn clipped(seen: &Seen, start: u64, end: u64) -> BTreeMap<(LocationId, String), (u64, u64)> {
    let mut sums: BTreeMap<(LocationId, String), (u64, u64)> = BTreeMap::new();
    let mut callees: BTreeMap<(LocationId, String), u64> = BTreeMap::new();
    for (location, path, enter, leave, _) in seen.visits() {
        let inclusive = leave.0.min(end).saturating_sub(enter.0.max(start));
        sums.entry((location, path.to_owned())).or_default().0 += inclusive;
        if let Some((caller, _)) = path.rsplit_once('/') {
            *callees.entry((location, caller.to_owned())).or_default() += inclusive;
        }
    }
    for (key, sum) in &mut sums {
        sum.1 = sum.0 - callees.get(key).copied().unwrap_or(0);
    }
    sums.retain(|_, sum| sum.0 != 0);
    sums
}

/// Rows with a payload in `[start, end)`.
fn payloads(seen: &Seen, start: u64, end: u64) -> Vec<(LocationId, u64, EventKind, Vec<u64>)> {
    let is_call = |kind| matches!(kind, EventKind::Enter | EventKind::Leave);
    let rows = seen.rows.iter().flat_map(|(&l, rows)| rows.iter().map(move |row| (l, row)));
    rows.filter(|(_, row)| !is_call(row.kind) && start <= row.time.0 && row.time.0 < end)
        .map(|(l, row)| (l, row.time.0, row.kind, row.values.clone()))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// The careful path is taken for any filter, the fast one for none.
    #[test]
    fn both_paths_see_the_same(trace in traces(), n in 1..40_usize) {
        let fast = seen(&trace, &Filter::default());
        let trace = trace.with_chunk_events(n);
        let all_time = Filter { time_ns: Some((0, u64::MAX)), ..Filter::default() };
        let all_regions = Filter { regions: vec!["*".to_owned()], ..Filter::default() };
        prop_assert_eq!(&seen(&trace, &Filter::default()), &fast);
        prop_assert_eq!(&seen(&trace, &all_time), &fast);
        prop_assert_eq!(&seen(&trace, &all_regions), &fast);
    }

    #[test]
    fn a_region_filter_keeps_the_total(trace in traces(), regions in patterns(), n in 1..40_usize) {
        let all = seen(&trace, &Filter::default());
        let filtered = seen(&trace.with_chunk_events(n), &Filter { regions, ..Filter::default() });
        prop_assert_eq!(filtered.exclusive(), all.exclusive());
        prop_assert_eq!(payloads(&filtered, 0, u64::MAX), payloads(&all, 0, u64::MAX));
        prop_assert!(!filtered.names.iter().any(|path| path.contains("[filtered]/[filtered]")));
    }

    #[test]
    fn a_time_range_clips(trace in traces(), start in 0..4000_u64, length in 0..3000_u64, n in 1..40_usize) {
        let end = start + length;
        let all = seen(&trace, &Filter::default());
        let filter = Filter { time_ns: Some((start, end)), ..Filter::default() };
        let inside = seen(&trace.with_chunk_events(n), &filter);
        prop_assert_eq!(clipped(&inside, 0, u64::MAX), clipped(&all, start, end));
        prop_assert_eq!(payloads(&inside, 0, u64::MAX), payloads(&all, start, end));
    }

    #[test]
    fn ranges_that_touch_add_up(trace in traces(), cut in 0..6000_u64, regions in patterns()) {
        let part = |start, end| {
            seen(&trace, &Filter { time_ns: Some((start, end)), regions: regions.clone(), ..Filter::default() }).exclusive()
        };
        prop_assert_eq!(part(0, cut) + part(cut, u64::MAX), seen(&trace, &Filter::default()).exclusive());
    }
}

#[test]
fn the_log_is_lawful() {
    laws::check(|| Log, |seen| format!("{:?}", seen.lines()));
}

#[test]
fn faulty_traces_have_faults() {
    // Else the properties above would say little.
    let recipe = RandomTrace { seed: 1, n_locations: 4, n_events: 250, faults: Faults::Leaves };
    let (_, report) = run_report(&recipe.build(), &Filter::default(), Log);
    let codes: std::collections::BTreeSet<_> = report.notices.iter().map(|n| n.code.as_str()).collect();
    assert_eq!(codes.into_iter().collect::<Vec<_>>(), ["open-calls", "truncated-calls", "unmatched-leaves"]);
    assert!(run(&recipe.build(), Log).rows.values().map(Vec::len).sum::<usize>() > 500);
}
