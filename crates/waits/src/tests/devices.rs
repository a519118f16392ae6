use super::{check, described, waits};
use ouzel_model::{Filter, NoticeCode, TraceSource};
use ouzel_testkit::{ToyTrace, run_report};

/// A host that launches two kernels and waits, after the streams that run them.
#[test]
fn a_host_waits_for_the_last_operation_that_it_launched() {
    // Kernel b is queued until 30: the wait from 12 to 50 is queueing until then.
    check(
        "0.gpu0: enter a @5, launched 1 @5, leave @30, enter b @30, launched 2 @30, leave @50
         0: enter main @0, enter cudaLaunchKernel @1, launches 1 @1, leave @3, enter cudaLaunchKernel @4, launches 2 @4,
            leave @6, enter cudaStreamSynchronize @12, awaits-stream 0.gpu0 @12, leave @55, leave @60"
            .replace('\n', " ")
            .replace("         0: enter main", "\n0: enter main")
            .as_str(),
        &[
            "host_waits_for_device 0 main/cudaStreamSynchronize: 38 in 1 for 0 b",
            "queueing 0 main/cudaStreamSynchronize: 18 in 1 for 0 b",
            // a could begin at 3, b when a had ended.
            "launch_latency 0 main/cudaLaunchKernel: 2 in 1",
        ],
    );
}

#[test]
fn a_call_without_anything_to_wait_for_is_useless() {
    check(
        "0.gpu0: enter a @2, launched 1 @2, leave @5
         0: enter cudaLaunchKernel @1, launches 1 @1, leave @2, enter cudaDeviceSynchronize @7, awaits-device 0.gpu0 @7, leave @10",
        &["useless_synchronization 0 cudaDeviceSynchronize: 3 in 1"],
    );
}

#[test]
fn a_copy_blocks_until_it_begins() {
    // The kernel ends at 20, the copy runs from 21 to 29.
    check(
        "0.gpu0: enter a @2, launched 1 @2, leave @20, enter [memcpy] @21, launched 2 @21, leave @29
         0: enter cudaLaunchKernel @1, launches 1 @1, leave @2, enter cudaMemcpy @4, launches 2 @4, leave @30",
        &["blocking_copy 0 cudaMemcpy: 17 in 1 for 0 a"],
    );
}

#[test]
fn memory_is_released_when_nothing_runs() {
    check(
        "0.gpu0: enter a @2, launched 1 @2, leave @20
         0: enter cudaLaunchKernel @1, launches 1 @1, leave @2, enter cudaFree @4, leave @22, enter cudaMalloc @23, leave @99",
        &["blocking_copy 0 cudaFree: 16 in 1 for 0 a"],
    );
}

#[test]
fn a_stream_waits_for_an_event_of_another() {
    // Stream 1 is free from 8 on, is told to wait at 9, and the event comes with the end of a at 30.
    check(
        "0.gpu0: enter a @4, launched 1 @4, leave @30
         0.gpu1: enter b @4, launched 2 @4, leave @8, enter c @31, launched 3 @31, leave @40
         0: enter main @0, enter cudaLaunchKernel @1, launches 1 @1, leave @2, enter cudaLaunchKernel @2, launches 2 @2, leave @3, enter cudaEventRecord @5, records-event 7 0.gpu0 @5, leave @6, enter cudaStreamWaitEvent @9, stream-awaits 7 0.gpu1 @9, leave @10, enter cudaLaunchKernel @11, launches 3 @11, leave @12, leave @50",
        &[
            "stream_wait 0 main/cudaStreamWaitEvent: 21 in 1 for 0 a",
            // a from 2 to 4, b from 3 to 4, c from 30 to 31.
            "launch_latency 0 main/cudaLaunchKernel: 4 in 3",
            // From 30 to 31, after the launch at 2, most of it in main.
            "device_idle 0 main: 1 in 1",
        ],
    );
}

#[test]
fn members_of_a_device_collective_wait_for_the_last() {
    check(
        "0.gpu0: enter ncclDevKernel_AllReduce @10, collective-begin @10, collective allreduce bytes 8/8 @60, leave @60
         1.gpu0: enter ncclDevKernel_AllReduce @45, collective-begin @45, collective allreduce bytes 8/8 @60, leave @60",
        &["wait_in_device_collective 0 ncclDevKernel_AllReduce: 35 in 1 for 1 ncclDevKernel_AllReduce"],
    );
}

#[test]
fn collectives_that_did_not_run_at_one_time_have_no_value() {
    let trace = ToyTrace::new(
        "0.gpu0: enter nccl @10, collective-begin @10, collective allreduce bytes 8/8 @20, leave @20
         1.gpu0: enter nccl @45, collective-begin @45, collective allreduce bytes 8/8 @60, leave @60",
    );
    let (output, report) = run_report(&trace, &Filter::default(), crate::Waits::new(trace.definitions()));
    assert_eq!(described(&output, trace.definitions()), [""; 0]);
    assert!(report.notices.iter().any(|notice| notice.code == NoticeCode::ClocksUnsynchronised));
}

