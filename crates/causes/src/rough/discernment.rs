//! What distinguishes the rows of a decision table.

use super::AttributeSet;
use rustc_hash::{FxHashMap, FxHashSet};

/// Maximum number of attributes of a table: the bits of a set.
pub const MAX_ATTRIBUTES: usize = 64;
/// Inconsistent pairs that are listed; all are counted.
pub const MAX_PAIRS: usize = 100;

/// Rows, each with attributes and a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionTable {
    /// For each attribute, the value of each row.
    pub columns: Vec<Vec<u32>>,
    /// The decision of each row.
    pub decisions: Vec<u32>,
}

/// What a table shows about pairs of rows with different decisions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Discernment {
    /// Every set of attributes in which such a pair differs; ascending, each once.
    pub clauses: Vec<AttributeSet>,
    /// Pairs of rows that differ only in their decision, ascending; the first [`MAX_PAIRS`].
    pub inconsistent: Vec<(usize, usize)>,
    /// Number of such pairs.
    pub n_inconsistent: u64,
}

impl DecisionTable {
    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.decisions.len()
    }

    /// The cell of the discernibility matrix for two rows: `None` if the decision is the same, else the attributes in
    /// which they differ; empty for a pair that cannot be distinguished.
    pub fn cell(&self, one: usize, other: usize) -> Option<AttributeSet> {
        if self.decisions[one] == self.decisions[other] {
            return None;
        }
        let differing = self.columns.iter().map(|column| column[one] != column[other]);
        Some(AttributeSet::of(differing.enumerate().filter(|(_, differs)| *differs).map(|(at, _)| at)))
    }

    /// The cells of all pairs, without their positions. Equal rows are compared once.
    ///
    /// # Panics
    /// If there are more than [`MAX_ATTRIBUTES`] attributes.
    pub(crate) fn discernment(&self) -> Discernment {
        assert!(self.columns.len() <= MAX_ATTRIBUTES, "a set of attributes has 64 bits");
        let kinds = self.kinds();
        let mut clauses: FxHashSet<AttributeSet> = FxHashSet::default();
        let mut found = Discernment::default();
        let mut last = AttributeSet::default();
        for (i, one) in kinds.iter().enumerate() {
            for other in &kinds[i + 1..] {
                let Some(cell) = self.cell(one.rows[0], other.rows[0]) else { continue };
                if cell.is_empty() {
                    found.n_inconsistent += one.rows.len() as u64 * other.rows.len() as u64;
                    let pairs =
                        one.rows.iter().flat_map(|&a| other.rows.iter().map(move |&b| (a.min(b), a.max(b))));
                    found.inconsistent.extend(pairs.take(MAX_PAIRS));
                } else if cell != last {
                    last = cell;
                    clauses.insert(cell);
                }
            }
        }
        found.inconsistent.sort_unstable();
        found.inconsistent.truncate(MAX_PAIRS);
        found.clauses = clauses.into_iter().collect();
        found.clauses.sort_unstable();
        found
    }

    /// Rows that are equal in everything, in the order of the first of each.
    fn kinds(&self) -> Vec<IndiscernibleRows> {
        let mut places: FxHashMap<Vec<u32>, usize> = FxHashMap::default();
        let mut kinds: Vec<IndiscernibleRows> = Vec::new();
        for row in 0..self.n_rows() {
            let mut key: Vec<u32> = self.columns.iter().map(|column| column[row]).collect();
            key.push(self.decisions[row]);
            let place = *places.entry(key).or_insert(kinds.len());
            if place == kinds.len() {
                kinds.push(IndiscernibleRows { rows: Vec::new() });
            }
            kinds[place].rows.push(row);
        }
        kinds
    }
}

struct IndiscernibleRows {
    rows: Vec<usize>,
}
