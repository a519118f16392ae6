//! The first rows of runs with many, before their pass: that begins when the system has told the times and lengths of all
//! files, which takes longer than opening the trace.
//!
//! Law: rows are marked as unfinished, so the pass replaces what is shown of them.

use crate::meta::TILE_ROWS;
use crate::store::TileStore;
use ouzel::model::{CallPathId, Filter, LocationId, RankSet, RegionId};
use ouzel::{Options, Trace};
use ouzel_tiles::{LocationTiles, Sink, Tiles};
use std::sync::Arc;

/// Fewer are there as soon.
const MIN_ROWS: usize = 10_000;
/// Of rows that are read twice. All of them take a core a tenth of a second.
const MAX_EVENTS_OF_ROW: u64 = 1_000_000 / TILE_ROWS as u64;
/// More than a screen has columns.
const N_BINS: u64 = 4096;

/// Hands locations on as if they were not whole.
struct Early(Arc<TileStore>);

impl Sink for Early {
    fn put(&self, location: LocationId, tiles: LocationTiles, paths: &[(CallPathId, CallPathId, RegionId)]) {
        self.0.put_part(location, tiles, paths);
    }
}

/// Whether the run has so many rows that what is there early is shown early.
pub(crate) fn has_many_rows(store: &TileStore) -> bool {
    MIN_ROWS <= store.n_rows()
}

/// Shows those of the first rows that are short, where the run has many.
pub(crate) fn show_first_rows(trace: &Trace, tiles: Tiles, store: &Arc<TileStore>) {
    if !has_many_rows(store) {
        return;
    }
    let definitions = trace.definitions();
    let rows = store.first_rows(TILE_ROWS).into_iter().map(|row| definitions.location(row));
    let short = rows.filter(|row| row.declared_events.is_some_and(|n| n <= MAX_EVENTS_OF_ROW));
    let ranks: Vec<String> = short.filter_map(|row| Some(row.rank?.0.to_string())).collect();
    let Ok(ranks) = ranks.join(",").parse::<RankSet>() else { return };
    let options =
        Options { filter: Filter { ranks: Some(ranks), ..Filter::default() }, ..Options::default() };
    let tiles = tiles.with_bins(N_BINS).into_sink(Arc::new(Early(Arc::clone(store))));
    // What cannot be read, the pass says.
    let _ = trace.ask(tiles, &options);
}
