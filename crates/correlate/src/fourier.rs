//! Transforms of real values on a grid of any number of axes and any sizes.
//!
//! A [`Shape`] is the grid as transforms see it: axes of one place are dropped, and the longest axis is last, because
//! spectra of real values are stored by half along the last axis (0..=d/2) and rounding errors are least there.
//! Forward: V(k) = (1/N) Σ v(x) e^(−2πi Σ k_j x_j / d_j). Inverse: v(x) = Σ V(k) e^(+2πi Σ k_j x_j / d_j).

use crate::{Grid, columns};
use num_complex::Complex;
use realfft::{ComplexToReal, FftNum, RealFftPlanner, RealToComplex};
use rustfft::{Fft, FftPlanner};
use std::sync::Arc;

/// Columns that are copied together: a cache line of the narrowest numbers.
const TILE: usize = 16;
/// Pairs of lines that are transformed together.
const PAIRS: usize = TILE;
/// Lines of at most this length are transformed faster two at a time than one by one: measured at 16 and 28 (1.2 to 3
/// times), and not at 64.
const MAX_PAIRED: usize = 32;

/// The axes as transforms see them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    sizes: Vec<usize>,
    /// For each of them, its position in the grid.
    grid_axes: Vec<usize>,
    n_grid_axes: usize,
}

impl Shape {
    /// The shape of axes of these sizes; `None` if there is only one place.
    pub fn new(grid_sizes: &[usize]) -> Option<Shape> {
        let mut grid_axes: Vec<usize> = (0..grid_sizes.len()).filter(|&axis| grid_sizes[axis] > 1).collect();
        let longest = (0..grid_axes.len()).max_by_key(|&at| grid_sizes[grid_axes[at]])?;
        let last = grid_axes.remove(longest);
        grid_axes.push(last);
        let sizes = grid_axes.iter().map(|&axis| grid_sizes[axis]).collect();
        Some(Shape { sizes, grid_axes, n_grid_axes: grid_sizes.len() })
    }

    /// The shape of a grid.
    pub fn of(grid: &Grid) -> Option<Shape> {
        let sizes: Vec<usize> = grid.axes().iter().map(|axis| axis.size as usize).collect();
        Shape::new(&sizes)
    }

    /// The sizes, the last one running fastest.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// For each axis its position in the grid.
    pub(crate) fn grid_axes(&self) -> &[usize] {
        &self.grid_axes
    }

    /// Number of axes of the grid.
    pub(crate) fn n_grid_axes(&self) -> usize {
        self.n_grid_axes
    }

    /// The sizes of the half spectrum.
    pub fn half(&self) -> Vec<usize> {
        let mut half = self.sizes.clone();
        if let Some(last) = half.last_mut() {
            *last = *last / 2 + 1;
        }
        half
    }

    /// Number of places.
    pub fn n_places(&self) -> usize {
        self.sizes.iter().product()
    }

    /// Number of frequencies of a half spectrum.
    pub(crate) fn n_half(&self) -> usize {
        self.half().iter().product()
    }

    /// The coordinates in the grid of a place of the shape.
    pub(crate) fn grid_coordinates(&self, place: usize) -> Vec<u32> {
        let mut rest = place;
        let mut coordinates = vec![0; self.n_grid_axes];
        for (&size, &axis) in self.sizes.iter().zip(&self.grid_axes).rev() {
            coordinates[axis] = (rest % size) as u32;
            rest /= size;
        }
        coordinates
    }

    /// The place of the shape for coordinates of the grid.
    pub fn place(&self, grid_coordinates: &[u32]) -> usize {
        let step = |place, (&size, &axis): (&usize, &usize)| place * size + grid_coordinates[axis] as usize;
        self.sizes.iter().zip(&self.grid_axes).fold(0, step)
    }
}

/// Transforms of one shape and one type of numbers; shared by threads.
pub struct Transforms<T: FftNum> {
    shape: Shape,
    real: Arc<dyn RealToComplex<T>>,
    unreal: Arc<dyn ComplexToReal<T>>,
    /// For two lines of the last axis at once.
    pair: Option<Arc<dyn Fft<T>>>,
    forward: Vec<Arc<dyn Fft<T>>>,
    inverse: Vec<Arc<dyn Fft<T>>>,
}

impl<T: FftNum> std::fmt::Debug for Transforms<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transforms").field("shape", &self.shape).finish_non_exhaustive()
    }
}

/// What a thread needs to transform.
#[derive(Debug)]
pub struct Scratch<T> {
    tile: Vec<Complex<T>>,
    inner: Vec<Complex<T>>,
}

impl<T: FftNum> Transforms<T> {
    /// Plans them.
    pub fn new(shape: &Shape) -> Self {
        let (mut reals, mut complexes) = (RealFftPlanner::new(), FftPlanner::new());
        let (&last, outer) = shape.sizes.split_last().expect("a shape has an axis");
        Transforms {
            shape: shape.clone(),
            real: reals.plan_fft_forward(last),
            unreal: reals.plan_fft_inverse(last),
            pair: (last % 2 == 0 && last <= MAX_PAIRED).then(|| complexes.plan_fft_inverse(last)),
            forward: outer.iter().map(|&size| complexes.plan_fft_forward(size)).collect(),
            inverse: outer.iter().map(|&size| complexes.plan_fft_inverse(size)).collect(),
        }
    }

