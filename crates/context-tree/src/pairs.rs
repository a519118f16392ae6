//! A value for each pair of the elements of a list: how much clusters differ, as the list shrinks and grows.

/// A value for each pair.
#[derive(Debug, Clone)]
pub struct Pairs<T> {
    n: usize,
    /// Those of an element with the elements before it, element by element.
    values: Vec<T>,
}

impl<T> Default for Pairs<T> {
    fn default() -> Self {
        Pairs { n: 0, values: Vec::new() }
    }
}

/// The least value, the greatest, and the first pair that has the least.
#[derive(Debug, Clone, Copy)]
pub struct Extremes {
    pub least: f64,
    pub greatest: f64,
    pub closest: (usize, usize),
}

impl Default for Extremes {
    fn default() -> Self {
        Extremes { least: f64::INFINITY, greatest: 0.0, closest: (0, 1) }
    }
}

impl<T: Copy> Pairs<T> {
    /// The same value for each pair of `n` elements.
    pub fn new(n: usize, value: T) -> Self {
        Pairs { n, values: vec![value; row(n)] }
    }

    /// The value of a pair.
    pub fn get(&self, low: usize, high: usize) -> T {
        self.values[row(high) + low]
    }

    /// The value of a pair, to be changed.
    pub fn get_mut(&mut self, low: usize, high: usize) -> &mut T {
        &mut self.values[row(high) + low]
    }

    /// Adds an element, given its values with those that are there.
    pub fn push(&mut self, values: &[T]) {
        assert_eq!(values.len(), self.n, "a value for each pair");
        self.values.extend_from_slice(values);
        self.n += 1;
    }

    /// Removes an element; those behind it move up.
    pub fn remove(&mut self, at: usize) {
        let mut kept = row(at);
        for high in at + 1..self.n {
            for low in (0..high).filter(|&low| low != at) {
                self.values[kept] = self.values[row(high) + low];
                kept += 1;
            }
        }
        self.values.truncate(kept);
        self.n -= 1;
    }

    /// Gives all pairs of one element a value.
    pub fn fill_of(&mut self, at: usize, value: T) {
        for other in (0..self.n).filter(|&other| other != at) {
            *self.get_mut(at.min(other), at.max(other)) = value;
        }
    }

    /// Gives all pairs a value.
    pub fn fill(&mut self, value: T) {
        self.values.fill(value);
    }
}

impl Pairs<f64> {
    /// The least, the greatest and the closest pair.
    pub fn extremes(&self) -> Extremes {
        let mut found = Extremes::default();
        let mut values = self.values.iter();
        for high in 1..self.n {
            for (low, &value) in values.by_ref().take(high).enumerate() {
                found.greatest = found.greatest.max(value);
                if value < found.least || (value <= found.least && (low, high) < found.closest) {
                    (found.least, found.closest) = (value, (low, high));
                }
            }
        }
        found
    }
}

/// Where the values of an element with those before it begin.
fn row(high: usize) -> usize {
    high * high.saturating_sub(1) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_keep_their_values_while_elements_come_and_go() {
        let mut pairs = Pairs::default();
        for high in 0..6_u32 {
            pairs.push(&(0..high).map(|low| f64::from(10 * high + low)).collect::<Vec<_>>());
        }
        let Extremes { least, greatest, closest } = pairs.extremes();
        assert!((least - 10.0).abs() < 1e-9 && (greatest - 54.0).abs() < 1e-9);
        assert_eq!(closest, (0, 1));
        pairs.remove(1);
        pairs.remove(3);
        // Left are 0, 2, 3 and 5.
        let left = [(0, 1, 20.0), (0, 2, 30.0), (1, 2, 32.0), (0, 3, 50.0), (1, 3, 52.0), (2, 3, 53.0)];
        for (low, high, value) in left {
            assert!((pairs.get(low, high) - value).abs() < 1e-9, "{low} {high}");
        }
        pairs.fill_of(1, 7.0);
        assert_eq!(pairs.extremes().closest, (0, 1));
        assert!((pairs.get(0, 3) - 50.0).abs() < 1e-9);
        assert!((pairs.extremes().least - 7.0).abs() < 1e-9);
    }
}
