//! Which operations of several devices are one collective.
//!
//! By the communicator and operation that the trace records, where it records any; else the n-th kernels of a name of all
//! processes that communicate, if they are as many in each, and all of these overlap: members of a collective end after
//! the last has begun. Law: the members of some processes are those of each, merged in any order.

use super::AcceleratorsOutput;
use crate::devices::records::StreamCollective;
use crate::devices::streams::DeviceProcess;
use ouzel_analyses::breakdown::Activity;
use ouzel_analyses::paired_operations::{CollectiveMember, CollectivePart, instances, n_members};
use ouzel_model::{CallPathId, CollectiveOp, CommId, Definitions, LocationId, Remap, Ticks};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// One device in a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DeviceMember {
    pub location: LocationId,
    pub path: CallPathId,
    pub start: Ticks,
    pub end: Ticks,
    op: CollectiveOp,
    comm: CommId,
}

// What the documentation of the crate says of memory.
const _: () = assert!(size_of::<DeviceMember>() <= 32);

/// The collective operations of some processes.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CollectiveMembers {
    /// Those that are recorded as such, by stream.
    recorded: BTreeMap<LocationId, Vec<DeviceMember>>,
    /// Without any of those: by name, and by the first stream of the process.
    named: BTreeMap<String, BTreeMap<LocationId, Vec<DeviceMember>>>,
}

impl CollectiveMembers {
    pub fn remap(&mut self, remap: &Remap) {
        let named = self.named.values_mut().flat_map(BTreeMap::values_mut);
        let all = self.recorded.values_mut().chain(named).flatten();
        all.for_each(|it| it.path = remap.path(it.path));
    }

    /// Where and when each operation that may be a member of a collective begins and ends.
    pub fn places(&self) -> Vec<(LocationId, Ticks, Ticks)> {
        let all = self.recorded.values().chain(self.named.values().flat_map(BTreeMap::values)).flatten();
        all.map(|it| (it.location, it.start, it.end)).collect()
    }

    pub fn merge(&mut self, from: CollectiveMembers) {
        self.recorded.extend(from.recorded);
        for (name, of) in from.named {
            self.named.entry(name).or_default().extend(of);
        }
        if !self.recorded.is_empty() {
            self.named.clear();
        }
    }

    /// The collectives whose members are all known.
    pub fn instances(self, definitions: &Definitions) -> Vec<Vec<DeviceMember>> {
        if self.recorded.is_empty() {
            return self.in_order();
        }
        let mut all: Vec<DeviceMember> = Vec::with_capacity(self.recorded.values().map(Vec::len).sum());
        // Each list is let go once it is copied.
        self.recorded.into_values().for_each(|of| all.extend(of));
        let member = |(op, it): (u32, &DeviceMember)| CollectiveMember {
            op,
            part: CollectivePart { op: it.op, comm: it.comm, root: None, arrived: it.start },
            leave: it.end,
            is_selected: true,
        };
        let members = (0..).zip(&all).map(member);
        let (found, _) = instances(members, |op| all[op as usize].location, definitions);
        let is_complete = |of: &Vec<CollectiveMember>| {
            of.first().is_some_and(|it| n_members(definitions.communicator(it.part.comm)) <= of.len())
        };
        let found = found.into_iter().filter(is_complete);
        found.map(|of| of.iter().map(|it| all[it.op as usize]).collect()).collect()
    }

    /// The same where nothing but their names is known of collectives.
    fn in_order(&self) -> Vec<Vec<DeviceMember>> {
        let processes: BTreeSet<LocationId> = self.named.values().flat_map(|of| of.keys().copied()).collect();
        let n_processes = processes.len();
        let mut found = Vec::new();
        // Sends and receives have two members, whichever these are.
        let is_of_all = |(name, of): &(&String, &BTreeMap<LocationId, Vec<DeviceMember>>)| {
            1 < n_processes && of.len() == n_processes && !name.contains("Send") && !name.contains("Recv")
        };
        for (_, of) in self.named.iter().filter(is_of_all) {
            let n = of.values().next().map_or(0, Vec::len);
            let instance = |nth: usize| of.values().map(|members| members[nth]).collect::<Vec<_>>();
            let overlap = |members: &[DeviceMember]| {
                let last = members.iter().map(|it| it.start).max();
                members.iter().all(|it| Some(it.end) >= last)
            };
            if of.values().all(|it| it.len() == n) && (0..n).all(|nth| overlap(&instance(nth))) {
                found.extend((0..n).map(instance));
            }
        }
        found
    }
}

impl AcceleratorsOutput {
    /// The collective operations of some processes.
    pub(super) fn collective_members(
        &self,
        processes: &[DeviceProcess<'_>],
        definitions: &Definitions,
    ) -> CollectiveMembers {
        let mut members = CollectiveMembers::default();
        for process in processes {
            let mut of_process = self.recorded_members(process);
            // Names say nothing more.
            if members.recorded.is_empty() && of_process.recorded.is_empty() {
                of_process = self.named_members(process, definitions);
            }
            members.merge(of_process);
        }
        members
    }

    fn recorded_members(&self, process: &DeviceProcess<'_>) -> CollectiveMembers {
        let mut members = CollectiveMembers::default();
        for stream in &process.streams {
            let of_stream = self.details(stream.location).map_or(&[][..], |it| &it.collectives[..]);
            let of_stream: Vec<DeviceMember> = of_stream
                .iter()
                .filter_map(|collective| {
                    let it = stream.operations.get(collective.nth as usize)?;
                    let (location, path, start, end) = (stream.location, it.path, it.start, it.end);
                    let &StreamCollective { op, comm, .. } = collective;
                    Some(DeviceMember { location, path, start, end, op, comm })
                })
                .collect();
            if !of_stream.is_empty() {
                members.recorded.insert(stream.location, of_stream);
            }
        }
        members
    }

    fn named_members(&self, process: &DeviceProcess<'_>, definitions: &Definitions) -> CollectiveMembers {
        let mut members = CollectiveMembers::default();
        let Some(first) = process.streams.first().map(|stream| stream.location) else { return members };
        for stream in &process.streams {
            for it in stream.operations {
                let region = self.call_paths.region(it.path).map(|region| definitions.region(region));
                let Some(region) = region.filter(|_| self.activity(it.path) == Activity::Communication)
                else {
                    continue;
                };
                let (location, path, start, end) = (stream.location, it.path, it.start, it.end);
                let (op, comm) = (CollectiveOp::Unknown, CommId::from_index(0));
                let member = DeviceMember { location, path, start, end, op, comm };
                let of_name = members.named.entry(region.name.to_string()).or_default();
                of_name.entry(first).or_default().push(member);
            }
        }
        for of_process in members.named.values_mut().flat_map(BTreeMap::values_mut) {
            of_process.sort_by_key(|it| (it.start, it.location));
        }
        members
    }
}
