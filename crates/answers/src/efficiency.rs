//! `ouzel efficiency`.

use ouzel::diagnose::findings::{Iterations, Ranks};
use ouzel::efficiency::{Efficiencies, Metric, MetricValue, Part, PartKind, TraceEfficiency};
use serde::Serialize;
use std::sync::Arc;

/// How well the time of each run was used, and how several runs scale.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EfficiencyAnswer {
    /// `strong`: all runs solve the same problem; `weak`: the problem grows with the number of threads; `null` if no
    /// two runs have different numbers of threads.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Option<String>", extend("enum" = ["strong", "weak", null]))
    )]
    pub scaling: Option<&'static str>,
    /// How that is known: by the `instructions` or the `useful_time` of the runs, or `stated` with `--scaling`; `null`
    /// if `scaling` is.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Option<String>", extend("enum" = ["instructions", "useful_time", "stated", null]))
    )]
    pub scaling_told_by: Option<&'static str>,
    /// In the order given.
    pub runs: Vec<RunEfficiencies>,
}

/// One run. Metrics are ratios, 1 being ideal; what cannot be computed is `null` and has a reason in `missing`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunEfficiencies {
    /// The trace as named.
    pub path: Arc<str>,
    /// Whether the others are compared with it: fewest threads; of several, the first.
    pub is_reference: bool,
    /// Processes compared: those whose events are complete.
    pub n_processes: u64,
    /// Their CPU threads: all means are over them.
    pub n_threads: u64,
    /// From the first event to the last.
    pub run_time_ns: u64,
    /// The run time on a network without transfer times.
    pub ideal_run_time_ns: Option<u64>,
    /// Useful time of all threads.
    pub useful_ns: Option<u64>,
    /// Useful time of the thread that has most.
    pub useful_max_ns: Option<u64>,
    /// Parallel efficiency × computation scaling.
    pub global: Option<f64>,
    /// Mean useful time / run time.
    pub parallel: Option<f64>,
    /// Mean useful time / longest useful time.
    pub load_balance: Option<f64>,
    /// Longest useful time / run time.
    pub communication: Option<f64>,
    /// Longest useful time / ideal run time.
    pub serialisation: Option<f64>,
    /// Ideal run time / run time.
    pub transfer: Option<f64>,
    /// Useful time of the reference / useful time; with weak scaling times the ratio of the numbers of threads.
    pub computation_scaling: Option<f64>,
    /// The same of instructions in the useful time.
    pub instruction_scaling: Option<f64>,
    /// Instructions per cycle in the useful time / those of the reference.
    pub ipc_scaling: Option<f64>,
    /// Cycles per useful time / those of the reference.
    pub frequency_scaling: Option<f64>,
    /// Run time of the reference / run time; with weak scaling times the ratio of the numbers of threads. `null` for a
    /// single run, if the run time is zero, or if the run has no efficiencies.
    pub speed_up: Option<f64>,
    /// Instructions in the useful time of all threads.
    pub instructions: Option<u64>,
    /// Processor cycles in the useful time of all threads.
    pub cycles: Option<u64>,
    /// With `--hybrid`: the split between processes and threads; else `null`.
    pub hybrid: Option<HybridSplit>,
    /// How well accelerators are used; `null` if the trace has no accelerator streams.
    pub device: Option<DeviceEfficiencies>,
    /// With `--per`: the parts of the run; `null` without, or if it cannot be cut into these parts.
    pub parts: Option<Vec<EfficiencyPart>>,
    /// What is `null` here though it was asked for, and why.
    pub missing: Vec<MissingMetric>,
}

/// The parallel efficiency split between processes and threads.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HybridSplit {
    /// `multiplicative`, `additive` or `talp`.
    #[cfg_attr(feature = "schema", schemars(with = "crate::words::HybridModel"))]
    pub model: &'static str,
    /// Each metric follows what it is a part of.
    pub metrics: Vec<HybridMetric>,
}

/// One metric of a hybrid model.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HybridMetric {
    /// Its name.
    pub metric: &'static str,
    /// The metric that it explains.
    pub part_of: Option<&'static str>,
    /// Its value; `null` if `missing` has the reason.
    pub value: Option<f64>,
}

