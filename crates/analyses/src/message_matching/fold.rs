//! The fold: a slot for each end in the order of posting, and the calls that they are posted and completed in.
//!
//! The fold reads only records of messages and collectives, and the visits that end while one of them waits for the
//! end of its call: the innermost call of a record is left by the first later visit with the record's call path.
//! Ends that are not selected are kept like the others, but marked as not counting.

use super::ends::{LocationEnds, MessageEnds, NO_CALL, Queue, Side};
use crate::communication_totals::{Channel, LEAST_NULL_PEER, peer_rank};
use ouzel_engine::{LocationCx, Selected};
use ouzel_model::{
    CallPathId, CallPathTree, Collective, CommId, CommRank, EventChunk, MessageEnd, RegionId, Request,
    RequestEvent, RmaEvent, Ticks, Visit, WorldRank,
};
use rustc_hash::FxHashMap;

/// Takes part in the fold: sees each record after the message ends have taken it.
pub trait Observer {
    /// An end of a message with its place in the order of posting.
    fn end(&mut self, _end: &MessageEnd, _side: Side, _nth: u32, _path: CallPathId, _at: Ticks) {}
    /// A step of a request, with the place in the order of posting of the receive that it posts or the send that it
    /// completes.
    fn request(&mut self, _request: &Request, _nth: Option<u32>, _path: CallPathId, _at: Ticks) {}
    /// The end of a collective.
    fn collective(&mut self, _collective: &Collective, _path: CallPathId, _at: Ticks) {}
    /// An event of one-sided communication.
    fn rma(&mut self, _event: &RmaEvent, _path: CallPathId, _at: Ticks) {}
    /// Whether it waits for the end of a call.
    fn is_waiting(&self) -> bool {
        false
    }
    /// A call of `region` is over. Only called while the fold or the observer waits for the end of a call.
    fn leave(&mut self, _visit: &Visit, _region: RegionId) {}
}

impl Observer for () {}

/// The other side of a message as recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct RawQueue {
    comm: CommId,
    peer: CommRank,
    tag: u32,
    side: Side,
}

/// A place in the order of posting.
#[derive(Debug, Clone, Copy)]
struct Slot {
    posted: Ticks,
    bytes: u64,
    enter: Ticks,
    leave: Ticks,
    path: CallPathId,
    call: CallPathId,
    /// Index into [`MatchingLocal::queues`]; [`NO_QUEUE`] for a receive that was posted and has yet to complete.
    queue: u32,
    /// Whether the record of the end is selected.
    is_selected: bool,
}

const NO_QUEUE: u32 = u32::MAX;

/// What waits for the end of the call it is in.
#[derive(Debug, Clone, Copy)]
struct PendingEnd {
    path: CallPathId,
    slot: u32,
    is_posted: bool,
    is_completed: bool,
}

/// While a location is folded.
#[derive(Debug, Default)]
pub struct MatchingLocal {
    /// What counts.
    selected: Selected,
    slots: Vec<Slot>,
    /// Queues with the number of their ends that are selected.
    queues: Vec<(RawQueue, u64)>,
    queue_of: FxHashMap<RawQueue, u32>,
    /// Those of inner calls last.
    open: Vec<PendingEnd>,
    /// Slot of the receive that was posted under a request.
    posted: FxHashMap<u64, u32>,
    /// Slot of the send that was posted under a request.
    sending: FxHashMap<u64, u32>,
    /// Receives that never completed and were posted where it counts.
    uncompleted_receives: u64,
}

/// Takes the records of a chunk in their order.
#[inline(never)]
pub fn fold<O: Observer>(local: &mut MatchingLocal, observer: &mut O, chunk: &EventChunk<'_>) {
    let EventChunk { time, call_path, region, visits, mut sends, mut recvs, .. } = *chunk;
    let EventChunk { mut requests, mut collectives, mut rma, .. } = *chunk;
    let mut next_visit = 0;
    let mut leave_until = |local: &mut MatchingLocal, observer: &mut O, row: u32| {
        while !local.open.is_empty() || observer.is_waiting() {
            let Some(visit) = visits.get(next_visit).filter(|visit| visit.row < row) else { return };
            next_visit += 1;
            local.leave(visit);
            observer.leave(visit, region[visit.row as usize]);
        }
        next_visit += n_before(&visits[next_visit..], row);
    };
    loop {
        let send = sends.first().map_or(u32::MAX, |end| end.row);
        let recv = recvs.first().map_or(u32::MAX, |end| end.row);
        let request = requests.first().map_or(u32::MAX, |request| request.row);
        let collective = collectives.first().map_or(u32::MAX, |collective| collective.row);
        let one_sided = rma.first().map_or(u32::MAX, |event| event.row);
        let row = send.min(recv).min(request).min(collective).min(one_sided);
        leave_until(local, observer, row);
        if row == u32::MAX {
            return;
        }
        let (at, path) = (time[row as usize], call_path[row as usize]);
        if row == send
            && let Some((end, rest)) = sends.split_first()
        {
            sends = rest;
            let nth = local.send(end, path, at);
            observer.end(end, Side::Send, nth, path, at);
        } else if row == recv
            && let Some((end, rest)) = recvs.split_first()
        {
            recvs = rest;
            let nth = local.receive(end, path, at);
            observer.end(end, Side::Receive, nth, path, at);
        } else if row == request
            && let Some((request, rest)) = requests.split_first()
        {
            requests = rest;
            let nth = local.request(request, path, at);
            observer.request(request, nth, path, at);
        } else if row == one_sided
            && let Some((event, rest)) = rma.split_first()
        {
            rma = rest;
            observer.rma(event, path, at);
        } else if let Some((collective, rest)) = collectives.split_first() {
            collectives = rest;
            observer.collective(collective, path, at);
        }
    }
}

