//! Waiting for messages.
//!
//! | class | who waits, and how long |
//! |---|---|
//! | late sender | the call in which the receive completes: `min(send posted, leave) − enter` |
//! | late receiver | the call in which the send completes: `min(receive posted, leave) − enter`; none if it is left before the receive is posted, unless the send is synchronous |
//! | late sender of a probe | `min(send posted, leave) − enter`, for the message of the first receive that is posted after it |
//!
//! *Posted* is the time at which the posting call was entered. Whether a send waited for its receive is not recorded: the
//! call may as well have copied the message. A send that is left before its receive is posted was buffered, so a late
//! receiver is certain only for synchronous sends, and for messages that are longer than the shortest one of the same
//! two locations above which none was buffered. A call that could not be left before the receive was posted, because it
//! received a message that was sent even later, shows nothing of its send. A receive that is complete before its send is posted shows wrong
//! clocks: its wait ends with its call, and is counted.

use crate::calls::CallKind;
use crate::class::{Certainty, WaitClass};
use crate::depth::Depth;
use crate::edges::{MessageEdge, Need, Place, Post};
use crate::records::{BareKind, CallOrder, LocationRecords, Steps};
use crate::wait::{Culprit, Wait};
use ouzel_analyses::message_matching::{
    End, EndCall, LocationEnds, MessageEnds, Pair, Unmatched, for_each_pair,
};
use ouzel_model::{CallPathId, CallPathTree, Definitions, LocationId, Ticks, WorldRank};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Messages of the selection that were received before they were sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClockViolations {
    /// How many.
    pub n: u64,
    /// The longest time from the receive back to the send.
    pub worst: Ticks,
}

impl ClockViolations {
    pub(crate) fn add(&mut self, early: Ticks) {
        self.n += 1;
        self.worst = self.worst.max(early);
    }
}

/// What a receive that completed had to do with its message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Received {
    /// When the send was recorded.
    pub sent: Ticks,
    pub from: WorldRank,
    /// The call it completed in.
    pub visit: Option<(Ticks, CallPathId)>,
}

/// What the messages of a run say about waiting.
#[derive(Debug, Default)]
pub(crate) struct MessageWaits {
    pub waits: Vec<Wait>,
    /// By location and place in the order of posting.
    pub received: Vec<Vec<Option<Received>>>,
    pub unmatched: Unmatched,
    /// Those of the selection.
    pub violations: ClockViolations,
    /// Whether the whole run has any.
    pub clocks_are_wrong: bool,
    /// Which calls need which posts, if the order of calls is kept.
    pub edges: Vec<MessageEdge>,
    /// Messages of which both ends are known.
    pub n_messages: u64,
    /// Sends of the whole run that are taken to wait for their receivers, though it is not certain.
    pub n_likely: u64,
    /// Those that may have waited, and are taken not to.
    pub n_possible: u64,
}

/// A receive for which an earlier probe may have waited.
struct Probed {
    posted: Ticks,
    nth: u32,
    sent: Ticks,
    culprit: Culprit,
    /// The post of the send.
    post: Option<Post>,
    bytes: u64,
}

/// A visit of a call: location, enter and call path.
type Visit = (LocationId, Ticks, CallPathId);

fn visit(wait: &Wait) -> Visit {
    (wait.location, wait.enter, wait.path)
}

/// A send that may have waited for its receive.
#[derive(Debug, Clone, Copy)]
struct PossibleEdge {
    send: EndRow,
    receive: EndRow,
    bytes: u64,
    /// Whether its call was entered before the receive was posted.
    may_have_waited: bool,
}

/// Where an end of a message is kept: the location among those with ends, and its row there.
#[derive(Debug, Clone, Copy)]
struct EndRow {
    of: u32,
    row: u32,
}

impl EndRow {
    fn new(end: &End<'_>) -> Self {
        EndRow { of: end.of, row: end.row }
    }
}

/// What is gathered over all messages.
struct Gathering<'a> {
    /// By call path.
    kinds: &'a [CallKind],
    /// By location.
    records: Vec<Option<&'a LocationRecords>>,
    /// The ends of the locations that have any.
    ends: Vec<(LocationId, &'a LocationEnds)>,
    depth: Depth,
    result: MessageWaits,
    /// Sends that may have waited, with the bytes of the message.
    late_receivers: Vec<(Wait, u64)>,
    /// Messages whose sends were not left before their receive was posted, which they may have needed.
    possible_edges: Vec<PossibleEdge>,
    /// The most bytes that were buffered between two locations.
    buffered: FxHashMap<(LocationId, LocationId), u64>,
    /// By location with probes.
    probed: BTreeMap<LocationId, Vec<Probed>>,
}

