//! Kernels of which one rank has more than the others.

use super::AcceleratorsOutput;
use super::loss::{DeviceLoss, loss};
use super::loss_kind::DeviceLossKind;
use crate::devices::streams::DeviceProcess;
use ouzel_analyses::breakdown::Activity;
use ouzel_model::{CallPathId, Definitions, LocationId, Remap, Ticks, TimeRange, WorldRank};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// One kernel on one rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct KernelTime {
    /// The first stream that runs it.
    location: LocationId,
    ticks: u64,
    n: u64,
    range: TimeRange,
}

impl KernelTime {
    fn add(&mut self, other: &KernelTime) {
        self.location = self.location.min(other.location);
        self.ticks += other.ticks;
        self.n += other.n;
        self.range = self.range.and(other.range);
    }
}

/// How long each rank runs each kernel.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KernelTimes(BTreeMap<CallPathId, BTreeMap<WorldRank, KernelTime>>);

/// One kernel on all ranks that run it.
struct Kernel<'a> {
    path: CallPathId,
    ranks: &'a BTreeMap<WorldRank, KernelTime>,
    mean: u64,
    most: u64,
}

impl<'a> Kernel<'a> {
    fn new((&path, ranks): (&CallPathId, &'a BTreeMap<WorldRank, KernelTime>), n_ranks: u64) -> Self {
        let mean = ranks.values().map(|it| it.ticks).sum::<u64>() / n_ranks.max(1);
        let most = ranks.values().map(|it| it.ticks).max().unwrap_or(0);
        Kernel { path, ranks, mean, most }
    }
}

impl KernelTimes {
    fn add(&mut self, path: CallPathId, rank: WorldRank, time: KernelTime) {
        let of_path = self.0.entry(path).or_default();
        of_path.entry(rank).and_modify(|sum| sum.add(&time)).or_insert(time);
    }

    pub fn merge(&mut self, from: KernelTimes) {
        for (path, ranks) in from.0 {
            ranks.into_iter().for_each(|(rank, time)| self.add(path, rank, time));
        }
    }

    pub fn remap(&mut self, remap: &Remap) {
        for (path, ranks) in std::mem::take(&mut self.0) {
            ranks.into_iter().for_each(|(rank, time)| self.add(remap.path(path), rank, time));
        }
    }

    /// The kernel of which one rank has most beyond the mean of all, if hosts of others wait in MPI meanwhile, for
    /// `waiting` together.
    pub fn imbalance(&self, waiting: Ticks) -> Option<DeviceLoss> {
        let ranks: BTreeSet<WorldRank> = self.0.values().flat_map(|of| of.keys().copied()).collect();
        let n_ranks = ranks.len() as u64;
        let kernels = self.0.iter().map(|of| Kernel::new(of, n_ranks));
        let kernel = kernels.max_by_key(|it| (it.most - it.mean, Reverse(it.path)))?;
        // The others cannot gain more than they wait.
        let gain = (kernel.most - kernel.mean).min(waiting.0 / n_ranks.saturating_sub(1).max(1));
        if n_ranks < 2 || gain == 0 {
            return None;
        }
        // Ranks with at least half of what the one with most has beyond the mean.
        let has_more = |it: &&KernelTime| kernel.most + kernel.mean < 2 * it.ticks;
        let spans = kernel.ranks.values().filter(has_more).map(|it| (it.location, it.range));
        let n = kernel.ranks.values().map(|it| it.n).sum::<u64>() as usize;
        let found = loss(DeviceLossKind::Imbalance, kernel.path, spans, n, kernel.most);
        Some(DeviceLoss { gain: Ticks(gain), ..found })
    }
}

impl AcceleratorsOutput {
    /// How long the ranks of some processes run each kernel.
    pub(super) fn kernel_times(
        &self,
        processes: &[DeviceProcess<'_>],
        definitions: &Definitions,
    ) -> KernelTimes {
        let mut times = KernelTimes::default();
        for stream in processes.iter().flat_map(|process| &process.streams) {
            let location = stream.location;
            let Some(rank) = definitions.location(location).rank else { continue };
            for it in stream.operations.iter().filter(|it| self.activity(it.path) == Activity::Computation) {
                let range = TimeRange { start: it.start, end: it.end };
                let ticks = range.end.since(range.start).0;
                times.add(it.path, rank, KernelTime { location, ticks, n: 1, range });
            }
        }
        times
    }
}
