//! Runs with accelerators and one planted cause each: the first finding names it, with its gain.

use super::super::{Confidence, FindingKind};
use super::report;
use ouzel_model::{LocationId, TraceSource, WorldRank};
use ouzel_testkit::ToyTrace;
use ouzel_testkit::simulator::devices::{
    Recording, late_but_ahead, planted_losses, simulate_devices, straggler_with_late_host,
};

#[test]
fn the_first_finding_names_what_was_planted() {
    for planted in planted_losses().into_iter().chain([straggler_with_late_host()]) {
        let faulty = report(&simulate_devices(&planted.faulty, Recording::Full).trace);
        let clean = report(&simulate_devices(&planted.clean, Recording::Full).trace);
        let wanted = faulty.run.span_ns - clean.run.span_ns;
        let first = &faulty.findings[0];
        let found: Vec<(&str, u64)> =
            faulty.findings.iter().map(|finding| (finding.kind.as_str(), finding.gain_ns)).collect();
        assert_eq!(first.kind.as_str(), planted.kind, "{found:?}");
        let margin = (wanted / 20).max(faulty.run.span_ns / 100);
        assert!(first.gain_ns.abs_diff(wanted) <= margin, "{}: {found:?} of {wanted}", planted.kind);
        assert!(!first.evidence.is_empty() && !first.advice.is_empty());
        let worst = clean.findings.iter().map(|finding| finding.gain_fraction).fold(0.0, f64::max);
        assert!(worst <= 0.02, "{} without it: {:?}", planted.kind, clean.findings);
        assert!(faulty.accelerators.is_some_and(|card| 0.0 < card.busy_fraction));
    }
}

#[test]
fn a_host_that_is_late_but_ahead_is_no_finding() {
    let report = report(&simulate_devices(&late_but_ahead(), Recording::Full).trace);
    let worst = report.findings.iter().map(|finding| finding.gain_fraction).fold(0.0, f64::max);
    assert!(worst <= 0.02, "{:?}", report.findings);
}

#[test]
fn with_busy_accelerators_and_no_cause_of_waiting_the_kernels_are_named() {
    let mut n_busy = 0;
    for planted in planted_losses() {
        let clean = report(&simulate_devices(&planted.clean, Recording::Full).trace);
        let card = clean.accelerators.as_ref().expect("accelerators ran");
        let first = &clean.findings[0];
        let is_busy = 0.9 <= card.busy_fraction;
        let names_kernels = first.sentence.contains("speed up the kernels");
        assert_eq!(names_kernels, is_busy && first.kind.as_str() == "nothing_significant", "{first:?}");
        n_busy += usize::from(names_kernels);
    }
    assert!(0 < n_busy, "no simulated run keeps its accelerators busy");
}

#[test]
fn collectives_on_threads_that_nothing_hides_are_found() {
    let of = |main: &str| {
        let helper = "enter gloo:all_reduce @10, leave @40, enter gloo:all_reduce @50, leave @90";
        report(&ToyTrace::new(&format!("0: {main}\n0.1: {helper}")))
    };
    // Of 70 ticks in collectives, 10 to 20 are hidden.
    let faulty = of("enter step @0, leave @20, enter step @90, leave @100");
    let first = &faulty.findings[0];
    assert_eq!(first.kind.as_str(), "exposed_communication", "{first:?}");
    assert!((first.gain_fraction - 0.6).abs() < 1e-9, "{first:?}");
    assert_eq!(&*first.call_path[0], "gloo:all_reduce");
    assert!(first.sentence.contains("helper threads in 70.0 % of the run, in 60.0 % of it"), "{first:?}");
    assert_eq!(faulty.losses[0].kind.as_str(), "host_collective");
    assert!(faulty.headline.text.starts_with("Up to"), "{:?}", faulty.headline);
    assert!(faulty.efficiency_missing.is_some_and(|why| why.contains("ouzel breakdown")));
    let clean = of("enter step @0, leave @100");
    assert_eq!(clean.findings[0].kind.as_str(), "nothing_significant", "{:?}", clean.findings);
}

#[test]
fn streams_belong_to_the_process_that_drives_them() {
    let planted = planted_losses();
    let planted = planted.iter().find(|it| it.kind == "useless_synchronisation").expect("it is planted");
    let found = report(&simulate_devices(&planted.faulty, Recording::Full).trace);
    assert_eq!((found.run.recorded.n_processes, found.run.recorded.n_threads), (1, 1));
    // What the host alone waits for is the accelerator's work.
    assert!(found.segments.segments.is_empty(), "{:?}", found.segments);
}

#[test]
fn collectives_with_unknown_members_are_a_possible_loss() {
    let planted = planted_losses();
    let planted = planted.iter().find(|it| it.kind == "exposed_communication").expect("it is planted");
    let mut trace = simulate_devices(&planted.faulty, Recording::Full).trace;
    let complete = report(&trace);
    let of_others = |id: &LocationId| trace.definitions().location(*id).rank != Some(WorldRank(0));
    let others: Vec<LocationId> = trace.definitions().location_ids().filter(of_others).collect();
    others.into_iter().for_each(|id| trace.events_mut(id).clear());
    let one = report(&trace);
    let [all, first] = [&complete, &one].map(|of| &of.findings[0]);
    assert_eq!([all.kind, first.kind].map(FindingKind::as_str), ["exposed_communication"; 2]);
    assert_eq!((all.confidence, first.confidence), (Confidence::Likely, Confidence::Possible));
    assert!(all.gain_fraction.mul_add(0.95, -0.01) <= first.gain_fraction, "{first:?}");
}
