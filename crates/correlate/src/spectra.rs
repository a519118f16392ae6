//! Spectra in the form in which they are kept.
//!
//! A coefficient is kept as the sum of two single-precision numbers, the coarse one and what it lacks: about 48 bits,
//! an error of 2^-48 of the coefficient, which is that of the transform itself. All coarse numbers of a spectrum come
//! before all fine ones, so that a search for candidates reads only half. Answers are always computed from the sums,
//! even where nothing is kept: a cache changes no bit of them.
//!
//! The [`Portrait`] of a view is what is known of it without its spectrum: its energy by axis and by bands of ‖k‖.

use crate::fourier::Shape;
use crate::weights::{for_each_line, squares};
use crate::{AxisSet, View, Weights};
use num_complex::Complex;
use ouzel_model::{CallPathId, MetricId};
use serde::{Deserialize, Serialize};

/// Bands of ‖k‖; the last one takes everything beyond.
const N_BANDS: usize = 16;
/// Bands for each doubling of 1 + ‖k‖.
const BANDS_PER_OCTAVE: f64 = 3.0;

/// A spectrum in single precision.
pub(crate) type Plane = Vec<Complex<f32>>;

/// What is known of a view without its spectrum.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Portrait {
    metric: u32,
    path: u32,
    /// Share of the places that have a value.
    pub coverage: f64,
    /// Mean square of the values, with the mean.
    pub square_mean: f64,
    /// Total of the values in the profile.
    pub total: f64,
    /// For both weights, for each band, for each axis of the shape: Σ W_i² |V|².
    energies: [Vec<f64>; 2],
    /// Checksums of the coarse and the fine plane.
    pub sums: [u64; 2],
}

impl Portrait {
    /// The portrait of a view of this coverage, mean square and total; checksums of planes are added later.
    pub fn new(
        view: View,
        shape: &Shape,
        spectrum: &[Complex<f64>],
        (coverage, square_mean, total): (f64, f64, f64),
    ) -> Self {
        let energies = [Weights::Poster, Weights::Physical].map(|weights| energies(shape, weights, spectrum));
        let (metric, path) = (view.metric.0, view.path.0);
        Portrait { metric, path, coverage, square_mean, total, energies, sums: [0; 2] }
    }

    /// Whose it is.
    pub fn view(&self) -> View {
        View { metric: MetricId(self.metric), path: CallPathId(self.path) }
    }

    /// The energy that a filter keeps, by bands.
    pub fn bands(&self, shape: &Shape, weights: Weights, axes: AxisSet) -> Vec<f64> {
        let energies = &self.energies[usize::from(weights == Weights::Physical)];
        let kept = |band: &[f64]| {
            let of_axes = band.iter().zip(shape.grid_axes());
            of_axes.filter(|(_, axis)| axes.contains(**axis)).map(|(energy, _)| energy).sum()
        };
        energies.chunks_exact(shape.sizes().len()).map(kept).collect()
    }

    /// Whether its tables fit the shape.
    pub fn fits(&self, shape: &Shape) -> bool {
        self.energies.iter().all(|of| of.len() == N_BANDS * shape.sizes().len())
    }
}

fn energies(shape: &Shape, weights: Weights, spectrum: &[Complex<f64>]) -> Vec<f64> {
    let n_axes = shape.sizes().len();
    let (plain, squares) = (squares(shape, Weights::Poster), squares(shape, weights));
    let n_line = shape.half()[n_axes - 1];
    let (last, last_plain) = (&squares[n_axes - 1], &plain[n_axes - 1]);
    let multiplicities = crate::weights::multiplicities(shape);
    let limits = band_limits();
    let mut energies = vec![0.0; N_BANDS * n_axes];
    let mut plain_outer = Vec::with_capacity(shape.n_half() / n_line);
    for_each_line(shape, &plain, |_, outer| plain_outer.push(outer.iter().sum::<f64>()));
    for_each_line(shape, &squares, |line, outer| {
        let outer_sum: f64 = outer.iter().sum();
        let values = &spectrum[line * n_line..(line + 1) * n_line];
        let mut add = |band: usize, (all, of_last): (f64, f64)| {
            let to = &mut energies[band * n_axes..(band + 1) * n_axes];
            for (to, u) in to.iter_mut().zip(outer) {
                *to += u * all;
            }
            to[n_axes - 1] += of_last;
        };
        // ‖k‖ grows along a line, so bands come in runs.
        let (mut band, mut sums) = (0, (0.0, 0.0));
        for (at, (v, m)) in values.iter().zip(&multiplicities).enumerate() {
            let square = plain_outer[line] + last_plain[at];
            if square >= limits[band] {
                add(band, std::mem::take(&mut sums));
                band += limits[band..].iter().take_while(|limit| square >= **limit).count();
            }
            let norm = outer_sum + last[at];
            let energy = if norm > 0.0 { m * v.norm_sqr() / norm } else { 0.0 };
            sums.0 += energy;
            sums.1 += energy * last[at];
        }
        add(band, sums);
    });
    energies
}

/// The ‖k‖² at which each band ends.
fn band_limits() -> [f64; N_BANDS] {
    let mut limits = [f64::INFINITY; N_BANDS];
    for (band, limit) in limits.iter_mut().enumerate().take(N_BANDS - 1) {
        *limit = (((band + 1) as f64 / BANDS_PER_OCTAVE).exp2() - 1.0).powi(2);
    }
    limits
}

/// The coarse part of a spectrum, and what it lacks.
pub fn split(spectrum: &[Complex<f64>], coarse: &mut Plane, fine: &mut Plane) {
    coarse.clear();
    fine.clear();
    let narrow = |v: &Complex<f64>| Complex::new(v.re as f32, v.im as f32);
    coarse.extend(spectrum.iter().map(narrow));
    let rest = |(v, c): (&Complex<f64>, &Complex<f32>)| {
        Complex::new((v.re - f64::from(c.re)) as f32, (v.im - f64::from(c.im)) as f32)
    };
    fine.extend(spectrum.iter().zip(coarse.iter()).map(rest));
}

/// The spectrum of two planes.
pub fn join(coarse: &[Complex<f32>], fine: &[Complex<f32>], spectrum: &mut [Complex<f64>]) {
    for ((v, c), f) in spectrum.iter_mut().zip(coarse).zip(fine) {
        *v = Complex::new(f64::from(c.re) + f64::from(f.re), f64::from(c.im) + f64::from(f.im));
    }
}

/// A checksum of a plane: detects damage, not malice.
pub fn checksum(plane: &[Complex<f32>]) -> u64 {
    let words: &[u32] = bytemuck::cast_slice(plane);
    let mut lanes = [0x9E37_79B9_u32; 16];
    let mut blocks = words.chunks_exact(16);
    for block in &mut blocks {
        for (lane, word) in lanes.iter_mut().zip(block) {
            *lane = (lane.rotate_left(5) ^ word).wrapping_mul(0x85EB_CA6B);
        }
    }
    let rest = blocks.remainder().iter().chain(&lanes);
    rest.fold(plane.len() as u64, |sum, &word| {
        (sum.rotate_left(23) ^ u64::from(word)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    })
}
