//! A timeline on the page: labels, the image, numbers in it, segments and the time axis below, a legend.

use crate::axis::Axis;
use crate::colour::Colour;
use crate::raster::{PathIndex, Raster};
use maud::{Markup, html};
use ouzel::model::{json_text, visible};
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A timeline to be drawn.
#[derive(Debug)]
pub struct Figure {
    /// Its anchor on the page.
    pub id: &'static str,
    pub title: &'static str,
    pub caption: Markup,
    /// The caption of what takes its place where scripts run; empty if nothing does.
    pub zoomed_caption: Markup,
    /// What the picture shows, for people who cannot see it.
    pub alt: String,
    pub raster: Raster,
    pub palette: Vec<Colour>,
    pub height_px: u32,
    /// Left of the picture, each with its place from the top in percent.
    pub labels: Vec<(f64, Markup)>,
    /// Numbers in the picture.
    pub marks: Vec<Mark>,
    /// Between picture and axis.
    pub below: Markup,
    pub legend: Markup,
    /// For the script.
    pub data: FigureData,
}

/// A number in a picture.
#[derive(Debug)]
pub struct Mark {
    pub x_percent: f64,
    pub y_percent: f64,
    pub text: String,
    pub on: Colour,
}

/// The data from which the script describes what is under the pointer.
#[derive(Debug, Serialize)]
pub struct FigureData {
    /// Rows from the top.
    pub rows: Vec<RowData>,
    /// A sentence for an index of the image.
    pub notes: BTreeMap<u8, String>,
}

#[derive(Debug, Serialize)]
pub struct RowData {
    pub label: String,
    /// The row of pixels after its last.
    pub end: u32,
}

impl Figure {
    /// The figure, as the `number`-th for the script; nothing if there is no pixel to show.
    pub fn markup(&self, number: usize, axis: Axis) -> Markup {
        let Some(url) = self.raster.data_url(&self.palette) else { return html! {} };
        let readout = format!("{}-readout", self.id);
        html! {
            figure id=(self.id) {
                figcaption {
                    h3 { (self.title) }
                    p.for-still { (self.caption) }
                    @if !self.zoomed_caption.0.is_empty() { p.for-zoomed { (self.zoomed_caption) } }
                }
                div.plot {
                    div.labels {
                        @for (top, label) in &self.labels {
                            span style=(format!("top:{top:.2}%")) { (label) }
                        }
                    }
                    div.picture tabindex="0" role="img" aria-label=(self.alt) aria-describedby=(readout)
                        data-figure=(number) data-readout=(readout) style=(format!("height:{}px", self.height_px)) {
                        img src=(url) alt="";
                        @for mark in &self.marks {
                            span class={ "mark " (shade(mark.on)) } aria-hidden="true"
                                style=(format!("left:{:.2}%;top:{:.2}%", mark.x_percent, mark.y_percent)) {
                                (mark.text)
                            }
                        }
                    }
                    (self.below)
                    (time_axis(axis))
                }
                output.readout id=(readout) aria-live="polite" {
                    "Point at the picture, or focus it and use the arrow keys, to see the whole call path, the rank \
                     and the time here."
                }
                div.still-legend { (self.legend) }
            }
        }
    }
}

/// The class of text that reads well on a colour.
pub fn shade(colour: Colour) -> &'static str {
    if colour.is_light() { "light" } else { "dark" }
}

/// A patch of colour with a text on it.
pub(crate) fn swatch(colour: Colour, text: &str) -> Markup {
    html! {
        span class={ "swatch " (shade(colour)) } style={ "background:" (colour.css()) } aria-hidden="true" { (text) }
    }
}

fn time_axis(axis: Axis) -> Markup {
    let (unit, _) = axis.unit();
    html! {
        div.below.axis {
            @for tick in axis.ticks() {
                span style=(format!("left:{:.2}%", tick.percent)) { i { (tick.label) } }
            }
            b { "time since the start of the trace in " (unit) }
        }
    }
}

/// What all figures of the page share, for the script.
#[derive(Debug, Serialize)]
pub struct PageData<'a> {
    pub origin_ns: f64,
    pub spacing_ns: f64,
    pub unit: &'static str,
    pub unit_ns: u64,
    pub names: Vec<Cow<'a, str>>,
    /// The name of index 1.
    pub no_region: &'static str,
    /// For each index from 2 on, the names of its call path.
    pub paths: Vec<Vec<usize>>,
    pub figures: Vec<&'a FigureData>,
}

impl<'a> PageData<'a> {
    pub fn new(
        pictures: &'a crate::Pictures<'a>,
        index: &PathIndex,
        axis: Axis,
        figures: Vec<&'a FigureData>,
    ) -> Self {
        let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
        let mut names = Vec::new();
        let mut number = |name: &'a str| {
            *numbers.entry(name).or_insert_with(|| {
                names.push(visible(name));
                names.len() - 1
            })
        };
        let paths = index.paths.iter().map(|&path| {
            let names = pictures.names(path);
            names.into_iter().map(&mut number).collect()
        });
        let paths = paths.collect();
        let per_tick_ns = 1e9 / pictures.definitions.clock.ticks_per_second as f64;
        let (unit, unit_ns) = axis.unit();
        PageData {
            origin_ns: pictures.timeline.origin.0 as f64 * per_tick_ns,
            spacing_ns: pictures.timeline.spacing.0 as f64 * per_tick_ns,
            unit,
            unit_ns,
            no_region: ouzel::diagnose::NO_REGION,
            names,
            paths,
            figures,
        }
    }

    /// As JSON that is safe inside a script element: no `<` ends it early.
    pub fn json(&self) -> String {
        let json = serde_json::to_string(self).expect("keys are text and numbers are finite");
        json_text(&json).replace('<', "\\u003c")
    }
}
