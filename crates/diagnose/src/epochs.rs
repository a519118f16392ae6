//! Epochs of a run as data: when, who has most to do, and how well the time is used in each.
//!
//! Found by [`ouzel_analyses::phases::epochs`]. Efficiencies are those of [`ouzel_efficiency::parts`], as
//! `ouzel efficiency --per epoch` has them.
//!
//! Law: an iteration is in the epoch that its middle is in, here and in the list of iterations.

use crate::findings::words::percent;
use crate::findings::{Iterations, Ranks};
use crate::steps::{StepLoop, Steps};
use ouzel_analyses::phases::epochs::{Epoch, epochs};
use ouzel_analyses::phases::structure::Structure;
use ouzel_analyses::phases::{PhaseGroup, PhasesOutput};
use ouzel_efficiency::Metric;
use ouzel_efficiency::parts::{self, OwnIterations};
use ouzel_model::{Definitions, TimeRange, units};
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
    /// The iterations of the main loop whose middle is in it; `null` if there are none.
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
    /// How many are compared.
    #[serde(skip)]
    pub n_peers: usize,
}

impl EpochCard {
    /// The epochs of the main group of phases, with the iterations of the program's own loops.
    pub fn all(phases: &PhasesOutput, definitions: &Definitions, steps: &Steps) -> Vec<EpochCard> {
        let of = |group: &PhaseGroup| cards(&epochs(group), steps, group, definitions);
        phases.main_group().map(of).unwrap_or_default()
    }

    /// The `id` of the epoch that the middle of a time is in.
    pub fn around(epochs: &[EpochCard], start_ns: u64, end_ns: u64) -> Option<u32> {
        let middle = start_ns + end_ns.saturating_sub(start_ns) / 2;
        let found = epochs.partition_point(|epoch| epoch.end_ns <= middle);
        epochs.get(found).filter(|epoch| epoch.start_ns <= middle).map(|epoch| epoch.id)
    }

    /// Who has most to do, what that costs, and how well the time is used.
    pub fn in_words(&self) -> String {
        let balance =
            self.load_balance.map(|it| format!(", load balance {}", percent(it))).unwrap_or_default();
        let who = self.most_ranks.in_words(self.n_peers);
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
    let iterations = iterations(epochs, steps, group);
    let all = (1..).zip(epochs).zip(iterations);
    all.map(|((id, epoch), iterations)| card(id, epoch, group, iterations, definitions)).collect()
}

/// The iterations of the main loop in each epoch of a group, as those of the program's own loop; `None` for an epoch
/// without any.
pub fn iterations(epochs: &[Epoch], steps: &Steps, group: &PhaseGroup) -> Vec<Option<OwnIterations>> {
    let (Some(first), Some(last)) = (epochs.first(), epochs.last()) else { return Vec::new() };
    let structure = Structure::new(group);
    let main = structure.main_loop(group).map(|it| it.iterations.as_slice()).unwrap_or_default();
    let ranges: Vec<TimeRange> = main.iter().map(|&iteration| group.range_of(iteration)).collect();
    let all = TimeRange { start: first.range.start, end: last.range.end };
    // A loop that takes a part of an epoch does not tell epochs apart.
    let is_short = 2 * covered(&ranges, all) < all.end.since(all.start).0;
    let own = if is_short { steps.around(all) } else { steps.of(&ranges).map(|found| found.of_program) };
    let of = |epoch: &Epoch| match own {
        Some(own) => (own.n_before(epoch.range.start), own.n_before(epoch.range.end)),
        None => {
            let before = |phase: u32| main.partition_point(|(first, _)| *first < phase);
            (before(epoch.phases.start), before(epoch.phases.end))
        }
    };
    let n_all = own.map_or(main.len(), StepLoop::n_steps) as u64;
    let found = |(first, end): (usize, usize)| {
        (first < end).then(|| OwnIterations { n_all, first: first as u64, last: end as u64 - 1 })
    };
    epochs.iter().map(|epoch| found(of(epoch))).collect()
}

/// Time that iterations in order take of a range.
fn covered(iterations: &[TimeRange], all: TimeRange) -> u64 {
    let (Some(first), Some(last)) = (iterations.first(), iterations.last()) else { return 0 };
    last.end.min(all.end).0.saturating_sub(first.start.max(all.start).0)
}

fn card(
    id: u32,
    epoch: &Epoch,
    group: &PhaseGroup,
    iterations: Option<OwnIterations>,
    definitions: &Definitions,
) -> EpochCard {
    let ns = |ticks| definitions.clock.ns_from_ticks(ticks);
    let part = parts::of_epoch(group, epoch);
    let rank = |location| definitions.location(location).rank.map(|rank| rank.0);
    EpochCard {
        id,
        start_ns: ns(epoch.range.start),
        end_ns: ns(epoch.range.end),
        iterations: iterations.map(Iterations::from),
        imbalance_ns: ns(epoch.imbalance),
        most_ranks: Ranks::new(epoch.most.iter().copied().filter_map(rank)),
        parallel: part.get(Metric::Parallel).unwrap_or_default(),
        load_balance: part.get(Metric::LoadBalance),
        communication: part.get(Metric::Communication).unwrap_or_default(),
        n_peers: group.locations.len(),
    }
}
