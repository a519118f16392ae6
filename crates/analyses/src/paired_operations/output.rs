//! Operations of all locations, and what connects them.

use super::instances::{CollectiveMember, instances};
use super::state::{OperationsPartial, Rendezvous, What};
use crate::message_matching::{End, EndCall, LocationEnds, MatchedEnd, Pair, for_each_pair};
use crate::semantics::mpi_function;
use ouzel_engine::FinishCx;
use ouzel_model::{
    CallPathId, CallPathTree, CollectiveOp, CommId, Definitions, LocationId, LocationKind, RegionId, Ticks,
    TimeRange, WorldRank,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What processes do with each other: all of them, over the whole run, whatever is selected. Who waited for whom, and
/// in which order things must happen, does not depend on what one looks at.
#[derive(Debug, Clone)]
pub struct OperationsOutput {
    /// The call paths that the operations refer to.
    pub call_paths: CallPathTree,
    /// By location, those of a location in the order of the records.
    pub operations: Vec<Operation>,
    /// Messages with both sides, in the order of their sends.
    pub messages: Vec<Message>,
    /// Sends that are known to wait for their receive, by location and time.
    pub rendezvous: Vec<Rendezvous>,
    /// Collectives of at least two members.
    pub collectives: Vec<CollectiveInstance>,
    /// The locations that run code and have events, ascending.
    pub lines: Vec<LocationSpan>,
    /// The time range that was asked for, if there is one.
    pub window: Option<TimeRange>,
    /// Selected sends and receives whose other side is not known.
    pub n_unmatched_ends: u64,
    /// Selected collectives of which it is not known to which instance they belong.
    pub n_unaligned_collectives: u64,
}

/// What an operation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperationKind {
    /// A message is sent, or its send is posted.
    Send,
    /// A message is received.
    Receive,
    /// A collective operation ends.
    Collective,
}

impl OperationKind {
    /// Every kind.
    pub const ALL: [OperationKind; 3] =
        [OperationKind::Send, OperationKind::Receive, OperationKind::Collective];

    /// The term in lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            OperationKind::Send => "send",
            OperationKind::Receive => "receive",
            OperationKind::Collective => "collective",
        }
    }
}

/// One operation of one location.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// Where.
    pub location: LocationId,
    /// What.
    pub kind: OperationKind,
    /// The innermost call; the root outside of every region.
    pub call_path: CallPathId,
    /// When its call was entered; when it was recorded, if that call is no operation.
    pub enter: Ticks,
    /// When its call was left; as `enter` when it was recorded, if that call is no operation.
    pub leave: Ticks,
    /// Whether its record is selected.
    pub is_selected: bool,
}

/// A message: indices of its operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// The send.
    pub send: u32,
    /// The receive.
    pub receive: u32,
}

/// One collective operation of several members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectiveInstance {
    /// What they do.
    pub op: CollectiveOp,
    /// The communicator of the first member.
    pub comm: CommId,
    /// The root, where there is one that is known.
    pub root: Option<WorldRank>,
    /// Index of the operation of each member and when it arrived: entered or posted the operation. By rank.
    pub members: Vec<(u32, Ticks)>,
}

/// A location from its first event to its last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocationSpan {
    /// The location.
    pub location: LocationId,
    /// Its rank, if the trace has ranks.
    pub rank: Option<WorldRank>,
    /// Its first event.
    pub start: Ticks,
    /// Its last event.
    pub end: Ticks,
    /// For helper threads and accelerator streams the main thread of their process, if it has events.
    pub main: Option<LocationId>,
    /// Whether it is selected, and has events in the time range.
    pub is_selected: bool,
}

impl OperationsOutput {
    /// The rank of a location that runs code.
    pub fn rank(&self, location: LocationId) -> Option<WorldRank> {
        self.line(location).and_then(|i| self.lines[i].rank)
    }

    /// Whether a location is selected.
    pub(crate) fn is_selected(&self, location: LocationId) -> bool {
        self.line(location).is_some_and(|i| self.lines[i].is_selected)
    }

