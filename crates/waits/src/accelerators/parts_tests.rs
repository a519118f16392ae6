//! Runs that are replayed in parts, beside the same in one piece.

use super::tests::{THREADS, output};
use super::*;
use ouzel_model::TraceSource;
use ouzel_testkit::run;
use ouzel_testkit::simulator::devices::{
    Recording, collectives_without_loss, planted_losses, simulate_devices,
};
use std::num::NonZeroUsize;

#[test]
fn a_what_if_in_parts_is_nearly_that_of_the_run() {
    let asked = StepsAsked { marks: Some("main"), ..StepsAsked::default() };
    for planted in planted_losses() {
        let simulated = simulate_devices(&planted.faulty, Recording::Full);
        let definitions = simulated.trace.definitions();
        let project = |max_bytes| {
            let of = Accelerators::new(definitions).with_steps(&asked, definitions).expect("there is a main");
            let devices = run(&simulated.trace, ReportedDevices::new(definitions, max_bytes).of_steps(of));
            let changes = [DeviceChange::NoLaunchCost];
            devices
                .what_if(&changes, definitions, THREADS)
                .expect("it can be read")
                .expect("it can be replayed")
        };
        let (of_run, notice) = project(u64::MAX);
        assert!(notice.is_none());
        let (of_parts, notice) = project(60 * 384 * planted.faulty.len() as u64);
        assert!(notice.expect("there is too little memory for all at once").message.contains(" parts"));
        assert_eq!(of_parts.run, of_run.run, "{}", planted.kind);
        let off = of_parts.projected.0.abs_diff(of_run.projected.0);
        assert!(off <= of_run.run.0 / 20, "{}: {off} of {}", planted.kind, of_run.run.0);
    }
}

#[test]
fn losses_of_parts_add_up_nearly_to_those_of_the_run() {
    for planted in planted_losses() {
        let simulated = simulate_devices(&planted.faulty, Recording::Full);
        let definitions = simulated.trace.definitions();
        let of_run = output(&simulated.trace).losses(definitions).expect("it can be replayed");
        let max_bytes = 60 * 384 * planted.faulty.len() as u64;
        let of_threads = |n_threads| {
            let devices = run(&simulated.trace, ReportedDevices::new(definitions, max_bytes));
            devices.losses(definitions, n_threads).unwrap()
        };
        let (found, notice) = of_threads(THREADS);
        assert_eq!(format!("{found:?}"), format!("{:?}", of_threads(NonZeroUsize::MIN).0));
        let notice = notice.expect("there is too little memory for all at once");
        assert!(notice.message.contains(" parts"), "{}", notice.message);
        let (first, expected) = (&found.expect("parts can be replayed").list[0], &of_run.list[0]);
        assert_eq!((first.kind, first.call_path), (expected.kind, expected.call_path), "{}", planted.kind);
        let off = expected.gain.0 / 5;
        assert!(
            first.gain.0 <= expected.gain.0 + off && expected.gain.0 <= first.gain.0 + off,
            "{}: {} of {}",
            planted.kind,
            first.gain.0,
            expected.gain.0
        );
    }
}

#[test]
fn what_runs_past_the_end_of_a_part_is_no_gain() {
    let processes = collectives_without_loss();
    let simulated = simulate_devices(&processes, Recording::Full);
    let definitions = simulated.trace.definitions();
    let communication = |list: &[DeviceLoss]| -> Ticks {
        let of = list.iter().filter(|it| it.kind == DeviceLossKind::ExposedCommunication);
        Ticks(of.map(|it| it.gain.0).sum())
    };
    let of_run = output(&simulated.trace).losses(definitions).expect("it can be replayed");
    // The last one of the run.
    assert_eq!(communication(&of_run.list), Ticks(12));
    // Fewer than three steps in each of 22 parts.
    let max_bytes = 12 * 384 * processes.len() as u64;
    let devices = run(&simulated.trace, ReportedDevices::new(definitions, max_bytes));
    let (found, notice) = devices.losses(definitions, THREADS).unwrap();
    assert!(notice.is_some_and(|it| it.message.contains("in 22 parts")));
    assert_eq!(communication(&found.expect("parts can be replayed").list), Ticks(12));
}
