//! The tiles of a run as far as its pass has come: rows appear when their locations are read.
//!
//! Law: a call path keeps its number while the server lives; callers have smaller numbers. A row does not change once
//! it is whole; one whose location takes long is there before, as far as it is read, and marked as unfinished. Levels
//! of many bins are in a file, so that memory does not grow with the events.

use crate::fine::{FineFile, FineRow};
use crate::meta::{TILE_BINS, TILE_ROWS};
use crate::news::{Known, News};
use ouzel::model::{CallPathId, CallPathTree, Definitions, LocationId, RegionId, Ticks};
use ouzel_tiles::{Bin, LocationTiles, N_SHARES, Sink};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// The number of a bin in which nothing is.
const NOTHING: u32 = u32::MAX;

/// Bytes before the planes of a tile.
pub(crate) const TILE_HEADER_BYTES: usize = 16;

/// Memory for the coarse levels of all rows.
const MEMORY_BYTES: usize = 24 << 20;
/// Bins of the finest level of a row in memory: fewer are smaller than what says where the others are, more show nothing
/// on a screen.
const N_BINS_IN_MEMORY: std::ops::RangeInclusive<u64> = 8..=4096;

/// Unfinished rows are shown when nothing new has come for so long: a page asks no more often.
const PATIENCE: Duration = Duration::from_millis(150);

/// Which tile, and what of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Bins of 2^level ticks.
    pub level: u32,
    /// Its number along time.
    pub tile: u64,
    /// Its block of rows.
    pub block: usize,
    pub parts: Parts,
    /// Rows of the block that the asker has, the first one in the lowest bit: they come empty.
    pub known: u64,
}

/// What each bin of a tile has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parts {
    /// All that a picture needs.
    Paths,
    /// With the shares of categories, ten times as much on the wire: for who points at a bin.
    PathsAndShares,
}

impl Wanted {
    /// Everything of a tile.
    pub fn whole(level: u32, tile: u64, block: usize) -> Wanted {
        Wanted { level, tile, block, parts: Parts::PathsAndShares, known: 0 }
    }
}

/// The tiles that are known.
#[derive(Debug)]
pub(crate) struct TileStore {
    inner: RwLock<Inner>,
    fine: RwLock<Fine>,
    n_bins_max: u64,
    /// When a row last changed.
    changed: Mutex<Instant>,
    /// The end of the run that the trace declares.
    declared_end: Option<Ticks>,
    /// Row of each location.
    rows: BTreeMap<LocationId, usize>,
    ns_per_tick: f64,
    news: Arc<News>,
}

/// Where fine levels are.
#[derive(Debug, Clone, Default)]
enum Fine {
    /// Nothing fine was there yet.
    #[default]
    Nowhere,
    File(Arc<FineFile>),
    /// There is no room for them.
    NoRoom,
}

#[derive(Debug, Default)]
struct Inner {
    tree: CallPathTree,
    /// By row.
    tiles: Vec<Option<Row>>,
    /// Rows that are there in part.
    unfinished: BTreeSet<usize>,
    /// The last event so far.
    end: Ticks,
}

/// The pyramid of a location.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Row {
    /// Levels that are in the file.
    fine: Option<FineRow>,
    /// All levels above.
    coarse: LocationTiles,
}

impl Row {
    fn finest(&self) -> u32 {
        self.fine.as_ref().map_or(self.coarse.finest(), FineRow::finest)
    }
}

/// Everything that a complete pass made, but for what is in the file of fine levels.
#[derive(Debug, Deserialize)]
pub(crate) struct Saved {
    tree: CallPathTree,
    tiles: Vec<Option<Row>>,
    /// The last event of the run.
    end: Ticks,
    notices: Vec<String>,
}

impl Saved {
    /// Whether all numbers lead somewhere in a trace with `definitions`, and in a file of fine levels of `n_bytes`.
    pub fn is_sound(&self, definitions: &Definitions, n_bytes: u64) -> bool {
        let has_regions = (0..self.tree.len()).all(|at| {
            let region = self.tree.region(CallPathId::from_index(at));
            region.is_none_or(|region| region.index() < definitions.regions.len())
        });
        self.tiles.len() <= definitions.locations.len()
            && has_regions
            && self.tiles.iter().flatten().all(|row| {
                row.coarse.is_sound(self.tree.len())
                    && row.fine.as_ref().is_none_or(|fine| fine.is_sound(n_bytes))
            })
    }
}

