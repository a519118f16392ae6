//! What a critical path follows between hosts and streams.

use super::path::waits_of_collectives;
use super::*;
use ouzel_analyses::critical_path::{
    DeviceWaitKind, SegmentKind, WaitOfDevices, WaitsOfDevices, critical_path,
};
use ouzel_analyses::paired_operations::Operations;
use ouzel_model::{Notices, TraceSource};
use ouzel_testkit::simulator::devices::{DeviceFeatures, Recording, random_devices, simulate_devices};
use ouzel_testkit::{ToyTrace, laws, run};

fn path_waits(trace: &ToyTrace) -> PathWaitsOutput {
    run(trace, PathWaits::new(trace.definitions()))
}

#[test]
fn laws_hold_for_what_a_path_can_follow() {
    laws::check_on_devices(PathWaits::new, |output| {
        let paths = |wait: &WaitOfDevices| output.call_paths.regions(wait.call_path);
        let waits = output.waits.list.iter().map(|wait| (wait.location, wait.leave, wait.at, paths(wait)));
        format!("{:?} {:?}", waits.collect::<Vec<_>>(), output.waits.locations)
    });
}

#[test]
fn a_path_that_a_message_leads_into_a_process_goes_on_to_its_streams() {
    // From the end of rank 0 no path comes to what it waits for at 9: the kernel that ends at 50 was launched before.
    let trace = ToyTrace::new(
        "0.gpu0: enter a @4, launched 1 @4, leave @50
         0.gpu1: enter b @5, launched 2 @5, leave @9
         0: enter main @0, enter cudaLaunchKernel @1, launches 1 @1, leave @2, enter cudaLaunchKernel @2, launches 2 @2, leave @3, enter cudaStreamSynchronize @6, awaits-stream 0.gpu1 @6, leave @9, enter MPI_Send @10, send>1 @11, leave @12, enter cudaStreamSynchronize @13, awaits-stream 0.gpu0 @13, leave @50, leave @51
         1: enter main @0, enter MPI_Recv @1, recv<0 @60, leave @60, leave @100",
    );
    let operations = run(&trace, Operations::new(trace.definitions()));
    let waits = path_waits(&trace).waits;
    let path = critical_path(&operations, &waits, trace.definitions(), &Notices::default());
    let described: Vec<_> =
        path.segments.iter().map(|it| (it.kind.as_str(), it.range.start.0, it.range.end.0)).collect();
    let expected = [
        ("launch", 2, 5),
        ("local", 5, 9),
        ("synchronization", 9, 9),
        ("local", 9, 10),
        ("message", 10, 60),
        ("local", 60, 100),
    ];
    assert_eq!(described[described.len() - 6..], expected, "{described:?}");
}

#[test]
fn a_path_through_waits_that_it_can_pass_is_that_through_all() {
    let (mut n_kept, mut n_all, mut n_left) = (0, 0, 0);
    for seed in 0..300 {
        let simulated = simulate_devices(&random_devices(seed, DeviceFeatures::All), Recording::Full);
        let trace = &simulated.trace;
        let definitions = trace.definitions();
        let at_once = run(trace, Accelerators::new(definitions));
        let processes = at_once.processes(definitions);
        let mut list = at_once.waits_in(&processes);
        let instances = at_once.collective_members(&processes, definitions).instances(definitions);
        list.extend(waits_of_collectives(&instances));
        let locations = list.iter().flat_map(|wait| [wait.location, wait.cause]).collect();
        let all = WaitsOfDevices { list, locations };
        let kept = path_waits(trace).waits;
        assert_eq!(kept.locations, all.locations, "seed {seed}");
        let operations = run(trace, Operations::new(definitions));
        let segments = |waits| critical_path(&operations, waits, definitions, &Notices::default()).segments;
        let expected = segments(&all);
        assert_eq!(segments(&kept), expected, "seed {seed}");
        n_left += expected.iter().filter(|it| it.kind == SegmentKind::Collective).count();
        (n_kept, n_all) = (n_kept + kept.list.len(), n_all + all.list.len());
    }
    assert!(20 < n_left, "the path hardly ever leaves a process: {n_left} times");
    assert!(n_kept < n_all, "{n_kept} of {n_all}");
}

#[test]
fn a_host_waits_for_what_was_launched_before_the_recording() {
    let trace = ToyTrace::new(
        "0.gpu0: enter a @2, launched 9 @2, leave @30, enter b @50, launched 1 @50, leave @60
         0: enter main @0, enter cudaDeviceSynchronize @5, leave @31, enter cudaLaunchKernel @40, launches 1 @40, leave @42, leave @90",
    );
    let PathWaitsOutput { waits, notices, .. } = path_waits(&trace);
    let found: Vec<_> = waits.list.iter().map(|it| (it.kind, it.enter.0, it.leave.0, it.at.0)).collect();
    assert!(found.contains(&(DeviceWaitKind::Synchronization, 5, 31, 30)), "{found:?}");
    assert!(notices[0].message.starts_with("no launch is recorded for 1 of 2 operations"), "{notices:?}");
}
