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
    let sum: u128 = parts.iter().map(|&part| u128::from(part)).sum();
    let exact = |&part: &u64| u128::from(whole) * u128::from(part);
    let mut shares: Vec<u64> = parts.iter().map(|part| (exact(part) / sum) as u64).collect();
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|&i| Reverse(exact(&parts[i]) % sum));
    let rest = (whole - shares.iter().sum::<u64>()) as usize;
    order[..rest].iter().for_each(|&i| shares[i] += 1);
    shares
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
