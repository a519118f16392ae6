//! Collectives of devices by operation, group and size, with their bandwidth; and who comes late to them.
//!
//! The size `S` of an operation is the larger of what a member sends and receives, as nccl-tests count. With the time `t`
//! from the last begin of an instance to the end of an operation, and `n` members: algorithm bandwidth `S / t`, bus
//! bandwidth the same times `2 (n − 1) / n` for all-reduce, `(n − 1) / n` for all-gather, reduce-scatter and all-to-all, 1
//! for others. Operations whose instance is not known count with their length, which may hold waiting.

use super::AcceleratorsOutput;
use super::copies::overlap;
use crate::devices::records::StreamCollective;
use crate::devices::streams::{DeviceProcess, Stream};
use ouzel_analyses::breakdown::{Activity, Intervals};
use ouzel_analyses::paired_operations::{CollectiveMember, CollectivePart, instances, n_members};
use ouzel_model::{CollectiveOp, CommId, Definitions, LocationGroupId, LocationId, Ticks, WorldRank};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Collectives of one operation, group size and message size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CommunicationRow {
    /// The operation.
    pub op: CollectiveOp,
    /// Members of the group.
    pub group_size: u64,
    /// Size of each operation.
    pub bytes: u64,
    /// Number of operations, one for each member.
    pub n: u64,
    /// Their length.
    pub total: Ticks,
    /// The part in which they wait for the last member to begin.
    pub waiting: Ticks,
    /// The part in which their device computes nothing.
    pub exposed: Ticks,
    /// Size / time after the last begin, of all; `None` without sizes.
    pub algorithm_gb_per_s: Option<f64>,
    /// The same by what the links carry.
    pub bus_gb_per_s: Option<f64>,
}

/// How often and how much one rank comes late to collectives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Straggler {
    /// The rank.
    pub rank: Option<WorldRank>,
    /// Collectives in which it takes part.
    pub n: u64,
    /// Those in which it begins last.
    pub n_last: u64,
    /// How much later than the one before it, in these.
    pub late: Ticks,
}

/// What part of an algorithm's bandwidth the links carry.
fn bus_factor(op: CollectiveOp, n: u64) -> f64 {
    use CollectiveOp as Op;
    let others = n.saturating_sub(1) as f64 / n.max(1) as f64;
    match op {
        Op::Allreduce => 2.0 * others,
        Op::Allgather | Op::Allgatherv | Op::ReduceScatter | Op::ReduceScatterBlock => others,
        Op::Alltoall | Op::Alltoallv | Op::Alltoallw => others,
        _ => 1.0,
    }
}

#[derive(Default)]
struct Sum {
    n: u64,
    total: u64,
    waiting: u64,
    exposed: u64,
}

/// A collective on a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CollectiveSpan {
    op: CollectiveOp,
    comm: CommId,
    bytes: u64,
    start: Ticks,
    end: Ticks,
    /// The part in which its device computes.
    hidden: u64,
    is_selected: bool,
}

/// Which of the collectives belong together: the numbers of the members of each that has all of them.
fn complete_instances(all: &[(LocationId, CollectiveSpan)], definitions: &Definitions) -> Vec<Vec<usize>> {
    let member = |(op, (_, it)): (u32, &(LocationId, CollectiveSpan))| CollectiveMember {
        op,
        part: CollectivePart { op: it.op, comm: it.comm, root: None, arrived: it.start },
        leave: it.end,
        is_selected: true,
    };
    let members = (0..).zip(all).map(member);
    let (found, _) = instances(members, |op| all[op as usize].0, definitions);
    let is_complete = |of: &Vec<CollectiveMember>| {
        of.first().is_some_and(|it| n_members(definitions.communicator(it.part.comm)) <= of.len())
    };
    let found = found.into_iter().filter(is_complete);
    found.map(|of| of.iter().map(|it| it.op as usize).collect()).collect()
}