/// How many visits end before a row: doubling steps, as the next record is mostly near.
fn n_before(visits: &[Visit], row: u32) -> usize {
    let mut n = 1;
    while visits.get(n).is_some_and(|visit| visit.row < row) {
        n *= 2;
    }
    let visits = &visits[..visits.len().min(n)];
    visits.partition_point(|visit| visit.row < row)
}

impl MatchingLocal {
    /// The state before the first record of a location.
    pub fn new(cx: &LocationCx<'_>) -> Self {
        MatchingLocal { selected: cx.selected, ..MatchingLocal::default() }
    }

    fn leave(&mut self, visit: &Visit) {
        while let Some(&open) = self.open.last().filter(|open| open.path == visit.call_path) {
            self.open.pop();
            let slot = &mut self.slots[open.slot as usize];
            if open.is_posted {
                slot.posted = visit.enter;
            }
            if open.is_completed {
                slot.call = visit.call_path;
                slot.enter = visit.enter;
                slot.leave = visit.leave;
            }
        }
    }

    fn wait(&mut self, path: CallPathId, slot: u32, is_posted: bool, is_completed: bool) {
        if path != CallPathTree::ROOT {
            self.open.push(PendingEnd { path, slot, is_posted, is_completed });
        }
    }

    /// The next place in the order of posting.
    fn post(&mut self, path: CallPathId, at: Ticks) -> u32 {
        let slot =
            u32::try_from(self.slots.len()).expect("memory ends before 2^32 ends of a location of 48 bytes");
        let (posted, call, queue) = (at, NO_CALL, NO_QUEUE);
        let is_selected = self.selected.has(at);
        let (bytes, enter, leave) = (0, Ticks(0), Ticks(0));
        self.slots.push(Slot { posted, bytes, enter, leave, path, call, queue, is_selected });
        slot
    }

    /// Puts an end into its queue.
    fn fill(&mut self, slot: u32, end: &MessageEnd, side: Side, at: Ticks) {
        let &MessageEnd { comm, peer, tag, bytes, .. } = end;
        let raw = RawQueue { comm, peer, tag, side };
        let next = self.queues.len() as u32;
        let queue = *self.queue_of.entry(raw).or_insert(next);
        if queue == next {
            self.queues.push((raw, 0));
        }
        self.queues[queue as usize].1 += u64::from(self.selected.has(at));
        let slot = &mut self.slots[slot as usize];
        slot.bytes = bytes;
        slot.queue = queue;
        slot.is_selected = self.selected.has(at);
    }

    fn send(&mut self, end: &MessageEnd, path: CallPathId, at: Ticks) -> u32 {
        let slot = self.post(path, at);
        self.fill(slot, end, Side::Send, at);
        self.wait(path, slot, true, end.request.is_none());
        if let Some(request) = end.request {
            // The completion of an earlier send under this number was not recorded.
            self.sending.insert(request, slot);
        }
        slot
    }

    fn receive(&mut self, end: &MessageEnd, path: CallPathId, at: Ticks) -> u32 {
        let posted = end.request.and_then(|request| self.posted.remove(&request));
        let slot = posted.unwrap_or_else(|| self.post(path, at));
        self.fill(slot, end, Side::Receive, at);
        self.wait(path, slot, posted.is_none(), true);
        slot
    }

