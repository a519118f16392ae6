//! Processes with accelerators, made from a seed.

use super::{HostStep, SimulatedProcess};
use crate::rng::Rng;

/// What random processes do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceFeatures {
    /// Everything.
    All,
    /// Kernels and copies in one stream, without events.
    OneStream,
    /// Kernels in one stream.
    OnlyKernels,
}

/// Processes made from a seed: equal seeds give equal ones. One to three processes of one or two threads use up to
/// four streams of up to two devices; in every fourth run, processes share these.
pub fn random_devices(seed: u64, features: DeviceFeatures) -> Vec<SimulatedProcess> {
    let mut rng = Rng::new(seed);
    let has_all = features == DeviceFeatures::All;
    let n_processes = 1 + rng.below(3);
    // Parts of a collective that share a device may wait for each other for ever.
    let shares = has_all && seed % 4 == 3;
    let n_collectives = if has_all && !shares { rng.below(4) } else { 0 };
    let process = |rng: &mut Rng| {
        let n_streams = if has_all { 1 + rng.below(4) } else { 1 };
        let n_devices = if has_all { 1 + rng.below(2).min(n_streams - 1) } else { 1 };
        let streams: Vec<usize> = (0..n_streams).map(|it| (it % n_devices) as usize).collect();
        let slots = 1 + rng.below(3) as usize;
        let mut threads: Vec<Vec<HostStep>> = (0..1 + rng.below(2))
            .map(|_| (0..rng.below(24)).map(|_| random_step(rng, &streams, features)).collect())
            .collect();
        for _ in 0..n_collectives {
            let at = rng.below(threads[0].len() as u64 + 1) as usize;
            threads[0].insert(at, HostStep::Collective(0, 1 + rng.below(20)));
        }
        // Of a process whose devices do nothing it is not known whether they were recorded.
        threads[0].insert(0, random_launch(rng, 0));
        SimulatedProcess { threads, streams, slots, shares }
    };
    (0..n_processes).map(|_| process(&mut rng)).collect()
}

fn random_step(rng: &mut Rng, streams: &[usize], features: DeviceFeatures) -> HostStep {
    let stream = rng.below(streams.len() as u64) as usize;
    let has_one_device = streams.iter().all(|it| *it == streams[0]);
    let n_kinds = match features {
        DeviceFeatures::All => 20,
        DeviceFeatures::OneStream => 11,
        DeviceFeatures::OnlyKernels => 9,
    };
    let event = rng.below(3);
    match rng.below(n_kinds) {
        0..3 => HostStep::Work(["solve", "pack", "read"][rng.below(3) as usize], 1 + rng.below(30)),
        3..7 => random_launch(rng, stream),
        7 => HostStep::AwaitStream(stream),
        8 => HostStep::AwaitDevice(stream),
        9 => HostStep::Copy { stream, ticks: 1 + rng.below(20), blocks: rng.below(2) == 0 },
        10 if has_one_device => HostStep::Free(stream),
        10..13 => HostStep::RecordEvent(event, stream),
        13 => HostStep::AwaitEvent(event),
        _ => HostStep::StreamAwaits(stream, event),
    }
}

fn random_launch(rng: &mut Rng, stream: usize) -> HostStep {
    HostStep::Launch {
        stream,
        name: ["stencil", "reduce"][rng.below(2) as usize],
        ticks: 1 + rng.below(40),
        call: 1 + rng.below(4),
        delay: 1 + rng.below(8),
    }
}
