//! Numbers in the order of iterations: what is usual, what stands out, what grows.
//!
//! All estimates are robust: a few outliers change nothing. Law: results depend only on the values and their order.

/// Values in the order of iterations.
pub(super) type Series<'a> = &'a [f64];

/// Iterations whose slopes are compared pair by pair; longer series are thinned to this many evenly spread points,
/// which bounds the work at eighty thousand pairs.
const MAX_POINTS: usize = 400;

/// Factor between the median absolute deviation and the standard deviation of normal values.
const MAD_TO_SIGMA: f64 = 1.4826;

/// The middle value; the mean of the two middle ones if their number is even; 0 if there are none.
pub(super) fn median(values: Series<'_>) -> f64 {
    let mut values = values.to_vec();
    let n = values.len();
    if n == 0 {
        return 0.0;
    }
    let (below, &mut middle, _) = values.select_nth_unstable_by(n / 2, f64::total_cmp);
    match below.iter().copied().max_by(f64::total_cmp) {
        Some(before) if n.is_multiple_of(2) => f64::midpoint(before, middle),
        _ => middle,
    }
}

/// The median distance from the median.
pub(super) fn median_absolute_deviation(values: Series<'_>) -> f64 {
    let middle = median(values);
    median(&values.iter().map(|value| (value - middle).abs()).collect::<Vec<_>>())
}

/// Indices of values above `median + factor · MAD` and above `median + least`.
pub(super) fn outliers(values: Series<'_>, factor: f64, least: f64) -> Vec<usize> {
    let middle = median(values);
    let limit = middle + (factor * median_absolute_deviation(values)).max(least);
    (0..values.len()).filter(|&i| limit < values[i]).collect()
}

/// A straight line through a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Trend {
    /// Growth from one value to the next.
    pub slope: f64,
    /// Value of the line at the first index.
    pub first: f64,
    /// Value of the line at the last index.
    pub last: f64,
    /// Spread of the values about the line, as a standard deviation.
    pub noise: f64,
    /// Kendall's τ: pairs that grow less pairs that shrink, as a share of all; 1 if all grow.
    pub tau: f64,
}

/// The line of H. Theil (1950) and P. K. Sen (1968): the median of the slopes of all pairs.
#[expect(clippy::cast_precision_loss, reason = "indices of iterations")]
pub(super) fn trend(values: Series<'_>) -> Option<Trend> {
    let n = values.len();
    if n < 3 {
        return None;
    }
    let step = n.div_ceil(MAX_POINTS);
    let points: Vec<(f64, f64)> = (0..n).step_by(step).map(|i| (i as f64, values[i])).collect();
    let mut slopes = Vec::with_capacity(points.len() * (points.len() - 1) / 2);
    let mut sign = 0.0;
    for (i, a) in points.iter().enumerate() {
        for b in &points[i + 1..] {
            slopes.push((b.1 - a.1) / (b.0 - a.0));
            sign += f64::from(i32::from(a.1 < b.1) - i32::from(b.1 < a.1));
        }
    }
    let slope = median(&slopes);
    let offset = median(&points.iter().map(|(x, y)| y - slope * x).collect::<Vec<_>>());
    let line = |x: f64| offset + slope * x;
    let distances: Vec<f64> = points.iter().map(|&(x, y)| y - line(x)).collect();
    Some(Trend {
        slope,
        first: line(0.0),
        last: line((n - 1) as f64),
        noise: MAD_TO_SIGMA * median_absolute_deviation(&distances),
        tau: sign / slopes.len() as f64,
    })
}

/// The first index from which the values stay above the middle of the lowest and the highest level: where an effect
/// begins that is absent at first. `None` if they are above from the start, or come and go.
pub(super) fn onset(values: Series<'_>) -> Option<usize> {
    let n = values.len();
    if n < 6 {
        return None;
    }
    let third = (n / 3).max(2);
    let (low, high) = (median(&values[..third.min(3)]), median(&values[n - third..]));
    let limit = f64::midpoint(low, high);
    let first = values.iter().position(|&value| limit < value)?;
    let above = values[first..].iter().filter(|&&value| limit < value).count();
    // Four of five values must stay above.
    (0 < first && low * 2.0 < high && 4 * (n - first) <= 5 * above).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_robust() {
        assert!((median(&[3.0, 1.0, 900.0]) - 3.0).abs() < 1e-12);
        assert!((median(&[4.0, 1.0, 2.0, 900.0]) - 3.0).abs() < 1e-12);
        assert!(median(&[]).abs() < 1e-12);
        assert!((median_absolute_deviation(&[1.0, 2.0, 3.0, 4.0, 900.0]) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn outliers_stick_out_of_the_usual_spread() {
        let mut values: Vec<f64> = (0..40).map(|i| 100.0 + f64::from(i % 5)).collect();
        assert_eq!(outliers(&values, 5.0, 1.0), Vec::<usize>::new());
        values[17] = 300.0;
        assert_eq!(outliers(&values, 5.0, 1.0), [17]);
        assert_eq!(outliers(&values, 5.0, 250.0), Vec::<usize>::new(), "too small to matter");
    }

    #[test]
    fn a_line_is_found_through_noise_and_outliers() {
        let mut values: Vec<f64> = (0..50).map(|i| 10.0 + 2.0 * f64::from(i) + f64::from(i % 3)).collect();
        values[7] = 5000.0;
        let found = trend(&values).unwrap();
        assert!((found.slope - 2.0).abs() < 0.05, "{found:?}");
        assert!((found.last - found.first - 98.0).abs() < 3.0 && 0.8 < found.tau);
        let flat: Vec<f64> = (0..50).map(|i| f64::from(i % 4)).collect();
        assert!(trend(&flat).unwrap().slope.abs() < 0.05);
        assert_eq!(trend(&[1.0, 2.0]), None);
    }

    #[test]
    fn long_series_are_thinned() {
        let values: Vec<f64> = (0..10_000).map(f64::from).collect();
        let found = trend(&values).unwrap();
        assert!((found.slope - 1.0).abs() < 1e-9 && (found.last - 9999.0).abs() < 1e-6);
    }

    #[test]
    fn an_effect_that_begins_later_has_an_onset() {
        let step: Vec<f64> = (0..30).map(|i| if i < 12 { 1.0 } else { 9.0 }).collect();
        assert_eq!(onset(&step), Some(12));
        assert_eq!(onset(&[5.0; 30]), None);
        let spike: Vec<f64> = (0..30).map(|i| if i == 3 { 90.0 } else { 1.0 }).collect();
        assert_eq!(onset(&spike), None);
    }
}
