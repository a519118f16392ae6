//! References of a table whose last entries are placeholders.
//!
//! Law: entries that the trace defines keep their index; a placeholder gets the next
//! free reference when it is first used, and no definition if it never is.

use crate::position::u32_from;
use std::iter::Chain;
use std::ops::Range;

/// The references of one table.
#[derive(Debug, Clone)]
pub(super) struct Refs {
    n_defined: u32,
    /// Placeholders that are used, in the order of their first use.
    placeholders: Vec<u32>,
}

impl Refs {
    pub fn new(n_defined: usize) -> Self {
        let n_defined = u32::try_from(n_defined).expect("a table has fewer than 2^32 entries");
        Refs { n_defined, placeholders: Vec::new() }
    }

    /// The reference of an id that is used.
    #[inline]
    pub fn used(&mut self, id: u32) -> u32 {
        if id < self.n_defined { id } else { self.used_placeholder(id) }
    }

    #[inline(never)]
    fn used_placeholder(&mut self, id: u32) -> u32 {
        let known = self.placeholders.iter().position(|&placeholder| placeholder == id);
        let nth = known.unwrap_or_else(|| {
            self.placeholders.push(id);
            self.placeholders.len() - 1
        });
        self.n_defined + u32_from(nth)
    }

    /// Whether an id is one that the trace defines.
    pub fn is_defined(&self, id: u32) -> bool {
        id < self.n_defined
    }

    /// The ids to be defined, in the order of their references.
    pub fn ids(&self) -> Chain<Range<u32>, std::vec::IntoIter<u32>> {
        (0..self.n_defined).chain(self.placeholders.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_defined_when_they_are_used() {
        let mut refs = Refs::new(3);
        assert_eq!(refs.ids().collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!([2, 4, 3, 4].map(|id| refs.used(id)), [2, 3, 4, 3]);
        assert_eq!(refs.ids().collect::<Vec<_>>(), [0, 1, 2, 4, 3]);
    }
}
