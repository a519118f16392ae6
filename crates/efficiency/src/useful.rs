//! The useful time of each thread of a run, and what the rest of its time is.

use crate::time_kind::{PathKind, TimeKind, path_kinds};
use ouzel_analyses::call_path_profile::{LocationProfile, ProfileOutput};
use ouzel_analyses::semantics::Class;
use ouzel_analyses::{Process, Processes, runs_on_cpu};
use ouzel_model::{Definitions, LocationId, LocationKind, RegionId, Ticks};
use std::collections::BTreeMap;

/// The CPU threads of a run whose events are complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Threads {
    /// From the first event to the last over all locations that run code.
    pub run_time: Ticks,
    /// The processes, by rank.
    pub processes: Vec<Process>,
    /// By process, the first thread of each first; then by location.
    pub threads: Vec<ThreadTimes>,
    /// Whether streams of accelerators ran something.
    pub has_streams: bool,
}

/// What a thread spends its time on. What is left of the run is waiting for other threads, or nothing at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadTimes {
    /// The thread.
    pub location: LocationId,
    /// Index into [`Threads::processes`].
    pub process: usize,
    /// Whether it is the first thread of its process.
    pub is_master: bool,
    /// Computation, calls that drive an accelerator, and `outside`.
    pub useful: Ticks,
    /// Part of `useful`: time outside of all regions; zero unless it is the first thread.
    pub outside: Ticks,
    /// Part of `useful`: calls that drive an accelerator.
    pub launches: Ticks,
    /// Part of `useful`: inside of parallel regions.
    pub useful_parallel: Ticks,
    /// Waiting for an accelerator.
    pub device_waits: Ticks,
    /// In MPI, SHMEM and NCCL, outside of parallel regions.
    pub communication: Ticks,
    /// The same inside of parallel regions.
    pub communication_parallel: Ticks,
    /// From the begin to the end of parallel regions, without those inside of others.
    pub parallel: Ticks,
    /// The same by region, ascending.
    pub teams: Vec<Team>,
}

/// A thread in a parallel region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Team {
    /// The region.
    pub region: RegionId,
    /// How often the thread took part.
    pub n_visits: u64,
    /// From begin to end, summed over visits.
    pub time: Ticks,
    /// Part of `time`: all but waiting for other threads.
    pub busy: Ticks,
}

/// Why there are no efficiencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unavailable {
    /// No location is a CPU thread.
    NoCpuThread,
    /// The run takes no time.
    NoTime,
    /// A region filter hides what part of the time was spent on.
    HiddenRegions,
    /// The events of every thread are incomplete.
    NothingComplete,
    /// It is not known what regions mean.
    NoDefinitions,
    /// The host's threads drive accelerators.
    Accelerators,
    /// Helper threads run collectives beside the others, and no parallel region is theirs.
    CollectivesBeside,
    /// There are several threads, and no parallel region that they run together.
    NoTeams,
    /// There are several processes, and they have no ranks.
    NoRanks,
}

impl Unavailable {
    /// The reason in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Unavailable::NoCpuThread => "no location is a CPU thread",
            Unavailable::NoTime => "the run takes no time",
            Unavailable::HiddenRegions => "a region filter hides what the time was spent on",
            Unavailable::NothingComplete => "the events of all ranks are incomplete",
            Unavailable::NoDefinitions => {
                "definitions are lost, so it is not known which regions compute and which wait"
            }
            Unavailable::Accelerators => {
                "accelerators run part of the work, so how much the host's threads compute says little; `ouzel \
                 efficiency` shows hosts and accelerators side by side"
            }
            Unavailable::CollectivesBeside => {
                "helper threads run collectives beside the computation, so threads do not share work; `ouzel breakdown` \
                 shows how much of the communication computation hides"
            }
            Unavailable::NoTeams => {
                "no parallel regions of threads are recorded, so it is not known which threads share work"
            }
            Unavailable::NoRanks => "the processes have no ranks, so it is not known whether they share work",
        }
    }
}

impl std::fmt::Display for Unavailable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::error::Error for Unavailable {}

/// Threads of libraries have at most one part in so many of the run that is useful.
const STANDS_BY: u64 = 100;

impl Threads {
    /// The threads of a profile; `classes` has the class of every region.
    ///
    /// The useful time of a CPU thread is its exclusive time in call paths that compute: neither the region nor any of
    /// its callers belongs to MPI, SHMEM, NCCL or the measurement system, waits, or synchronises. (Tasks that run inside
    /// of OpenMP barriers compute.) Time of the first thread of a process outside of every recorded region is in the
    /// program's own code and useful, too: some tracers record communication only.
    ///
    /// Incomplete locations (`is_incomplete`) would seem to idle: they are left out.
    ///
    /// # Errors
    /// If there is no CPU thread, no time, or a filter hides regions.
    pub fn new(
        profile: &ProfileOutput,
        definitions: &Definitions,
        classes: &[Class],
        is_incomplete: &dyn Fn(LocationId) -> bool,
    ) -> Result<Threads, Unavailable> {
        let paths =
            path_kinds(&profile.call_paths, definitions, classes).ok_or(Unavailable::HiddenRegions)?;
        let processes = Processes::new(profile, definitions);
        let mut threads = Vec::new();
        let mut has_threads = false;
        let mut has_streams = false;
        let mut last = None;
        let is_beside = definitions.drawn_beside();
        for (process, location) in processes.members() {
            if is_beside[location.location.index()] {
                continue;
            }
            if !runs_on_cpu(definitions, location.location) {
                let kind = definitions.location(location.location).kind;
                has_streams |= kind == LocationKind::AcceleratorStream && !location.rows.is_empty();
                continue;
            }
            has_threads = true;
            let is_master = last.replace(process) != Some(process);
            if !is_incomplete(location.location) {
                threads.push(ThreadTimes::new(location, (process, is_master), &paths));
            }
        }
        if threads.is_empty() {
            return Err(if has_threads { Unavailable::NothingComplete } else { Unavailable::NoCpuThread });
        }
        let run_time = profile.run_range.map_or(Ticks(0), |range| range.end.since(range.start));
        if run_time == Ticks(0) {
            return Err(Unavailable::NoTime);
        }
        Ok(Threads { run_time, processes: processes.list, threads, has_streams })
    }

