//! All levels of one location, built while its intervals come.
//!
//! A bin that is complete waits for its neighbour, and with it becomes a bin of the next level, as digits carry. The
//! finest level is dropped whenever it has too many bins for the intervals so far, so the length of the run need not be
//! known.

use crate::N_SHARES;
use crate::weights::{Parents, Ways, Weights};
use ouzel_model::{CallPathId, Remap, Ticks};
use serde::{Deserialize, Serialize};

/// Intervals for each bin of the finest level, at least: fewer would be larger than the events.
const INTERVALS_PER_BIN: u64 = 8;
/// Bins of a location that are kept in any case, unless told otherwise: 4 kB with all levels.
const N_BINS_MIN: u64 = 256;
/// Those where size is bounded anyway: short programs can be zoomed, too.
const N_BINS_MIN_BOUNDED: u64 = 2048;
/// Bins that are allowed before the intervals are counted.
const N_BINS_FIRST: u64 = 4096;
/// Most intervals that are believed of a declaration: 32 MB of bins, with all levels.
const N_DECLARED_MAX: u64 = 1 << 24;

/// How wide bins are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Widths {
    /// Bins of the finest level that are kept in any case, where time allows.
    pub n_bins_min: u64,
    /// Bins of the finest level, at most.
    pub n_bins_max: u64,
    /// No bins are narrower than `1 << log2_min` ticks.
    pub log2_min: u32,
}

impl Default for Widths {
    fn default() -> Self {
        Widths { n_bins_min: N_BINS_MIN, n_bins_max: u64::MAX, log2_min: 0 }
    }
}

impl Widths {
    /// So many bins, with these of a run of this length.
    pub fn at_most(n_bins_max: u64, length: Option<Ticks>) -> Self {
        let (length, n_bins_max) = (length.map_or(0, |length| length.0), n_bins_max.max(2));
        let log2_min = (0..63).find(|log2| length >> log2 < n_bins_max).unwrap_or(63);
        Widths { n_bins_min: N_BINS_MIN_BOUNDED.min(n_bins_max), n_bins_max, log2_min }
    }
}

/// What a bin shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bin {
    /// The number of the call path, or [`NO_PATH`].
    path: u32,
    /// Shares of the first categories, of 255.
    pub shares: [u8; N_SHARES],
}

/// In place of the number of a call path.
const NO_PATH: u32 = u32::MAX;

impl Default for Bin {
    fn default() -> Bin {
        Bin::NOTHING
    }
}

impl Bin {
    /// A bin in which nothing is.
    pub const NOTHING: Bin = Bin { path: NO_PATH, shares: [0; N_SHARES] };

    /// A bin that shows a call path.
    pub fn new(call_path: Option<CallPathId>, shares: [u8; N_SHARES]) -> Bin {
        Bin { path: call_path.map_or(NO_PATH, |path| path.0), shares }
    }

    /// The call path; `None`: most of the bin lies before the first call or after the last.
    pub fn call_path(self) -> Option<CallPathId> {
        (self.path != NO_PATH).then_some(CallPathId(self.path))
    }

    /// Bytes that the number of a call path takes in a file, if none is larger than `highest`.
    pub fn path_bytes(highest: Option<CallPathId>) -> u8 {
        // All ones are in place of a number.
        let highest = highest.map_or(0, |path| path.0.saturating_add(1));
        ((u32::BITS - highest.leading_zeros()).div_ceil(8).max(1)) as u8
    }

    /// Appends the bin as it is in a file: so many bytes of the call path, the low one first, then the shares.
    pub fn write(self, path_bytes: u8, into: &mut Vec<u8>) {
        into.extend_from_slice(&self.path.to_le_bytes()[..usize::from(path_bytes).min(4)]);
        into.extend_from_slice(&self.shares);
    }

    /// The bin that was written.
    pub fn read(bytes: &[u8]) -> Bin {
        let (path, shares) = bytes.split_at(bytes.len().saturating_sub(N_SHARES));
        let number = path.iter().rev().fold(0, |number, &byte| number << 8 | u32::from(byte));
        let is_path = path.iter().any(|&byte| byte != u8::MAX);
        Bin { path: if is_path { number } else { NO_PATH }, shares: shares.try_into().unwrap_or_default() }
    }
}

/// Bins of one width, while the pyramid grows.
#[derive(Debug, Clone, Default)]
struct Level {
    /// Number of the first bin.
    first: u64,
    bins: Vec<Bin>,
}