    /// Index of the line of a location.
    pub(crate) fn line(&self, location: LocationId) -> Option<usize> {
        self.lines.binary_search_by_key(&location, |line| line.location).ok()
    }
}

pub(super) fn output(
    partial: OperationsPartial,
    is_operation: &[bool],
    cx: &FinishCx<'_>,
) -> OperationsOutput {
    let OperationsPartial { messages: ends, settled, locations } = partial;
    let (call_paths, shown) = cx.call_paths.shown(cx.definitions.filtered_region);
    let settled_posts = settled.messages.n_posted();
    let n_operations = locations.values().map(|location| location.ops.len()).sum();
    let mut operations = Vec::with_capacity(n_operations);
    let n_members = locations.values().map(|location| location.collectives.len()).sum();
    let mut members = Vec::with_capacity(n_members);
    let mut of_end: BTreeMap<LocationId, Vec<u32>> = BTreeMap::new();
    for (location, of_location) in locations {
        // Receives are numbered as posted and stand where they complete.
        let nths = of_end.entry(location).or_default();
        let n_posted = ends.locations.get(&location).map_or(0, LocationEnds::n_posted);
        nths.resize(n_posted.max(settled_posts.get(&location).copied().unwrap_or(0)), NONE);
        for op in &of_location.ops {
            let index = operations.len() as u32;
            let kind = match op.what {
                What::Send { nth } => {
                    place(nths, nth, index);
                    OperationKind::Send
                }
                What::Receive { nth } => {
                    place(nths, nth, index);
                    OperationKind::Receive
                }
                What::Collective { index: part } => {
                    let part = of_location.collectives[part as usize];
                    members.push(CollectiveMember {
                        op: index,
                        part,
                        leave: op.leave,
                        is_selected: op.is_selected,
                    });
                    OperationKind::Collective
                }
            };
            let (call_path, enter, leave) = (shown.path(op.path), op.enter, op.leave);
            let is_selected = op.is_selected;
            operations.push(Operation { location, kind, call_path, enter, leave, is_selected });
        }
    }
    let known = |nths: Option<&Vec<u32>>, nth: u32| {
        nths.and_then(|nths| nths.get(nth as usize)).copied().filter(|&index| index != NONE)
    };
    let mut receive_of = vec![NONE; operations.len()];
    let mut connect = |send: Option<u32>, receive: Option<u32>| {
        if let (Some(send), Some(receive)) = (send, receive) {
            receive_of[send as usize] = receive;
        }
    };
    let by_line: Vec<Option<&Vec<u32>>> =
        ends.locations.keys().map(|location| of_end.get(location)).collect();
    let index = |end: &End<'_>| known(by_line[end.of as usize], end.nth());
    let mut rendezvous = AllRendezvous::new(is_operation, cx.definitions, cx.call_paths);
    let unmatched = for_each_pair(&ends, cx.definitions, |pair| {
        connect(index(&pair.send), index(&pair.receive));
        rendezvous.add(&pair);
    });
    settled.messages.for_each(|send, receive| {
        let index = |place: MatchedEnd| known(of_end.get(&place.location), place.nth);
        connect(index(send), index(receive));
    });
    rendezvous.found.extend(settled.rendezvous);
    rendezvous.found.iter_mut().for_each(|of| of.call_path = shown.path(of.call_path));
    rendezvous.found.sort_unstable();
    let messages = (0..).zip(receive_of).filter(|&(_, receive)| receive != NONE);
    let (instances, n_unaligned_collectives) =
        instances(members, |op| operations[op as usize].location, cx.definitions);
    let n_unresolved = ends.unresolved_peers + ends.uncompleted_receives;
    OperationsOutput {
        call_paths,
        messages: messages.map(|(send, receive)| Message { send, receive }).collect(),
        rendezvous: rendezvous.found,
        collectives: instances.into_iter().map(|members| instance(&members)).collect(),
        operations,
        lines: lines(cx),
        window: cx.window,
        n_unmatched_ends: n_unresolved + settled.n_unmatched + unmatched.sends + unmatched.receives,
        n_unaligned_collectives,
    }
}

