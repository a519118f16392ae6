//! From the calls of a location to the ranges of time that repeat.

use super::matrix_profile::{ProfileError, matrix_profile};
use super::motif::{Motif, matches, motif};
use super::series::{CallSeriesOutput, SeriesCall};
use super::start::find_start;
use ouzel_engine::Progress;
use ouzel_model::{Clock, ColumnData, LocationId, RegionId, Table, Ticks, TimeRange, Unit};
use std::num::NonZeroUsize;

/// The shortest window whose shape is meaningful.
const WINDOW_MIN: usize = 3;

/// What to look for.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PatternOptions {
    /// The region a pattern starts with; found if absent.
    pub start: Option<RegionId>,
    /// How many repetitions there are about; the visits of the start region if absent.
    pub iterations: Option<NonZeroUsize>,
    /// Calls in a pattern; calls in the series / iterations if absent.
    pub window: Option<usize>,
    /// The distance that an occurrence may have to the motif at most; from the distribution if absent.
    pub distance_max: Option<f64>,
}

/// What repeats in the calls of a location.
#[derive(Debug, Clone, PartialEq)]
pub struct PatternsOutput {
    /// The location.
    pub location: LocationId,
    /// The region the series starts with.
    pub start: RegionId,
    /// Index of the first call of the series among the calls of the location.
    pub first_call: usize,
    /// Number of calls in the series.
    pub n_calls: usize,
    /// Calls in a pattern.
    pub window: usize,
    /// Repetitions that were looked for, if their number is known.
    pub iterations: Option<usize>,
    /// The best motif; indices count from the first call of the series.
    pub motif: Motif,
    /// The distance that occurrences have at most.
    pub distance_max: f64,
    /// In the order of time.
    pub occurrences: Vec<Occurrence>,
}

/// One repetition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Occurrence {
    /// Index of its first call in the series.
    pub index: usize,
    /// Distance to the motif.
    pub distance: f64,
    /// From the entry of its first call to the leave of its last.
    pub range: TimeRange,
}

/// Why nothing can be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatternError {
    /// There is no location, or it has no calls.
    NoCalls,
    /// The start region is never entered on the location.
    StartNotEntered,
    /// No call path is visited three times, so nothing repeats.
    NothingRepeats,
    /// The series cannot be compared with itself: the window does not fit, or it was cancelled.
    Profile(ProfileError),
    /// The series is too short to compare a window with another.
    TooShort {
        /// Calls in the series.
        n_calls: usize,
        /// Calls in the window.
        window: usize,
    },
}

impl std::fmt::Display for PatternError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PatternError::NoCalls => f.write_str("the selected location has no calls"),
            PatternError::StartNotEntered => {
                f.write_str("the start region is never entered on the selected location")
            }
            PatternError::NothingRepeats => f.write_str(
                "no call path is visited three times, so nothing repeats; give a start region, a window or a number \
                 of iterations",
            ),
            PatternError::Profile(error) => error.fmt(f),
            PatternError::TooShort { n_calls, window } => {
                write!(
                    f,
                    "a series of {n_calls} calls is too short to compare windows of {window} calls"
                )
            }
        }
    }
}

impl std::error::Error for PatternError {}

/// What repeats in the calls of a location, on `jobs` threads, which stop soon if `progress` is cancelled.
///
/// # Errors
/// If there are no calls, if the start region is not entered, if nothing can be compared, or if it was cancelled.
pub fn patterns(
    series: &CallSeriesOutput,
    options: &PatternOptions,
    jobs: NonZeroUsize,
    progress: Option<&Progress>,
) -> Result<PatternsOutput, PatternError> {
    let location = series.location.filter(|_| !series.calls.is_empty()).ok_or(PatternError::NoCalls)?;
    let (start, range, n_visits) = stretch(series, options)?;
    let calls = &series.calls[range.clone()];
    let iterations = match (options.iterations, options.window) {
        (Some(iterations), _) => Some(iterations.get()),
        (None, _) if 1 < n_visits => Some(n_visits),
        // The loop is inside.
        (None, None) => {
            let inner = find_start(calls, &series.call_paths).ok_or(PatternError::NothingRepeats)?;
            Some(usize::try_from(inner.n_visits).unwrap_or(usize::MAX))
        }
        (None, Some(_)) => None,
    };
    let by_iterations = iterations.map_or(WINDOW_MIN, |n| (calls.len() / n).max(WINDOW_MIN));
    let window = options.window.unwrap_or(by_iterations);
    let times: Vec<f64> = calls.iter().map(|call| call.exclusive.0 as f64).collect();
    let profile = matrix_profile(&times, window, jobs, progress).map_err(PatternError::Profile)?;
    let motif = motif(&profile).ok_or(PatternError::TooShort { n_calls: calls.len(), window })?;
    let (matches, distance_max) = matches(&times, window, motif.index, options.distance_max, iterations)
        .map_err(PatternError::Profile)?;
    let occurrence = |found: super::Match| {
        let (first, last) = (&calls[found.index], &calls[found.index + window - 1]);
        let range = TimeRange { start: first.enter, end: last.leave };
        Occurrence { index: found.index, distance: found.distance, range }
    };
    Ok(PatternsOutput {
        location,
        start,
        first_call: range.start,
        n_calls: calls.len(),
        window,
        iterations,
        motif,
        distance_max,
        occurrences: matches.into_iter().map(occurrence).collect(),
    })
}

/// The start region, the calls from its first entry to its last leave, and how often it is visited.
fn stretch(
    series: &CallSeriesOutput,
    options: &PatternOptions,
) -> Result<(RegionId, std::ops::Range<usize>, usize), PatternError> {
    let found = || find_start(&series.calls, &series.call_paths).map(|start| start.region);
    let start = options.start.or_else(found).ok_or(PatternError::NothingRepeats)?;
    let is_start = |call: &SeriesCall| series.call_paths.region(call.call_path) == Some(start);
    let first = series.calls.iter().position(is_start).ok_or(PatternError::StartNotEntered)?;
    let visits = series.calls.iter().filter(|&call| is_start(call));
    let last_leave = visits.clone().map(|call| call.leave).max().unwrap_or(Ticks(0));
    let n_visits = visits.count();
    // Calls of no length may stand at the last leave: those of the start region's own belong to it, later ones do not.
    let last_visit = series.calls.iter().rposition(is_start).unwrap_or(first);
    let behind = series.calls[last_visit + 1..].iter();
    let n_inside = behind.take_while(|call| call.enter < last_leave).count();
    let first = if n_visits == 1 { first + 1 } else { first };
    Ok((start, first..last_visit + 1 + n_inside, n_visits))
}

impl PatternsOutput {
    /// One row for each occurrence, in the order of time.
    pub fn table(&self, clock: &Clock) -> Table {
        let ns = |value: &dyn Fn(&Occurrence) -> Ticks| {
            ColumnData::U64(self.occurrences.iter().map(|o| clock.ns_from_ticks(value(o))).collect())
        };
        let distances = self.occurrences.iter().map(|occurrence| occurrence.distance).collect();
        Table::new("occurrences")
            .with(
                "start_ns",
                Unit::Nanoseconds,
                "When its first call was entered, since the trace start",
                ns(&|o| o.range.start),
            )
            .with(
                "end_ns",
                Unit::Nanoseconds,
                "When its last call was left, since the trace start",
                ns(&|o| o.range.end),
            )
            .with(
                "distance",
                Unit::None,
                "z-normalised Euclidean distance to the motif; 0 means the same up to scale",
                ColumnData::F64(distances),
            )
    }
}
