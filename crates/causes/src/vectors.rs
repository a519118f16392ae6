//! Points in space: one vector for each process, one dimension for each region.
//!
//! Stored by vector, so that a distance reads two contiguous blocks. Law: dimensions that are zero for every vector are
//! dropped; the others are ordered by spread, widest first, so that too long a distance is recognised early; neither
//! changes a result except by rounding. Each vector is padded with zeros to a whole number of steps. Which vectors
//! belong together is decided elsewhere.

/// Vectors of one length.
#[derive(Debug, Clone, PartialEq)]
pub struct Vectors {
    n: usize,
    n_dims: usize,
    /// Numbers from one vector to the next.
    stride: usize,
    values: Vec<f64>,
}

/// Dimensions added up before a distance is compared with its limit.
const STEP: usize = 8;

impl Vectors {
    /// The vectors whose components are `columns`: one value for each vector.
    ///
    /// # Panics
    /// If a column does not have `n` values.
    pub(crate) fn from_columns(n: usize, columns: &[&[f64]]) -> Self {
        let mut kept: Vec<(f64, usize)> = Vec::new();
        for (at, column) in columns.iter().enumerate() {
            assert_eq!(column.len(), n, "a column has one value for each vector");
            if column.iter().any(|&value| value != 0.0) {
                kept.push((spread(column), at));
            }
        }
        kept.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let n_dims = kept.len();
        let stride = n_dims.next_multiple_of(STEP);
        let mut values = vec![0.0; n * stride];
        for (dim, &(_, at)) in kept.iter().enumerate() {
            for (vector, &value) in columns[at].iter().enumerate() {
                values[vector * stride + dim] = value;
            }
        }
        Vectors { n, n_dims, stride, values }
    }

    /// Number of vectors.
    pub fn len(&self) -> usize {
        self.n
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// Number of dimensions in which any vector is not zero.
    pub(crate) fn n_dims(&self) -> usize {
        self.n_dims
    }

    /// The components of a vector.
    pub fn vector(&self, at: usize) -> &[f64] {
        &self.values[at * self.stride..][..self.n_dims]
    }

    /// Length of every vector: the root of the sum of its squares.
    pub fn lengths(&self) -> Vec<f64> {
        (0..self.n).map(|at| self.vector(at).iter().map(|x| x * x).sum::<f64>().sqrt()).collect()
    }

    /// Whether two vectors may be near if the component in which they differ most is left out: whether the rest of the
    /// squared distance is below `limit`.
    pub(crate) fn may_be_near(&self, a: usize, b: usize, limit: f64, leaves_one_out: bool) -> bool {
        // Rounding is on the safe side.
        let limit = limit * (1.0 + 1e-9);
        let (mut sum, mut widest) = (0.0, 0.0_f64);
        // Both only grow, and so does the rest.
        for (a, b) in self.steps(a).iter().zip(self.steps(b)) {
            let squares = squares(a, b);
            sum += total(squares);
            if leaves_one_out {
                widest = squares.into_iter().fold(widest, f64::max);
            }
            let rest = sum - widest;
            if rest > limit && rest > 1e-9 * sum {
                return false;
            }
        }
        true
    }

    /// The squared distance of two vectors; any value not below `limit` if the distance is not below it.
    pub(crate) fn squared_distance(&self, a: usize, b: usize, limit: f64) -> f64 {
        let mut sum = 0.0;
        for (a, b) in self.steps(a).iter().zip(self.steps(b)) {
            sum += total(squares(a, b));
            if sum >= limit && sum > 0.0 {
                return sum;
            }
        }
        sum
    }

    /// The components of a vector, followed by padding zeros.
    fn steps(&self, at: usize) -> &[[f64; STEP]] {
        self.values[at * self.stride..(at + 1) * self.stride].as_chunks().0
    }
}

/// The squares of differences.
#[inline]
fn squares(a: &[f64; STEP], b: &[f64; STEP]) -> [f64; STEP] {
    std::array::from_fn(|i| (a[i] - b[i]) * (a[i] - b[i]))
}

/// The sum, in pairs, which a processor adds in parallel.
#[inline]
fn total([a, b, c, d, e, f, g, h]: [f64; STEP]) -> f64 {
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

/// Variance of the values, times their number.
fn spread(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    values.iter().map(|value| (value - mean) * (value - mean)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_dimensions_do_not_count_and_wide_ones_come_first() {
        let vectors = Vectors::from_columns(2, &[&[0.0, 0.0], &[1.0, 2.0], &[5.0, 9.0]]);
        assert_eq!((vectors.n_dims(), vectors.vector(1)), (2, &[9.0, 2.0][..]));
        assert_eq!(vectors.squared_distance(0, 1, f64::INFINITY).to_bits(), 17.0_f64.to_bits());
        assert!(vectors.squared_distance(0, 1, 3.0) >= 3.0);
    }
}
