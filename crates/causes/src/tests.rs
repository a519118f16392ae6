//! Answers for whole profiles.

use crate::{Causes, CausesError, Options, Unit, causes};
use ouzel_model::{
    Aggregation, LocationKind, MetricKind, MetricValueType, Notice, ProfileSource, RankSet, WorldRank,
};
use ouzel_testkit::{Rng, ToyProfile};

fn metric(profile: &mut ToyProfile, name: &str, unit: &str) -> u32 {
    let id = profile.metric(name, MetricKind::Exclusive, MetricValueType::F64, Aggregation::Sum);
    profile.definitions_mut().metrics[id as usize].unit = unit.into();
    id
}

/// main → step → (solve → MPI_Wait, io), exclusive values; ranks 2 and 3 have twice the work in solve, and the others
/// wait for them.
fn uneven() -> ToyProfile {
    let mut profile = ToyProfile::new(4);
    let main = profile.call(None, "main");
    let step = profile.call(Some(main), "step");
    let solve = profile.call(Some(step), "solve");
    let wait = profile.call(Some(solve), "MPI_Wait");
    let io = profile.call(Some(step), "io");
    let time = metric(&mut profile, "time", "sec");
    let instructions = metric(&mut profile, "PAPI_TOT_INS", "#");
    let cycles = metric(&mut profile, "PAPI_TOT_CYC", "#");
    let misses = metric(&mut profile, "PAPI_L2_TCM", "#");
    let accesses = metric(&mut profile, "PAPI_L2_TCA", "#");
    let bytes = metric(&mut profile, "io_bytes", "bytes");
    profile.set(time, main, &[0.01; 4]);
    profile.set(time, solve, &[5.0, 5.01, 10.0, 10.02]);
    profile.set(time, wait, &[5.0, 5.0, 0.0, 0.0]);
    profile.set(time, io, &[1.0; 4]);
    profile.set(instructions, solve, &[5e9, 5e9, 1e10, 1e10]);
    profile.set(instructions, io, &[1e6; 4]);
    profile.set(cycles, solve, &[1e10, 1e10, 2e10, 2e10]);
    profile.set(cycles, io, &[2e6; 4]);
    profile.set(misses, solve, &[1e6, 1e6, 2e6, 2e6]);
    profile.set(accesses, solve, &[1e8, 1e8, 2e8, 2e8]);
    profile.set(bytes, io, &[1e9; 4]);
    profile
}

/// Regions by name that wait.
fn waiting(profile: &ToyProfile) -> Vec<bool> {
    profile.definitions().regions.iter().map(|region| region.name.starts_with("MPI_")).collect()
}

fn answer(profile: &ToyProfile) -> Causes {
    causes(profile, &Options { waiting: &waiting(profile), ..Options::default() }).unwrap()
}

fn last(path: &[std::sync::Arc<str>]) -> &str {
    path.last().unwrap()
}

fn codes(notices: &[Notice]) -> String {
    notices.iter().map(|notice| format!("{notice}\n")).collect()
}

#[test]
fn uneven_work_is_found_and_explained() {
    let found = answer(&uneven());
    assert_eq!((found.processes.unit, found.processes.n), (Unit::Rank, 4));
    assert_eq!(found.regions.program.iter().map(|r| &**r).collect::<Vec<_>>(), ["main", "step"]);
    let members: Vec<&[u64]> = found.external.clusters.iter().map(|c| &c.processes[..]).collect();
    assert_eq!(members, [[0, 1], [2, 3]]);
    assert_eq!(found.external.cccr.len(), 1);
    assert_eq!(last(&found.external.cccr[0].regions[0].call_path), "solve");
    let cause = &found.external.causes[0];
    let names: Vec<&str> = cause.explained_by.iter().map(|by| &*by.attribute).collect();
    assert_eq!(names, ["instructions"]);
    assert_eq!(cause.explained_by[0].ratio, Some(2.0));
    assert!(cause.explained_by[0].correlation.unwrap() > 0.999);
    // Time in communication counts towards the share of solve, but not towards the differences.
    assert!((cause.time_by_cluster[0] - 5.005).abs() < 1e-9);
    assert!(found.internal.has_cycles_per_instruction);
    let cores: Vec<&str> = found.internal.cccr.iter().map(|row| last(&row.region.call_path)).collect();
    assert_eq!(cores, ["solve"]);
    assert!((found.internal.cccr[0].share - 10.0 / 11.01).abs() < 1e-3);
    assert!(found.tables.internal.is_some_and(|table| table.n_inconsistent == 0));
}

