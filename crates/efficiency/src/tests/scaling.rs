//! Several runs of programs whose scaling is known.

use super::{threads_of, value};
use crate::scaling::{Scaled, Scaling, ScalingBasis, ScalingOutput, scaling};
use crate::{Metric, Reason, RunEfficiency, UsefulCounters};
use ouzel_analyses::metric_profile::MetricProfile;
use ouzel_analyses::semantics::Semantics;
use ouzel_model::{Clock, TraceSource};
use ouzel_testkit::{ToyTrace, run};

/// Ranks that work so long in `main`, with so many instructions and cycles per tick times 10, and wait to the end.
fn trace(work: &[u64], end: u64, counters: Option<(u64, u64)>) -> ToyTrace {
    let rank = |(rank, &ticks): (usize, &u64)| match counters {
        Some((instructions, cycles)) => {
            let gain = |per_ten: u64| ticks * per_ten / 10;
            let (ins, cyc) = (gain(instructions), gain(cycles));
            format!(
                "{rank}: metric PAPI_TOT_INS=0 cpu-cycles:u=0 @0, enter main @0, \
                 metric PAPI_TOT_INS={ins} cpu-cycles:u={cyc} @{ticks}, enter MPI_Barrier @{ticks}, \
                 metric PAPI_TOT_INS={} cpu-cycles:u={} @{end}, leave @{end}, leave @{end}",
                ins + 7777,
                cyc + 5555
            )
        }
        None => format!("{rank}: enter main @0, enter MPI_Barrier @{ticks}, leave @{end}, leave @{end}"),
    };
    ToyTrace::new(&work.iter().enumerate().map(rank).collect::<Vec<_>>().join("\n"))
}

fn of(trace: &ToyTrace) -> RunEfficiency {
    let threads = threads_of(trace);
    let definitions = trace.definitions();
    let classes = Semantics::default().classes(definitions);
    let counters = run(trace, MetricProfile);
    let counters = UsefulCounters::new(&threads, &counters, definitions, &classes);
    RunEfficiency::new(&threads, Err(Reason::new("no replay"))).with_counters(counters)
}

fn compared(traces: &[ToyTrace], stated: Option<Scaling>) -> ScalingOutput {
    let runs: Vec<RunEfficiency> = traces.iter().map(of).collect();
    let clock = |trace: &ToyTrace| -> Clock { trace.definitions().clock };
    let scaled: Vec<Scaled<'_>> = runs
        .iter()
        .zip(traces)
        .map(|(run, trace)| Scaled { run, ticks_per_second: clock(trace).ticks_per_second })
        .collect();
    scaling(&scaled, stated)
}

fn close(seen: Option<f64>, expected: f64) {
    assert!(seen.is_some_and(|seen| (seen - expected).abs() < 1e-12), "{seen:?} {expected}");
}

fn assert_product(output: &ScalingOutput) {
    for values in &output.metrics {
        let get = |metric| value(values, metric).expect("a value");
        let product =
            get(Metric::InstructionScaling) * get(Metric::IpcScaling) * get(Metric::FrequencyScaling);
        close(Some(product), get(Metric::ComputationScaling));
    }
}

#[test]
fn strong_scaling_is_told_by_instructions() {
    // Twice the ranks do the same work with a tenth more instructions, at half the IPC: each works 110 instead of 100.
    let runs = [trace(&[200, 200], 250, Some((20, 10))), trace(&[220, 220, 220, 220], 240, Some((10, 10)))];
    let output = compared(&runs, None);
    assert_eq!(output.scaling, Some((Scaling::Strong, ScalingBasis::Instructions)));
    assert_eq!(output.reference, Some(0));
    let values = &output.metrics[1];
    close(value(values, Metric::ComputationScaling), 400.0 / 880.0);
    close(value(values, Metric::InstructionScaling), 800.0 / 880.0);
    close(value(values, Metric::IpcScaling), 0.5);
    close(value(values, Metric::FrequencyScaling), 1.0);
    close(value(values, Metric::Global), 220.0 / 240.0 * 400.0 / 880.0);
    close(output.speed_ups[1], 250.0 / 240.0);
    for metric in [Metric::ComputationScaling, Metric::IpcScaling] {
        close(value(&output.metrics[0], metric), 1.0);
    }
    assert_product(&output);
}

