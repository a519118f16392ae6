//! Cases that can be checked by eye, the laws of the fold, and sums over random programs.

use super::*;
use ouzel_analyses::time_grid::TimeGrid;
use ouzel_model::{Filter, TraceSource};
use ouzel_testkit::simulator::devices::{
    DeviceFeatures, HostStep, Recording, SimulatedProcess, late_but_ahead, planted_losses, random_devices,
    simulate_devices, straggler_with_late_host,
};
use ouzel_testkit::{Sampler, ToyTrace, laws, run, run_report};
use std::num::NonZeroUsize;

/// Two, so that parts of a run are replayed at the same time.
pub(super) const THREADS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(1);

pub(super) fn output(trace: &ToyTrace) -> AcceleratorsOutput {
    run(trace, Accelerators::new(trace.definitions()))
}

/// The causes of each stream's idle time that are not zero.
fn causes(trace: &str) -> Vec<String> {
    let trace = ToyTrace::new(trace);
    let rows = output(&trace).idle(trace.definitions());
    let row = |row: &StreamIdle| {
        let of = IdleCause::ALL.iter().filter(|cause| row.of(**cause).0 != 0);
        let parts: Vec<String> = of.map(|cause| format!("{} {}", cause.as_str(), row.of(*cause).0)).collect();
        format!("{} of {}: {}", row.idle.0, row.span.0, parts.join(", "))
    };
    rows.iter().map(row).collect()
}

#[test]
fn gaps_are_split_by_what_the_host_did() {
    // Idle from 20 to 60: the host waits until 25, computes until 40, is in MPI until 50, launches at 55.
    assert_eq!(
        causes(
            "0.gpu0: enter a @5, launched 1 @5, leave @20, enter b @60, launched 2 @60, leave @70
             0: enter main @0, enter cudaLaunchKernel @1, launches 1 @1, leave @3, enter cudaStreamSynchronize @6, awaits-stream 0.gpu0 @6, leave @25, enter MPI_Recv @40, leave @50, enter cudaLaunchKernel @55, launches 2 @55, leave @58, leave @90"
        ),
        ["40 of 65: host_late 25, host_waits 5, partner 10"]
    );
}

#[test]
fn the_longest_gaps_say_where_the_host_was() {
    let trace = ToyTrace::new(
        "0.gpu0: enter a @5, launched 1 @5, leave @20, enter b @60, launched 2 @60, leave @70, enter c @75, launched 3 @75, leave @80
         0.gpu1: enter a @30, launched 4 @30, leave @40, enter b @65, launched 5 @65, leave @66
         0: enter main @0, enter cudaLaunchKernel @1, launches 1 @1, leave @3, enter cudaStreamSynchronize @6, awaits-stream 0.gpu0 @6, leave @25, enter cudaLaunchKernel @26, launches 4 @26, leave @28, enter MPI_Recv @40, leave @50, enter cudaLaunchKernel @55, launches 2 @55, leave @58, enter cudaLaunchKernel @60, launches 5 @60, leave @62, enter cudaLaunchKernel @63, launches 3 @63, leave @64, leave @90",
    );
    let definitions = trace.definitions();
    let mut gaps = output(&trace).longest_gaps(2, definitions);
    let pieces = GapPieces::new(&gaps);
    let calls = run(&trace, pieces.question().expect("both launches are known"));
    pieces.add_host(&mut gaps, &calls);
    let described = gaps.iter().map(|gap| {
        let name = |region: &ouzel_model::RegionId| &*definitions.region(*region).name;
        let host = gap.host.iter().map(|(path, time)| format!("{} {}", path.last().map_or("", name), time.0));
        let (next, host) = (gap.next.as_ref().map_or("", name), host.collect::<Vec<_>>().join(", "));
        let whole: u64 = gap.causes.iter().map(|ticks| ticks.0).sum();
        assert_eq!(whole, gap.length().0);
        format!("{}..{} {} before {next}: {host}", gap.range.start.0, gap.range.end.0, gap.cause().as_str())
    });
    // The gaps overlap: the thread is looked at once, in the ranges between their ends.
    assert_eq!(
        described.collect::<Vec<_>>(),
        [
            "20..60 host_late before b: main 20, MPI_Recv 10, cudaLaunchKernel 5",
            "40..65 host_late before b: MPI_Recv 10, main 9, cudaLaunchKernel 6",
        ]
    );
    assert_eq!(output(&trace).longest_gaps(9, definitions).len(), 3);
}

