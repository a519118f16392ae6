//! Which collectives of different members are one operation.
//!
//! Members call the collectives of a communicator in one order, so the n-th of each is the same. A
//! tracer may define one communicator several times, and members may have several threads: collectives
//! are put in the order of arrival, those of incomplete communicators over all with the same members.
//! Where members made different numbers of them (a damaged file), one that was left
//! before another member arrived belongs to no later one.

use super::state::CollectivePart;
use crate::communication_totals::groups;
use ouzel_model::{CollectiveOp, Communicator, Definitions, LocationId, Membership, Ticks, WorldRank};
use std::collections::BTreeMap;

/// One collective of one member.
#[derive(Debug, Clone, Copy)]
pub struct CollectiveMember {
    /// Index of the operation.
    pub op: u32,
    /// What it is.
    pub part: CollectivePart,
    /// When its call was left.
    pub leave: Ticks,
    /// Whether it counts.
    pub is_selected: bool,
}

/// Who takes part: a rank, or a location where members are threads or streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Who {
    Rank(WorldRank),
    Location(LocationId),
}

type CollectiveMembers<'a> = (&'a [WorldRank], &'a [WorldRank], &'a [LocationId]);
type Queues = BTreeMap<Who, Vec<CollectiveMember>>;

/// Members of each instance by rank, and the number of selected collectives that belong to none.
pub fn instances(
    members: impl IntoIterator<Item = CollectiveMember>,
    location_of: impl Fn(u32) -> LocationId,
    definitions: &Definitions,
) -> (Vec<Vec<CollectiveMember>>, u64) {
    let mut by_comm: BTreeMap<_, Queues> = BTreeMap::new();
    let mut n_unaligned = 0;
    for member in members {
        let location = location_of(member.op);
        let comm = definitions.communicator(member.part.comm);
        match comm.membership {
            Membership::Caller => continue,
            // Several unknown communicators are one in the definitions.
            Membership::Unknown if comm.members.is_empty() => {
                n_unaligned += 1;
                continue;
            }
            Membership::Listed | Membership::Unknown => {}
        }
        let who = match definitions.location(location).rank {
            _ if !comm.member_locations.is_empty() => Who::Location(location),
            Some(rank) => Who::Rank(rank),
            None => {
                n_unaligned += u64::from(member.is_selected);
                continue;
            }
        };
        by_comm.entry(member.part.comm).or_default().entry(who).or_default().push(member);
    }
    let mut complete = Vec::new();
    let mut pools: BTreeMap<CollectiveMembers<'_>, Queues> = BTreeMap::new();
    for (id, queues) in by_comm {
        let comm = definitions.communicator(id);
        // Two communicators without definitions need not be the same just because they have the same ranks.
        if comm.is_unknown() || queues.len() == n_members(comm) && is_balanced(&queues) {
            complete.push(queues);
            continue;
        }
        let (one, other) = groups(comm);
        let pool = pools.entry((one, other, &comm.member_locations)).or_default();
        for (who, mut queue) in queues {
            pool.entry(who).or_default().append(&mut queue);
        }
    }
    let mut instances = Vec::new();
    for mut queues in complete.into_iter().chain(pools.into_values()) {
        for queue in queues.values_mut() {
            queue.sort_by_key(|member| (member.part.arrived, member.op));
        }
        n_unaligned += align(&queues, &mut instances);
    }
    (instances, n_unaligned)
}

/// Number of members of a communicator.
pub fn n_members(comm: &Communicator) -> usize {
    let remote = comm.remote_members.as_ref().map_or(0, |remote| remote.len());
    if comm.member_locations.is_empty() { comm.members.len() + remote } else { comm.member_locations.len() }
}

fn is_balanced(queues: &Queues) -> bool {
    let mut lengths = queues.values().map(Vec::len);
    let first = lengths.next();
    lengths.all(|length| Some(length) == first)
}

/// Adds the instances; returns how many of the selected collectives belong to none.
fn align(queues: &Queues, instances: &mut Vec<Vec<CollectiveMember>>) -> u64 {
    let mut queues: Vec<&[CollectiveMember]> = queues.values().map(Vec::as_slice).collect();
    let is_balanced = queues.windows(2).all(|pair| pair[0].len() == pair[1].len());
    // If recording began late, one or two are left over for each member; more than that means wrong clocks.
    let mut n_droppable = if is_balanced { 0 } else { 2 * queues.len() };
    let mut n_unaligned = 0;
    loop {
        queues.retain(|queue| !queue.is_empty());
        let rest = || queues.iter().map(|queue| n_selected(queue)).sum::<u64>();
        if queues.len() < 2 {
            return n_unaligned + rest();
        }
        if 0 < n_droppable
            && let Some(early) = left_too_early(&queues)
        {
            n_unaligned += n_selected(&queues[early][..1]);
            queues[early] = &queues[early][1..];
            n_droppable -= 1;
            continue;
        }
        if queues.iter().any(|queue| queue[0].part.op != queues[0][0].part.op) {
            return n_unaligned + rest();
        }
        instances.push(queues.iter().map(|queue| queue[0]).collect());
        queues.iter_mut().for_each(|queue| *queue = &queue[1..]);
    }
}

fn n_selected(queue: &[CollectiveMember]) -> u64 {
    queue.iter().filter(|member| member.is_selected).count() as u64
}

/// The queue whose first collective was left before another member arrived at its own, though it waits for all.
fn left_too_early(queues: &[&[CollectiveMember]]) -> Option<usize> {
    let last = queues.iter().map(|queue| queue[0].part.arrived).max()?;
    let first = (0..queues.len()).min_by_key(|&i| queues[i][0].leave)?;
    let member = queues[first][0];
    (member.leave < last && waits_for_all(member.part.op)).then_some(first)
}

/// Whether no member can leave before all have arrived.
pub(crate) fn waits_for_all(op: CollectiveOp) -> bool {
    use CollectiveOp as Op;
    matches!(op, Op::Barrier | Op::Allreduce | Op::Allgather | Op::Alltoall | Op::ReduceScatterBlock)
}
