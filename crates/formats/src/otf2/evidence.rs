//! What records reveal about references without a definition.
//!
//! ```text
//! event files ──scan──► Evidence: by region reference what its calls hold, by communicator reference who takes part
//! ```
//!
//! Only archives whose definitions have a hole are scanned, once, when they are opened. Law: what is inferred is what
//! every reader of the records would say; where they do not say it, it stays unknown.

use super::collect::Collected;
use ouzel_model::{CollectiveOp, RegionRole};
use ouzel_otf2::Archive;
use ouzel_otf2::MappingTables;
use ouzel_otf2::read::EventSink;
use ouzel_otf2::records::{Event, RefKind};
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Peers from here on are negative ranks: `MPI_PROC_NULL` and the like.
const LEAST_NULL_PEER: u32 = 1 << 31;

/// References of one kind that are distinguished. Tracers number from zero; larger numbers of a corrupt file are
/// ignored, so memory is bounded by what real programs define.
const MAX_REFERENCES: usize = 4096;

/// What records say.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    /// By global reference of a region without a meaning.
    pub regions: BTreeMap<u32, RegionUse>,
    /// By global reference of a communicator without members.
    pub comms: BTreeMap<u32, CommUse>,
    /// Locations with messages or collectives on any communicator.
    pub communicating: BTreeSet<u64>,
    /// Locations that were read to their end.
    pub whole: BTreeSet<u64>,
}

/// What the calls of a region hold, directly inside.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct RegionUse {
    visits: u64,
    /// Visits that call something.
    calling: u64,
    /// Visits with each kind of record.
    with: [u64; N_KINDS],
    ops: BTreeMap<CollectiveOp, u64>,
}

/// Kinds of records in a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Held {
    Send,
    Receive,
    /// A receive or collective is posted.
    Post,
    /// An operation that was posted elsewhere completes, or is tested.
    Completion,
    Collective,
}

const N_KINDS: usize = 5;

/// Which locations talk on a communicator.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct CommUse {
    /// Locations with records on it.
    pub locations: BTreeSet<u64>,
    /// The greatest rank that records name.
    pub rank_max: u32,
    /// Number of messages by location and peer.
    pub sent: BTreeMap<(u64, u32), u64>,
    /// The same for receives.
    pub received: BTreeMap<(u64, u32), u64>,
}

impl RegionUse {
    /// The role of the region in messages or collectives and a word for it, if its calls are such.
    pub fn meaning(&self) -> Option<(RegionRole, &'static str)> {
        let is_leaf = self.calling.saturating_mul(100) <= self.visits;
        if !is_leaf {
            return None;
        }
        let with = |held: Held| self.with[held as usize];
        let in_most = |n: u64| 0 < n && self.visits <= n.saturating_mul(2);
        if in_most(with(Held::Collective)) {
            return Some(collective(&self.ops));
        }
        let (sends, receives) = (with(Held::Send), with(Held::Receive));
        let word = match (sends, receives) {
            // A call that polls finds nothing most of the time, and writes no record then.
            (0, 0) if 0 < with(Held::Completion) => "wait",
            (0, 0) if in_most(with(Held::Post)) => "post",
            (_, 0) if in_most(sends) => "send",
            (0, _) if in_most(receives) => "receive",
            (1.., 1..) if in_most(sends.max(receives)) => "send and receive",
            _ => return None,
        };
        Some((RegionRole::PointToPoint, word))
    }

    fn add(&mut self, other: RegionUse) {
        self.visits += other.visits;
        self.calling += other.calling;
        for (sum, n) in self.with.iter_mut().zip(other.with) {
            *sum += n;
        }
        for (op, n) in other.ops {
            *self.ops.entry(op).or_default() += n;
        }
    }
}