impl TileStore {
    /// No tiles yet of these rows.
    pub fn new(rows: &[LocationId], ns_per_tick: f64, news: Arc<News>) -> Self {
        let tiles = rows.iter().map(|_| None).collect();
        let rows: BTreeMap<LocationId, usize> = rows.iter().enumerate().map(|(row, &id)| (id, row)).collect();
        news.change(|known| {
            known.n_all = rows.len();
            known.n_changes_of_blocks = vec![0; rows.len().div_ceil(TILE_ROWS)];
            known.bin0_ns = ns_per_tick;
            known.n_call_paths = 1;
        });
        let n_bins = (MEMORY_BYTES / (2 * size_of::<Bin>() * rows.len().max(1))) as u64;
        let n_bins_max = n_bins.clamp(*N_BINS_IN_MEMORY.start(), *N_BINS_IN_MEMORY.end());
        TileStore {
            inner: RwLock::new(Inner { tiles, ..Inner::default() }),
            fine: RwLock::default(),
            n_bins_max,
            changed: Mutex::new(now()),
            declared_end: None,
            rows,
            ns_per_tick,
            news,
        }
    }

    /// The same of a trace that declares its end. Parts of rows are shown as parts of the whole then.
    #[must_use]
    pub fn ending_at(self, declared_end: Option<Ticks>) -> Self {
        TileStore { declared_end, ..self }
    }

    /// Keeps fine levels in `file`, not in a temporary one, from the first row on.
    pub fn keep_fine_in(&self, file: FineFile) {
        *self.fine.write().unwrap_or_else(PoisonError::into_inner) = Fine::File(Arc::new(file));
    }

    /// The file of fine levels, if there is one.
    pub fn fine(&self) -> Option<Arc<FineFile>> {
        match &*self.fine.read().unwrap_or_else(PoisonError::into_inner) {
            Fine::File(file) => Some(Arc::clone(file)),
            Fine::Nowhere | Fine::NoRoom => None,
        }
    }

    /// The same; a temporary one if there was none yet.
    fn fine_or_temporary(&self) -> Option<Arc<FineFile>> {
        let mut fine = self.fine.write().unwrap_or_else(PoisonError::into_inner);
        if let Fine::Nowhere = &*fine {
            *fine = match FineFile::temporary() {
                Ok(file) => Fine::File(Arc::new(file)),
                Err(error) => {
                    self.no_fine_levels(&error);
                    Fine::NoRoom
                }
            };
        }
        drop(fine);
        self.fine()
    }

    /// Only some levels of the run may be in memory; of the others, the finest that is there represents them.
    #[cfg(test)]
    pub fn with_bins_in_memory(self, n_bins_max: u64) -> Self {
        TileStore { n_bins_max, ..self }
    }

    /// How many rows there are.
    pub fn n_rows(&self) -> usize {
        self.rows.len()
    }

    /// The locations of the first `n` rows.
    pub fn first_rows(&self, n: usize) -> Vec<LocationId> {
        self.rows.iter().filter(|&(_, &row)| row < n).map(|(&location, _)| location).collect()
    }

    /// The call paths from number `from` on: caller, `-1` of the root, and region, `-1` of the root.
    pub fn call_paths(&self, from: usize) -> Vec<(i64, i64)> {
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        let entry = |at: usize| {
            let path = CallPathId::from_index(at);
            match inner.tree.region(path) {
                Some(region) => (i64::from(inner.tree.parent(path).0), i64::from(region.0)),
                None => (-1, -1),
            }
        };
        (from.min(inner.tree.len())..inner.tree.len()).map(entry).collect()
    }

    /// A tile as the page reads it; `None` if there is none.
    pub fn tile(&self, wanted: Wanted) -> Option<Vec<u8>> {
        let Wanted { level, tile, block, parts, known } = wanted;
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        let first_row = block.checked_mul(TILE_ROWS)?;
        let rows = inner.tiles.get(first_row..)?;
        let rows = &rows[..rows.len().min(TILE_ROWS)];
        let first = tile.checked_mul(TILE_BINS as u64)?;
        let is_there = 63 >= level && rows.iter().any(Option::is_some);
        is_there.then(|| {
            let bins = rows.iter().enumerate().flat_map(|(at, row)| match row {
                Some(row) if known >> at & 1 == 0 => self.bins(row, level, first),
                _ => vec![Bin::NOTHING; TILE_BINS],
            });
            let unfinished = inner.unfinished.range(first_row..first_row + TILE_ROWS);
            let unfinished = unfinished.fold(0, |bits, row| bits | 1 << (row - first_row));
            encoded(rows.len(), unfinished, &bins.collect::<Vec<_>>(), parts)
        })
    }

