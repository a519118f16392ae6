//! What each path of questions below the token answers.

use crate::cache::{Kept, TileCache};
use crate::early;
use crate::exact;
use crate::kept::KeptAnswers;
use crate::messages;
use crate::meta::{self, Rows};
use crate::news::{Known, News};
use crate::priority::{behind_others, done_behind_others};
use crate::query::Query;
use crate::run::{Answers, Ask, Refusal, Run};
use crate::server::reply::{PACKED_INSIDE, Reply, packed};
use crate::store::{Parts, TileStore, Wanted};
use flate2::Compression;
use hyper::StatusCode;
use hyper::body::Bytes;
use ouzel::analyses::semantics::Semantics;
use ouzel::engine::Progress;
use ouzel::model::Filter;
use ouzel::{Options, Trace};
use ouzel_tiles::Tiles;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// More messages than these are no arrows: nobody could tell them apart.
pub(crate) const MAX_ARROWS: u64 = 2000;

/// Most tiles of one answer: those of a screen come in two or three, which different threads make.
const MAX_TILES_AT_ONCE: usize = 16;

/// Tiles that are counted from events in one pass: those of a screen, or half of them.
const COUNTED_TOGETHER: u64 = 8;

/// Most bytes of answers that are kept: some hundred of the usual size.
const ANSWERS_BYTES: usize = 64 << 20;
/// Most bytes of compressed tiles that are kept: thousands of them.
const TILES_BYTES: usize = 16 << 20;

/// A request that was admitted.
#[derive(Debug)]
pub(crate) struct Request {
    /// Below the token.
    pub path: String,
    /// Behind `?`.
    pub query: String,
    /// What was posted.
    pub body: Bytes,
}

/// One run, and what the page sees of it.
pub(crate) struct Viewed {
    pub run: Run,
    pub rows: Rows,
    pub news: Arc<News>,
    /// Those of a trace.
    pub tiles: Option<Arc<TileStore>>,
}

/// Everything that answers are made from.
pub(crate) struct Routes {
    pub runs: Vec<Viewed>,
    pub answers: Arc<dyn Answers>,
    /// By their questions.
    asked: KeptAnswers,
    /// Compressed tiles, by where they are, once they do not change any more.
    tiles: KeptAnswers,
}

impl Routes {
    pub fn new(runs: Vec<Run>, answers: Arc<dyn Answers>) -> Self {
        Routes::selecting(runs, answers, &Filter::default())
    }

    /// Rows of the ranks that `filter` selects.
    pub fn selecting(runs: Vec<Run>, answers: Arc<dyn Answers>, filter: &Filter) -> Self {
        let viewed = |run: Run| {
            let of =
                |trace: &Arc<Trace>| Rows::new(trace.definitions()).selected(trace.definitions(), filter);
            let rows = run.trace().map(of).unwrap_or_default();
            let news = Arc::<News>::default();
            let tiles = run.trace().map(|trace| {
                // Ticks are exact for all whole seconds, and so is their length.
                let ns_per_tick = 1e9 / trace.definitions().clock.ticks_per_second as f64;
                let store = TileStore::new(&rows.locations, ns_per_tick, Arc::clone(&news));
                Arc::new(store.ending_at(trace.definitions().clock.declared_length))
            });
            if tiles.is_none() {
                news.change(|known| known.is_complete = true);
            }
            Viewed { run, rows, news, tiles }
        };
        let runs = runs.into_iter().map(viewed).collect();
        let (asked, tiles) = (KeptAnswers::new(ANSWERS_BYTES), KeptAnswers::new(TILES_BYTES));
        Routes { runs, answers, asked, tiles }
    }

    /// Makes the tiles of all traces, one after the other, on threads of their own.
    ///
    /// # Errors
    /// If the system has no thread left.
    pub fn begin_passes(&self, cache: Option<TileCache>) -> std::io::Result<()> {
        let with_tiles =
            |viewed: &Viewed| Some((Arc::clone(viewed.run.trace()?), Arc::clone(viewed.tiles.as_ref()?)));
        let passes: Vec<(Arc<Trace>, Arc<TileStore>)> = self.runs.iter().filter_map(with_tiles).collect();
        let work = move || passes.iter().for_each(|(trace, store)| show(trace, store, cache.as_ref()));
        std::thread::Builder::new().name("tiles".to_owned()).spawn(work).map(drop)
    }

