//! Reports on every profile at hand: sums, bounds, and that what they name exists.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

use ouzel::Profile;
use ouzel::analyses::semantics::Semantics;
use ouzel::diagnose::ProfileReport;
use ouzel::diagnose::profile::ShareKind;
use ouzel_testkit::shared_data;
use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// Everything below `folder` that can be opened as a profile.
fn profiles_below(folder: &Path, found: &mut Vec<Profile>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let name = path.to_string_lossy().into_owned();
        let is_file = [".cubex", ".cube", ".cube.gz"].iter().any(|end| name.ends_with(end));
        let is_database = path.join("meta.db").is_file() || path.join("experiment.xml").is_file();
        if (is_file && path.is_file()) || is_database {
            found.extend(ouzel::open_profile(&path));
        } else if path.is_dir() {
            profiles_below(&path, found);
        }
    }
}

fn report(profile: &Profile) -> ProfileReport {
    profile.report(&Semantics::default(), NonZeroUsize::MIN).unwrap().0
}

/// Whether two sums of rounded nanoseconds are the same, `n` being the number of them.
fn near(a: u64, b: u64, n: usize) -> bool {
    a.abs_diff(b) <= n as u64 + a.max(b) / 1_000_000_000
}

fn check(profile: &Profile) {
    let found = report(profile);
    let at = profile.path().display();
    let all = found.profile.time_sum_ns;
    let of_shares: u64 = found.shares.iter().map(|share| share.time_ns).sum();
    assert!(near(of_shares, all, found.shares.len()), "{at}: shares {of_shares} of {all}");
    for share in &found.shares {
        assert!((share.fraction - share.time_ns as f64 / all as f64).abs() < 1e-6, "{at}: {share:?}");
    }
    let own: u64 = found.call_paths.iter().map(|row| row.exclusive_ns).sum();
    assert!(own <= all + found.call_paths.len() as u64, "{at}: exclusive times {own} of {all}");
    let definitions = profile.definitions();
    let known: BTreeSet<Vec<_>> =
        definitions.call_tree.paths().map(|path| definitions.call_path_names(path)).collect();
    let ranks: BTreeSet<Option<u32>> =
        definitions.locations.iter().map(|location| location.rank.map(|rank| rank.0)).collect();
    for row in &found.call_paths {
        assert!(known.contains(&row.call_path), "{at}: {:?}", row.call_path);
        assert!(ranks.contains(&row.most.rank) && ranks.contains(&row.least.rank), "{at}: {row:?}");
        assert!(row.exclusive_ns <= row.inclusive_ns && row.inclusive_ns <= all + 1, "{at}: {row:?}");
        assert!(row.least.time_ns <= row.mean_ns && row.mean_ns <= row.most.time_ns, "{at}: {row:?}");
        assert!(row.most.time_ns <= row.exclusive_ns, "{at}: {row:?}");
    }
    let longest = found.profile.longest.map_or(0, |longest| longest.time_ns);
    for of in &found.imbalances {
        assert!(known.contains(&of.call_path) && ranks.contains(&of.most.rank), "{at}: {of:?}");
        assert!(of.gain_at_most_ns <= of.most.time_ns && of.most.time_ns <= of.inclusive_ns, "{at}: {of:?}");
        assert!(of.most.time_ns <= longest + 1, "{at}: {of:?}");
        assert!((of.gain_at_most_fraction - of.gain_at_most_ns as f64 / longest as f64).abs() < 1e-6, "{at}");
    }
    for class in found.waiting.iter().chain(&found.delays) {
        let of_paths: u64 = class.call_paths.iter().map(|path| path.time_ns).sum();
        assert!(of_paths <= class.time_ns + 3, "{at}: {class:?}");
        assert!(class.call_paths.iter().all(|path| known.contains(&path.call_path)), "{at}: {class:?}");
        assert!(class.call_paths.iter().all(|path| ranks.contains(&path.most_rank)), "{at}: {class:?}");
    }
    match &found.efficiency {
        Some(card) => {
            let product = card.load_balance * card.communication;
            assert!((card.parallel - product).abs() < 1e-9 && 0.0 < card.parallel, "{at}: {card:?}");
            assert!(card.parallel <= 1.0 && card.serialisation.is_none(), "{at}: {card:?}");
        }
        None => assert!(found.efficiency_missing.is_some(), "{at}"),
    }
    assert!(!found.headline.is_empty() && !found.unknown.is_empty(), "{at}");
    assert_eq!(found.causes.is_none(), found.causes_missing.is_some(), "{at}");
}

#[test]
fn every_profile_at_hand_has_a_report_that_adds_up() {
    for name in ["eztrace-jacobi", "eztrace-openmp", "pmpi-jacobi", "pmpi-masterio"] {
        let trace = ouzel::open(&ouzel_testkit::workspace_root().join("testdata").join(name)).unwrap();
        check(&trace.severity_cube(&ouzel::Options::default()).unwrap().output);
    }
    let Some(shared) = shared_data() else { return };
    let mut profiles = Vec::new();
    profiles_below(&shared, &mut profiles);
    assert!(!profiles.is_empty(), "no profile in the shared data");
    profiles.iter().for_each(check);
}

#[test]
fn a_profile_of_a_trace_has_the_efficiencies_of_the_trace() {
    let Some(folder) = ouzel_testkit::shared_path("data/otf2/scorep-pingpong") else { return };
    let trace = ouzel::open(&folder).unwrap();
    let options = ouzel::Options::default();
    let profile = trace.severity_cube(&options).unwrap().output;
    let found = report(&profile);
    let query = ouzel::EfficiencyQuery::default();
    let run = trace.efficiency(&query, &options).unwrap().output.run;
    let card = found.efficiency.unwrap();
    let balance = run.get(ouzel::efficiency::Metric::LoadBalance).unwrap();
    // Times of the trace before the first call are in no call path of the profile.
    assert!((card.load_balance - balance).abs() < 0.01, "{} {balance}", card.load_balance);
    let mpi = found.shares.iter().find(|share| share.kind == ShareKind::Mpi).unwrap();
    assert!(0 < mpi.time_ns && mpi.time_ns < found.profile.time_sum_ns);
}

#[test]
fn time_in_a_file_with_parts_is_not_counted_twice() {
    let Some(file) = ouzel_testkit::shared_path("data/cube3-xml/cubelib-test32/experiment1.cube") else {
        return;
    };
    let found = report(&ouzel::open_profile(&file).unwrap());
    // Sums of the matrices in the file: time 5358.560575, of which idle threads 1861.455740 and MPI 614.392850.
    assert_eq!(found.profile.time_sum_ns / 1_000_000, 5_358_560);
    let share = |kind| found.shares.iter().find(|share| share.kind == kind).unwrap().time_ns / 1_000_000;
    assert_eq!(share(ShareKind::IdleThreads), 1_861_455);
    let class = |name: &str| found.waiting.iter().find(|class| class.metric == name).unwrap();
    let sender = class("mpi_latesender");
    assert_eq!(sender.time_ns / 1_000_000, 598_699);
    assert_eq!(sender.call_paths[0].call_path.last().unwrap().as_ref(), "MPI_Waitall");
    assert_eq!(class("mpi_lswo_different").part_of.as_deref(), Some("mpi_latesender_wo"));
}
