//! Waiting for accelerators beside the truth of simulated processes.

use ouzel_model::{Definitions, Filter, TraceSource};
use ouzel_testkit::run_report;
use ouzel_testkit::simulator::devices::{
    DeviceFeatures, DeviceRun, DeviceWait, Recording, random_devices, simulate_devices,
};
use ouzel_waits::{Certainty, WaitClass, Waits, WaitsOutput};
use std::collections::BTreeMap;

const SEEDS: u64 = 1000;

fn waits(truth: &DeviceRun, filter: &Filter) -> WaitsOutput {
    run_report(&truth.trace, filter, Waits::new(truth.trace.definitions())).0
}

fn found(output: &WaitsOutput, definitions: &Definitions) -> Vec<DeviceWait> {
    let name = |id: ouzel_model::LocationId| definitions.location(id).name.to_string();
    let wait = |wait: &ouzel_waits::Wait| DeviceWait {
        class: wait.class.as_str(),
        location: name(wait.location),
        path: output.names(wait.path, definitions).join("/"),
        start: wait.start.0,
        ticks: wait.ticks().0,
        culprit: wait.culprit.map(|it| name(it.location)),
    };
    let mut all: Vec<DeviceWait> = output.waits.iter().map(wait).collect();
    all.sort_unstable();
    all
}

type Sums = BTreeMap<(&'static str, String, String), u64>;

fn sums(output: &WaitsOutput, definitions: &Definitions) -> Sums {
    let mut sums = Sums::new();
    for sum in &output.sums {
        let path = output.names(sum.path, definitions).join("/");
        let location = definitions.location(sum.location).name.to_string();
        *sums.entry((sum.class.as_str(), location, path)).or_default() += sum.wait.0;
    }
    sums
}

/// Waits of a location never overlap, those of threads lie in their calls, those of streams beside operations.
fn check_invariants(output: &WaitsOutput, seed: u64) {
    let mut waits: Vec<_> = output.waits.iter().filter(|wait| wait.is_counted()).collect();
    waits.sort_by_key(|wait| (wait.location, wait.start));
    for wait in &waits {
        let lies_inside = wait.enter <= wait.start && wait.start < wait.end && wait.end <= wait.leave;
        assert!(lies_inside, "seed {seed}: {wait:?}");
    }
    for pair in waits.windows(2).filter(|pair| pair[0].location == pair[1].location) {
        assert!(pair[0].end <= pair[1].start, "seed {seed}: {pair:?}");
    }
}

#[test]
fn waits_for_devices_are_those_of_the_truth() {
    let mut n: BTreeMap<&str, usize> = BTreeMap::new();
    for seed in 0..SEEDS {
        let truth = simulate_devices(&random_devices(seed, DeviceFeatures::All), Recording::Full);
        let output = waits(&truth, &Filter::default());
        let definitions = truth.trace.definitions();
        assert_eq!(found(&output, definitions), truth.waits, "seed {seed}");
        assert_eq!(sums(&output, definitions), truth.sums, "seed {seed}");
        check_invariants(&output, seed);
        truth.waits.iter().for_each(|it| *n.entry(it.class).or_default() += 1);
        truth.sums.keys().for_each(|it| *n.entry(it.0).or_default() += 1);
    }
    let of_devices = WaitClass::ALL.iter().filter(|class| class.is_of_devices());
    for class in of_devices.map(|class| class.as_str()) {
        assert!(150 < n.get(class).copied().unwrap_or(0), "{class} is rare: {n:?}");
    }
}

#[test]
fn names_of_calls_suffice_for_one_stream_and_their_order_for_its_kernels() {
    let cases = [
        (DeviceFeatures::OneStream, Recording::LinksOnly),
        (DeviceFeatures::OnlyKernels, Recording::NamesOnly),
    ];
    for (features, recording) in cases {
        for seed in 0..SEEDS / 2 {
            let truth = simulate_devices(&random_devices(seed, features), recording);
            let output = waits(&truth, &Filter::default());
            let definitions = truth.trace.definitions();
            assert_eq!(found(&output, definitions), truth.waits, "{recording:?}, seed {seed}");
            assert_eq!(sums(&output, definitions), truth.sums, "{recording:?}, seed {seed}");
        }
    }
}

#[test]
fn without_records_of_what_is_awaited_waits_are_upper_bounds() {
    let (mut n_bounds, mut n_certain) = (0, 0);
    for seed in 0..SEEDS / 2 {
        let truth = simulate_devices(&random_devices(seed, DeviceFeatures::All), Recording::LinksOnly);
        let output = waits(&truth, &Filter::default());
        let known = found(&output, truth.trace.definitions());
        for wait in output.waits.iter().filter(|it| it.class == WaitClass::HostWaitsForDevice) {
            n_bounds += usize::from(wait.certainty == Certainty::UpperBound);
            n_certain += usize::from(wait.certainty == Certainty::Certain);
        }
        let waits_of = |all: &[DeviceWait]| -> BTreeMap<(String, u64), u64> {
            let of_host = all.iter().filter(|it| it.class == "host_waits_for_device");
            of_host.map(|it| ((it.location.clone(), it.start), it.ticks)).collect()
        };
        let (known, truth) = (waits_of(&known), waits_of(&truth.waits));
        for (call, ticks) in &truth {
            let bound = known.get(call).copied().unwrap_or(0);
            assert!(*ticks <= bound, "seed {seed}: {call:?} waits {ticks}, not {bound}");
        }
    }
    assert!(100 < n_bounds && 100 < n_certain, "{n_bounds} {n_certain}");
}

#[test]
fn waits_for_devices_add_up_over_adjacent_ranges_of_time() {
    let sums_of = |truth: &DeviceRun, time_ns| {
        let output = waits(truth, &Filter { time_ns, ..Filter::default() });
        let definitions = truth.trace.definitions();
        let mut sums = sums(&output, definitions);
        for wait in found(&output, definitions) {
            *sums.entry((wait.class, wait.location, wait.path)).or_default() += wait.ticks;
        }
        sums
    };
    for seed in 0..100 {
        let truth = simulate_devices(&random_devices(seed, DeviceFeatures::All), Recording::Full);
        let whole = sums_of(&truth, None);
        // A tick takes 50 µs.
        for cut in [15, 60, 145, 300] {
            let cut = cut * 50_000;
            let mut parts = sums_of(&truth, Some((0, cut)));
            for (key, ticks) in sums_of(&truth, Some((cut, 1_000_000_000))) {
                *parts.entry(key).or_default() += ticks;
            }
            assert_eq!(parts, whole, "seed {seed}, cut at {cut} ns");
        }
    }
}
