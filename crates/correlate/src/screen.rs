//! From kept spectra to the best views.
//!
//! There are three bounds, each costing more than the one before: Σ_b √(E0b Eb) over bands from portraits, without
//! reading a spectrum; U = Σ w |V0| |V| from the coarse plane; the greatest |R| over all shifts in single precision, to
//! within [`error_of`]. Views that may be among the best by all three are computed exactly, from both planes. Views are
//! taken in the order of the first bound, in rounds of fixed sizes, so that what is skipped depends only on the data.

use crate::cache::{Kept, Part, Planes};
use crate::compare::{Buffers, NO_ENERGY, Reference};
use crate::compute::Counts;
use crate::fourier::{Scratch, Shape, Transforms};
use crate::peaks::TIE;
use crate::ranking::Ranking;
use crate::spectra::{Plane, Portrait, join};
use crate::{Correlation, Peak, Run};
use num_complex::Complex;
use std::io;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Views of the first round, between two checks of the best so far; each later one has twice as many.
const ROUND_VIEWS: usize = 32;
/// Maximum number of views of a round: enough that threads need not wait for each other every few milliseconds.
const MAX_ROUND_VIEWS: usize = 256;
/// Maximum number of values of a round; [`ROUND_VIEWS`] views are always allowed.
const MAX_ROUND_VALUES: usize = 1 << 24;
/// Rounding errors of a transform in single precision, for each doubling of its length, in units of 2^-24 and of U:
/// each factor of a radix up to 13 costs less than 4 roundings a doubling; twice that.
const ERRORS_PER_DOUBLING: f64 = 8.0;
/// Largest prime factor of a size up to which transforms use only sums of products; above it they use convolutions,
/// whose errors grow differently.
const MAX_FACTOR: usize = 13;

/// Numbers that are added in single precision.
const SUM_LENGTH: usize = 256;
/// Relative error by which Σ w |V0| |V| may be too small: 2^-24 of rounding for each of them and some before.
const SUM_ERROR: f64 = 2e-5;

/// Why there is no answer from kept spectra.
#[derive(Debug)]
pub enum ScreenError {
    /// The caller asked to stop.
    Cancelled,
    /// They cannot be read.
    Read(io::Error),
}

impl From<io::Error> for ScreenError {
    fn from(error: io::Error) -> Self {
        ScreenError::Read(error)
    }
}

/// The reference in single precision, scaled to E0 = 1.
struct Screen<'a> {
    reference: &'a Reference<'a>,
    kept: &'a Kept,
    transforms: Transforms<f32>,
    filtered: Plane,
    multiplicities: Vec<f32>,
    /// Whether the error of single precision is known.
    is_fit: bool,
}

/// A view before its spectrum is read.
struct Bounded {
    view: usize,
    /// E; 0 if R ≡ 0.
    energy: f64,
    /// An upper bound of |R|.
    most: f64,
    /// Whether E is so close to rounding that the exact computation may take it as 0.
    is_doubtful: bool,
}

/// The interval that contains the extreme of R.
#[derive(Debug, Clone, Copy)]
struct Estimate {
    least: f64,
    most: f64,
}

struct ScreenBuffers {
    planes: Planes,
    coarse: Plane,
    values: Vec<f32>,
    scratch: Scratch<f32>,
}

