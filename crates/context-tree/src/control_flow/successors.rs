//! A transitive relation between the vertices of one construct, as a matrix of bits.
//!
//! Law: rows are closed: what follows a successor is a successor.

const BITS: usize = u64::BITS as usize;

/// For each row the columns that can be reached from it.
#[derive(Debug, Clone, PartialEq)]
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
        ones(row)
    }

    /// Makes `to` and what can be reached from it reachable from `from`; rows that reach `from` are not looked at.
    pub fn add(&mut self, from: usize, to: usize) {
        let (from, row) = (from * self.words_per_row, to * self.words_per_row);
        for i in 0..self.words_per_row {
            self.words[from + i] |= self.words[row + i];
        }
        self.words[from + to / BITS] |= 1 << (to % BITS);
    }

    /// The number of columns that can be reached from `from`.
    pub fn n_of(&self, from: usize) -> usize {
        let row = &self.words[from * self.words_per_row..][..self.words_per_row];
        row.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Makes everything reachable from the last row, of `n_columns`.
    pub fn fill(&mut self, n_columns: usize) {
        let row = self.words.len() - self.words_per_row;
        for column in 0..n_columns {
            self.words[row + column / BITS] |= 1 << (column % BITS);
        }
    }
}

/// An order of vertices that grows edge by edge, in both directions. Law: it has no cycle.
#[derive(Debug)]
pub(super) struct Growing {
    n: usize,
    words_per_row: usize,
    after: Vec<u64>,
    before: Vec<u64>,
    /// Room for a row each.
    rows: [Vec<u64>; 2],
}

impl Growing {
    /// No vertex is before another.
    pub fn new(n: usize) -> Self {
        let words_per_row = n.div_ceil(BITS);
        let (all, row) = (vec![0; n * words_per_row], vec![0; words_per_row]);
        Growing { n, words_per_row, after: all.clone(), before: all, rows: [row.clone(), row] }
    }

    /// Puts `x` before `y` with all that this implies, unless one of them is before the other.
    pub fn add(&mut self, x: usize, y: usize) {
        let at = x * self.words_per_row + y / BITS;
        if (self.after[at] | self.before[at]) >> (y % BITS) & 1 == 0 {
            self.add_all(x, |word| if word == y / BITS { 1 << (y % BITS) } else { 0 });
        }
    }

    /// The same for several `y`, one after the other. `later` has the bits of each word of them.
    pub fn add_all(&mut self, x: usize, later: impl Fn(usize) -> u64) {
        let Growing { words_per_row: w, after, before, rows: [first, last], .. } = self;
        let w = *w;
        // What is put behind `x` is before nothing that is before `x`, so all is decided by what is known now.
        last.fill(0);
        for i in 0..w {
            let mut new = later(i) & !after[x * w + i] & !before[x * w + i];
            while new != 0 {
                let y = i * BITS + new.trailing_zeros() as usize;
                new &= new - 1;
                unite(last, &after[y * w..][..w]);
                last[y / BITS] |= 1 << (y % BITS);
            }
        }
        if last.iter().all(|&word| word == 0) {
            return;
        }
        first.copy_from_slice(&before[x * w..][..w]);
        first[x / BITS] |= 1 << (x % BITS);
        for row in ones(first) {
            unite(&mut after[row * w..][..w], last);
        }
        for row in ones(last) {
            unite(&mut before[row * w..][..w], first);
        }
    }

    /// The order, with a last row that reaches everything.
    pub fn into_successors(self) -> Successors {
        let Growing { n, words_per_row, after: mut words, .. } = self;
        words.resize((n + 1) * words_per_row, 0);
        let mut successors = Successors { words_per_row, words };
        successors.fill(n);
        successors
    }
}

/// Sets the bits that are set in another row.
#[inline]
fn unite(row: &mut [u64], other: &[u64]) {
    for (word, more) in row.iter_mut().zip(other) {
        *word |= more;
    }
}

/// The places of bits that are set, ascending.
fn ones(words: &[u64]) -> impl Iterator<Item = usize> + '_ {
    words.iter().enumerate().flat_map(|(i, &word)| {
        let mut left = word;
        std::iter::from_fn(move || {
            let bit = (0 < left).then(|| left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some(i * BITS + bit)
        })
    })
}
