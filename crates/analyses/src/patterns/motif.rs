//! The best motif of a matrix profile, and the windows like it.

use super::matrix_profile::{ProfileError, ProfilePoint, Windows, exclusion};

/// Distances closer to each other than this are equal: twice the square root of the precision of a correlation.
const TOLERANCE: f64 = 1e-7;

/// The two windows that are most alike.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Motif {
    /// Index of the first; the leftmost of equally good ones.
    pub index: usize,
    /// Index of the other.
    pub neighbour: usize,
    /// Their distance.
    pub distance: f64,
}

/// A window that is like the motif.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Match {
    /// Its index.
    pub index: usize,
    /// Its distance to the motif.
    pub distance: f64,
}

/// The motif; `None` if no window has another to be compared with.
pub fn motif(profile: &[ProfilePoint]) -> Option<Motif> {
    let mut best: Option<Motif> = None;
    for (index, point) in profile.iter().enumerate() {
        let Some(neighbour) = point.neighbour else { continue };
        if best.is_none_or(|best| point.distance < best.distance - TOLERANCE) {
            best = Some(Motif { index, neighbour, distance: point.distance });
        }
    }
    best
}

/// The windows that are like the one at `index`, itself among them, in the order of the series; and the distance they
/// may have at most: the one given, else `max(mean − 2 standard deviations, smallest)` over all windows.
///
/// They are taken by (distance, position), none within the exclusion zone of one before, at most `n_max`.
///
/// # Errors
/// If the series has no windows of that length, or `index` is none of them.
pub fn matches(
    series: &[f64],
    window: usize,
    index: usize,
    distance_max: Option<f64>,
    n_max: Option<usize>,
) -> Result<(Vec<Match>, f64), ProfileError> {
    let windows = Windows::new(series, window)?;
    if windows.n <= index {
        return Err(ProfileError::Window { window, n_points: series.len().saturating_sub(index) });
    }
    let distances: Vec<f64> = (0..windows.n).map(|other| windows.distance(index, other)).collect();
    let n = distances.len() as f64;
    let mean = distances.iter().sum::<f64>() / n;
    let deviation = (distances.iter().map(|distance| (distance - mean).powi(2)).sum::<f64>() / n).sqrt();
    let smallest = distances.iter().copied().fold(f64::INFINITY, f64::min);
    let limit = distance_max.unwrap_or_else(|| (mean - 2.0 * deviation).max(smallest));
    let mut candidates: Vec<Match> = distances
        .iter()
        .enumerate()
        .filter(|&(_, &distance)| distance <= limit + TOLERANCE)
        .map(|(index, &distance)| Match { index, distance })
        .collect();
    candidates.sort_by(|a, b| a.distance.total_cmp(&b.distance).then(a.index.cmp(&b.index)));
    let zone = exclusion(window);
    let mut is_taken = vec![false; windows.n];
    let mut matches: Vec<Match> = Vec::new();
    for candidate in candidates {
        if n_max.is_some_and(|n_max| n_max <= matches.len()) {
            break;
        }
        if !is_taken[candidate.index] {
            let end = (candidate.index + zone + 1).min(windows.n);
            is_taken[candidate.index.saturating_sub(zone)..end].fill(true);
            matches.push(candidate);
        }
    }
    matches.sort_unstable_by_key(|found| found.index);
    Ok((matches, limit))
}
