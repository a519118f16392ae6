//! Small pictures of numbers in one line: a row of bars.

use super::units;

const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// One bar for each value, the largest being full; zeros are dots. With more values than `width`, one bar for the
/// largest of each of `width` neighbourhoods, so that an outlier is never lost.
pub fn bars(values: &[u64], width: usize) -> String {
    let largest = values.iter().copied().max().unwrap_or(0);
    merged(values, width).into_iter().map(|value| level(value, largest)).collect()
}

fn level(value: u64, largest: u64) -> char {
    if value == 0 || largest == 0 {
        return '·';
    }
    let nth = (u128::from(value) * LEVELS.len() as u128).div_ceil(u128::from(largest));
    LEVELS[usize::try_from(nth).unwrap_or(LEVELS.len()).clamp(1, LEVELS.len()) - 1]
}

/// The largest value of each neighbourhood; at most `width` of them, of equal size but for rounding.
fn merged(values: &[u64], width: usize) -> Vec<u64> {
    if values.len() <= width || width == 0 {
        return values.to_vec();
    }
    let border = |i: usize| i * values.len() / width;
    (0..width).map(|i| values[border(i)..border(i + 1)].iter().copied().max().unwrap_or(0)).collect()
}

/// Smallest, mean and largest of durations: `1.2 s … 1.4 s … 2.0 s`; one word where all are equal.
pub fn spread(min_ns: u64, mean_ns: u64, max_ns: u64) -> String {
    if min_ns == max_ns {
        return units::time(mean_ns);
    }
    format!("{} … {} … {}", units::time(min_ns), units::time(mean_ns), units::time(max_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_gets_a_bar() {
        assert_eq!(bars(&[0, 1, 4, 8], 9), "·▁▄█");
        assert_eq!(bars(&[5, 5], 9), "██");
        assert_eq!(bars(&[0, 0], 9), "··");
        assert_eq!(bars(&[], 9), "");
    }

    #[test]
    fn neighbours_share_a_bar_and_outliers_stay() {
        let mut values = vec![1; 1000];
        values[777] = 8;
        let bars = bars(&values, 10);
        assert_eq!(bars, "▁▁▁▁▁▁▁█▁▁");
    }

    #[test]
    fn spreads_are_short_where_nothing_varies() {
        assert_eq!([spread(5, 5, 5), spread(1, 2, 3)], ["5 ns", "1 ns … 2 ns … 3 ns"]);
    }
}
