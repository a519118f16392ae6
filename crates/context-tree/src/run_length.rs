//! A sequence of small numbers in which neighbours are mostly equal.
//!
//! Law: no run is empty, and neighbouring runs differ.

use serde::{Deserialize, Serialize};

/// Stands for an iteration that is in no cluster: it was rejected.
pub(crate) const REJECTED: u32 = u32::MAX;

/// Run-length coded sequence: for each iteration the index of its cluster, or [`REJECTED`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runs(Vec<EqualRun>);

/// Equal neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct EqualRun {
    /// The value.
    pub value: u32,
    /// How often.
    pub n: u32,
}

impl Runs {
    /// The sequence of `values`.
    pub(crate) fn from_values(values: impl IntoIterator<Item = u32>) -> Self {
        let mut runs = Runs::default();
        for value in values {
            runs.push(value, 1);
        }
        runs
    }

    /// Appends `n` times `value`.
    pub fn push(&mut self, value: u32, n: u32) {
        match self.0.last_mut() {
            Some(last) if last.value == value => last.n += n,
            _ if n == 0 => {}
            _ => self.0.push(EqualRun { value, n }),
        }
    }

    /// The runs in order.
    pub fn runs(&self) -> &[EqualRun] {
        &self.0
    }

    /// Number of values.
    pub fn len(&self) -> u64 {
        self.0.iter().map(|run| u64::from(run.n)).sum()
    }

    /// Number of values that are not [`REJECTED`].
    pub fn n_accepted(&self) -> u64 {
        self.0.iter().filter(|run| run.value != REJECTED).map(|run| u64::from(run.n)).sum()
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Every value in order.
    pub fn values(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().flat_map(|run| std::iter::repeat_n(run.value, run.n as usize))
    }

    /// The sequence with every value replaced but [`REJECTED`].
    #[must_use]
    pub fn renamed(&self, new: impl Fn(u32) -> u32) -> Self {
        let mut runs = Runs::default();
        for run in &self.0 {
            runs.push(if run.value == REJECTED { REJECTED } else { new(run.value) }, run.n);
        }
        runs
    }

    /// The sequence behind `n` values that are [`REJECTED`].
    #[must_use]
    pub(crate) fn behind_rejected(&self, n: u32) -> Self {
        let mut runs = Runs::default();
        runs.push(REJECTED, n);
        self.0.iter().for_each(|run| runs.push(run.value, run.n));
        runs
    }

    /// The sequence of the values that are not [`REJECTED`].
    #[must_use]
    pub(crate) fn accepted(&self) -> Self {
        let mut runs = Runs::default();
        for run in self.0.iter().filter(|run| run.value != REJECTED) {
            runs.push(run.value, run.n);
        }
        runs
    }

    /// Walks two sequences together: the value of each, and how often this pair comes in a row.
    /// The longer one goes on alone.
    pub fn zip<'a>(&'a self, other: &'a Runs) -> impl Iterator<Item = (Option<u32>, Option<u32>, u32)> + 'a {
        let (mut a, mut b) = (self.0.iter().copied(), other.0.iter().copied());
        let (mut left, mut right) = (a.next(), b.next());
        std::iter::from_fn(move || {
            let n = match (left, right) {
                (Some(l), Some(r)) => l.n.min(r.n),
                (Some(one), None) | (None, Some(one)) => one.n,
                (None, None) => return None,
            };
            let pair = (left.map(|run| run.value), right.map(|run| run.value), n);
            left = used(left, n).or_else(|| a.next());
            right = used(right, n).or_else(|| b.next());
            Some(pair)
        })
    }
}

/// What is left of a run without its first `n` values.
fn used(run: Option<EqualRun>, n: u32) -> Option<EqualRun> {
    let EqualRun { value, n: all } = run?;
    (n < all).then(|| EqualRun { value, n: all - n })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_the_values() {
        let values = [1, 1, 2, 1, 1, 1, 3];
        let runs = Runs::from_values(values);
        assert_eq!(runs.runs().len(), 4);
        assert_eq!(runs.len(), 7);
        assert_eq!(runs.values().collect::<Vec<_>>(), values);
        assert_eq!(runs.renamed(|value| value / 3).runs().len(), 2);
        let some = Runs::from_values([1, REJECTED, 1, 2]);
        assert_eq!((some.len(), some.n_accepted()), (4, 3));
        assert_eq!(some.accepted(), Runs::from_values([1, 1, 2]));
        assert_eq!(Runs::from_values([4]).behind_rejected(2), Runs::from_values([REJECTED, REJECTED, 4]));
        assert_eq!(some.behind_rejected(0), some);
        assert_eq!(some.renamed(|value| value - 1), Runs::from_values([0, REJECTED, 0, 1]));
    }

    #[test]
    fn zipping_is_walking_together() {
        let (a, b) = (Runs::from_values([0, 0, 1, 0]), Runs::from_values([0, 0, 1, 0, 0, 2]));
        let pairs: Vec<_> = a.zip(&b).collect();
        assert_eq!(
            pairs,
            [
                (Some(0), Some(0), 2),
                (Some(1), Some(1), 1),
                (Some(0), Some(0), 1),
                (None, Some(0), 1),
                (None, Some(2), 1)
            ]
        );
        assert_eq!(Runs::default().zip(&Runs::default()).count(), 0);
    }
}
