//! Waiting in collectives.
//!
//! | class | operations | member i waits |
//! |---|---|---|
//! | wait at barrier, at create | barrier; making and freeing communicators, windows, files | `min(B, x) − b` |
//! | … of windows, wait at fence | making and freeing windows; fences | `B − b`, if `B ≤ X` |
//! | wait at N×N | allreduce, allgather(v), alltoall(v, w), reduce_scatter(_block) | `min(B, x) − b` |
//! | … with neighbours | neighbor_allgather(v), neighbor_alltoall(v, w) | the same with the latest `b` of the neighbours in the Cartesian topology of the communicator; without one at most as N×N |
//! | late broadcast | bcast, scatter(v) | all but the root: `min(b of the root, x) − b` |
//! | wait for the last | reduce, gather(v) | the root: `min(B, x) − b`; early reduce with the earliest `b` of the others in place of `B` |
//! | early scan | scan, exscan | `min(B over the ranks up to its own, x) − b` |
//! | completion | barrier, N×N | `x − max(X, B)` |
//!
//! `b` and `x` are the begin and end records of the member, in default of them enter and leave of its call; `B` is the
//! latest `b`, `X` the earliest `x`. A non-blocking collective begins when it is posted, and waits in the call that
//! completes it: `min(B, leave) − enter`. Members that neither send nor receive a byte have no part, but in barriers.
//! On an inter-communicator, only members of the other group are waited for. An instance that lacks members of its
//! communicator is counted, and has no waits. The last member is the culprit, of several the smallest location.

use crate::calls::CallKind;
use crate::class::{Certainty, WaitClass};
use crate::delays::GroupPoint;
use crate::depth::Depth;
use crate::edges::{Join, Need, Place, Post};
use crate::neighbours::Neighbours;
use crate::records::{CollectiveRecord, CollectiveSite, LocationRecords, Steps};
use crate::wait::{Culprit, Wait};
use ouzel_analyses::paired_operations::{CollectiveMember, CollectivePart, instances, n_members};
use ouzel_model::{CollectiveOp, CommId, Communicator, Definitions, LocationId, Ticks, WorldRank};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// What the collectives of a run say about waiting.
#[derive(Debug, Default)]
pub(crate) struct CollectiveWaits {
    /// At most one of them counts for each visit.
    pub waits: Vec<Wait>,
    /// Parts of these, and what is no waiting.
    pub beside: Vec<Wait>,
    /// Instances that none left before all had come.
    pub groups: Vec<GroupPoint>,
    /// Selected collectives whose instance lacks members.
    pub n_partial: u64,
    /// Selected collectives that belong to no instance.
    pub n_unaligned: u64,
    /// Who needs whom, if the order of calls is kept.
    pub joins: Vec<Join>,
    /// Parts of instances that lack members, or of none, selected or not.
    pub n_without_edges: u64,
}

impl CollectiveWaits {
    pub fn append(&mut self, from: CollectiveWaits) {
        self.waits.extend(from.waits);
        self.beside.extend(from.beside);
        self.groups.extend(from.groups);
        self.n_partial += from.n_partial;
        self.n_unaligned += from.n_unaligned;
        let n_before = self.joins.len() as u32;
        let moved = |join: Join| Join { after: join.after.map(|after| after + n_before), ..join };
        self.joins.extend(from.joins.into_iter().map(moved));
        self.n_without_edges += from.n_without_edges;
    }
}

/// One member's part, and where it is in the sequence of its location.
pub(crate) type WindowPart = (LocationId, CollectiveRecord, Option<Steps>);

/// A fence that no member left before all had come.
#[derive(Debug)]
pub(crate) struct SynchronisedFence {
    /// Which of the parts are its members.
    pub members: Vec<usize>,
    pub waits: Vec<Wait>,
}

/// Who waits for whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pattern {
    AllForAll {
        class: WaitClass,
        completion: Option<WaitClass>,
        needs_data: bool,
        certainty: Certainty,
    },
    /// The same if no member leaves before the last comes; else none waits.
    AllIfTogether(WaitClass),
    AllForRoot,
    RootForAll,
    EachForEarlier,
}

