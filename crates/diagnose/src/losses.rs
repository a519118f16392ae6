//! Where time is lost, call path by call path.
//!
//! There are two kinds of loss with two formulas, both per process and then as a share of the run. Uneven work is
//! `max - mean` of the exclusive time of computation (the most that the run would gain if the work were spread evenly).
//! Waiting is the `mean` of the inclusive time of an outermost MPI call. Law: a loss names its call path, how it is
//! spread over the ranks, and its share of the run.

use crate::recorded::Recorded;
use ouzel_analyses::call_path_profile::{LocationProfile, ProfileOutput};
use ouzel_analyses::idle::IDLE;
use ouzel_analyses::imbalance::imbalance;
use ouzel_analyses::mpi_time::mpi_time;
use ouzel_analyses::phases::PhaseGroup;
use ouzel_analyses::semantics::{Category, Class, Family};
use ouzel_analyses::{By, MeanTicks, Process, Spread};
use ouzel_model::{
    CallPathId, CallPathTree, Clock, Definitions, LocationId, LocationKind, NOT_RUNNING, Ticks, mpi_function,
};
use serde::Serialize;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Losses below this share of the run are left out. They cannot be distinguished from noise, and no fix is worth it.
const SHARE_MIN: f64 = 0.001;

/// Time lost at one call path.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Loss {
    /// What kind of loss.
    pub kind: LossKind,
    /// Regions from the outermost to the one that loses time; `[]` is code outside recorded regions.
    pub call_path: Vec<Arc<str>>,
    /// `file:line` of the last region; `null` if not recorded.
    pub source: Option<String>,
    /// Time lost, by the formula of its kind, in nanoseconds of the run.
    pub lost_ns: u64,
    /// Half width of the band around `lost_ns`: how far samples can be off; 0 if times are exact. Smaller losses are left out.
    pub band_ns: u64,
    /// `lost_ns / span_ns`.
    pub share_of_run: f64,
    /// Mean time over all processes; zero is counted for one that never gets here.
    pub mean_ns: u64,
    /// The process with the most time.
    pub most: RankTime,
    /// The process with the least time.
    pub least: RankTime,
    /// The call path in the tree of the profile.
    #[serde(skip)]
    pub(crate) path: CallPathId,
}

/// How long a process spent somewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RankTime {
    /// Its world rank; `null` where the trace knows no ranks.
    pub rank: Option<u32>,
    /// Its time.
    pub time_ns: u64,
}

/// Kinds of loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LossKind {
    /// Computation that is spread unevenly: `max - mean` of exclusive time.
    UnevenWork,
    /// Waiting in MPI for one other side, or for the transfer: `mean` of inclusive time.
    WaitForOne,
    /// Waiting in MPI for all others: `mean` of inclusive time.
    WaitForAll,
    /// Starting and ending MPI: `mean` of inclusive time.
    StartAndEnd,
    /// Other MPI calls: `mean` of inclusive time.
    OtherMpi,
    /// Waiting for an accelerator: `mean` of exclusive time over the threads or streams there, at least one a process.
    WaitForDevice,
    /// Allocating memory of an accelerator, which starts it at first: `mean` of exclusive time over the threads or streams there, at least one a process.
    DeviceAllocation,
    /// Collective operations among accelerators: `mean` of exclusive time over the threads or streams there, at least one a process.
    DeviceCollective,
    /// Collective operations that threads of the CPU run, as those of Gloo: `mean` of exclusive time over the threads there, at least one a process.
    HostCollective,
    /// Waiting outside MPI for other threads or processes: `mean` of exclusive time over the threads or streams there, at least one a process.
    WaitForThreads,
    /// Not running although there is something to do, as processor time shows: `mean` of exclusive time over the threads there, at least one a process.
    NotRunning,
    /// Having nothing to do, as Charm++ (`Idle`) and V8 (`(idle)`) record it: `mean` of exclusive time over the threads there, at least one a process.
    Idle,
}