    /// The bins of a row from `first` on; a level that cannot be read looks like the finest one in memory.
    fn bins(&self, row: &Row, level: u32, first: u64) -> Vec<Bin> {
        // Finer ones than the finest show what the finest shows.
        let stored = level.max(row.finest());
        if let (Some(fine), Some(file)) = (&row.fine, self.fine())
            && stored < row.coarse.finest()
        {
            let down = (stored - level).min(63);
            let n = (TILE_BINS >> down.min(TILE_BINS.ilog2())) + 1;
            match file.read(fine, stored, first >> down, n) {
                Ok(bins) => {
                    let at = |bin: u64| bins[((bin >> down) - (first >> down)) as usize];
                    return (first..first.saturating_add(TILE_BINS as u64)).map(at).collect();
                }
                Err(error) => self.no_fine_levels(&error),
            }
        }
        row.coarse.bins(level, first, TILE_BINS)
    }

    /// Says, once, that fine levels are not to be had.
    fn no_fine_levels(&self, error: &io::Error) {
        const WHAT: &str = "the fine levels of the timeline cannot be kept or read";
        self.news.change(|known| {
            if !known.notices.iter().any(|notice| notice.starts_with(WHAT)) {
                known.notices.push(format!("{WHAT}: {error}"));
            }
        });
    }

    /// Puts the fine levels of a row into the file. What cannot be written is counted from events when it is shown.
    fn row(&self, mut tiles: LocationTiles) -> Row {
        let (shape, n_fine, bins) = tiles.take_fine(self.n_bins_max);
        if n_fine == 0 {
            return Row { fine: None, coarse: tiles };
        }
        let fine = self.fine_or_temporary().and_then(|file| match file.append(shape, n_fine, &bins) {
            Ok(fine) => Some(fine),
            Err(error) => {
                self.no_fine_levels(&error);
                None
            }
        });
        Row { fine, coarse: tiles }
    }

    /// Whether a row of the block has finer events than bins of this level show.
    pub fn is_coarse(&self, level: u32, block: usize) -> bool {
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        let rows =
            block.checked_mul(TILE_ROWS).and_then(|first| inner.tiles.get(first..)).unwrap_or_default();
        rows.iter().take(TILE_ROWS).flatten().any(|row| level < row.finest())
    }

    /// The finest level that any row has; `None` without rows.
    pub fn finest(&self) -> Option<u32> {
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        inner.tiles.iter().flatten().map(Row::finest).min()
    }

    /// From the first enter to the last leave of a location, if it was read.
    pub fn span(&self, location: LocationId) -> Option<(Ticks, Ticks)> {
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        Some(inner.tiles.get(*self.rows.get(&location)?)?.as_ref()?.coarse.span())
    }

    /// Tiles with the call paths of the run in place of those of their location.
    pub fn renumbered(
        &self,
        mut tiles: LocationTiles,
        paths: &[(CallPathId, CallPathId, RegionId)],
    ) -> LocationTiles {
        let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        let mut new = BTreeMap::from([(CallPathTree::ROOT, CallPathTree::ROOT)]);
        for &(path, parent, region) in paths {
            let parent = new.get(&parent).copied().unwrap_or(CallPathTree::ROOT);
            new.insert(path, inner.tree.child(parent, region));
        }
        tiles.renumber(|path| new.get(&path).copied().unwrap_or(CallPathTree::ROOT));
        tiles
    }