    /// Waits until there is something newer than what the page has seen, or for `most`.
    pub async fn wait_for_news(&self, request: &Request, most: Duration) {
        let query = Query(&request.query);
        if let (Ok(viewed), Ok(since)) = (self.viewed(query), query.number("since", Some(0))) {
            let news = viewed.news.wait(since);
            // Without news the page gets what it has.
            let _ = tokio::time::timeout(most, news).await;
        }
    }

    /// Waits until the first run has something to show, or for `most`: a question may take all processors for minutes,
    /// and the picture comes first.
    pub async fn wait_for_picture(&self, most: Duration) {
        let Some(first) = self.runs.first() else { return };
        let is_shown = |known: &Known| known.is_complete || known.n_changes_of_blocks.iter().any(|&n| 0 < n);
        // A run without rows for so long may still have answers.
        let _ = tokio::time::timeout(most, first.news.wait_until(is_shown)).await;
    }

    /// The answer to a request.
    pub fn reply(&self, request: &Request, progress: &Arc<Progress>) -> Reply {
        let query = Query(&request.query);
        let replied = match request.path.as_str() {
            "api/meta" => self.viewed(query).map(|viewed| Reply::json(&self.meta(viewed))),
            "api/status" => self.viewed(query).map(|viewed| Reply::json(&viewed.news.now())),
            "api/tile" => self.tile(query, progress),
            "api/tiles" => self.tiles(query, progress),
            "api/call-paths" => self.call_paths(query),
            "api/messages" => self.messages(query, progress),
            "api/ask" => self.ask(&request.body, progress),
            "api/licenses" => Ok(Reply::of("text/plain; charset=utf-8", licenses().into_bytes())),
            _ => Ok(Reply::status(StatusCode::NOT_FOUND)),
        };
        replied.unwrap_or_else(|message| Reply::error(StatusCode::BAD_REQUEST, &message))
    }

    fn tile(&self, query: Query<'_>, progress: &Progress) -> Result<Reply, String> {
        let number = |name| query.number(name, None);
        let (level, tile, block) = (number("level")?, number("tile")?, number("block")?);
        let parts = match query.number("shares", Some(0))? {
            0 => Parts::Paths,
            _ => Parts::PathsAndShares,
        };
        let known = query.number("known", Some(0))?;
        let (Ok(level), Ok(block)) = (u32::try_from(level), usize::try_from(block)) else {
            return Ok(Reply::status(StatusCode::NO_CONTENT));
        };
        Ok(match self.packed_tile(query, Wanted { level, tile, block, parts, known }, progress)? {
            Ok(bytes) => {
                let reply =
                    Reply { is_packed: true, ..Reply::of("application/octet-stream", bytes.to_vec()) };
                // Under the number of its generation it may be kept: the next one has another address.
                if query.text("g").is_some() { reply.forever() } else { reply }
            }
            Err(None) => Reply::status(StatusCode::NO_CONTENT),
            Err(Some(error)) => Reply::error(StatusCode::UNPROCESSABLE_ENTITY, &error),
        })
    }

    /// Several tiles of a level: of each its length, and what is compressed; 0 if it is not known yet.
    fn tiles(&self, query: Query<'_>, progress: &Progress) -> Result<Reply, String> {
        let level = u32::try_from(query.number("level", None)?).map_err(|_| "there is no such level")?;
        let places = query.text("at").ok_or("at is missing")?;
        let mut bytes = Vec::new();
        for (n, place) in places.split(',').enumerate() {
            let numbers = place
                .split_once('.')
                .and_then(|(tile, block)| Some((tile.parse::<u64>().ok()?, block.parse::<usize>().ok()?)));
            let (tile, block) = numbers.ok_or_else(|| format!("no tile and block: {place:?}"))?;
            if MAX_TILES_AT_ONCE <= n {
                return Err(format!("more than {MAX_TILES_AT_ONCE} tiles at once"));
            }
            let wanted = Wanted { level, tile, block, parts: Parts::Paths, known: 0 };
            let found = match self.packed_tile(query, wanted, progress)? {
                Err(Some(error)) => return Ok(Reply::error(StatusCode::UNPROCESSABLE_ENTITY, &error)),
                Ok(found) => Some(found),
                Err(None) => None,
            };
            let found = found.as_deref().unwrap_or_default();
            bytes.extend((found.len() as u32).to_le_bytes());
            bytes.extend(found);
        }
        let reply = Reply::of(PACKED_INSIDE, bytes);
        Ok(if query.text("g").is_some() { reply.forever() } else { reply })
    }

