//! Kernels of which one rank has more than the others.

use super::AcceleratorsOutput;
use super::idle::IdleCause;
use super::loss::{DeviceLoss, loss};
use super::loss_kind::DeviceLossKind;
use ouzel_analyses::breakdown::Activity;
use ouzel_model::{CallPathId, Definitions, LocationId, Ticks, TimeRange, WorldRank};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// One kernel on one rank.
struct KernelTime {
    location: LocationId,
    ticks: u64,
    n: u64,
    range: TimeRange,
}

/// One kernel on all ranks that run it.
struct Kernel {
    path: CallPathId,
    ranks: BTreeMap<WorldRank, KernelTime>,
    mean: u64,
    most: u64,
}

impl Kernel {
    fn new((path, ranks): (CallPathId, BTreeMap<WorldRank, KernelTime>), n_ranks: u64) -> Self {
        let mean = ranks.values().map(|it| it.ticks).sum::<u64>() / n_ranks.max(1);
        let most = ranks.values().map(|it| it.ticks).max().unwrap_or(0);
        Kernel { path, ranks, mean, most }
    }
}

impl AcceleratorsOutput {
    /// The kernel of which one rank has most beyond the mean of all, if hosts of others wait in MPI meanwhile.
    pub(super) fn kernel_imbalance(&self, definitions: &Definitions) -> Option<DeviceLoss> {
        let waiting: u64 = self.idle(definitions).iter().map(|row| row.of(IdleCause::Partner).0).sum();
        let mut ranks: BTreeSet<WorldRank> = BTreeSet::new();
        let mut of_paths: BTreeMap<CallPathId, BTreeMap<WorldRank, KernelTime>> = BTreeMap::new();
        for stream in self.processes(definitions).iter().flat_map(|process| &process.streams) {
            let location = stream.location;
            let Some(rank) = definitions.location(location).rank else { continue };
            for it in stream.operations.iter().filter(|it| self.activity(it.path) == Activity::Computation) {
                ranks.insert(rank);
                let range = TimeRange { start: it.start, end: it.end };
                let of_path = of_paths.entry(it.path).or_default();
                let sum = of_path.entry(rank).or_insert(KernelTime { location, ticks: 0, n: 0, range });
                sum.ticks += range.end.since(range.start).0;
                sum.n += 1;
                sum.range = sum.range.and(range);
            }
        }
        let n_ranks = ranks.len() as u64;
        let kernels = of_paths.into_iter().map(|of| Kernel::new(of, n_ranks));
        let kernel = kernels.max_by_key(|it| (it.most - it.mean, Reverse(it.path)))?;
        // The others cannot gain more than they wait.
        let gain = (kernel.most - kernel.mean).min(waiting / n_ranks.saturating_sub(1).max(1));
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
