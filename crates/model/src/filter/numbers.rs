//! Sets of whole numbers: what every comparison, range and list of numbers comes to.

use serde::{Deserialize, Serialize};

/// A set of whole numbers, as inclusive ranges `(first, last)`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumberSet(Vec<(u64, u64)>);

impl NumberSet {
    /// The numbers of the inclusive ranges; a range that ends before it begins holds none.
    pub fn from_ranges(ranges: impl IntoIterator<Item = (u64, u64)>) -> Self {
        NumberSet(ranges.into_iter().filter(|(first, last)| first <= last).collect())
    }

    /// Numbers from `first` on.
    pub fn at_least(first: u64) -> Self {
        NumberSet(vec![(first, u64::MAX)])
    }

    /// Numbers up to `last`.
    pub fn at_most(last: u64) -> Self {
        NumberSet(vec![(0, last)])
    }

    /// Numbers less than `end`.
    pub fn below(end: u64) -> Self {
        end.checked_sub(1).map_or_else(Self::default, Self::at_most)
    }

    /// Numbers greater than `start`.
    pub fn above(start: u64) -> Self {
        start.checked_add(1).map_or_else(Self::default, Self::at_least)
    }

    /// One number.
    pub fn of(number: u64) -> Self {
        NumberSet(vec![(number, number)])
    }

    /// Whether `number` is in the set.
    pub fn contains(&self, number: u64) -> bool {
        self.0.iter().any(|&(first, last)| first <= number && number <= last)
    }

    /// The ranges, both ends inside.
    pub fn ranges(&self) -> &[(u64, u64)] {
        &self.0
    }
}
