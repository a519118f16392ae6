//! Whole ticks in proportion: the rule of the largest remainder.

/// Shares `total` in proportion to `weights`: each gets the whole ticks of its part, and the ticks that are left go one
/// each to the largest remainders, the first of equal ones first. If all weights are zero, the first gets everything.
///
/// Law: the shares add up to `total`.
///
/// # Panics
/// If there is something to share and no weight.
pub fn share(total: u64, weights: &[u64]) -> Vec<u64> {
    let sum: u128 = weights.iter().map(|&weight| u128::from(weight)).sum();
    if sum == 0 {
        let mut shares = vec![0; weights.len()];
        if 0 < total {
            shares[0] = total;
        }
        return shares;
    }
    let parts: Vec<u128> = weights.iter().map(|&weight| u128::from(total) * u128::from(weight)).collect();
    let mut shares: Vec<u64> = parts.iter().map(|part| (part / sum) as u64).collect();
    let mut by_remainder: Vec<usize> = (0..weights.len()).collect();
    by_remainder.sort_by_key(|&i| std::cmp::Reverse(parts[i] % sum));
    let left = total - shares.iter().sum::<u64>();
    for &i in &by_remainder[..left as usize] {
        shares[i] += 1;
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_go_to_the_largest_remainders_first() {
        assert_eq!(share(10, &[1, 1, 1]), [4, 3, 3]);
        assert_eq!(share(10, &[5, 3, 1]), [6, 3, 1]);
        assert_eq!(share(7, &[0, 0]), [7, 0]);
        assert_eq!(share(0, &[]), [0; 0]);
        assert_eq!(share(u64::MAX, &[u64::MAX, u64::MAX]), [u64::MAX / 2 + 1, u64::MAX / 2]);
    }
}
