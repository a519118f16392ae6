//! The reference against one view, exactly.
//!
//! R(Δ) = Σ w V0* V e^(+2πi k·Δ/d) / √(E0 E). In double precision, always by the same steps: what is computed for a
//! view depends on nothing but the view and the question.

use crate::fourier::{Scratch, Shape, Transforms};
use crate::peaks::{Peaks, peaks};
use crate::weights::{filter, multiplicities};
use crate::{Correlation, Question, View};
use num_complex::Complex;

/// A filtered energy below this share of the whole is rounding, not variation.
pub const NO_ENERGY: f64 = 1e-20;

/// The reference, ready to be compared with.
#[derive(Debug)]
pub struct Reference<'a> {
    /// The shape of the grid.
    pub shape: Shape,
    /// Transforms in double precision.
    pub transforms: Transforms<f64>,
    /// The question.
    pub question: &'a Question,
    /// w(k) V0*(k).
    pub filtered: Vec<Complex<f64>>,
    /// w(k), times how often k stands for itself and its mirror.
    pub weights: Vec<f64>,
    /// How often k stands for itself and its mirror, along the last axis.
    pub multiplicities: Vec<f64>,
    /// E0.
    pub energy: f64,
    /// Share of the energy without the mean that the filter keeps.
    pub kept: f64,
}

/// Buffers of one thread.
#[derive(Debug)]
pub struct Buffers {
    /// A spectrum.
    pub spectrum: Vec<Complex<f64>>,
    /// Values.
    pub values: Vec<f64>,
    /// For transforms.
    pub scratch: Scratch<f64>,
}

impl<'a> Reference<'a> {
    /// The reference of a question, by its spectrum.
    pub fn new(
        transforms: Transforms<f64>,
        question: &'a Question,
        spectrum: &[Complex<f64>],
        square_mean: f64,
    ) -> Self {
        let shape = transforms.shape().clone();
        let filter = filter(&shape, question.weights, question.axes);
        let multiplicities = multiplicities(&shape);
        let twice = multiplicities.iter().cycle();
        let weights: Vec<f64> = filter.iter().zip(twice.clone()).map(|(w, m)| w * m).collect();
        let filtered = filter.iter().zip(spectrum).map(|(&w, v)| v.conj() * w).collect();
        let energy = energy(&weights, spectrum, square_mean);
        let all: f64 = spectrum.iter().zip(twice).skip(1).map(|(v, m)| v.norm_sqr() * m).sum();
        let kept = if all > 0.0 { (energy / all).min(1.0) } else { 0.0 };
        Reference { shape, transforms, question, filtered, weights, multiplicities, energy, kept }
    }

    /// Buffers for one thread.
    pub fn buffers(&self) -> Buffers {
        Buffers {
            spectrum: vec![Complex::new(0.0, 0.0); self.shape.n_half()],
            values: vec![0.0; self.shape.n_places()],
            scratch: self.transforms.scratch(),
        }
    }

    /// Compares the view whose spectrum is in `buffers`, and destroys that; `None` if it cannot reach `threshold`.
    pub fn compare(
        &self,
        view: View,
        (coverage, square_mean): (f64, f64),
        threshold: f64,
        buffers: &mut Buffers,
    ) -> Option<Correlation> {
        let Buffers { spectrum, values, scratch } = buffers;
        let energy = energy(&self.weights, spectrum, square_mean);
        let norm = (energy * self.energy).sqrt();
        let found = if norm == 0.0 {
            (threshold <= 0.0).then(|| Peaks::zero(self.shape.n_grid_axes()))?
        } else {
            let bound = self.multiply(spectrum);
            if bound / norm < threshold {
                return None;
            }
            self.transforms.inverse(spectrum, values, scratch);
            peaks(&self.shape, values, norm, self.question.peak)
        };
        let Peaks { r, shift, max, shift_max, min, shift_min } = found;
        Some(Correlation { view, r, shift, r_max: max, shift_max, r_min: min, shift_min, coverage })
    }

    /// w V0* V in the place of V; returns Σ w |V0| |V|, which no g exceeds.
    fn multiply(&self, spectrum: &mut [Complex<f64>]) -> f64 {
        let n_line = self.multiplicities.len();
        let mut bound = 0.0;
        for (line, filtered) in spectrum.chunks_exact_mut(n_line).zip(self.filtered.chunks_exact(n_line)) {
            for ((v, f), m) in line.iter_mut().zip(filtered).zip(&self.multiplicities) {
                *v *= f;
                bound += v.norm_sqr().sqrt() * m;
            }
        }
        bound
    }
}

/// E = Σ w |V|² over all frequencies; 0 if that is rounding.
fn energy(weights: &[f64], spectrum: &[Complex<f64>], square_mean: f64) -> f64 {
    let energy: f64 = weights.iter().zip(spectrum).map(|(w, v)| w * v.norm_sqr()).sum();
    if energy <= NO_ENERGY * square_mean { 0.0 } else { energy }
}
