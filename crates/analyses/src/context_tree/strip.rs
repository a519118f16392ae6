//! A piece of a location's run in flat form: tokens, and the time before each.
//!
//! A token enters a region, leaves the innermost one, or stands for a loop or a profile that
//! is kept as a tree. Time before a token is a gap of the node that is open there. So two
//! strips of the same tokens are trees of the same shape, their difference is the sum of the
//! absolute differences of their times, and their average is that of their times: no walk,
//! no search, no memory to be asked for. Unlike strips are compared as trees.
//! Law: times are integers in ticks as long as they are of one instance (below 2^53, exact).
//! Not here: making trees ([`assemble`](super::assemble)).

use super::node::Node;
use super::rows::Rows;

/// A token: a region below [`LOOPS`], then the loops, then [`PROFILE`] and [`LEAVE`].
pub type Token = u32;
/// The first token that stands for a loop; further ones follow in the order in which loops were found.
pub const LOOPS: Token = 1 << 31;
/// What was too short to be kept in order.
pub const PROFILE: Token = u32::MAX - 1;
/// The innermost region is left.
pub const LEAVE: Token = u32::MAX;

/// A piece of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Strip {
    /// What happened.
    pub tokens: Vec<Token>,
    /// Time before each token, in ticks.
    pub times: Vec<f64>,
    /// The trees of the loops and profiles, in the order of their tokens.
    pub aux: Vec<Taken>,
}

/// A tree that a token stands for.
#[derive(Debug, Clone, PartialEq)]
pub struct Taken {
    /// A loop or a profile.
    pub node: Node,
    /// Of a loop that is not inside of another: its iterations.
    pub rows: Option<Box<Rows>>,
}

impl Strip {
    /// From its start to its last token, in ticks.
    pub fn duration(&self) -> f64 {
        self.times.iter().sum::<f64>() + self.aux.iter().map(|taken| taken.node.duration()).sum::<f64>()
    }
}

/// Values that are added up side by side; a sum of floats in one chain would wait for each addition.
const LANES: usize = 4;
/// Values between two looks at the limit.
const BLOCK: usize = 64;

/// `Σ |sums - n·times|`, or something above `limit` if it is above `limit`.
///
/// The lanes are added in one fixed order: the result does not depend on the machine.
#[inline(never)]
pub fn distance(sums: &[f64], n: f64, times: &[f64], limit: f64) -> f64 {
    assert_eq!(sums.len(), times.len());
    let mut total = 0.0;
    for (sums, times) in sums.chunks(BLOCK).zip(times.chunks(BLOCK)) {
        let mut lanes = [0.0; LANES];
        let (sums, sums_left) = sums.as_chunks::<LANES>();
        let (times, times_left) = times.as_chunks::<LANES>();
        for (sum, time) in sums.iter().zip(times) {
            for lane in 0..LANES {
                lanes[lane] += (sum[lane] - n * time[lane]).abs();
            }
        }
        for (sum, time) in sums_left.iter().zip(times_left) {
            lanes[0] += (sum - n * time).abs();
        }
        total += (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
        if limit < total {
            break;
        }
    }
    total
}

/// Adds `times` to `sums`.
#[inline(never)]
pub fn add(sums: &mut [f64], times: &[f64]) {
    assert_eq!(sums.len(), times.len());
    for (sum, time) in sums.iter_mut().zip(times) {
        *sum += time;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_is_the_sum_of_differences() {
        let a: Vec<f64> = (0..150).map(|i| f64::from(i * 7 % 31)).collect();
        let b: Vec<f64> = (0..150).map(|i| f64::from(i * 5 % 29)).collect();
        let expected: f64 = a.iter().zip(&b).map(|(a, b)| (a - 2.0 * b).abs()).sum();
        assert!((distance(&a, 2.0, &b, f64::INFINITY) - expected).abs() < 1e-9);
        assert!(10.0 < distance(&a, 2.0, &b, 10.0));
        let mut sum = a.clone();
        add(&mut sum, &b);
        assert!((sum[149] - a[149] - b[149]).abs() < 1e-12);
    }
}