/// The pyramid of one location.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocationTiles {
    /// Which bins the finest level has; without bins it is empty.
    shape: Shape,
    /// All levels, the finest first.
    bins: Vec<Bin>,
    /// From the first enter to the last leave.
    span: (Ticks, Ticks),
}

/// Which bins a pyramid has: those of the finest level from the first to the last that hold anything, and of each level
/// above those that hold them, until the first bin of a level is the last one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// Bins of the finest level have `1 << log2` ticks.
    pub log2: u32,
    /// Number of its first bin.
    pub first: u64,
    /// Number of its last bin.
    pub last: u64,
}

impl Shape {
    /// All levels of bins, the finest first.
    pub fn n_levels(self) -> u32 {
        u64::BITS - self.last.leading_zeros() + 1
    }

    /// The same without the `n` finest levels.
    #[must_use]
    pub fn above(self, n: u32) -> Shape {
        let at = |bin: u64| bin.checked_shr(n).unwrap_or(0);
        Shape { log2: self.log2 + n, first: at(self.first), last: at(self.last) }
    }

    /// Bins of the finest level.
    pub fn n_bins(self) -> u64 {
        (self.last - self.first).saturating_add(1)
    }

    /// Bins of the `n` finest levels, all together.
    pub fn n_bins_of_levels(self, n: u32) -> u64 {
        (0..n).map(|level| self.above(level).n_bins()).fold(0, u64::saturating_add)
    }

    /// Whether widths and numbers can be: of what was read from a file.
    pub fn is_sound(self) -> bool {
        self.first <= self.last && u64::from(self.log2) + u64::from(self.n_levels()) <= 64
    }
}

impl LocationTiles {
    /// The pyramid of these levels, the finest first.
    fn new(log2: u32, levels: &[Level], span: (Ticks, Ticks)) -> LocationTiles {
        let Some(Level { first, bins }) = levels.first() else {
            return LocationTiles { span, ..LocationTiles::default() };
        };
        let shape = Shape { log2, first: *first, last: first + bins.len() as u64 - 1 };
        debug_assert!(shape.n_levels() as usize == levels.len(), "{shape:?} has {} levels", levels.len());
        debug_assert!((0..).zip(levels).all(|(n, level)| {
            let shape = shape.above(n);
            level.first == shape.first && level.bins.len() as u64 == shape.n_bins()
        }));
        let mut all = Vec::with_capacity(levels.iter().map(|level| level.bins.len()).sum());
        levels.iter().for_each(|level| all.extend_from_slice(&level.bins));
        LocationTiles { shape, bins: all, span }
    }

    /// The finest level, as the binary logarithm of its ticks.
    pub fn finest(&self) -> u32 {
        self.shape.log2
    }

    /// From the first enter to the last leave.
    pub fn span(&self) -> (Ticks, Ticks) {
        self.span
    }

    /// The bins `first .. first + n` of `1 << log2` ticks. Finer ones than the finest show what the finest shows.
    pub fn bins(&self, log2: u32, first: u64, n: usize) -> Vec<Bin> {
        let (down, up) = (self.shape.log2.saturating_sub(log2).min(63), log2.saturating_sub(self.shape.log2));
        let numbers = first..first.saturating_add(n as u64);
        if self.bins.is_empty() {
            return vec![Bin::NOTHING; n];
        }
        if self.shape.n_levels() <= up {
            let more = up + 1 - self.shape.n_levels();
            return numbers.map(|at| self.above(more, at)).collect();
        }
        let (shape, skipped) = (self.shape.above(up), self.shape.n_bins_of_levels(up));
        let level = self.bins.get(skipped as usize..).unwrap_or_default();
        let stored = |at: u64| match shape.first <= at && at <= shape.last {
            true => level.get((at - shape.first) as usize).copied().unwrap_or(Bin::NOTHING),
            false => Bin::NOTHING,
        };
        numbers.map(|at| stored(at >> down)).collect()
    }

    /// The bin `at`, as in [`bins`](Self::bins).
    pub fn bin(&self, log2: u32, at: u64) -> Bin {
        self.bins(log2, at, 1).first().copied().unwrap_or(Bin::NOTHING)
    }

