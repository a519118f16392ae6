//! Efficiencies of parts of a run: of its segments, its iterations, its epochs, or its clusters of threads.
//!
//! Segments and iterations are made of phases between synchronisations of all peers, so that in each phase every peer
//! waits for the slowest. `u` and the length `t` of a phase are those of one peer:
//!
//! ```text
//! T = Σ_phases max(t)    parallel = Σ mean(u) / T    load balance = Σ mean(u) / Σ max(u)    communication = Σ max(u) / T
//! ```
//!
//! Laws: parallel = load balance × communication; a part of one phase has the efficiencies of a run of this phase alone,
//! all of whose peers begin together. An imbalance that moves from rank to rank is seen here, and not in the load
//! balance of the run. For what is lost where, see `loss_tree` of the analyses.
//!
//! An epoch is compared as a whole, as a run is: `u` of a peer is its sum over the epoch, and `T` the epoch's length.

use crate::metric::{Metric, MetricValue, Reason};
use crate::run::RunEfficiency;
use crate::useful::Threads;
use ouzel_analyses::phases::epochs::Epoch;
use ouzel_analyses::phases::structure::Structure;
use ouzel_analyses::phases::{Phase, PhaseGroup, PhasesOutput};
use ouzel_analyses::ratio;
use ouzel_model::{CallPathId, CallPathTree, Definitions, LocationId, Ticks, TimeRange};
use std::sync::Arc;

/// Parts of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartKind {
    /// What leads up to one synchronisation of all peers; in loops, over all iterations.
    Segment,
    /// Iterations of the outermost loops that end in synchronisations.
    Iteration,
    /// Parts in which the same peers have most to do.
    Epoch,
    /// Threads that behave alike.
    Cluster,
    /// The region of interest: what lies between start-up and end.
    Program,
}

impl PartKind {
    /// All kinds.
    pub const ALL: [PartKind; 5] =
        [PartKind::Segment, PartKind::Iteration, PartKind::Epoch, PartKind::Cluster, PartKind::Program];

    /// Its name in JSON, in Python and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            PartKind::Segment => "segment",
            PartKind::Iteration => "iteration",
            PartKind::Epoch => "epoch",
            PartKind::Cluster => "cluster",
            PartKind::Program => "program",
        }
    }
}

/// Iterations between synchronisations as those of the program's own loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnLoop {
    /// Iterations of that loop.
    pub n_all: u64,
    /// For each iteration between synchronisations the first and the last in it.
    pub of: Vec<(u64, u64)>,
}

/// Tells what iterations in these times are in the program's own loop; `None` where it has about as many.
pub type OwnLoops<'a> = dyn Fn(&[TimeRange]) -> Option<OwnLoop> + 'a;

/// Iterations of the program's own loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnIterations {
    /// Of the whole loop.
    pub n_all: u64,
    /// The first of the part.
    pub first: u64,
    /// The last of the part.
    pub last: u64,
}

/// A part of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Part {
    /// Its number: of a segment or an epoch as `ouzel segments` counts them, from 1; of an iteration within its loop,
    /// from 0; of a cluster among clusters of its kind.
    pub id: u64,
    /// Of an iteration: the number of its loop, from 0 in order of time.
    pub in_loop: Option<u64>,
    /// Of an iteration or an epoch: those of the program's own loop in it.
    pub iterations: Option<OwnIterations>,
    /// What a cluster is of: `main_thread` or `helper_thread`.
    pub peers: Option<&'static str>,
    /// Of a segment, the synchronisation that ends it, empty at the end of the run; of an iteration, what the callers
    /// of its synchronisations have in common.
    pub call_path: Vec<Arc<str>>,
    /// World ranks of a cluster.
    pub ranks: Vec<u32>,
    /// World ranks with most to do in an epoch.
    pub most_ranks: Vec<u32>,
    /// When the first peer began it; of a cluster, nothing.
    pub start: Option<Ticks>,
    /// How many are compared.
    pub n_compared: u64,
    /// `T`.
    pub time: Ticks,
    /// Parallel efficiency, load balance and communication efficiency.
    pub metrics: Vec<MetricValue>,
}

impl Part {
    /// The value of a metric, if there is one.
    pub fn get(&self, metric: Metric) -> Option<f64> {
        self.metrics.iter().find(|value| value.metric == metric)?.value.as_ref().ok().copied()
    }
}

/// Sums over the phases of a part.
#[derive(Debug, Default)]
struct PhaseSums {
    time: u128,
    useful_sum: u128,
    useful_max: u128,
}

