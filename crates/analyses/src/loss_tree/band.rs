//! How far the losses of a segment can be off: half widths, zero if times are exact.
//!
//! See [`Noise`](crate::phases::Noise) for the formulas. Law: a loss that is not greater than its band is no loss; it is
//! zero in sums and in diagnoses, and the band of the sum is wider by what it may be.

use crate::imbalance::Loss;
use crate::phases::{Cell, PhaseGroup, Stat, Uncertainty};
use crate::semantics::Category;
use ouzel_model::{CallPathId, Ticks};

/// Half widths of an imbalance and of waiting.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Band {
    /// Of the imbalance.
    pub imbalance: Ticks,
    /// Of the waiting.
    pub wait: Ticks,
}

impl Band {
    /// That of a path's losses; see [`loss`](crate::imbalance::loss) for what they are.
    pub(super) fn of(category: Category, uncertainty: &Uncertainty) -> Self {
        let (extremes, mean) = (uncertainty.of_extremes(), uncertainty.of_mean());
        let wait = match category {
            Category::Computation => Ticks(0),
            Category::Wait => mean,
            Category::Synchronization => extremes,
        };
        Band { imbalance: extremes, wait }
    }

    /// What of a loss is more than its band; and the half widths of what is 0 now: it may be as much as was seen, and by
    /// the band more.
    pub(super) fn above(self, loss: Loss) -> (Loss, Band) {
        let (mut kept, mut hidden) = (loss, Band::default());
        let parts = [
            (&mut kept.imbalance, self.imbalance, &mut hidden.imbalance),
            (&mut kept.wait, self.wait, &mut hidden.wait),
        ];
        for (part, band, hidden) in parts {
            if part.sum <= u128::from(band.0) * u128::from(part.n_processes) && band != Ticks(0) {
                // In whole ticks, upwards.
                *hidden = band + Ticks(part.rounded().saturating_add(1));
                part.sum = 0;
            }
        }
        (kept, hidden)
    }
}

/// The uncertainty of the times of a path over some phases; `stat` says which of the times.
pub(super) fn of_path<'g>(
    group: &'g PhaseGroup,
    phases: &[u32],
    (call_path, subset): (CallPathId, bool),
    stat: impl Fn(&'g Cell) -> &'g Stat,
) -> Uncertainty {
    let mut sum = Uncertainty::default();
    for &phase in phases {
        let cells = group.cells_of(phase);
        let key = |cell: &Cell| (cell.call_path, cell.subset);
        let Ok(at) = cells.binary_search_by_key(&(call_path, subset), key) else { continue };
        if let Some(uncertainty) = group.uncertainty(phase, &cells[at], stat(&cells[at])) {
            sum.add(&uncertainty);
        }
    }
    sum
}

/// The uncertainty of the times in the synchronisations that end some phases.
pub(super) fn of_sync(group: &PhaseGroup, phases: &[u32]) -> Uncertainty {
    let mut sum = Uncertainty::default();
    for phase in phases.iter().filter_map(|&phase| group.phases.get(phase as usize)) {
        if let (Some(stat), Some(noise)) = (&phase.in_anchor, group.noise_of_anchor(phase)) {
            sum.add(&stat.uncertainty(noise, u64::from(stat.n_seen) * phase.n_phases));
        }
    }
    sum
}