    /// Writes what the pass made, as [`Saved`] is read. Rows are copied block by block: all at once would be most of the
    /// server's memory, and nobody else could have a tile until all were written.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn save<W: io::Write>(&self, writer: W) -> io::Result<W> {
        let inner = || self.inner.read().unwrap_or_else(PoisonError::into_inner);
        let (tree, n_rows, end) = {
            let inner = inner();
            (inner.tree.clone(), inner.tiles.len(), inner.end)
        };
        let mut writer = append(&n_rows, append(&tree, writer)?)?;
        for first in (0..n_rows).step_by(TILE_ROWS) {
            let block = inner().tiles[first..n_rows.min(first + TILE_ROWS)].to_vec();
            for row in &block {
                writer = append(row, writer)?;
            }
        }
        append(&self.news.known().notices, append(&end, writer)?)
    }

    /// Shows what an earlier pass made, all at once, until that is [confirmed](Self::confirm) or
    /// [taken back](Self::take_back).
    pub fn restore(&self, Saved { tree, mut tiles, end, notices }: Saved, fine: FineFile) {
        self.keep_fine_in(fine);
        let n_rows = self.rows.len();
        tiles.resize_with(n_rows, || None);
        let last = tiles.iter().flatten().map(|row| row.coarse.span().1).max().unwrap_or_default();
        let end = end.max(last);
        let n_call_paths = tree.len();
        let finest_of_all = tiles.iter().flatten().map(Row::finest).max().unwrap_or(0);
        *self.inner.write().unwrap_or_else(PoisonError::into_inner) =
            Inner { tree, tiles, unfinished: BTreeSet::new(), end };
        self.news.change(|known| {
            known.n_done = n_rows;
            known.n_changes_of_blocks.iter_mut().for_each(|n| *n += 1);
            known.n_call_paths = n_call_paths;
            known.end_ns = self.end_ns(end);
            known.n_levels = n_levels(end);
            known.finest_of_all = finest_of_all;
            known.notices = notices;
        });
    }

    /// What was restored is that of the trace as it is.
    pub fn confirm(&self) {
        self.news.change(|known| known.is_complete = true);
    }

    /// What was restored is that of the trace as it was: no row is known. Call paths keep their numbers.
    pub fn take_back(&self) {
        let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        inner.tiles.iter_mut().for_each(|row| *row = None);
        inner.end = Ticks::default();
        drop(inner);
        *self.fine.write().unwrap_or_else(PoisonError::into_inner) = Fine::Nowhere;
        self.news.change(|known| {
            known.n_taken_back += 1;
            known.n_done = 0;
            known.n_changes_of_blocks.iter_mut().for_each(|n| *n += 1);
            (known.end_ns, known.n_levels, known.finest_of_all) = (0, 0, 0);
            known.notices.clear();
        });
    }

    /// Says that a row shows more, of a run until `end`.
    fn row_changed(&self, row: usize, n_call_paths: usize, end: Ticks, more: impl FnOnce(&mut Known)) {
        *self.changed.lock().unwrap_or_else(PoisonError::into_inner) = now();
        let (n_levels, end_ns) = (n_levels(end), self.end_ns(end));
        self.news.change(|known| {
            if let Some(of_block) = known.n_changes_of_blocks.get_mut(row / TILE_ROWS) {
                *of_block += 1;
            }
            known.n_call_paths = n_call_paths;
            known.end_ns = known.end_ns.max(end_ns);
            known.n_levels = known.n_levels.max(n_levels);
            more(known);
        });
    }

    /// Adds a notice.
    pub fn tell(&self, notice: String) {
        self.news.change(|known| known.notices.push(notice));
    }

    fn end_ns(&self, end: Ticks) -> u64 {
        (end.0 as f64 * self.ns_per_tick).ceil() as u64
    }

    /// The pass is over. The end is that of the last event now, whatever the trace declares.
    pub fn complete(&self, notices: Vec<String>) {
        let end = self.inner.read().unwrap_or_else(PoisonError::into_inner).end;
        self.news.change(|known| {
            known.is_complete = true;
            known.end_ns = self.end_ns(end);
            known.n_levels = n_levels(end);
            known.notices.extend(notices);
        });
    }
}

#[expect(clippy::disallowed_methods, reason = "when something is shown is no result")]
fn now() -> Instant {
    Instant::now()
}

/// Fields of a struct, and a vector's length and elements, follow each other without anything between them. Not written
/// by `postcard::to_io`, which flushes: what is compressed would be as many pieces as there are values.
fn append<W: io::Write>(value: &impl Serialize, mut writer: W) -> io::Result<W> {
    writer.write_all(&postcard::to_allocvec(value).map_err(io::Error::other)?)?;
    Ok(writer)
}

/// Levels of a run until `end`: the coarsest is one tile.
pub(crate) fn n_levels(end: Ticks) -> u32 {
    (0..63).find(|level| end.0 >> level < TILE_BINS as u64).unwrap_or(63) + 1
}