/// The waits of all messages.
pub(crate) fn message_waits(
    ends: &MessageEnds,
    records: &BTreeMap<LocationId, LocationRecords>,
    kinds: &[CallKind],
    definitions: &Definitions,
    depth: Depth,
) -> MessageWaits {
    let probes = |of: &LocationRecords| of.bare.iter().any(|call| call.kind == BareKind::Probe);
    let probed = records.iter().filter(|(_, of)| probes(of)).map(|(&id, _)| (id, Vec::new())).collect();
    let by_location = |id: LocationId| records.get(&id);
    let by_location: Vec<_> = definitions.location_ids().map(by_location).collect();
    let received = by_location.iter().map(|of| vec![None; of.map_or(0, |of| of.recorded.len())]).collect();
    let result = MessageWaits { received, ..MessageWaits::default() };
    let mut gathering = Gathering {
        kinds,
        records: by_location,
        ends: ends.locations.iter().map(|(&location, ends)| (location, ends)).collect(),
        depth,
        result,
        late_receivers: Vec::new(),
        possible_edges: Vec::new(),
        buffered: FxHashMap::default(),
        probed,
    };
    let unmatched = for_each_pair(ends, definitions, |pair| gathering.add(&pair));
    gathering.result.unmatched = unmatched;
    gathering.judge_late_receivers();
    gathering.add_probes(records);
    gathering.result
}

