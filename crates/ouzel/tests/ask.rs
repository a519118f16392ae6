//! Questions over bins, on real archives: the answer is that of a grid over the run, whatever the archive declares.

use ouzel::Options;
use ouzel::analyses::call_path_profile::CallPathProfile;
use ouzel::analyses::comm_over_time::CommOverTime;
use ouzel::analyses::time_grid::TimeGrid;
use ouzel::analyses::time_profile::TimeProfile;
use ouzel::model::Filter;
use std::num::NonZeroU16;
use std::path::PathBuf;

fn testdata(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name)
}

#[test]
fn bins_are_over_the_run() {
    let n_bins = NonZeroU16::new(7).expect("not zero");
    for name in ["eztrace-jacobi", "eztrace-pingpong", "pmpi-jacobi", "pmpi-masterio"] {
        let trace = ouzel::open(&testdata(name)).expect("opens");
        let whole = trace
            .ask(CallPathProfile, &Options::default())
            .expect("a profile")
            .run_range
            .expect("has events");
        let half = trace.definitions().clock.ns_from_ticks(whole.end) / 2;
        for time_ns in [None, Some((half / 2, half)), Some((u64::MAX - 1, u64::MAX))] {
            let options = Options { filter: Filter { time_ns, ..Filter::default() }, ..Options::default() };
            let run = trace.ask(CallPathProfile, &options).expect("a profile").run_range;
            let profile = trace.ask_in_bins(n_bins, TimeProfile::new, &options).expect("a time profile");
            let traffic = trace.ask_in_bins(n_bins, CommOverTime::new, &options).expect("traffic over time");
            assert_eq!(profile.run_range, run, "{name}");
            assert_eq!(profile.output.grid, traffic.output.grid, "{name}");
            if let Some(run) = run {
                assert_eq!(profile.output.grid, TimeGrid::new(run, n_bins), "{name} {time_ns:?}");
                let again = trace.ask(TimeProfile::new(TimeGrid::new(run, n_bins)), &options).expect("again");
                assert_eq!(again.output.rows, profile.output.rows, "{name}");
            }
        }
    }
}
