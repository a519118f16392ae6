//! The matrix profile of a series: for each window the most similar other one.
//!
//! Windows `i` and `j` of `m` points are z-normalised and compared by Euclidean distance,
//! `√(2m(1 − r))` for their correlation `r`. The covariance goes along a diagonal `j − i = d` in constant time
//! for each step: `c(i, j) = c(i−1, j−1) + df(i)·dg(j) + df(j)·dg(i)` (the recurrence of mpx, after SCRIMP, Zhu et al.,
//! ICDM 2018). Eight diagonals are walked side by side, so that a step is one instruction for several of them; every
//! [`TILE`] rows the covariance is computed anew, so that errors do not add up. Correlations are rounded to 2⁻³⁰ before
//! they are compared, far above their errors: windows that are equally similar tie, and the leftmost wins. Distances
//! are then computed from the windows themselves.
//!
//! Law: what is computed for a pair of windows depends on the pair alone, so threads change nothing. A constant
//! window has distance 0 to another constant one and `√m` to any other. Time grows with the square of the number
//! of points; memory is 96 bytes for each and 32 more for each thread.

use ouzel_engine::Progress;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Diagonals that are walked side by side: a multiple of every vector length, and few enough to stay in registers.
const LANES: usize = 8;

/// Rows between two covariances from scratch: at `m` multiplications each a thousandth of the work or less for
/// windows of ten points, and a tenth for a thousand.
const TILE: usize = 8192;

/// Worse than any correlation.
const NO_CORRELATION: f64 = -2.0;

/// Added to the correlations of windows past the end, so that none is ever chosen.
const BEHIND_THE_END: f64 = -1e9;

/// Adding and subtracting it rounds to a multiple of 2⁻³⁰.
const ROUNDING: f64 = 6_291_456.0;

/// The most similar window of a window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProfilePoint {
    /// The distance; infinite if there is no other window outside of the exclusion zone.
    pub distance: f64,
    /// Index of the most similar window, the leftmost of equal ones.
    pub neighbour: Option<usize>,
}

/// A series that has no matrix profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProfileError {
    /// The window is shorter than 3 or longer than the series.
    Window {
        /// Points in the window.
        window: usize,
        /// Points in the series.
        n_points: usize,
    },
    /// A point is infinite or not a number.
    NotFinite {
        /// Its index.
        index: usize,
    },
    /// It was asked to stop.
    Cancelled,
}

impl std::fmt::Display for ProfileError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ProfileError::Window { window, n_points } => {
                write!(
                    f,
                    "a window of {window} calls is not possible: it needs at least 3 and at most the {n_points} of \
                     the series"
                )
            }
            ProfileError::NotFinite { index } => {
                write!(f, "point {index} of the series is not a finite number")
            }
            ProfileError::Cancelled => f.write_str("cancelled"),
        }
    }
}

impl std::error::Error for ProfileError {}

/// Windows closer than this to another, in points, are the same one shifted: `⌈m / 4⌉`.
pub(crate) fn exclusion(window: usize) -> usize {
    window.div_ceil(4)
}