    /// The slot of a receive that is posted, or of a send that completes.
    fn request(&mut self, request: &Request, path: CallPathId, at: Ticks) -> Option<u32> {
        match request.event {
            RequestEvent::RecvPosted => {
                let slot = self.post(path, at);
                self.wait(path, slot, true, false);
                let lost = self.posted.insert(request.request, slot);
                self.uncompleted_receives += self.n_selected(lost);
                Some(slot)
            }
            RequestEvent::SendComplete => {
                let slot = self.sending.remove(&request.request)?;
                self.wait(path, slot, false, true);
                Some(slot)
            }
            RequestEvent::Cancelled => {
                self.posted.remove(&request.request);
                self.sending.remove(&request.request);
                None
            }
            RequestEvent::Tested | RequestEvent::CollectivePosted => None,
        }
    }

    /// How many of some slots are selected.
    fn n_selected(&self, slots: impl IntoIterator<Item = u32>) -> u64 {
        slots.into_iter().map(|slot| u64::from(self.slots[slot as usize].is_selected)).sum()
    }

    /// Adds the ends of a complete location.
    pub fn end(self, cx: &LocationCx<'_>, into: &mut MessageEnds) {
        // Only their number is needed, so the order of the map does not matter.
        into.uncompleted_receives +=
            self.uncompleted_receives + self.n_selected(self.posted.values().copied());
        let me = cx.definitions.location(cx.location).rank;
        let mut keys: Vec<Option<(Channel, Side)>> = Vec::with_capacity(self.queues.len());
        for &(raw, n) in &self.queues {
            let key = channel(cx, me, raw);
            keys.push(key);
            if key.is_none() {
                let nobody = LEAST_NULL_PEER <= raw.peer.0;
                *(if nobody { &mut into.null_peers } else { &mut into.unresolved_peers }) += n;
            }
        }
        let ends = in_queues(&self.slots, &keys);
        if !ends.nth.is_empty() {
            into.locations.insert(cx.location, ends);
        }
    }
}

fn channel(cx: &LocationCx<'_>, me: Option<WorldRank>, raw: RawQueue) -> Option<(Channel, Side)> {
    let RawQueue { comm, peer, tag, side } = raw;
    let me = me.filter(|_| peer.0 < LEAST_NULL_PEER)?;
    let peer = peer_rank(cx.definitions, comm, me, peer)?;
    let (from, to) = match side {
        Side::Send => (me, peer),
        Side::Receive => (peer, me),
    };
    Some((Channel { from, to, comm, tag }, side))
}

/// The slots queue by queue; `keys` are the queues. Slots without a queue are left out.
fn in_queues(slots: &[Slot], keys: &[Option<(Channel, Side)>]) -> LocationEnds {
    let mut sorted: Vec<(Channel, Side)> = keys.iter().flatten().copied().collect();
    sorted.sort_unstable();
    // Two ranks of a damaged communicator may be one process.
    sorted.dedup();
    let place = |key: &Option<(Channel, Side)>| {
        key.map_or(usize::MAX, |key| sorted.partition_point(|other| *other < key))
    };
    let place: Vec<usize> = keys.iter().map(place).collect();
    let place_of = |slot: &Slot| place.get(slot.queue as usize).copied().unwrap_or(usize::MAX);
    let mut starts = vec![0; sorted.len() + 1];
    let counted = slots.iter().map(place_of).filter(|&place| place != usize::MAX);
    counted.for_each(|place| starts[place + 1] += 1);
    for place in 0..sorted.len() {
        starts[place + 1] += starts[place];
    }
    let mut next = starts.clone();
    let mut rows = vec![0_u32; starts[sorted.len()]];
    for (nth, slot) in (0..).zip(slots) {
        let place = place_of(slot);
        if place != usize::MAX {
            rows[next[place]] = nth;
            next[place] += 1;
        }
    }
    for queue in starts.windows(2) {
        let rows = &mut rows[queue[0]..queue[1]];
        let posted = |&nth: &u32| slots[nth as usize].posted;
        if !rows.is_sorted_by_key(posted) {
            // Stable: the order of posting where times are equal.
            rows.sort_by_key(posted);
        }
    }
    let queue =
        |(&(channel, side), start): (_, &[usize])| Queue { channel, side, n: (start[1] - start[0]) as u32 };
    let slot = |&nth: &u32| &slots[nth as usize];
    let all_selected = rows.iter().all(|row| slot(row).is_selected);
    LocationEnds {
        selected: if all_selected {
            Vec::new()
        } else {
            rows.iter().map(|row| slot(row).is_selected).collect()
        },
        queues: sorted.iter().zip(starts.windows(2)).map(queue).collect(),
        posted: rows.iter().map(|row| slot(row).posted).collect(),
        path: rows.iter().map(|row| slot(row).path).collect(),
        bytes: rows.iter().map(|row| slot(row).bytes).collect(),
        call: rows.iter().map(|row| slot(row).call).collect(),
        enter: rows.iter().map(|row| slot(row).enter).collect(),
        leave: rows.iter().map(|row| slot(row).leave).collect(),
        nth: rows,
    }
}
