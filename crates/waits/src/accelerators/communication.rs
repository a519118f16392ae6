//! Collectives of devices by operation, group and size, with their bandwidth; and who comes late to them.
//!
//! The size `S` of an operation is the larger of what a member sends and receives, as nccl-tests count. With the time `t`
//! from the last begin of an instance to the end of an operation, and `n` members: algorithm bandwidth `S / t`, bus
//! bandwidth the same times `2 (n − 1) / n` for all-reduce, `(n − 1) / n` for all-gather, reduce-scatter and all-to-all, 1
//! for others. Operations whose instance is not known count with their length, which may hold waiting.

use super::AcceleratorsOutput;
use super::copies::overlap;
use crate::devices::streams::DeviceProcess;
use ouzel_analyses::breakdown::{Activity, Intervals};
use ouzel_analyses::paired_operations::n_members;
use ouzel_model::{CollectiveOp, Definitions, LocationGroupId, LocationId, Ticks, WorldRank};
use rustc_hash::FxHashMap;
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

impl AcceleratorsOutput {
    /// The collectives of the selected streams, the most time first; and who comes late to them, by rank.
    pub fn communication(&self, definitions: &Definitions) -> (Vec<CommunicationRow>, Vec<Straggler>) {
        let processes = self.processes(definitions);
        let instances = self.collective_instances(&processes, definitions);
        let mut last_begins: FxHashMap<(LocationId, u32), Ticks> = FxHashMap::default();
        let mut stragglers: BTreeMap<(bool, Option<WorldRank>), Straggler> = BTreeMap::new();
        for members in &instances {
            let mut starts: Vec<Ticks> = members.iter().map(|it| it.start).collect();
            starts.sort_unstable_by_key(|start| Reverse(*start));
            let (last, second) = (starts[0], starts.get(1).copied().unwrap_or(starts[0]));
            let who = members.iter().find(|it| it.start == last).map(|it| it.location);
            for it in members {
                last_begins.insert((it.location, it.collective.nth), last);
                let is_selected = self.selected_of(it.location).has(it.start);
                if !is_selected || !self.is_of_step(it.location, it.collective.nth as usize) {
                    continue;
                }
                let rank = definitions.location(it.location).rank;
                let none = Straggler { rank, n: 0, n_last: 0, late: Ticks(0) };
                let of = stragglers.entry((rank.is_none(), rank)).or_insert(none);
                of.n += 1;
                if Some(it.location) == who && second < last {
                    of.n_last += 1;
                    of.late += last.since(second);
                }
            }
        }
        let computing = self.computing(&processes);
        let mut sums: BTreeMap<(CollectiveOp, u64, u64), Sum> = BTreeMap::new();
        for stream in processes.iter().flat_map(|process| &process.streams) {
            let Some(details) = self.details(stream.location) else { continue };
            for collective in &details.collectives {
                let Some(it) = stream.operations.get(collective.nth as usize) else { continue };
                if !self.counts(stream, collective.nth as usize) {
                    continue;
                }
                let n = n_members(definitions.communicator(collective.comm)) as u64;
                let bytes = collective.bytes_sent.max(collective.bytes_received);
                let sum = sums.entry((collective.op, n, bytes)).or_default();
                let last = last_begins.get(&(stream.location, collective.nth));
                let length = it.end.since(it.start).0;
                sum.n += 1;
                sum.total += length;
                sum.waiting += last.map_or(0, |last| last.since(it.start).0.min(length));
                let hidden =
                    computing.get(&stream.device).map_or(0, |of| overlap(of, (it.start.0, it.end.0)));
                sum.exposed += length - hidden;
            }
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

    /// When each device computes.
    pub(super) fn computing(&self, processes: &[DeviceProcess<'_>]) -> BTreeMap<LocationGroupId, Intervals> {
        let mut devices: BTreeMap<LocationGroupId, Intervals> = BTreeMap::new();
        for stream in processes.iter().flat_map(|process| &process.streams) {
            let mut own = Intervals::default();
            for it in stream.operations.iter().filter(|it| self.activity(it.path) == Activity::Computation) {
                super::summary::add(&mut own, it.start.0, it.end.0);
            }
            let device = devices.entry(stream.device).or_default();
            *device = device.union(&own);
        }
        devices
    }
}
