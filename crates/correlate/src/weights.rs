//! The share of each axis in each frequency.
//!
//! Frequencies are those of a half spectrum ([`Shape`]): all of the axes but the last, and 0..=d/2 of the last. Law:
//! shares lie in [0, 1] and add up to 1 over the axes, except for k = 0, where all are 0; those of k and −k are equal.

use crate::fourier::Shape;
use crate::{AxisSet, Weights};

/// The frequency of index `k` on an axis of `size` places, −d/2 < k ≤ d/2. Its sign at d/2 is irrelevant here: it is
/// squared.
pub(crate) fn signed_frequency(k: usize, size: usize) -> f64 {
    if 2 * k > size { k as f64 - size as f64 } else { k as f64 }
}

/// u_i² for every index of every axis of the shape.
pub fn squares(shape: &Shape, weights: Weights) -> Vec<Vec<f64>> {
    let square = |k: usize, size: usize| {
        let u = signed_frequency(k, size);
        let u = if weights == Weights::Physical { u / size as f64 } else { u };
        u * u
    };
    let half = shape.half();
    shape.sizes().iter().zip(half).map(|(&size, n)| (0..n).map(|k| square(k, size)).collect()).collect()
}

/// Calls `each` with the position and the u_i² of the outer axes for every line of the half spectrum.
pub(crate) fn for_each_line(shape: &Shape, squares: &[Vec<f64>], mut each: impl FnMut(usize, &[f64])) {
    let n_axes = shape.sizes().len();
    let n_lines = shape.n_half() / shape.half()[n_axes - 1];
    let mut index = vec![0_usize; n_axes - 1];
    let mut outer: Vec<f64> = squares[..n_axes - 1].iter().map(|s| s[0]).collect();
    for line in 0..n_lines {
        each(line, &outer);
        for axis in (0..n_axes - 1).rev() {
            index[axis] = (index[axis] + 1) % shape.sizes()[axis];
            outer[axis] = squares[axis][index[axis]];
            if index[axis] > 0 {
                break;
            }
        }
    }
}

/// w(k) = Σ f_i W_i²(k) for every frequency of the half spectrum; `axes` are those of the grid.
pub fn filter(shape: &Shape, weights: Weights, axes: AxisSet) -> Vec<f64> {
    let squares = squares(shape, weights);
    let n_axes = shape.sizes().len();
    let kept: Vec<bool> = shape.grid_axes().iter().map(|&axis| axes.contains(axis)).collect();
    let (last, keeps_last) = (&squares[n_axes - 1], kept[n_axes - 1]);
    let mut filter = Vec::with_capacity(shape.n_half());
    for_each_line(shape, &squares, |_, outer| {
        let all: f64 = outer.iter().sum();
        let chosen: f64 = outer.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(u, _)| u).sum();
        filter.extend(last.iter().map(|u| {
            let norm = all + u;
            let part = chosen + if keeps_last { *u } else { 0.0 };
            if norm > 0.0 { part / norm } else { 0.0 }
        }));
    });
    filter
}

/// How many frequencies one of the half spectrum represents, itself and its mirror: 1 or 2, for each index of the last
/// axis.
pub(crate) fn multiplicities(shape: &Shape) -> Vec<f64> {
    let size = shape.sizes()[shape.sizes().len() - 1];
    (0..=size / 2).map(|k| if k == 0 || 2 * k == size { 1.0 } else { 2.0 }).collect()
}