    /// A bin of which the highest one that is stored is a part, the rest being nobody's.
    fn above(&self, more: u32, at: u64) -> Bin {
        if at != 0 {
            return Bin::NOTHING;
        }
        let Bin { shares, .. } = self.bins.last().copied().unwrap_or(Bin::NOTHING);
        let share = |share: u8| {
            u8::try_from((u64::from(share) + (1 << more.min(62)) / 2) >> more.min(62)).unwrap_or(0)
        };
        Bin { path: NO_PATH, shares: shares.map(share) }
    }

    /// Takes away the levels of more than `n_bins_max` bins, the finest first, but not the last one: their shape with
    /// everything above, how many levels they are, and their bins.
    pub fn take_fine(&mut self, n_bins_max: u64) -> (Shape, u32, Vec<Bin>) {
        let shape = self.shape;
        let n_levels = shape.n_levels() - 1;
        let n_fine =
            (0..n_levels).take_while(|&level| n_bins_max < shape.above(level).n_bins()).count() as u32;
        if n_fine == 0 {
            return (shape, 0, Vec::new());
        }
        let coarse = self.bins.split_off(shape.n_bins_of_levels(n_fine) as usize);
        self.shape = shape.above(n_fine);
        (shape, n_fine, std::mem::replace(&mut self.bins, coarse))
    }

    /// The same with other numbers of call paths.
    pub fn renumber(&mut self, new: impl Fn(CallPathId) -> CallPathId) {
        for bin in &mut self.bins {
            *bin = Bin::new(bin.call_path().map(&new), bin.shares);
        }
    }

    pub(crate) fn remap(&mut self, remap: &Remap) {
        self.renumber(|path| remap.path(path));
    }

    /// Whether widths can be, and all call paths are below `n_call_paths`: of tiles from a file.
    pub fn is_sound(&self, n_call_paths: usize) -> bool {
        let shape = self.shape;
        self.span.0 <= self.span.1
            && (self.bins.is_empty()
                || shape.is_sound() && shape.n_bins_of_levels(shape.n_levels()) == self.bins.len() as u64)
            && self.call_paths().all(|path| path.index() < n_call_paths)
    }

    /// The call path of each stored bin.
    pub fn call_paths(&self) -> impl Iterator<Item = CallPathId> {
        self.bins.iter().filter_map(|bin| bin.call_path())
    }

    /// Number of stored bins, all levels together.
    pub fn n_bins(&self) -> usize {
        self.bins.len()
    }
}

/// A pyramid that grows.
#[derive(Debug)]
pub(crate) struct Builder {
    /// Bins of the finest level have `1 << log2` ticks.
    log2: u32,
    /// The finest first.
    levels: Vec<Level>,
    span: (Ticks, Ticks),
    /// For each level the left one of two bins, if it is complete and the right one is not.
    waiting: Vec<Option<Weights>>,
    open: Weights,
    /// Without content: their memory serves the next bins.
    spare: Vec<Weights>,
    ways: Ways,
    /// The bin of the finest level that is open.
    at: u64,
    n_intervals: u64,
    n_declared: u64,
    widths: Widths,
}

impl Builder {
    /// A location that begins at `start` and has about so many events.
    pub fn new(start: Ticks, n_declared: u64, widths: Widths) -> Self {
        let n_declared = n_declared.min(N_DECLARED_MAX);
        Builder {
            log2: widths.log2_min,
            levels: Vec::new(),
            span: (start, start),
            waiting: Vec::new(),
            open: Weights::default(),
            spare: Vec::new(),
            ways: Ways::default(),
            at: start.0 >> widths.log2_min,
            n_intervals: 0,
            n_declared,
            widths,
        }
    }

    /// Adds the time until `to`, spent in `path`.
    pub fn add(&mut self, to: Ticks, path: CallPathId, category: u8, parents: &Parents) {
        let mut from = self.span.1.0;
        if to.0 <= from {
            return;
        }
        self.n_intervals += 1;
        // What would be dropped once the interval is added is not made first: of a location with few intervals, each of
        // which is millions of ticks long, that would be nearly everything.
        while self.n_bins_allowed() < self.n_finest() + ((to.0 >> self.log2) - self.at) {
            self.drop_finest(parents);
        }
        while from < to.0 {
            let bin_end = self.at.saturating_add(1).saturating_mul(1 << self.log2);
            let part_end = to.0.min(bin_end);
            self.open.add(path, Ticks(part_end - from), category);
            from = part_end;
            if part_end < bin_end {
                break;
            }
            let next = self.spare.pop().unwrap_or_default();
            let complete = std::mem::replace(&mut self.open, next);
            self.close(0, self.at, complete, parents);
            self.at += 1;
        }
        self.span.1 = to;
    }