/// No operation.
const NONE: u32 = u32::MAX;

fn place(nths: &mut [u32], nth: u32, index: u32) {
    // An end whose other side is not known is an operation, too, but in no queue.
    if let Some(place) = nths.get_mut(nth as usize) {
        *place = index;
    }
}

fn instance(members: &[CollectiveMember]) -> CollectiveInstance {
    let first = members[0].part;
    CollectiveInstance {
        op: first.op,
        comm: first.comm,
        root: members.iter().find_map(|member| member.part.root),
        members: members.iter().map(|member| (member.op, member.part.arrived)).collect(),
    }
}

/// The synchronous sends among messages.
pub(super) struct AllRendezvous {
    /// For each call path whether it ends in a synchronous send.
    sends: Vec<bool>,
    /// For each call path whether it ends in an operation.
    is_operation: Vec<bool>,
    pub found: Vec<Rendezvous>,
}

impl AllRendezvous {
    pub fn new(is_operation: &[bool], definitions: &Definitions, call_paths: &CallPathTree) -> Self {
        let regions = &definitions.regions;
        let is_synchronous: Vec<bool> = regions.iter().map(|it| is_synchronous_send(&it.name)).collect();
        let by_path = |flags: &[bool]| -> Vec<bool> {
            let root = std::iter::once(false);
            let flag = |path| call_paths.region(path).is_some_and(|region: RegionId| flags[region.index()]);
            root.chain(call_paths.paths().map(flag)).collect()
        };
        AllRendezvous {
            sends: by_path(&is_synchronous),
            is_operation: by_path(is_operation),
            found: Vec::new(),
        }
    }

    pub fn add(&mut self, pair: &Pair<'_>) {
        let Pair { send, receive, .. } = pair;
        if !self.sends[send.path().index()] || !self.is_operation[receive.path().index()] {
            return;
        }
        let completed = send.completed().filter(|call| self.is_operation[call.path.index()]);
        self.found.extend(completed.map(|EndCall { path, enter, leave }| Rendezvous {
            location: send.location,
            call_path: path,
            enter,
            leave,
            receiver: receive.location,
            receive_posted: receive.posted(),
        }));
    }
}

/// Whether calls of this name post a send that completes after its receive is posted.
pub fn is_synchronous_send(name: &str) -> bool {
    matches!(mpi_function(name).as_deref(), Some("ssend" | "issend"))
}

fn lines(cx: &FinishCx<'_>) -> Vec<LocationSpan> {
    let Definitions { locations, .. } = cx.definitions;
    let with_events = cx.locations.iter().filter_map(|(&id, summary)| Some((id, summary.span?)));
    let on_cpu = |id: LocationId| {
        matches!(locations[id.index()].kind, LocationKind::CpuThread | LocationKind::Unknown)
    };
    // What a profiler records beside a process, of unknown kind, is its main thread only if it has no thread.
    let is_unknown = |id: LocationId| locations[id.index()].kind == LocationKind::Unknown;
    let mut candidates: Vec<LocationId> =
        with_events.clone().map(|it| it.0).filter(|&id| on_cpu(id)).collect();
    candidates.sort_by_key(|&id| (is_unknown(id), id));
    let mut main_of_group = BTreeMap::new();
    let mut main_of_rank = BTreeMap::new();
    for id in candidates {
        main_of_group.entry(locations[id.index()].group).or_insert(id);
        if let Some(rank) = locations[id.index()].rank {
            main_of_rank.entry(rank).or_insert(id);
        }
    }
    with_events
        .filter(|&(id, _)| locations[id.index()].kind.runs_code())
        .map(|(id, (start, end))| {
            let location = &locations[id.index()];
            let of_group = main_of_group.get(&location.group);
            let main = of_group.or_else(|| main_of_rank.get(&location.rank?)).copied();
            let (rank, main) = (location.rank, main.filter(|&main| main != id));
            let is_selected = cx.selected.get(&id).is_some_and(|selected| selected.span.is_some());
            LocationSpan { location: id, rank, start, end, main, is_selected }
        })
        .collect()
}