    /// The shape they are for.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Buffers for one thread.
    pub fn scratch(&self) -> Scratch<T> {
        let zero = Complex::new(T::zero(), T::zero());
        let ffts = || self.forward.iter().chain(&self.inverse).chain(&self.pair);
        let n_tile = ffts().map(|fft| fft.len() * TILE).max().unwrap_or(0);
        let n_inner = ffts().map(|fft| fft.get_inplace_scratch_len()).max().unwrap_or(0);
        let n_inner = n_inner.max(self.real.get_scratch_len()).max(self.unreal.get_scratch_len());
        Scratch { tile: vec![zero; n_tile], inner: vec![zero; n_inner] }
    }

    /// The half spectrum of `values`, which are overwritten.
    pub fn forward(&self, values: &mut [T], spectrum: &mut [Complex<T>], scratch: &mut Scratch<T>) {
        let n = self.real.len();
        let lines = values.chunks_exact_mut(n).zip(spectrum.chunks_exact_mut(n / 2 + 1));
        for (line, out) in lines {
            self.real
                .process_with_scratch(line, out, &mut scratch.inner)
                .expect("lines have the planned length");
        }
        for axis in 0..self.forward.len() {
            self.along(axis, &*self.forward[axis], spectrum, scratch);
        }
        let scale = T::one() / T::from_usize(values.len()).expect("a count is a number");
        for v in spectrum.iter_mut() {
            *v = *v * scale;
        }
    }

    /// The values of a half spectrum, which is overwritten.
    pub fn inverse(&self, spectrum: &mut [Complex<T>], values: &mut [T], scratch: &mut Scratch<T>) {
        for axis in 0..self.inverse.len() {
            self.along(axis, &*self.inverse[axis], spectrum, scratch);
        }
        let n_done = self.pairs(spectrum, values, scratch);
        let n = self.unreal.len();
        let lines = spectrum.chunks_exact_mut(n / 2 + 1).zip(values.chunks_exact_mut(n));
        for (line, out) in lines.skip(n_done) {
            // Zero except for rounding, as the values are real.
            line[0].im = T::zero();
            if n % 2 == 0 {
                line[n / 2].im = T::zero();
            }
            self.unreal
                .process_with_scratch(line, out, &mut scratch.inner)
                .expect("lines have the planned length and real ends");
        }
    }

    /// The last axis, two lines in one complex transform each: where lines are short, that is faster than one real
    /// transform a line. Returns how many lines were done.
    fn pairs(&self, spectrum: &[Complex<T>], values: &mut [T], scratch: &mut Scratch<T>) -> usize {
        let Some(fft) = &self.pair else { return 0 };
        let n = fft.len();
        let n_half = n / 2 + 1;
        let groups = spectrum.chunks_exact(2 * n_half * PAIRS).zip(values.chunks_exact_mut(2 * n * PAIRS));
        let n_done = groups.len() * 2 * PAIRS;
        let tile = &mut scratch.tile[..n * PAIRS];
        for (lines, out) in groups {
            for (pair, z) in lines.chunks_exact(2 * n_half).zip(tile.chunks_exact_mut(n)) {
                // a + ib for k and −k; the ends are real.
                let (a, b) = pair.split_at(n_half);
                let (low, high) = z.split_at_mut(n / 2);
                low[0] = Complex::new(a[0].re, b[0].re);
                high[0] = Complex::new(a[n / 2].re, b[n / 2].re);
                let within = a[1..n / 2].iter().zip(&b[1..n / 2]);
                for ((low, high), (a, b)) in low[1..].iter_mut().zip(high[1..].iter_mut().rev()).zip(within) {
                    *low = Complex::new(a.re - b.im, a.im + b.re);
                    *high = Complex::new(a.re + b.im, b.re - a.im);
                }
            }
            fft.process_with_scratch(tile, &mut scratch.inner);
            for (z, out) in tile.chunks_exact(n).zip(out.chunks_exact_mut(2 * n)) {
                let (a, b) = out.split_at_mut(n);
                for ((z, a), b) in z.iter().zip(a).zip(b) {
                    (*a, *b) = (z.re, z.im);
                }
            }
        }
        n_done
    }

    /// One complex transform along an axis, in place.
    fn along(&self, axis: usize, fft: &dyn Fft<T>, data: &mut [Complex<T>], scratch: &mut Scratch<T>) {
        let size = fft.len();
        let stride: usize = self.shape.half()[axis + 1..].iter().product();
        for block in data.chunks_exact_mut(size * stride) {
            if columns::transform(size, fft.fft_direction(), block) {
                continue;
            }
            for first in (0..stride).step_by(TILE) {
                let columns = first..stride.min(first + TILE);
                let tile = &mut scratch.tile[..size * columns.len()];
                for (row, line) in block.chunks_exact(stride).enumerate() {
                    let places = tile[row..].iter_mut().step_by(size);
                    line[columns.clone()].iter().zip(places).for_each(|(v, place)| *place = *v);
                }
                fft.process_with_scratch(tile, &mut scratch.inner);
                for (row, line) in block.chunks_exact_mut(stride).enumerate() {
                    let places = tile[row..].iter().step_by(size);
                    line[columns.clone()].iter_mut().zip(places).for_each(|(v, place)| *v = *place);
                }
            }
        }
    }
}
