//! The timeline alone, for a page that says everything else: its tiles are made in the pass of that page.
//!
//! Law: a bin is what the server shows in its place. Levels are whole, from the coarsest to the finest that has room, and
//! the call paths and regions are those that some bin shows.

use crate::assets::Assets;
use crate::file::{DATA, Filling, TileKey, keys};
use crate::meta::{self, Rows, TILE_BINS, TILE_ROWS};
use crate::server::reply::packed;
use crate::store::{Parts, encoded, n_levels};
use flate2::Compression;
use ouzel::Trace;
use ouzel::analyses::semantics::Semantics;
use ouzel::analyses::timeline::Timeline;
use ouzel::engine::{AnalysisError, AnalysisSet, Key, Outputs, Question, SelectionCx};
use ouzel::model::{CallPathId, CallPathTree, Filter, LocationId, RegionId, Ticks};
use ouzel_tiles::{LocationTiles, Tiles};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Bytes of the data in the page around it: three times what a report without has.
const MOST_BYTES: u64 = 300_000;
/// What the shares of a bin take, compressed: they are noise.
const BYTES_OF_SHARES: u64 = 1;
/// Bins of the finest level, all locations together: as many as usually have room. All levels take twice as many, and
/// 16 MB of memory.
const MOST_BINS: u64 = 1 << 19;

/// The rows that the still picture has, in bins whose number does not grow with the run.
#[derive(Debug)]
struct InnerTiles {
    categories: Arc<[u8]>,
}

impl Question for InnerTiles {
    type Analysis = Tiles;
    type Output = (CallPathTree, BTreeMap<LocationId, LocationTiles>);

    fn prepare(self: Arc<Self>, cx: &SelectionCx<'_>) -> Arc<Tiles> {
        let (chosen, _) = Timeline::default().rows(cx);
        let n_rows = chosen.iter().filter(|is_chosen| **is_chosen).count() as u64;
        // A window may end long after the run.
        let length = cx.definitions.clock.declared_length.map(|length| match cx.selection.window {
            Some(window) => Ticks(window.end.min(length).0.saturating_sub(window.start.0)),
            None => length,
        });
        let tiles = Tiles::new(Arc::clone(&self.categories));
        Arc::new(tiles.bounded(chosen.into(), MOST_BINS / n_rows.max(1), length))
    }
}

/// A timeline for another page, before its pass.
#[derive(Debug)]
pub struct InnerTimeline {
    key: Key<InnerTiles>,
    template: String,
}

impl InnerTimeline {
    /// Adds what it is made from to the analyses of a pass; `None` if this program holds no page. `semantics` says what
    /// regions mean.
    pub fn add_to(set: &mut AnalysisSet, trace: &Trace, semantics: &Semantics) -> Option<Self> {
        let template = Assets::new().standalone()?;
        let classes = semantics.classes(trace.definitions());
        let categories = classes.into_iter().map(meta::category).collect();
        Some(InnerTimeline { key: set.add_silent(InnerTiles { categories }), template })
    }

    /// The page of the timeline, compressed with gzip, from the outputs of the pass over what `filter` selects; `None`
    /// if no location runs anything.
    ///
    /// # Errors
    /// If the analysis could not answer.
    pub fn page(
        self,
        trace: &Trace,
        filter: &Filter,
        semantics: &Semantics,
        outputs: &mut Outputs,
    ) -> Result<Option<Vec<u8>>, AnalysisError> {
        let (tree, tiles) = outputs.take(&self.key)?;
        let Some((head, tail)) = self.template.split_once(DATA) else { return Ok(None) };
        let data = Shown::new(trace, &tree, tiles, filter).map(|shown| shown.data(trace, semantics));
        Ok(data.map(|data| {
            let script = format!("<script type=\"application/json\" id=\"ouzel-data\">{data}</script>");
            packed(format!("{head}{script}{tail}").as_bytes(), Compression::default())
        }))
    }
}

/// What the timeline shows.
struct Shown {
    rows: Rows,
    /// By row.
    tiles: Vec<LocationTiles>,
    /// Caller and region of each call path, in the numbers of `tiles`; both are -1 of the root.
    call_paths: Vec<(i64, i64)>,
    regions: BTreeSet<RegionId>,
    time_ns: (u64, u64),
    ns_per_tick: f64,
    n_levels: u32,
}

impl Shown {
    fn new(
        trace: &Trace,
        tree: &CallPathTree,
        mut by_location: BTreeMap<LocationId, LocationTiles>,
        filter: &Filter,
    ) -> Option<Self> {
        let definitions = trace.definitions();
        let start = by_location.values().map(|tiles| tiles.span().0).min()?;
        let end = by_location.values().map(|tiles| tiles.span().1).max()?;
        let mut rows = Rows::new(definitions);
        rows.locations.retain(|location| by_location.contains_key(location));
        let mut tiles: Vec<LocationTiles> =
            rows.locations.iter().filter_map(|location| by_location.remove(location)).collect();
        let (call_paths, regions) = used(tree, &mut tiles);
        let ns = |ticks| definitions.clock.ns_from_ticks(ticks);
        let (from, to) = filter.time_ns.unwrap_or((0, u64::MAX));
        let time_ns = (ns(start).max(from), ns(end).min(to));
        // Ticks are exact for all whole seconds, and so is their length.
        let ns_per_tick = 1e9 / definitions.clock.ticks_per_second as f64;
        let n_levels = n_levels(end);
        (time_ns.0 < time_ns.1).then_some(Shown {
            rows,
            tiles,
            call_paths,
            regions,
            time_ns,
            ns_per_tick,
            n_levels,
        })
    }

