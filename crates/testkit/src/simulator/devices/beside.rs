//! What lies beside waiting, waits in collectives, and the events of streams: all from the operations of a run.

use super::machine::{Machine, Operation, SOON};
use super::{DeviceWait, SimulatedProcess};
use crate::{ToyEvent, ToyPayload};
use ouzel_model::{
    Collective, CollectiveOp, CollectiveRoot, CommId, LinkEnd, LocationGroup, LocationGroupId,
    LocationGroupKind, LocationId, Ticks,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

type Sums = BTreeMap<(&'static str, String, String), u64>;

/// When an operation ran.
fn range(it: &Operation) -> (u64, u64) {
    (it.begin.unwrap_or(0), it.end.unwrap_or(0))
}

/// Launch latency, serialised streams and idle devices, counted tick by tick.
pub(super) fn sums(machine: &Machine<'_>) -> Sums {
    let mut sums = Sums::new();
    for it in &machine.operations {
        let (begin, _) = range(it);
        let ready = it.ready.unwrap_or(begin);
        let key = |class| (class, format!("{}.{}", it.process, it.thread), format!("main/{}", it.launch));
        let latency = begin - ready;
        if 0 < latency {
            *sums.entry(key("launch_latency")).or_default() += latency;
        }
        let free = (ready..begin).find(|&now| !machine.is_held_up(it, now)).unwrap_or(begin);
        if ready < free && begin - free <= SOON {
            *sums.entry(key("serialized_streams")).or_default() += latency;
        }
    }
    add_idle(machine, &mut sums);
    sums
}

fn add_idle(machine: &Machine<'_>, sums: &mut Sums) {
    let device = |it: &Operation| {
        let first = (0..machine.processes.len()).find(|&of| machine.shares(of, it.process));
        (first.unwrap_or(it.process), machine.processes[it.process].streams[it.stream])
    };
    let devices: BTreeSet<(usize, usize)> = machine.operations.iter().map(device).collect();
    for of in devices {
        let kernels: Vec<&Operation> =
            machine.operations.iter().filter(|it| it.is_kernel && device(it) == of).collect();
        let first = kernels.iter().map(|it| range(it).0).min().unwrap_or(0);
        let last = kernels.iter().map(|it| range(it).1).max().unwrap_or(0);
        let mut n_idle = 0;
        for now in first..last {
            if !kernels.iter().any(|it| (range(it).0..range(it).1).contains(&now)) {
                n_idle += 1;
                continue;
            }
            // What begins here has ended the gap.
            let next =
                kernels.iter().filter(|it| range(it).0 == now).min_by_key(|it| (it.process, it.stream));
            if let Some(it) = next.filter(|_| 0 < n_idle) {
                let key = ("device_idle", format!("{}.{}", it.process, it.thread), it.code.clone());
                *sums.entry(key).or_default() += n_idle;
            }
            n_idle = 0;
        }
    }
}

impl Machine<'_> {
    /// Whether another stream of the device runs an operation that ends before one begins.
    fn is_held_up(&self, it: &Operation, now: u64) -> bool {
        let device = |it: &Operation| self.processes[it.process].streams[it.stream];
        self.operations.iter().any(|other| {
            let is_other = self.shares(other.process, it.process)
                && (other.process, other.stream) != (it.process, it.stream)
                && device(other) == device(it);
            let (begin, end) = range(other);
            is_other && begin <= now && now < end && end <= range(it).0
        })
    }

    /// Each member waits until the last one begins.
    pub(super) fn add_collective_waits(&mut self) {
        let mut collectives: BTreeMap<usize, Vec<&Operation>> = BTreeMap::new();
        for it in &self.operations {
            if let Some(collective) = it.collective {
                collectives.entry(collective).or_default().push(it);
            }
        }
        for mut members in collectives.into_values() {
            members.sort_by_key(|it| it.process);
            let last = members.iter().map(|it| range(it).0).max().unwrap_or(0);
            let culprit = members.iter().find(|it| range(it).0 == last);
            let culprit = culprit.map(|it| format!("{}.gpu{}", it.process, it.stream));
            for it in members.iter().filter(|it| range(it).0 < last) {
                self.waits.push(DeviceWait {
                    class: "wait_in_device_collective",
                    location: format!("{}.gpu{}", it.process, it.stream),
                    path: it.name.to_owned(),
                    start: range(it).0,
                    ticks: last - range(it).0,
                    culprit: culprit.clone(),
                });
            }
        }
    }

    /// The events of a stream.
    pub(super) fn events_of(&mut self, process: usize, stream: usize, has_links: bool) -> Vec<ToyEvent> {
        let is_of = |it: &&Operation| (it.process, it.stream) == (process, stream);
        let operations: Vec<Operation> = self.operations.iter().filter(is_of).cloned().collect();
        let mut events = Vec::new();
        for it in operations {
            let (begin, end) = range(&it);
            let region = self.trace.region(it.name);
            let mut push = |time, what| events.push(ToyEvent { time: Ticks(time), what });
            push(begin, ToyPayload::Enter(region));
            if has_links {
                push(begin, ToyPayload::Link(it.link, LinkEnd::To));
            }
            if it.collective.is_some() {
                push(begin, ToyPayload::CollectiveBegin);
                push(
                    end,
                    ToyPayload::CollectiveEnd(Collective {
                        row: 0,
                        op: CollectiveOp::Allreduce,
                        comm: CommId(0),
                        root: CollectiveRoot::None,
                        bytes_sent: 8,
                        bytes_received: 8,
                        request: None,
                    }),
                );
            }
            push(end, ToyPayload::Leave(region));
        }
        events
    }

    /// Gives each device but the first of a process a context of its own.
    pub(super) fn add_devices(&mut self, process: usize, first: LocationId) {
        let SimulatedProcess { streams: devices, shares, .. } = &self.processes[process];
        let definitions = self.trace.definitions_mut();
        let context = definitions.locations[first.index()].group;
        let physical = |device: usize| shares.then(|| Arc::from(format!("device {device}")));
        definitions.location_groups[context.index()].device = physical(0);
        for device in 1..=devices.iter().copied().max().unwrap_or(0) {
            let of_first = definitions.location_groups[context.index()].clone();
            let name = Arc::from(format!("Context {device} of rank {process}"));
            let kind = LocationGroupKind::Accelerator;
            let of_device = LocationGroup { name, kind, device: physical(device), ..of_first };
            definitions.location_groups.push(of_device);
            let group = LocationGroupId::from_index(definitions.location_groups.len() - 1);
            let of_device = devices.iter().enumerate().filter(|(_, it)| **it == device);
            for (stream, _) in of_device {
                definitions.locations[first.index() + stream].group = group;
            }
        }
    }
}
