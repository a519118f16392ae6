//! Runs with accelerators with one cause of loss each, and the same run without it.

use super::{HostStep, SimulatedProcess};

/// A run with a cause, and without it.
#[derive(Debug)]
pub struct PlantedLoss {
    /// What was planted, as findings call it.
    pub kind: &'static str,
    /// The run with the cause.
    pub faulty: Vec<SimulatedProcess>,
    /// The same run without it.
    pub clean: Vec<SimulatedProcess>,
}

/// How often each step is repeated.
const N_STEPS: usize = 60;

fn kernel(stream: usize, name: &'static str, ticks: u64) -> HostStep {
    HostStep::Launch { stream, name, ticks, call: 1, delay: 2 }
}

/// One process that repeats a step, and waits for its device at the end.
fn process(step: &[HostStep], streams: usize) -> SimulatedProcess {
    let mut steps: Vec<HostStep> = (0..N_STEPS).flat_map(|_| step.iter().copied()).collect();
    steps.push(HostStep::AwaitDevice(0));
    SimulatedProcess { threads: vec![steps], streams: vec![0; streams], slots: 2, shares: false }
}

/// One for each cause.
pub fn planted_losses() -> Vec<PlantedLoss> {
    let alone = |kind, faulty, clean| PlantedLoss { kind, faulty: vec![faulty], clean: vec![clean] };
    let solve = kernel(0, "solve", 20);
    let four = |late: u64| {
        let rank = |it: u64| {
            let ticks = if it == 2 { 120 + late } else { 120 };
            process(&[kernel(0, "solve", ticks), HostStep::Collective(0, 1)], 1)
        };
        (0..4).map(rank).collect::<Vec<_>>()
    };
    vec![
        alone("launch_bound", process(&[HostStep::Work("prepare", 30), solve], 1), process(&[solve], 1)),
        alone(
            "input_pipeline",
            process(&[HostStep::Work("next_batch", 45), solve], 1),
            process(&[HostStep::Work("next_batch", 5), solve], 1),
        ),
        alone(
            "serialised_streams",
            process(
                &[
                    kernel(0, "solve", 30),
                    HostStep::AwaitStream(0),
                    kernel(1, "project", 30),
                    HostStep::AwaitStream(1),
                ],
                2,
            ),
            process(&[kernel(0, "solve", 30), kernel(1, "project", 30)], 2),
        ),
        alone(
            "synchronous_copies",
            process(&[HostStep::Copy { stream: 0, ticks: 10, blocks: true }, solve], 2),
            process(&[HostStep::Copy { stream: 1, ticks: 10, blocks: false }, solve], 2),
        ),
        PlantedLoss { kind: "straggler", faulty: four(24), clean: four(0) },
        alone(
            "pageable_memory",
            process(&[HostStep::PageableCopy(0, 10), solve], 2),
            process(&[HostStep::Copy { stream: 1, ticks: 10, blocks: false }, solve], 2),
        ),
        alone(
            "useless_synchronisation",
            process(&[solve, HostStep::AwaitStream(0), HostStep::Work("prepare", 12)], 1),
            process(&[solve, HostStep::Work("prepare", 12)], 1),
        ),
        alone(
            "memory_churn",
            process(&[HostStep::Work("cudaMalloc", 12), solve, HostStep::Free(0)], 1),
            process(&[solve], 1),
        ),
        alone(
            "first_use_costs",
            process_after(&[HostStep::Work("cuModuleLoadDataEx", 400)]),
            process_after(&[]),
        ),
        PlantedLoss {
            kind: "exposed_communication",
            faulty: vec![process(&[solve, HostStep::Collective(0, 12)], 1); 2],
            clean: vec![process(&[solve, HostStep::Collective(1, 12)], 2); 2],
        },
        alone(
            "small_kernels",
            process(&[HostStep::Launch { stream: 0, name: "tiny", ticks: 2, call: 8, delay: 8 }], 1),
            process_of_one(N_STEPS as u64 * 2),
        ),
    ]
}

/// One process that does something between its first kernel and the others.
fn process_after(steps: &[HostStep]) -> SimulatedProcess {
    let mut process = process(&[kernel(0, "solve", 20)], 1);
    drop(process.threads[0].splice(1..1, steps.iter().copied()));
    process
}

/// One kernel instead of many.
fn process_of_one(ticks: u64) -> SimulatedProcess {
    let launch = HostStep::Launch { stream: 0, name: "tiny", ticks, call: 8, delay: 8 };
    let steps = vec![launch, HostStep::AwaitDevice(0)];
    SimulatedProcess { threads: vec![steps], streams: vec![0], slots: 2, shares: false }
}

/// The host of one rank is late, so that its device comes late to collectives.
pub fn straggler_with_late_host() -> PlantedLoss {
    let four = |late: u64| {
        let rank = |it: u64| {
            let prepare = HostStep::Work("prepare", if it == 2 { 5 + late } else { 5 });
            process(&[prepare, kernel(0, "solve", 120), HostStep::Collective(0, 1)], 1)
        };
        (0..4).map(rank).collect::<Vec<_>>()
    };
    PlantedLoss { kind: "straggler", faulty: four(145), clean: four(0) }
}

/// Hosts that take more time for each step than their devices, one after the other, and collectives that nothing hides:
/// without these, the run takes as long.
pub fn collectives_without_loss() -> Vec<SimulatedProcess> {
    let step = [HostStep::Work("prepare", 24), kernel(0, "solve", 10), HostStep::Collective(0, 12)];
    let rank = |it: u64| {
        let mut process = process(&step, 1);
        process.threads[0].insert(0, HostStep::Work("start", 6 * it));
        process
    };
    (0..4).map(rank).collect()
}

/// A host that takes time before each launch, but less than the device for each kernel: it loses nothing.
pub fn late_but_ahead() -> Vec<SimulatedProcess> {
    vec![process(&[HostStep::Work("prepare", 8), kernel(0, "solve", 20)], 1)]
}
