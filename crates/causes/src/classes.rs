//! Numbers in five classes, from very low to very high: k-means in one dimension, exactly.
//!
//! Five intervals of the sorted values such that the sum over all values of their squared
//! distance from the mean of their interval is least. Found by dynamic programming over the
//! distinct values with their weights, so no starting point shows:
//! `best(k, j) = min over i of best(k − 1, i) + cost(i..j)`, the leftmost split where several
//! are equally good. Law: equal values have equal classes, and greater values no lower ones.
//! With fewer than five distinct values the classes are 0 1 3 4, 0 2 4, 0 4, or 0: a quantity
//! that is the same everywhere is never high.

/// Number of classes.
pub const N_CLASSES: usize = 5;
/// The least class that is high.
pub const HIGH: u8 = 3;

/// Splits that differ by less than this share of the whole cost are equally good.
const TIE: f64 = 1e-12;

/// The class of each value, 0 (very low) to 4 (very high). Values must be finite.
pub fn classes(values: &[f64]) -> Vec<u8> {
    let mut sorted: Vec<f64> = values.iter().map(|value| value + 0.0).collect();
    sorted.sort_by(f64::total_cmp);
    let mut distinct: Vec<(f64, f64)> = Vec::new();
    for value in sorted {
        match distinct.last_mut() {
            Some((last, weight)) if last.to_bits() == value.to_bits() => *weight += 1.0,
            _ => distinct.push((value, 1.0)),
        }
    }
    let class_of_distinct: Vec<u8> = match distinct.len() {
        0 => Vec::new(),
        1 => vec![0],
        2 => vec![0, 4],
        3 => vec![0, 2, 4],
        4 => vec![0, 1, 3, 4],
        _ => split(&distinct),
    };
    let place = |value: &f64| distinct.partition_point(|(other, _)| other.total_cmp(&(value + 0.0)).is_lt());
    values.iter().map(|value| class_of_distinct[place(value)]).collect()
}

/// Sums over the first values: of weights, of weighted values and of their squares. Values are centred and scaled, so
/// that little is lost where they are subtracted.
struct PrefixSums(Vec<[f64; 3]>);

impl PrefixSums {
    fn new(distinct: &[(f64, f64)]) -> Self {
        let low = distinct.first().map_or(0.0, |first| first.0);
        let high = distinct.last().map_or(0.0, |last| last.0);
        // Halves, as the range of all floats is none.
        let (middle, width) = (low / 2.0 + high / 2.0, high / 2.0 - low / 2.0);
        let mut sums = vec![[0.0; 3]];
        let mut sum = [0.0; 3];
        for &(value, weight) in distinct {
            let x = (value / 2.0 - middle / 2.0) / width;
            sum = [sum[0] + weight, sum[1] + weight * x, sum[2] + weight * x * x];
            sums.push(sum);
        }
        PrefixSums(sums)
    }

    /// Sum of the squared distances of values `i..j` from their mean.
    fn cost(&self, i: usize, j: usize) -> f64 {
        let [weight, first, second] = [0, 1, 2].map(|k| self.0[j][k] - self.0[i][k]);
        (second - first * first / weight).max(0.0)
    }
}

fn split(distinct: &[(f64, f64)]) -> Vec<u8> {
    let n = distinct.len();
    let sums = PrefixSums::new(distinct);
    let tie = TIE * sums.cost(0, n);
    let mut best: Vec<f64> = (0..=n).map(|j| if j == 0 { 0.0 } else { sums.cost(0, j) }).collect();
    let mut splits: Vec<Vec<u32>> = Vec::new();
    for k in 1..N_CLASSES {
        let mut next = vec![f64::INFINITY; n + 1];
        let mut at = vec![0_u32; n + 1];
        for j in k + 1..=n {
            // From the right: the last interval only gets dearer.
            for i in (k..j).rev() {
                let last = sums.cost(i, j);
                if last > next[j] + tie {
                    break;
                }
                let cost = best[i] + last;
                if cost <= next[j] + tie {
                    next[j] = next[j].min(cost);
                    at[j] = i as u32;
                }
            }
        }
        best = next;
        splits.push(at);
    }
    let mut classes = vec![0; n];
    let mut end = n;
    for (k, at) in splits.iter().enumerate().rev() {
        let start = at[end] as usize;
        classes[start..end].fill(k as u8 + 1);
        end = start;
    }
    classes
}