    /// The object of all answers that the page needs, as JSON for an element.
    fn data(&self, trace: &Trace, semantics: &Semantics) -> String {
        let time_ns = json!([self.time_ns.0, self.time_ns.1]);
        let tiles = json!({
            "bins": TILE_BINS, "rows": TILE_ROWS, "n_levels": self.n_levels, "bin0_ns": self.ns_per_tick,
        });
        let meta = meta::of_timeline(trace, semantics, &self.rows, &self.regions, (&time_ns, &tiles));
        let mut file = Filling::new(MOST_BYTES, Compression::default());
        // A page without them shows nothing: what they take is not bounded.
        file.put("api/meta", &meta.to_string(), u64::MAX).ok();
        let call_paths = json!({ "call_paths": self.call_paths });
        file.put("api/call-paths?from=0", &call_paths.to_string(), u64::MAX).ok();
        let floor = self.fill(&mut file);
        let n_rows = self.rows.locations.len();
        let of_block = |block: usize| (n_rows - block * TILE_ROWS).min(TILE_ROWS);
        let status = json!({
            "generation": 1,
            "tiles": {
                "done": n_rows, "total": n_rows, "complete": true, "bin0_ns": self.ns_per_tick,
                "n_levels": self.n_levels, "floor": floor, "finest": floor,
                "blocks": (0..n_rows.div_ceil(TILE_ROWS)).map(of_block).collect::<Vec<_>>(),
            },
            "time_ns": time_ns,
            "call_paths_known": self.call_paths.len(),
            "notices": [],
        });
        file.closed(status)
    }

    /// Puts levels in, with shares if there are few; the finest level that is in.
    fn fill(&self, file: &mut Filling) -> u32 {
        let finest = self.tiles.iter().map(LocationTiles::finest).min().unwrap_or(0);
        let ticks = |ns: u64| (ns as f64 / self.ns_per_tick) as u64;
        let range = (ticks(self.time_ns.0), ticks(self.time_ns.1));
        let keys = |level| keys(level, range, self.rows.locations.len());
        let levels = (finest..self.n_levels).rev();
        let n_tiles: usize = levels.clone().map(|level| keys(level).len()).sum();
        let parts = match (n_tiles * TILE_ROWS.min(self.rows.locations.len()) * TILE_BINS) as u64 {
            n_bins if n_bins <= MOST_BYTES / BYTES_OF_SHARES => Parts::PathsAndShares,
            _ => Parts::Paths,
        };
        file.levels(levels, keys, |key| Some(self.tile(key, parts))).unwrap_or(self.n_levels)
    }

    fn tile(&self, (level, tile, block): TileKey, parts: Parts) -> Vec<u8> {
        let rows = self.tiles.chunks(TILE_ROWS).nth(block).unwrap_or_default();
        let first = tile * TILE_BINS as u64;
        let bins = rows.iter().flat_map(|row| row.bins(level, first, TILE_BINS));
        encoded(rows.len(), 0, &bins.collect::<Vec<_>>(), parts)
    }
}

