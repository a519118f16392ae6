//! Rough sets: which attributes distinguish the decisions of a table.
//!
//! ```text
//! DecisionTable ──pairs of rows──► Discernment (clauses, inconsistent pairs) ──► Core (all least explanations)
//! ```
//!
//! A row is a process or a region, an attribute one column of small numbers, the decision what is to be explained. Two
//! rows of different decisions are distinguished by the attributes in which they differ: a clause. An explanation is a
//! set of attributes with at least one of every clause. Sets of attributes are bit sets; the first attribute is the
//! lowest bit. Law: explanations are equal to those found among all subsets of attributes, and do not depend on the
//! order of rows.

mod discernment;
mod explanations;
#[cfg(test)]
mod tests;

pub use discernment::{DecisionTable, Discernment, MAX_ATTRIBUTES, MAX_PAIRS};
pub use explanations::{Core, Explanation, Multiplicity};

/// A set of attributes by their positions in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct AttributeSet(pub u64);

impl AttributeSet {
    /// The set of these.
    pub fn of(attributes: impl IntoIterator<Item = usize>) -> Self {
        AttributeSet(attributes.into_iter().fold(0, |set, at| set | 1 << at))
    }

    /// Number of attributes.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether it contains the attribute.
    pub fn has(self, attribute: usize) -> bool {
        self.0 >> attribute & 1 == 1
    }

    /// Its attributes, ascending.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        (0..64).filter(move |&at| self.has(at))
    }
}
