//! Factors for MPI and OpenMP as TALP, the profiler of the DLB library, defines them.
//!
//! ```text
//! per process:  A = useful + MPI + waiting for accelerators, of all threads
//! OpenMP:       serialisation = A/(A + ser)   load balance = (A + ser)/(A + ser + imb)   scheduling: likewise
//! MPI:          m = (MPI + idle of other threads meanwhile) / threads
//!               parallel = (T − mean(m))/T    communication = (T − min(m))/T             load balance: their quotient
//! ```
//!
//! In a parallel region a thread idles while it neither works nor communicates. The shortest such time of its team is
//! scheduling for every thread of the team, what a thread idles beyond it is imbalance. What other threads than the
//! first idle in the rest of the run is serialisation. Law: the three OpenMP factors multiply to the OpenMP parallel
//! efficiency. Times of a region are sums over its visits: if the thread that idles least changes from visit to visit,
//! imbalance is a lower bound and scheduling an upper one. Other threads idle while the first one communicates outside
//! of parallel regions.

use super::quotient;
use crate::metric::{Metric, MetricValue, Reason};
use crate::useful::{Team, ThreadTimes, Threads};
use ouzel_model::{Definitions, LocationGroupId, RegionId, SystemNodeId};
use std::collections::BTreeMap;

/// In the order of tables.
pub(super) const METRICS: [Metric; 9] = [
    Metric::MpiParallel,
    Metric::MpiLoadBalance,
    Metric::MpiLoadBalanceInside,
    Metric::MpiLoadBalanceBetween,
    Metric::MpiCommunication,
    Metric::OpenMpParallel,
    Metric::OpenMpSerialisation,
    Metric::OpenMpLoadBalance,
    Metric::OpenMpScheduling,
];

/// How processes spend the time of their threads, summed over processes.
#[derive(Debug, Default)]
pub(crate) struct ThreadLosses {
    /// All but waiting for other threads.
    pub busy: u128,
    /// Idle outside of parallel regions.
    pub serialisation: u128,
    /// Idle in parallel regions, beyond the thread that idles least.
    pub imbalance: u128,
    /// Idle in parallel regions, as long as the thread that idles least.
    pub scheduling: u128,
}

/// A part of `threads · T`: time of MPI, or not of MPI.
#[derive(Debug, Clone, Copy, Default)]
struct Share {
    /// Threads · T less the time in MPI and that of the threads that idle meanwhile.
    outside: u128,
    threads: u128,
}

/// The values.
pub(super) fn values(threads: &Threads, definitions: &Definitions) -> Vec<MetricValue> {
    let run = u128::from(threads.run_time.0);
    let of_process = |process: &&[ThreadTimes]| share(process, run);
    let shares: Vec<Share> = threads.by_process().iter().map(of_process).collect();
    let all = sum(&shares);
    let best = largest(&shares);
    let nodes = nodes(threads, definitions, &shares);
    let best_node = largest(&nodes);
    let losses = ThreadLosses::new(threads);
    let ThreadLosses { busy, serialisation, imbalance, scheduling } = losses;
    let by_region = busy + serialisation;
    let by_team = by_region + imbalance;
    let whole = by_team + scheduling;
    let between = |a: Share, b: Share| quotient(a.outside * b.threads, b.outside * a.threads);
    let value = |metric| match metric {
        Metric::MpiParallel => quotient(all.outside, all.threads * run),
        Metric::MpiLoadBalance => between(all, best),
        Metric::MpiLoadBalanceInside => between(best_node, best),
        Metric::MpiLoadBalanceBetween => between(all, best_node),
        Metric::MpiCommunication => quotient(best.outside, best.threads * run),
        Metric::OpenMpParallel => quotient(busy, whole),
        Metric::OpenMpSerialisation => quotient(busy, by_region),
        Metric::OpenMpLoadBalance => quotient(by_region, by_team),
        _ => quotient(by_team, whole),
    };
    let value = |metric| match metric {
        Metric::MpiLoadBalanceInside | Metric::MpiLoadBalanceBetween if nodes.is_empty() => {
            Err(Reason::new("it is not known on which node a process runs"))
        }
        metric => value(metric),
    };
    METRICS.map(|metric| MetricValue::new(metric, value(metric))).to_vec()
}

fn sum(shares: &[Share]) -> Share {
    shares.iter().fold(Share::default(), |a, b| Share {
        outside: a.outside + b.outside,
        threads: a.threads + b.threads,
    })
}

