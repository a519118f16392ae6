//! Tiles that are finer than what is stored: counted from the events of their stretch of time.
//!
//! Law: a bin is what the pyramid would show if it had the level. Reading takes as long as a pass over the rows up to
//! the end of the stretch, and is cancelled when nobody waits for it.

use crate::meta::{TILE_BINS, TILE_ROWS};
use crate::store::{TileStore, Wanted, encoded};
use ouzel::engine::Progress;
use ouzel::model::{CallPathId, CallPathTree, Filter, LocationId, RankSet, RegionId, Ticks};
use ouzel::{Options, Trace};
use ouzel_tiles::{Bin, LocationTiles, Sink, Tiles};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Bins that are kept of a stretch for each of a tile: there are borders between two nanoseconds.
const BINS_PER_BIN: u64 = 4;

/// Takes the locations of a stretch, with the call paths of the run.
struct Stretch {
    store: Arc<TileStore>,
    rows: Mutex<BTreeMap<LocationId, LocationTiles>>,
}

impl Sink for Stretch {
    fn put(&self, location: LocationId, tiles: LocationTiles, paths: &[(CallPathId, CallPathId, RegionId)]) {
        let tiles = self.store.renumbered(tiles, paths);
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).insert(location, tiles);
    }
}

/// Tiles like [`TileStore::tile`], counted from events: the one that is wanted and those after it, `n_tiles` in all;
/// `rows` are the locations of their block. What they take is one pass over their rows, however many they are.
///
/// # Errors
/// Why the events cannot be read, for people.
pub(crate) fn tiles(
    (trace, tiles, store): (&Trace, Tiles, &Arc<TileStore>),
    rows: &[LocationId],
    Wanted { level, tile, parts, known, .. }: Wanted,
    n_tiles: u64,
    progress: &Progress,
) -> Result<Vec<Vec<u8>>, String> {
    let definitions = trace.definitions();
    let first = tile.saturating_mul(TILE_BINS as u64);
    let n_bins = n_tiles.saturating_mul(TILE_BINS as u64);
    let tick = |bin: u64| Ticks(u64::try_from(u128::from(bin) << level.min(63)).unwrap_or(u64::MAX));
    let ns = |bin: u64| definitions.clock.ns_from_ticks(tick(bin));
    let stretch = (ns(first).saturating_sub(1), ns(first.saturating_add(n_bins)).saturating_add(1));
    let ranks: Option<Vec<String>> =
        rows.iter().map(|&id| definitions.location(id).rank.map(|rank| rank.0.to_string())).collect();
    // Locations without a rank are selected with all others.
    let ranks = ranks.and_then(|ranks| ranks.join(",").parse::<RankSet>().ok());
    let filter = Filter { time_ns: Some(stretch), ranks, ..Filter::default() };
    let sink = Arc::new(Stretch { store: Arc::clone(store), rows: Mutex::default() });
    let tiles = tiles.with_bins(n_bins.saturating_mul(BINS_PER_BIN)).into_sink(Arc::clone(&sink) as Arc<_>);
    let options = Options { filter, progress: Some(progress), ..Options::default() };
    trace.ask(tiles, &options).map_err(|error| error.to_string())?;
    let found = sink.rows.lock().unwrap_or_else(PoisonError::into_inner);
    let is_running = |(start, end): (Ticks, Ticks), at: u64| start <= tick(at) && tick(at + 1) <= end;
    let row = |id: &LocationId, first: u64| -> Vec<Bin> {
        let bins = found.get(id).map(|row| row.bins(level, first, TILE_BINS));
        let mut bins = bins.unwrap_or_else(|| vec![Bin::NOTHING; TILE_BINS]);
        let Some(span) = store.span(*id) else { return bins };
        for (bin, at) in bins.iter_mut().zip(first..) {
            // Between calls: the whole run knows that there are some before and after.
            if bin.call_path().is_none() && is_running(span, at) {
                *bin = Bin::new(Some(CallPathTree::ROOT), bin.shares);
            }
        }
        bins
    };
    let one = |number: u64| {
        let first = first.saturating_add(number * TILE_BINS as u64);
        let bins = rows.iter().take(TILE_ROWS).enumerate().flat_map(|(at, id)| match known >> at & 1 {
            0 => row(id, first),
            _ => vec![Bin::NOTHING; TILE_BINS],
        });
        encoded(rows.len().min(TILE_ROWS), 0, &bins.collect::<Vec<_>>(), parts)
    };
    Ok((0..n_tiles).map(one).collect())
}