    /// Most bins of the finest level. Until there are more intervals than declared, as many as these are worth, of which
    /// no level is dropped in the end; without a declaration, later intervals may be denser than those so far.
    fn n_bins_allowed(&self) -> u64 {
        let Widths { n_bins_min, n_bins_max, .. } = self.widths;
        let allowed = if self.n_intervals <= self.n_declared {
            (self.n_declared / INTERVALS_PER_BIN).max(n_bins_min)
        } else {
            N_BINS_FIRST.max(2 * n_bins_min) + self.n_intervals
        };
        allowed.min(n_bins_max)
    }

    fn n_finest(&self) -> u64 {
        self.levels.first().map_or(0, |level| level.bins.len() as u64)
    }

    /// A bin is complete: it is stored, and waits or carries.
    fn close(&mut self, level: usize, at: u64, weights: Weights, parents: &Parents) {
        let (mut level, mut at, mut weights) = (level, at, weights);
        loop {
            self.store(level, at, &weights, parents);
            if at.is_multiple_of(2) {
                self.waiting[level] = Some(weights);
                return;
            }
            weights = match self.waiting[level].take() {
                Some(mut left) => {
                    left.append(&weights, parents);
                    weights.clear();
                    self.spare.push(weights);
                    left
                }
                None => weights,
            };
            (level, at) = (level + 1, at / 2);
        }
    }

    fn store(&mut self, level: usize, at: u64, weights: &Weights, parents: &Parents) {
        while self.levels.len() <= level {
            self.levels.push(Level { first: at, bins: Vec::new() });
            self.waiting.push(None);
        }
        let log2 = self.log2 + level as u32;
        let width = 1_u64.checked_shl(log2).unwrap_or(u64::MAX);
        let shares = weights.shares_of(log2);
        let bin = Bin::new(weights.dominant(width, parents, &mut self.ways), shares);
        let level = &mut self.levels[level];
        if level.bins.is_empty() {
            level.first = at;
        }
        level.bins.push(bin);
    }

    fn drop_finest(&mut self, parents: &Parents) {
        if !self.levels.is_empty() {
            self.levels.remove(0);
            if let Some(mut left) = self.waiting.remove(0) {
                left.append(&self.open, parents);
                self.open = left;
            }
        }
        self.log2 += 1;
        self.at /= 2;
    }

    /// The pyramid as it would be if nothing came any more, without levels of more than `n_bins_max` bins.
    pub fn so_far(&self, n_bins_max: usize, parents: &Parents) -> LocationTiles {
        let is_fine = |level: &&Level| n_bins_max < level.bins.len();
        let n_fine = self.levels.iter().take_while(is_fine).count();
        let mut levels = vec![Level::default(); n_fine];
        levels.extend_from_slice(&self.levels[n_fine..]);
        let mut copy = Builder {
            levels,
            waiting: self.waiting.clone(),
            open: self.open.clone(),
            spare: Vec::new(),
            ways: Ways::default(),
            ..*self
        };
        (0..n_fine).for_each(|_| copy.drop_finest(parents));
        copy.finish(parents)
    }

    /// The whole pyramid.
    pub fn finish(mut self, parents: &Parents) -> LocationTiles {
        let open = std::mem::take(&mut self.open);
        if self.span.1.0 > self.at.saturating_mul(1 << self.log2) {
            self.close(0, self.at, open, parents);
        }
        // Left bins without a right one, from fine to coarse, until one bin holds everything from the trace start.
        let mut level = 0;
        while let Some(Level { first, bins }) = self.levels.get(level) {
            let last = first + bins.len() as u64 - 1;
            if let Some(left) = self.waiting[level].take()
                && (0 < last || level + 1 < self.levels.len())
            {
                self.close(level + 1, last / 2, left, parents);
            }
            level += 1;
        }
        let n_wanted = (self.n_intervals / INTERVALS_PER_BIN).max(self.widths.n_bins_min);
        let n_dropped = self.levels.iter().take_while(|level| n_wanted < level.bins.len() as u64).count();
        LocationTiles::new(self.log2 + n_dropped as u32, &self.levels[n_dropped..], self.span)
    }
}