/// `OZT3`, rows, bins, a bit of each row that is not finished, the first row in the lowest, a plane of each byte of call
/// paths, the lowest first, then a plane of each share, if wanted. Planes of higher bytes have hardly more than one
/// value: compressed, they take nothing.
pub(crate) fn encoded(n_rows: usize, unfinished: u64, bins: &[Bin], parts: Parts) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(TILE_HEADER_BYTES + bins.len() * (4 + N_SHARES));
    bytes.extend(b"OZT3");
    bytes.extend((n_rows as u16).to_le_bytes());
    bytes.extend((TILE_BINS as u16).to_le_bytes());
    bytes.extend(unfinished.to_le_bytes());
    let path = |bin: &Bin| bin.call_path().map_or(NOTHING, |path| path.0).to_le_bytes();
    for at in 0..size_of::<u32>() {
        bytes.extend(bins.iter().map(|bin| path(bin)[at]));
    }
    if parts == Parts::PathsAndShares {
        for share in 0..N_SHARES {
            bytes.extend(bins.iter().map(|bin| bin.shares[share]));
        }
    }
    bytes
}

impl Sink for TileStore {
    fn put(&self, location: LocationId, tiles: LocationTiles, paths: &[(CallPathId, CallPathId, RegionId)]) {
        let Some(&row) = self.rows.get(&location) else { return };
        let end = tiles.span().1;
        let tiles = self.row(self.renumbered(tiles, paths));
        let finest = tiles.finest();
        let n_call_paths = {
            let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
            inner.tiles[row] = Some(tiles);
            inner.unfinished.remove(&row);
            inner.end = inner.end.max(end);
            inner.tree.len()
        };
        self.row_changed(row, n_call_paths, end, |known| {
            known.n_done += 1;
            known.finest_of_all = known.finest_of_all.max(finest);
        });
    }

    fn wants_part(&self) -> bool {
        PATIENCE < self.changed.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }

    fn put_part(
        &self,
        location: LocationId,
        tiles: LocationTiles,
        paths: &[(CallPathId, CallPathId, RegionId)],
    ) {
        let Some(&row) = self.rows.get(&location) else { return };
        let last = tiles.span().1;
        let end = self.declared_end.unwrap_or_default().max(last);
        let coarse = self.renumbered(tiles, paths);
        let n_call_paths = {
            let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
            inner.tiles[row] = Some(Row { fine: None, coarse });
            inner.unfinished.insert(row);
            inner.end = inner.end.max(last);
            inner.tree.len()
        };
        self.row_changed(row, n_call_paths, end, |_| {});
    }

