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

/// A bin in which nothing is.
const NOTHING: Bin = Bin { path: NO_PATH, shares: [0; N_SHARES] };

impl Bin {
    /// Bytes of a bin in a file.
    pub const BYTES: usize = 4 + N_SHARES;

    /// A bin that shows a call path.
    pub fn new(call_path: Option<CallPathId>, shares: [u8; N_SHARES]) -> Bin {
        Bin { path: call_path.map_or(NO_PATH, |path| path.0), shares }
    }

    /// The call path; `None`: most of the bin lies before the first call or after the last.
    pub fn call_path(self) -> Option<CallPathId> {
        (self.path != NO_PATH).then_some(CallPathId(self.path))
    }

    /// The bin as it is in a file, low byte first.
    pub fn to_bytes(self) -> [u8; Bin::BYTES] {
        let mut bytes = [0; Bin::BYTES];
        bytes[..4].copy_from_slice(&self.path.to_le_bytes());
        bytes[4..].copy_from_slice(&self.shares);
        bytes
    }

    /// The bin that was written.
    pub fn from_bytes(bytes: [u8; Bin::BYTES]) -> Bin {
        let [a, b, c, d, shares @ ..] = bytes;
        Bin { path: u32::from_le_bytes([a, b, c, d]), shares }
    }
}

/// Bins of one width, without those before the first and after the last that hold anything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Level {
    /// Number of the first bin.
    pub first: u64,
    /// The bins.
    pub bins: Vec<Bin>,
}

/// The pyramid of one location.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocationTiles {
    /// Bins of the finest level have `1 << log2` ticks.
    log2: u32,
    /// The finest first.
    levels: Vec<Level>,
    /// From the first enter to the last leave.
    span: (Ticks, Ticks),
}

impl LocationTiles {
    /// The finest level, as the binary logarithm of its ticks.
    pub fn finest(&self) -> u32 {
        self.log2
    }

    /// From the first enter to the last leave.
    pub fn span(&self) -> (Ticks, Ticks) {
        self.span
    }

    /// The bin `at` of `1 << log2` ticks. Finer ones than the finest show what the finest shows.
    pub fn bin(&self, log2: u32, at: u64) -> Bin {
        if log2 < self.log2 {
            return self.stored(0, at >> (self.log2 - log2).min(63));
        }
        let level = (log2 - self.log2) as usize;
        match self.levels.len().checked_sub(1) {
            None => NOTHING,
            Some(top) if level <= top => self.stored(level, at),
            Some(top) => self.above(top, (level - top) as u32, at),
        }
    }

    fn stored(&self, level: usize, at: u64) -> Bin {
        let Some(level) = self.levels.get(level) else { return NOTHING };
        let place = at.checked_sub(level.first).and_then(|place| usize::try_from(place).ok());
        place.and_then(|place| level.bins.get(place)).copied().unwrap_or(NOTHING)
    }

    /// A bin of which the highest one that is stored is a part, the rest being nobody's.
    fn above(&self, top: usize, more: u32, at: u64) -> Bin {
        if at != 0 {
            return NOTHING;
        }
        let Bin { shares, .. } = self.stored(top, 0);
        let share = |share: u8| {
            u8::try_from((u64::from(share) + (1 << more.min(62)) / 2) >> more.min(62)).unwrap_or(0)
        };
        Bin { path: NO_PATH, shares: shares.map(share) }
    }

    /// Takes away the levels of more than `n_bins_max` bins, the finest first, but not the last one.
    pub fn take_fine(&mut self, n_bins_max: usize) -> Vec<Level> {
        let n_levels = self.levels.len().saturating_sub(1);
        let n_fine = self.levels[..n_levels].iter().take_while(|level| n_bins_max < level.bins.len()).count();
        self.log2 += n_fine as u32;
        let fine = self.levels.drain(..n_fine).collect();
        self.levels.iter_mut().for_each(|level| level.bins.shrink_to_fit());
        self.levels.shrink_to_fit();
        fine
    }

    /// The same with other numbers of call paths.
    pub fn renumber(&mut self, new: impl Fn(CallPathId) -> CallPathId) {
        for bin in self.levels.iter_mut().flat_map(|level| &mut level.bins) {
            *bin = Bin::new(bin.call_path().map(&new), bin.shares);
        }
    }

    pub(crate) fn remap(&mut self, remap: &Remap) {
        self.renumber(|path| remap.path(path));
    }

