//! Who waited for whom: the edges that a critical path can follow.

use crate::paired_operations::{CollectiveInstance, Operation, OperationsOutput};
use ouzel_model::{CallPathId, CollectiveOp, Definitions, LocationId, Ticks, WorldRank};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// What the path is in a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SegmentKind {
    /// Something one location does.
    Local,
    /// A message under way, or a synchronous send and its receive.
    Message,
    /// A collective operation, from the last arrival on.
    Collective,
    /// From the call that launches an operation of an accelerator until it begins.
    Launch,
    /// From the end of an operation of an accelerator until who waits for it goes on.
    Synchronization,
}

impl SegmentKind {
    /// The term in lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            SegmentKind::Local => "local",
            SegmentKind::Message => "message",
            SegmentKind::Collective => "collective",
            SegmentKind::Launch => "launch",
            SegmentKind::Synchronization => "synchronization",
        }
    }
}

/// Waits in processes that drive accelerators.
#[derive(Debug, Clone, Default)]
pub struct WaitsOfDevices {
    /// The waits, at least those that the path can pass.
    pub list: Vec<WaitOfDevices>,
    /// Who waits or is waited for in any wait.
    pub locations: BTreeSet<LocationId>,
}

/// A wait of a thread or a stream in a process that drives accelerators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitOfDevices {
    /// What for.
    pub kind: DeviceWaitKind,
    /// Who waits.
    pub location: LocationId,
    /// The call or operation that waits.
    pub call_path: CallPathId,
    /// Since when.
    pub enter: Ticks,
    /// Until when.
    pub leave: Ticks,
    /// For whom.
    pub cause: LocationId,
    /// When that one did what is waited for: not after the wait.
    pub at: Ticks,
}

/// What a thread or a stream waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeviceWaitKind {
    /// A stream, for the call that launches an operation.
    Launch,
    /// A thread or a stream, for the end of an operation.
    Synchronization,
    /// A stream, for the last one to begin a collective.
    Collective,
}

impl WaitOfDevices {
    fn wait(&self) -> Wait {
        let &WaitOfDevices { location, call_path, enter, leave, cause, at, kind } = self;
        let kind = match kind {
            DeviceWaitKind::Launch => SegmentKind::Launch,
            DeviceWaitKind::Synchronization => SegmentKind::Synchronization,
            DeviceWaitKind::Collective => SegmentKind::Collective,
        };
        Wait { location, call_path, enter, leave, kind, cause, at: at.min(leave) }
    }
}

/// A call that waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wait {
    pub location: LocationId,
    pub call_path: CallPathId,
    pub enter: Ticks,
    pub leave: Ticks,
    pub kind: SegmentKind,
    /// For whom.
    pub cause: LocationId,
    /// When that one did what it waited for: within the call.
    pub at: Ticks,
}

/// The waits of the whole run, by location and end; and how many of the selected messages were received before they
/// were sent.
pub(super) fn waits(
    output: &OperationsOutput,
    of_devices: &[WaitOfDevices],
    definitions: &Definitions,
) -> (Vec<Wait>, u64) {
    let operation = |op: u32| &output.operations[op as usize];
    let mut waits = Vec::new();
    let mut n_out_of_order = 0;
    for message in &output.messages {
        let (send, receive) = (operation(message.send), operation(message.receive));
        n_out_of_order += u64::from(receive.leave < send.enter && send.is_selected);
        waits.extend(wait(receive, SegmentKind::Message, send.location, send.enter));
    }
    for it in &output.rendezvous {
        let here = Operation {
            location: it.location,
            kind: crate::paired_operations::OperationKind::Send,
            call_path: it.call_path,
            enter: it.enter,
            leave: it.leave,
            is_selected: true,
        };
        waits.extend(wait(&here, SegmentKind::Message, it.receiver, it.receive_posted));
    }
    for instance in &output.collectives {
        add_collective(&mut waits, instance, output, definitions);
    }
    waits.extend(of_devices.iter().map(WaitOfDevices::wait));
    // Of each call stays the wait that ended last, for the first location if several did.
    waits.sort_unstable_by_key(|w| {
        (w.location, w.leave, w.enter, w.call_path, Reverse(w.at), w.cause, w.kind)
    });
    waits.dedup_by_key(|w| (w.location, w.leave, w.enter, w.call_path));
    (waits, n_out_of_order)
}

