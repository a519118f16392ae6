//! Whole ticks in proportion.

use std::cmp::Reverse;

/// `whole · numerator / denominator`, rounded down; all if the denominator is 0.
pub(super) fn part(whole: u64, numerator: u64, denominator: u64) -> u64 {
    if denominator == 0 {
        return whole;
    }
    (u128::from(whole) * u128::from(numerator) / u128::from(denominator)) as u64
}

/// Divides a sum in proportion to `parts`, whose sum is not 0: all of it, by largest remainder.
pub(crate) fn shares(whole: u64, parts: &[u64]) -> Vec<u64> {
    if let [_] = parts {
        return vec![whole];
    }
    let sum: u128 = parts.iter().map(|&part| u128::from(part)).sum();
    let most = parts.iter().copied().max().unwrap_or_default();
    // Each share with its remainder; most products fit into a word, whose division is much faster.
    let mut divided: Vec<(u64, u128)> = match (whole.checked_mul(most), u64::try_from(sum)) {
        (Some(_), Ok(sum)) => {
            let divide = |part: &u64| (whole * part / sum, u128::from(whole * part % sum));
            parts.iter().map(divide).collect()
        }
        _ => {
            let exact = |part: &u64| u128::from(whole) * u128::from(*part);
            parts.iter().map(|part| ((exact(part) / sum) as u64, exact(part) % sum)).collect()
        }
    };
    let rest = (whole - divided.iter().map(|it| it.0).sum::<u64>()) as usize;
    if 0 < rest {
        let mut order: Vec<usize> = (0..parts.len()).collect();
        order.sort_by_key(|&i| Reverse(divided[i].1));
        order[..rest].iter().for_each(|&i| divided[i].0 += 1);
    }
    divided.into_iter().map(|it| it.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_all_of_it() {
        assert_eq!(shares(10, &[1, 1, 1]), [4, 3, 3]);
        assert_eq!(shares(10, &[0, 5, 15]), [0, 3, 7]);
        assert_eq!(shares(u64::MAX, &[u64::MAX / 2, 1]), [u64::MAX - 2, 2]);
        assert_eq!(shares(0, &[3]), [0]);
    }
}