/// The segments of the main threads; without any, of the first group of peers.
///
/// # Errors
/// If events of a peer are missing.
pub fn segments(
    phases: &PhasesOutput,
    definitions: &Definitions,
    is_incomplete: &dyn Fn(LocationId) -> bool,
) -> Result<Vec<Part>, Reason> {
    let Some(group) = complete_group(phases, is_incomplete)? else { return Ok(Vec::new()) };
    let structure = Structure::new(group);
    let names = Names { call_paths: &phases.call_paths, definitions };
    let part = |(slot, id): (&ouzel_analyses::phases::structure::Slot, u64)| {
        let anchor = slot.phases.first().and_then(|&phase| group.phases[phase as usize].anchor);
        let call_path = anchor.map_or_else(Vec::new, |anchor| names.of(anchor.call_path));
        Part { id, call_path, ..part_of(group, slot.phases.iter().copied()) }
    };
    Ok(structure.slots.iter().zip(1..).map(part).collect())
}

/// The iterations of the outermost loops, in order of time; `own` knows the loops of the program.
///
/// # Errors
/// If events of a peer are missing, or no synchronisation of all peers repeats.
pub fn iterations(
    phases: &PhasesOutput,
    definitions: &Definitions,
    is_incomplete: &dyn Fn(LocationId) -> bool,
    own: &OwnLoops<'_>,
) -> Result<Vec<Part>, Reason> {
    let none = || {
        Reason::new(
            "no loop contains a synchronisation of all ranks, so its iterations have no common borders",
        )
    };
    let group = complete_group(phases, is_incomplete)?.ok_or_else(none)?;
    let structure = Structure::new(group);
    let names = Names { call_paths: &phases.call_paths, definitions };
    let mut parts = Vec::new();
    let outermost = structure.loops.iter().filter(|of| of.parent.is_none());
    for (of, number) in outermost.zip(0..) {
        let ranges: Vec<TimeRange> = of.iterations.iter().map(|&it| group.range_of(it)).collect();
        let own = own(&ranges).unwrap_or_else(|| OwnLoop {
            n_all: ranges.len() as u64,
            of: (0..ranges.len() as u64).map(|i| (i, i)).collect(),
        });
        for ((&(first, last), id), it) in of.iterations.iter().zip(0..).zip(own.of) {
            let anchors =
                group.phases[first as usize..=last as usize].iter().filter_map(|phase| phase.anchor);
            let call_path = names.common(anchors.map(|anchor| phases.call_paths.parent(anchor.call_path)));
            let part = part_of(group, first..=last);
            let iterations = Some(OwnIterations { n_all: own.n_all, first: it.0, last: it.1 });
            parts.push(Part { id, in_loop: Some(number), iterations, call_path, ..part });
        }
    }
    if parts.is_empty() { Err(none()) } else { Ok(parts) }
}

/// The epochs of the run; `iterations` are those of the program's own loop in each.
///
/// # Errors
/// If events of a peer are missing, or the run has no epochs.
pub fn epochs(
    phases: &PhasesOutput,
    definitions: &Definitions,
    is_incomplete: &dyn Fn(LocationId) -> bool,
    (epochs, iterations): (&[Epoch], &[Option<OwnIterations>]),
) -> Result<Vec<Part>, Reason> {
    let group = complete_group(phases, is_incomplete)?.filter(|_| !epochs.is_empty()).ok_or_else(|| {
        Reason::new(
            "there are no epochs: the same ranks have most to do all the time, or others in each phase",
        )
    })?;
    let rank = |location: LocationId| definitions.location(location).rank.map(|rank| rank.0);
    let part = |((epoch, iterations), id): ((&Epoch, &Option<OwnIterations>), u64)| Part {
        id,
        iterations: *iterations,
        most_ranks: epoch.most.iter().copied().filter_map(rank).collect(),
        ..of_epoch(group, epoch)
    };
    Ok(epochs.iter().zip(iterations).zip(1..).map(part).collect())
}

/// What an epoch of a group takes, and how well it uses the time.
pub fn of_epoch(group: &PhaseGroup, epoch: &Epoch) -> Part {
    let useful = group.by_peer.useful_of(epoch.buckets.clone());
    let length = epoch.range.end.since(epoch.range.start);
    let most = useful.iter().copied().max().unwrap_or_default();
    // A peer may begin an epoch before the last one does.
    let time = u128::from(length.0.max(most));
    let (n, sum) = (useful.len() as u128, useful.iter().copied().map(u128::from).sum::<u128>());
    let most = u128::from(most);
    let value = |metric| match metric {
        Metric::Parallel => ratio(sum, n * time).ok_or_else(no_time),
        Metric::LoadBalance => ratio(sum, n * most).ok_or_else(|| Reason::new("no rank computes in it")),
        _ => ratio(most, time).ok_or_else(no_time),
    };
    Part {
        start: Some(epoch.range.start),
        n_compared: group.locations.len() as u64,
        time: length,
        metrics: FIRST_METRICS.map(|metric| MetricValue::new(metric, value(metric))).to_vec(),
        ..Part::default()
    }
}

