//! Values by small numbers, without a comparison between values of different numbers.

/// Values by key; those of a key are in the order in which they came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Grouped<T> {
    /// Where the values of each key start, and where those of the last end.
    starts: Vec<u32>,
    values: Vec<T>,
}

impl<T: Copy> Grouped<T> {
    /// Of `n_keys` keys, all of them smaller than that. The items are gone through twice.
    pub fn new(n_keys: usize, items: impl Iterator<Item = (u32, T)> + Clone) -> Self {
        let mut starts = vec![0; n_keys + 1];
        items.clone().for_each(|(key, _)| starts[key as usize + 1] += 1);
        for key in 0..n_keys {
            starts[key + 1] += starts[key];
        }
        let mut next = starts.clone();
        let any = items.clone().next();
        let mut values: Vec<T> = any.map_or_else(Vec::new, |(_, any)| vec![any; starts[n_keys] as usize]);
        for (key, value) in items {
            values[next[key as usize] as usize] = value;
            next[key as usize] += 1;
        }
        Grouped { starts, values }
    }

    /// The values of a key; none of a key that is too great.
    pub fn of(&self, key: usize) -> &[T] {
        match self.starts.get(key..key + 2) {
            Some(&[start, end]) => &self.values[start as usize..end as usize],
            _ => &[],
        }
    }

    /// The keys and their values.
    pub fn groups(&self) -> impl Iterator<Item = &[T]> {
        (0..self.starts.len() - 1).map(|key| self.of(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_their_keys() {
        let grouped = Grouped::new(4, [(2, 'a'), (0, 'b'), (2, 'c'), (3, 'd')].into_iter());
        let of: Vec<String> = (0..6).map(|key| grouped.of(key).iter().collect()).collect();
        assert_eq!(of, ["b", "", "ac", "d", "", ""]);
        assert_eq!(grouped.groups().map(<[char]>::len).collect::<Vec<_>>(), [1, 0, 2, 1]);
        assert!(Grouped::<u8>::new(0, std::iter::empty()).of(0).is_empty());
    }
}