impl Gathering<'_> {
    fn add(&mut self, pair: &Pair<'_>) {
        let Pair { send, receive, from, .. } = pair;
        self.result.n_messages += 1;
        if send.location == receive.location {
            return;
        }
        let records = self.records[send.location.index()];
        let sent = records.map_or(send.posted(), |of| of.recorded[send.nth() as usize]);
        let visit = receive.completed().map(|call| (call.enter, call.path));
        if let Some(received) = self.result.received[receive.location.index()].get_mut(receive.nth() as usize)
        {
            *received = Some(Received { sent, from: *from, visit });
        }
        if let Some(of) = self.probed.get_mut(&receive.location) {
            let culprit = culprit(send);
            let post = records.and_then(|of| of.order.post(send));
            of.push(Probed {
                posted: receive.posted(),
                nth: receive.nth(),
                sent: send.posted(),
                culprit,
                post,
                bytes: send.bytes(),
            });
        }
        if self.depth.has_edges() {
            self.result.edges.extend(self.edge(send, receive));
        }
        self.add_late_sender(pair);
        self.add_late_receiver(pair);
    }

    fn add_late_sender(&mut self, Pair { send, receive, .. }: &Pair<'_>) {
        let Some(call) = receive.completed() else { return };
        let is_clamped = call.leave < send.posted();
        if is_clamped {
            self.result.clocks_are_wrong = true;
            if receive.is_selected() {
                self.result.violations.add(send.posted().since(call.leave));
            }
        }
        if self.depth.has_waits() && self.kinds[call.path.index()].waits() {
            let end = send.posted().min(call.leave);
            let wait = wait(WaitClass::LateSender, receive, &call, end, send);
            self.result.waits.extend(wait.map(|wait| Wait { is_clamped, ..wait }));
        }
    }

    /// What the call in which `theirs` completes needs of `mine`.
    fn edge(&self, mine: &End<'_>, theirs: &End<'_>) -> Option<MessageEdge> {
        let post = self.records[mine.location.index()]?.order.post(mine)?;
        let need = self.records[theirs.location.index()]?.need(theirs)?;
        Some(MessageEdge { post, need, bytes: mine.bytes() })
    }

    fn add_late_receiver(&mut self, Pair { send, receive, .. }: &Pair<'_>) {
        let Some(call) = send.completed() else { return };
        let is_synchronous = self.kinds[send.path().index()] == CallKind::SendsSynchronously;
        if call.leave < receive.posted() && !is_synchronous {
            let most = self.buffered.entry((send.location, receive.location)).or_default();
            *most = (*most).max(send.bytes());
            return;
        }
        match (self.depth.has_edges(), is_synchronous) {
            (false, _) => {}
            (true, true) => self.result.edges.extend(self.edge(receive, send)),
            (true, false) => self.possible_edges.push(PossibleEdge {
                send: EndRow::new(send),
                receive: EndRow::new(receive),
                bytes: send.bytes(),
                may_have_waited: call.enter < receive.posted(),
            }),
        }
        if !self.kinds[call.path.index()].waits() {
            return;
        }
        let end = receive.posted().min(call.leave);
        let Some(wait) = wait(WaitClass::LateReceiver, send, &call, end, receive) else { return };
        if is_synchronous {
            self.result.waits.push(wait);
        } else {
            self.late_receivers.push((Wait { certainty: Certainty::Possible, ..wait }, send.bytes()));
        }
    }

    /// Decides which sends must have waited.
    fn judge_late_receivers(&mut self) {
        let between = |wait: &Wait| (wait.location, wait.culprit.map_or(wait.location, |it| it.location));
        let held = self.held_by_receives();
        let is_held = |wait: &Wait| held.get(&visit(wait)).is_some_and(|sent| wait.end <= *sent);
        // The shortest length at which no message was buffered.
        let mut shortest: FxHashMap<(LocationId, LocationId), u64> = FxHashMap::default();
        for (wait, bytes) in self.late_receivers.iter().filter(|(wait, _)| !is_held(wait)) {
            if self.buffered.get(&between(wait)).is_none_or(|most| most < bytes) {
                let of = shortest.entry(between(wait)).or_insert(*bytes);
                *of = (*of).min(*bytes);
            }
        }
        for (mut wait, bytes) in std::mem::take(&mut self.late_receivers) {
            if shortest.get(&between(&wait)).is_some_and(|&shortest| shortest < bytes) {
                wait.certainty = Certainty::Certain;
            }
            self.result.waits.push(wait);
        }
        self.add_likely_edges(&shortest);
    }

    /// Decides which sends are taken to have waited where dependencies are asked for: those that must have, those that
    /// did so by all appearances, and all from the length on at which one did so and no message was buffered. A send
    /// seems to have waited if its call was left sooner after the receive was posted than it had been entered before, and
    /// nothing else is known to have held it.
    fn add_likely_edges(&mut self, shortest: &FxHashMap<(LocationId, LocationId), u64>) {
        let possible = std::mem::take(&mut self.possible_edges);
        let call = |edge: &MessageEdge| (edge.need.location, edge.need.place);
        let is_near =
            |MessageEdge { post, need, .. }: &MessageEdge| need.leave.since(post.at) < post.at.since(need.at);
        let waiting = possible.iter().filter(|it| it.may_have_waited);
        let waiting: Vec<MessageEdge> =
            waiting.filter_map(|it| self.possible_edge(it)).filter(is_near).collect();
        let mut held: FxHashMap<(LocationId, Place), Ticks> =
            waiting.iter().map(|edge| (call(edge), Ticks(0))).collect();
        for edge in self.result.edges.iter().filter(|_| !waiting.is_empty()) {
            held.entry(call(edge)).and_modify(|until| *until = edge.post.at.max(*until));
        }
        let is_held = |edge: &MessageEdge| held.get(&call(edge)).is_some_and(|until| edge.post.at <= *until);
        let most_buffered = self.buffered.values().max().copied();
        let lengths = waiting.iter().filter(|edge| !is_held(edge)).map(|edge| edge.bytes);
        let least = lengths.filter(|&bytes| most_buffered.is_none_or(|most| most < bytes)).min();
        for it in possible {
            let between = || (self.end(it.send).location, self.end(it.receive).location);
            let must_wait =
                !shortest.is_empty() && shortest.get(&between()).is_some_and(|&shortest| shortest < it.bytes);
            let is_long = must_wait || least.is_some_and(|least| least <= it.bytes);
            if !is_long && !it.may_have_waited {
                continue;
            }
            let Some(edge) = self.possible_edge(&it) else { continue };
            if is_long || (is_near(&edge) && !is_held(&edge)) {
                self.result.edges.push(edge);
                self.result.n_likely += u64::from(!must_wait && it.may_have_waited);
            } else {
                self.result.n_possible += 1;
            }
        }
    }

    fn end(&self, EndRow { of, row }: EndRow) -> End<'_> {
        let (location, ends) = self.ends[of as usize];
        End { location, of, row, ends }
    }

    /// What the call in which a send completes may have needed.
    fn possible_edge(&self, of: &PossibleEdge) -> Option<MessageEdge> {
        self.edge(&self.end(of.receive), &self.end(of.send))
    }

    /// When the last message was sent that is received in the visit of a send that may have waited.
    fn held_by_receives(&self) -> FxHashMap<Visit, Ticks> {
        let visits = self.late_receivers.iter().map(|(wait, _)| (visit(wait), Ticks(0)));
        let mut held: FxHashMap<Visit, Ticks> = visits.collect();
        if self.late_receivers.is_empty() {
            return held;
        }
        for (location, received) in (0..).map(LocationId).zip(&self.result.received) {
            for Received { sent, visit, .. } in received.iter().flatten() {
                let of_visit = visit.and_then(|(enter, path)| held.get_mut(&(location, enter, path)));
                of_visit.into_iter().for_each(|held| *held = (*held).max(*sent));
            }
        }
        held
    }

    fn add_probes(&mut self, records: &BTreeMap<LocationId, LocationRecords>) {
        for (&location, probed) in &mut self.probed {
            probed.sort_unstable_by_key(|it| (it.posted, it.nth));
            let probes = records[&location].bare.iter().filter(|call| call.kind == BareKind::Probe);
            for probe in probes {
                let Some(it) = probed.get(probed.partition_point(|it| it.posted < probe.leave)) else {
                    continue;
                };
                let (start, end) = (probe.enter, it.sent.min(probe.leave));
                let (place, leave, path) = (Place::Before, probe.leave, probe.path);
                let need = Need { location, place, at: start, leave, path };
                self.result.edges.extend(it.post.map(|post| MessageEdge { post, need, bytes: it.bytes }));
                self.result.waits.extend((start < end).then_some(Wait {
                    class: WaitClass::LateSender,
                    certainty: Certainty::Certain,
                    is_clamped: false,
                    location,
                    path: probe.path,
                    enter: probe.enter,
                    leave: probe.leave,
                    start,
                    end,
                    culprit: Some(it.culprit),
                    nth: it.nth,
                }));
            }
        }
    }
}