#[test]
fn weak_scaling_is_told_by_instructions_or_by_useful_time() {
    let weak = |counters| [trace(&[100, 100], 120, counters), trace(&[100; 8], 150, counters)];
    let output = compared(&weak(Some((10, 10))), None);
    assert_eq!(output.scaling, Some((Scaling::Weak, ScalingBasis::Instructions)));
    close(value(&output.metrics[1], Metric::ComputationScaling), 1.0);
    close(output.speed_ups[1], 120.0 / 150.0 * 4.0);
    assert_product(&output);
    let output = compared(&weak(None), None);
    assert_eq!(output.scaling, Some((Scaling::Weak, ScalingBasis::UsefulTime)));
    let missing = output.metrics[1].iter().find(|value| value.metric == Metric::IpcScaling).unwrap();
    let reason = missing.value.as_ref().unwrap_err().to_string();
    assert!(reason.contains("the trace has no counter of instructions"), "{reason}");
    let output = compared(&weak(None), Some(Scaling::Strong));
    assert_eq!(output.scaling, Some((Scaling::Strong, ScalingBasis::Stated)));
    close(value(&output.metrics[1], Metric::ComputationScaling), 0.25);
}

#[test]
fn runs_of_one_size_scale_either_way_and_clocks_may_differ() {
    let same =
        [trace(&[100, 100], 100, None), trace(&[400, 400], 400, None).with_ticks_per_second(4_000_000_000)];
    let output = compared(&same, None);
    assert_eq!((output.scaling, output.reference), (None, Some(0)));
    close(value(&output.metrics[1], Metric::ComputationScaling), 1.0);
    close(output.speed_ups[1], 1.0);
}

#[test]
fn a_run_without_efficiencies_is_no_reference() {
    let known = [of(&trace(&[100], 100, None)), of(&trace(&[50, 50], 50, None))];
    let lost = RunEfficiency::unavailable(crate::Unavailable::NothingComplete, ouzel_model::Ticks(7));
    let runs = [&lost, &known[0], &known[1]];
    let scaled: Vec<Scaled<'_>> = runs.iter().map(|run| Scaled { run, ticks_per_second: 1 }).collect();
    let output = scaling(&scaled, None);
    assert_eq!(output.reference, Some(1));
    assert_eq!(output.scaling, Some((Scaling::Strong, ScalingBasis::UsefulTime)));
    assert_eq!(output.speed_ups, [None, Some(1.0), Some(2.0)]);
    assert!(output.metrics[0].iter().all(|value| value.value.is_err()));
    assert_eq!(scaling(&scaled[..1].repeat(2), None).reference, None);
}

#[test]
fn one_run_has_nothing_to_compare_with() {
    let output = compared(&[trace(&[100], 100, None)], None);
    assert_eq!((output.scaling, output.reference), (None, None));
    assert!(output.metrics[0].iter().all(|value| value.value.is_err()));
    assert_eq!(compared(&[], None).metrics.len(), 0);
}

#[test]
fn counters_count_in_useful_time_alone_and_not_where_threads_lack_them() {
    let whole = of(&trace(&[100, 50], 100, Some((30, 20))));
    assert_eq!((whole.counters.instructions, whole.counters.cycles), (Ok(450), Ok(300)));
    let lacking = ToyTrace::new(
        "
        0: metric instructions=0 @0, enter main @0, metric instructions=9 @10, leave @10
        1: enter main @0, leave @10",
    );
    let reason = of(&lacking).counters.instructions.unwrap_err().to_string();
    assert_eq!(reason, "1 of 2 threads have no values of instructions");
    let outside = ToyTrace::new(
        "0: metric cycles=0 @0, enter MPI_Init @0, leave @10, enter work @90, metric cycles=5 @95, leave @95",
    );
    let reason = of(&outside).counters.cycles.unwrap_err().to_string();
    assert!(reason.contains("outside of recorded regions"), "{reason}");
}
