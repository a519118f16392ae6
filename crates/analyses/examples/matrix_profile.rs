//! The time of a matrix profile on one thread, for `cargo xtask bench`: `matrix_profile N_POINTS`.
//!
//! The series is that of `peers/python/matrix_profile.py`, number by number. Prints one line of JSON.

use ouzel_analyses::patterns::matrix_profile;
use std::num::NonZeroUsize;

/// Points of a window.
const WINDOW: usize = 100;

/// A sum of a slow wave and the bits of a linear congruential generator: the same in every language.
fn series(n_points: usize) -> Vec<f64> {
    let mut state: u64 = 1;
    let point = |i: usize| {
        state = (state * 1_103_515_245 + 12_345) % (1 << 31);
        (i % 1000) as f64 / 500.0 + state as f64 / (1_u64 << 31) as f64
    };
    (0..n_points).map(point).collect()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let n_points: usize =
        std::env::args().nth(1).ok_or("matrix_profile takes a number of points")?.parse()?;
    let series = series(n_points);
    #[expect(clippy::disallowed_methods, reason = "a stopwatch is what this program is")]
    let start = std::time::Instant::now();
    let profile = matrix_profile(&series, WINDOW, NonZeroUsize::MIN, None)?;
    let seconds = start.elapsed().as_secs_f64();
    println!("{{\"events\": {}, \"events_seconds\": {seconds}}}", profile.len());
    Ok(())
}
