//! The run without its start-up and its end.
//!
//! Starting processes costs time that says nothing about the program's work. The region of interest lasts from when the
//! first peer left the call that starts the parallel program (`MPI_Init`) to when the last entered the call that ends it
//! (`MPI_Finalize`); a program without one of these begins or ends with the run. Its efficiencies are those of a run of
//! this length whose threads compute what they compute inside: the useful time before a peer left the first call and
//! after it entered the last is taken off.
//!
//! Law: without these calls there is no region of interest; useful time inside and outside add up to that of the run.

use crate::metric::Reason;
use crate::parts::Part;
use crate::run::RunEfficiency;
use crate::useful::{ThreadTimes, Threads};
use ouzel_analyses::phases::{PhaseGroup, ProgramTimes};
use ouzel_model::{LocationId, Ticks, TimeRange};
use rustc_hash::FxHashMap;

/// The region of interest.
#[derive(Debug, Clone, PartialEq)]
pub struct RegionOfInterest {
    /// From the end of the start-up to the beginning of the end.
    pub range: TimeRange,
    /// Its efficiencies; serialisation and transfer are those of the whole run alone.
    pub run: RunEfficiency,
}

impl RegionOfInterest {
    /// The region of interest of `threads`, whose processes are the peers of `group`; `None` if no peer starts or ends a
    /// parallel program, or nothing lies between.
    pub fn new(threads: &Threads, group: &PhaseGroup) -> Option<RegionOfInterest> {
        let of: FxHashMap<LocationId, &ProgramTimes> =
            group.locations.iter().copied().zip(&group.program).collect();
        let known = || threads.threads.iter().filter_map(|thread| of.get(&thread.location));
        let start = known().filter_map(|program| program.start).map(|(at, _)| at).min();
        let end = known().filter_map(|program| program.end).map(|(at, _)| at).max();
        if start.is_none() && end.is_none() {
            return None;
        }
        let range = TimeRange {
            start: start.unwrap_or(group.run_range.start),
            end: end.unwrap_or(group.run_range.end),
        };
        let run_time = range.end.since(range.start);
        if run_time == Ticks(0) {
            return None;
        }
        let inside = |thread: &ThreadTimes| {
            let outside = of.get(&thread.location).map_or(Ticks(0), |it| it.useful.since(it.useful_inside()));
            ThreadTimes { useful: thread.useful.since(outside).min(run_time), ..thread.clone() }
        };
        let threads = Threads {
            run_time,
            processes: threads.processes.clone(),
            threads: threads.threads.iter().map(inside).collect(),
            has_streams: threads.has_streams,
        };
        let run = RunEfficiency::new(&threads, Err(Reason::new("the replay is of the whole run")));
        Some(RegionOfInterest { range, run })
    }

    /// The same as a part of the run.
    pub fn part(&self) -> Part {
        Part {
            start: Some(self.range.start),
            n_compared: self.run.n_threads,
            time: self.run.run_time,
            metrics: self.run.metrics.iter().take(3).cloned().collect(),
            ..Part::default()
        }
    }
}