#[test]
fn what_nothing_explains_says_what_to_measure() {
    let mut profile = ToyProfile::new(2);
    let main = profile.call(None, "main");
    let one = profile.call(Some(main), "one");
    let other = profile.call(Some(main), "other");
    let time = metric(&mut profile, "time", "usec");
    profile.set(time, one, &[1e6, 3e6]);
    profile.set(time, other, &[1e6, 1e6]);
    let found = answer(&profile);
    let cause = &found.external.causes[0];
    assert_eq!(last(&cause.region.call_path), "one");
    assert!(cause.explained_by.is_empty() && cause.measure_next[0].starts_with("instructions"));
    assert_eq!(found.time.unit, "sec");
    assert!((cause.time_by_cluster[1] - 3.0).abs() < 1e-12);
    assert_eq!(found.tables.external.unwrap().n_inconsistent, 1);
    assert!(found.internal.causes.iter().all(|cause| cause.explained_by.is_empty()));
}

#[test]
fn the_master_can_be_left_out() {
    let mut profile = ToyProfile::new(3);
    let main = profile.call(None, "main");
    let work = profile.call(Some(main), "work");
    let rest = profile.call(Some(main), "rest");
    let time = metric(&mut profile, "time", "sec");
    profile.set(time, work, &[0.1, 5.0, 5.0]);
    profile.set(time, rest, &[1.0, 1.0, 1.0]);
    assert_eq!(answer(&profile).external.clusters.len(), 2);
    let exclude: RankSet = "0".parse().unwrap();
    let found = causes(&profile, &Options { exclude: Some(&exclude), ..Options::default() }).unwrap();
    assert_eq!((found.external.clusters.len(), &found.processes.excluded[..]), (1, &[0][..]));
    let all: RankSet = "0-9".parse().unwrap();
    let error = causes(&profile, &Options { exclude: Some(&all), ..Options::default() }).unwrap_err();
    assert_eq!(error, CausesError::NoProcess);
}

#[test]
fn one_process_has_internal_bottlenecks_alone() {
    let mut profile = ToyProfile::new(1);
    let main = profile.call(None, "main");
    let time = metric(&mut profile, "time", "sec");
    for (name, value) in [("a", 1.0), ("b", 50.0), ("c", 2.0)] {
        let call = profile.call(Some(main), name);
        profile.set(time, call, &[value]);
    }
    let found = answer(&profile);
    assert!(codes(&found.notices).contains("only one process"));
    assert!(found.external.ccr.is_empty() && found.tables.external.is_none());
    assert_eq!(last(&found.internal.cccr[0].region.call_path), "b");
}

#[test]
fn threads_of_ranks_are_summed_and_threads_of_one_process_compared() {
    let mut profile = uneven();
    for location in &mut profile.definitions_mut().locations {
        location.rank = Some(WorldRank(location.rank.unwrap().0 / 2));
    }
    let found = answer(&profile);
    assert_eq!((found.processes.n, found.processes.n_locations), (2, 4));
    assert!(codes(&found.notices).contains("are summed"));
    assert!((found.external.clusters[1].time - 22.02).abs() < 1e-9);
    for location in &mut profile.definitions_mut().locations {
        location.rank = None;
    }
    let found = answer(&profile);
    assert_eq!((found.processes.unit, found.processes.n), (Unit::Location, 4));
    profile.definitions_mut().locations[3].kind = LocationKind::AcceleratorStream;
    assert_eq!(answer(&profile).processes.n, 3);
}

#[test]
fn bad_input_is_an_error_that_says_so() {
    let mut profile = uneven();
    let named = |metric| Options { metric: Some(metric), ..Options::default() };
    assert_eq!(causes(&profile, &named("x")), Err(CausesError::NoSuchMetric { name: "x".to_owned() }));
    profile.metric("max", MetricKind::Inclusive, MetricValueType::F64, Aggregation::Max);
    assert_eq!(causes(&profile, &named("max")), Err(CausesError::NotSummed { name: "max".to_owned() }));
    metric(&mut profile, "empty", "sec");
    assert_eq!(causes(&profile, &named("empty")), Err(CausesError::AllZero { name: "empty".to_owned() }));
    let mut none = ToyProfile::new(2);
    none.call(None, "main");
    metric(&mut none, "visits", "occ");
    assert_eq!(causes(&none, &Options::default()), Err(CausesError::NoTime));
    assert_eq!(causes(&ToyProfile::new(0), &Options::default()), Err(CausesError::NoProcess));
}

#[test]
fn traces_of_communication_alone_are_looked_at_as_they_are() {
    let mut profile = ToyProfile::new(2);
    let (send, wait) = (profile.call(None, "MPI_Send"), profile.call(None, "MPI_Wait"));
    let time = metric(&mut profile, "time", "sec");
    profile.set(time, send, &[1.0, 1.0]);
    profile.set(time, wait, &[1.0, 4.0]);
    let found = answer(&profile);
    assert!(codes(&found.notices).contains("only communication is recorded"));
    assert!(!found.time.without_communication);
    assert_eq!(last(&found.external.cccr[0].regions[0].call_path), "MPI_Wait");
}

