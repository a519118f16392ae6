//! Losses of traces that can be checked by eye.

use super::*;
use ouzel_model::TraceSource;
use ouzel_testkit::{ToyTrace, run};

/// What each loss of a trace is, its call path's region, and its gain.
fn losses(trace: &str) -> Vec<String> {
    let trace = ToyTrace::new(trace);
    let output: AcceleratorsOutput = run(&trace, Accelerators::new(trace.definitions()));
    let found = output.losses(trace.definitions()).expect("the run can be replayed");
    let name = |it: &DeviceLoss| {
        let region = found.call_paths.region(it.call_path);
        region.map_or(String::new(), |region| trace.definitions().region(region).name.to_string())
    };
    found.list.iter().map(|it| format!("{:?} in {}: {}", it.kind, name(it), it.gain.0)).collect()
}

#[test]
fn a_copy_that_the_host_waits_for_at_once_is_synchronous() {
    // The copy from 4 to 44 keeps the host until 46. Without that, the host launches a at 6, it begins at 9 instead of 50,
    // and all is over 41 earlier.
    let copied = losses(
        "0.gpu0: enter Memcpy HtoD (Pageable -> Device) @4, launched 1 @4, leave @44, enter a @50, launched 2 @50, leave @90
         0: enter main @0, enter cudaMemcpyAsync @1, launches 1 @1, leave @3, enter cudaStreamSynchronize @3, awaits-stream 0.gpu0 @3, leave @46, enter cudaLaunchKernel @47, launches 2 @47, leave @49, enter cudaDeviceSynchronize @49, leave @92, leave @93",
    );
    assert_eq!(copied[0], "PageableMemory in cudaMemcpyAsync: 41", "{copied:?}");
    // The host waits for the kernel before the copy, mostly: that is the wait, and not the copy.
    let waited = losses(
        "0.gpu0: enter a @4, launched 1 @4, leave @44, enter Memcpy DtoH (Device -> Pageable) @44, launched 2 @44, leave @45, enter a @53, launched 3 @53, leave @93
         0: enter main @0, enter cudaLaunchKernel @1, launches 1 @1, leave @3, enter cudaMemcpyAsync @3, launches 2 @3, leave @4, enter cudaStreamSynchronize @4, awaits-stream 0.gpu0 @4, leave @46, enter cudaLaunchKernel @50, launches 3 @50, leave @52, enter cudaDeviceSynchronize @52, leave @95, leave @96",
    );
    assert!(waited[0].starts_with("UselessSynchronization in cudaStreamSynchronize"), "{waited:?}");
    assert!(waited.iter().all(|it| !it.starts_with("Pageable")), "{waited:?}");
}

#[test]
fn a_call_waits_if_one_in_it_does() {
    // Nsight Systems shows the wait for the stream in the call of the runtime.
    let found = losses(
        "0.gpu0: enter a @4, launched 1 @4, leave @44, enter b @63, launched 2 @63, leave @103
         0: enter main @0, enter cudaLaunchKernel @1, launches 1 @1, leave @3, enter cudaStreamSynchronize @4, enter [CUDA stream synchronize] @5, awaits-stream 0.gpu0 @5, leave @45, leave @46, enter cudaLaunchKernel @60, launches 2 @60, leave @62, enter cudaDeviceSynchronize @62, leave @105, leave @106",
    );
    assert_eq!(found[0], "UselessSynchronization in cudaStreamSynchronize: 19", "{found:?}");
}

#[test]
fn a_copy_within_a_call_that_blocks_is_its_own_without_ids() {
    let copied = losses(
        "0.gpu0: enter Memcpy HtoD (Pinned -> Device) @4, leave @44, enter a @50, leave @90
         0: enter main @0, enter cudaMemcpy @1, leave @46, enter cudaLaunchKernel @47, leave @49, enter cudaDeviceSynchronize @49, leave @92, leave @93",
    );
    assert!(copied[0].starts_with("SynchronousCopies in cudaMemcpy"), "{copied:?}");
}

#[test]
fn a_copy_that_the_host_waits_for_at_once_is_found_without_ids_if_there_is_one_stream() {
    let trace = |second: &str| {
        format!(
            "0.gpu0: enter Memcpy HtoD (Pageable -> Device) @4, leave @44, enter a @50, leave @90{second}
             0: enter main @0, enter cudaMemcpyAsync @1, leave @3, enter cudaStreamSynchronize @3, leave @46, enter cudaLaunchKernel @47, leave @49, enter cudaDeviceSynchronize @49, leave @92, leave @93"
        )
    };
    // As with ids.
    assert_eq!(losses(&trace(""))[0], "PageableMemory in cudaMemcpyAsync: 41");
    // A copy in another stream: none is that of the call for certain.
    let copies = "\n0.gpu1: enter Memcpy HtoD (Pageable -> Device) @5, leave @7";
    assert!(losses(&trace(copies)).iter().all(|it| !it.starts_with("Pageable")));
    let remarks = |text: &str| {
        let trace = ToyTrace::new(text);
        let devices = run(&trace, ReportedDevices::new(trace.definitions(), u64::MAX));
        devices.remarks(trace.definitions()).into_iter().map(|notice| notice.message).collect::<Vec<_>>()
    };
    assert_eq!(remarks(&trace("")), [""; 0]);
    assert!(remarks(&trace(copies))[0].starts_with("which call started 2 copies is not recorded"));
    // The first operation is a fill that no call is recorded for.
    let fill = trace("").replacen("enter Memcpy", "enter [memset] @2, leave @3, enter Memcpy", 1);
    assert!(losses(&fill).iter().all(|it| !it.starts_with("Pageable")));
    // The runtime's call calls that of the driver: it starts one copy.
    let nested = trace("").replacen(
        "cudaMemcpyAsync @1",
        "cudaMemcpyAsync @1, enter cuMemcpyHtoDAsync_v2 @2, leave @2",
        1,
    );
    assert_eq!(losses(&nested)[0], "PageableMemory in cudaMemcpyAsync: 41");
}

#[test]
fn collectives_that_only_their_names_tell_are_paired_in_order() {
    // Rank 1 computes 30 longer before each, and rank 0 waits for it.
    let rank = |it: u32, late: u64| {
        format!(
            "{it}.gpu0: enter a @4, launched 1 @4, leave @{}, enter ncclDevKernel_AllReduce @{}, launched 2 @{}, leave @60
             {it}: enter main @0, enter cudaLaunchKernel @1, launches 1 @1, leave @2, enter cudaLaunchKernel @2, launches 2 @2, leave @3, enter cudaDeviceSynchronize @3, leave @62, leave @63",
            20 + late,
            20 + late,
            20 + late,
        )
    };
    let both = format!("{}\n{}", rank(0, 0), rank(1, 30));
    assert_eq!(losses(&both)[0], "Straggler in a: 30");
    // They do not overlap: no collective, whatever they are.
    let apart = both.replacen("leave @60", "leave @40", 1);
    assert!(losses(&apart).iter().all(|it| !it.starts_with("Straggler")));
}
