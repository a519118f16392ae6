//! The tiles of a run as far as its pass has come: rows appear when their locations are read.
//!
//! Law: a call path keeps its number while the server lives; callers have smaller numbers. A row does not change once
//! it is there.

use crate::meta::{TILE_BINS, TILE_ROWS};
use crate::news::News;
use ouzel::model::{CallPathId, CallPathTree, Definitions, LocationId, RegionId, Ticks};
use ouzel_tiles::{Bin, LocationTiles, N_SHARES, Sink};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

/// The number of a bin in which nothing is.
const NOTHING: u32 = u32::MAX;

/// The tiles that are known.
#[derive(Debug)]
pub(crate) struct TileStore {
    inner: RwLock<Inner>,
    /// Row of each location.
    rows: BTreeMap<LocationId, usize>,
    ns_per_tick: f64,
    news: Arc<News>,
}

#[derive(Debug, Default)]
struct Inner {
    tree: CallPathTree,
    /// By row.
    tiles: Vec<Option<LocationTiles>>,
}

/// Everything that a complete pass made.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Saved {
    tree: CallPathTree,
    tiles: Vec<Option<LocationTiles>>,
    notices: Vec<String>,
}

impl Saved {
    /// Whether all numbers lead somewhere in a trace with `definitions`.
    pub fn is_sound(&self, definitions: &Definitions) -> bool {
        let has_regions = (0..self.tree.len()).all(|at| {
            let region = self.tree.region(CallPathId::from_index(at));
            region.is_none_or(|region| region.index() < definitions.regions.len())
        });
        self.tiles.len() <= definitions.locations.len()
            && has_regions
            && self.tiles.iter().flatten().all(|tiles| tiles.is_sound(self.tree.len()))
    }
}