impl LossKind {
    /// The kind in snake case, as tables and JSON show it.
    pub fn as_str(self) -> &'static str {
        match self {
            LossKind::UnevenWork => "uneven_work",
            LossKind::WaitForOne => "wait_for_one",
            LossKind::WaitForAll => "wait_for_all",
            LossKind::StartAndEnd => "start_and_end",
            LossKind::OtherMpi => "other_mpi",
            LossKind::WaitForDevice => "wait_for_device",
            LossKind::DeviceAllocation => "device_allocation",
            LossKind::DeviceCollective => "device_collective",
            LossKind::HostCollective => "host_collective",
            LossKind::WaitForThreads => "wait_for_threads",
            LossKind::NotRunning => "not_running",
            LossKind::Idle => "idle",
        }
    }

    /// The kind in words, as pages show it. Other ranks are mentioned only if the trace has them.
    pub fn title(self, recorded: &Recorded) -> &'static str {
        match self {
            LossKind::UnevenWork => "uneven work",
            LossKind::WaitForOne if !recorded.several_processes() => "waiting in MPI",
            LossKind::WaitForOne => "waiting for another rank",
            LossKind::WaitForAll if !recorded.several_processes() => "synchronising in MPI",
            LossKind::WaitForAll => "waiting for all ranks",
            LossKind::StartAndEnd => "starting and ending MPI",
            LossKind::OtherMpi => "other time in MPI",
            LossKind::WaitForDevice => "waiting for the accelerator",
            LossKind::DeviceAllocation => "memory of the accelerator",
            LossKind::DeviceCollective => "collectives of accelerators",
            LossKind::HostCollective => "collectives of threads",
            LossKind::WaitForThreads if !recorded.several_threads() => "waiting outside of MPI",
            LossKind::WaitForThreads => "waiting for other threads",
            LossKind::NotRunning => "not running",
            LossKind::Idle => "idle",
        }
    }
}

/// Whether the trace has streams of accelerators.
pub(crate) fn has_streams(definitions: &Definitions) -> bool {
    definitions.locations.iter().any(|location| location.kind == LocationKind::AcceleratorStream)
}

/// Where time is lost, most first.
pub(crate) fn losses(
    profile: &ProfileOutput,
    definitions: &Definitions,
    classes: &[Class],
    group: Option<&PhaseGroup>,
    wanted: Option<&[bool]>,
) -> Vec<Loss> {
    let span = profile.run_range.map(|range| range.end.since(range.start)).unwrap_or_default();
    let context = LossContext { profile, definitions, span, group };
    let mut losses = context.outside_of_mpi(classes);
    losses.extend(context.unrecorded());
    losses.extend(context.waiting(classes));
    losses.retain(|loss| {
        SHARE_MIN <= loss.share_of_run
            && (loss.band_ns == 0 || loss.band_ns < loss.lost_ns)
            && wanted.is_none_or(|wanted| wanted[loss.path.index()])
    });
    losses.sort_by(|a, b| (b.lost_ns, a.kind, &a.call_path).cmp(&(a.lost_ns, b.kind, &b.call_path)));
    losses
}

/// Calls that wait for the end of a thread or a process.
const ENDS: &[&str] = &["pthread_join", "pthread_timedjoin_np", "pthread_clockjoin_np", "waitpid"];

struct LossContext<'a> {
    profile: &'a ProfileOutput,
    definitions: &'a Definitions,
    span: Ticks,
    /// Says how far times can be off.
    group: Option<&'a PhaseGroup>,
}