/// The best views by kept spectra.
pub fn from_kept<'a>(
    kept: &Kept,
    reference: &'a Reference<'a>,
    run: &Run<'_>,
) -> Result<(Ranking<'a>, Counts), ScreenError> {
    let question = reference.question;
    let views: Vec<usize> =
        (0..kept.portraits.len()).filter(|&at| kept.portraits[at].view() != question.reference).collect();
    let n_views = views.len() as u64;
    let mut counts = Counts { n_views, n_transformed: n_views };
    let mut candidates = views;
    if let Some(top) = question.top.filter(|top| top.get() < candidates.len()) {
        let screen = Screen::new(kept, reference);
        if screen.is_fit {
            (candidates, counts.n_transformed) = screen.candidates(&candidates, top, run)?;
        }
    }
    let n_skipped = n_views - candidates.len() as u64;
    let mut ranking = Ranking::new(question);
    let pool = Pool::default();
    for (at, round) in candidates.chunks(MAX_ROUND_VIEWS).enumerate() {
        let make = || Exact::new(kept, reference);
        let threshold = ranking.threshold();
        let rows = pool.map(round, run.jobs, make, |exact, &view| exact.compare(view, threshold))?;
        rows.into_iter().flatten().for_each(|row| ranking.add(row));
        tell(run, n_skipped + (at * MAX_ROUND_VIEWS + round.len()) as u64, n_views)?;
    }
    Ok((ranking, counts))
}

fn tell(run: &Run<'_>, n_done: u64, n_all: u64) -> Result<(), ScreenError> {
    match run.progress {
        Some(progress) if !progress(n_done, n_all) => Err(ScreenError::Cancelled),
        _ => Ok(()),
    }
}

/// One thread's resources for exact comparisons.
struct Exact<'a> {
    kept: &'a Kept,
    reference: &'a Reference<'a>,
    planes: Planes,
    parts: [Plane; 2],
    buffers: Buffers,
}

impl<'a> Exact<'a> {
    fn new(kept: &'a Kept, reference: &'a Reference<'a>) -> io::Result<Self> {
        let (planes, buffers) = (kept.planes()?, reference.buffers());
        Ok(Exact { kept, reference, planes, parts: [Plane::new(), Plane::new()], buffers })
    }

    fn compare(&mut self, view: usize, threshold: f64) -> io::Result<Option<Correlation>> {
        let portrait = &self.kept.portraits[view];
        let [coarse, fine] = &mut self.parts;
        self.planes.read(view, portrait, Part::Coarse, coarse)?;
        self.planes.read(view, portrait, Part::Fine, fine)?;
        join(coarse, fine, &mut self.buffers.spectrum);
        let known = (portrait.coverage, portrait.square_mean);
        Ok(self.reference.compare(portrait.view(), known, threshold, &mut self.buffers))
    }
}

/// Resources of threads, kept from round to round.
struct Pool<B>(Mutex<Vec<B>>);

impl<B> Default for Pool<B> {
    fn default() -> Self {
        Pool(Mutex::new(Vec::new()))
    }
}

impl<B: Send> Pool<B> {
    /// The results of `each` for the items, in their order, computed by this many threads.
    fn map<I: Sync, T: Send>(
        &self,
        items: &[I],
        jobs: NonZeroUsize,
        make: impl Fn() -> io::Result<B> + Sync,
        each: impl Fn(&mut B, &I) -> io::Result<T> + Sync,
    ) -> io::Result<Vec<T>> {
        let next = AtomicUsize::new(0);
        let work = || -> io::Result<Vec<(usize, T)>> {
            let there = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let mut means = there.map_or_else(&make, Ok)?;
            let mut done = Vec::new();
            while let at = next.fetch_add(1, Ordering::Relaxed)
                && let Some(item) = items.get(at)
            {
                done.push((at, each(&mut means, item)?));
            }
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(means);
            Ok(done)
        };
        let parts: Vec<io::Result<Vec<(usize, T)>>> = std::thread::scope(|scope| {
            let others: Vec<_> = (1..jobs.get().min(items.len())).map(|_| scope.spawn(work)).collect();
            let mine = work();
            let others = others.into_iter().map(|other| other.join().expect("comparing does not panic"));
            std::iter::once(mine).chain(others).collect()
        });
        let mut done = Vec::with_capacity(items.len());
        for part in parts {
            done.extend(part?);
        }
        done.sort_unstable_by_key(|(at, _)| *at);
        Ok(done.into_iter().map(|(_, made)| made).collect())
    }
}