/// The role of a call that makes these collectives.
fn collective(ops: &BTreeMap<CollectiveOp, u64>) -> (RegionRole, &'static str) {
    use CollectiveOp as Op;
    let role = |op: Op| match op {
        Op::Barrier => RegionRole::Barrier,
        Op::Bcast | Op::Scatter | Op::Scatterv => RegionRole::CollectiveOneToAll,
        Op::Gather | Op::Gatherv | Op::Reduce => RegionRole::CollectiveAllToOne,
        Op::Scan | Op::Exscan => RegionRole::CollectiveAllToOne,
        Op::Allgather
        | Op::Allgatherv
        | Op::Alltoall
        | Op::Alltoallv
        | Op::Alltoallw
        | Op::Allreduce
        | Op::ReduceScatter
        | Op::ReduceScatterBlock => RegionRole::CollectiveAllToAll,
        _ => RegionRole::CollectiveOther,
    };
    let mut all = ops.keys().copied();
    match (all.next(), all.next()) {
        (Some(op), None) if op != Op::Unknown => (role(op), op.as_str()),
        _ => (RegionRole::CollectiveOther, "collective"),
    }
}

impl CommUse {
    fn add(&mut self, other: CommUse) {
        self.locations.extend(other.locations);
        self.rank_max = self.rank_max.max(other.rank_max);
        for (into, from) in [(&mut self.sent, other.sent), (&mut self.received, other.received)] {
            for (key, n) in from {
                *into.entry(key).or_default() += n;
            }
        }
    }

    /// Whether both sides of its messages say the same when its ranks are world ranks; `rank_of` has the world rank of a
    /// location that was read to its end.
    pub fn agrees(&self, rank_of: &BTreeMap<u64, u32>) -> bool {
        let location_of: BTreeMap<u32, u64> =
            rank_of.iter().map(|(&location, &rank)| (rank, location)).collect();
        let (mut all, mut alike) = (0, 0);
        for (one, other) in [(&self.sent, &self.received), (&self.received, &self.sent)] {
            for (&(location, peer), &n) in one {
                let (Some(&me), Some(&peer)) = (rank_of.get(&location), location_of.get(&peer)) else {
                    continue;
                };
                let n_there = other.get(&(peer, me)).copied().unwrap_or(0);
                all += n.max(n_there);
                alike += n.min(n_there);
            }
        }
        // Some messages of a run that was ended have one side only.
        all - alike <= all / 20
    }
}

impl Evidence {
    /// Reads the events of all locations for what `collected` does not explain, on as many threads as may open files.
    pub fn scan(archive: &Archive, collected: &Collected) -> Evidence {
        let lost = Lost::new(collected);
        let locations: Vec<u64> = collected.locations.iter().map(|location| location.id).collect();
        let n_threads = ouzel_files::threads::most();
        let next = AtomicUsize::new(0);
        let part = || {
            let mut evidence = Evidence::default();
            while let Some(&location) = locations.get(next.fetch_add(1, Ordering::Relaxed)) {
                evidence.read(archive, location, &lost);
            }
            evidence
        };
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..n_threads.min(locations.len())).map(|_| scope.spawn(part)).collect();
            let mut all = part();
            others.into_iter().filter_map(|other| other.join().ok()).for_each(|other| all.add(other));
            all
        })
    }

    fn read(&mut self, archive: &Archive, location: u64, lost: &Lost) {
        let Ok(mut events) = archive.events(location) else { return };
        let (local, _) = archive.read_local_definitions(location);
        let mut scan =
            EvidenceScan { location, lost, mapping: &local.mapping, evidence: self, open: Vec::new() };
        let is_whole = loop {
            match events.read(usize::MAX, &mut scan) {
                Ok(0) => break true,
                Ok(_) => {}
                Err(_) => break false,
            }
        };
        while let Some(call) = scan.open.pop() {
            scan.close(call);
        }
        if is_whole {
            self.whole.insert(location);
        }
    }

    fn add(&mut self, other: Evidence) {
        for (reference, of_region) in other.regions {
            self.regions.entry(reference).or_default().add(of_region);
        }
        for (reference, of_comm) in other.comms {
            self.comms.entry(reference).or_default().add(of_comm);
        }
        self.communicating.extend(other.communicating);
        self.whole.extend(other.whole);
    }
}

/// Which references are looked for.
#[derive(Debug)]
struct Lost {
    /// Regions that have a name or a role.
    known_regions: FxHashSet<u32>,
    /// Communicators that have members.
    known_comms: FxHashSet<u32>,
}