#[test]
fn a_root_calls_the_program_whatever_its_name() {
    let profile = uneven();
    let mut all = waiting(&profile);
    all[0] = true;
    let found = causes(&profile, &Options { waiting: &all, ..Options::default() }).unwrap();
    assert!(found.time.without_communication);
    assert_eq!(last(&found.external.cccr[0].regions[0].call_path), "solve");
}

#[test]
fn miss_rates_can_be_those_that_were_printed() {
    let rate = |printed_rates| {
        let profile = uneven();
        let found = causes(&profile, &Options { printed_rates, ..Options::default() }).unwrap();
        found.tables.attributes.into_iter().find(|a| a.name == "l2_miss_rate").unwrap().formula
    };
    assert_eq!(rate(false), "PAPI_L2_TCM / PAPI_L2_TCA");
    assert_eq!(rate(true), "PAPI_L2_TCM / (PAPI_L2_TCM + PAPI_L2_TCA)");
}

#[test]
fn counters_of_no_known_kind_and_their_parts() {
    let mut profile = uneven();
    let whole = metric(&mut profile, "alarms", "occ");
    let part = metric(&mut profile, "red_alarms", "occ");
    profile.definitions_mut().metrics[part as usize].parent = Some(ouzel_model::MetricId(whole));
    metric(&mut profile, "nap", "ms");
    let found = answer(&profile);
    let names: Vec<&str> = found.tables.attributes.iter().map(|a| &*a.name).collect();
    assert_eq!(
        names,
        ["instructions", "l2_miss_rate", "cycles_per_instruction", "disk_bytes", "alarms", "communication"]
    );
    assert!(found.tables.attributes.iter().any(|a| a.name == "alarms" && a.is_zero));
}

/// A random profile; `order` gives the position of each location in it.
fn random(seed: u64, order: &[usize], metrics_backwards: bool) -> ToyProfile {
    let n = order.len();
    let mut rng = Rng::new(seed);
    let mut profile = ToyProfile::new(n as u32);
    let place = |process: usize| order.iter().position(|&at| at == process).unwrap();
    for (at, &process) in order.iter().enumerate() {
        let location = &mut profile.definitions_mut().locations[at];
        location.rank = Some(WorldRank(process as u32));
        location.native_id = process as u64;
    }
    let mut calls = vec![profile.call(None, "main")];
    let mut at = vec![calls[0]];
    for i in 0..12 {
        at.truncate(1 + rng.below(at.len() as u64) as usize);
        let call = profile.call(at.last().copied(), &format!("r{i}"));
        calls.push(call);
        at.push(call);
    }
    let mut names =
        ["time", "PAPI_TOT_INS", "PAPI_TOT_CYC", "PAPI_L2_TCM", "PAPI_L2_TCA", "bytes_sent", "io_bytes"];
    if metrics_backwards {
        names.reverse();
    }
    let ids: Vec<(&str, u32)> = names.iter().map(|name| (*name, metric(&mut profile, name, "sec"))).collect();
    for (name, id) in &ids {
        profile.definitions_mut().metrics[*id as usize].unit =
            if *name == "time" { "sec" } else { "#" }.into();
    }
    for name in
        ["time", "PAPI_TOT_INS", "PAPI_TOT_CYC", "PAPI_L2_TCM", "PAPI_L2_TCA", "bytes_sent", "io_bytes"]
    {
        let id = ids.iter().find(|(other, _)| *other == name).unwrap().1;
        for &call in &calls {
            let kinds = [rng.below(40) as f64, rng.below(40) as f64, rng.below(40) as f64];
            let values: Vec<f64> = (0..n).map(|process| kinds[process % 3]).collect();
            let mut placed = vec![0.0; n];
            (0..n).for_each(|process| placed[place(process)] = values[process]);
            profile.set(id, call, &placed);
        }
    }
    profile
}

#[test]
fn the_order_of_locations_and_metrics_does_not_show() {
    let mut rng = Rng::new(5);
    let mut n_bottlenecks = 0;
    for seed in 0..120 {
        let n = 2 + rng.below(8) as usize;
        let ranks: Vec<usize> = (0..n).collect();
        let mut order = ranks.clone();
        rng.shuffle(&mut order);
        let one = causes(&random(seed, &ranks, false), &Options::default()).unwrap();
        let other = causes(&random(seed, &order, seed % 2 == 0), &Options::default()).unwrap();
        n_bottlenecks += one.external.causes.len();
        assert_eq!(one, other, "{seed}");
    }
    assert!(n_bottlenecks > 50, "{n_bottlenecks}");
}

#[test]
fn small_call_paths_count_to_their_callers_and_are_told() {
    let mut profile = uneven();
    let tiny = profile.call(Some(4), "tiny");
    profile.set(0, tiny, &[1e-6; 4]);
    let found = answer(&profile);
    assert!(found.internal.classes.iter().all(|row| last(&row.region.call_path) != "tiny"));
    assert!(codes(&found.notices).contains("count towards their callers"));
}