impl<'a> Screen<'a> {
    fn new(kept: &'a Kept, reference: &'a Reference<'a>) -> Self {
        let scale = if reference.energy > 0.0 { 1.0 / reference.energy.sqrt() } else { 0.0 };
        let narrow = |v: &Complex<f64>| Complex::new((v.re * scale) as f32, (v.im * scale) as f32);
        Screen {
            reference,
            kept,
            transforms: Transforms::new(&reference.shape),
            filtered: reference.filtered.iter().map(narrow).collect(),
            multiplicities: reference.multiplicities.iter().map(|&m| m as f32).collect(),
            is_fit: reference.shape.sizes().iter().all(|&size| greatest_factor(size) <= MAX_FACTOR),
        }
    }

    /// The views that may be among the best, in their order, and for how many of them R was computed.
    fn candidates(
        &self,
        views: &[usize],
        top: NonZeroUsize,
        run: &Run<'_>,
    ) -> Result<(Vec<usize>, u64), ScreenError> {
        let mut bounded = self.bounded(views);
        bounded.sort_by(|a, b| b.most.total_cmp(&a.most));
        // The K greatest lower bounds, descending.
        let mut best: Vec<f64> = Vec::new();
        let mut found: Vec<(usize, Estimate)> = Vec::new();
        let (mut n_transformed, mut n_done) = (0, 0);
        let pool = Pool::default();
        let threshold = |best: &[f64]| best.get(top.get() - 1).copied().unwrap_or(-1.0);
        let largest = MAX_ROUND_VALUES / self.reference.shape.n_places();
        let largest = largest.clamp(ROUND_VIEWS, MAX_ROUND_VIEWS);
        let (mut rest, mut n_round) = (&bounded[..], ROUND_VIEWS);
        while !rest.is_empty() {
            let (round, later) = rest.split_at(n_round.min(rest.len()));
            (rest, n_round) = (later, (2 * n_round).min(largest));
            let threshold = threshold(&best);
            if round[0].most < threshold {
                break;
            }
            let make = || ScreenBuffers::new(self);
            let estimates = pool
                .map(round, run.jobs, make, |buffers, bounded| self.estimate(bounded, threshold, buffers))?;
            for (bounded, estimate) in round.iter().zip(estimates) {
                let Some(estimate) = estimate else { continue };
                n_transformed += 1;
                let at = best.partition_point(|&least| least > estimate.least);
                best.insert(at, estimate.least);
                best.truncate(top.get());
                found.push((bounded.view, estimate));
            }
            n_done += round.len() as u64;
            tell(run, n_done, views.len() as u64)?;
        }
        found.retain(|(_, estimate)| estimate.most >= threshold(&best));
        let mut candidates: Vec<usize> = found.into_iter().map(|(view, _)| view).collect();
        candidates.sort_unstable();
        Ok((candidates, n_transformed))
    }

    /// The extreme of R of a view in single precision; `None` if it cannot reach `threshold`.
    fn estimate(
        &self,
        bounded: &Bounded,
        threshold: f64,
        buffers: &mut ScreenBuffers,
    ) -> io::Result<Option<Estimate>> {
        if bounded.most < threshold {
            return Ok(None);
        }
        if bounded.energy == 0.0 {
            return Ok(Some(Estimate { least: 0.0, most: bounded.most }));
        }
        if bounded.is_doubtful {
            return Ok(Some(Estimate { least: 0.0, most: 1.0 + 2.0 * TIE }));
        }
        let ScreenBuffers { planes, coarse, values, scratch } = buffers;
        planes.read(bounded.view, &self.kept.portraits[bounded.view], Part::Coarse, coarse)?;
        let norm = bounded.energy.sqrt();
        let bound = self.multiply(coarse) / norm * (1.0 + SUM_ERROR);
        if bound + 2.0 * TIE < threshold {
            return Ok(None);
        }
        self.transforms.inverse(coarse, values, scratch);
        let peak = f64::from(extreme(values, self.reference.question.peak)) / norm;
        let error = error_of(&self.reference.shape) * bound + 2.0 * TIE;
        Ok(Some(Estimate { least: peak - error, most: peak + error }))
    }