/// The call paths that bins show and their callers, which the bins get as their numbers, and their regions.
fn used(tree: &CallPathTree, tiles: &mut [LocationTiles]) -> (Vec<(i64, i64)>, BTreeSet<RegionId>) {
    let mut is_used = vec![false; tree.len().max(1)];
    is_used[CallPathTree::ROOT.index()] = true;
    for mut path in tiles.iter().flat_map(LocationTiles::call_paths) {
        while !is_used[path.index()] {
            is_used[path.index()] = true;
            path = tree.parent(path);
        }
    }
    let mut new = vec![CallPathTree::ROOT; is_used.len()];
    let (mut call_paths, mut regions) = (Vec::new(), BTreeSet::new());
    // Callers have smaller numbers.
    for at in (0..is_used.len()).filter(|&at| is_used[at]) {
        let path = CallPathId::from_index(at);
        new[at] = CallPathId::from_index(call_paths.len());
        let region = tree.region(path);
        regions.extend(region);
        call_paths.push(
            region.map_or((-1, -1), |region| {
                (i64::from(new[tree.parent(path).index()].0), i64::from(region.0))
            }),
        );
    }
    tiles.iter_mut().for_each(|tiles| tiles.renumber(|path| new[path.index()]));
    (call_paths, regions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes::{Routes, make_tiles, tile_of};
    use crate::run::{Answers, Ask, Refusal, Run};
    use crate::store::Wanted;
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD as BASE64;
    use flate2::read::GzDecoder;
    use ouzel::Options;
    use ouzel::engine::Progress;
    use serde_json::Value;
    use std::io::Read as _;
    use std::path::Path;

    /// Tiles are no questions.
    struct Nobody;

    impl Answers for Nobody {
        fn ask(&self, _: &Ask, _: &Arc<Progress>) -> Result<Vec<u8>, Refusal> {
            Err(Refusal::Question("nobody answers".to_owned()))
        }
    }

    fn example() -> Arc<Trace> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/zoo/halo3d/faulty");
        Arc::new(ouzel::open(&path).unwrap())
    }

    fn data(trace: &Trace, filter: &Filter) -> Value {
        let semantics = Semantics::default();
        let classes = semantics.classes(trace.definitions());
        let mut set = AnalysisSet::default();
        let key = set.add(InnerTiles { categories: classes.into_iter().map(meta::category).collect() });
        let options = Options { filter: filter.clone(), ..Options::default() };
        let (tree, tiles) = trace.run(&set, &options).unwrap().outputs.take(&key).unwrap();
        let shown = Shown::new(trace, &tree, tiles, filter).unwrap();
        serde_json::from_str(&shown.data(trace, &semantics)).unwrap()
    }

    /// Rows, bins, the number of the call path of each bin, and what follows.
    fn decoded(bytes: &[u8]) -> (Vec<u32>, Vec<u8>) {
        let number = |at: usize| usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
        let n = number(4) * number(6);
        let (planes, rest) = bytes[8..].split_at(4 * n);
        let path = |at| u32::from_le_bytes(std::array::from_fn(|plane| planes[plane * n + at]));
        ((0..n).map(path).collect(), rest.to_vec())
    }

    /// Names of the regions of each call path.
    fn names(trace: &Trace, call_paths: &[(i64, i64)]) -> Vec<Vec<String>> {
        let mut all: Vec<Vec<String>> = Vec::new();
        for &(caller, region) in call_paths {
            let mut names = usize::try_from(caller).map_or_else(|_| Vec::new(), |caller| all[caller].clone());
            let region = usize::try_from(region).ok().map(|region| &trace.definitions().regions[region]);
            names.extend(region.map(|region| region.name.to_string()));
            all.push(names);
        }
        all
    }

    #[test]
    fn bins_are_those_of_the_server() {
        let trace = example();
        let data = data(&trace, &Filter::default());
        let here: Vec<(i64, i64)> =
            serde_json::from_value(data["api/call-paths?from=0"]["call_paths"].clone()).unwrap();
        let here = names(&trace, &here);
        let routes = Routes::new(vec![Run::Trace(Arc::clone(&trace))], Arc::new(Nobody));
        let viewed = &routes.runs[0];
        let store = viewed.tiles.as_ref().unwrap();
        assert!(make_tiles(&trace, store, &Filter::default()));
        let there = names(&trace, &store.call_paths(0));
        let (mut n_compared, mut finest) = (0, u32::MAX);
        for (key, tile) in data.as_object().unwrap() {
            let Some(place) = key.strip_prefix("api/tile?") else { continue };
            let numbers: Vec<u64> =
                place.split('&').map(|part| part.split_once('=').unwrap().1.parse().unwrap()).collect();
            let wanted = Wanted::whole(numbers[0] as u32, numbers[1], numbers[2] as usize);
            finest = finest.min(wanted.level);
            let theirs = tile_of(viewed, (&trace, store), wanted, &Progress::default()).unwrap().unwrap();
            let mut bytes = Vec::new();
            let packed = BASE64.decode(tile.as_str().unwrap()).unwrap();
            GzDecoder::new(&*packed).read_to_end(&mut bytes).unwrap();
            let ((mine, shares), (its, its_shares)) = (decoded(&bytes), decoded(&theirs));
            assert_eq!((mine.len(), &shares), (its.len(), &its_shares), "{key}");
            for (mine, its) in mine.into_iter().zip(its) {
                assert_eq!(here.get(mine as usize), there.get(its as usize), "{key}");
                n_compared += 1;
            }
        }
        assert!(20_000 < n_compared, "{n_compared} bins");
        assert_eq!(data["api/status"]["tiles"]["floor"], finest);
    }

    #[test]
    fn only_what_is_selected_and_shown_is_there() {
        let trace = example();
        let filter = Filter {
            ranks: Some("2-3".parse().unwrap()),
            time_ns: Some((100_000_000, 200_000_000)),
            ..Filter::default()
        };
        let (all, part) = (data(&trace, &Filter::default()), data(&trace, &filter));
        assert_eq!(part["api/meta"]["locations"]["rank"], json!([[2, 1], [1, 1]]));
        assert_eq!(part["api/meta"]["time_ns"], json!([100_000_000, 200_000_000]));
        let n = |of: &Value| of["api/meta"]["regions"].as_array().unwrap().len();
        assert!(0 < n(&part) && n(&part) < n(&all), "{} of {} regions", n(&part), n(&all));
        assert!(n(&all) <= trace.definitions().regions.len());
    }
}