    /// Whether widths can be, and all call paths are below `n_call_paths`: of tiles from a file.
    pub fn is_sound(&self, n_call_paths: usize) -> bool {
        let bins = || self.levels.iter().flat_map(|level| &level.bins);
        self.log2 as usize + self.levels.len() <= 64
            && self.span.0 <= self.span.1
            && bins().filter_map(|bin| bin.call_path()).all(|path| path.index() < n_call_paths)
    }

    /// The call path of each stored bin.
    pub fn call_paths(&self) -> impl Iterator<Item = CallPathId> {
        self.levels.iter().flat_map(|level| &level.bins).filter_map(|bin| bin.call_path())
    }

    /// Number of stored bins, all levels together.
    pub fn n_bins(&self) -> usize {
        self.levels.iter().map(|level| level.bins.len()).sum()
    }
}

/// A pyramid that grows.
#[derive(Debug)]
pub(crate) struct Builder {
    tiles: LocationTiles,
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
        let tiles = LocationTiles { log2: widths.log2_min, levels: Vec::new(), span: (start, start) };
        let n_declared = n_declared.min(N_DECLARED_MAX);
        Builder {
            tiles,
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
        let mut from = self.tiles.span.1.0;
        if to.0 <= from {
            return;
        }
        self.n_intervals += 1;
        // What would be dropped once the interval is added is not made first: of a location with few intervals, each of
        // which is millions of ticks long, that would be nearly everything.
        while self.n_bins_allowed() < self.n_finest() + ((to.0 >> self.tiles.log2) - self.at) {
            self.drop_finest(parents);
        }
        while from < to.0 {
            let bin_end = self.at.saturating_add(1).saturating_mul(1 << self.tiles.log2);
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
        self.tiles.span.1 = to;
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
        self.tiles.levels.first().map_or(0, |level| level.bins.len() as u64)
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
        while self.tiles.levels.len() <= level {
            self.tiles.levels.push(Level { first: at, bins: Vec::new() });
            self.waiting.push(None);
        }
        let log2 = self.tiles.log2 + level as u32;
        let width = 1_u64.checked_shl(log2).unwrap_or(u64::MAX);
        let shares = weights.shares_of(log2);
        let bin = Bin::new(weights.dominant(width, parents, &mut self.ways), shares);
        let level = &mut self.tiles.levels[level];
        if level.bins.is_empty() {
            level.first = at;
        }
        level.bins.push(bin);
    }

    fn drop_finest(&mut self, parents: &Parents) {
        if !self.tiles.levels.is_empty() {
            self.tiles.levels.remove(0);
            if let Some(mut left) = self.waiting.remove(0) {
                left.append(&self.open, parents);
                self.open = left;
            }
        }
        self.tiles.log2 += 1;
        self.at /= 2;
    }

    /// The pyramid as it would be if nothing came any more, without levels of more than `n_bins_max` bins.
    pub fn so_far(&self, n_bins_max: usize, parents: &Parents) -> LocationTiles {
        let is_fine = |level: &&Level| n_bins_max < level.bins.len();
        let n_fine = self.tiles.levels.iter().take_while(is_fine).count();
        let mut levels = vec![Level::default(); n_fine];
        levels.extend_from_slice(&self.tiles.levels[n_fine..]);
        let mut copy = Builder {
            tiles: LocationTiles { levels, ..self.tiles },
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
        if self.tiles.span.1.0 > self.at.saturating_mul(1 << self.tiles.log2) {
            self.close(0, self.at, open, parents);
        }
        // Left bins without a right one, from fine to coarse, until one bin holds everything from the trace start.
        let mut level = 0;
        while let Some(Level { first, bins }) = self.tiles.levels.get(level) {
            let last = first + bins.len() as u64 - 1;
            if let Some(left) = self.waiting[level].take()
                && (0 < last || level + 1 < self.tiles.levels.len())
            {
                self.close(level + 1, last / 2, left, parents);
            }
            level += 1;
        }
        let mut tiles = self.tiles;
        let n_wanted = (self.n_intervals / INTERVALS_PER_BIN).max(self.widths.n_bins_min);
        let n_dropped = tiles.levels.iter().take_while(|level| n_wanted < level.bins.len() as u64).count();
        tiles.levels.drain(..n_dropped);
        tiles.log2 += n_dropped as u32;
        tiles
    }
}