#[test]
fn an_operation_that_another_stream_held_up_is_serialised() {
    // One of the two streams runs at a time; ready at 3, b begins right after a.
    check(
        "0.gpu0: enter a @2, launched 1 @2, leave @20
         0.gpu1: enter b @20, launched 2 @20, leave @30
         0: enter cudaLaunchKernel @1, launches 1 @1, leave @2, enter cudaLaunchKernel @2, launches 2 @2, leave @3",
        &["launch_latency 0 cudaLaunchKernel: 17 in 1", "serialized_streams 0 cudaLaunchKernel: 17 in 1"],
    );
}

#[test]
fn idle_devices_are_charged_to_the_code_before_the_launch() {
    check(
        "0.gpu0: enter a @2, launched 1 @2, leave @10, enter a @41, launched 2 @41, leave @50
         0: enter main @0, enter cudaLaunchKernel @1, launches 1 @1, leave @2, enter pack @2, leave @30, enter read @30, leave @40, enter cudaLaunchKernel @40, launches 2 @40, leave @41, leave @60",
        &["device_idle 0 main/pack: 31 in 1"],
    );
}

#[test]
fn what_a_waiting_call_calls_is_charged_to_that() {
    check(
        "0.gpu0: enter a @2, launched 1 @2, leave @30
         0: enter cudaLaunchKernel @1, launches 1 @1, leave @2, enter cudaDeviceSynchronize @10, enter poll @15, leave @25, leave @31",
        &[
            "host_waits_for_device 0 cudaDeviceSynchronize: 10 in 2 for 0 a",
            "host_waits_for_device 0 cudaDeviceSynchronize/poll: 10 in 1 for 0 a",
        ],
    );
}

#[test]
fn waiting_for_another_rank_inside_is_not_counted_twice() {
    let trace = ToyTrace::new(
        "0.gpu0: enter a @2, launched 1 @2, leave @30
         0: enter cudaLaunchKernel @1, launches 1 @1, leave @2, enter cudaDeviceSynchronize @10, enter MPI_Recv @12, recv<1 @20, leave @20, leave @31
         1: enter MPI_Send @18, send>0 @18, leave @20",
    );
    assert_eq!(
        described(&waits(&trace), trace.definitions()),
        [
            "host_waits_for_device 0 cudaDeviceSynchronize/MPI_Recv: 2 in 1 for 0 a",
            "host_waits_for_device 0 cudaDeviceSynchronize: 12 in 2 for 0 a",
            "late_sender 0 cudaDeviceSynchronize/MPI_Recv: 6 in 1 for 1 MPI_Send",
        ]
    );
}

#[test]
fn without_ids_launches_are_matched_in_order_and_that_is_said() {
    let trace = ToyTrace::new(
        "0.gpu0: enter a @5, leave @30, enter b @30, leave @50
         0: enter cudaLaunchKernel @1, leave @3, enter cudaLaunchKernel @4, leave @6, enter cudaStreamSynchronize @12, leave @55",
    );
    let (output, report) = run_report(&trace, &Filter::default(), crate::Waits::new(trace.definitions()));
    let rows = described(&output, trace.definitions());
    assert!(
        rows.contains(&"host_waits_for_device 0 cudaStreamSynchronize: 38 in 1 for 0 b".to_owned()),
        "{rows:?}"
    );
    assert!(report.notices.iter().any(|notice| notice.message.contains("in their order")));
    // A launch that is lost: nothing can be matched, so that the wait is an upper bound.
    let trace = ToyTrace::new(
        "0.gpu0: enter a @5, leave @30, enter b @30, leave @50
         0: enter cudaLaunchKernel @1, leave @3, enter cudaStreamSynchronize @12, leave @55",
    );
    let (output, report) = run_report(&trace, &Filter::default(), crate::Waits::new(trace.definitions()));
    let rows = described(&output, trace.definitions());
    let expected = "host_waits_for_device 0 cudaStreamSynchronize: 38 in 1 for 0 b (upper_bound)".to_owned();
    assert!(rows.contains(&expected), "{rows:?}");
    assert!(report.notices.iter().any(|notice| notice.message.contains("upper bounds")));
}

#[test]
fn clocks_that_contradict_each_other_are_cut_and_counted() {
    let trace = ToyTrace::new(
        "0.gpu0: enter a @5, launched 1 @5, leave @40
         0: enter cudaLaunchKernel @1, launches 1 @1, leave @3, enter cudaStreamSynchronize @12, awaits-stream 0.gpu0 @12, leave @30",
    );
    let (output, report) = run_report(&trace, &Filter::default(), crate::Waits::new(trace.definitions()));
    let rows = described(&output, trace.definitions());
    let expected = "host_waits_for_device 0 cudaStreamSynchronize: 18 in 1 for 0 a (doubtful)".to_owned();
    assert!(rows.contains(&expected), "{rows:?}");
    assert!(report.notices.iter().any(|notice| notice.code == NoticeCode::ClocksUnsynchronised));
}