#[test]
fn a_stream_that_waits_for_another_says_for_what() {
    // b waits from 8 until the copy ends at 30, and follows at 31; it was launched at 6.
    assert_eq!(
        causes(
            "0.gpu0: enter [memcpy] @4, launched 1 @4, leave @30
             0.gpu1: enter a @4, launched 2 @4, leave @8, enter b @31, launched 3 @31, leave @40
             0: enter main @0, enter cudaMemcpyAsync @1, launches 1 @1, leave @2, enter cudaLaunchKernel @2, launches 2 @2, leave @3, enter cudaEventRecord @3, records-event 7 0.gpu0 @3, leave @4, enter cudaStreamWaitEvent @4, stream-awaits 7 0.gpu1 @4, leave @5, enter cudaLaunchKernel @5, launches 3 @5, leave @6, leave @50"
        ),
        ["0 of 26: ", "23 of 36: copy 22, dependency 1"]
    );
}

#[test]
fn causes_add_up_to_the_idle_time_of_random_programs() {
    for seed in 0..300 {
        let processes = random_devices(seed, DeviceFeatures::All);
        let simulated = simulate_devices(&processes, Recording::Full);
        let definitions = simulated.trace.definitions();
        let output = output(&simulated.trace);
        for row in output.idle(definitions) {
            let operations = &output.records[&row.location].operations;
            let (first, last) = (operations[0].start, operations[operations.len() - 1].end);
            let busy: u64 = operations.iter().map(|it| it.end.since(it.start).0).sum();
            assert_eq!(row.span, last.since(first), "seed {seed}");
            assert_eq!(row.idle.0, row.span.0 - busy, "seed {seed}");
            assert_eq!(
                row.causes_ns(definitions).iter().sum::<u64>(),
                definitions.clock.ns_from_ticks(row.idle)
            );
            assert_eq!(row.of(IdleCause::Other).0, 0, "every launch is recorded: seed {seed}");
        }
    }
}

/// Two processes that launch two kernels of 20 ticks, each after 15 or 5 ticks of work, and wait for them.
fn two_processes(shares: bool) -> Vec<SimulatedProcess> {
    let kernel = |name| HostStep::Launch { stream: 0, name, ticks: 20, call: 1, delay: 2 };
    let steps = |of: &[HostStep]| -> Vec<HostStep> { (0..2).flat_map(|_| of.iter().copied()).collect() };
    let process = |steps| SimulatedProcess { threads: vec![steps], streams: vec![0], slots: 1, shares };
    let of = |work, name| {
        process(steps(&[HostStep::Work("prepare", work), kernel(name), HostStep::AwaitStream(0)]))
    };
    vec![of(15, "solve"), of(5, "project")]
}

#[test]
fn a_stream_waits_for_another_process_on_its_device() {
    let of = |shares: bool| {
        let simulated = simulate_devices(&two_processes(shares), Recording::Full);
        let definitions = simulated.trace.definitions();
        let (output, report) =
            run_report(&simulated.trace, &Filter::default(), Accelerators::new(definitions));
        let rows: Vec<String> = output
            .idle(definitions)
            .iter()
            .map(|row| {
                let parts = IdleCause::ALL.iter().filter(|cause| row.of(**cause).0 != 0);
                let parts: Vec<String> =
                    parts.map(|cause| format!("{} {}", cause.as_str(), row.of(*cause).0)).collect();
                format!("{} idle: {}", row.idle.0, parts.join(", "))
            })
            .collect();
        let summary = output.summary(definitions).expect("streams run");
        let settled =
            run(&simulated.trace, Kernels::idle(Accelerators::new(definitions), 1, &StepsAsked::default()));
        let (settled, _) = settled.idle_of_steps(&StepsAsked::default()).expect("no step is asked for");
        assert_eq!(settled, output.idle(definitions), "the same process by process");
        let told = report.notices.into_iter().map(|notice| notice.message).filter(|it| it.contains("share"));
        (rows, summary.n_devices, summary.n_shared, summary.busy.0, told.collect::<Vec<_>>())
    };
    let alone = of(false);
    assert_eq!(alone.0, ["17 idle: host_late 17", "7 idle: host_late 7"]);
    assert_eq!((alone.1, alone.2, alone.3, alone.4.len()), (2, 0, 80, 0));
    let shared = of(true);
    // The second runs from 7 to 27 and from 47 on, the first from 27 to 47 and from 67 on. Both launches are late; they
    // are over at 63 and 33, and the other runs until 67 and 47.
    assert_eq!(shared.0, ["20 idle: host_late 16, other_stream 4", "20 idle: host_late 6, other_stream 14"]);
    assert_eq!((shared.1, shared.2, shared.3), (1, 1, 80), "one device, on which never two run at once");
    assert!(
        shared.4[0].starts_with("rank 0 and rank 1 share one device (Context of rank 0)"),
        "{:?}",
        shared.4
    );
}

