//! A transitive relation between the vertices of one construct, as a matrix of bits.
//!
//! Law: rows are closed: what follows a successor is a successor.

const BITS: usize = u64::BITS as usize;

/// For each row the columns that can be reached from it.
#[derive(Debug, Clone)]
pub(super) struct Successors {
    words_per_row: usize,
    words: Vec<u64>,
}

impl Successors {
    /// The empty relation.
    pub fn new(n_rows: usize, n_columns: usize) -> Self {
        let words_per_row = n_columns.div_ceil(BITS);
        Successors { words_per_row, words: vec![0; n_rows * words_per_row] }
    }

    /// Whether `to` can be reached from `from`.
    pub fn has(&self, from: usize, to: usize) -> bool {
        self.words[from * self.words_per_row + to / BITS] >> (to % BITS) & 1 == 1
    }

    /// Everything that can be reached from `from`, ascending.
    pub fn of(&self, from: usize) -> impl Iterator<Item = usize> + '_ {
        let row = &self.words[from * self.words_per_row..][..self.words_per_row];
        row.iter().enumerate().flat_map(|(i, &word)| {
            (0..BITS).filter(move |bit| word >> bit & 1 == 1).map(move |bit| i * BITS + bit)
        })
    }

    /// Makes `to` and what can be reached from it reachable from `from`; rows that reach `from` are not looked at.
    pub fn add(&mut self, from: usize, to: usize) {
        let (from, row) = (from * self.words_per_row, to * self.words_per_row);
        for i in 0..self.words_per_row {
            self.words[from + i] |= self.words[row + i];
        }
        self.words[from + to / BITS] |= 1 << (to % BITS);
    }

    /// Adds an edge between vertices: also for rows that reach `from`.
    pub(crate) fn add_everywhere(&mut self, n_rows: usize, from: usize, to: usize) {
        for row in 0..n_rows {
            if row == from || self.has(row, from) {
                self.add(row, to);
            }
        }
    }
}
