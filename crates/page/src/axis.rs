//! A time axis: a range of nanoseconds, one unit for all of it, and ticks at round numbers.

/// A range of time that a picture spans. Never empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Axis {
    start_ns: u64,
    end_ns: u64,
}

/// A labelled place on an axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    /// Where, in percent of the axis.
    pub percent: f64,
    /// What is written there, without unit.
    pub label: String,
}

/// Most ticks of an axis: one for each 80 pixels of a wide picture.
const MAX_TICKS: u64 = 11;

impl Axis {
    /// The axis from `start_ns` to `end_ns`, or one nanosecond if that is empty.
    pub fn new(start_ns: u64, end_ns: u64) -> Self {
        Axis { start_ns, end_ns: end_ns.max(start_ns.saturating_add(1)) }
    }

    /// The unit of its labels: name and nanoseconds.
    pub fn unit(self) -> (&'static str, u64) {
        match self.end_ns {
            1_000_000_000.. => ("s", 1_000_000_000),
            1_000_000.. => ("ms", 1_000_000),
            1_000.. => ("µs", 1_000),
            _ => ("ns", 1),
        }
    }

    /// The position of a time in percent of the axis, clamped to it.
    pub fn percent(self, ns: u64) -> f64 {
        let from_start = ns.clamp(self.start_ns, self.end_ns) - self.start_ns;
        100.0 * from_start as f64 / (self.end_ns - self.start_ns) as f64
    }

    /// Ticks at multiples of 1, 2 or 5 times a power of ten.
    pub fn ticks(self) -> Vec<Tick> {
        let (_, unit_ns) = self.unit();
        let step = round_step(self.end_ns - self.start_ns, MAX_TICKS);
        // The fewest that write a step exactly; units are powers of ten, so nine are enough.
        let is_exact = |n: &u32| (step % unit_ns * 10_u64.pow(*n)).is_multiple_of(unit_ns);
        let n_decimals = (0..9).find(is_exact).unwrap_or(9) as usize;
        let first = self.start_ns.div_ceil(step);
        (first..=self.end_ns / step)
            .map(|i| {
                let label = format!("{:.n_decimals$}", (i * step) as f64 / unit_ns as f64);
                Tick { percent: self.percent(i * step), label }
            })
            .collect()
    }
}

/// The smallest of 1, 2, 5, 10, 20, … that gives at most `most` steps.
pub(crate) fn round_step(length: u64, most: u64) -> u64 {
    let mut power = 1_u64;
    loop {
        for factor in [1, 2, 5] {
            let step = power.saturating_mul(factor);
            if length / step < most || step == u64::MAX {
                return step;
            }
        }
        power = power.saturating_mul(10);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(start_ns: u64, end_ns: u64) -> Vec<String> {
        Axis::new(start_ns, end_ns).ticks().into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(labels(0, 178_200_000_000)[..3], ["0", "20", "40"]);
        assert_eq!(labels(0, 178_200_000_000).len(), 9);
        assert_eq!(
            labels(300, 2_300),
            ["0.4", "0.6", "0.8", "1.0", "1.2", "1.4", "1.6", "1.8", "2.0", "2.2"]
        );
        assert_eq!(labels(0, 0), ["0", "1"]);
        assert_eq!(labels(1_500_000_000, 1_503_000_000)[..2], ["1.5000", "1.5005"]);
        assert!(labels(0, u64::MAX).len() <= 11);
        let ticks = Axis::new(100, 200).ticks();
        assert_eq!((ticks[0].percent, ticks[10].percent), (0.0, 100.0));
    }
}