/// The one with the least MPI per thread.
fn largest(shares: &[Share]) -> Share {
    let larger = |a: Share, &b: &Share| if a.outside * b.threads < b.outside * a.threads { b } else { a };
    shares.iter().skip(1).fold(shares.first().copied().unwrap_or_default(), larger)
}

fn share(process: &[ThreadTimes], run: u128) -> Share {
    let n = process.len() as u128;
    let in_mpi: u128 = process.iter().map(communication).sum();
    let idle_meanwhile = (n - 1) * u128::from(process[0].communication.0);
    Share { outside: (n * run).saturating_sub(in_mpi + idle_meanwhile), threads: n }
}

fn communication(thread: &ThreadTimes) -> u128 {
    u128::from(thread.communication.0) + u128::from(thread.communication_parallel.0)
}

/// The shares of nodes; none if a process is on none.
fn nodes(threads: &Threads, definitions: &Definitions, shares: &[Share]) -> Vec<Share> {
    let compute_nodes = definitions.system_tree.compute_nodes();
    let mut nodes: BTreeMap<SystemNodeId, Vec<Share>> = BTreeMap::new();
    for (process, &share) in threads.by_process().iter().zip(shares) {
        let group = definitions.location(process[0].location).group;
        let Some(node) = node_of(definitions, group, &compute_nodes) else { return Vec::new() };
        nodes.entry(node).or_default().push(share);
    }
    nodes.values().map(|shares| sum(shares)).collect()
}

/// The compute node that a process runs on.
fn node_of(
    definitions: &Definitions,
    group: LocationGroupId,
    compute_nodes: &[SystemNodeId],
) -> Option<SystemNodeId> {
    let tree = &definitions.system_tree.nodes;
    let above = |node: &SystemNodeId| tree.get(node.index())?.parent;
    let up = std::iter::successors(definitions.location_groups[group.index()].system_node, above);
    // A damaged tree may be a circle.
    up.take(tree.len()).find(|node| compute_nodes.contains(node))
}

impl ThreadLosses {
    /// The sums over all processes.
    pub fn new(threads: &Threads) -> Self {
        let run = u128::from(threads.run_time.0);
        let mut all = ThreadLosses::default();
        for process in threads.by_process() {
            let InRegions { imbalance, scheduling, of_others } = in_regions(process);
            let idle: u128 = process[1..].iter().map(|thread| run.saturating_sub(busy(thread))).sum();
            all.busy += process.iter().map(busy).sum::<u128>();
            all.imbalance += imbalance;
            all.scheduling += scheduling;
            all.serialisation += idle.saturating_sub(of_others);
        }
        all
    }
}

fn busy(thread: &ThreadTimes) -> u128 {
    u128::from(thread.useful.0) + communication(thread) + u128::from(thread.device_waits.0)
}

/// Idle time in parallel regions.
#[derive(Debug, Default)]
struct InRegions {
    imbalance: u128,
    scheduling: u128,
    /// The part of both that is not of the first thread.
    of_others: u128,
}

/// Idle time in all parallel regions of a process.
fn in_regions(process: &[ThreadTimes]) -> InRegions {
    let mut regions: BTreeMap<RegionId, Vec<(bool, Team)>> = BTreeMap::new();
    for thread in process {
        let teams = thread.teams.iter().map(|&team| (thread.is_master, team));
        teams.for_each(|of| regions.entry(of.1.region).or_default().push(of));
    }
    let mut all = InRegions::default();
    for teams in regions.values() {
        // The first is the one that opens the region, and closes it when all are done.
        let (_, opener) = teams[0];
        let idle = |team: &Team| {
            let time = if team.n_visits == opener.n_visits { team.time.max(opener.time) } else { team.time };
            u128::from(time.since(team.busy).0)
        };
        let idle: Vec<(bool, u128)> =
            teams.iter().map(|(is_master, team)| (*is_master, idle(team))).collect();
        let least = idle.iter().map(|(_, idle)| *idle).min().unwrap_or(0);
        let sum: u128 = idle.iter().map(|(_, idle)| idle).sum();
        all.of_others += idle.iter().filter(|(is_master, _)| !is_master).map(|(_, idle)| idle).sum::<u128>();
        all.scheduling += least * idle.len() as u128;
        all.imbalance += sum - least * idle.len() as u128;
    }
    all
}