/// How well accelerators are used.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceEfficiencies {
    /// Number of accelerators.
    pub n_devices: u64,
    /// (Useful + idle time of host threads) / (the same + time in the accelerator's runtime).
    pub offload: Option<f64>,
    /// Mean time in kernels / run time.
    pub parallel: Option<f64>,
    /// Mean time in kernels / longest time in kernels.
    pub load_balance: Option<f64>,
    /// Longest time in kernels / longest time active.
    pub communication: Option<f64>,
    /// Longest time active / run time.
    pub orchestration: Option<f64>,
}

/// A part of a run.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EfficiencyPart {
    /// Number of the segment or epoch, from 1, as in `segments`; of the iteration between synchronisations in its loop,
    /// from 0; of the cluster.
    pub id: u64,
    /// Of an iteration: number of its loop, from 0, in order of time; else `null`.
    #[serde(rename = "loop")]
    pub in_loop: Option<u64>,
    /// Of an iteration or an epoch: those of the program's own loop in it, as `ouzel iterations` counts them; else `null`.
    /// An iteration has several if ranks synchronise once in several.
    pub iterations: Option<Iterations>,
    /// Of a cluster: what is in it, `main_thread` or `helper_thread`; else `null`.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Option<String>", extend("enum" = ["main_thread", "helper_thread", null]))
    )]
    pub peers: Option<&'static str>,
    /// Of a segment: the synchronisation that ends it, `[]` at the end of the run. Of an iteration: what the callers of
    /// its synchronisations have in common.
    pub call_path: Vec<Arc<str>>,
    /// World ranks of a cluster; `[]` for other parts, which have all.
    pub ranks: Vec<u32>,
    /// Of an epoch: the ranks with most to do, as in `segments`; else `null`.
    pub most_ranks: Option<Ranks>,
    /// When the first rank began it, since the trace start; of an epoch, when the last rank left the synchronisation
    /// before it; `null` for a cluster.
    pub start_ns: Option<u64>,
    /// Number of ranks or threads compared.
    pub n_compared: u64,
    /// Time of the slowest rank in each phase, summed over phases; for an epoch, its length; for a cluster, the run time.
    pub time_ns: u64,
    /// Mean useful time / `time_ns`; like the next two, `null` if the part takes no time.
    pub parallel: Option<f64>,
    /// Mean useful time / that of the busiest in each phase, summed over phases; of an epoch, that of the busiest in all
    /// of it.
    pub load_balance: Option<f64>,
    /// Useful time of the busiest in each phase, summed over phases / `time_ns`; of an epoch, that of the busiest in all
    /// of it.
    pub communication: Option<f64>,
}

/// A value that could not be computed.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MissingMetric {
    /// Its key; of a metric in `device` with `device_` in front.
    pub metric: &'static str,
    /// Why it is missing.
    pub reason: String,
}

impl EfficiencyAnswer {
    /// The shape of `output`.
    pub fn new(output: &Efficiencies) -> Self {
        EfficiencyAnswer {
            scaling: output.scaling.scaling.map(|(scaling, _)| scaling.as_str()),
            scaling_told_by: output.scaling.scaling.map(|(_, basis)| basis.as_str()),
            runs: (0..output.runs.len()).map(|i| run(output, i)).collect(),
        }
    }
}

