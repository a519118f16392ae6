//! One question to one profile.
//!
//! ```text
//! rows ──rounds of views──► spectrum ──bound U──► skipped, or R over all shifts ──► the K best
//! ```

use crate::fourier::{Scratch, Shape, Transforms};
use crate::peaks::{Peaks, TIE, peaks};
use crate::views::{Layout, Variation, is_sum, read_row};
use crate::weights::{filter, multiplicities};
use crate::{CacheUse, CorrelateError, Correlation, Correlations, Grid, Peak, Question, Run, View};
use ouzel_model::{
    Level, MetricId, Notice, NoticeCode, Notices, ProfileSource, ScopedRows, SeverityError, SeverityRow,
};
use realfft::num_complex::Complex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A filtered energy below this share of the whole is rounding, not variation.
const NO_ENERGY: f64 = 1e-20;
/// Values that the views of a round hold together, at most, but one view: 256 MB.
const ROUND_VALUES: usize = 1 << 25;
/// Views of a round, at most.
const ROUND_VIEWS: usize = 64;

/// Which views of `source` vary over `grid` like the reference.
///
/// # Errors
/// If the question names what is not there, nothing can vary, or severities cannot be read.
pub fn correlate(
    source: &dyn ProfileSource,
    grid: &Grid,
    question: &Question,
    run: &Run<'_>,
) -> Result<Correlations, CorrelateError> {
    check(source, grid, question)?;
    let shape = Shape::of(grid).ok_or(CorrelateError::OnePlace)?;
    let layout = Layout::new(grid, &shape, source.definitions().locations.len());
    let transforms = Transforms::new(&shape);
    let mut scratch = transforms.scratch();
    let first = reference_variation(source, question, &layout)?;
    let coverage = first.coverage;
    let notices = Notices::default();
    notices.extend(grid.notices());
    let mut spectrum = vec![Complex::new(0.0, 0.0); shape.n_half()];
    let (square_mean, mut values) = (first.square_mean, first.values);
    transforms.forward(&mut values, &mut spectrum, &mut scratch);
    let reference = Reference::new(&shape, question, &spectrum, square_mean);
    let mut ranking = Ranking { rows: Vec::new(), question };
    let (mut n_views, mut n_transformed) = (0, 0);
    let n_round = (ROUND_VALUES / shape.n_places()).clamp(1, ROUND_VIEWS);
    let engine = Engine { shape: &shape, transforms: &transforms, reference: &reference, question };
    let metrics = metrics(source, question);
    let n_at_most = (metrics.len() * source.definitions().call_tree.len()) as u64;
    let mut n_infinite = 0;
    for (at, &metric) in metrics.iter().enumerate() {
        let all = source.definitions().call_tree.all();
        let mut rows = match ScopedRows::open(source, metric, question.scope, all) {
            Ok(rows) => rows,
            Err(error @ SeverityError::NotAdditive { .. }) => {
                notices.push(Notice::new(Level::Low, NoticeCode::NotAvailable, error.to_string()));
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        let mut row = SeverityRow::new(source.definitions().metric(metric).value_type);
        let mut more = true;
        while more {
            let mut round = Vec::new();
            while round.len() < n_round {
                more = rows.read(&mut row).map_err(SeverityError::from)?;
                if !more {
                    break;
                }
                let view = View { metric, path: row.path };
                if view == question.reference {
                    continue;
                }
                let Some(variation) = layout.variation(&row, is_sum(source, view)) else { continue };
                n_infinite += variation.n_infinite;
                round.push((view, variation));
            }
            n_views += round.len() as u64;
            let threshold = ranking.threshold();
            for correlation in engine.round(round, threshold, run.jobs.get()).into_iter().flatten() {
                n_transformed += 1;
                ranking.add(correlation);
            }
            let n_done = (at * source.definitions().call_tree.len()) as u64;
            if run.progress.is_some_and(|progress| !progress(n_done, n_at_most)) {
                return Err(CorrelateError::Cancelled);
            }
        }
        notices.extend(rows.notices());
    }
    if n_infinite > 0 {
        let message = "severities are not finite and take the mean of the others";
        notices.push(Notice::new(Level::Medium, NoticeCode::DoubtfulSeverities, message).times(n_infinite));
    }
    Ok(Correlations {
        rows: ranking.finish(),
        n_views,
        n_transformed,
        coverage,
        kept: reference.kept,
        cache: CacheUse::Off,
        notices: notices.to_vec(),
    })
}

fn check(source: &dyn ProfileSource, grid: &Grid, question: &Question) -> Result<(), CorrelateError> {
    let definitions = source.definitions();
    let View { metric, path } = question.reference;
    if metric.index() >= definitions.metrics.len() || path.index() >= definitions.call_tree.len() {
        return Err(CorrelateError::UnknownView(question.reference));
    }
    if question.axes.is_empty() {
        return Err(CorrelateError::NoAxes);
    }
    let n_axes = grid.axes().len();
    if let Some(axis) = question.axes.iter().find(|&axis| axis >= n_axes) {
        return Err(CorrelateError::UnknownAxis { axis, n_axes });
    }
    if grid.n_places() == 1 {
        return Err(CorrelateError::OnePlace);
    }
    if grid.n_located() < 2 {
        return Err(CorrelateError::OneLocation { n_located: grid.n_located() });
    }
    Ok(())
}

/// The metrics whose views are compared: those people see, and the reference's own.
fn metrics(source: &dyn ProfileSource, question: &Question) -> Vec<MetricId> {
    let definitions = source.definitions();
    let shown = |id: &MetricId| !definitions.metric(*id).hidden || *id == question.reference.metric;
    definitions.metric_ids().filter(shown).collect()
}

fn reference_variation(
    source: &dyn ProfileSource,
    question: &Question,
    layout: &Layout,
) -> Result<Variation, CorrelateError> {
    let view = question.reference;
    let definitions = source.definitions();
    let of = definitions.metric(view.metric);
    let mut row = SeverityRow::new(of.value_type);
    let found = read_row(source, view, question.scope, &mut row)?;
    if let Some(variation) = found.then(|| layout.variation(&row, is_sum(source, view))).flatten() {
        return Ok(variation);
    }
    let all = definitions.call_tree.all();
    let mut rows = ScopedRows::open(source, view.metric, question.scope, all)?;
    while rows.read(&mut row).map_err(SeverityError::from)? {
        if row.iter().any(|(_, value)| value != 0.0) {
            let region = |path| &*definitions.regions[definitions.call_tree.node(path).region.index()].name;
            let path: Vec<&str> =
                definitions.call_tree.from_root(view.path).into_iter().map(region).collect();
            return Err(CorrelateError::EmptyReference { metric: of.name.to_string(), path: path.join("/") });
        }
    }
    Err(CorrelateError::EmptyMetric { metric: of.name.to_string() })
}

/// The filtered spectrum of the reference.
struct Reference {
    /// w(k) V0*(k).
    filtered: Vec<Complex<f64>>,
    /// w(k), times how often k stands for itself and its mirror.
    weights: Vec<f64>,
    /// How often k stands for itself and its mirror, along the last axis.
    multiplicities: Vec<f64>,
    energy: f64,
    kept: f64,
}

impl Reference {
    fn new(shape: &Shape, question: &Question, spectrum: &[Complex<f64>], square_mean: f64) -> Self {
        let filter = filter(shape, question.weights, question.axes);
        let multiplicities = multiplicities(shape);
        let weights: Vec<f64> =
            filter.iter().zip(multiplicities.iter().cycle()).map(|(w, m)| w * m).collect();
        let filtered = filter.iter().zip(spectrum).map(|(&w, v)| v.conj() * w).collect();
        let energy = energy(&weights, spectrum, square_mean);
        let all: f64 =
            spectrum.iter().zip(multiplicities.iter().cycle()).map(|(v, m)| v.norm_sqr() * m).sum();
        let kept = if all > 0.0 { (energy / all).min(1.0) } else { 0.0 };
        Reference { filtered, weights, multiplicities, energy, kept }
    }
}

/// E = Σ w |V|² over all frequencies; 0 if that is rounding.
fn energy(weights: &[f64], spectrum: &[Complex<f64>], square_mean: f64) -> f64 {
    let energy: f64 = weights.iter().zip(spectrum).map(|(w, v)| w * v.norm_sqr()).sum();
    if energy <= NO_ENERGY * square_mean { 0.0 } else { energy }
}

struct Engine<'a> {
    shape: &'a Shape,
    transforms: &'a Transforms<f64>,
    reference: &'a Reference,
    question: &'a Question,
}

impl Engine<'_> {
    /// Compares the views of a round; `None` for those that bounds exclude.
    fn round(
        &self,
        round: Vec<(View, Variation)>,
        threshold: f64,
        n_threads: usize,
    ) -> Vec<Option<Correlation>> {
        let next = AtomicUsize::new(0);
        let views: Vec<std::sync::Mutex<Option<(View, Variation)>>> =
            round.into_iter().map(|view| std::sync::Mutex::new(Some(view))).collect();
        let work = || {
            let mut scratch = self.transforms.scratch();
            let mut spectrum = vec![Complex::new(0.0, 0.0); self.shape.n_half()];
            let mut done = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(slot) = views.get(at) else { return done };
                let taken = slot.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
                let Some((view, variation)) = taken else { continue };
                done.push((at, self.compare(view, variation, threshold, &mut spectrum, &mut scratch)));
            }
        };
        let mut done: Vec<(usize, Option<Correlation>)> = std::thread::scope(|scope| {
            let others: Vec<_> = (1..n_threads.min(views.len())).map(|_| scope.spawn(work)).collect();
            let mut done = work();
            for other in others {
                done.extend(other.join().expect("comparing does not panic"));
            }
            done
        });
        done.sort_by_key(|(at, _)| *at);
        done.into_iter().map(|(_, correlation)| correlation).collect()
    }

    fn compare(
        &self,
        view: View,
        variation: Variation,
        threshold: f64,
        spectrum: &mut [Complex<f64>],
        scratch: &mut Scratch<f64>,
    ) -> Option<Correlation> {
        let Variation { mut values, square_mean, coverage, .. } = variation;
        self.transforms.forward(&mut values, spectrum, scratch);
        let energy = energy(&self.reference.weights, spectrum, square_mean);
        let norm = (energy * self.reference.energy).sqrt();
        let mut bound = 0.0;
        let multiplicities = self.reference.multiplicities.iter().cycle();
        for ((v, filtered), m) in spectrum.iter_mut().zip(&self.reference.filtered).zip(multiplicities) {
            *v *= filtered;
            bound += v.norm() * m;
        }
        let found = if norm == 0.0 {
            (threshold <= 0.0).then(|| Peaks::zero(self.question_axes()))?
        } else {
            if bound / norm + TIE < threshold {
                return None;
            }
            self.transforms.inverse(spectrum, &mut values, scratch);
            peaks(self.shape, &values, norm, self.question.peak)
        };
        let Peaks { r, shift, max, shift_max, min, shift_min } = found;
        Some(Correlation { view, r, shift, r_max: max, shift_max, r_min: min, shift_min, coverage })
    }

    fn question_axes(&self) -> usize {
        self.shape.grid_coordinates(0).len()
    }
}

/// The best so far.
struct Ranking<'a> {
    rows: Vec<Correlation>,
    question: &'a Question,
}

impl Ranking<'_> {
    /// What counts, in steps.
    fn steps(&self, row: &Correlation) -> i64 {
        let counts = if self.question.peak == Peak::Greatest { row.r } else { row.r.abs() };
        (counts / TIE).round() as i64
    }

    /// What a view must reach to be among the best; -1 while there is room.
    fn threshold(&self) -> f64 {
        match self.question.top {
            Some(top) if self.rows.len() >= top.get() => self.steps(&self.rows[top.get() - 1]) as f64 * TIE,
            _ => -1.0,
        }
    }

    fn add(&mut self, row: Correlation) {
        let key = |row: &Correlation| (-self.steps(row), row.view);
        let at = self.rows.partition_point(|other| key(other) < key(&row));
        self.rows.insert(at, row);
        if let Some(top) = self.question.top {
            self.rows.truncate(top.get());
        }
    }

    fn finish(self) -> Vec<Correlation> {
        self.rows
    }
}