    /// A tile compressed with gzip, made once if it does not change any more. Inside, why there is none: `None` if it is
    /// not known yet, or why events cannot be read.
    fn packed_tile(
        &self,
        query: Query<'_>,
        wanted: Wanted,
        progress: &Progress,
    ) -> Result<Result<Arc<[u8]>, Option<String>>, String> {
        let viewed = self.viewed(query)?;
        let (Some(trace), Some(store)) = (viewed.run.trace(), &viewed.tiles) else {
            return Err("a profile has no times".to_owned());
        };
        let made = || match tile_of(viewed, (trace, store), wanted, progress) {
            Ok(Some(bytes)) => Ok(packed(&bytes, Compression::fast())),
            Ok(None) => Err(None),
            Err(error) => Err(Some(error)),
        };
        let run = query.text("run");
        let stays = viewed.news.known().is_complete && wanted.known == 0;
        Ok(match stays {
            true if wanted.parts == Parts::Paths && store.is_coarse(wanted.level, wanted.block) => {
                self.counted_tile(run.as_deref(), viewed, (trace, store), wanted, progress).map_err(Some)
            }
            true => self.tiles.answer(format!("{run:?} {wanted:?}"), made),
            false => made().map(Arc::from),
        })
    }

    /// A tile that is counted from events, with its neighbours: a picture wants several, and each would take a pass.
    fn counted_tile(
        &self,
        run: Option<&str>,
        viewed: &Viewed,
        (trace, store): (&Trace, &Arc<TileStore>),
        wanted: Wanted,
        progress: &Progress,
    ) -> Result<Arc<[u8]>, String> {
        let first = Wanted { tile: wanted.tile / COUNTED_TOGETHER * COUNTED_TOGETHER, ..wanted };
        let all = self.tiles.answer_alone(format!("{run:?} counted {first:?}"), || {
            let tiles = exact::tiles(
                (trace, tiles_of(trace), store),
                &viewed.rows.of_block(wanted.block),
                first,
                COUNTED_TOGETHER,
                progress,
            )?;
            let tiles: Vec<Vec<u8>> = tiles.iter().map(|tile| packed(tile, Compression::fast())).collect();
            postcard::to_allocvec(&tiles).map_err(|error| error.to_string())
        })?;
        let tiles: Vec<Vec<u8>> = postcard::from_bytes(&all).map_err(|error| error.to_string())?;
        let tile = tiles.into_iter().nth((wanted.tile - first.tile) as usize).unwrap_or_default();
        Ok(tile.into())
    }

    fn messages(&self, query: Query<'_>, progress: &Progress) -> Result<Reply, String> {
        let number = |name| query.number(name, None);
        let limit = usize::try_from(query.number("limit", Some(MAX_ARROWS))?).unwrap_or(usize::MAX);
        let viewed = self.viewed(query)?;
        let trace = viewed.run.trace().ok_or("a profile has no messages")?;
        let stretch = (number("from")?, number("to")?);
        Ok(match messages::messages(trace, &viewed.rows.locations, stretch, limit, progress) {
            Ok(value) => Reply::json(&value),
            Err(error) => Reply::error(StatusCode::UNPROCESSABLE_ENTITY, &error),
        })
    }

    fn call_paths(&self, query: Query<'_>) -> Result<Reply, String> {
        let from = usize::try_from(query.number("from", Some(0))?).unwrap_or(usize::MAX);
        let store = self.viewed(query)?.tiles.as_ref().ok_or("a profile has no times")?;
        Ok(Reply::json(&json!({ "call_paths": store.call_paths(from) })))
    }

    fn viewed(&self, query: Query<'_>) -> Result<&Viewed, String> {
        let at = query.number("run", Some(0))?;
        let viewed = usize::try_from(at).ok().and_then(|at| self.runs.get(at));
        viewed.ok_or_else(|| format!("there is no run {at}"))
    }

    pub fn meta(&self, viewed: &Viewed) -> Value {
        let all: Vec<Run> = self.runs.iter().map(|viewed| viewed.run.clone()).collect();
        let status = viewed.news.now();
        let declared = viewed.run.trace().and_then(|trace| {
            let clock = &trace.definitions().clock;
            clock.declared_length.map(|length| clock.ns_from_ticks(length))
        });
        let end_ns = status["time_ns"][1].as_u64().filter(|&end| 0 < end).or(declared).unwrap_or(0);
        let ns_per_tick = viewed.news.known().bin0_ns;
        let n_levels =
            (0..63).find(|level| end_ns as f64 / ns_per_tick < (meta::TILE_BINS as f64) * 2_f64.powi(*level));
        let tiles = json!({
            "bins": meta::TILE_BINS, "rows": meta::TILE_ROWS,
            "n_levels": n_levels.map_or(64, |level| level + 1), "bin0_ns": ns_per_tick,
        });
        meta::meta(&viewed.run, &all, &viewed.rows, end_ns, &tiles)
    }

