//! What a critical path can follow between hosts and streams, over any number of processes.
//!
//! ```text
//! records of processes ──compact──► waits that a path can pass, of those that are complete; collectives
//!                      ──finish───► the same, and waits of devices for each other
//! ```
//!
//! | who | waits until | for | followed if |
//! |---|---|---|---|
//! | a thread, in a call that waits | its leave | the operation that is waited for, its end | that ended in the call |
//! | a stream, before an operation | its begin | the call that launches it, its enter | the call was left after the operation before had ended, and what is waited for by an event |
//! | a stream, before an operation | its begin | the operation of another stream before an event, its end | that ended last of the three |
//! | a stream, in a collective | its end | the stream whose operation began last, its begin | that is another one |
//!
//! Law: the path is that of all waits. Memory is that of the processes that are being read, of collectives (32 bytes each),
//! and of the waits that a path can pass (40 bytes each). Waits of a process that exchanges messages are all kept: a path
//! can enter it with each message.

use super::by_process::{ByProcess, Settle, SettledProcess};
use super::gaps::for_operations;
use super::members::{CollectiveMembers, DeviceMember};
use super::reachable::reachable;
use super::remarks::{remarks, unknown_copies};
use super::{Accelerators, AcceleratorsOutput, NO_LAUNCHES};
use crate::class::WaitClass;
use crate::devices::events::StreamEvents;
use crate::devices::streams::DeviceProcess;
use crate::devices::{DeviceWaits, host};
use ouzel_analyses::critical_path::{DeviceWaitKind, WaitOfDevices, WaitsOfDevices};
use ouzel_engine::{AnalysisError, FinishCx, Question, SelectionCx};
use ouzel_model::units::count;
use ouzel_model::{
    CallPathTree, Definitions, Level, LocationGroupId, LocationId, Notice, NoticeCode, Remap, Ticks,
    WorldRank,
};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What a critical path can follow of accelerators.
#[derive(Debug)]
pub struct PathWaits {
    of: Accelerators,
}

impl PathWaits {
    /// The question.
    pub fn new(definitions: &Definitions) -> Self {
        PathWaits { of: Accelerators::new(definitions).without_code() }
    }

    /// Whether any process drives an accelerator.
    pub fn has_devices(&self) -> bool {
        self.of.has_devices()
    }
}

impl Question for PathWaits {
    type Analysis = PathWaitsFold;
    type Output = PathWaitsOutput;

    fn prepare(self: Arc<Self>, cx: &SelectionCx<'_>) -> Arc<PathWaitsFold> {
        // The main thread of a rank is known if all of the rank is settled together.
        let mut unit_of: BTreeMap<WorldRank, LocationGroupId> = BTreeMap::new();
        let has_whole_ranks = cx.definitions.locations.iter().all(|location| {
            let unit = self.of.apis.unit(location.group);
            location.rank.is_none_or(|rank| *unit_of.entry(rank).or_insert(unit) == unit)
        });
        Arc::new(ByProcess::new(self.of.clone(), PathOfProcess { has_whole_ranks }, false, cx))
    }
}

/// What a critical path asks of each process.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct PathOfProcess {
    /// Whether all locations of a rank are of one process.
    has_whole_ranks: bool,
}

/// [`PathWaits`] for one selection.
pub type PathWaitsFold = ByProcess<PathOfProcess>;

/// What is kept of some processes.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PathSums {
    /// By the first stream of the process.
    waits: BTreeMap<LocationId, Vec<WaitOfDevices>>,
    /// Who waits or is waited for, also in waits that are left out.
    locations: BTreeSet<LocationId>,
    members: CollectiveMembers,
    n_operations: u64,
    /// Those of them whose launch is not known.
    n_without_launch: u64,
    n_unknown_copies: u64,
}

/// What a critical path can follow of accelerators, in the whole run.
#[derive(Debug)]
pub struct PathWaitsOutput {
    /// The call paths of the waits.
    pub call_paths: CallPathTree,
    /// Who waits for whom.
    pub waits: WaitsOfDevices,
    /// What has to be said beside the path.
    pub notices: Vec<Notice>,
}