    fn reach(&self, last: Ticks) {
        let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        if last <= inner.end {
            return;
        }
        inner.end = last;
        drop(inner);
        let (n_levels, end_ns) = (n_levels(last), self.end_ns(last));
        self.news.change(|known| {
            known.end_ns = known.end_ns.max(end_ns);
            known.n_levels = known.n_levels.max(n_levels);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ouzel_testkit::{ToyTrace, run};
    use ouzel_tiles::Tiles;

    #[test]
    fn a_tile_has_the_bins_of_its_rows() {
        let trace = ToyTrace::new("0: enter a @0, enter b @2, leave @4, leave @8\n1: enter b @0, leave @4");
        let news = Arc::<News>::default();
        let store = Arc::new(TileStore::new(&[LocationId(1), LocationId(0)], 1.0, Arc::clone(&news)));
        assert_eq!(store.tile(Wanted::whole(0, 0, 0)), None);
        run(&trace, Tiles::new(vec![0; 8].into()).into_sink(store.clone()));
        let known = news.known();
        assert_eq!((known.n_done, known.n_all, known.end_ns, known.n_call_paths), (2, 2, 8, 4));
        let paths = store.call_paths(0);
        assert_eq!(paths[0], (-1, -1));
        assert_eq!(store.call_paths(4), []);
        let tile = store.tile(Wanted::whole(1, 0, 0)).unwrap();
        assert_eq!(tile[..16], *b"OZT3\x02\0\0\x01\0\0\0\0\0\0\0\0");
        let id = |row: usize, bin: usize| {
            let at = TILE_HEADER_BYTES + row * TILE_BINS + bin;
            u32::from_le_bytes([0, 1, 2, 3].map(|byte| tile[at + byte * 2 * TILE_BINS]))
        };
        // The first row is location 1, in `b` of its own; the second is in `a`, `a/b`, `a`, `a`.
        let region = |path: u32| paths[path as usize].1;
        assert_eq!((id(0, 0), id(0, 2)), (id(0, 1), NOTHING));
        assert_eq!((id(1, 0), id(1, 4)), (id(1, 3), NOTHING));
        assert_eq!((region(id(1, 1)), paths[id(1, 1) as usize].0), (region(id(0, 0)), i64::from(id(1, 0))));
        let share =
            |row: usize, bin: usize| tile[TILE_HEADER_BYTES + 4 * 2 * TILE_BINS + row * TILE_BINS + bin];
        assert_eq!((share(0, 1), share(0, 2), share(1, 3)), (255, 0, 255));
        assert_eq!(tile.len(), TILE_HEADER_BYTES + 2 * TILE_BINS * 8);
        let of = |level, block| store.tile(Wanted::whole(level, 0, block));
        assert_eq!((of(1, 1), of(64, 0)), (None, None));
        // Less is the same without shares, and rows that the asker has are nothing.
        let less = Wanted { parts: Parts::Paths, ..Wanted::whole(1, 0, 0) };
        assert_eq!(store.tile(less).unwrap(), tile[..TILE_HEADER_BYTES + 2 * TILE_BINS * 4]);
        let second = store.tile(Wanted { known: 1, ..less }).unwrap();
        let (plane, paths) = (2 * TILE_BINS, &tile[TILE_HEADER_BYTES..]);
        for at in 0..4 * plane {
            let expected = if at % plane < TILE_BINS { 0xff } else { paths[at] };
            assert_eq!(second[TILE_HEADER_BYTES + at], expected, "{at}");
        }
    }

    #[test]
    fn a_location_that_takes_long_is_shown_before_it_is_whole() {
        let location = LocationId(0);
        let trace = ToyTrace::new("0: enter a @0, leave @8");
        let (tree, mut all) = run(&trace, Tiles::new(vec![0; 8].into()));
        let tiles = all.remove(&location).unwrap();
        let path = |path: CallPathId| Some((path, tree.parent(path), tree.region(path)?));
        let paths: Vec<_> = tree.paths().filter_map(path).collect();
        let news = Arc::<News>::default();
        let store = TileStore::new(&[location], 1.0, Arc::clone(&news)).ending_at(Some(Ticks(100)));
        assert!(!store.wants_part());
        let header = || store.tile(Wanted::whole(0, 0, 0)).unwrap()[8..TILE_HEADER_BYTES].to_vec();
        store.put_part(location, tiles.clone(), &paths);
        let known = news.known();
        assert_eq!((known.n_done, known.end_ns, &known.n_changes_of_blocks[..]), (0, 100, &[1][..]));
        assert_eq!(header(), 1_u64.to_le_bytes());
        store.put(location, tiles, &paths);
        let known = news.known();
        assert_eq!((known.n_done, known.end_ns, &known.n_changes_of_blocks[..]), (1, 100, &[2][..]));
        assert_eq!(header(), [0; 8]);
        store.complete(Vec::new());
        assert_eq!((news.known().end_ns, news.known().n_levels), (8, 1));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_costs_fine_levels_and_is_said_once() {
        let calls: String =
            (1..2000).map(|at| format!(", enter a @{}, leave @{}", 2 * at, 2 * at + 1)).collect();
        let trace = ToyTrace::new(&format!("0: enter main @0{calls}, leave @4000"));
        let news = Arc::<News>::default();
        let store = TileStore::new(&[LocationId(0)], 1.0, Arc::clone(&news)).with_bins_in_memory(64);
        let store = Arc::new(store);
        let full = std::fs::File::options().read(true).write(true).open("/dev/full").unwrap();
        store.keep_fine_in(FineFile::new(full, 0));
        run(&trace, Tiles::new(vec![0; 8].into()).into_sink(store.clone()));
        let known = news.known();
        assert_eq!(known.n_done, 1);
        assert_eq!(known.notices.len(), 1, "{:?}", known.notices);
        assert!(known.notices[0].contains("cannot be kept or read"), "{:?}", known.notices);
        // What is left is coarse, so finer tiles are counted from the events.
        assert!(store.is_coarse(3, 0) && !store.is_coarse(6, 0));
        assert!(store.tile(Wanted::whole(6, 0, 0)).is_some());
        assert_eq!(known.finest_of_all, 6);
    }
}