#[test]
fn kernels_are_counted_by_name_type_and_caller() {
    let trace = ToyTrace::new(
        "0.gpu0: enter a @5, launched 1 @5, leave @15, enter a @15, launched 2 @15, leave @45, enter [memcpy] @50, launched 3 @50, leave @60
         0: enter main @0, enter cudaLaunchKernel @1, launches 1 @1, leave @3, enter solve @3, enter cudaLaunchKernel @4, launches 2 @4, leave @6, leave @7, enter cudaMemcpyAsync @8, launches 3 @8, leave @9, leave @70",
    );
    let definitions = trace.definitions();
    let output = output(&trace);
    let described = |rows: &[KernelRow]| -> Vec<String> {
        let row = |row: &KernelRow| {
            let of = &row.durations;
            let name = row.name.as_deref().unwrap_or("?");
            format!(
                "{name} {} {} {} {} {}",
                row.kind.as_str(),
                of.n,
                of.total_ns,
                of.median_ns,
                of.std_ns.round()
            )
        };
        rows.iter().map(row).collect()
    };
    let kernels = output.kernels(KernelsBy::Kernel, KernelsPer::Run, definitions);
    assert_eq!(described(&kernels.kernels), ["a computation 2 40 20 14", "[memcpy] memory 1 10 10 0"]);
    assert_eq!(kernels.types, [(KernelType::Computation, 40), (KernelType::Memory, 10)]);
    // Launched at 1, 4 and 8, begun at 5, 15 and 50: two at once from 8 on, and from 4 on.
    assert_eq!(kernels.queues[0].max_queue_length, 2);
    assert_eq!((kernels.launch_delays[0].n, kernels.launch_delays[0].max_delay_ns), (3, 41));
    assert_eq!(kernels.copies[0].n, 1);
    let operators = output.kernels(KernelsBy::Operator, KernelsPer::Run, definitions);
    assert_eq!(
        described(&operators.groups),
        ["solve computation 1 30 30 0", "main computation 1 10 10 0", "main memory 1 10 10 0"]
    );
}

#[test]
fn laws_hold() {
    laws::check_on_devices(Accelerators::new, |output| {
        let mut texts = Vec::new();
        for (location, of) in &output.records {
            let paths = of.operations.iter().map(|it| output.call_paths.regions(it.path));
            texts.push(format!("{location:?} {:?} {:?}", paths.collect::<Vec<_>>(), of.details));
        }
        texts.join(" ")
    });
}

#[test]
fn laws_hold_for_kernels() {
    for (by, per) in [(KernelsBy::Kernel, KernelsPer::Run), (KernelsBy::Operator, KernelsPer::Step)] {
        let make = |definitions: &Definitions| {
            let asked = StepsAsked { marks: Some("main"), ..StepsAsked::default() };
            let of = Accelerators::new(definitions);
            Kernels::new(
                of.with_steps(&asked, definitions).expect("some region has the name"),
                by,
                per,
                &asked,
            )
        };
        laws::check_on_devices(make, |output| format!("{:?}", output.kernels));
    }
}

#[test]
fn kernels_of_processes_one_by_one_are_those_of_all() {
    for seed in 0..150 {
        let simulated = simulate_devices(&random_devices(seed, DeviceFeatures::All), Recording::Full);
        let definitions = simulated.trace.definitions();
        let at_once = output(&simulated.trace);
        for by in [KernelsBy::Kernel, KernelsBy::Operator, KernelsBy::Scope] {
            let of = Accelerators::new(definitions);
            let question = Kernels::new(of, by, KernelsPer::Run, &StepsAsked::default());
            let settled = run(&simulated.trace, question);
            let expected = at_once.kernels(by, KernelsPer::Run, definitions);
            assert_eq!(format!("{:?}", settled.kernels), format!("{expected:?}"), "seed {seed}");
        }
    }
}

#[test]
fn laws_hold_for_idle_time_of_processes_one_by_one() {
    let make =
        |definitions: &Definitions| Kernels::idle(Accelerators::new(definitions), 5, &StepsAsked::default());
    laws::check_on_devices(make, |output| format!("{:?} {:?}", output.sums.idle, output.sums.gaps));
}