impl Settle for PathOfProcess {
    type Sums = PathSums;
    type Output = PathWaitsOutput;
    const NAME: &'static str = "path-waits";
    const PARTIAL_VERSION: u32 = 1;
    const HAS_MESSAGES: bool = true;

    fn has_steps(&self) -> bool {
        false
    }

    fn settle(&self, process: SettledProcess, definitions: &Definitions, sums: &mut PathSums) {
        let SettledProcess { mut output, has_messages, .. } = process;
        let processes = output.processes(definitions);
        let Some(first) = processes.iter().flat_map(|it| &it.streams).map(|it| it.location).min() else {
            return;
        };
        let members = output.collective_members(&processes, definitions);
        for process in &processes {
            sums.n_unknown_copies += unknown_copies(process);
            for stream in &process.streams {
                sums.n_operations += stream.operations.len() as u64;
                sums.n_without_launch += stream.launches.iter().filter(|it| it.is_none()).count() as u64;
            }
        }
        let mut waits = output.waits_in(&processes);
        drop(processes);
        let spans = std::mem::take(&mut output.spans);
        drop(output);
        sums.locations.extend(waits.iter().flat_map(|wait| [wait.location, wait.cause]));
        if self.has_whole_ranks && !has_messages {
            waits = reachable(waits, &members.places(), &spans, definitions);
        }
        waits.shrink_to_fit();
        sums.waits.insert(first, waits);
        sums.members.merge(members);
    }

    fn remap(sums: &mut PathSums, remap: &Remap) {
        let waits = sums.waits.values_mut().flatten();
        waits.for_each(|wait| wait.call_path = remap.path(wait.call_path));
        sums.members.remap(remap);
    }

    fn merge(into: &mut PathSums, from: PathSums) {
        into.waits.extend(from.waits);
        into.locations.extend(from.locations);
        into.members.merge(from.members);
        into.n_operations += from.n_operations;
        into.n_without_launch += from.n_without_launch;
        into.n_unknown_copies += from.n_unknown_copies;
    }

    fn finish(
        _: &PathWaitsFold,
        sums: PathSums,
        cx: &FinishCx<'_>,
    ) -> Result<PathWaitsOutput, AnalysisError> {
        let PathSums { waits, mut locations, members, n_operations, n_without_launch, n_unknown_copies } =
            sums;
        let (call_paths, _) = cx.call_paths.shown(cx.definitions.filtered_region);
        let mut list = waits_of_collectives(&members.instances(cx.definitions));
        locations.extend(list.iter().flat_map(|wait| [wait.location, wait.cause]));
        list.reserve_exact(waits.values().map(Vec::len).sum());
        // Each list is let go once it is copied.
        waits.into_values().for_each(|of| list.extend(of));
        let mut notices = Vec::from_iter(without_launch(n_without_launch, n_operations));
        notices.extend(remarks(n_unknown_copies, cx.definitions));
        let waits = WaitsOfDevices { list, locations };
        Ok(PathWaitsOutput { call_paths, waits, notices })
    }
}

/// What to say of operations whose launch is not known.
fn without_launch(n_without: u64, n: u64) -> Option<Notice> {
    let what = match n_without {
        0 => return None,
        _ if n_without == n => NO_LAUNCHES.to_owned(),
        _ => format!(
            "no launch is recorded for {} of {} operations of accelerators: the path goes from them to the operation \
             before, and not to the host",
            count(n_without),
            count(n)
        ),
    };
    Some(Notice::new(Level::Low, NoticeCode::NotAvailable, what))
}

/// Members of collectives of devices wait for the last one to begin.
pub(super) fn waits_of_collectives(instances: &[Vec<DeviceMember>]) -> Vec<WaitOfDevices> {
    let mut waits = Vec::new();
    for members in instances {
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
    waits
}

impl AcceleratorsOutput {
    /// Who waits for whom in some processes, without collectives.
    pub(super) fn waits_in(&self, processes: &[DeviceProcess<'_>]) -> Vec<WaitOfDevices> {
        let mut waits = Vec::new();
        for process in processes {
            let events = StreamEvents::new(process);
            self.add_host_waits(process, &events, &mut waits);
            self.add_stream_waits(process, &events, &mut waits);
        }
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
}