impl CallOrder {
    /// The posting of an end, if its place is known.
    fn post(&self, end: &End<'_>) -> Option<Post> {
        let steps = self.ends.get(end.nth() as usize).filter(|steps| steps.posted != Steps::NONE.posted)?;
        Some(Post { location: end.location, place: Place::Nth(steps.posted), at: end.posted() })
    }
}

impl LocationRecords {
    /// The call in which an end completes; outside of every call, the moment at which it was recorded.
    fn need(&self, end: &End<'_>) -> Option<Need> {
        let steps =
            self.order.ends.get(end.nth() as usize).filter(|it| it.completed != Steps::NONE.completed)?;
        let (at, leave, path) = match end.completed() {
            Some(call) => (call.enter, call.leave, call.path),
            None => {
                let recorded = self.recorded.get(end.nth() as usize).copied();
                let recorded = recorded.filter(|at| Ticks(0) < *at)?;
                (recorded, recorded, CallPathTree::ROOT)
            }
        };
        Some(Need { location: end.location, place: Place::Nth(steps.completed), at, leave, path })
    }
}

/// The call that posted an end.
fn culprit(end: &End<'_>) -> Culprit {
    let arrived = end.posted();
    let left = end
        .completed()
        .filter(|call| (call.enter, call.path) == (arrived, end.path()))
        .map_or(arrived, |call| call.leave);
    Culprit { location: end.location, path: end.path(), arrived, left }
}

/// A wait in `call`, in which the end `mine` completes.
fn wait(class: WaitClass, mine: &End<'_>, call: &EndCall, end: Ticks, theirs: &End<'_>) -> Option<Wait> {
    (call.enter < end).then(|| Wait {
        class,
        certainty: Certainty::Certain,
        is_clamped: false,
        location: mine.location,
        path: call.path,
        enter: call.enter,
        leave: call.leave,
        start: call.enter,
        end,
        culprit: Some(culprit(theirs)),
        nth: mine.nth(),
    })
}
