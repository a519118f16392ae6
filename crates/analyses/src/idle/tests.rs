use super::*;
use crate::call_path_profile::CallPathProfile;
use crate::golden::TWO_PROCESSES;
use crate::reference::{Call, calls, code_locations, random_traces, span};
use ouzel_model::TraceSource;
use ouzel_testkit::{ToyTrace, golden, run};
use std::collections::BTreeSet;

fn ranks(trace: &ToyTrace, idle: &IdleRegions) -> Vec<(u32, u64)> {
    let profile = run(trace, CallPathProfile);
    let output = idle_time(&profile, trace.definitions(), idle);
    output.ranks(trace.definitions()).iter().map(|row| (row.rank.unwrap().0, row.idle.0)).collect()
}

#[test]
fn the_expected_values_are_met() {
    let golden = golden("pipit_ops");
    let trace = ToyTrace::new(TWO_PROCESSES);
    let expected = |key: &str| -> Vec<(u32, u64)> {
        let rows = golden["expected"][key].as_object().unwrap();
        rows.iter().map(|(rank, ns)| (rank.parse().unwrap(), ns.as_u64().unwrap())).collect()
    };
    let idle = IdleRegions::named(trace.definitions(), IDLE);
    assert_eq!(ranks(&trace, &idle), expected("idle"));
    let with_mpi = idle.clone().or(&IdleRegions::named(trace.definitions(), MPI_WAITS));
    assert_eq!(ranks(&trace, &with_mpi), expected("idle_mpi"));
    // One question changes nothing for the next.
    assert_eq!(ranks(&trace, &idle), expected("idle"));
}

#[test]
fn idle_time_is_the_union_of_the_intervals() {
    for trace in random_traces() {
        let profile = run(&trace, CallPathProfile);
        for patterns in [&["MPI_*"][..], &["solve", "main"], &["*"], &[]] {
            let idle = IdleRegions::named(trace.definitions(), patterns);
            let output = idle_time(&profile, trace.definitions(), &idle);
            let calls = calls(&trace);
            let mut n_rows = 0;
            for location in code_locations(&trace) {
                let Some((start, end)) = span(&trace, location) else { continue };
                let is_idle =
                    |call: &&Call| call.location == location && idle.contains(*call.path.last().unwrap());
                let ticks: BTreeSet<u64> =
                    calls.iter().filter(is_idle).flat_map(|call| call.enter..call.leave).collect();
                let expected = ticks.len() as u64;
                let row = output.locations.iter().find(|row| row.location == location).unwrap();
                assert_eq!((row.in_regions.0, row.in_gaps.0, row.span.0), (expected, 0, end - start));
                n_rows += 1;
            }
            assert_eq!(output.locations.len(), n_rows);
        }
    }
}

#[test]
fn streams_are_idle_between_kernels_and_ranks_sum_up() {
    let trace = ToyTrace::new(
        "
        1: enter main @0, enter MPI_Wait @10, enter MPI_Recv @11, leave @19, leave @20, leave @100
        1.gpu0: enter kernel @30, leave @40, enter kernel @60, leave @80
        1.metrics: metric power=1 @0
        0: enter main @5, enter Idle @6, leave @9, leave @9",
    );
    let waits = IdleRegions::named(trace.definitions(), &["MPI_*", "Idle"]);
    let names: Vec<&str> = waits.regions().map(|region| &*trace.definitions().region(region).name).collect();
    assert_eq!(names, ["MPI_Wait", "MPI_Recv", "Idle"]);
    let profile = run(&trace, CallPathProfile);
    let output = idle_time(&profile, trace.definitions(), &waits);
    let rows: Vec<_> = output
        .ranks(trace.definitions())
        .iter()
        .map(|row| (row.rank.unwrap().0, row.threads.0, row.streams.0, row.span.0))
        .collect();
    assert_eq!(rows, [(0, 3, 0, 4), (1, 10, 20, 150)]);
    let column = |per, name: &str| {
        let table = output.table(trace.definitions(), per);
        table.column(name).unwrap().data.clone()
    };
    assert_eq!(column(Per::Rank, "idle_ns"), ColumnData::U64(vec![3, 30]));
    assert_eq!(column(Per::Location, "in_gaps_ns"), ColumnData::U64(vec![0, 0, 20]));
    assert_eq!(column(Per::Total, "idle_ns"), ColumnData::U64(vec![33]));
    assert_eq!(column(Per::Total, "rank"), ColumnData::OptionU64(vec![None]));
}
