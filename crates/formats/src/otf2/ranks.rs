//! World ranks where no definition says which location is which.
//!
//! Tracers number locations in one of two ways: by rank, with the thread in the upper half (Score-P and others), or
//! spread over the numbers below 2^31 in equal steps, one for each rank (eztrace). Law: numbers that fit neither give
//! no ranks at all.

use std::collections::BTreeMap;

/// More ranks than any machine has.
const RANKS_MAX: u64 = 1 << 22;

/// The rank of each number that is the first location of its process.
pub(super) fn ranks_from_numbers(numbers: &[u64]) -> Option<BTreeMap<u64, u32>> {
    let first: Vec<u64> = numbers.iter().copied().filter(|&number| number <= u64::from(u32::MAX)).collect();
    let step = if first.iter().all(|&number| number < RANKS_MAX) { 1 } else { step(&first)? };
    let rank = |number| u32::try_from(number / step).ok();
    first.into_iter().map(|number| Some((number, rank(number)?))).collect()
}

/// The step of numbers that are spread below 2^31.
fn step(numbers: &[u64]) -> Option<u64> {
    const END: u64 = (1 << 31) - 1;
    let step = numbers.iter().copied().fold(0, gcd);
    let n_ranks = END.checked_div(step)?;
    let is_spread = n_ranks < RANKS_MAX && numbers.iter().all(|number| number / step < n_ranks);
    // With ranks missing, the step may be a multiple; mostly it is none that divides the numbers evenly.
    (is_spread && END / n_ranks == step).then_some(step)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_give_ranks_where_they_follow_a_way_of_numbering() {
        let check = |numbers: &[u64], expected: Option<&[(u64, u32)]>| {
            let expected = expected.map(|pairs| pairs.iter().copied().collect());
            assert_eq!(ranks_from_numbers(numbers), expected, "{numbers:?}");
        };
        check(&[0, 1, 4], Some(&[(0, 0), (1, 1), (4, 4)]));
        check(&[0, 1, 1 << 32, (1 << 32) + 1], Some(&[(0, 0), (1, 1)]));
        let s = 268_435_455;
        check(&[0, s, 2 * s, 7 * s], Some(&[(0, 0), (s, 1), (2 * s, 2), (7 * s, 7)]));
        check(&[2 * s, 4 * s, 6 * s], None);
        check(&[0, 12_345_678_901 % (1 << 31), 77_777_777], None);
        check(&[], Some(&[]));
    }
}
