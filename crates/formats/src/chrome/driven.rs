//! Which process launched what a stream runs, and which rank each process is.
//!
//! Most files have one process that drives devices: its rank is that of the file. Merged files have several: a stream
//! belongs to the process whose calls have its correlations. Where processes count their correlations each for itself, all
//! have them: then devices and processes are paired in the order of their ids, if there are as many. Such processes are
//! ranks in the order of their devices if each drives one of its own, else in that of their ids: a file has one rank number
//! at most, which cannot be that of several.

use super::draft::TraceDraft;
use super::laid::LaidTrack;
use super::track::{TrackKind, natural};
use ouzel_model::WorldRank;
use std::collections::{BTreeMap, BTreeSet};

/// Who drives what.
#[derive(Debug, Default)]
pub(super) struct Driven {
    /// By track: the process that launches into it, where a file has several that launch.
    pub drivers: Vec<Option<usize>>,
    /// By group.
    pub ranks: Vec<Option<WorldRank>>,
}

impl Driven {
    /// Of everything that was read; `ranks` has that of each file.
    pub fn new(trace: &TraceDraft, ranks: &[Option<WorldRank>]) -> Self {
        let by_pid =
            |groups: &mut Vec<usize>| groups.sort_by_cached_key(|&it| natural(&trace.groups[it].pid));
        let mut driven = Driven {
            drivers: vec![None; trace.tracks.len()],
            ranks: trace.groups.iter().map(|group| ranks[group.file]).collect(),
        };
        for file in 0..trace.files.len() {
            let is_of_file = |&it: &usize| trace.groups[it].file == file;
            let mut processes: Vec<usize> = (0..trace.groups.len())
                .filter(is_of_file)
                .filter(|&it| !trace.groups[it].is_pseudo() && !trace.groups[it].is_device)
                .filter(|&it| trace.drivers.launches(it))
                .collect();
            if processes.len() < 2 {
                continue;
            }
            let is_device = |&it: &usize| is_of_file(&it) && trace.groups[it].is_device;
            let mut devices: Vec<usize> = (0..trace.groups.len()).filter(is_device).collect();
            by_pid(&mut processes);
            by_pid(&mut devices);
            driven.add_file(trace, &processes, &devices);
            if trace.files.len() == 1 {
                driven.number(trace, &processes, &devices);
            }
        }
        driven
    }

    /// The drivers of the tracks of one file, whose processes and devices are in the order of their ids.
    fn add_file(&mut self, trace: &TraceDraft, processes: &[usize], devices: &[usize]) {
        let mut of_devices: BTreeMap<usize, usize> = BTreeMap::new();
        for (track, LaidTrack { draft, .. }) in trace.tracks.iter().enumerate() {
            let Some(nth) = devices.iter().position(|&it| it == draft.group) else { continue };
            if draft.kind != TrackKind::Stream {
                continue;
            }
            let n_launched = |&&it: &&usize| trace.drivers.n_launched(it, track);
            let most = processes.iter().map(|it| n_launched(&it)).max().unwrap_or(0);
            let mut best = processes.iter().filter(|it| n_launched(it) == most);
            let driver = match (best.next(), best.next()) {
                (Some(&only), None) => Some(only),
                _ => processes.get(nth).copied().filter(|_| processes.len() == devices.len()),
            };
            self.drivers[track] = driver;
            driver.map(|driver| of_devices.entry(draft.group).or_insert(driver));
        }
        // What is drawn beside the streams of a device is about them.
        for (track, LaidTrack { draft, .. }) in trace.tracks.iter().enumerate() {
            if draft.kind != TrackKind::Stream {
                self.drivers[track] = of_devices.get(&draft.group).copied();
            }
        }
    }

    /// Makes ranks of the processes that drive devices; others of the file are none.
    fn number(&mut self, trace: &TraceDraft, processes: &[usize], devices: &[usize]) {
        let driven = |process: usize| -> BTreeSet<usize> {
            let of = |(track, driver): (&LaidTrack, &Option<usize>)| {
                (*driver == Some(process)).then_some(track.draft.group)
            };
            let groups = trace.tracks.iter().zip(&self.drivers).filter_map(of);
            groups.filter_map(|group| devices.iter().position(|&it| it == group)).collect()
        };
        let of_processes: Vec<BTreeSet<usize>> = processes.iter().map(|&it| driven(it)).collect();
        let all: BTreeSet<usize> = of_processes.iter().flatten().copied().collect();
        let has_own = of_processes.iter().all(|it| it.len() == 1) && all.len() == processes.len();
        let mut order: Vec<usize> = processes.to_vec();
        if has_own {
            let of = |process: &usize| processes.iter().position(|it| it == process);
            order.sort_by_key(|it| of(it).and_then(|nth| of_processes[nth].first().copied()));
        }
        self.ranks.fill(None);
        for (rank, process) in (0..).zip(order) {
            self.ranks[process] = Some(WorldRank(rank));
        }
        for (track, LaidTrack { draft, .. }) in trace.tracks.iter().enumerate() {
            if let Some(driver) = self.drivers[track].filter(|_| trace.groups[draft.group].is_device) {
                self.ranks[draft.group] = self.ranks[driver];
            }
        }
    }
}