    fn ask(&self, body: &[u8], progress: &Arc<Progress>) -> Result<Reply, String> {
        let ask: Ask = serde_json::from_slice(body).map_err(|error| format!("not a question: {error}"))?;
        if let Some(missing) = ask.others.iter().chain([&ask.run]).find(|&&run| self.runs.len() <= run) {
            return Err(format!("there is no run {missing}"));
        }
        let key = serde_json::to_string(&ask).map_err(|error| error.to_string())?;
        let answer = || {
            done_behind_others(|| self.answers.ask(&ask, progress))
                .unwrap_or_else(|error| Err(Refusal::Run(error.to_string())))
        };
        Ok(match self.asked.answer(key, answer) {
            Ok(bytes) => Reply::of("application/json", bytes.to_vec()),
            Err(Refusal::Question(message)) => Reply::error(StatusCode::BAD_REQUEST, &message),
            Err(Refusal::Run(message)) => Reply::error(StatusCode::UNPROCESSABLE_ENTITY, &message),
        })
    }
}

/// A tile; `None` if there is none yet.
///
/// # Errors
/// Why the events of a fine tile cannot be read, for people.
pub(crate) fn tile_of(
    viewed: &Viewed,
    (trace, store): (&Trace, &Arc<TileStore>),
    wanted: Wanted,
    progress: &Progress,
) -> Result<Option<Vec<u8>>, String> {
    // While the pass runs, coarse bins are what there is.
    if !viewed.news.known().is_complete || !store.is_coarse(wanted.level, wanted.block) {
        return Ok(store.tile(wanted));
    }
    let rows = viewed.rows.of_block(wanted.block);
    exact::tiles((trace, tiles_of(trace), store), &rows, wanted, 1, progress).map(|mut one| one.pop())
}

/// The tiles of a trace, by the categories of its regions.
fn tiles_of(trace: &Trace) -> Tiles {
    let classes = Semantics::default().classes(trace.definitions());
    Tiles::new(classes.into_iter().map(meta::category).collect())
}

/// Fills `store` from the cache, or else by a pass, which the cache then keeps.
fn show(trace: &Trace, store: &Arc<TileStore>, cache: Option<&TileCache>) {
    let kept = cache.and_then(|cache| cache.load(trace));
    if let Some(Kept { saved, fine, times }) = kept {
        let is_current = || TileCache::is_current(trace, times);
        if early::has_many_rows(store) {
            store.restore(saved, fine);
            behind_others();
            if is_current() {
                store.confirm();
                return;
            }
            store.take_back();
        } else if is_current() {
            store.restore(saved, fine);
            store.confirm();
            return;
        }
    }
    if early::has_many_rows(store) {
        early::show_first_rows(trace, tiles_of(trace), store);
    }
    behind_others();
    let begun = cache.map(|cache| {
        cache.begin(trace).map(|(begun, fine)| {
            store.keep_fine_in(fine);
            (cache, begun)
        })
    });
    if make_tiles(trace, store, &Filter::default())
        && let Some(begun) = begun
        && let Err(error) = begun.and_then(|(cache, begun)| cache.keep(trace, store, begun))
    {
        store.tell(format!("the timeline is not kept for the next start: {error}"));
    }
}

/// One pass; rows appear in `store` while it runs. Returns whether it came to its end.
pub(crate) fn make_tiles(trace: &Trace, store: &Arc<TileStore>, filter: &Filter) -> bool {
    let tiles = tiles_of(trace).into_sink(Arc::clone(store) as Arc<_>);
    let options = Options { filter: filter.clone(), ..Options::default() };
    let (is_whole, notices) = match trace.ask(tiles, &options) {
        Ok(answer) => (true, answer.notices.into_iter().map(|notice| notice.message).collect()),
        Err(error) => (false, vec![format!("the timeline is incomplete: {error}")]),
    };
    store.complete(notices);
    is_whole
}

/// The third-party crates in this program, each with its license and the texts.
fn licenses() -> String {
    let mut text = String::new();
    for license in ouzel::licenses::licenses() {
        text.push_str(&format!(
            "{} {}  {}\n\n{}\n\n",
            license.name,
            license.version,
            license.license,
            license.texts.join("\n\n")
        ));
    }
    text
}