/// A wait of `here` for what `cause` did at `at`, if it was one.
fn wait(here: &Operation, kind: SegmentKind, cause: LocationId, at: Ticks) -> Option<Wait> {
    let &Operation { location, call_path, enter, leave, .. } = here;
    (enter < at && at <= leave).then_some(Wait { location, call_path, enter, leave, kind, cause, at })
}

/// For whom the members of a collective wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dependence {
    /// All for all.
    All,
    /// Each for the root.
    OnRoot,
    /// The root for all.
    OfRoot,
    /// Each for the members before it.
    OnEarlier,
}

fn dependence(instance: &CollectiveInstance) -> Dependence {
    use CollectiveOp as Op;
    match instance.op {
        Op::Bcast | Op::Scatter | Op::Scatterv if instance.root.is_some() => Dependence::OnRoot,
        Op::Gather | Op::Gatherv | Op::Reduce if instance.root.is_some() => Dependence::OfRoot,
        Op::Scan | Op::Exscan => Dependence::OnEarlier,
        _ => Dependence::All,
    }
}

fn add_collective(
    waits: &mut Vec<Wait>,
    instance: &CollectiveInstance,
    output: &OperationsOutput,
    definitions: &Definitions,
) {
    let rank = |op: u32| definitions.location(output.operations[op as usize].location).rank;
    let dependence = dependence(instance);
    let mut members = instance.members.clone();
    if dependence == Dependence::OnEarlier {
        let order: &[WorldRank] = &definitions.communicator(instance.comm).members;
        members.sort_by_cached_key(|&(op, _)| order.iter().position(|&member| Some(member) == rank(op)));
        for i in 1..members.len() {
            add_wait(waits, output, members[i].0, &sorted(&members[..i], output));
        }
        return;
    }
    let is_root = |op: u32| instance.root.is_some() && rank(op) == instance.root;
    let causes = |op: u32| dependence != Dependence::OnRoot || is_root(op);
    let waiting = |op: u32| dependence != Dependence::OfRoot || is_root(op);
    let arrivals: Vec<(u32, Ticks)> = members.iter().copied().filter(|&(op, _)| causes(op)).collect();
    let arrivals = sorted(&arrivals, output);
    for &(op, _) in members.iter().filter(|&&(op, _)| waiting(op)) {
        add_wait(waits, output, op, &arrivals);
    }
}

/// Arrivals in the order of time; of equal ones that of the first location comes last.
fn sorted(members: &[(u32, Ticks)], output: &OperationsOutput) -> Vec<(Ticks, Reverse<LocationId>)> {
    let arrival = |&(op, at): &(u32, Ticks)| (at, Reverse(output.operations[op as usize].location));
    let mut arrivals: Vec<_> = members.iter().map(arrival).collect();
    arrivals.sort_unstable();
    arrivals
}

/// A wait for the last that arrived before the call was left.
fn add_wait(
    waits: &mut Vec<Wait>,
    output: &OperationsOutput,
    op: u32,
    arrivals: &[(Ticks, Reverse<LocationId>)],
) {
    let here = &output.operations[op as usize];
    let n = arrivals.partition_point(|&(at, _)| at <= here.leave);
    let Some(&(at, Reverse(cause))) = n.checked_sub(1).map(|last| &arrivals[last]) else { return };
    if cause != here.location {
        waits.extend(wait(here, SegmentKind::Collective, cause, at));
    }
}
