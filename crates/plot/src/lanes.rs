//! Intervals on lanes over time, and lines from lane to lane.
//!
//! Law: an interval is at least half a point wide; what would be drawn onto the same half point in the same colour
//! is drawn once.

use crate::PlotError;
use crate::axis::number;
use crate::canvas::{Canvas, GRID, INK, LegendEntry, failed, rgb};
use crate::colour::Colour;
use plotters::chart::ChartBuilder;
use plotters::prelude::{Color, DrawingBackend, PathElement, Rectangle};
use std::collections::BTreeSet;

/// Intervals on lanes.
#[derive(Debug, Clone)]
pub struct Lanes {
    /// The axis below, with the unit.
    pub x_name: String,
    /// The axis to the left.
    pub y_name: String,
    /// Names of the lanes, from top to bottom.
    pub names: Vec<String>,
    /// First and last value of the axis.
    pub range: (f64, f64),
    /// In order of their start.
    pub intervals: Vec<Interval>,
    /// What the colours mean.
    pub legend: Vec<(Colour, &'static str)>,
}

/// An interval on a lane.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Its lane.
    pub lane: usize,
    /// Where a line to its end begins: a lane, at the interval's start.
    pub from_lane: Option<usize>,
    /// Start and end.
    pub range: (f64, f64),
    /// Its colour.
    pub colour: Colour,
}

/// Half points of the axis.
const N_PLACES: f64 = 1600.0;

impl Lanes {
    /// Draws the intervals and their legend.
    pub fn draw<DB: DrawingBackend>(&self, canvas: &Canvas<'_, DB>) -> Result<(), PlotError> {
        let n = self.names.len().max(1) as f64;
        let (first, last) = self.range;
        let last = if first < last { last } else { first + 1.0 };
        let mut chart = ChartBuilder::on(&canvas.plot)
            .margin(canvas.px(12))
            .x_label_area_size(canvas.px(48))
            .y_label_area_size(canvas.px(76))
            .build_cartesian_2d(first..last, n - 0.5..-0.5)
            .map_err(failed)?;
        let text = |place: &f64| {
            let is_whole = (place - place.round()).abs() < 1e-6 && -0.5 < *place;
            let name = is_whole.then(|| self.names.get(place.round() as usize)).flatten();
            name.cloned().unwrap_or_default()
        };
        chart
            .configure_mesh()
            .disable_y_mesh()
            .light_line_style(GRID.mix(0.0))
            .bold_line_style(GRID)
            .axis_style(INK)
            .x_labels(9)
            .y_labels(self.names.len().clamp(1, 24) + 1)
            .x_label_formatter(&|x| number(*x))
            .y_label_formatter(&text)
            .label_style(canvas.text(12, INK))
            .axis_desc_style(canvas.text(13, INK))
            .x_desc(self.x_name.clone())
            .y_desc(self.y_name.clone())
            .draw()
            .map_err(failed)?;
        let least = (last - first) / N_PLACES;
        let mut drawn = BTreeSet::new();
        for &interval in &self.intervals {
            let Interval { lane, from_lane, range: (start, end), colour } = interval;
            let place = ((start - first) / least) as u32;
            if end - start < least && !drawn.insert((lane, place, colour)) {
                continue;
            }
            let y = lane as f64;
            let corners = [(start, y - 0.35), (end.max(start + least).min(last), y + 0.35)];
            chart.draw_series([Rectangle::new(corners, rgb(colour).filled())]).map_err(failed)?;
            if let Some(from) = from_lane.filter(|&from| from != lane) {
                let line = [(start, from as f64), (end, y)];
                chart.draw_series([PathElement::new(line, INK)]).map_err(failed)?;
            }
        }
        let entries: Vec<LegendEntry<'_>> =
            self.legend.iter().map(|&(colour, name)| LegendEntry { colour, name }).collect();
        canvas.legend(&entries)
    }
}
