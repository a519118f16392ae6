//! How far durations from samples can be off.
//!
//! A sample owns the time until the next one, so a stay somewhere begins and ends up to a period V late; the error of its
//! length is the difference of two times that are uniform in `0..V`: no error on average, `V / √6` as standard deviation.
//! Visits that follow each other without anything between are one stay. Where calls are recorded beside the samples,
//! phases begin and end at exact times, and what lasts from the begin to the end of a phase is no stay. Of `r` stays it is
//! `s = V √(r / 6)`. Stays shorter than a period may be missed altogether: `s = V √r` is taken if those that were seen take
//! less than `1.5 V` on average.
//!
//! For `N` peers over `k` phases, each with its `s`:
//! - a mean over peers is off by at most `2 √(Σ s²) / √N`,
//! - the greatest of the sums over the phases by at most `(2 + √(2 ln N)) √(Σ s²)`,
//! - a greatest or least value by at most `Σ s √(2 ln N) + 2 √(Σ s²)`: the greatest of `N` noisy values is on average too
//!   great by up to `s √(2 ln N)`, in each phase, and in the same direction.
//!
//! Both are half widths that hold in 19 cases of 20. Exact durations have none.

use super::plan::noise_factor;
use ouzel_model::Ticks;

/// What the durations of a group lack in precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Noise {
    /// The longest sampling period of a peer.
    pub period: Ticks,
    /// Number of peers.
    pub n_peers: u64,
    /// Synchronisations that were found, those inside of stretches counted in.
    pub n_synchronisations: u64,
}

/// Half widths of losses, in ticks; sums over phases.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Uncertainty {
    /// Σ s √(2 ln N).
    bias: f64,
    /// Σ s².
    variance: f64,
    n_peers: f64,
}

impl Noise {
    /// The uncertainty of the durations of one path in one phase, from their sum over the `n_seen` peers that have it, the
    /// greatest, and the number of stays of all peers.
    pub fn of(&self, n_seen: u64, sum: u128, max: Ticks, n_stays: u64) -> Uncertainty {
        let n_seen = n_seen.max(1) as f64;
        let stays = n_stays as f64 / n_seen;
        let period = self.period.0 as f64;
        let mean = sum as f64 / (n_seen * stays);
        let variance = if mean < 1.5 * period { stays } else { stays / 6.0 } * period * period;
        // No path is longer than it is, nor uncertain by more.
        let variance = variance.min((max.0 as f64 + period).powi(2));
        Uncertainty {
            bias: variance.sqrt() * noise_factor(self.n_peers),
            variance,
            n_peers: self.n_peers.max(1) as f64,
        }
    }
}

impl Uncertainty {
    /// Adds that of another phase or path.
    pub fn add(&mut self, other: &Uncertainty) {
        self.bias += other.bias;
        self.variance += other.variance;
        self.n_peers = self.n_peers.max(other.n_peers);
    }

    /// Half width of `max − mean`, `mean − min` and the like.
    pub fn of_extremes(&self) -> Ticks {
        ticks(self.bias + 2.0 * self.variance.sqrt())
    }

    /// The same of the sums over phases, whose greatest is one peer's.
    pub fn of_extreme_sums(&self) -> Ticks {
        ticks(self.variance.sqrt() * (noise_factor(self.n_peers as u64) + 2.0))
    }

    /// Half width of a mean over peers.
    pub fn of_mean(&self) -> Ticks {
        ticks(2.0 * (self.variance / self.n_peers.max(1.0)).sqrt())
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rounded up, and not negative")]
fn ticks(value: f64) -> Ticks {
    Ticks(value.ceil() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_follow_the_formulas() {
        let noise = Noise { period: Ticks(600), n_peers: 8, n_synchronisations: 1 };
        // Six long stays of each peer: s = V.
        let mut sum = noise.of(8, 8 * 60_000, Ticks(60_000), 48);
        let factor = (2.0 * 8.0_f64.ln()).sqrt();
        assert_eq!(sum.of_extremes().0, (600.0 * factor + 1200.0).ceil() as u64);
        assert_eq!(sum.of_mean().0, (1200.0 / 8.0_f64.sqrt()).ceil() as u64);
        // Another such phase: twice the bias, √2 times the rest.
        let other = sum;
        sum.add(&other);
        assert_eq!(sum.of_extremes().0, (1200.0 * factor + 2.0 * 720_000.0_f64.sqrt()).ceil() as u64);
        // Short stays are more uncertain.
        assert_eq!(noise.of(8, 8 * 800, Ticks(800), 8).of_mean().0, (1200.0 / 8.0_f64.sqrt()).ceil() as u64);
    }

    #[test]
    fn exact_durations_have_no_band() {
        let noise = Noise { period: Ticks(0), n_peers: 8, n_synchronisations: 1 };
        let of = noise.of(3, 100, Ticks(50), 3);
        assert_eq!((of.of_extremes(), of.of_mean()), (Ticks(0), Ticks(0)));
    }

    /// Random stays of many peers, sampled at random offsets: errors are within the band in 19 cases of 20.
    #[test]
    fn bands_hold_for_sampled_stays() {
        let mut rng = ouzel_testkit::Rng::new(7);
        let (period, n_peers, n_runs) = (100_u64, 24_u64, 400);
        let (mut n_extremes, mut n_means) = (0, 0);
        for _ in 0..n_runs {
            let mut sampled = Vec::new();
            for _ in 0..n_peers {
                // Three stays of 1000 with pauses of 333 between them.
                let offset = rng.below(period);
                let ceil = |at: u64| (at + period - 1 - offset) / period * period + offset;
                let start = rng.below(5000) + 100;
                let stay = |i: u64| ceil(start + 1333 * i + 1000) - ceil(start + 1333 * i);
                sampled.push((0..3).map(stay).sum::<u64>());
            }
            let (sum, max) = (sampled.iter().sum::<u64>(), sampled.iter().copied().max().unwrap_or_default());
            let noise = Noise { period: Ticks(period), n_peers, n_synchronisations: 1 };
            let of = noise.of(n_peers, u128::from(sum), Ticks(max), 3 * n_peers);
            let mean = sum as f64 / n_peers as f64;
            n_extremes += u32::from((max as f64 - mean) <= of.of_extremes().0 as f64);
            n_means += u32::from((mean - 3000.0).abs() <= of.of_mean().0 as f64);
        }
        assert!(n_runs * 19 <= n_extremes * 20, "{n_extremes}");
        assert!(n_runs * 19 <= n_means * 20, "{n_means}");
    }
}
