//! The viewer: how long its timeline takes to build, its memory, its cache and its frames, in a real browser.
//!
//! `web/tests/browser/measure.mjs` measures: it starts the server and Chromium, and prints its figures as JSON.

use super::archives;
use super::table::{Row, Target};
use crate::{runner, web, workspace};
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Events and ranks of the archives.
const FULL: [[&str; 2]; 2] = [["1000M", "256"], ["1000M", "100000"]];
const QUICK: [[&str; 2]; 1] = [["10M", "256"]];
/// Longer than the script waits for a pass.
const SECONDS: u32 = 45 * 60;

/// What the script prints.
#[derive(Debug, Deserialize)]
struct Figures {
    first_picture_seconds: f64,
    build_seconds: f64,
    build_processor_seconds: f64,
    peak_bytes_of_tiles: f64,
    peak_bytes_of_use: f64,
    cache_bytes: f64,
    cold_view_seconds: f64,
    warm_view_seconds: f64,
    frame_95_seconds: f64,
    wire_bytes: f64,
    second_start_seconds: f64,
}

/// The rows of the table; what is skipped goes to `skipped`.
pub fn rows(root: &Path, ouzel: &Path, quick: bool, skipped: &mut Vec<String>) -> Result<Vec<Row>> {
    if let Err(error) = web::install(root).and_then(|()| web::build(root)) {
        println!("skipped: the viewer: {error:#}");
        skipped.push(format!("the viewer: {error:#}"));
        return Ok(Vec::new());
    }
    let runs: &[[&str; 2]] = if quick { &QUICK } else { &FULL };
    let mut rows = Vec::new();
    for [events, ranks] in runs {
        let anchor = archives::anchor_of_ranks(root, events, ranks)?;
        println!("measuring the viewer on {events} events of {ranks} ranks");
        let figures = figures(root, ouzel, &anchor)?;
        rows.extend(of_run(&format!("{events}, {ranks} ranks"), n_intervals(ouzel, &anchor)?, &figures));
    }
    Ok(rows)
}

/// A call begins one interval of the timeline, and the return into its caller another one.
fn n_intervals(ouzel: &Path, anchor: &Path) -> Result<f64> {
    let profile = runner::output(Command::new(ouzel).arg("profile").arg(anchor).args(["--format", "json"]))?;
    let profile: serde_json::Value = serde_json::from_str(&profile)?;
    let rows = profile["data"]["rows"].as_array().context("the profile has rows")?;
    let visits: f64 = rows.iter().filter_map(|row| row["visits"].as_f64()).sum();
    ensure!(visits > 0.0, "the profile counts no visits");
    Ok(2.0 * visits)
}

fn figures(root: &Path, ouzel: &Path, anchor: &Path) -> Result<Figures> {
    let cache: PathBuf = workspace::cache(root).join("bench/view-cache");
    let mut node = runner::bounded(SECONDS, Path::new("node"));
    node.arg(root.join("web/tests/browser/measure.mjs"))
        .args([ouzel, anchor, &cache])
        .current_dir(root.join("web"));
    let said = runner::output(&mut node)?;
    fs::remove_dir_all(&cache).context("cannot remove the viewer's cache")?;
    let line = said.lines().last().unwrap_or_default();
    let figures: Figures = serde_json::from_str(line).context("measure.mjs prints its figures")?;
    ensure!(figures.build_seconds > 0.0, "the timeline took no time: {line}");
    Ok(figures)
}

fn of_run(on: &str, n_intervals: f64, figures: &Figures) -> Vec<Row> {
    let timed = |what: &str, seconds: f64, target| Row::duration(what, on, seconds, target);
    let per_core = n_intervals / figures.build_processor_seconds;
    let bytes_each = figures.cache_bytes / n_intervals;
    let wire = format!("bytes on the wire of the first view: {:.2} MB", figures.wire_bytes / 1e6);
    let cache = format!("cache: {:.0} MB, {bytes_each:.2} bytes an interval", figures.cache_bytes / 1e6);
    let build = format!("building the timeline, {:.1} M intervals/s a core", per_core / 1e6);
    vec![
        timed("start to first picture", figures.first_picture_seconds, Target::Below(1.0)),
        Row::speed(&build, on, figures.build_seconds, n_intervals as u64)
            .at_rate(per_core, Target::AtLeast(5e6)),
        Row::memory(
            "server with the timeline alone, peak memory",
            on,
            figures.peak_bytes_of_tiles,
            Target::Below(300e6),
        ),
        Row::memory(
            "server with a page, its report and tables, peak memory",
            on,
            figures.peak_bytes_of_use,
            Target::Below(300e6),
        ),
        Row::memory(&cache, on, figures.cache_bytes, Target::Below(1.6 * n_intervals)),
        timed("tiles of the whole run, first time", figures.cold_view_seconds, Target::Below(1.5)),
        timed("tiles of the whole run, again", figures.warm_view_seconds, Target::Below(0.025)),
        timed("script of a frame while panning, 95 % below", figures.frame_95_seconds, Target::Below(0.033)),
        Row::memory(&wire, on, figures.wire_bytes, Target::Below(1e6)),
        timed("start to first picture from the cache", figures.second_start_seconds, Target::Below(1.0)),
    ]
}
