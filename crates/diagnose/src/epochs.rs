//! Epochs of a run as data: when, who has most to do, and how well the time is used in each.
//!
//! Found by [`ouzel_analyses::phases::epochs`]. Efficiencies are those of the whole run, see
//! [`EfficiencyCard`](crate::EfficiencyCard), with the times of the epoch alone.

use crate::findings::words::percent;
use crate::findings::{Iterations, Ranks};
use crate::steps::{InSteps, Steps};
use ouzel_analyses::phases::PhaseGroup;
use ouzel_analyses::phases::epochs::Epoch;
use ouzel_analyses::phases::structure::Structure;
use ouzel_model::{Definitions, Ticks, TimeRange, units};
use serde::Serialize;

/// A part of the run in which the same ranks have most to do, and others before and after it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EpochCard {
    /// From 1, in order of time.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub id: u32,
    /// When the last rank left the synchronisation before it.
    pub start_ns: u64,
    /// When the last rank left the synchronisation that ends it.
    pub end_ns: u64,
    /// The iterations of the main loop that begin in it; `null` if none does.
    pub iterations: Option<Iterations>,
    /// `max − mean` over ranks of the time in it that is neither waiting nor synchronising.
    pub imbalance_ns: u64,
    /// The ranks with most of that time: those above the mean by more than a third of what the busiest is.
    pub most_ranks: Ranks,
    /// Mean useful time / length.
    #[cfg_attr(feature = "schema", schemars(range(min = 0.0, max = 1.0)))]
    pub parallel: f64,
    /// Mean useful time / that of the rank with most; `null` if no rank computes.
    #[cfg_attr(feature = "schema", schemars(range(min = 0.0, max = 1.0)))]
    pub load_balance: Option<f64>,
    /// Useful time of the rank with most / length.
    #[cfg_attr(feature = "schema", schemars(range(min = 0.0, max = 1.0)))]
    pub communication: f64,
}

impl EpochCard {
    /// Who has most to do, what that costs, and how well the time is used, of `n_peers` ranks.
    pub fn in_words(&self, n_peers: usize) -> String {
        let balance =
            self.load_balance.map(|it| format!(", load balance {}", percent(it))).unwrap_or_default();
        let who = self.most_ranks.in_words(n_peers);
        let most = if self.most_ranks.list.len() == 1 { "has" } else { "have" };
        format!("{who} {most} most to do: {} of imbalance{balance}", units::time(self.imbalance_ns))
    }
}

/// The cards of the epochs of a group.
pub(crate) fn cards(
    epochs: &[Epoch],
    steps: &Steps,
    group: &PhaseGroup,
    definitions: &Definitions,
) -> Vec<EpochCard> {
    if epochs.is_empty() {
        return Vec::new();
    }
    let structure = Structure::new(group);
    let main = structure.main_loop(group).map(|it| it.iterations.as_slice()).unwrap_or_default();
    let ranges: Vec<TimeRange> = main.iter().map(|&iteration| group.range_of(iteration)).collect();
    let all = TimeRange { start: epochs[0].range.start, end: epochs[epochs.len() - 1].range.end };
    let starts = main.iter().map(|(first, _)| *first).collect();
    let iterations = match steps.begun_in(all) {
        // A loop that takes a part of an epoch does not tell epochs apart.
        Some(own) if 2 * covered(&ranges, all) < all.end.since(all.start).0 => MainLoop::Own(own),
        _ => MainLoop::OfPhases { starts, in_steps: steps.of(&ranges) },
    };
    (1..).zip(epochs).map(|(id, epoch)| card(id, epoch, group, &iterations, definitions)).collect()
}

/// Time that iterations in order take of a range.
fn covered(iterations: &[TimeRange], all: TimeRange) -> u64 {
    let (Some(first), Some(last)) = (iterations.first(), iterations.last()) else { return 0 };
    last.end.min(all.end).0.saturating_sub(first.start.max(all.start).0)
}

/// The iterations of the loop that takes most of the run.
enum MainLoop<'s> {
    /// A loop of synchronisations.
    OfPhases {
        /// The first phase of each iteration.
        starts: Vec<u32>,
        in_steps: Option<InSteps<'s>>,
    },
    /// The program's own: when its iterations begin.
    Own(Vec<Ticks>),
}

impl MainLoop<'_> {
    /// Those that begin in an epoch, as those of the program's own loop.
    fn begun_in(&self, epoch: &Epoch) -> Option<Iterations> {
        let (n_all, first, end, in_steps) = match self {
            MainLoop::OfPhases { starts, in_steps } => {
                let before = |phase: u32| starts.partition_point(|start| *start < phase);
                (starts.len(), before(epoch.phases.start), before(epoch.phases.end), in_steps.as_ref())
            }
            MainLoop::Own(starts) => {
                let before = |time: Ticks| starts.partition_point(|start| *start < time);
                (starts.len(), before(epoch.range.start), before(epoch.range.end), None)
            }
        };
        if first == end {
            return None;
        }
        let (n_all, first, last) = match in_steps {
            Some(steps) => (steps.n_all(), steps.of[first].0, steps.of[end - 1].1),
            None => (n_all, first, end - 1),
        };
        Some(Iterations { n_all: n_all as u64, ranges: vec![(first as u64, last as u64)] })
    }
}

#[expect(clippy::cast_precision_loss, reason = "the only divisions, of exact sums")]
fn card(
    id: u32,
    epoch: &Epoch,
    group: &PhaseGroup,
    iterations: &MainLoop<'_>,
    definitions: &Definitions,
) -> EpochCard {
    let ns = |ticks| definitions.clock.ns_from_ticks(ticks);
    let useful = group.by_peer.useful_of(epoch.buckets.clone());
    let (sum, most) = (useful.iter().sum::<u64>() as f64, useful.iter().copied().max().unwrap_or_default());
    let (mean, length) =
        (sum / useful.len().max(1) as f64, epoch.range.end.since(epoch.range.start).0 as f64);
    let share = |part: f64, whole: f64| if whole == 0.0 { 0.0 } else { (part / whole).min(1.0) };
    let rank = |location| definitions.location(location).rank.map(|rank| rank.0);
    EpochCard {
        id,
        start_ns: ns(epoch.range.start),
        end_ns: ns(epoch.range.end),
        iterations: iterations.begun_in(epoch),
        imbalance_ns: ns(epoch.imbalance),
        most_ranks: Ranks::new(epoch.most.iter().copied().filter_map(rank)),
        parallel: share(mean, length),
        load_balance: (0 < most).then(|| share(mean, most as f64)),
        communication: share(most as f64, length),
    }
}
