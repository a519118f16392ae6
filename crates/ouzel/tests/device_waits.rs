//! Waiting for accelerators in real traces: sums that fit into the calls, and those of direct queries.

use ouzel::analyses::call_path_profile::CallPathProfile;
use ouzel::model::{Definitions, LocationKind, Ticks, TraceSource};
use ouzel::waits::{Waits, WaitsOutput};
use ouzel_testkit::{run, shared_path};
use std::collections::BTreeMap;

type Times = BTreeMap<(u32, Vec<String>), u64>;

fn is_host(definitions: &Definitions, location: ouzel::model::LocationId) -> bool {
    definitions.location(location).kind == LocationKind::CpuThread
}

/// Exclusive time of each call path at each thread.
fn exclusive(source: &dyn TraceSource) -> Times {
    let definitions = source.definitions();
    let profile = run(source, CallPathProfile);
    let mut times = Times::new();
    for of in profile.locations.iter().filter(|of| is_host(definitions, of.location)) {
        for row in &of.rows {
            let regions = profile.call_paths.regions(row.call_path);
            let path = regions.iter().map(|region| definitions.region(*region).name.to_string());
            times.insert((of.location.0, path.collect()), row.times.exclusive.0);
        }
    }
    times
}

fn waiting(output: &WaitsOutput, definitions: &Definitions) -> Times {
    let mut times = Times::new();
    let of_hosts = output.waits.iter().filter(|it| it.is_counted() && is_host(definitions, it.location));
    for wait in of_hosts {
        let path = output.names(wait.path, definitions).iter().map(ToString::to_string).collect();
        *times.entry((wait.location.0, path)).or_default() += wait.ticks().0;
    }
    times
}

#[test]
fn waiting_fits_into_the_calls_of_real_traces() {
    let traces = [
        "nsight/pipit-cloverleaf/perlmutter-cloverleaf-cuda.sqlite",
        "nsight/extrap-concurrent/concurrent.s1",
        "nsight/extrap-concurrent/concurrent.s16",
        "chrome-pytorch/hta-critical_path/alexnet",
        "chrome-pytorch/hta-critical_path/cuda_event_sync",
        "chrome-pytorch/hta-amd_trace",
        "chrome-pytorch/hta-trace_diff/control",
        "chrome-pytorch/param-dlrm-8rank",
        "chrome-pytorch/tracelens-h100",
        "otf2/scorep-hip-mi300",
    ];
    for trace in traces {
        let Some(path) = shared_path(&format!("data/{trace}")) else { return };
        let trace = ouzel::open(&path).unwrap();
        let definitions = trace.definitions();
        let output = run(trace.source(), Waits::new(definitions));
        assert!(output.missing().is_none() && Ticks(0) < output.total(), "{path:?}");
        let (all, waits) = (exclusive(trace.source()), waiting(&output, definitions));
        assert!(!waits.is_empty(), "{path:?}");
        for (key, wait) in waits {
            assert!(wait <= all[&key], "{path:?}: {key:?} waits {wait} of {}", all[&key]);
        }
    }
}

#[test]
fn sums_are_those_of_direct_queries() {
    let sums = |trace: &str| -> Option<Vec<(&'static str, u64, u64)>> {
        let trace = ouzel::open(&shared_path(&format!("data/{trace}"))?).unwrap();
        let output = run(trace.source(), Waits::new(trace.definitions()));
        Some(output.classes().into_iter().map(|sum| (sum.class.as_str(), sum.wait.0, sum.n)).collect())
    };
    // By SQL over the tables of calls, kernels, copies and synchronisations, in nanoseconds.
    let expected = [
        ("host_waits_for_device", 298_465_325, 1310),
        ("blocking_copy", 10_657_659, 148),
        ("queueing", 4_098_726, 1298),
        ("launch_latency", 2_703_047, 1438),
        ("device_idle", 47_936_167, 1311),
        ("useless_synchronization", 4_589, 2),
    ];
    let Some(found) = sums("nsight/pipit-cloverleaf/perlmutter-cloverleaf-cuda.sqlite") else { return };
    assert_eq!(found, expected);
    // By the times that otf2-print shows: end of each kernel less the enter of hipEventSynchronize, in ticks.
    let Some(found) = sums("otf2/scorep-hip-mi300") else { return };
    assert_eq!(found[0], ("host_waits_for_device", 17_520_695_389 + 6_024_744_906, 2));
}
