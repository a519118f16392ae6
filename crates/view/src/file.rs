//! One self-contained file: the page, the answers that its panels begin with, and tiles as fine as its size allows.
//!
//! Law: what the file holds is what the server answers about the same part of the run. The page says what is left out.

use crate::assets::Assets;
use crate::messages;
use crate::meta::{TILE_BINS, TILE_ROWS};
use crate::routes::{MAX_ARROWS, Routes, Viewed, make_tiles, tile_of};
use crate::run::{Answers, Ask, Refusal, Run};
use crate::server::reply::packed;
use crate::store::Wanted;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::Compression;
use ouzel::engine::Progress;
use ouzel::model::{Filter, units};
use serde_json::{Value, json};
use std::sync::Arc;

/// Where the page holds its data.
pub(crate) const DATA: &str = "<!--ouzel-data-->";
/// More tiles of a level fit into no file.
const MOST_TILES: usize = 1 << 20;
/// Passes for the tiles of one level.
const MOST_PASSES: usize = 64;
/// Room for what is written last: what is left out.
const ROOM_OF_STATUS: u64 = 4 << 10;

/// What panels ask about the whole run, the most important first. Names of options are sorted, as in the keys of the file.
const QUESTIONS: [(&str, &str); 18] = [
    ("report", "{}"),
    ("info", "{}"),
    ("profile", r#"{"top":0}"#),
    ("call-tree", "{}"),
    ("time-profile", r#"{"bins":100}"#),
    ("iterations", "{}"),
    ("clusters", "{}"),
    ("comm-matrix", "{}"),
    ("messages", r#"{"log":true}"#),
    ("comm-over-time", r#"{"bins":100,"unit":"bytes"}"#),
    ("counters-over-time", r#"{"bins":100}"#),
    ("critical-path", "{}"),
    ("correlate", r#"{"scope":"exclusive","values":true}"#),
    ("correlate", r#"{"scope":"exclusive","top":20}"#),
    ("profile", r#"{"per":"rank","top":0}"#),
    ("profile", r#"{"call_paths":false,"per":"rank","top":0}"#),
    ("profile", r#"{"call_paths":true,"scope":"inclusive","top":0}"#),
    ("profile", r#"{"call_paths":true,"scope":"exclusive","top":0}"#),
];

/// A file that shows a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewFile {
    /// The page with its data.
    pub html: String,
    /// What it does not hold: texts for people.
    pub left_out: Vec<String>,
}

/// Why there is no file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// This program holds no page.
    #[error(
        "the page of the viewer is not part of this program: build it with `cargo xtask web`, then Ouzel again"
    )]
    NotBuilt,
    /// The page with the names of the run is larger than that.
    #[error("the smallest file that shows this run has {0} bytes: allow more with --detail")]
    TooLarge(u64),
    /// The data cannot be written as JSON.
    #[error("{0}")]
    Data(String),
}

/// A file of at most `most_bytes` that shows what `filter` selects of `run`.
///
/// # Errors
/// If the page is not built, or if not even the coarsest picture has room.
pub fn view_file(
    run: Run,
    answers: Arc<dyn Answers>,
    filter: &Filter,
    most_bytes: u64,
) -> Result<ViewFile, FileError> {
    let routes = Routes::selecting(vec![run], answers, filter);
    let template = Assets::new().standalone().ok_or(FileError::NotBuilt)?;
    let (head, tail) = template.split_once(DATA).ok_or(FileError::NotBuilt)?;
    let viewed = routes.runs.first().ok_or(FileError::NotBuilt)?;
    if let (Some(trace), Some(store)) = (viewed.run.trace(), &viewed.tiles) {
        let _is_whole = make_tiles(trace, store, filter);
    }
    let (meta, mut status) = about(&routes, viewed, filter);
    let room = most_bytes.saturating_sub(ROOM_OF_STATUS + template.len() as u64);
    let mut file = Filling::new(room, Compression::best());
    file.needed("api/meta", &meta.to_string())?;
    if let Some(store) = &viewed.tiles {
        file.needed("api/call-paths?from=0", &json!({"call_paths": store.call_paths(0)}).to_string())?;
    }
    file.answers(&routes)?;
    file.messages(viewed, &meta);
    status["tiles"]["floor"] = file.tiles(viewed, &meta, filter).into();
    file.left_out.push(
        "answers about a part of what is shown, other metrics than time, and the exact calls of a rank; \
         `ouzel view TRACE` has them"
            .to_owned(),
    );
    let data = file.closed(status);
    let html = format!("{head}<script type=\"application/json\" id=\"ouzel-data\">{data}</script>{tail}");
    Ok(ViewFile { html, left_out: file.left_out })
}

/// The documents about the run, of the part that is selected.
fn about(routes: &Routes, viewed: &Viewed, filter: &Filter) -> (Value, Value) {
    let (mut meta, mut status) = (routes.meta(viewed), viewed.news.now());
    // How often the picture grew while the trace was read is chance, and nothing grows any more.
    status["generation"] = 1.into();
    if viewed.tiles.is_some() {
        meta["n_locations"] = viewed.rows.locations.len().into();
        meta["tiles"]["n_levels"] = status["tiles"]["n_levels"].clone();
        let end = meta["time_ns"][1].as_u64().unwrap_or(0);
        let (from, to) = filter.time_ns.unwrap_or((0, end));
        meta["time_ns"] = json!([from.min(end), to.min(end)]);
        status["time_ns"] = meta["time_ns"].clone();
    }
    (meta, status)
}

/// The data of a file while it is put together.
pub(crate) struct Filling {
    room: u64,
    compression: Compression,
    used: u64,
    parts: Vec<String>,
    left_out: Vec<String>,
}

impl Filling {
    /// Nothing yet, of at most so many bytes, with tiles so well compressed.
    pub fn new(room: u64, compression: Compression) -> Self {
        Filling { room, compression, used: 0, parts: Vec::new(), left_out: Vec::new() }
    }

    /// How far it is filled.
    pub fn mark(&self) -> (u64, usize) {
        (self.used, self.parts.len())
    }

    /// Takes out what was put in since.
    pub fn back_to(&mut self, (used, n_parts): (u64, usize)) {
        self.used = used;
        self.parts.truncate(n_parts);
    }

    /// Puts an answer in, if `room` is enough for it and what there is.
    pub fn put(&mut self, key: &str, json: &str, room: u64) -> Result<(), u64> {
        let part = format!("{}:{}", compact(&Value::from(key).to_string()), compact(json));
        let used = self.used + part.len() as u64 + 1;
        if room < used {
            return Err(used);
        }
        self.used = used;
        self.parts.push(part);
        Ok(())
    }

    fn needed(&mut self, key: &str, json: &str) -> Result<(), FileError> {
        let all = self.room;
        self.put(key, json, all).map_err(FileError::TooLarge)
    }

    /// Answers may fill half of the file, so that the timeline has the other half.
    fn answers(&mut self, routes: &Routes) -> Result<(), FileError> {
        let room = self.used + (self.room - self.used) / 2;
        for (question, options) in QUESTIONS {
            let data = |error: &dyn std::fmt::Display| FileError::Data(error.to_string());
            let options_of = serde_json::from_str(options).map_err(|error| data(&error))?;
            let ask = Ask { question: question.to_owned(), options: options_of, ..Ask::default() };
            let answer = match routes.answers.ask(&ask, &Arc::default()) {
                Ok(bytes) => String::from_utf8(bytes).map_err(|error| data(&error))?,
                Err(Refusal::Question(error) | Refusal::Run(error)) => json!({"error": error}).to_string(),
            };
            let key =
                format!("api/ask?{{\"options\":{options},\"question\":\"{question}\",\"selection\":{{}}}}");
            if self.put(&key, &answer, room).is_err() {
                self.left_out.push(format!("the answer of `{question}`, which has {} bytes", answer.len()));
            }
        }
        Ok(())
    }

    fn messages(&mut self, viewed: &Viewed, meta: &Value) {
        let Some(trace) = viewed.run.trace() else { return };
        let ns = |at: usize| meta["time_ns"][at].as_u64().unwrap_or(0);
        let limit = usize::try_from(MAX_ARROWS).unwrap_or(usize::MAX);
        let rows = &viewed.rows.locations;
        match messages::messages(trace, rows, (ns(0), ns(1)), limit, &Progress::default()) {
            Ok(arrows) if arrows.get("arrows").is_some() => {
                if self.put("api/messages", &arrows.to_string(), self.room).is_err() {
                    self.left_out.push("messages in the timeline".to_owned());
                }
            }
            Ok(_) => self.left_out.push(format!("messages in the timeline: more than {MAX_ARROWS}")),
            Err(error) => self.left_out.push(format!("messages in the timeline: {error}")),
        }
    }

    /// Whole levels, the coarsest first; the finest that is in. Below the stored ones, each tile is a pass over the whole run.
    fn tiles(&mut self, viewed: &Viewed, meta: &Value, filter: &Filter) -> Option<u32> {
        let (trace, store) = (viewed.run.trace()?, viewed.tiles.as_ref()?);
        let most_passes = if *filter == Filter::default() { MOST_PASSES } else { 0 };
        let known = viewed.news.known();
        let ticks = |at: usize| (meta["time_ns"][at].as_u64().unwrap_or(0) as f64 / known.bin0_ns) as u64;
        let finest = store.finest().unwrap_or(0);
        let keys = |level| keys(level, (ticks(0), ticks(1)), viewed.rows.locations.len());
        let levels = (0..known.n_levels).rev();
        let levels = levels.take_while(|&level| finest <= level || keys(level).len() <= most_passes);
        let reached = self.levels(levels, keys, |(level, tile, block)| {
            let wanted = Wanted::whole(level, tile, block);
            // A tile that nobody has is empty; one that cannot be read is the end.
            tile_of(viewed, (trace, store), wanted, &Progress::default()).ok().map(Option::unwrap_or_default)
        });
        match reached {
            Some(0) => {}
            Some(level) => {
                let ns = known.bin0_ns * 2_f64.powi(level.cast_signed());
                let bin = units::time(ns.ceil() as u64);
                self.left_out.push(format!("the timeline in bins of less than {bin}"));
            }
            None => self.left_out.push("the timeline".to_owned()),
        }
        reached
    }

    /// Whole levels in this order, until one has no room, or a tile of it cannot be had; the last one that is in.
    pub fn levels(
        &mut self,
        levels: impl Iterator<Item = u32>,
        keys: impl Fn(u32) -> Vec<TileKey>,
        tile: impl Fn(TileKey) -> Option<Vec<u8>>,
    ) -> Option<u32> {
        let mut reached = None;
        for level in levels {
            let before = self.mark();
            if !keys(level).into_iter().all(|key| self.tile(key, tile(key))) {
                self.back_to(before);
                break;
            }
            reached = Some(level);
        }
        reached
    }

    /// A tile, if there is room for it; an empty one needs none.
    fn tile(&mut self, (level, tile, block): TileKey, bytes: Option<Vec<u8>>) -> bool {
        let Some(bytes) = bytes else { return false };
        let key = format!("api/tile?level={level}&tile={tile}&block={block}");
        let text = format!("\"{}\"", BASE64.encode(packed(&bytes, self.compression)));
        bytes.is_empty() || self.put(&key, &text, self.room).is_ok()
    }

    /// The object of all answers, the status with what is left out as the last one.
    pub fn closed(&mut self, mut status: Value) -> String {
        let left_out = self.left_out.iter().map(|what| {
            json!({"level": "low", "code": "left-out", "message": format!("Not in this file: {what}."), "count": 1})
        });
        if let Some(notices) = status["notices"].as_array_mut() {
            notices.extend(left_out);
        }
        self.parts.push(format!("\"api/status\":{}", compact(&status.to_string())));
        format!("{{{}}}", self.parts.join(","))
    }
}

/// Level, number along time, and block of rows.
pub(crate) type TileKey = (u32, u64, usize);

/// The tiles of a level between two times.
pub(crate) fn keys(level: u32, (from, to): (u64, u64), n_rows: usize) -> Vec<TileKey> {
    let tile_at = |tick: u64| (tick >> level) / TILE_BINS as u64;
    let tiles = tile_at(from)..=tile_at(to);
    tiles
        .flat_map(|tile| (0..n_rows.div_ceil(TILE_ROWS)).map(move |block| (level, tile, block)))
        .take(MOST_TILES)
        .collect()
}

/// JSON without space between its words, and without `<`, which could end the element that holds it.
fn compact(json: &str) -> String {
    let (mut out, mut in_string, mut is_escaped) = (String::with_capacity(json.len()), false, false);
    for c in json.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            ' ' | '\n' | '\r' | '\t' if !in_string => {}
            _ => out.push(c),
        }
        in_string ^= c == '"' && !is_escaped;
        is_escaped = in_string && c == '\\' && !is_escaped;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compact_json_has_the_same_values_and_ends_no_element() {
        let value = json!({"a b": [1, -2.5e-3, "x \\\" </script><!-- \n y"], "c\\": {"d": null}});
        let text = compact(&serde_json::to_string_pretty(&value).unwrap());
        assert!(!text.contains('<') && !text.contains('\n'), "{text}");
        assert_eq!(text.matches(' ').count(), 5, "those of strings: {text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }

    #[test]
    fn a_part_without_room_is_not_put_in() {
        let mut file = Filling::new(20, Compression::fast());
        assert_eq!(file.put("a", "[1]", 20), Ok(()));
        assert_eq!(file.put("b", "\"0123456789\"", 20), Err(25));
        assert_eq!(
            (file.used, file.closed(json!({"notices": []}))),
            (8, "{\"a\":[1],\"api/status\":{\"notices\":[]}}".to_owned())
        );
    }
}