fn pattern(op: CollectiveOp, site: CollectiveSite) -> Option<Pattern> {
    use CollectiveOp as Op;
    let all = |class, completion, needs_data, certainty| {
        Some(Pattern::AllForAll { class, completion, needs_data, certainty })
    };
    let (nxn, completion) = (WaitClass::WaitAtNxn, Some(WaitClass::NxnCompletion));
    match op {
        Op::Barrier if site == CollectiveSite::Fence => Some(Pattern::AllIfTogether(WaitClass::WaitAtFence)),
        Op::CreateHandle
        | Op::DestroyHandle
        | Op::Allocate
        | Op::Deallocate
        | Op::CreateHandleAndAllocate
        | Op::DestroyHandleAndDeallocate
            if site != CollectiveSite::Communicator =>
        {
            Some(Pattern::AllIfTogether(WaitClass::WaitAtCreate))
        }
        Op::Barrier => {
            all(WaitClass::WaitAtBarrier, Some(WaitClass::BarrierCompletion), false, Certainty::Certain)
        }
        Op::Allreduce | Op::Allgather | Op::Allgatherv | Op::Alltoall => {
            all(nxn, completion, true, Certainty::Certain)
        }
        Op::ReduceScatter | Op::ReduceScatterBlock => all(nxn, completion, true, Certainty::Certain),
        Op::Alltoallv | Op::Alltoallw => all(nxn, completion, true, Certainty::UpperBound),
        Op::Bcast | Op::Scatter | Op::Scatterv => Some(Pattern::AllForRoot),
        Op::Reduce | Op::Gather | Op::Gatherv => Some(Pattern::RootForAll),
        Op::Scan | Op::Exscan => Some(Pattern::EachForEarlier),
        Op::CreateHandle
        | Op::DestroyHandle
        | Op::Allocate
        | Op::Deallocate
        | Op::CreateHandleAndAllocate
        | Op::DestroyHandleAndDeallocate => all(WaitClass::WaitAtCreate, None, false, Certainty::Certain),
        Op::Unknown => None,
    }
}

/// A member of an instance.
#[derive(Clone, Copy)]
struct Member<'a> {
    location: LocationId,
    rank: Option<WorldRank>,
    /// Whether it is in the remote group of an inter-communicator.
    is_remote: bool,
    record: &'a CollectiveRecord,
    /// Where in the sequence of its location, if the order of calls is kept.
    steps: Option<Steps>,
}

impl Member<'_> {
    fn post(&self) -> Option<Post> {
        let place = Place::Nth(self.steps?.posted);
        Some(Post { location: self.location, place, at: self.record.arrived })
    }

    fn need(&self) -> Option<Need> {
        let place = Place::Nth(self.steps?.completed);
        let &CollectiveRecord { end: leave, path, .. } = self.record;
        Some(Need { location: self.location, place, at: self.record.start(), leave, path })
    }

    /// The key of the last to arrive: the greatest.
    fn arrival(&self) -> (Ticks, Reverse<LocationId>) {
        (self.record.arrived, Reverse(self.location))
    }
}

/// The waits of all collectives.
pub(crate) fn collective_waits<'a>(
    records: &'a BTreeMap<LocationId, LocationRecords>,
    kinds: &[CallKind],
    definitions: &Definitions,
    depth: Depth,
) -> CollectiveWaits {
    let parts = |(&location, of): (&LocationId, &'a LocationRecords)| {
        let steps = of.order.collectives.iter().copied().map(Some).chain(std::iter::repeat(None));
        of.collectives.iter().zip(steps).map(move |(record, steps)| (location, record, steps))
    };
    let all: Vec<Part<'_>> = records.iter().flat_map(parts).collect();
    let mut found = Finding { depth, ..Finding::new(kinds, definitions) };
    found.add_all(&all, |_, _| {});
    found.result
}

