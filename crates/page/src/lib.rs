//! A finished report as one self-contained HTML page with pictures.
//!
//! The page needs no network and no script: pictures are images inside the file, and every number is in a table or a
//! sentence. A small script shows what is under the pointer. It reads well in light and dark, on paper and without
//! colours. Law: text of the trace is text on the page, whatever characters it has; equal reports give equal pages,
//! byte for byte. This crate computes nothing that is not in the report.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod axis;
mod cluster_timeline;
mod figure;
mod findings;
mod gather;
mod iterations;
mod of_trace;
mod pictures;
mod profile;
mod rank_timeline;
mod raster;
mod report_sections;
mod segments;
#[cfg(test)]
mod tests;

pub use of_trace::of_trace;
pub use pictures::{Cluster, IterationPoint, IterationSeries, LoopPicture, Pictures};
pub use profile::of_profile;

use axis::Axis;
use figure::{Figure, PageData};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use ouzel::Asked;
use ouzel::diagnose::RunReport;
use ouzel::model::{Ticks, put_visible};
use ouzel_plot::{colour, ranks, units};
use raster::PathIndex;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The page about a run: `report` in words and tables, `pictures` of the same pass; `asked` is how the user calls the
/// trace, and what is selected of it.
pub fn html(report: &RunReport, pictures: &Pictures<'_>, asked: &Asked) -> String {
    let timeline = pictures.timeline;
    let run_ns = report.run.span_ns;
    // Lost or doubtful data must be reported before any result; a clean bill of health can wait.
    let is_clean = report.trust.is_clean();
    let ns = |ticks| pictures.definitions.clock.ns_from_ticks(ticks);
    let end =
        Ticks(timeline.origin.0.saturating_add(timeline.spacing.0.saturating_mul(timeline.n_columns.into())));
    let axis = Axis::new(ns(timeline.origin), ns(end));
    let index = PathIndex::new(timeline);
    let clusters = cluster_timeline::figure(pictures, &index, axis);
    let ranks = (0 < timeline.n_columns).then(|| rank_timeline::figure(pictures, &index));
    let figures: Vec<&Figure> = clusters.iter().chain(&ranks).collect();
    let data = PageData::new(pictures, &index, axis, figures.iter().map(|figure| &figure.data).collect());
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="generator" content={ "ouzel " (env!("CARGO_PKG_VERSION")) };
                title { "Ouzel: " (asked.path()) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#main" { "Skip to the report" }
                header {
                    p.soft.small {
                        span.path { (asked.path()) }
                        @if !asked.selection().is_empty() { " " code { (asked.selection()) } }
                    }
                    (findings::headline(&report.headline))
                    @if let Some(accelerators) = &report.accelerators { p { (accelerators.in_words()) } }
                    p.facts.small { (report_sections::facts(&report.run)) }
                }
                main id="main" {
                    @if !is_clean { (section("trust", "How far to trust it", &report_sections::trust(&report.trust))) }
                    @if !report.findings.is_empty() {
                        (section("findings", "What costs time", &findings::list(&report.findings, &pictures.maps, asked)))
                    }
                    (section("efficiencies", "How well the time was used", &report_sections::efficiencies(report)))
                    @if !figures.is_empty() {
                        h2 id="timelines" { "What happened when" }
                        @for (i, figure) in figures.iter().enumerate() { (figure.markup(i, axis)) }
                    }
                    @if !pictures.clusters.is_empty() {
                        (section("clusters", "Ranks that behave alike", &cluster_timeline::table(pictures)))
                    }
                    @if !pictures.loops.is_empty() {
                        (section("iterations", "Iterations", &iterations::charts(&pictures.loops)))
                    }
                    @if !report.epochs.is_empty() {
                        (section("epochs", "Epochs, in which the same ranks have most to do", &segments::epochs(&report.segments)))
                    }
                    @if !pictures.segments.is_empty() {
                        (section("segments", "Where time is lost, by segment", &segments::table(pictures.segments, run_ns)))
                    }
                    (section("losses", "Where time is lost, by call path", &report_sections::losses(report)))
                    @if is_clean { (section("trust", "How far to trust it", &report_sections::trust(&report.trust))) }
                    (section("method", "How these numbers are made", &report_sections::method()))
                }
                footer { p { "Made by ouzel " (env!("CARGO_PKG_VERSION")) "." } }
                script type="application/json" id="timeline-data" { (PreEscaped(data.json())) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    shown(&page.into_string())
}

/// The page with names made visible: a browser would change the direction of reading, or hide zero-width characters.
/// Our own line breaks and no-break spaces are kept.
fn shown(page: &str) -> String {
    let mut shown = String::with_capacity(page.len());
    for c in page.chars() {
        match c {
            '\n' | '\u{a0}' | '\u{202f}' => shown.push(c),
            c => put_visible(&mut shown, c),
        }
    }
    shown
}

fn section(id: &str, title: &str, content: &Markup) -> Markup {
    html! { section id=(id) { h2 { (title) } (content) } }
}
