//! Code that makes devices wait, where launches are not recorded and samples show what hosts do.
//!
//! A device that has nothing to do begins an operation when that is launched. So the code that the host runs since the
//! launch before, or since it last waited for a device, is what makes the device wait, for at most the part of the gap in
//! which the host runs such code. Gaps shorter than a sampling period say nothing. Law: a path gains no more than the gaps,
//! and no more than its own time with what it calls.

use super::AcceleratorsOutput;
use super::loss::{DeviceLoss, loss};
use super::names;
use crate::devices::fold::is_await;
use crate::devices::records::{HostState, InnerRange};
use crate::devices::streams::DeviceProcess;
use ouzel_model::{CallPathId, Definitions, LocationGroupId, LocationId, Remap, Ticks, TimeRange};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The code of all hosts.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CodeOfHosts {
    paths: BTreeMap<CallPathId, CodeBefore>,
    n_hosts: u64,
}

/// Code of one call path before launches that end a gap.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct CodeBefore {
    /// Without what it calls.
    own: u64,
    with_callees: u64,
    /// The least of `with_callees` and the code within the gap, of each gap.
    gain: u64,
    /// Gaps, and from the first to the last of them, by thread.
    threads: BTreeMap<LocationId, (u64, TimeRange)>,
}

impl CodeOfHosts {
    /// Whether there are any hosts.
    pub fn has_hosts(&self) -> bool {
        0 < self.n_hosts
    }

    /// All of it.
    #[cfg(test)]
    pub fn paths(&self) -> impl Iterator<Item = (CallPathId, &impl std::fmt::Debug)> {
        self.paths.iter().map(|(&path, code)| (path, code))
    }

    pub fn merge(&mut self, from: CodeOfHosts) {
        self.n_hosts += from.n_hosts;
        for (path, code) in from.paths {
            self.add(path, code);
        }
    }

    pub fn remap(&mut self, remap: &Remap) {
        for (path, code) in std::mem::take(&mut self.paths) {
            self.add(remap.path(path), code);
        }
    }

    fn add(&mut self, path: CallPathId, code: CodeBefore) {
        let sum = self.paths.entry(path).or_default();
        sum.own += code.own;
        sum.with_callees += code.with_callees;
        sum.gain += code.gain;
        for (thread, (n, range)) in code.threads {
            let of = sum.threads.entry(thread).or_insert((0, range));
            *of = (of.0 + n, of.1.and(range));
        }
    }

    /// The losses, each as a mean over the hosts; none if there are no such hosts.
    pub fn losses(&self, output: &AcceleratorsOutput, definitions: &Definitions) -> Option<Vec<DeviceLoss>> {
        let own = self.paths.iter().filter(|it| 0 < it.1.own).map(|(&path, it)| (path, it.own)).collect();
        let with_callees = self.paths.iter().map(|(&path, it)| (path, it.with_callees)).collect();
        let found = output.widest(own, &with_callees).into_iter().map(|path| {
            let name = output.call_paths.region(path).map(|region| &*definitions.region(region).name);
            let code = &self.paths[&path];
            let n = code.threads.values().map(|it| it.0).sum::<u64>() as usize;
            let spans = code.threads.iter().map(|(&thread, it)| (thread, it.1));
            let found = loss(names::host_loss(name.unwrap_or_default()), path, spans, n, code.with_callees);
            DeviceLoss { gain: Ticks(code.gain / self.n_hosts.max(1)), ..found }
        });
        self.has_hosts().then(|| found.filter(|loss| loss.gain != Ticks(0)).collect())
    }
}

/// A launch: when, and since when the device had nothing to do; `None` for its first operation.
type Launch = (Ticks, Option<Ticks>);

/// The launches of a process that its operations tell of: of those that begin when their device has had nothing to do for a
/// sampling period.
fn launches(process: &DeviceProcess<'_>, period: Ticks) -> Vec<Launch> {
    let mut devices: BTreeMap<LocationGroupId, Vec<(Ticks, Ticks)>> = BTreeMap::new();
    for stream in &process.streams {
        let operations = stream.operations.iter().map(|it| (it.start, it.end));
        devices.entry(stream.device).or_default().extend(operations);
    }
    let mut launches = Vec::new();
    for mut operations in devices.into_values() {
        operations.sort_unstable();
        let mut free: Option<Ticks> = None;
        for (start, end) in operations {
            if free.is_none_or(|free| free + period <= start) {
                launches.push((start, free));
            }
            free = free.max(Some(end));
        }
    }
    launches.sort_unstable();
    launches
}

impl AcceleratorsOutput {
    /// The code of the hosts of some processes before launches that are not recorded.
    pub(super) fn code_of_hosts(&self, processes: &[DeviceProcess<'_>]) -> CodeOfHosts {
        let mut found = CodeOfHosts::default();
        for process in processes {
            self.add_code_of(process, &mut found);
        }
        found
    }

    fn add_code_of(&self, process: &DeviceProcess<'_>, found: &mut CodeOfHosts) {
        let Some((host, code)) = process.sampled_host().filter(|it| self.selected_of(it.0).location) else {
            return;
        };
        found.n_hosts += 1;
        let waits: Vec<(Ticks, Ticks)> = process
            .calls()
            .filter(|(place, _)| place.0 == host)
            .filter(|(_, call)| call.api.blocks() || call.step.is_some_and(is_await))
            .map(|(_, call)| (call.enter, call.leave))
            .collect();
        let mut before = Ticks(0);
        for (launch, free) in launches(process, code.period) {
            let last_wait = waits[..waits.partition_point(|wait| wait.0 < launch)].last();
            let since = last_wait.map_or(before, |wait| before.max(wait.1));
            before = launch;
            if let Some(free) = free {
                self.add_gap(host, &code.ranges, (since, free, launch), found);
            }
        }
    }

    /// Adds the code of a host since it last launched or waited, up to a launch; the device is free since `free`.
    fn add_gap(
        &self,
        host: LocationId,
        ranges: &[InnerRange],
        (since, free, launch): (Ticks, Ticks, Ticks),
        found: &mut CodeOfHosts,
    ) {
        let mut before: BTreeMap<CallPathId, (u64, u64)> = BTreeMap::new();
        let mut in_gap = 0;
        let first = ranges.partition_point(|it| it.end <= since);
        for it in ranges[first..].iter().take_while(|it| it.start < launch) {
            let region = self.call_paths.region(it.path);
            if region.is_none_or(|region| self.kept.state(region) == Some(HostState::Communicates)) {
                continue;
            }
            let from = |time: Ticks| it.end.min(launch).since(it.start.max(time)).0;
            let ticks = from(since);
            in_gap += if it.end <= free { 0 } else { from(since.max(free)) };
            before.entry(it.path).or_default().0 += ticks;
            self.chain(it.path).for_each(|at| before.entry(at).or_default().1 += ticks);
        }
        let range = TimeRange { start: since.min(free), end: launch };
        for (path, (own, with_callees)) in before {
            let gain = with_callees.min(in_gap);
            let threads = BTreeMap::from([(host, (1, range))]);
            found.add(path, CodeBefore { own, with_callees, gain, threads });
        }
    }
}