/// The waits of all collectives of one window, and its fences.
pub(crate) fn window_collective_waits(
    parts: &[WindowPart],
    kinds: &[CallKind],
    definitions: &Definitions,
) -> (CollectiveWaits, Vec<SynchronisedFence>) {
    let all: Vec<Part<'_>> =
        parts.iter().map(|(location, record, steps)| (*location, record, *steps)).collect();
    let mut found = Finding::new(kinds, definitions);
    let mut fences = Vec::new();
    found.add_all(&all, |members, waits| {
        if waits.first().is_some_and(|wait| wait.class == WaitClass::WaitAtFence) {
            let members = members.iter().map(|member| member.op as usize).collect();
            fences.push(SynchronisedFence { members, waits: waits.to_vec() });
        }
    });
    (found.result, fences)
}

type Part<'a> = (LocationId, &'a CollectiveRecord, Option<Steps>);

struct Finding<'a> {
    /// By call path.
    kinds: &'a [CallKind],
    definitions: &'a Definitions,
    depth: Depth,
    /// Of communicators with collectives of neighbours: who these are, if that is known.
    neighbours: BTreeMap<CommId, Option<Neighbours>>,
    result: CollectiveWaits,
}

impl<'a> Finding<'a> {
    fn new(kinds: &'a [CallKind], definitions: &'a Definitions) -> Self {
        Finding {
            kinds,
            definitions,
            depth: Depth::CausesAndEdges,
            neighbours: BTreeMap::new(),
            result: CollectiveWaits::default(),
        }
    }
}

