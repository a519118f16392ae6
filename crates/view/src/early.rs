//! The first rows of runs with many, before their pass: that begins when the system has told the times and lengths of all
//! files, which takes longer than opening the trace.
//!
//! Law: rows are marked as unfinished, so the pass replaces what is shown of them.

use crate::meta::TILE_ROWS;
use crate::store::TileStore;
use ouzel::model::{CallPathId, Filter, Location, LocationId, RankSet, RegionId};
use ouzel::{Options, Trace};
use ouzel_tiles::{LocationTiles, Sink, Tiles};
use std::collections::BTreeSet;
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

/// Shows the first rows, without ranks of which one is long.
pub(crate) fn show_first_rows(trace: &Trace, tiles: Tiles, store: &Arc<TileStore>) {
    let definitions = trace.definitions();
    let rows: Vec<_> = store.first_rows(TILE_ROWS).into_iter().map(|row| definitions.location(row)).collect();
    let is_long = |row: &Location| row.declared_events.is_none_or(|n| MAX_EVENTS_OF_ROW < n);
    let long: BTreeSet<_> = rows.iter().filter(|row| is_long(row)).map(|row| row.rank).collect();
    let short = rows.iter().filter(|row| !long.contains(&row.rank));
    let ranks: Vec<String> = short.filter_map(|row| Some(row.rank?.0.to_string())).collect();
    // None of them: an empty list is no set of ranks.
    let Ok(ranks) = ranks.join(",").parse::<RankSet>() else { return };
    let options =
        Options { filter: Filter { ranks: Some(ranks), ..Filter::default() }, ..Options::default() };
    let tiles = tiles.with_bins(N_BINS).into_sink(Arc::new(Early(Arc::clone(store))));
    // What cannot be read, the pass says.
    let _ = trace.ask(tiles, &options);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::news::News;
    use crate::routes::make_tiles;
    use crate::store::Wanted;
    use std::path::Path;

    #[test]
    fn rows_that_are_shown_early_are_unfinished_and_the_pass_replaces_them() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/pmpi-masterio");
        let trace = ouzel::open(Path::new(path)).unwrap();
        let rows: Vec<LocationId> = trace.definitions().location_ids().collect();
        let news = Arc::<News>::default();
        let store = Arc::new(TileStore::new(&rows, 1.0, Arc::clone(&news)));
        show_first_rows(&trace, Tiles::new(vec![0; trace.definitions().regions.len()].into()), &store);
        let known = news.known();
        assert_eq!((known.n_done, known.is_complete), (0, false));
        assert_eq!(known.n_changes_of_blocks, [rows.len()]);
        let unfinished = |level| store.tile(Wanted::whole(level, 0, 0)).unwrap()[8..16].to_vec();
        let all = (1_u64 << rows.len()) - 1;
        assert_eq!(unfinished(known.n_levels - 1), all.to_le_bytes());
        assert!(make_tiles(&trace, &store, &Filter::default()));
        let known = news.known();
        assert_eq!((known.n_done, known.is_complete), (rows.len(), true));
        assert_eq!(unfinished(known.n_levels - 1), [0; 8]);
    }
}
