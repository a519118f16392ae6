//! A piece of a location's run in flat form: tokens, and the time before each.
//!
//! A token enters a region, leaves the innermost one, or represents a loop or a profile that
//! is kept as a tree. Time before a token is a gap of the node that is open there. So two
//! strips of the same tokens are trees of the same shape, their difference is the sum of the
//! absolute differences of their times, and their average is that of their times: no walk,
//! no search, no allocation. Unlike strips are compared as trees.
//! Law: times of a single instance are integers in ticks (below 2^53, exact).
//! Trees are made in [`assemble`](crate::assemble).

use crate::node::Node;
use crate::rows::LoopRows;

/// A token: a region below [`LOOPS`], then the loops, then [`PROFILE`] and [`LEAVE`].
pub type Token = u32;
/// The first token of a loop; further ones follow in the order in which loops were found.
pub(crate) const LOOPS: Token = 1 << 31;
/// Calls too short to be kept in order.
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

/// The tree of a loop or profile token.
#[derive(Debug, Clone, PartialEq)]
pub struct Taken {
    /// A loop or a profile.
    pub node: Node,
    /// The iterations, if it is a loop that is not inside of another.
    pub rows: Option<Box<LoopRows>>,
}

impl Strip {
    /// From its start to its last token, in ticks.
    pub fn duration(&self) -> f64 {
        self.times.iter().sum::<f64>() + self.aux.iter().map(|taken| taken.node.duration()).sum::<f64>()
    }
}

/// Number of parallel sums; a sum of floats in one chain would wait for each addition.
const LANES: usize = 4;
/// Number of values between two checks of the limit.
const BLOCK: usize = 32;

/// `Σ |a - b|`, or any value above `limit` if it is above `limit`.
///
/// The lanes are added in one fixed order: the result does not depend on the machine.
#[inline(never)]
pub fn distance(a: &[f64], b: &[f64], limit: f64) -> f64 {
    assert_eq!(a.len(), b.len());
    let mut total = 0.0;
    for (a, b) in a.chunks(BLOCK).zip(b.chunks(BLOCK)) {
        let mut lanes = [0.0; LANES];
        let (a, a_left) = a.as_chunks::<LANES>();
        let (b, b_left) = b.as_chunks::<LANES>();
        for (a, b) in a.iter().zip(b) {
            for lane in 0..LANES {
                lanes[lane] += (a[lane] - b[lane]).abs();
            }
        }
        for (a, b) in a_left.iter().zip(b_left) {
            lanes[0] += (a - b).abs();
        }
        total += (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
        if limit < total {
            break;
        }
    }
    total
}

/// Makes `a` the mean of `n_a` times `a` and `n_b` times `b`.
#[inline(never)]
pub fn mean(a: &mut [f64], n_a: f64, b: &[f64], n_b: f64) {
    assert_eq!(a.len(), b.len());
    let share = n_b / (n_a + n_b);
    for (a, b) in a.iter_mut().zip(b) {
        // Equal values are not changed.
        *a += (b - *a) * share;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_is_the_sum_of_differences() {
        let a: Vec<f64> = (0..150).map(|i| f64::from(i * 7 % 31)).collect();
        let b: Vec<f64> = (0..150).map(|i| f64::from(i * 5 % 29)).collect();
        let expected: f64 = a.iter().zip(&b).map(|(a, b)| (a - b).abs()).sum();
        assert!((distance(&a, &b, f64::INFINITY) - expected).abs() < 1e-9);
        assert!(10.0 < distance(&a, &b, 10.0));
        let mut average = a.clone();
        mean(&mut average, 3.0, &b, 1.0);
        assert!((average[149] - 0.75 * a[149] - 0.25 * b[149]).abs() < 1e-12);
    }
}
