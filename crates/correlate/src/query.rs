//! One question to one profile.
//!
//! ```text
//! kept spectra ──portraits: bound──► coarse plane: bound, R ──► both planes: R exactly ──► the K best
//! rows ──────────► spectrum: bound, R exactly ────────────────────────────────────────► the K best
//! ```

use crate::cache::{Kept, Limits, Part, key};
use crate::compare::Reference;
use crate::compute::{Counts, Sink, compute};
use crate::fourier::{Shape, Transforms};
use crate::ranking::Ranking;
use crate::scan::Scan;
use crate::screen::{ScreenError, from_kept};
use crate::spectra::{Plane, join, split};
use crate::views::{Layout, Variation, aggregation, read_row};
use crate::{Cache, CacheUse, CorrelateError, Correlations, Grid, Question, Run, View};
use num_complex::Complex;
use ouzel_model::{
    CallPathId, Level, MetricId, MetricKind, Notice, NoticeCode, Notices, ProfileSource, Scope, ScopedRows,
    SeverityError, SeverityRow,
};
use std::io;

/// Kept spectra are of this profile if that of the reference is what it was, but for rounding on another machine:
/// this share of its energy.
const SAME: f64 = 1e-20;

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
    check_memory(grid, &shape, run)?;
    let layout = Layout::new(grid, &shape, source.definitions().locations.len());
    let transforms = Transforms::new(&shape);
    let Variation { mut values, square_mean, coverage, .. } = reference_variation(source, question, &layout)?;
    let mut spectrum = vec![Complex::default(); shape.n_half()];
    transforms.forward(&mut values, &mut spectrum, &mut transforms.scratch());
    drop(values);
    let (mut coarse, mut fine) = (Plane::new(), Plane::new());
    split(&spectrum, &mut coarse, &mut fine);
    join(&coarse, &fine, &mut spectrum);
    drop((coarse, fine));
    let reference = Reference::new(transforms, question, &spectrum, square_mean);
    let notices = Notices::default();
    notices.extend(grid.notices());
    if reference.energy == 0.0 {
        let message = "the reference does not vary along the selected axes: every correlation is 0";
        notices.push(Notice::new(Level::Medium, NoticeCode::EmptySelection, message));
    }
    let key = run.cache.map(|cache| key(source, grid, question.scope, cache.fingerprint));
    if let (Some(cache), Some(key)) = (run.cache, key) {
        let limits = Limits::of(source.definitions());
        match kept(cache, key, limits, &reference, &spectrum) {
            Ok(None) => {}
            Ok(Some(kept)) => {
                drop(std::mem::take(&mut spectrum));
                match from_kept(&kept, &reference, run) {
                    Ok((ranking, Counts { n_views, n_transformed })) => {
                        cache.touch();
                        notices.extend(kept.notices.iter().cloned());
                        return Ok(Correlations {
                            rows: ranking.into_rows(),
                            n_views,
                            n_transformed,
                            coverage,
                            kept: reference.kept,
                            cache: CacheUse::Read { file: cache.file.clone() },
                            notices: notices.to_vec(),
                        });
                    }
                    Err(ScreenError::Cancelled) => return Err(CorrelateError::Cancelled),
                    Err(ScreenError::Read(error)) => notices.push(not_used(cache, &error.to_string())),
                }
            }
            Err(why) => notices.push(not_used(cache, &why)),
        }
    }
    drop(spectrum);
    let of_views = Notices::default();
    let mut scan = Scan::new(source, &layout, question.scope, &of_views);
    let mut ranking = Ranking::new(question);
    let mut sink = run.cache.map_or(Sink::None, Sink::waiting);
    let Counts { n_views, n_transformed } = compute(&mut scan, &reference, run, &mut sink, &mut ranking)?;
    notices.extend(of_views.to_vec());
    let cache = finish(sink, key, &of_views, &notices);
    Ok(Correlations {
        rows: ranking.into_rows(),
        n_views,
        n_transformed,
        coverage,
        kept: reference.kept,
        cache,
        notices: notices.to_vec(),
    })
}

/// The totals of a metric by call path, as far as they are not zero, from the spectra that an earlier question kept;
/// `None` if there are none or they do not cover the profile. They are those of the profile unless it has changed
/// unnoticed: only an answer whose spectra were [read](CacheUse::Read) shows that it has not.
pub fn kept_totals(
    source: &dyn ProfileSource,
    grid: &Grid,
    metric: MetricId,
    scope: Scope,
    cache: &Cache,
) -> Option<Vec<(CallPathId, f64)>> {
    let definitions = source.definitions();
    // The total of a formula is the formula of totals.
    let is_formula = matches!(definitions.metric(metric).kind, MetricKind::DerivedAfter(_));
    if is_formula || grid.n_located() < definitions.locations.len() {
        return None;
    }
    let key = key(source, grid, scope, cache.fingerprint);
    let n_half = Shape::of(grid)?.n_half();
    let kept = Kept::open(&cache.file, key, n_half, Limits::of(definitions)).ok()?.ok()?;
    let of_metric = kept.portraits.iter().filter(|portrait| portrait.view().metric == metric);
    Some(of_metric.map(|portrait| (portrait.view().path, portrait.total)).collect())
}