    /// Replaces V by w V0* V; returns Σ w |V0| |V|.
    fn multiply(&self, spectrum: &mut [Complex<f32>]) -> f64 {
        let n_line = self.multiplicities.len();
        let lines = spectrum.chunks_exact_mut(n_line).zip(self.filtered.chunks_exact(n_line));
        let mut bound = 0.0;
        for (line, filtered) in lines {
            let pieces = line.chunks_mut(SUM_LENGTH).zip(filtered.chunks(SUM_LENGTH));
            for ((piece, filtered), twice) in pieces.zip(self.multiplicities.chunks(SUM_LENGTH)) {
                bound += f64::from(multiply(piece, filtered, twice));
            }
        }
        bound
    }

    /// The bound from portraits.
    fn bounded(&self, views: &[usize]) -> Vec<Bounded> {
        let Reference { shape, question, .. } = self.reference;
        let bands = |portrait: &Portrait| portrait.bands(shape, question.weights, question.axes);
        let of_reference = self.kept.portraits.iter().find(|p| p.view() == question.reference);
        let of_reference = of_reference.map(bands).unwrap_or_default();
        let energy0: f64 = of_reference.iter().sum();
        let bound = |view: usize| {
            let portrait = &self.kept.portraits[view];
            let of_view = bands(portrait);
            let energy: f64 = of_view.iter().sum();
            if self.reference.energy == 0.0 || energy <= NO_ENERGY / 2.0 * portrait.square_mean {
                return Bounded { view, energy: 0.0, most: 2.0 * TIE, is_doubtful: false };
            }
            let shared: f64 = of_reference.iter().zip(&of_view).map(|(a, b)| (a * b).sqrt()).sum();
            let is_doubtful = energy <= 2.0 * NO_ENERGY * portrait.square_mean;
            let most = shared / (energy0 * energy).sqrt() + 2.0 * TIE;
            Bounded { view, energy, most: if is_doubtful { 1.0 + 2.0 * TIE } else { most }, is_doubtful }
        };
        views.iter().map(|&view| bound(view)).collect()
    }
}

/// Replaces v by f v; returns Σ m |f v|. Several sums run side by side, as each addition waits for the one before.
fn multiply(spectrum: &mut [Complex<f32>], filtered: &[Complex<f32>], multiplicities: &[f32]) -> f32 {
    const LANES: usize = 8;
    let one = |v: &mut Complex<f32>, f: &Complex<f32>, m: f32| {
        *v = f * *v;
        v.norm_sqr().sqrt() * m
    };
    let mut sums = [0.0_f32; LANES];
    let (blocks, rest) = spectrum.as_chunks_mut::<LANES>();
    let (f_blocks, f_rest) = filtered.as_chunks::<LANES>();
    let (m_blocks, m_rest) = multiplicities.as_chunks::<LANES>();
    for ((block, f), m) in blocks.iter_mut().zip(f_blocks).zip(m_blocks) {
        let (mut re, mut im) = ([0.0; LANES], [0.0; LANES]);
        for i in 0..LANES {
            re[i] = f[i].re * block[i].re - f[i].im * block[i].im;
            im[i] = f[i].re * block[i].im + f[i].im * block[i].re;
        }
        for i in 0..LANES {
            sums[i] += (re[i] * re[i] + im[i] * im[i]).sqrt() * m[i];
            block[i] = Complex::new(re[i], im[i]);
        }
    }
    let rest = rest.iter_mut().zip(f_rest).zip(m_rest).map(|((v, f), &m)| one(v, f, m));
    rest.sum::<f32>() + sums.iter().sum::<f32>()
}

impl ScreenBuffers {
    fn new(screen: &Screen<'_>) -> io::Result<Self> {
        Ok(ScreenBuffers {
            planes: screen.kept.planes()?,
            coarse: Plane::new(),
            values: vec![0.0; screen.reference.shape.n_places()],
            scratch: screen.transforms.scratch(),
        })
    }
}