fn run(output: &Efficiencies, i: usize) -> RunEfficiencies {
    let (name, of) = &output.runs[i];
    let get = |metric| output.value(i, metric).ok();
    let counter = |value: &Result<u128, _>| value.as_ref().ok().and_then(|&n| u64::try_from(n).ok());
    let is_known = 0 < of.run.n_threads;
    RunEfficiencies {
        path: name.clone(),
        is_reference: output.scaling.reference == Some(i),
        n_processes: of.run.n_processes,
        n_threads: of.run.n_threads,
        run_time_ns: of.ns(of.run.run_time),
        ideal_run_time_ns: of.run.ideal_run_time.as_ref().ok().map(|&ticks| of.ns(ticks)),
        useful_ns: is_known.then(|| of.ns_of_sum(of.run.useful_sum)),
        useful_max_ns: is_known.then(|| of.ns(of.run.useful_max)),
        global: get(Metric::Global),
        parallel: get(Metric::Parallel),
        load_balance: get(Metric::LoadBalance),
        communication: get(Metric::Communication),
        serialisation: get(Metric::Serialisation),
        transfer: get(Metric::Transfer),
        computation_scaling: get(Metric::ComputationScaling),
        instruction_scaling: get(Metric::InstructionScaling),
        ipc_scaling: get(Metric::IpcScaling),
        frequency_scaling: get(Metric::FrequencyScaling),
        speed_up: output.scaling.speed_ups[i],
        instructions: counter(&of.run.counters.instructions),
        cycles: counter(&of.run.counters.cycles),
        hybrid: of.hybrid.as_ref().map(|(model, values)| HybridSplit {
            model: model.as_str(),
            metrics: values.iter().map(hybrid_metric).collect(),
        }),
        device: of.devices.as_ref().map(|&(n_devices, _)| DeviceEfficiencies {
            n_devices,
            offload: get(Metric::Offload),
            parallel: get(Metric::DeviceParallel),
            load_balance: get(Metric::DeviceLoadBalance),
            communication: get(Metric::DeviceCommunication),
            orchestration: get(Metric::DeviceOrchestration),
        }),
        parts: of
            .parts
            .as_ref()
            .and_then(|(kind, parts)| Some((*kind, parts.as_ref().ok()?)))
            .map(|(kind, parts)| parts.iter().map(|part| part_of(part, kind, of)).collect()),
        missing: missing(output, i),
    }
}

fn hybrid_metric(of: &MetricValue) -> HybridMetric {
    HybridMetric {
        metric: of.metric.as_str(),
        part_of: of.metric.part_of().map(Metric::as_str),
        value: of.value.as_ref().ok().copied(),
    }
}

fn part_of(part: &Part, kind: PartKind, of: &TraceEfficiency) -> EfficiencyPart {
    EfficiencyPart {
        id: part.id,
        in_loop: part.in_loop,
        iterations: part
            .iterations
            .map(|of| Iterations { n_all: of.n_all, ranges: vec![(of.first, of.last)] }),
        peers: part.peers,
        call_path: part.call_path.clone(),
        ranks: part.ranks.clone(),
        most_ranks: (kind == PartKind::Epoch).then(|| Ranks::new(part.most_ranks.iter().copied())),
        start_ns: part.start.map(|start| of.ns(start)),
        n_compared: part.n_compared,
        time_ns: of.ns(part.time),
        parallel: part.get(Metric::Parallel),
        load_balance: part.get(Metric::LoadBalance),
        communication: part.get(Metric::Communication),
    }
}

/// Everything of a run that is `null` although it was asked for.
fn missing(output: &Efficiencies, i: usize) -> Vec<MissingMetric> {
    let (_, of) = &output.runs[i];
    let entry = |metric: &'static str, reason: String| MissingMetric { metric, reason };
    let of_values = output
        .values(i)
        .filter_map(|value| Some(entry(value.metric.as_str(), value.value.as_ref().err()?.to_string())));
    let mut all: Vec<MissingMetric> = of_values.collect();
    let counters = &of.run.counters;
    // Without threads, all metrics are missing for the reason for which these are.
    let unknown = counters.cycles.as_ref().err().filter(|_| of.run.n_threads == 0);
    let others = [
        ("useful_ns", unknown),
        ("useful_max_ns", unknown),
        ("ideal_run_time_ns", of.run.ideal_run_time.as_ref().err()),
        ("instructions", counters.instructions.as_ref().err()),
        ("cycles", counters.cycles.as_ref().err()),
        ("parts", of.parts.as_ref().and_then(|(_, parts)| parts.as_ref().err())),
    ];
    all.extend(others.into_iter().filter_map(|(name, reason)| Some(entry(name, reason?.to_string()))));
    if output.scaling.speed_ups[i].is_none() {
        let reason = match output.are_several() {
            true if of.run.n_threads == 0 => "the run has no efficiencies",
            true => "the run takes no time",
            false => "there is only one run",
        };
        all.push(entry("speed_up", reason.to_owned()));
    }
    all
}