#[test]
fn idle_time_of_processes_one_by_one_is_that_of_all() {
    let mut n_gaps = 0;
    for seed in 0..150 {
        let simulated = simulate_devices(&random_devices(seed, DeviceFeatures::All), Recording::Full);
        let definitions = simulated.trace.definitions();
        let at_once = output(&simulated.trace);
        let question = Kernels::idle(Accelerators::new(definitions), 7, &StepsAsked::default());
        let settled = run(&simulated.trace, question);
        let (streams, gaps) = settled.idle_of_steps(&StepsAsked::default()).unwrap();
        assert_eq!(streams, at_once.idle(definitions), "seed {seed}");
        assert_eq!(gaps, at_once.longest_gaps(7, definitions), "seed {seed}");
        n_gaps += gaps.len();
    }
    assert!(150 < n_gaps, "too few gaps to compare");
}

/// The end of a simulated run, and the losses found in it: kind and gain.
fn losses(processes: &[SimulatedProcess]) -> (u64, Vec<(DeviceLossKind, u64)>) {
    let simulated = simulate_devices(processes, Recording::Full);
    let definitions = simulated.trace.definitions();
    let output = output(&simulated.trace);
    let end = output.spans.values().map(|span| span.1.0).max().unwrap();
    let losses = output.losses(definitions).expect("a simulated run can be replayed");
    (end, losses.list.iter().map(|loss| (loss.kind, loss.gain.0)).collect())
}

#[test]
fn random_programs_are_replayed_as_they_ran() {
    for seed in 0..300 {
        let simulated = simulate_devices(&random_devices(seed, DeviceFeatures::All), Recording::Full);
        let definitions = simulated.trace.definitions();
        let output = output(&simulated.trace);
        let members = output.collective_members(&output.processes(definitions), definitions);
        let replay = output.replay_with(&members.instances(definitions), definitions);
        assert!(replay.is_some(), "seed {seed}");
    }
}

#[test]
fn planted_losses_come_first_with_their_gain() {
    for planted in planted_losses().into_iter().chain([straggler_with_late_host()]) {
        let (run, found) = losses(&planted.faulty);
        let (clean, of_clean) = losses(&planted.clean);
        let wanted = run - clean;
        let &(kind, gain) = found.first().unwrap_or_else(|| panic!("{}: nothing found", planted.kind));
        assert_eq!(
            format!("{kind:?}").to_lowercase(),
            planted
                .kind
                .replace(['_'], "")
                .replace("serialised", "serialized")
                .replace("synchronisation", "synchronization")
                .replace("firstusecosts", "firstuse")
                .replace("launchbound", "hostlate"),
            "{found:?}"
        );
        let margin = (wanted / 20).max(run / 100);
        assert!(gain.abs_diff(wanted) <= margin, "{}: {gain} of {wanted}, {found:?} in {run}", planted.kind);
        let most = of_clean.iter().map(|it| it.1).max().unwrap_or(0);
        assert!(most * 50 <= clean, "{}: {of_clean:?} of {clean} without it", planted.kind);
    }
}

#[test]
fn a_host_that_is_late_but_ahead_loses_nothing() {
    let (run, found) = losses(&late_but_ahead());
    let most = found.iter().map(|it| it.1).max().unwrap_or(0);
    assert!(most * 50 <= run, "{found:?} of {run}");
}

#[test]
fn changes_that_gain_the_same_time_are_one_loss() {
    // Without `a` or without `b`, the other thread ends the run.
    let trace = ToyTrace::new(
        "0.gpu0: enter k @1, launched 1 @1, leave @2, enter k @40, launched 2 @40, leave @45, enter k @90, launched 3 @90, leave @95
         0.gpu1: enter k @75, launched 4 @75, leave @85
         0: enter cudaLaunchKernel @1, launches 1 @1, leave @2, enter a @3, leave @39, enter cudaLaunchKernel @40, launches 2 @40, leave @41, enter b @42, leave @89, enter cudaLaunchKernel @90, launches 3 @90, leave @91, enter end @91, leave @100
         0.1: enter c @0, leave @74, enter cudaLaunchKernel @75, launches 4 @75, leave @76",
    );
    let definitions = trace.definitions();
    let found = run(&trace, Accelerators::new(definitions)).losses(definitions).expect("it can be replayed");
    let name = |path| found.call_paths.region(path).map(|region| &*definitions.region(region).name);
    let late = found.list.iter().filter(|loss| loss.kind == DeviceLossKind::HostLate);
    let late: Vec<_> = late
        .map(|loss| {
            let others: Vec<_> = loss.alternatives.iter().map(|&path| name(path)).collect();
            (name(loss.call_path), others, loss.gain.0, loss.range.start.0, loss.range.end.0)
        })
        .collect();
    assert_eq!(late, [(Some("b"), vec![Some("a")], 15, 41, 90)]);
}

