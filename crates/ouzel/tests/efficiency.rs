//! Efficiencies of real archives: factors multiply, nothing exceeds its bounds, parts agree with the whole, and the
//! report shows the same. Archives of applications have the values that are known of them.

use ouzel::analyses::phases::Phases;
use ouzel::analyses::semantics::Semantics;
use ouzel::efficiency::{HybridModel, Metric, Part, PartKind, RunEfficiency, Threads, TraceEfficiency};
use ouzel::engine::AnalysisSet;
use ouzel::{EfficiencyQuery, Options, Trace};
use ouzel_testkit::{archives, shared_path};

fn traces() -> Vec<(String, Trace)> {
    let open = |path: &std::path::PathBuf| Some((path.display().to_string(), ouzel::open(path).ok()?));
    archives().iter().filter_map(open).collect()
}

fn efficiency(trace: &Trace, per: Option<PartKind>, hybrid: Option<HybridModel>) -> TraceEfficiency {
    let query = EfficiencyQuery { per, hybrid, ..EfficiencyQuery::default() };
    trace.efficiency(&query, &Options::default()).expect("the analyses answer").output
}

fn assert_product(name: &str, get: impl Fn(Metric) -> Option<f64>) {
    let values = [Metric::Parallel, Metric::LoadBalance, Metric::Communication].map(get);
    let [Some(parallel), Some(balance), Some(communication)] = values else {
        assert_eq!(values, [None; 3], "{name}");
        return;
    };
    assert!((parallel - balance * communication).abs() < 1e-12, "{name}: {values:?}");
    assert!([parallel, balance, communication].iter().all(|value| (0.0..=1.0).contains(value)), "{name}");
}

#[test]
fn factors_of_runs_and_parts_multiply() {
    for (name, trace) in traces() {
        for per in PartKind::ALL {
            let of = efficiency(&trace, Some(per), Some(HybridModel::Talp));
            assert_product(&name, |metric| of.run.get(metric));
            let Some((_, Ok(parts))) = &of.parts else { continue };
            parts.iter().for_each(|part: &Part| assert_product(&name, |metric| part.get(metric)));
        }
    }
}

#[test]
fn the_report_shows_these_efficiencies() {
    for (name, trace) in traces() {
        let of = efficiency(&trace, None, None);
        let report = trace.diagnose(&Semantics::default(), AnalysisSet::default(), &Options::default());
        let report = report.expect("the analyses answer").output.report;
        if let Some(reason) = &report.efficiency_missing
            && of.run.get(Metric::Parallel).is_some()
        {
            // The report leaves out what says nothing of the program.
            assert!(reason.contains("accelerators") || reason.contains("threads"), "{name}: {reason}");
            continue;
        }
        let card = report.efficiency;
        let card = card.map(|card| (card.n_compared, card.parallel, card.load_balance, card.communication));
        let get = |metric| of.run.get(metric);
        let expected = get(Metric::Parallel)
            .zip(get(Metric::LoadBalance))
            .zip(get(Metric::Communication))
            .map(|((parallel, balance), communication)| (of.run.n_threads, parallel, balance, communication));
        assert_eq!(card, expected, "{name}");
    }
}

#[test]
fn phases_have_the_useful_time_of_the_run() {
    for (name, trace) in traces() {
        let options = Options::default();
        let phases = trace.ask(Phases::default(), &options).expect("the analysis answers").output;
        let Some(group) = phases.main_group() else { continue };
        let profile = trace.ask(ouzel::analyses::call_path_profile::CallPathProfile, &options);
        let profile = profile.expect("the analysis answers").output;
        let definitions = trace.definitions();
        let classes = Semantics::default().classes(definitions);
        let Ok(threads) = Threads::new(&profile, definitions, &classes, &|_| false) else { continue };
        let in_phases: u64 = group.phases.iter().map(|phase| phase.useful.sum.0).sum();
        let members = |location| group.locations.contains(&location);
        let in_run = threads
            .only(&members)
            .map_or(0, |threads| threads.threads.iter().map(|thread| thread.useful.0).sum::<u64>());
        if group.kind == ouzel::analyses::peers::PeerKind::MainThread {
            assert_eq!(in_phases, in_run, "{name}");
        }
    }
}

#[test]
fn applications_have_the_efficiencies_that_are_known() {
    let Some(folder) = shared_path("data/field") else { return };
    // Name, run time in seconds, longest useful time in seconds, load balance: by an independent reader.
    let known = [
        ("hpccg-4", 3.519, 1.621, 0.959),
        ("lulesh-8", 4.405, 0.773, 0.826),
        ("miniamr-8-nolb", 10.034, 4.078, 0.866),
    ];
    for (name, run_time, useful_max, balance) in known {
        let trace = ouzel::open(&folder.join(name)).expect("opens");
        let of = efficiency(&trace, None, None);
        let run: &RunEfficiency = &of.run;
        let seconds = |ticks| of.ns(ticks) as f64 / 1e9;
        assert!((seconds(run.run_time) - run_time).abs() < 0.0011, "{name}: {}", seconds(run.run_time));
        assert!((seconds(run.useful_max) - useful_max).abs() < 0.0011, "{name}: {}", seconds(run.useful_max));
        let seen = run.get(Metric::LoadBalance).expect("a value");
        assert!((seen - balance).abs() < 0.0006, "{name}: {seen}");
    }
}
