use super::*;
use crate::call_path_profile::CallPathProfile;
use crate::golden::TWO_PROCESSES;
use crate::reference::{calls, code_locations, random_traces};
use ouzel_model::{RegionId, TraceSource};
use ouzel_testkit::{ToyTrace, golden, run};
use std::collections::{BTreeMap, BTreeSet};

#[test]
fn the_expected_values_are_met() {
    let golden = golden("pipit_ops");
    let trace = ToyTrace::new(TWO_PROCESSES);
    let profile = run(&trace, CallPathProfile);
    let output = flat_profile(&profile, trace.definitions(), By::Region);
    let clock = &trace.definitions().clock;
    let check = |key: &str, value: &dyn Fn(&FlatRow) -> u64| {
        let expected = golden["expected"][key].as_object().unwrap();
        assert_eq!(expected.len(), output.rows.len());
        for row in &output.rows {
            let name = &*trace.definitions().region(row.key.region).name;
            assert_eq!(value(row), expected[name].as_f64().unwrap() as u64, "{key} of {name}");
        }
    };
    check("flat_total", &|row| u64::try_from(row.exclusive.sum).unwrap());
    check("flat_mean_all", &|row| row.mean_all().ns(clock));
    check("flat_mean_callers", &|row| row.mean_callers().ns(clock));
    let per_process = per_process(&profile, trace.definitions(), By::Region);
    for row in &per_process.rows {
        let name = &*trace.definitions().region(row.key.region).name;
        let top: Vec<u64> =
            row.top(5).iter().map(|&i| u64::from(per_process.processes[i].rank.unwrap().0)).collect();
        let expected = &golden["expected"]["load_imbalance_all"][name]["top"];
        assert_eq!(top, serde_json::from_value::<Vec<u64>>(expected.clone()).unwrap(), "{name}");
    }
}

#[test]
fn sums_and_means_are_those_of_the_calls() {
    for trace in random_traces() {
        let profile = run(&trace, CallPathProfile);
        let output = flat_profile(&profile, trace.definitions(), By::Region);
        let side_by_side = per_process(&profile, trace.definitions(), By::Region);
        let rank = |location| trace.definitions().location(location).rank.unwrap().0;
        let ranks: BTreeSet<u32> = code_locations(&trace).into_iter().map(rank).collect();
        assert_eq!(output.n_processes, ranks.len() as u64);
        let calls = calls(&trace);
        let mut exclusive: BTreeMap<(RegionId, u32), i64> = BTreeMap::new();
        let mut inclusive: BTreeMap<RegionId, u64> = BTreeMap::new();
        for call in &calls {
            let (&region, callers) = call.path.split_last().unwrap();
            let ticks = call.leave - call.enter;
            *exclusive.entry((region, rank(call.location))).or_default() += ticks as i64;
            if let Some(&caller) = callers.last() {
                *exclusive.entry((caller, rank(call.location))).or_default() -= ticks as i64;
            }
            if !callers.contains(&region) {
                *inclusive.entry(region).or_default() += ticks;
            }
        }
        assert_eq!(output.rows.len(), inclusive.len());
        for row in &output.rows {
            let own = exclusive.iter().filter(|((region, _), _)| *region == row.key.region);
            let sum: i64 = own.clone().map(|(_, ticks)| ticks).sum();
            assert_eq!(
                (row.exclusive.sum, row.inclusive.sum),
                (sum as u128, inclusive[&row.key.region].into())
            );
            assert_eq!(row.mean_all(), MeanTicks { sum: sum as u128, n_processes: ranks.len() as u64 });
            assert_eq!(row.mean_callers(), MeanTicks { sum: sum as u128, n_processes: own.count() as u64 });
            let visits = calls.iter().filter(|call| call.path.last() == Some(&row.key.region)).count();
            assert_eq!(row.visits, visits as u64);
            let beside = side_by_side.rows.iter().find(|other| other.key == row.key).unwrap();
            for (process, ticks) in side_by_side.processes.iter().zip(&beside.exclusive) {
                let expected =
                    exclusive.get(&(row.key.region, process.rank.unwrap().0)).copied().unwrap_or(0);
                assert_eq!(ticks.0 as i64, expected);
            }
        }
    }
}

#[test]
fn the_table_has_both_means() {
    let trace = ToyTrace::new(
        "
        0: enter main @0, enter f @0, leave @6, leave @10
        0.1: enter f @0, leave @4
        1: enter main @0, leave @10
        2: other @0",
    );
    let profile = run(&trace, CallPathProfile);
    let output = flat_profile(&profile, trace.definitions(), By::Region);
    let table = output.table(&profile, trace.definitions(), By::Region);
    let column = |name: &str| table.column(name).unwrap().data.clone();
    assert_eq!(column("exclusive_ns"), ColumnData::U64(vec![14, 10]));
    assert_eq!(column("callers"), ColumnData::U64(vec![2, 1]));
    assert_eq!(column("exclusive_mean_all_ns"), ColumnData::U64(vec![5, 3]));
    assert_eq!(column("exclusive_mean_callers_ns"), ColumnData::U64(vec![7, 10]));
    assert_eq!(column("inclusive_mean_callers_ns"), ColumnData::U64(vec![10, 10]));
    let names: Vec<_> =
        output.rows.iter().map(|row| &*trace.definitions().region(row.key.region).name).collect();
    assert_eq!(names, ["main", "f"]);
}
