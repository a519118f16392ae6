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
use crate::devices::streams::DeviceProcess;
use crate::devices::{DeviceWaits, host};
use ouzel_analyses::critical_path::{DeviceWaitKind, WaitOfDevices};
use ouzel_model::{Definitions, Ticks};
use std::cmp::Reverse;

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
        for members in self.collective_members(processes, definitions).instances(definitions) {
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
}