#[cfg(test)]
mod tests {
    use super::*;
    use ouzel_testkit::Rng;

    fn cost(values: &[f64], classes: &[u8]) -> f64 {
        (0..N_CLASSES as u8)
            .map(|class| {
                let of: Vec<f64> =
                    values.iter().zip(classes).filter(|(_, c)| **c == class).map(|(v, _)| *v).collect();
                let mean = of.iter().sum::<f64>() / of.len().max(1) as f64;
                of.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>()
            })
            .sum()
    }

    /// The least cost over all ways to cut the sorted distinct values into five.
    fn least(values: &[f64]) -> f64 {
        let mut distinct = values.to_vec();
        distinct.sort_by(f64::total_cmp);
        distinct.dedup();
        let n = distinct.len();
        let cost_of = |cuts: [usize; 4]| {
            let class = |v: &f64| cuts.iter().filter(|&&cut| distinct[cut] <= *v).count() as u8;
            cost(values, &values.iter().map(class).collect::<Vec<_>>())
        };
        let pairs = |from: usize| (from..n).flat_map(move |a| (a + 1..n).map(move |b| (a, b)));
        pairs(1)
            .flat_map(|(a, b)| pairs(b + 1).map(move |(c, d)| [a, b, c, d]))
            .map(cost_of)
            .fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn the_optimum_is_that_of_all_splits() {
        let mut rng = Rng::new(3);
        for _ in 0..600 {
            let n = 5 + rng.below(9) as usize;
            let values: Vec<f64> = (0..n).map(|_| rng.below(60) as f64 * 0.37).collect();
            let mut distinct = values.clone();
            distinct.sort_by(f64::total_cmp);
            distinct.dedup();
            if distinct.len() < N_CLASSES {
                continue;
            }
            let found = classes(&values);
            let (found_cost, least) = (cost(&values, &found), least(&values));
            assert!(found_cost <= least + 1e-9, "{values:?} {found:?} {found_cost} {least}");
            let mut by_value: Vec<(f64, u8)> = values.iter().copied().zip(found).collect();
            by_value.sort_by(|a, b| a.0.total_cmp(&b.0));
            assert!(by_value.is_sorted_by_key(|(_, class)| *class));
        }
    }

    #[test]
    fn few_values_have_few_classes() {
        for (values, expected) in [
            (vec![], vec![]),
            (vec![0.0, 0.0, -0.0], vec![0, 0, 0]),
            (vec![7.0, 1.0], vec![4, 0]),
            (vec![7.0, 1.0, 3.0, 3.0], vec![4, 0, 2, 2]),
            (vec![4.0, 3.0, 2.0, 1.0], vec![4, 3, 1, 0]),
            (vec![5.0, 4.0, 3.0, 2.0, 1.0], vec![4, 3, 2, 1, 0]),
        ] {
            assert_eq!(classes(&values), expected);
        }
    }

    #[test]
    fn ties_split_at_the_left() {
        // 0 to 5: one pair must share a class; the leftmost splits leave the last two together.
        assert_eq!(classes(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]), [0, 1, 2, 3, 4, 4]);
    }

    #[test]
    fn scale_does_not_show() {
        let values = [0.004, 0.148, 0.31, 0.062, 0.058, 0.155, 0.003, 0.6];
        let huge: Vec<f64> = values.iter().map(|v| v * 1e300).collect();
        assert_eq!(classes(&values), classes(&huge));
    }
}
