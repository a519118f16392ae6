//! Runs with accelerators and one planted cause each: the first finding names it, with its gain.

use super::report;
use ouzel_testkit::simulator::devices::{Recording, late_but_ahead, planted_losses, simulate_devices};

#[test]
fn the_first_finding_names_what_was_planted() {
    for planted in planted_losses() {
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