/// The kept spectra, if there are any; else why they are not used.
fn kept(
    cache: &Cache,
    key: u128,
    limits: Limits,
    reference: &Reference<'_>,
    spectrum: &[Complex<f64>],
) -> Result<Option<Kept>, String> {
    let kept = match Kept::open(&cache.file, key, reference.shape.n_half(), limits) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
        Ok(kept) => kept?,
    };
    match is_of(&kept, reference, spectrum) {
        Ok(true) => Ok(Some(kept)),
        Ok(false) => Err("the profile has changed since".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn not_used(cache: &Cache, why: &str) -> Notice {
    let message = format!("the kept spectra are not used and are recomputed: {why}");
    Notice::new(Level::Low, NoticeCode::NotAvailable, message).in_file(cache.file.display().to_string())
}

/// Ends the file of spectra, if one was begun.
fn finish(sink: Sink<'_>, key: Option<u128>, of_views: &Notices, notices: &Notices) -> CacheUse {
    let (file, portraits) = match sink {
        Sink::None => return CacheUse::Off,
        Sink::Waiting { .. } => return CacheUse::NotWorth,
        Sink::Writing { file, portraits } => (file, portraits),
        Sink::Failed(error) => {
            let message = format!("spectra are not kept for the next question: {error}");
            notices.push(Notice::new(Level::Low, NoticeCode::NotAvailable, message));
            return CacheUse::Failed;
        }
    };
    let path = file.path().to_owned();
    match file.finish(key.unwrap_or_default(), portraits, of_views.to_vec()) {
        Ok(n_bytes) => CacheUse::Written { file: path, n_bytes },
        Err(error) => finish(Sink::Failed(error), key, of_views, notices),
    }
}

/// Whether kept spectra are of the profile: that of the reference is what its row gives.
fn is_of(kept: &Kept, reference: &Reference<'_>, spectrum: &[Complex<f64>]) -> io::Result<bool> {
    let is_reference = |portrait: &crate::spectra::Portrait| portrait.view() == reference.question.reference;
    let Some(at) = kept.portraits.iter().position(is_reference) else { return Ok(false) };
    if !kept.portraits.iter().all(|portrait| portrait.fits(&reference.shape)) {
        return Ok(false);
    }
    let mut planes = kept.planes()?;
    let (mut coarse, mut fine) = (Plane::new(), Plane::new());
    planes.read(at, &kept.portraits[at], Part::Coarse, &mut coarse)?;
    planes.read(at, &kept.portraits[at], Part::Fine, &mut fine)?;
    let mut there = vec![Complex::default(); spectrum.len()];
    join(&coarse, &fine, &mut there);
    let square = |values: &mut dyn Iterator<Item = Complex<f64>>| values.map(|v| v.norm_sqr()).sum::<f64>();
    let apart = square(&mut there.iter().zip(spectrum).map(|(a, b)| a - b));
    Ok(apart <= SAME * square(&mut spectrum.iter().copied()))
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
    if grid.n_located() < 2 {
        return Err(CorrelateError::OneLocation { n_located: grid.n_located() });
    }
    Ok(())
}

/// Numbers of 8 bytes for each place in the reference, and in the means and the two views of each thread.
const NUMBERS_PER_PLACE: (usize, usize) = (8, 8);

/// Whether there is room for a question over so many places: an error now rather than an end without a word later.
fn check_memory(grid: &Grid, shape: &Shape, run: &Run<'_>) -> Result<(), CorrelateError> {
    let (once, each) = NUMBERS_PER_PLACE;
    let n_numbers =
        each.checked_mul(run.jobs.get()).and_then(|n| n.checked_add(once)?.checked_mul(shape.n_places()));
    let is_room = n_numbers.is_some_and(|n| Vec::<f64>::new().try_reserve_exact(n).is_ok());
    if is_room {
        return Ok(());
    }
    Err(CorrelateError::Memory {
        topology: grid.name().to_owned(),
        n_places: shape.n_places(),
        n_megabytes: n_numbers.map_or(u64::MAX, |n| (n as u64).div_ceil(125_000)),
        n_threads: run.jobs.get(),
    })
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
    if let Some(not_finite) = read_row(source, view, question.scope, &mut row)?
        && let Some(variation) = layout.variation(&row, &not_finite, aggregation(source, view.metric))
    {
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

impl<'a> Sink<'a> {
    fn waiting(cache: &'a Cache) -> Self {
        Sink::Waiting { cache, planes: Vec::new(), portraits: Vec::new() }
    }
}