/// The greatest |value|, or the greatest value.
fn extreme(values: &[f32], peak: Peak) -> f32 {
    let mut lanes = [(f32::NEG_INFINITY, f32::INFINITY); 8];
    let mut blocks = values.chunks_exact(8);
    for block in &mut blocks {
        for ((max, min), &v) in lanes.iter_mut().zip(block) {
            *max = if v > *max { v } else { *max };
            *min = if v < *min { v } else { *min };
        }
    }
    let rest = blocks.remainder().iter().map(|&v| (v, v));
    let (max, min) = rest
        .chain(lanes)
        .fold((f32::NEG_INFINITY, f32::INFINITY), |(max, min), (a, b)| (max.max(a), min.min(b)));
    if peak == Peak::Greatest { max } else { max.max(-min) }
}

/// The maximum error of a value of R in single precision, in units of U.
fn error_of(shape: &Shape) -> f64 {
    ((shape.n_places() as f64).log2() + 4.0) * ERRORS_PER_DOUBLING * f64::from(f32::EPSILON) / 2.0
}

fn greatest_factor(mut n: usize) -> usize {
    let mut greatest = 1;
    let mut factor = 2;
    while factor * factor <= n {
        while n.is_multiple_of(factor) {
            n /= factor;
            greatest = greatest.max(factor);
        }
        factor += 1;
    }
    greatest.max(n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ouzel_testkit::Rng;

    /// Results in single precision lie well within the allowed error.
    #[test]
    fn single_precision_errs_less_than_allowed() {
        let mut rng = Rng::new(8);
        let mut noise = |n: usize| -> Vec<f64> {
            (0..n).map(|_| (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64 - 0.5).collect()
        };
        for sizes in
            [&[4096][..], &[64, 60], &[8, 4, 2, 28], &[13, 11, 7, 5], &[16, 9, 25], &[2, 2, 2, 2, 2, 3]]
        {
            let shape = Shape::new(sizes).unwrap();
            let (wide, narrow) = (Transforms::<f64>::new(&shape), Transforms::<f32>::new(&shape));
            let n = shape.n_half();
            let spectrum: Vec<Complex<f64>> =
                noise(n).into_iter().zip(noise(n)).map(|(re, im)| Complex::new(re, im)).collect();
            let mut spectrum = {
                // From real values, so that the half represents the whole.
                let mut values = vec![0.0; shape.n_places()];
                wide.inverse(&mut spectrum.clone(), &mut values, &mut wide.scratch());
                let mut spectrum = spectrum;
                wide.forward(&mut values, &mut spectrum, &mut wide.scratch());
                spectrum
            };
            let twice = crate::weights::multiplicities(&shape);
            let bound: f64 = spectrum.iter().zip(twice.iter().cycle()).map(|(v, m)| v.norm() * m).sum();
            let mut coarse: Plane = spectrum.iter().map(|v| Complex::new(v.re as f32, v.im as f32)).collect();
            let (mut right, mut found) = (vec![0.0; shape.n_places()], vec![0.0_f32; shape.n_places()]);
            wide.inverse(&mut spectrum, &mut right, &mut wide.scratch());
            narrow.inverse(&mut coarse, &mut found, &mut narrow.scratch());
            let worst = right.iter().zip(&found).map(|(a, b)| (a - f64::from(*b)).abs()).fold(0.0, f64::max);
            let allowed = error_of(&shape) * bound;
            assert!(worst < allowed / 4.0, "{sizes:?}: {worst} of {allowed}");
            assert!(worst > 0.0);
        }
    }

    #[test]
    fn the_greatest_prime_factor_decides() {
        assert_eq!([1, 2, 28, 64, 17, 26, 34, 169].map(greatest_factor), [1, 2, 7, 2, 17, 13, 17, 13]);
    }
}