/// Two steps of 30 by name, of which the second launches what runs after it; another thread launches `c`.
const STEPS: &str = "0.gpu0: enter a @5, launched 1 @5, leave @15, enter b @25, launched 2 @25, leave @50, enter a @55, launched 3 @55, leave @75, enter c @80, launched 4 @80, leave @84
     0: enter main @0, enter step @1, enter cudaLaunchKernel @1, launches 1 @1, leave @3, enter cudaLaunchKernel @20, launches 2 @20, leave @22, leave @31, enter step @31, enter cudaLaunchKernel @32, launches 3 @32, leave @34, leave @61, leave @100
     0.1: enter cudaLaunchKernel @60, launches 4 @60, leave @61";

fn of_steps(trace: &str, asked: &StepsAsked<'_>) -> Result<(ToyTrace, AcceleratorsOutput), StepError> {
    let trace = ToyTrace::new(trace);
    let analysis = Accelerators::new(trace.definitions()).with_steps(asked, trace.definitions())?;
    let mut output = run(&trace, analysis);
    output.select_steps(asked)?;
    Ok((trace, output))
}

#[test]
fn operations_belong_to_the_step_that_launched_them() {
    let asked = |step| StepsAsked { marks: Some("step"), step, per_step: true };
    let (trace, output) = of_steps(STEPS, &asked(None)).unwrap();
    let definitions = trace.definitions();
    let kernels = output.kernels(KernelsBy::Kernel, KernelsPer::Step, definitions);
    let row = |row: &KernelRow| (row.step, row.name.clone().unwrap().to_string(), row.durations.total_ns);
    let rows: Vec<_> = kernels.groups.iter().map(row).collect();
    let wanted = [(Some(0), "b", 25), (Some(0), "a", 10), (Some(1), "a", 20), (Some(1), "c", 4)];
    assert_eq!(rows, wanted.map(|(step, name, ns)| (step, name.to_owned(), ns)));
    let step = |row: &StepRow| (row.step, row.length_ns, row.launches, row.device_ns, row.idle_ns);
    // Gaps from 15 to 25, from 50 to 55, and from 75 to 80.
    assert_eq!(kernels.steps.iter().map(step).collect::<Vec<_>>(), [(0, 30, 2, 35, 10), (1, 30, 2, 24, 10)]);
    for only in [0, 1] {
        let (_, output) = of_steps(STEPS, &asked(Some(only))).unwrap();
        let of_step = &kernels.steps[only as usize];
        let alone = output.kernels(KernelsBy::Kernel, KernelsPer::Run, definitions);
        assert_eq!(alone.total_ns(), of_step.device_ns);
        assert_eq!(alone.steps, std::slice::from_ref(of_step));
        let idle = output.idle(definitions);
        assert_eq!(idle[0].causes_ns(definitions), of_step.causes_ns);
        assert_eq!(definitions.clock.ns_from_ticks(idle[0].busy()), of_step.device_ns);
    }
    let errors =
        [of_steps(STEPS, &asked(Some(7))), of_steps(STEPS, &StepsAsked { marks: None, ..asked(None) })];
    let errors = errors.map(|answer| answer.err().map(|error| error.to_string()).unwrap_or_default());
    assert_eq!(errors[0], "no step 7: 2 recorded, with numbers from 0 to 1");
    assert!(errors[1].starts_with("the trace has no ProfilerStep"), "{}", errors[1]);
}

#[test]
fn a_step_that_takes_longer_says_why() {
    // Five steps of 100; the fourth launches late, the fifth runs longer.
    let (mut gpu, mut cpu, mut at) = (String::new(), String::from("0: enter main @0"), 0);
    for (step, (late, length)) in [(0, 20), (0, 20), (0, 20), (70, 20), (0, 85)].into_iter().enumerate() {
        let (enter, start) = (at + 10 + late, at + 15 + late);
        let leave = enter + 2 + length + 60;
        gpu += &format!(", enter a @{start}, launched {0} @{start}, leave @{1}", step + 1, start + length);
        cpu += &format!(
            ", enter step @{at}, enter cudaLaunchKernel @{enter}, launches {0} @{enter}, leave @{1}, leave @{leave}",
            step + 1,
            enter + 2
        );
        at = leave;
    }
    let trace = format!("0.gpu0: {}\n{cpu}, leave @{at}", gpu.trim_start_matches(", "));
    let asked = StepsAsked { marks: Some("step"), ..StepsAsked::default() };
    let (trace, output) = of_steps(&trace, &asked).unwrap();
    let steps = output.kernels(KernelsBy::Kernel, KernelsPer::Run, trace.definitions()).steps;
    let outliers: Vec<_> = steps.iter().filter_map(|row| Some((row.step, row.outlier?))).collect();
    let reason = |excess_ns, reason| StepOutlier { excess_ns, reason: Some(reason) };
    assert_eq!(
        outliers,
        [
            (3, reason(70, (StepReason::Idle(IdleCause::HostLate), 70))),
            (4, reason(65, (StepReason::LongerKernels, 65)))
        ]
    );
}

