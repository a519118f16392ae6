//! The diagnosis from the losses of a segment, and the run time without them.

use super::thresholds::Thresholds;
use crate::MeanTicks;
use crate::spread::ratio;
use ouzel_model::Ticks;

/// The rows of the paper's table 2, and two that it lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Diagnosis {
    /// Nothing is high: not worth reporting.
    Nothing = 0,
    /// Waiting only: all peers wait alike.
    Waiting = 1,
    /// Imbalance that is made up for before the synchronisation: paths trade off with each other.
    TradedOff = 2,
    /// Imbalance that the synchronisation makes all peers wait for.
    Imbalance = 3,
    /// Imbalance and waiting that make up for each other: some peers wait while others work, as in a serialised section.
    Serialised = 4,
    /// Imbalance that both waiting and the synchronisation suffer from.
    ImbalanceAndWaiting = 5,
    /// The synchronisation waits for an imbalance that no significant path explains: lower the threshold.
    Unexplained = 6,
}

impl Diagnosis {
    /// The row of table 2; 0 and 6 are not in it.
    pub fn row(self) -> u8 {
        self as u8
    }
}

/// The diagnosis of a segment from three losses as parts of the run time: the imbalance of its synchronisation, the
/// imbalance and the waiting before it.
pub fn diagnosis(imb_sync: f64, sum_imb: f64, sum_wait: f64, thresholds: &Thresholds) -> Diagnosis {
    let high = |part: f64| thresholds.high_ratio < part;
    let sync_is_high = high(imb_sync) && thresholds.sync_ratio * sum_imb < imb_sync;
    match (sync_is_high, high(sum_imb), high(sum_wait)) {
        (false, false, false) => Diagnosis::Nothing,
        (false, false, true) => Diagnosis::Waiting,
        (false, true, false) => Diagnosis::TradedOff,
        (true, true, false) => Diagnosis::Imbalance,
        (false, true, true) => Diagnosis::Serialised,
        (true, true, true) => Diagnosis::ImbalanceAndWaiting,
        (true, false, _) => Diagnosis::Unexplained,
    }
}

/// The run time without some losses: `run − Σ (imbalance of the synchronisation + waiting)`, not below zero. The
/// imbalance before a synchronisation is not taken off, as it shows again in what waits for it (paper, §6).
pub fn projected(run: Ticks, n_processes: u64, losses: impl IntoIterator<Item = MeanTicks>) -> MeanTicks {
    let lost = losses.into_iter().fold(0_u128, |sum, loss| sum.saturating_add(loss.sum));
    let run = u128::from(run.0) * u128::from(n_processes);
    MeanTicks { sum: run.saturating_sub(lost), n_processes }
}

/// A loss as a part of the run time; zero if there is none to be part of.
pub(super) fn part_of(loss: MeanTicks, run: Ticks) -> f64 {
    ratio(loss.sum, u128::from(run.0) * u128::from(loss.n_processes)).unwrap_or(0.0)
}
