//! The fold: an interval between any two neighbours of enter and leave.

use crate::pyramid::{Builder, LocationTiles, Widths};
use crate::weights::Parents;
use ouzel_engine::{Analysis, AnalysisError, FinishCx, LocationCx, LocationSummary};
use ouzel_model::{
    CallPathId, CallPathTree, EventChunk, EventKind, LocationId, Needs, RegionId, Remap, Ticks,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Takes the tiles of a location as soon as they are complete, on the thread that read it.
pub trait Sink: Send + Sync {
    /// The tiles of a location, and its call paths: each with its caller and region, callers first. Their numbers are
    /// those of this location alone.
    fn put(&self, location: LocationId, tiles: LocationTiles, paths: &[(CallPathId, CallPathId, RegionId)]);

    /// Whether a part of a location is welcome: somebody looks, and has not seen anything new for a while.
    fn wants_part(&self) -> bool {
        false
    }

    /// Coarse levels of a location as far as it is read, and its call paths so far, as in [`put`](Sink::put), which
    /// follows. By default nothing happens.
    fn put_part(
        &self,
        location: LocationId,
        tiles: LocationTiles,
        paths: &[(CallPathId, CallPathId, RegionId)],
    ) {
        let _ = (location, tiles, paths);
    }

    /// A location that runs code has its last event here, which may be none of a call. By default nothing happens.
    fn reach(&self, last: Ticks) {
        let _ = last;
    }
}

/// Bins of the finest level of a part, at most: as many as a screen shows.
const N_BINS_OF_PART: usize = 4096;

/// The tiles of all locations that run code.
#[derive(Clone, Serialize, Deserialize)]
pub struct Tiles {
    /// For each region its category.
    categories: Arc<[u8]>,
    #[serde(skip)]
    sink: Option<Arc<dyn Sink>>,
    widths: Widths,
    /// For each location whether it has tiles, unless all have.
    chosen: Option<Arc<[bool]>>,
}

impl std::fmt::Debug for Tiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tiles").field("has_sink", &self.sink.is_some()).finish_non_exhaustive()
    }
}

impl Tiles {
    /// Tiles with shares by these categories of regions; those of [`N_SHARES`](crate::N_SHARES) and more are the rest.
    pub fn new(categories: Arc<[u8]>) -> Self {
        Tiles { categories, sink: None, widths: Widths::default(), chosen: None }
    }

    /// The same, given to `sink` instead of being the answer.
    #[must_use]
    pub fn into_sink(self, sink: Arc<dyn Sink>) -> Self {
        Tiles { sink: Some(sink), ..self }
    }

    /// The same with so many bins of each location, whatever its number of intervals: for a stretch of time, whose bins
    /// may be finer than what the whole run is worth.
    #[must_use]
    pub fn with_bins(self, n_bins_min: u64) -> Self {
        Tiles { widths: Widths { n_bins_min, ..self.widths }, ..self }
    }

    /// The same of the `chosen` locations alone, with at most so many bins in the finest level of each, so that size and
    /// time do not grow with the events. `length` is that of the run, if it is known: no bins are made that it has no
    /// room for.
    #[must_use]
    pub fn bounded(self, chosen: Arc<[bool]>, n_bins_max: u64, length: Option<Ticks>) -> Self {
        Tiles { widths: Widths::at_most(n_bins_max, length), chosen: Some(chosen), ..self }
    }

    fn category(&self, region: RegionId) -> u8 {
        self.categories.get(region.index()).copied().unwrap_or(u8::MAX)
    }
}

/// While a location is folded.
#[derive(Debug, Default)]
pub struct TilesLocal {
    /// Open calls, each with its category.
    stack: Vec<(CallPathId, u8)>,
    parents: Parents,
    paths: Vec<(CallPathId, CallPathId, RegionId)>,
    n_declared: u64,
    builder: Option<Builder>,
    location: Option<LocationId>,
    is_left_out: bool,
}

/// The tiles of the locations folded so far.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TilesPartial {
    tiles: BTreeMap<LocationId, LocationTiles>,
}

impl Analysis for Tiles {
    type Local = TilesLocal;
    type Partial = TilesPartial;
    type Output = (CallPathTree, BTreeMap<LocationId, LocationTiles>);
    const NAME: &'static str = "tiles";
    const PARTIAL_VERSION: u32 = 1;

    fn needs(&self) -> Needs {
        Needs::CALL_PATHS
    }

    fn empty(&self) -> TilesPartial {
        TilesPartial::default()
    }

    fn begin(&self, cx: &LocationCx<'_>) -> TilesLocal {
        let n_declared = cx.definitions.location(cx.location).declared_events.unwrap_or(0);
        let is_left_out = self.chosen.as_ref().is_some_and(|chosen| !chosen[cx.location.index()]);
        TilesLocal { n_declared, is_left_out, location: Some(cx.location), ..TilesLocal::default() }
    }

    fn fold(&self, local: &mut TilesLocal, chunk: &EventChunk<'_>) {
        let EventChunk { time, kind, region, call_path, .. } = *chunk;
        if local.is_left_out {
            return;
        }
        for row in 0..kind.len() {
            if !matches!(kind[row], EventKind::Enter | EventKind::Leave) {
                continue;
            }
            let (caller, category) = local.stack.last().copied().unwrap_or((CallPathTree::ROOT, u8::MAX));
            let builder =
                local.builder.get_or_insert_with(|| Builder::new(time[row], local.n_declared, self.widths));
            builder.add(time[row], caller, category, &local.parents);
            if kind[row] == EventKind::Leave {
                local.stack.pop();
                continue;
            }
            let path = call_path[row];
            if local.parents.note(path, caller) {
                local.paths.push((path, caller, region[row]));
            }
            local.stack.push((path, self.category(region[row])));
        }
        if let (Some(sink), Some(location), Some(builder)) = (&self.sink, local.location, &local.builder)
            && sink.wants_part()
        {
            sink.put_part(location, builder.so_far(N_BINS_OF_PART, &local.parents), &local.paths);
        }
    }

    fn end(
        &self,
        local: TilesLocal,
        cx: &LocationCx<'_>,
        summary: &LocationSummary,
        into: &mut TilesPartial,
    ) {
        if let (Some(sink), Some((_, last))) = (&self.sink, summary.span)
            && cx.definitions.location(cx.location).kind.runs_code()
        {
            sink.reach(last);
        }
        let TilesLocal { builder, parents, paths, .. } = local;
        let Some(builder) = builder else { return };
        let tiles = builder.finish(&parents);
        match &self.sink {
            Some(sink) => sink.put(cx.location, tiles, &paths),
            None => drop(into.tiles.insert(cx.location, tiles)),
        }
    }

    fn remap(&self, partial: &mut TilesPartial, remap: &Remap) {
        partial.tiles.values_mut().for_each(|tiles| tiles.remap(remap));
    }

    fn merge(&self, into: &mut TilesPartial, mut from: TilesPartial) {
        into.tiles.append(&mut from.tiles);
    }

    fn finish(
        &self,
        partial: TilesPartial,
        cx: &FinishCx<'_>,
    ) -> Result<(CallPathTree, BTreeMap<LocationId, LocationTiles>), AnalysisError> {
        Ok((cx.call_paths.clone(), partial.tiles))
    }
}