#[test]
fn steps_obey_the_laws() {
    let analysis = |definitions: &Definitions| {
        let marks = StepMarks::new(definitions, Some("*")).unwrap_or_default();
        Accelerators { steps: marks, ..Accelerators::new(definitions) }
    };
    laws::check_on_devices(analysis, |output| format!("{:?}", output.steps));
}

fn over_time(trace: &ToyTrace, bins: std::num::NonZeroU16) -> KernelsOverTime {
    let (of, asked) = (Accelerators::new(trace.definitions()), StepsAsked::default());
    let by = (KernelsBy::Kernel, KernelsPer::Run);
    let grid = run(trace, Kernels::new(of.clone(), by.0, by.1, &asked)).grid(bins);
    run(trace, Kernels::over_time(of, grid, &asked)).in_bins(grid, trace.definitions())
}

#[test]
fn laws_hold_for_kernels_over_time() {
    let grid = TimeGrid::new(TimeRange { start: Ticks(0), end: Ticks(500) }, 7.try_into().unwrap());
    let make = |definitions: &Definitions| {
        Kernels::over_time(Accelerators::new(definitions), grid, &StepsAsked::default())
    };
    laws::check_on_devices(make, |output| format!("{:?}", output.sums.over_time));
}

#[test]
fn queues_and_delays_over_time_add_up() {
    // Two launches at 1 and 4 (left at 3 and 6); their kernels begin at 5 and 15: one waits from 1 to 5, the other from 4
    // to 15.
    let trace = ToyTrace::new(
        "0.gpu0: enter a @5, launched 1 @5, leave @15, enter a @15, launched 2 @15, leave @45
         0: enter main @0, enter cudaLaunchKernel @1, launches 1 @1, leave @3, enter cudaLaunchKernel @4, launches 2 @4, leave @6, leave @60",
    );
    let definitions = trace.definitions();
    let output = output(&trace);
    let bins = std::num::NonZeroU16::new(6).unwrap();
    let rows = over_time(&trace, bins).streams;
    let found: Vec<_> = rows.iter().map(|row| (row.n, row.busy.0, row.max_queue_length)).collect();
    assert_eq!(found, [(1, 5, 2), (1, 10, 1), (0, 10, 0), (0, 10, 0), (0, 5, 0), (0, 0, 0)]);
    let lengths: Vec<f64> = rows.iter().map(|row| row.mean_queue_length).collect();
    // 1 from 1 to 4, 2 to 5, 1 to 15.
    assert_eq!(lengths[..3], [1.0, 0.5, 0.0]);
    let tick = definitions.clock.ns_from_ticks(Ticks(1));
    assert_eq!((rows[0].max_delay_ns, rows[1].max_delay_ns), (Some(2 * tick), Some(9 * tick)));
    let kernels = output.kernels(KernelsBy::Kernel, KernelsPer::Run, definitions);
    let times: Vec<_> = kernels.queue_lengths.iter().map(|it| (it.length, it.time.0)).collect();
    assert_eq!(times, [(1, 13), (2, 1)]);
    assert_eq!(kernels.delay_ranges.iter().map(|it| it.n).sum::<u64>(), 2);
    assert!(kernels.delay_ranges.iter().all(|it| it.from_ns < it.to_ns));
}

#[test]
fn bins_of_random_programs_add_up_to_their_streams() {
    for seed in 0..100 {
        let simulated = simulate_devices(&random_devices(seed, DeviceFeatures::All), Recording::Full);
        let definitions = simulated.trace.definitions();
        let output = output(&simulated.trace);
        for bins in [1, 7, 400] {
            let over_time = over_time(&simulated.trace, std::num::NonZeroU16::new(bins).unwrap());
            for row in output.idle(definitions) {
                let of_stream = over_time.streams.iter().filter(|it| it.location == row.location);
                let (n, busy) = of_stream.fold((0, 0), |sum, it| (sum.0 + it.n, sum.1 + it.busy.0));
                assert_eq!(busy, row.span.0 - row.idle.0, "seed {seed}");
                assert_eq!(n, output.records[&row.location].operations.len() as u64, "seed {seed}");
            }
        }
    }
}