impl TileStore {
    /// No tiles yet of these rows.
    pub fn new(rows: &[LocationId], ns_per_tick: f64, news: Arc<News>) -> Self {
        let tiles = rows.iter().map(|_| None).collect();
        let rows: BTreeMap<LocationId, usize> = rows.iter().enumerate().map(|(row, &id)| (id, row)).collect();
        news.change(|known| {
            known.n_all = rows.len();
            known.bin0_ns = ns_per_tick;
            known.n_call_paths = 1;
        });
        TileStore {
            inner: RwLock::new(Inner { tree: CallPathTree::default(), tiles }),
            rows,
            ns_per_tick,
            news,
        }
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

    /// A tile of level `level` (bins of 2^level ticks) as the page reads it; `None` if there is none.
    pub fn tile(&self, level: u32, tile: u64, block: usize) -> Option<Vec<u8>> {
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        let first_row = block.checked_mul(TILE_ROWS)?;
        let rows = inner.tiles.get(first_row..)?;
        let rows = &rows[..rows.len().min(TILE_ROWS)];
        let first = tile.checked_mul(TILE_BINS as u64)?;
        let is_there = 63 >= level && rows.iter().any(Option::is_some);
        is_there.then(|| {
            let bins = rows.iter().flat_map(|row| {
                (0..TILE_BINS as u64)
                    .map(move |at| row.as_ref().map(|row| row.bin(level, first.saturating_add(at))))
            });
            encoded(rows.len(), TILE_BINS, &bins.collect::<Vec<_>>())
        })
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
        inner.tiles.iter().flatten().map(LocationTiles::finest).min()
    }

    /// From the first enter to the last leave of a location, if it was read.
    pub fn span(&self, location: LocationId) -> Option<(Ticks, Ticks)> {
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        Some(inner.tiles.get(*self.rows.get(&location)?)?.as_ref()?.span())
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

    /// What the pass made, to be kept.
    pub fn saved(&self) -> Saved {
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        let notices = self.news.known().notices;
        Saved { tree: inner.tree.clone(), tiles: inner.tiles.clone(), notices }
    }

    /// Shows what an earlier pass made, all at once.
    pub fn restore(&self, Saved { tree, mut tiles, notices }: Saved) {
        let n_rows = self.rows.len();
        tiles.resize_with(n_rows, || None);
        let end = tiles.iter().flatten().map(|tiles| tiles.span().1).max().unwrap_or_default();
        let n_call_paths = tree.len();
        *self.inner.write().unwrap_or_else(PoisonError::into_inner) = Inner { tree, tiles };
        self.news.change(|known| {
            known.n_done = n_rows;
            known.n_call_paths = n_call_paths;
            known.end_ns = self.end_ns(end);
            known.n_levels = n_levels(end);
            known.notices = notices;
            known.is_complete = true;
        });
    }

    /// Adds a notice.
    pub fn tell(&self, notice: String) {
        self.news.change(|known| known.notices.push(notice));
    }

    fn end_ns(&self, end: Ticks) -> u64 {
        (end.0 as f64 * self.ns_per_tick).ceil() as u64
    }

    /// The pass is over.
    pub fn complete(&self, notices: Vec<String>) {
        self.news.change(|known| {
            known.is_complete = true;
            known.notices.extend(notices);
        });
    }
}

/// Levels of a run until `end`: the coarsest is one tile.
fn n_levels(end: Ticks) -> u32 {
    (0..63).find(|level| end.0 >> level < TILE_BINS as u64).unwrap_or(63) + 1
}

/// `OZT1`, rows, bins, call paths row by row, then a plane of each share.
pub(crate) fn encoded(n_rows: usize, n_bins: usize, bins: &[Option<Bin>]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(8 + bins.len() * (4 + N_SHARES));
    bytes.extend(b"OZT1");
    bytes.extend((n_rows as u16).to_le_bytes());
    bytes.extend((n_bins as u16).to_le_bytes());
    for bin in bins {
        let path = bin.and_then(|bin| bin.call_path).map_or(NOTHING, |path| path.0);
        bytes.extend(path.to_le_bytes());
    }
    for share in 0..N_SHARES {
        bytes.extend(bins.iter().map(|bin| bin.map_or(0, |bin| bin.shares[share])));
    }
    bytes
}

impl Sink for TileStore {
    fn put(&self, location: LocationId, tiles: LocationTiles, paths: &[(CallPathId, CallPathId, RegionId)]) {
        let Some(&row) = self.rows.get(&location) else { return };
        let end = tiles.span().1;
        let tiles = self.renumbered(tiles, paths);
        let n_call_paths = {
            let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
            inner.tiles[row] = Some(tiles);
            inner.tree.len()
        };
        let (n_levels, end_ns) = (n_levels(end), self.end_ns(end));
        self.news.change(|known| {
            known.n_done += 1;
            known.n_call_paths = n_call_paths;
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
        assert_eq!(store.tile(0, 0, 0), None);
        run(&trace, Tiles::new(vec![0; 8].into()).into_sink(store.clone()));
        let known = news.known();
        assert_eq!((known.n_done, known.n_all, known.end_ns, known.n_call_paths), (2, 2, 8, 4));
        let paths = store.call_paths(0);
        assert_eq!(paths[0], (-1, -1));
        assert_eq!(store.call_paths(4), []);
        let tile = store.tile(1, 0, 0).unwrap();
        assert_eq!(tile[..8], *b"OZT1\x02\0\0\x01");
        let id = |row: usize, bin: usize| {
            let at = 8 + 4 * (row * TILE_BINS + bin);
            u32::from_le_bytes(tile[at..at + 4].try_into().unwrap())
        };
        // The first row is location 1, in `b` of its own; the second is in `a`, `a/b`, `a`, `a`.
        let region = |path: u32| paths[path as usize].1;
        assert_eq!((id(0, 0), id(0, 2)), (id(0, 1), NOTHING));
        assert_eq!((id(1, 0), id(1, 4)), (id(1, 3), NOTHING));
        assert_eq!((region(id(1, 1)), paths[id(1, 1) as usize].0), (region(id(0, 0)), i64::from(id(1, 0))));
        let share = |row: usize, bin: usize| tile[8 + 4 * 2 * TILE_BINS + row * TILE_BINS + bin];
        assert_eq!((share(0, 1), share(0, 2), share(1, 3)), (255, 0, 255));
        assert_eq!(tile.len(), 8 + 2 * TILE_BINS * 8);
        assert_eq!((store.tile(1, 0, 1), store.tile(64, 0, 0)), (None, None));
    }
}