impl Lost {
    fn new(collected: &Collected) -> Self {
        let has_meaning = |region: &&ouzel_otf2::records::definition::Region| collected.has_meaning(region);
        let regions = collected.regions.iter().filter(has_meaning).map(|region| region.id);
        let comms = collected.comms.iter().filter(|comm| collected.has_members(comm)).map(|comm| comm.id);
        Lost { known_regions: regions.collect(), known_comms: comms.collect() }
    }
}

/// An open call.
#[derive(Debug, Clone, Copy)]
struct EvidenceCall {
    /// Its global reference, if it is looked for.
    region: Option<u32>,
    local: u32,
    calls: bool,
    /// Bits of [`Held`].
    held: u8,
    op: Option<CollectiveOp>,
}

/// The scan of one location.
struct EvidenceScan<'a> {
    location: u64,
    lost: &'a Lost,
    mapping: &'a MappingTables,
    evidence: &'a mut Evidence,
    open: Vec<EvidenceCall>,
}

impl EvidenceScan<'_> {
    fn begin(&mut self, local: u32, region: Option<u32>) {
        if let Some(caller) = self.open.last_mut() {
            caller.calls = true;
        }
        self.open.push(EvidenceCall { region, local, calls: false, held: 0, op: None });
    }

    fn end(&mut self, local: u32) {
        // A leave that closes nothing is left out, one that closes an outer call closes the inner ones, too.
        let Some(at) = self.open.iter().rposition(|call| call.local == local) else { return };
        while at < self.open.len()
            && let Some(call) = self.open.pop()
        {
            self.close(call);
        }
    }

    fn close(&mut self, call: EvidenceCall) {
        let Some(region) = call.region else { return };
        if self.evidence.regions.len() == MAX_REFERENCES && !self.evidence.regions.contains_key(&region) {
            return;
        }
        let of_region = self.evidence.regions.entry(region).or_default();
        of_region.visits += 1;
        of_region.calling += u64::from(call.calls);
        for (kind, n) in of_region.with.iter_mut().enumerate() {
            *n += u64::from(call.held >> kind & 1);
        }
        if let Some(op) = call.op {
            *of_region.ops.entry(op).or_default() += 1;
        }
    }

    fn hold(&mut self, held: Held) {
        if let Some(call) = self.open.last_mut() {
            call.held |= 1 << held as u8;
        }
    }

    /// A record on a communicator that names a rank of it, if one.
    fn comm(&mut self, local: u32, rank: Option<u32>) -> Option<&mut CommUse> {
        self.evidence.communicating.insert(self.location);
        let comm = self.mapping.map_u32(RefKind::Comm, local);
        let comms = &mut self.evidence.comms;
        let is_full = comms.len() == MAX_REFERENCES && !comms.contains_key(&comm);
        if is_full || self.lost.known_comms.contains(&comm) {
            return None;
        }
        let of_comm = comms.entry(comm).or_default();
        of_comm.locations.insert(self.location);
        if let Some(rank) = rank.filter(|&rank| rank < LEAST_NULL_PEER) {
            of_comm.rank_max = of_comm.rank_max.max(rank);
        }
        Some(of_comm)
    }

    fn message(&mut self, held: Held, is_posted_elsewhere: bool, comm: u32, peer: u32) {
        self.hold(if is_posted_elsewhere { Held::Completion } else { held });
        let location = self.location;
        if let Some(of_comm) = self.comm(comm, Some(peer))
            && peer < LEAST_NULL_PEER
        {
            let of_side = if held == Held::Send { &mut of_comm.sent } else { &mut of_comm.received };
            *of_side.entry((location, peer)).or_default() += 1;
        }
    }

    fn collective(&mut self, op: u8, comm: u32, root: u32) {
        self.hold(Held::Collective);
        if let Some(call) = self.open.last_mut() {
            call.op = Some(CollectiveOp::from_code(op));
        }
        self.comm(comm, Some(root));
    }
}