#[test]
fn steps_that_were_found_elsewhere_count_where_none_is_marked() {
    let trace = ToyTrace::new(
        "0.gpu0: enter a @5, launched 1 @5, leave @15, enter a @25, launched 2 @25, leave @45
         0: enter main @0, enter cudaLaunchKernel @1, launches 1 @1, leave @3, enter cudaLaunchKernel @21, launches 2 @21, leave @23, leave @60",
    );
    let definitions = trace.definitions();
    let host = definitions.location_ids().find(|&id| !is_stream(definitions.location(id))).unwrap();
    let range = |start, end| TimeRange { start: Ticks(start), end: Ticks(end) };
    let steps = FoundSteps::from([(host, vec![(0, range(0, 20)), (1, range(20, 60))])]);
    let analysis = Accelerators::new(definitions).with_found_steps(&steps);
    let output = run(&trace, analysis);
    let rows = output.kernels(KernelsBy::Kernel, KernelsPer::Step, definitions);
    let found: Vec<_> = rows.groups.iter().map(|row| (row.step, row.durations.n)).collect();
    assert_eq!(found, [(Some(0), 1), (Some(1), 1)]);
    let tick = definitions.clock.ns_from_ticks(Ticks(1));
    let lengths: Vec<_> = rows.steps.iter().map(|row| row.length_ns / tick).collect();
    assert_eq!(lengths, [20, 40]);
}

#[test]
fn changed_kernels_and_launches_are_replayed() {
    let planted = planted_losses();
    let of = |kind: &str| planted.iter().find(|it| it.kind == kind).unwrap();
    let project = |processes: &[SimulatedProcess], changes: &[DeviceChange]| {
        let simulated = simulate_devices(processes, Recording::Full);
        let definitions = simulated.trace.definitions();
        let devices = run(&simulated.trace, ReportedDevices::new(definitions, u64::MAX));
        devices
            .what_if(changes, definitions, THREADS)
            .expect("nothing is put aside")
            .map(|(projection, _)| projection)
    };
    let faster = |factor| DeviceChange::Faster { name: "solve".to_owned(), factor };
    // 60 kernels of 20 ticks, one after the other.
    let clean = &of("launch_bound").clean;
    let found = project(clean, &[faster(2.0)]).unwrap();
    assert_eq!((found.n_changed, found.run.0 - found.projected.0), (60, 600));
    assert_eq!(project(clean, &[]).unwrap().projected, found.run);
    // 60 launches of 8 ticks each, with kernels of 2: what is left are the kernels.
    let small = &of("small_kernels").faulty;
    let fused = project(small, &[DeviceChange::FusedLaunches]).unwrap();
    let free = project(small, &[DeviceChange::NoLaunchCost]).unwrap();
    assert_eq!((fused.n_changed, free.n_changed), (59, 60));
    assert!(free.projected <= fused.projected && 59 * 6 <= fused.run.0 - fused.projected.0);
    let unknown = DeviceChange::Faster { name: "solv".to_owned(), factor: 2.0 };
    let near = vec!["solve".to_owned()];
    assert_eq!(project(clean, &[unknown]), Err(DeviceWhatIfError::NoName { name: "solv".to_owned(), near }));
}

#[test]
fn a_projected_step_is_what_devices_can_follow() {
    // The host takes 10 ticks for a step, the kernels 30.
    let trace = ToyTrace::new(
        "0.gpu0: enter a @3, launched 1 @3, leave @33, enter a @33, launched 2 @33, leave @63, enter a @63, launched 3 @63, leave @93
         0: enter main @0, enter step @0, enter cudaLaunchKernel @1, launches 1 @1, leave @3, leave @10, enter step @10, enter cudaLaunchKernel @11, launches 2 @11, leave @13, leave @20, enter step @20, enter cudaLaunchKernel @21, launches 3 @21, leave @23, leave @30, leave @93",
    );
    let definitions = trace.definitions();
    let asked = StepsAsked { marks: Some("step"), ..StepsAsked::default() };
    let of = Accelerators::new(definitions).with_steps(&asked, definitions).expect("there are steps");
    let devices = run(&trace, ReportedDevices::new(definitions, u64::MAX).of_steps(of));
    let found = devices.what_if(&[DeviceChange::NoLaunchCost], definitions, THREADS).expect("it can be read");
    assert_eq!(found.expect("it can be replayed").0.step, Some((30.0, 30.0)));
}

#[test]
fn laws_hold_for_what_a_report_asks() {
    // Without memory, everything is put aside.
    for max_bytes in [u64::MAX, 0] {
        laws::check_on_devices(
            |definitions: &Definitions| ReportedDevices::new(definitions, max_bytes),
            DevicesOfRun::described,
        );
    }
}

