//! What a critical path can follow between hosts and streams.
//!
//! | who | waits until | for | followed if |
//! |---|---|---|---|
//! | a thread, in a call that waits | its leave | the operation that is waited for, its end | that ended in the call |
//! | a stream, before an operation | its begin | the call that launches it, its enter | the call was left after the operation before had ended, and what is waited for by an event |
//! | a stream, before an operation | its begin | the operation of another stream before an event, its end | that ended last of the three |
//! | a stream, in a collective | its end | the stream whose operation began last, its begin | that is another one |

use super::AcceleratorsOutput;
use super::gaps::for_operations;
use crate::class::WaitClass;
use crate::devices::events::StreamEvents;
use crate::devices::records::StreamCollective;
use crate::devices::streams::DeviceProcess;
use crate::devices::{DeviceWaits, host};
use ouzel_analyses::breakdown::Activity;
use ouzel_analyses::critical_path::{DeviceWaitKind, WaitOfDevices};
use ouzel_analyses::paired_operations::{CollectiveMember, CollectivePart, instances, n_members};
use ouzel_model::{CollectiveOp, CommId, Definitions, LocationId, Ticks};
use std::cmp::Reverse;
use std::collections::BTreeMap;

impl AcceleratorsOutput {
    /// Who waits for whom, of the whole run.
    pub fn path_waits(&self, definitions: &Definitions) -> Vec<WaitOfDevices> {
        let processes = self.processes(definitions);
        let mut waits = Vec::new();
        for process in &processes {
            let events = StreamEvents::new(process);
            self.add_host_waits(process, &events, &mut waits);
            self.add_stream_waits(process, &events, &mut waits);
        }
        self.add_collectives(&processes, definitions, &mut waits);
        waits
    }

    fn add_host_waits(
        &self,
        process: &DeviceProcess<'_>,
        events: &StreamEvents,
        waits: &mut Vec<WaitOfDevices>,
    ) {
        let mut found = DeviceWaits::default();
        host::add(&mut found, process, events);
        // Of a call that calls others the last part waits until the operation ends.
        let is_host = |class| matches!(class, WaitClass::HostWaitsForDevice | WaitClass::BlockingCopy);
        for wait in found.waits.iter().filter(|wait| is_host(wait.class)) {
            let Some(culprit) = wait.culprit else { continue };
            if wait.end == culprit.left && culprit.left <= wait.leave {
                waits.push(WaitOfDevices {
                    kind: DeviceWaitKind::Synchronization,
                    location: wait.location,
                    call_path: wait.path,
                    enter: wait.enter,
                    leave: wait.leave,
                    cause: culprit.location,
                    at: culprit.left,
                });
            }
        }
        // A call that copies and blocks is left once its own copy is done.
        for stream in &process.streams {
            for (it, launch) in stream.operations.iter().zip(&stream.launches) {
                let Some(place) = *launch else { continue };
                let call = process.call(place);
                if call.api.blocks() && call.enter < it.end && it.end <= call.leave {
                    waits.push(WaitOfDevices {
                        kind: DeviceWaitKind::Synchronization,
                        location: place.0,
                        call_path: call.path,
                        enter: call.enter,
                        leave: call.leave,
                        cause: stream.location,
                        at: it.end,
                    });
                }
            }
        }
    }

    fn add_stream_waits(
        &self,
        process: &DeviceProcess<'_>,
        events: &StreamEvents,
        waits: &mut Vec<WaitOfDevices>,
    ) {
        for stream in &process.streams {
            for_operations(process, events, stream, |free, gap| {
                let it = &stream.operations[gap.nth];
                let free = free.unwrap_or(Ticks(0));
                let awaited =
                    gap.awaited.map(|(operation, ..)| (process.operation(operation).end, operation));
                let awaited = awaited.filter(|(end, _)| *end <= it.start && free < *end);
                let launch = gap.launch.filter(|(_, call)| call.enter <= it.start);
                // A call that blocks is left when its operation is over: it can begin once the call was entered.
                let launched = launch.map(|(_, call)| match call.api.blocks() {
                    true => call.enter,
                    false => call.leave.min(it.start),
                });
                let wait = |kind, cause, at| WaitOfDevices {
                    kind,
                    location: stream.location,
                    call_path: it.path,
                    enter: free.min(at),
                    leave: it.start,
                    cause,
                    at,
                };
                match (awaited, launch) {
                    (Some((end, operation)), _) if launched <= Some(end) => {
                        waits.push(wait(DeviceWaitKind::Synchronization, operation.0, end));
                    }
                    (_, Some((place, call))) if Some(free) < launched => {
                        waits.push(wait(DeviceWaitKind::Launch, place.0, call.enter));
                    }
                    _ => {}
                }
            });
        }
    }