/// Iterations of the program in the loop that takes most time, the first of equals; `None` without iterations.
pub fn iterations_of_longest_loop(iterations: &[Part]) -> Option<u64> {
    let loops = iterations.chunk_by(|a, b| a.in_loop == b.in_loop);
    let time = |of_loop: &&[Part]| of_loop.iter().map(|part| part.time.0).sum::<u64>();
    let longest = loops.rev().max_by_key(time)?;
    Some(longest.first()?.iterations?.n_all)
}

/// A cluster of threads of a run; `None` if none of them is a CPU thread with complete events.
pub fn cluster(
    threads: &Threads,
    definitions: &Definitions,
    (id, peers): (u64, &'static str),
    members: &[LocationId],
) -> Option<Part> {
    let members: std::collections::BTreeSet<LocationId> = members.iter().copied().collect();
    let own = threads.only(&|location| members.contains(&location))?;
    let mut ranks: Vec<u32> = own
        .threads
        .iter()
        .filter_map(|thread| definitions.location(thread.location).rank.map(|rank| rank.0))
        .collect();
    ranks.sort_unstable();
    ranks.dedup();
    let run = RunEfficiency::new(&own, Err(Reason::new("the replay is of the whole run")));
    Some(Part {
        id,
        peers: Some(peers),
        ranks,
        n_compared: run.n_threads,
        time: run.run_time,
        metrics: run.metrics.into_iter().take(FIRST_METRICS.len()).collect(),
        ..Part::default()
    })
}

/// The peers that are compared.
fn complete_group<'a>(
    phases: &'a PhasesOutput,
    is_incomplete: &dyn Fn(LocationId) -> bool,
) -> Result<Option<&'a PhaseGroup>, Reason> {
    let Some(group) = phases.main_group() else { return Ok(None) };
    match group.locations.iter().any(|&location| is_incomplete(location)) {
        true => Err(Reason::new("the events of some ranks are incomplete, so phases cannot be compared")),
        false => Ok(Some(group)),
    }
}

fn part_of(group: &PhaseGroup, phases: impl Iterator<Item = u32> + Clone) -> Part {
    let of_phase = |phase: u32| -> &Phase { &group.phases[phase as usize] };
    let mut sums = PhaseSums::default();
    for phase in phases.clone() {
        let length = group.cells_of(phase).iter().find(|cell| cell.call_path == CallPathTree::ROOT);
        sums.time += length.map_or(0, |cell| u128::from(cell.inclusive.max.0));
        let useful = &of_phase(phase).useful;
        sums.useful_sum += u128::from(useful.sum.0);
        sums.useful_max += u128::from(useful.max.0);
    }
    let n = group.locations.len() as u128;
    let value = |metric| match metric {
        Metric::Parallel => ratio(sums.useful_sum, n * sums.time).ok_or_else(no_time),
        Metric::LoadBalance if sums.time == 0 => Err(no_time()),
        Metric::LoadBalance => Ok(ratio(sums.useful_sum, n * sums.useful_max).unwrap_or(1.0)),
        _ => ratio(sums.useful_max, sums.time).ok_or_else(no_time),
    };
    Part {
        start: phases.map(|phase| of_phase(phase).start).min(),
        n_compared: group.locations.len() as u64,
        time: Ticks(u64::try_from(sums.time).unwrap_or(u64::MAX)),
        metrics: FIRST_METRICS.map(|metric| MetricValue::new(metric, value(metric))).to_vec(),
        ..Part::default()
    }
}

/// What is known of a part.
const FIRST_METRICS: [Metric; 3] = [Metric::Parallel, Metric::LoadBalance, Metric::Communication];

fn no_time() -> Reason {
    Reason::new("it takes no time")
}

/// The source of names.
struct Names<'a> {
    call_paths: &'a CallPathTree,
    definitions: &'a Definitions,
}

impl Names<'_> {
    fn of(&self, path: CallPathId) -> Vec<Arc<str>> {
        let regions = self.call_paths.regions(path);
        regions.into_iter().map(|region| self.definitions.region(region).name.clone()).collect()
    }

    /// What call paths begin with in common.
    fn common(&self, paths: impl Iterator<Item = CallPathId>) -> Vec<Arc<str>> {
        let shorter = |mut a: Vec<Arc<str>>, b: Vec<Arc<str>>| {
            let n = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
            a.truncate(n);
            a
        };
        paths.map(|path| self.of(path)).reduce(shorter).unwrap_or_default()
    }
}