/// The matrix profile of `series` for windows of `window` points, on `jobs` threads. They ask `progress` every
/// few milliseconds whether they should stop.
///
/// # Errors
/// If the window is shorter than 3 points or longer than the series, a point is not finite, or it was cancelled.
pub fn matrix_profile(
    series: &[f64],
    window: usize,
    jobs: NonZeroUsize,
    progress: Option<&Progress>,
) -> Result<Vec<ProfilePoint>, ProfileError> {
    let windows = Windows::new(series, window)?;
    let first_diagonal = exclusion(window) + 1;
    let n_blocks = windows.n.saturating_sub(first_diagonal).div_ceil(LANES);
    let next = AtomicUsize::new(0);
    let is_cancelled = || progress.is_some_and(Progress::is_cancelled);
    let work = || {
        let mut best = Best::new(windows.n);
        loop {
            let block = next.fetch_add(1, Ordering::Relaxed);
            if n_blocks <= block || is_cancelled() {
                return best;
            }
            walk(&windows, first_diagonal + block * LANES, &mut best, is_cancelled);
        }
    };
    let n_helpers = (jobs.get() - 1).min(n_blocks.saturating_sub(1));
    let best = std::thread::scope(|scope| {
        let helpers: Vec<_> = (0..n_helpers).map(|_| scope.spawn(work)).collect();
        let mut best = work();
        for helper in helpers {
            match helper.join() {
                Ok(other) => best.merge(&other),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        best
    });
    if is_cancelled() {
        return Err(ProfileError::Cancelled);
    }
    Ok((0..windows.n).map(|i| best.point(i, &windows)).collect())
}

/// What is known of each window. Padded by `LANES` windows that are like none.
pub(super) struct Windows {
    /// Number of windows.
    pub n: usize,
    window: usize,
    /// The series less its mean.
    series: Vec<f64>,
    mean: Vec<f64>,
    /// 1 / √Σ(x − mean)², 0 for constant windows.
    inverse_norm: Vec<f64>,
    /// One half for constant windows, else 0: the correlation of two constant ones comes out as 1, of one with
    /// another window as 1/2, whose distance is √m.
    half_if_constant: Vec<f64>,
    df: Vec<f64>,
    dg: Vec<f64>,
}

impl Windows {
    pub fn new(series: &[f64], window: usize) -> Result<Self, ProfileError> {
        if window < 3 || series.len() < window {
            return Err(ProfileError::Window { window, n_points: series.len() });
        }
        if let Some(index) = series.iter().position(|point| !point.is_finite()) {
            return Err(ProfileError::NotFinite { index });
        }
        let n = series.len() - window + 1;
        let length = n + LANES;
        let overall = series.iter().sum::<f64>() / series.len() as f64;
        let mut windows = Windows {
            n,
            window,
            series: series.iter().map(|point| point - overall).collect(),
            mean: vec![0.0; length],
            inverse_norm: vec![0.0; length],
            half_if_constant: vec![BEHIND_THE_END; length],
            df: vec![0.0; length],
            dg: vec![0.0; length],
        };
        // Number of equal points that end at each point.
        let mut n_equal = 0;
        for (end, &point) in series.iter().enumerate() {
            n_equal = if 0 < end && series[end - 1].total_cmp(&point).is_eq() { n_equal + 1 } else { 1 };
            if let Some(i) = (end + 1).checked_sub(window) {
                windows.set(i, window <= n_equal);
            }
        }
        Ok(windows)
    }

    fn set(&mut self, i: usize, is_constant: bool) {
        let m = self.window;
        let points = &self.series[i..i + m];
        let mean = points.iter().sum::<f64>() / m as f64;
        let norm = points.iter().map(|point| (point - mean).powi(2)).sum::<f64>().sqrt();
        let is_constant = is_constant || norm == 0.0;
        self.mean[i] = mean;
        self.inverse_norm[i] = if is_constant { 0.0 } else { norm.recip() };
        self.half_if_constant[i] = if is_constant { 0.5 } else { 0.0 };
        if 0 < i {
            let (gone, new) = (self.series[i - 1], self.series[i + m - 1]);
            self.df[i] = (new - gone) / 2.0;
            self.dg[i] = (new - mean) + (gone - self.mean[i - 1]);
        }
    }

    /// The covariance of two windows, times `m`.
    fn covariance(&self, i: usize, j: usize) -> f64 {
        let (a, b) = (&self.series[i..i + self.window], &self.series[j..j + self.window]);
        a.iter().zip(b).map(|(a, b)| (a - self.mean[i]) * (b - self.mean[j])).sum()
    }

    /// The distance of two windows, from their points.
    pub fn distance(&self, i: usize, j: usize) -> f64 {
        let (x, y) = (self.inverse_norm[i], self.inverse_norm[j]);
        let m = self.window as f64;
        match (x == 0.0, y == 0.0) {
            (true, true) => return 0.0,
            (true, false) | (false, true) => return m.sqrt(),
            _ => {}
        }
        let (a, b) = (&self.series[i..i + self.window], &self.series[j..j + self.window]);
        let difference = |(a, b): (&f64, &f64)| (a - self.mean[i]) * x - (b - self.mean[j]) * y;
        (m * a.iter().zip(b).map(|pair| difference(pair).powi(2)).sum::<f64>()).sqrt()
    }
}

/// The greatest correlations so far, with windows to the left and to the right.
struct Best {
    left: WindowSide,
    right: WindowSide,
}

struct WindowSide {
    correlation: Vec<f64>,
    neighbour: Vec<usize>,
}

impl WindowSide {
    fn new(length: usize) -> Self {
        WindowSide { correlation: vec![NO_CORRELATION; length], neighbour: vec![usize::MAX; length] }
    }

    /// Takes a neighbour if it is more similar, or as similar and further left.
    #[inline]
    fn offer(&mut self, window: usize, correlation: f64, neighbour: usize) {
        let order = self.correlation[window].total_cmp(&correlation);
        if order.then(neighbour.cmp(&self.neighbour[window])).is_lt() {
            self.correlation[window] = correlation;
            self.neighbour[window] = neighbour;
        }
    }
}

impl Best {
    fn new(n: usize) -> Self {
        Best { left: WindowSide::new(n + LANES), right: WindowSide::new(n + LANES) }
    }

    fn merge(&mut self, other: &Best) {
        for (mine, theirs) in [(&mut self.left, &other.left), (&mut self.right, &other.right)] {
            for (window, &neighbour) in theirs.neighbour.iter().enumerate() {
                mine.offer(window, theirs.correlation[window], neighbour);
            }
        }
    }

    /// A left neighbour is further left than any right one.
    fn point(&self, i: usize, windows: &Windows) -> ProfilePoint {
        let is_left = self.right.correlation[i] <= self.left.correlation[i];
        let side = if is_left { &self.left } else { &self.right };
        let neighbour = (NO_CORRELATION < side.correlation[i]).then_some(side.neighbour[i]);
        let distance = neighbour.map_or(f64::INFINITY, |j| windows.distance(i, j));
        ProfilePoint { distance, neighbour }
    }
}

/// Walks the diagonals from `diagonal` on, `LANES` of them, unless it is cancelled.
fn walk(windows: &Windows, diagonal: usize, best: &mut Best, is_cancelled: impl Fn() -> bool) {
    let n_rows = windows.n - diagonal;
    let mut first = 0;
    while first < n_rows && !is_cancelled() {
        let rows = first..(first + TILE).min(n_rows);
        walk_tile(windows, diagonal, rows, best);
        first += TILE;
    }
}

#[inline(never)]
fn walk_tile(windows: &Windows, diagonal: usize, rows: std::ops::Range<usize>, best: &mut Best) {
    let Windows { n, df, dg, inverse_norm, half_if_constant, .. } = windows;
    let mut covariance = [0.0; LANES];
    for (lane, covariance) in covariance.iter_mut().enumerate() {
        let j = rows.start + diagonal + lane;
        if j < *n {
            *covariance = windows.covariance(rows.start, j);
        }
    }
    for i in rows.clone() {
        let j = i + diagonal;
        if rows.start < i {
            let (df_i, dg_i) = (df[i], dg[i]);
            let (df_j, dg_j) = (lanes(df, j), lanes(dg, j));
            for lane in 0..LANES {
                covariance[lane] += df_i * dg_j[lane] + df_j[lane] * dg_i;
            }
        }
        let (norm_i, half_i) = (inverse_norm[i], half_if_constant[i]);
        let (norm_j, half_j) = (lanes(inverse_norm, j), lanes(half_if_constant, j));
        let known = lanes(&best.left.correlation, j);
        let known_i = best.right.correlation[i];
        let mut correlation = [0.0; LANES];
        let mut is_news = false;
        for lane in 0..LANES {
            let exact = covariance[lane] * norm_i * norm_j[lane] + (half_i + half_j[lane]);
            correlation[lane] = (exact + ROUNDING) - ROUNDING;
            is_news |= (known[lane] <= correlation[lane]) | (known_i < correlation[lane]);
        }
        if is_news {
            for (lane, &correlation) in correlation.iter().enumerate() {
                if NO_CORRELATION < correlation {
                    best.left.offer(j + lane, correlation, i);
                    best.right.offer(i, correlation, j + lane);
                }
            }
        }
    }
}

fn lanes(values: &[f64], from: usize) -> &[f64; LANES] {
    values[from..].first_chunk().expect("the columns are padded by as many")
}