impl EventSink for EvidenceScan<'_> {
    fn enter(&mut self, _: u64, region: u32) {
        let global = self.mapping.map_u32(RefKind::Region, region);
        let is_lost = !self.lost.known_regions.contains(&global);
        self.begin(region, is_lost.then_some(global));
    }

    fn leave(&mut self, _: u64, region: u32) {
        self.end(region);
    }

    fn event(&mut self, _: u64, event: Event<'_>) {
        match event {
            Event::MpiSend(m) => self.message(Held::Send, false, m.communicator, m.receiver),
            Event::MpiIsend(m) => self.message(Held::Send, false, m.communicator, m.receiver),
            Event::MpiRecv(m) => self.message(Held::Receive, false, m.communicator, m.sender),
            Event::MpiIrecv(m) => self.message(Held::Receive, true, m.communicator, m.sender),
            Event::MpiIrecvRequest(_) | Event::NonBlockingCollectiveRequest(_) => self.hold(Held::Post),
            Event::MpiIsendComplete(_) | Event::MpiRequestTest(_) | Event::MpiRequestCancelled(_) => {
                self.hold(Held::Completion);
            }
            Event::MpiCollectiveEnd(c) => self.collective(c.collective_op.to_u8(), c.communicator, c.root),
            Event::NonBlockingCollectiveComplete(c) => {
                self.hold(Held::Completion);
                self.comm(c.communicator, Some(c.root));
            }
            // Frames of other kinds hold no records of their own.
            Event::CallingContextEnter(c) => self.begin(c.calling_context, None),
            Event::CallingContextLeave(c) => self.end(c.calling_context),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_what_its_records_say() {
        let meaning = |visits, calling, with: [u64; N_KINDS], ops: &[CollectiveOp]| {
            let ops = ops.iter().map(|&op| (op, 1)).collect();
            RegionUse { visits, calling, with, ops }.meaning()
        };
        use RegionRole as Role;
        let check = |visits, with, expected| {
            assert_eq!(meaning(visits, 0, with, &[]), expected, "{visits} {with:?}");
        };
        check(9, [9, 0, 0, 0, 0], Some((Role::PointToPoint, "send")));
        check(9, [0, 9, 0, 0, 0], Some((Role::PointToPoint, "receive")));
        check(9, [9, 9, 0, 0, 0], Some((Role::PointToPoint, "send and receive")));
        check(9, [0, 0, 9, 0, 0], Some((Role::PointToPoint, "post")));
        // Most tests find nothing; most calls of a function that sends now and then do something else.
        check(90, [0, 0, 0, 1, 0], Some((Role::PointToPoint, "wait")));
        check(90, [1, 0, 0, 0, 0], None);
        check(9, [0; N_KINDS], None);
        let collective = |ops: &[CollectiveOp]| meaning(9, 0, [0, 0, 0, 0, 9], ops);
        use CollectiveOp::{Allreduce, Barrier, Bcast, Reduce};
        assert_eq!(collective(&[Barrier]), Some((Role::Barrier, "barrier")));
        assert_eq!(collective(&[Bcast]), Some((Role::CollectiveOneToAll, "bcast")));
        assert_eq!(collective(&[Allreduce]), Some((Role::CollectiveAllToAll, "allreduce")));
        assert_eq!(collective(&[Bcast, Reduce]), Some((Role::CollectiveOther, "collective")));
        assert_eq!(meaning(9, 9, [0, 0, 0, 0, 9], &[Barrier]), None, "the program calls others");
    }

    #[test]
    fn ranks_are_world_ranks_only_if_both_sides_agree() {
        let ranks = BTreeMap::from([(10, 0), (11, 1), (12, 2)]);
        let mut ring = CommUse::default();
        for rank in 0..3_u32 {
            ring.sent.insert((10 + u64::from(rank), (rank + 1) % 3), 20);
            ring.received.insert((10 + u64::from(rank), (rank + 2) % 3), 20);
        }
        assert!(ring.agrees(&ranks));
        ring.sent.insert((10, 1), 21);
        assert!(ring.agrees(&ranks), "one of 21 was on its way at the end");
        ring.sent.insert((10, 1), 40);
        assert!(!ring.agrees(&ranks));
        let to_lost = CommUse { sent: BTreeMap::from([((10, 7), 5)]), ..CommUse::default() };
        assert!(to_lost.agrees(&ranks), "the other side is not there to say anything");
    }
}