    /// The same if it means something to compare the threads with each other: they share the work of one program, which
    /// regions of OpenMP show (`has_teams` where these have other names than parallel regions), and accelerators do not
    /// run it. Threads of libraries that stand by are left out: no first threads, in no parallel region, with at most a
    /// hundredth of the run of useful time.
    ///
    /// # Errors
    /// The reason why it does not.
    pub fn comparable(mut self, has_teams: bool) -> Result<Threads, Unavailable> {
        let limit = self.run_time.0 / STANDS_BY;
        self.threads.retain(|thread| {
            let communicates = 0 < thread.communication.0;
            thread.is_master || communicates || !thread.teams.is_empty() || limit < thread.useful.0
        });
        let drives = |thread: &ThreadTimes| 0 < thread.launches.0 || 0 < thread.device_waits.0;
        let is_unranked = |thread: &ThreadTimes| self.processes[thread.process].rank.is_none();
        if self.has_streams || self.threads.iter().any(drives) {
            Err(Unavailable::Accelerators)
        } else if 1 < self.n_processes() && self.threads.iter().any(is_unranked) {
            Err(Unavailable::NoRanks)
        } else if !has_teams && self.is_multithreaded() && self.threads.iter().all(|it| it.teams.is_empty()) {
            let communicates = |it: &ThreadTimes| !it.is_master && 0 < it.communication.0;
            let beside = self.threads.iter().any(communicates);
            Err(if beside { Unavailable::CollectivesBeside } else { Unavailable::NoTeams })
        } else {
            Ok(self)
        }
    }

    /// The threads of these locations; `None` if there is none.
    pub fn only(&self, of: &dyn Fn(LocationId) -> bool) -> Option<Threads> {
        let threads: Vec<ThreadTimes> =
            self.threads.iter().filter(|thread| of(thread.location)).cloned().collect();
        (!threads.is_empty()).then(|| Threads { threads, processes: self.processes.clone(), ..*self })
    }

    /// Processes with a thread that is complete.
    pub fn n_processes(&self) -> u64 {
        self.by_process().len() as u64
    }

    /// Whether some process has more than one thread.
    pub fn is_multithreaded(&self) -> bool {
        self.by_process().iter().any(|threads| 1 < threads.len())
    }

    /// The threads of each process that has any, the first thread first if it is complete.
    pub(crate) fn by_process(&self) -> Vec<&[ThreadTimes]> {
        self.threads.chunk_by(|a, b| a.process == b.process).collect()
    }
}

impl ThreadTimes {
    fn new(location: &LocationProfile, (process, is_master): (usize, bool), paths: &[PathKind]) -> Self {
        let outside = if is_master { location.outside } else { Ticks(0) };
        let mut times = ThreadTimes {
            location: location.location,
            process,
            is_master,
            useful: outside,
            outside,
            launches: Ticks(0),
            useful_parallel: Ticks(0),
            device_waits: Ticks(0),
            communication: Ticks(0),
            communication_parallel: Ticks(0),
            parallel: Ticks(0),
            teams: Vec::new(),
        };
        let mut teams: BTreeMap<RegionId, Team> = BTreeMap::new();
        for row in &location.rows {
            let PathKind { kind, parallel, is_region } = paths[row.call_path.index()];
            let own = row.times.exclusive;
            times.add(kind, parallel.is_some(), own);
            let Some(region) = parallel else { continue };
            let none = Team { region, n_visits: 0, time: Ticks(0), busy: Ticks(0) };
            let team = teams.entry(region).or_insert(none);
            if is_region {
                team.n_visits += row.times.visits;
                add(&mut team.time, row.times.inclusive);
                add(&mut times.parallel, row.times.inclusive);
            }
            if kind.is_busy() {
                add(&mut team.busy, own);
            }
        }
        times.teams = teams.into_values().collect();
        times
    }

    fn add(&mut self, kind: TimeKind, is_parallel: bool, own: Ticks) {
        if kind.is_useful() {
            add(&mut self.useful, own);
            if is_parallel {
                add(&mut self.useful_parallel, own);
            }
        }
        match (kind, is_parallel) {
            (TimeKind::Launch, _) => add(&mut self.launches, own),
            (TimeKind::DeviceWait, _) => add(&mut self.device_waits, own),
            (TimeKind::Communication, false) => add(&mut self.communication, own),
            (TimeKind::Communication, true) => add(&mut self.communication_parallel, own),
            (TimeKind::Computation | TimeKind::Other, _) => {}
        }
    }
}

/// Adds up to the greatest number, which only corrupt time stamps reach.
fn add(sum: &mut Ticks, ticks: Ticks) {
    *sum = Ticks(sum.0.saturating_add(ticks.0));
}
