//! Cases that can be checked by eye, and the laws of the fold.

use super::*;
use crate::tests::{threads_of, value};
use ouzel_analyses::semantics::Semantics;
use ouzel_model::TraceSource;
use ouzel_testkit::{ToyTrace, laws, run};

fn devices(trace: &ToyTrace) -> Vec<(u64, u64)> {
    let classes = Semantics::default().classes(trace.definitions());
    let devices = run(trace, DeviceActivity::new(&classes));
    devices.iter().map(|device| (device.kernels.0, device.active.0)).collect()
}

const TWO: &str = "
    0: enter main @0, enter cudaLaunchKernel @5, leave @10, enter cudaStreamSynchronize @60, leave @90, leave @100
    0.gpu0: enter saxpy @10, leave @50, enter memcpyHtoD @70, leave @90
    0.gpu1: enter saxpy @30, leave @60
    1: enter main @0, leave @100
    1.gpu0: enter ncclDevKernel_AllReduce @0, leave @20, enter saxpy @20, leave @45";

#[test]
fn streams_of_a_device_are_one() {
    // Rank 0: kernels 10..60, and a copy of 20. Rank 1: a kernel of 25 after communication.
    assert_eq!(devices(&ToyTrace::new(TWO)), [(50, 70), (25, 45)]);
}

#[test]
fn factors_multiply_and_the_host_pays_for_the_runtime() {
    let trace = ToyTrace::new(TWO);
    let classes = Semantics::default().classes(trace.definitions());
    let devices = run(&trace, DeviceActivity::new(&classes));
    let threads = threads_of(&trace);
    let values = device_metrics(&devices, &Ok(&threads), threads.run_time);
    let value = |metric| value(&values, metric);
    assert_eq!(value(Metric::DeviceParallel), Some(75.0 / 200.0));
    assert_eq!(value(Metric::DeviceLoadBalance), Some(0.75));
    assert_eq!(value(Metric::DeviceCommunication), Some(50.0 / 70.0));
    assert_eq!(value(Metric::DeviceOrchestration), Some(0.7));
    // Useful are 100 − 5 − 30 and 100; the runtime takes 35.
    assert_eq!(value(Metric::Offload), Some(165.0 / 200.0));
}

#[test]
fn devices_without_kernels_have_no_balance() {
    let trace = ToyTrace::new("0: enter main @0, leave @10\n0.gpu0: enter memcpyHtoD @0, leave @5");
    let classes = Semantics::default().classes(trace.definitions());
    let devices = run(&trace, DeviceActivity::new(&classes));
    let values = device_metrics(&devices, &Err(Reason::new("not asked")), Ticks(10));
    assert_eq!(value(&values, Metric::DeviceParallel), Some(0.0));
    assert_eq!(value(&values, Metric::DeviceLoadBalance), None);
    assert_eq!(value(&values, Metric::Offload), None);
}

#[test]
fn laws_hold() {
    laws::check_made_for(
        |definitions| DeviceActivity::new(&Semantics::default().classes(definitions)),
        |devices| format!("{devices:?}"),
    );
}