impl Finding<'_> {
    /// Adds all instances, and shows the members and waits of each.
    fn add_all(&mut self, all: &[Part<'_>], mut see: impl FnMut(&[CollectiveMember], &[Wait])) {
        let definitions = self.definitions;
        let member = |(op, &(_, it, _)): (u32, &Part<'_>)| CollectiveMember {
            op,
            part: CollectivePart { op: it.op, comm: it.comm, root: it.root, arrived: it.arrived },
            leave: it.end,
            is_selected: it.is_selected,
        };
        let members = (0..).zip(all).map(member);
        let (instances, n_unaligned) = instances(members, |op| all[op as usize].0, definitions);
        self.result.n_unaligned += n_unaligned;
        for instance in instances {
            let comm = definitions.communicator(instance[0].part.comm);
            if instance.len() < n_members(comm) {
                self.result.n_without_edges += instance.len() as u64;
                self.result.n_partial += instance.iter().filter(|it| it.is_selected).count() as u64;
                continue;
            }
            let member = |it: &CollectiveMember| {
                let (location, record, steps) = all[it.op as usize];
                let rank = definitions.location(location).rank;
                let remote = comm.remote_members.as_deref().unwrap_or_default();
                let is_remote = rank.is_some_and(|rank| remote.contains(&rank));
                Member { location, rank, is_remote, record, steps }
            };
            let n_before = self.result.waits.len();
            self.add(&instance.iter().map(member).collect::<Vec<_>>(), comm);
            see(&instance, &self.result.waits[n_before..]);
        }
    }

    fn add(&mut self, members: &[Member<'_>], comm: &Communicator) {
        let is_inter = comm.remote_members.is_some();
        if self.kinds[members[0].record.arrived_path.index()] == CallKind::MeetsNeighbours {
            return self.neighbours(members, comm);
        }
        let root = members.iter().find_map(|member| member.record.root);
        let root = members.iter().find(|member| root.is_some() && member.rank == root);
        let others = |root: &Member<'_>| -> Vec<Member<'_>> {
            let is_other = |it: &&Member<'_>| {
                it.location != root.location && !(is_inter && it.is_remote == root.is_remote)
            };
            members.iter().filter(is_other).filter(|it| it.record.moves_data).copied().collect()
        };
        let CollectiveRecord { op, site, .. } = *members[0].record;
        match (pattern(op, site), root) {
            (None, _) | (Some(Pattern::AllForRoot | Pattern::RootForAll), None) => {}
            (Some(Pattern::AllForAll { class, completion, needs_data, certainty }), _) => {
                let takes_part = |it: &&Member<'_>| it.record.moves_data || !needs_data;
                let members: Vec<Member<'_>> = members.iter().filter(takes_part).copied().collect();
                self.all_for_all((class, certainty), &members, is_inter);
                self.result.groups.extend(self.group_point(&members));
                if let Some(completion) = completion {
                    self.completion((completion, certainty), &members);
                }
            }
            (Some(Pattern::AllIfTogether(class)), _) => {
                let last = members.iter().map(|it| it.record.arrived).max();
                let first = members.iter().map(|it| it.record.end).min();
                if last <= first {
                    self.all_for_all((class, Certainty::Certain), members, is_inter);
                    self.result.groups.extend(self.group_point(members));
                }
            }
            (Some(Pattern::AllForRoot), Some(root)) => {
                let others = others(root);
                self.join([*root].into_iter(), others.iter().copied());
                for member in others {
                    self.wait((WaitClass::LateBroadcast, Certainty::Certain), &member, root);
                }
            }
            (Some(Pattern::RootForAll), Some(root)) => self.root_for_all(root, &others(root)),
            (Some(Pattern::EachForEarlier), _) => self.each_for_earlier(members, comm),
        }
    }

    /// Members of a collective of neighbours; where these are not known, all may be.
    fn neighbours(&mut self, members: &[Member<'_>], comm: &Communicator) {
        let id = members[0].record.comm;
        let members: Vec<Member<'_>> = members.iter().filter(|it| it.record.moves_data).copied().collect();
        let definitions = self.definitions;
        let topology = || definitions.topologies.iter().find(|it| it.comm == Some(id));
        let known = self.neighbours.entry(id);
        if known.or_insert_with(|| Neighbours::new(topology()?, comm)).is_none() {
            return self.all_for_all(
                (WaitClass::WaitAtNxn, Certainty::UpperBound),
                &members,
                comm.remote_members.is_some(),
            );
        }
        let by_rank: BTreeMap<WorldRank, &Member<'_>> =
            members.iter().filter_map(|it| Some((it.rank?, it))).collect();
        for member in &members {
            let Some((rank, Some(known))) = member.rank.zip(self.neighbours.get(&id).map(Option::as_ref))
            else {
                continue;
            };
            let others: Vec<Member<'_>> =
                known.of(rank).iter().filter_map(|it| by_rank.get(it).map(|it| **it)).collect();
            self.join(others.iter().copied(), [*member].into_iter());
            if let Some(last) = others.iter().max_by_key(|it| it.arrival()) {
                self.wait((WaitClass::WaitAtNxn, Certainty::Certain), member, last);
            }
        }
    }

    fn all_for_all(&mut self, class: (WaitClass, Certainty), members: &[Member<'_>], is_inter: bool) {
        let last = |group: Option<bool>| {
            let of_group = members.iter().filter(|it| group.is_none_or(|group| it.is_remote == group));
            of_group.max_by_key(|it| it.arrival())
        };
        let last = if is_inter { [last(Some(true)), last(Some(false))] } else { [last(None); 2] };
        self.joins_of_all(members, is_inter);
        if !self.depth.has_waits() {
            return;
        }
        for member in members {
            if let Some(last) = last[usize::from(member.is_remote)] {
                self.wait(class, member, last);
            }
        }
    }

    /// The point that members of a collective of all have in common.
    fn group_point(&self, members: &[Member<'_>]) -> Option<GroupPoint> {
        let last = members.iter().map(|it| it.record.arrived).max()?;
        let at = members.iter().map(|it| it.record.end).min()?;
        let is_common = last <= at && members.iter().all(|it| it.record.is_blocking);
        if !is_common || !self.depth.has_causes() {
            return None;
        }
        let mut left: Vec<(LocationId, Ticks)> =
            members.iter().map(|it| (it.location, it.record.end)).collect();
        left.sort_unstable();
        Some(GroupPoint { at, members: left })
    }

    fn joins_of_all(&mut self, members: &[Member<'_>], is_inter: bool) {
        if is_inter {
            for group in [false, true] {
                let of =
                    |is_remote: bool| members.iter().copied().filter(move |it| it.is_remote == is_remote);
                self.join(of(group), of(!group));
            }
            return;
        }
        let all: Option<Vec<(Post, Need)>> =
            members.iter().map(|it| Some((it.post()?, it.need()?))).collect();
        self.result.joins.extend(all.filter(|all| !all.is_empty()).map(Join::of_all));
    }

    fn root_for_all(&mut self, root: &Member<'_>, others: &[Member<'_>]) {
        self.join(others.iter().copied(), [*root].into_iter());
        if let Some(last) = others.iter().max_by_key(|it| it.arrival()) {
            self.wait((WaitClass::WaitForLast, Certainty::Certain), root, last);
        }
        if let Some(first) = others.iter().min_by_key(|it| (it.record.arrived, it.location)) {
            let part = self.found((WaitClass::EarlyReduce, Certainty::Certain), root, first);
            self.result.beside.extend(part);
        }
    }

    fn each_for_earlier(&mut self, members: &[Member<'_>], comm: &Communicator) {
        let mut members = members.to_vec();
        members.sort_by_cached_key(|it| {
            let rank = comm.members.iter().position(|&rank| Some(rank) == it.rank);
            (rank.is_none(), rank, it.location)
        });
        let mut last = members[0];
        for member in members {
            if let (Some(post), Some(need)) = (member.post(), member.need()) {
                let before =
                    self.result.joins.len().checked_sub(1).filter(|_| last.location != member.location);
                let needs = if member.record.moves_data { vec![need] } else { Vec::new() };
                let after = before.map(|before| before as u32);
                self.result.joins.push(Join { after, posts: vec![post], needs, is_of_all: false });
            }
            if last.arrival() < member.arrival() {
                last = member;
            }
            if member.record.moves_data {
                self.wait((WaitClass::EarlyScan, Certainty::Certain), &member, &last);
            }
        }
    }

    /// What members do after the last one has arrived, and the first has left.
    fn completion(&mut self, class: (WaitClass, Certainty), members: &[Member<'_>]) {
        let last = members.iter().map(|it| it.record.arrived).max();
        let first = members.iter().map(|it| it.record.end).min();
        let Some(start) = last.max(first).filter(|_| self.depth.has_waits()) else { return };
        for member in members.iter().filter(|it| it.record.is_blocking) {
            let range = (start, member.record.end);
            let completion = self.range(class, member, range);
            self.result.beside.extend(completion);
        }
    }

    fn wait(&mut self, class: (WaitClass, Certainty), member: &Member<'_>, cause: &Member<'_>) {
        let wait = self.found(class, member, cause);
        self.result.waits.extend(wait);
    }

    /// All of `calls` need all of `causes`.
    fn join<'a>(
        &mut self,
        causes: impl Iterator<Item = Member<'a>>,
        calls: impl Iterator<Item = Member<'a>>,
    ) {
        let posts: Vec<Post> = causes.filter_map(|it| it.post()).collect();
        let needs: Vec<Need> = calls.filter_map(|it| it.need()).collect();
        if !posts.is_empty() && !needs.is_empty() {
            self.result.joins.push(Join { posts, needs, ..Join::default() });
        }
    }

    fn found(&self, class: (WaitClass, Certainty), member: &Member<'_>, cause: &Member<'_>) -> Option<Wait> {
        let end = cause.record.arrived.min(member.record.end);
        let wait = self.range(class, member, (member.record.start(), end))?;
        let CollectiveRecord { arrived, arrived_path, is_blocking, end: left, .. } = *cause.record;
        let left = if is_blocking { left } else { arrived };
        let culprit = Culprit { location: cause.location, path: arrived_path, arrived, left };
        Some(Wait { culprit: Some(culprit), ..wait })
    }

    /// A range of time in the call of a member, if that is one that waits.
    fn range(
        &self,
        (class, certainty): (WaitClass, Certainty),
        member: &Member<'_>,
        (start, end): (Ticks, Ticks),
    ) -> Option<Wait> {
        let &CollectiveRecord { path, enter, end: leave, .. } = member.record;
        (self.depth.has_waits() && start < end && self.kinds[path.index()].waits()).then_some(Wait {
            class,
            certainty,
            is_clamped: false,
            location: member.location,
            path,
            enter,
            leave,
            start,
            end,
            culprit: None,
            nth: 0,
        })
    }
}