#[test]
fn a_report_of_processes_one_by_one_is_that_of_all() {
    let mut n_losses = 0;
    for seed in 0..150 {
        let simulated = simulate_devices(&random_devices(seed, DeviceFeatures::All), Recording::Full);
        let definitions = simulated.trace.definitions();
        let at_once = output(&simulated.trace);
        let devices = run(&simulated.trace, ReportedDevices::new(definitions, u64::MAX));
        assert_eq!(devices.summary(), at_once.summary(definitions), "seed {seed}");
        let (losses, notice) = devices.losses(definitions, THREADS).unwrap();
        let (list, expected) = (losses.map(|it| it.list), at_once.losses(definitions).map(|it| it.list));
        n_losses += list.as_ref().map_or(0, Vec::len);
        assert_eq!(format!("{list:?}"), format!("{expected:?}"), "seed {seed}");
        assert!(notice.is_none(), "seed {seed}");
    }
    assert!(150 < n_losses, "too few losses to compare");
}

/// What a run loses where samples show what its hosts do and streams have exact times: run time and losses.
fn losses_by_samples(processes: &[SimulatedProcess], period: u64) -> (u64, Vec<(DeviceLossKind, u64)>) {
    let simulated = simulate_devices(processes, Recording::NamesOnly);
    let sampled = Sampler::every(period, 7).samples_of_threads(&simulated.trace, &|_, _, _| None);
    let definitions = sampled.definitions();
    let of_run = output(&sampled).losses(definitions).expect("samples show what hosts do");
    let devices = run(&sampled, ReportedDevices::new(definitions, u64::MAX));
    assert!(devices.tells_of_hosts());
    let (reported, notice) = devices.losses(definitions, THREADS).expect("nothing is put aside");
    assert!(notice.is_none());
    let list = of_run.list;
    assert_eq!(format!("{:?}", reported.map(|it| it.list)), format!("{:?}", Some(&list)));
    assert!(list.iter().all(|it| !it.is_replayed));
    let end = output(&simulated.trace).spans.values().map(|span| span.1.0).max().expect("it runs");
    (end, list.iter().map(|it| (it.kind, it.gain.0)).collect())
}

#[test]
fn samples_of_hosts_tell_what_devices_wait_for() {
    for planted in planted_losses() {
        let kind = match planted.kind {
            "launch_bound" => DeviceLossKind::HostLate,
            "input_pipeline" => DeviceLossKind::InputPipeline,
            _ => continue,
        };
        let (run, found) = losses_by_samples(&planted.faulty, 3);
        let (clean, of_clean) = losses_by_samples(&planted.clean, 3);
        let (wanted, &(first, gain)) = (run - clean, found.first().expect("something is found"));
        assert_eq!(first, kind, "{found:?}");
        // A period for each of the 60 steps.
        assert!(gain.abs_diff(wanted) <= 60 * 3, "{gain} of {wanted}");
        let most = of_clean.iter().map(|it| it.1).max().unwrap_or(0);
        assert!(most * 50 <= clean, "{}: {of_clean:?} of {clean} without it", planted.kind);
    }
    let (run, found) = losses_by_samples(&late_but_ahead(), 3);
    assert!(found.iter().all(|it| it.1 * 50 <= run), "{found:?} of {run}");
}

#[test]
fn samples_of_hosts_tell_why_streams_are_idle() {
    // The host waits until 43, is in MPI until 61, prepares until 91, and launches. Samples every 10 show all of it a
    // little later.
    let exact = ToyTrace::new(
        "0.gpu0: enter a @5, leave @40, enter a @91, leave @120, enter b @124, leave @130
         0: enter main @0, enter cudaStreamSynchronize @6, leave @43, enter MPI_Barrier @43, leave @61, enter prepare @61, leave @90, enter cudaDeviceSynchronize @92, leave @140, leave @150",
    );
    let sampled = Sampler::every(10, 3).samples_of_threads(&exact, &|_, _, _| None);
    let rows = output(&sampled).idle(sampled.definitions());
    let [row] = &rows[..] else { panic!("one stream: {rows:?}") };
    let of = |cause: IdleCause| row.of(cause).0;
    assert_eq!(row.idle.0, 55);
    // The gap from 120 to 124 is shorter than a period.
    assert_eq!(of(IdleCause::Other), 4);
    assert!(of(IdleCause::HostWaits) <= 10 && of(IdleCause::Partner).abs_diff(18) <= 10, "{row:?}");
    assert!(of(IdleCause::HostLate).abs_diff(30) <= 10, "{row:?}");
}
