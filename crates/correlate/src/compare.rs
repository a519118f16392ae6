//! The exact comparison of the reference with one view.
//!
//! R(Δ) = Σ w V0* V e^(+2πi k·Δ/d) / √(E0 E). In double precision, always by the same steps: the result for a view
//! depends only on the view and the question.

use crate::fourier::{Scratch, Shape, Transforms};
use crate::peaks::{Peaks, peaks};
use crate::weights::{filter, multiplicities};
use crate::{Correlation, Question, View};
use num_complex::Complex;

/// A filtered energy below this share of the whole is rounding, not variation.
pub(crate) const NO_ENERGY: f64 = 1e-20;

/// The reference, prepared for comparisons.
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
    /// w(k), times the number of frequencies that k represents: itself and its mirror.
    pub weights: Vec<f64>,
    /// How many frequencies k represents, itself and its mirror, along the last axis.
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

    /// Compares the view whose spectrum is in `buffers`, and overwrites it; `None` if it cannot reach `threshold`.
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

    /// Replaces V by w V0* V; returns Σ w |V0| |V|, which no g exceeds.
    fn multiply(&self, spectrum: &mut [Complex<f64>]) -> f64 {
        let n_line = self.multiplicities.len();
        let mut bound = 0.0;
        for (line, filtered) in spectrum.chunks_exact_mut(n_line).zip(self.filtered.chunks_exact(n_line)) {
            for ((v, f), m) in line.iter_mut().zip(filtered).zip(&self.multiplicities) {
                *v = f * *v;
                bound += v.norm_sqr().sqrt() * m;
            }
        }
        bound
    }
}

/// E = Σ w |V|² over all frequencies; 0 if that is only rounding.
fn energy(weights: &[f64], spectrum: &[Complex<f64>], square_mean: f64) -> f64 {
    let energy: f64 = weights.iter().zip(spectrum).map(|(w, v)| w * v.norm_sqr()).sum();
    if energy <= NO_ENERGY * square_mean { 0.0 } else { energy }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AxisSet, Weights};
    use ouzel_model::{CallPathId, MetricId};
    use serde_json::Value;

    fn flat(value: &Value, into: &mut Vec<f64>) {
        match value.as_array() {
            Some(items) => items.iter().for_each(|item| flat(item, into)),
            None => into.push(value.as_f64().expect("a number")),
        }
    }

    /// The magnitudes of the poster's picture, and R at every shift.
    #[test]
    fn spectra_and_all_of_r_are_those_of_the_reference_values() {
        let golden = ouzel_testkit::golden("correlation");
        let mut n_checked = 0;
        for case in golden["expected"]["cases"].as_array().unwrap() {
            if case["expected"]["mag4"].is_null() {
                continue;
            }
            let numbers = |value: &Value| {
                let mut numbers = Vec::new();
                flat(value, &mut numbers);
                numbers
            };
            let sizes: Vec<usize> = numbers(&case["dims"]).iter().map(|&d| d as usize).collect();
            let shape = Shape::new(&sizes).unwrap();
            let transforms = Transforms::new(&shape);
            let spectrum = |name: &str| {
                let mut values = numbers(&case[name]);
                let mut spectrum = vec![Complex::default(); shape.n_half()];
                transforms.forward(&mut values, &mut spectrum, &mut transforms.scratch());
                spectrum
            };
            let (v0, v1) = (spectrum("v0"), spectrum("v1"));
            let magnitudes = numbers(&case["expected"]["mag4"]);
            let half = shape.half();
            for (at, v) in v0.iter().enumerate() {
                let (row, k) = (at / half[1], at % half[1]);
                let expected = magnitudes[row * sizes[1] + k];
                assert!((4.0 * v.norm() - expected).abs() < 1e-12, "{sizes:?} {row} {k}");
            }
            let view = View { metric: MetricId(0), path: CallPathId(0) };
            let question =
                Question { weights: Weights::Poster, ..Question::new(view, AxisSet::from_indices([0])) };
            let reference = Reference::new(transforms, &question, &v0, 1.0);
            let norm = (energy(&reference.weights, &v1, 1.0) * reference.energy).sqrt();
            let mut buffers = reference.buffers();
            buffers.spectrum.copy_from_slice(&v1);
            reference.multiply(&mut buffers.spectrum);
            let Buffers { spectrum, values, scratch } = &mut buffers;
            reference.transforms.inverse(spectrum, values, scratch);
            for (found, expected) in values.iter().zip(numbers(&case["expected"]["R_direct_01"])) {
                assert!((found / norm - expected).abs() < 1e-12, "{sizes:?}");
                n_checked += 1;
            }
        }
        assert_eq!(n_checked, 64 + 32);
    }
}