    fn add_collectives(
        &self,
        processes: &[DeviceProcess<'_>],
        definitions: &Definitions,
        waits: &mut Vec<WaitOfDevices>,
    ) {
        for members in self.collective_instances(processes, definitions) {
            let last = members.iter().max_by_key(|member| (member.start, Reverse(member.location)));
            let Some(&last) = last else { continue };
            let others = members.iter().filter(|member| {
                member.location != last.location && member.start < last.start && last.start <= member.end
            });
            waits.extend(others.map(|member| WaitOfDevices {
                kind: DeviceWaitKind::Collective,
                location: member.location,
                call_path: member.path,
                enter: member.start,
                leave: member.end,
                cause: last.location,
                at: last.start,
            }));
        }
    }

    /// The collectives of several devices whose members are all known.
    pub(super) fn collective_instances(
        &self,
        processes: &[DeviceProcess<'_>],
        definitions: &Definitions,
    ) -> Vec<Vec<DeviceMember>> {
        let mut all: Vec<DeviceMember> = Vec::new();
        for stream in processes.iter().flat_map(|process| &process.streams) {
            let of_stream = self.details(stream.location).map_or(&[][..], |it| &it.collectives[..]);
            all.extend(of_stream.iter().filter_map(|collective| {
                let it = stream.operations.get(collective.nth as usize)?;
                let (location, path, start, end) = (stream.location, it.path, it.start, it.end);
                Some(DeviceMember { location, path, start, end, collective: *collective })
            }));
        }
        let member = |(op, it): (u32, &DeviceMember)| CollectiveMember {
            op,
            part: CollectivePart {
                op: it.collective.op,
                comm: it.collective.comm,
                root: None,
                arrived: it.start,
            },
            leave: it.end,
            is_selected: true,
        };
        let members: Vec<CollectiveMember> = (0..).zip(&all).map(member).collect();
        let (found, _) = instances(&members, |op| all[op as usize].location, definitions);
        let is_complete = |of: &Vec<CollectiveMember>| {
            of.first().is_some_and(|it| n_members(definitions.communicator(it.part.comm)) <= of.len())
        };
        let found = found.into_iter().filter(is_complete);
        let found: Vec<Vec<DeviceMember>> =
            found.map(|of| of.iter().map(|it| all[it.op as usize]).collect()).collect();
        if all.is_empty() { self.collectives_in_order(processes, definitions) } else { found }
    }

    /// The same where nothing but their names is known of collectives: the n-th kernels of a name of all processes that
    /// communicate, if they are as many in each, and all of these overlap: members of a collective end after the last
    /// has begun.
    fn collectives_in_order(
        &self,
        processes: &[DeviceProcess<'_>],
        definitions: &Definitions,
    ) -> Vec<Vec<DeviceMember>> {
        let mut of_names: BTreeMap<&str, Vec<Vec<DeviceMember>>> = BTreeMap::new();
        let mut n_processes = 0;
        for process in processes {
            let mut of_process: BTreeMap<&str, Vec<DeviceMember>> = BTreeMap::new();
            for stream in &process.streams {
                for (nth, it) in (0..).zip(stream.operations) {
                    let region = self.call_paths.region(it.path).map(|region| definitions.region(region));
                    let Some(region) = region.filter(|_| self.activity(it.path) == Activity::Communication)
                    else {
                        continue;
                    };
                    let collective = StreamCollective {
                        nth,
                        op: CollectiveOp::Unknown,
                        comm: CommId::from_index(0),
                        bytes_sent: 0,
                        bytes_received: 0,
                    };
                    let (location, path, start, end) = (stream.location, it.path, it.start, it.end);
                    let member = DeviceMember { location, path, start, end, collective };
                    of_process.entry(&region.name).or_default().push(member);
                }
            }
            n_processes += usize::from(!of_process.is_empty());
            for (name, mut members) in of_process {
                members.sort_by_key(|it| (it.start, it.location));
                of_names.entry(name).or_default().push(members);
            }
        }
        // Sends and receives have two members, whichever these are.
        of_names.retain(|name, of| {
            1 < n_processes && of.len() == n_processes && !name.contains("Send") && !name.contains("Recv")
        });
        let mut found = Vec::new();
        for of in of_names.into_values() {
            let n = of[0].len();
            let instance = |nth: usize| of.iter().map(|members| members[nth]).collect::<Vec<_>>();
            let overlap = |members: &[DeviceMember]| {
                let last = members.iter().map(|it| it.start).max();
                members.iter().all(|it| Some(it.end) >= last)
            };
            if of.iter().all(|it| it.len() == n) && (0..n).all(|nth| overlap(&instance(nth))) {
                found.extend((0..n).map(instance));
            }
        }
        found
    }
}

/// One device in a collective.
#[derive(Debug, Clone, Copy)]
pub(super) struct DeviceMember {
    pub location: LocationId,
    pub path: ouzel_model::CallPathId,
    pub start: Ticks,
    pub end: Ticks,
    pub collective: StreamCollective,
}