/// The collectives of the selected streams, the most time first; and who comes late to them, by rank.
pub(super) fn communication_rows(
    collectives: &BTreeMap<LocationId, Vec<CollectiveSpan>>,
    definitions: &Definitions,
) -> (Vec<CommunicationRow>, Vec<Straggler>) {
    let of_stream = |(&location, of): (&LocationId, &Vec<CollectiveSpan>)| -> Vec<_> {
        of.iter().map(|it| (location, *it)).collect()
    };
    let all: Vec<(LocationId, CollectiveSpan)> = collectives.iter().flat_map(of_stream).collect();
    let mut last_begins: Vec<Option<Ticks>> = vec![None; all.len()];
    let mut stragglers: BTreeMap<(bool, Option<WorldRank>), Straggler> = BTreeMap::new();
    for members in complete_instances(&all, definitions) {
        let mut starts: Vec<Ticks> = members.iter().map(|&it| all[it].1.start).collect();
        starts.sort_unstable_by_key(|start| Reverse(*start));
        let (last, second) = (starts[0], starts.get(1).copied().unwrap_or(starts[0]));
        let who = members.iter().find(|&&it| all[it].1.start == last).map(|&it| all[it].0);
        for nth in members {
            let (location, it) = all[nth];
            last_begins[nth] = Some(last);
            if !it.is_selected {
                continue;
            }
            let rank = definitions.location(location).rank;
            let none = Straggler { rank, n: 0, n_last: 0, late: Ticks(0) };
            let of = stragglers.entry((rank.is_none(), rank)).or_insert(none);
            of.n += 1;
            if Some(location) == who && second < last {
                of.n_last += 1;
                of.late += last.since(second);
            }
        }
    }
    let mut sums: BTreeMap<(CollectiveOp, u64, u64), Sum> = BTreeMap::new();
    for ((_, it), last) in all.iter().zip(last_begins).filter(|((_, it), _)| it.is_selected) {
        let n = n_members(definitions.communicator(it.comm)) as u64;
        let sum = sums.entry((it.op, n, it.bytes)).or_default();
        let length = it.end.since(it.start).0;
        sum.n += 1;
        sum.total += length;
        sum.waiting += last.map_or(0, |last| last.since(it.start).0.min(length));
        sum.exposed += length - it.hidden;
    }
    let row = |((op, group_size, bytes), sum): ((CollectiveOp, u64, u64), Sum)| {
        let ns = definitions.clock.ns_from_ticks(Ticks(sum.total - sum.waiting));
        let rate = (0 < bytes && 0 < ns).then(|| bytes as f64 * sum.n as f64 / ns as f64);
        CommunicationRow {
            op,
            group_size,
            bytes,
            n: sum.n,
            total: Ticks(sum.total),
            waiting: Ticks(sum.waiting),
            exposed: Ticks(sum.exposed),
            algorithm_gb_per_s: rate,
            bus_gb_per_s: rate.map(|rate| rate * bus_factor(op, group_size)),
        }
    };
    let mut rows: Vec<CommunicationRow> = sums.into_iter().map(row).collect();
    rows.sort_by_key(|row| Reverse(row.total));
    (rows, stragglers.into_values().collect())
}

impl AcceleratorsOutput {
    /// Adds the collectives of a stream, those that are not selected too, as they may be of an instance that is.
    pub(super) fn add_collective_spans(
        &self,
        collectives: &mut BTreeMap<LocationId, Vec<CollectiveSpan>>,
        stream: &Stream<'_>,
        computing: &BTreeMap<LocationGroupId, Intervals>,
    ) {
        let of_stream = self.details(stream.location).map_or(&[][..], |it| &it.collectives[..]);
        let span = |collective: &StreamCollective| {
            let it = stream.operations.get(collective.nth as usize)?;
            Some(CollectiveSpan {
                op: collective.op,
                comm: collective.comm,
                bytes: collective.bytes_sent.max(collective.bytes_received),
                start: it.start,
                end: it.end,
                hidden: computing.get(&stream.device).map_or(0, |of| overlap(of, (it.start.0, it.end.0))),
                is_selected: self.counts(stream, collective.nth as usize),
            })
        };
        if !of_stream.is_empty() {
            collectives.insert(stream.location, of_stream.iter().filter_map(span).collect());
        }
    }

    /// When each device computes.
    pub(super) fn computing(&self, processes: &[DeviceProcess<'_>]) -> BTreeMap<LocationGroupId, Intervals> {
        let mut devices: BTreeMap<LocationGroupId, Intervals> = BTreeMap::new();
        for stream in processes.iter().flat_map(|process| &process.streams) {
            let mut own = Intervals::default();
            for it in stream.operations.iter().filter(|it| self.activity(it.path) == Activity::Computation) {
                super::summary::add(&mut own, it.start.0, it.end.0);
            }
            let device = devices.entry(stream.device).or_default();
            device.unite(own);
        }
        devices
    }
}
