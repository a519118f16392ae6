//! Extremes of R over all shifts.
//!
//! Values within 1e-9 of an extreme are as good as it. Among them the smallest shift wins: the least sum of ways
//! along the axes, the shorter way around each; then the first in the order of coordinates of the grid.

use crate::Peak;
use crate::fourier::Shape;

/// Values of R that differ by less are taken as equal: well above the rounding of transforms, below what matters.
pub const TIE: f64 = 1e-9;

/// The extremes of one R.
#[derive(Debug, Clone, PartialEq)]
pub struct Peaks {
    /// R at the peak that was asked for.
    pub r: f64,
    /// Its shift, in coordinates of the grid.
    pub shift: Vec<u32>,
    /// The greatest R.
    pub max: f64,
    /// Its shift.
    pub shift_max: Vec<u32>,
    /// The least R.
    pub min: f64,
    /// Its shift.
    pub shift_min: Vec<u32>,
}

impl Peaks {
    /// R ≡ 0.
    pub fn zero(n_axes: usize) -> Self {
        let none = || vec![0; n_axes];
        Peaks { r: 0.0, shift: none(), max: 0.0, shift_max: none(), min: 0.0, shift_min: none() }
    }
}

/// The extremes of `values` / `norm`, one value for each shift in the order of the shape.
pub(crate) fn peaks(shape: &Shape, values: &[f64], norm: f64, peak: Peak) -> Peaks {
    let (mut max, mut min) = (f64::NEG_INFINITY, f64::INFINITY);
    for &v in values {
        max = max.max(v);
        min = min.min(v);
    }
    let tie = TIE * norm;
    let r_at = |place: usize| (values[place] / norm).clamp(-1.0, 1.0);
    let place_max = smallest(shape, values, |v| v >= max - tie);
    let place_min = smallest(shape, values, |v| v <= min + tie);
    let greatest = max.max(-min);
    let place = match peak {
        Peak::Greatest => place_max,
        Peak::Absolute if -min < greatest - tie => place_max,
        Peak::Absolute if max < greatest - tie => place_min,
        Peak::Absolute => smallest(shape, values, |v| v.abs() >= greatest - tie),
    };
    let shift = |place| shape.grid_coordinates(place);
    Peaks {
        r: r_at(place),
        shift: shift(place),
        max: (max / norm).clamp(-1.0, 1.0),
        shift_max: shift(place_max),
        min: (min / norm).clamp(-1.0, 1.0),
        shift_min: shift(place_min),
    }
}

/// The place of the smallest shift among those that pass; one does.
fn smallest(shape: &Shape, values: &[f64], passes: impl Fn(f64) -> bool) -> usize {
    let mut best: Option<(u64, Vec<u32>, usize)> = None;
    for (place, _) in values.iter().enumerate().filter(|(_, v)| passes(**v)) {
        let way = way(shape, place);
        if best.as_ref().is_some_and(|best| way > best.0) {
            continue;
        }
        let candidate = (way, shape.grid_coordinates(place), place);
        if best.as_ref().is_none_or(|best| candidate < *best) {
            best = Some(candidate);
        }
    }
    best.map_or(0, |best| best.2)
}

/// The sum of ways along the axes, the shorter way around each.
fn way(shape: &Shape, place: usize) -> u64 {
    let mut rest = place;
    let mut sum = 0;
    for &size in shape.sizes().iter().rev() {
        let at = rest % size;
        sum += at.min(size - at) as u64;
        rest /= size;
    }
    sum
}