impl LossContext<'_> {
    /// Uneven work, and waiting outside MPI.
    fn outside_of_mpi(&self, classes: &[Class]) -> Vec<Loss> {
        let table = imbalance(self.profile, self.definitions, classes, By::CallPath);
        let below_mpi = self.below_mpi(classes);
        let shares_work = self.shares_work();
        let has_streams = has_streams(self.definitions);
        let rows = table.rows.iter().filter_map(|row| {
            let path = row.key.call_path.filter(|path| !below_mpi[path.index()])?;
            let (kind, lost) = match (row.class.category, row.class.family) {
                (Category::Computation, _) if !shares_work => return None,
                (Category::Computation, _) => (LossKind::UnevenWork, row.lost),
                (_, Family::CudaHip) if self.allocates(path) => {
                    (LossKind::DeviceAllocation, row.exclusive.mean())
                }
                (_, Family::CudaHip) => (LossKind::WaitForDevice, row.exclusive.mean()),
                (_, Family::Nccl) if !has_streams || self.is_of_host(path) => {
                    (LossKind::HostCollective, row.exclusive.mean())
                }
                (_, Family::Nccl) => (LossKind::DeviceCollective, row.exclusive.mean()),
                _ if self.is_named(path, &[NOT_RUNNING]) && self.stand_by(path) => return None,
                _ if self.is_named(path, &[NOT_RUNNING]) => (LossKind::NotRunning, row.exclusive.mean()),
                _ if self.is_named(path, IDLE) => (LossKind::Idle, row.exclusive.mean()),
                // What the others do until they end has its own rows.
                _ if self.is_named(path, ENDS) => return None,
                (_, Family::Pthread | Family::PosixIo) if self.has_nothing_to_do(path, classes) => {
                    return None;
                }
                _ => (LossKind::WaitForThreads, row.exclusive.mean()),
            };
            let lost = match kind {
                LossKind::UnevenWork => lost,
                _ => MeanTicks { n_processes: lost.n_processes.max(self.n_locations(path)), ..lost },
            };
            Some(self.loss(kind, Some(path), lost, &row.exclusive))
        });
        rows.collect()
    }

    /// Whether processes are known to share work: several without ranks need not be parts of one program.
    fn shares_work(&self) -> bool {
        let defined = || self.profile.locations.iter().map(|it| self.definitions.location(it.location));
        let threads = defined().filter(|location| location.kind.runs_code());
        let processes: BTreeSet<_> = threads.map(|location| location.group).collect();
        processes.len() < 2 || defined().any(|location| location.rank.is_some())
    }

    /// Threads and streams that were in a call path.
    fn n_locations(&self, path: CallPathId) -> u64 {
        let is_there = |location: &&LocationProfile| {
            location.rows.binary_search_by_key(&path, |row| row.call_path).is_ok()
        };
        self.profile.locations.iter().filter(is_there).count() as u64
    }

    /// Whether threads that do not run in a path have nothing to do there, as those of libraries: no first threads, whose
    /// caller computes less than a twentieth of that time.
    fn stand_by(&self, path: CallPathId) -> bool {
        let rows = |path: CallPathId| {
            let row = move |location: &LocationProfile| {
                let at = location.rows.binary_search_by_key(&path, |row| row.call_path).ok()?;
                Some((location.location, location.rows[at].times.exclusive.0))
            };
            self.profile.locations.iter().filter_map(row)
        };
        let sum = |path| rows(path).map(|(_, ticks)| u128::from(ticks)).sum::<u128>();
        let first = |location| self.group.is_none_or(|group| group.locations.contains(&location));
        !rows(path).any(|(location, _)| first(location))
            && 20 * sum(self.profile.call_paths.parent(path)) < sum(path)
    }

    /// Whether threads that wait for others in a path are there for something else than the work of the program: no first
    /// threads, which compute for less than a twentieth of that time, wherever they are. Locks have holders.
    fn has_nothing_to_do(&self, path: CallPathId, classes: &[Class]) -> bool {
        let region = self.profile.call_paths.region(path);
        if region.is_some_and(|region| self.definitions.region(region).name.contains("lock")) {
            return false;
        }
        let first = |location| self.group.is_none_or(|group| group.locations.contains(&location));
        let computes = |path| {
            let class = self.profile.call_paths.region(path).map(|region| classes[region.index()]);
            class.is_none_or(|class| class.category == Category::Computation)
        };
        let (mut waits, mut busy) = (0, 0);
        for location in &self.profile.locations {
            let Ok(at) = location.rows.binary_search_by_key(&path, |row| row.call_path) else { continue };
            if first(location.location) {
                return false;
            }
            waits += u128::from(location.rows[at].times.exclusive.0);
            let rows = location.rows.iter().filter(|row| computes(row.call_path));
            busy += rows.map(|row| u128::from(row.times.exclusive.0)).sum::<u128>();
        }
        20 * busy < waits
    }

    /// Whether the path ends in a region of one of these names.
    fn is_named(&self, path: CallPathId, names: &[&str]) -> bool {
        let region = self.profile.call_paths.region(path);
        region.is_some_and(|region| names.contains(&&*self.definitions.region(region).name))
    }

    /// Whether the path ends in a collective of a library that only the CPU runs.
    fn is_of_host(&self, path: CallPathId) -> bool {
        let region = self.profile.call_paths.region(path);
        region.is_some_and(|region| self.definitions.region(region).name.starts_with("gloo:"))
    }

    fn allocates(&self, path: CallPathId) -> bool {
        let region = self.profile.call_paths.region(path);
        region
            .is_some_and(|region| self.definitions.region(region).name.to_ascii_lowercase().contains("alloc"))
    }

    /// For each call path, whether it is MPI or below it.
    fn below_mpi(&self, classes: &[Class]) -> Vec<bool> {
        let paths = &self.profile.call_paths;
        let mut below = vec![false; paths.len()];
        for path in paths.paths() {
            let is_mpi = |region: ouzel_model::RegionId| classes[region.index()].family == Family::Mpi;
            below[path.index()] = below[paths.parent(path).index()] || paths.region(path).is_some_and(is_mpi);
        }
        below
    }

    fn waiting(&self, classes: &[Class]) -> Vec<Loss> {
        let table = mpi_time(self.profile, self.definitions, classes);
        let rows = table.rows.iter().map(|row| {
            let kind = match row.category {
                _ if self.starts_or_ends(row.call_path) => LossKind::StartAndEnd,
                Category::Wait => LossKind::WaitForOne,
                Category::Synchronization => LossKind::WaitForAll,
                Category::Computation => LossKind::OtherMpi,
            };
            self.loss(kind, Some(row.call_path), row.time.mean(), &row.time)
        });
        rows.collect()
    }

    /// Whether the path ends in a call that starts or ends MPI, in C or Fortran spelling.
    fn starts_or_ends(&self, path: CallPathId) -> bool {
        let Some(region) = self.profile.call_paths.region(path) else { return false };
        let function = mpi_function(&self.definitions.region(region).name);
        matches!(function.as_deref(), Some("init" | "init_thread" | "finalize"))
    }

    /// Uneven work in code outside every recorded region, of the first thread of each process.
    fn unrecorded(&self) -> Option<Loss> {
        let main_threads: BTreeSet<LocationId> = self.group?.locations.iter().copied().collect();
        let times = self.profile.locations.iter().filter_map(|location| {
            let defined = self.definitions.location(location.location);
            let is_recorded = location.span.is_some() && main_threads.contains(&location.location);
            let rank = defined.rank.filter(|_| is_recorded)?;
            Some((Process { group: defined.group, rank: Some(rank) }, location.outside))
        });
        let mut times: Vec<(Process, Ticks)> = times.collect();
        times.sort_by_key(|(process, _)| process.rank);
        let (&(max_process, max), &(min_process, min)) =
            (times.iter().rev().max_by_key(|t| t.1)?, times.iter().min_by_key(|t| t.1)?);
        let spread = Spread {
            n_processes: times.len() as u64,
            n_seen: times.len() as u64,
            sum: times.iter().map(|t| u128::from(t.1.0)).sum(),
            max,
            max_process,
            min,
            min_process,
        };
        Some(self.loss(LossKind::UnevenWork, None, spread.max_less_mean(), &spread))
    }

    /// How far a loss can be off.
    fn band(&self, kind: LossKind, path: Option<CallPathId>, time: &Spread) -> Ticks {
        let path = path.unwrap_or(CallPathTree::ROOT);
        let noise = self.group.and_then(|group| Some((group, group.noise_of(path)?)));
        let Some((group, noise)) = noise else { return Ticks(0) };
        let totals = group.totals.iter().filter(|cell| cell.call_path == path);
        let n_stays = totals.map(|cell| cell.n_stays).sum();
        let of = noise.of(time.n_seen, time.sum, time.max, n_stays);
        if kind == LossKind::UnevenWork { of.of_extremes() } else { of.of_mean() }
    }

    fn loss(&self, kind: LossKind, path: Option<CallPathId>, lost: MeanTicks, time: &Spread) -> Loss {
        let clock: &Clock = &self.definitions.clock;
        let regions = path.map(|path| self.profile.call_paths.regions(path)).unwrap_or_default();
        let rank_time = |process: Process, ticks| RankTime {
            rank: process.rank.map(|rank| rank.0),
            time_ns: clock.ns_from_ticks(ticks),
        };
        Loss {
            kind,
            path: path.unwrap_or(CallPathTree::ROOT),
            source: regions.last().and_then(|&region| self.definitions.region(region).source()),
            call_path: regions
                .into_iter()
                .map(|region| self.definitions.region(region).name.clone())
                .collect(),
            lost_ns: lost.ns(clock),
            band_ns: clock.ns_from_ticks(self.band(kind, path, time)),
            share_of_run: lost.ratio_to(self.span),
            mean_ns: time.mean().ns(clock),
            most: rank_time(time.max_process, time.max),
            least: rank_time(time.min_process, time.min),
        }
    }
}
