//! Intervals on lanes over time, arrows from lane to lane, and a path over them.
//!
//! Law: an interval is at least half a point wide; what would fall on the same half point in the same colour is drawn
//! once. Beyond [`MAX_VECTORS`] intervals are drawn as pixels, later ones over earlier ones, so that a file stays small
//! however long the run is; arrows beyond [`MAX_ARROWS`] are left out, the shortest first, and the legend reports it.

use crate::PlotError;
use crate::axis::mark;
use crate::canvas::{Canvas, GRID, INK, LegendEntry, failed, rgb};
use crate::colour::Colour;
use crate::style::Colours;
use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::types::RangedCoordf64;
use plotters::element::BitMapElement;
use plotters::prelude::{Cartesian2d, Color, DrawingBackend, PathElement, Rectangle};
use std::collections::{BTreeMap, BTreeSet};

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
    /// From lane to lane.
    pub arrows: Vec<Arrow>,
    /// Drawn as a thick line over the intervals, in order; ends are connected.
    pub path: Vec<Interval>,
    /// What the colours mean.
    pub legend: Vec<(Colour, String)>,
}

/// A line from a lane at one time to a lane at another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arrow {
    /// Where it begins: time and lane.
    pub from: (f64, usize),
    /// Where it ends.
    pub to: (f64, usize),
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
/// Intervals that are drawn one by one.
pub(crate) const MAX_VECTORS: usize = 6000;
/// Arrows that are drawn.
pub(crate) const MAX_ARROWS: usize = 3000;
/// With more lanes there are no gaps: they would be thinner than a pixel.
const MAX_GAPS: usize = 64;

type Chart<'a, DB> = ChartContext<'a, DB, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

impl Lanes {
    /// Other names of the axes, other colours of what the legend names.
    pub(crate) fn restyle(&mut self, (x, y): (Option<&str>, Option<&str>), colours: &Colours) {
        self.x_name = x.map_or_else(|| std::mem::take(&mut self.x_name), str::to_owned);
        self.y_name = y.map_or_else(|| std::mem::take(&mut self.y_name), str::to_owned);
        let n = self.legend.len();
        let mut others: BTreeMap<Colour, Colour> = BTreeMap::new();
        for (i, (colour, name)) in self.legend.iter_mut().enumerate() {
            let other = colours.of_entry(name, (i, n), *colour);
            others.entry(*colour).or_insert(other);
            *colour = other;
        }
        for interval in self.intervals.iter_mut().chain(&mut self.path) {
            interval.colour = others.get(&interval.colour).copied().unwrap_or(interval.colour);
        }
    }

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
            .x_label_formatter(&|x| mark(*x, (first, last)))
            .y_label_formatter(&text)
            .label_style(canvas.text(12, INK))
            .axis_desc_style(canvas.text(13, INK))
            .x_desc(self.x_name.clone())
            .y_desc(self.y_name.clone())
            .draw()
            .map_err(failed)?;
        self.draw_intervals(&mut chart, (first, last))?;
        let n_left_out = self.draw_arrows(&mut chart, canvas, (first, last))?;
        self.draw_path(&mut chart, canvas)?;
        let mut entries: Vec<LegendEntry<'_>> =
            self.legend.iter().map(|(colour, name)| LegendEntry { colour: *colour, name }).collect();
        let left_out = format!("{n_left_out} messages not drawn");
        if 0 < n_left_out {
            entries.push(LegendEntry { colour: Colour::INSIGNIFICANT, name: &left_out });
        }
        canvas.legend(&entries)
    }

    /// Half the height of an interval on its lane.
    fn half(&self) -> f64 {
        if self.names.len() <= MAX_GAPS { 0.38 } else { 0.5 }
    }

    fn draw_intervals<DB: DrawingBackend>(
        &self,
        chart: &mut Chart<'_, DB>,
        (first, last): (f64, f64),
    ) -> Result<(), PlotError> {
        if MAX_VECTORS < self.intervals.len() {
            return self.draw_pixels(chart, (first, last));
        }
        let least = (last - first) / N_PLACES;
        let mut drawn = BTreeSet::new();
        for &interval in &self.intervals {
            let Interval { lane, from_lane, range: (start, end), colour } = interval;
            let place = ((start - first) / least) as u32;
            if end - start < least && !drawn.insert((lane, place, colour)) {
                continue;
            }
            let y = lane as f64;
            let corners = [(start, y - self.half()), (end.max(start + least).min(last), y + self.half())];
            chart.draw_series([Rectangle::new(corners, rgb(colour).filled())]).map_err(failed)?;
            if let Some(from) = from_lane.filter(|&from| from != lane) {
                let line = [(start, from as f64), (end, y)];
                chart.draw_series([PathElement::new(line, INK)]).map_err(failed)?;
            }
        }
        Ok(())
    }

    /// All intervals as one image.
    fn draw_pixels<DB: DrawingBackend>(
        &self,
        chart: &mut Chart<'_, DB>,
        (first, last): (f64, f64),
    ) -> Result<(), PlotError> {
        let (width, height) = chart.plotting_area().dim_in_pixel();
        let n_lanes = self.names.len().max(1) as f64;
        let column = |time: f64| {
            ((time - first) / (last - first) * f64::from(width)).clamp(0.0, f64::from(width)) as u32
        };
        let line = |place: f64| ((place + 0.5) / n_lanes * f64::from(height)).round() as u32;
        let mut image = vec![255; width as usize * height as usize * 3];
        for &Interval { lane, range: (start, end), colour, .. } in &self.intervals {
            let left = column(start).min(width.saturating_sub(1));
            let right = column(end).max(left + 1);
            let top = line(lane as f64 - self.half()).min(height.saturating_sub(1));
            let bottom = line(lane as f64 + self.half()).clamp(top + 1, height);
            let pixel = rgb(colour);
            for y in top..bottom {
                let row = &mut image[(y * width + left) as usize * 3..(y * width + right) as usize * 3];
                for rgb in row.chunks_exact_mut(3) {
                    rgb.copy_from_slice(&[pixel.0, pixel.1, pixel.2]);
                }
            }
        }
        let element = BitMapElement::with_owned_buffer((first, -0.5), (width, height), image);
        let element = element.ok_or_else(|| PlotError::Draw("an image of the wrong size".to_owned()))?;
        chart.draw_series([element]).map_err(failed)?;
        Ok(())
    }

    /// Draws arrows, equal ones once; returns the number of those left out.
    fn draw_arrows<DB: DrawingBackend>(
        &self,
        chart: &mut Chart<'_, DB>,
        canvas: &Canvas<'_, DB>,
        (first, last): (f64, f64),
    ) -> Result<usize, PlotError> {
        let least = (last - first) / N_PLACES;
        let place = |time: f64| ((time - first) / least) as u32;
        let mut seen = BTreeSet::new();
        let mut arrows: Vec<&Arrow> = self
            .arrows
            .iter()
            .filter(|arrow| seen.insert((place(arrow.from.0), arrow.from.1, place(arrow.to.0), arrow.to.1)))
            .collect();
        let length = |arrow: &Arrow| (arrow.to.0 - arrow.from.0).abs();
        arrows.sort_by(|a, b| length(b).total_cmp(&length(a)));
        let n_left_out = arrows.len().saturating_sub(MAX_ARROWS);
        arrows.truncate(MAX_ARROWS);
        let style = INK.mix(0.6).stroke_width(canvas.px(1));
        for Arrow { from, to } in arrows {
            let ends = [(from.0, from.1 as f64), (to.0, to.1 as f64)];
            chart.draw_series([PathElement::new(ends, style)]).map_err(failed)?;
            let head = least * 3.0;
            let corners = [(to.0 - head, to.1 as f64 - 0.05), (to.0, to.1 as f64 + 0.05)];
            chart.draw_series([Rectangle::new(corners, INK.filled())]).map_err(failed)?;
        }
        Ok(n_left_out)
    }

    fn draw_path<DB: DrawingBackend>(
        &self,
        chart: &mut Chart<'_, DB>,
        canvas: &Canvas<'_, DB>,
    ) -> Result<(), PlotError> {
        for part in &self.path {
            let style = rgb(part.colour).stroke_width(canvas.px(3));
            let (start, end) = part.range;
            let from = part.from_lane.unwrap_or(part.lane);
            let line = [(start, from as f64), (end, part.lane as f64)];
            chart.draw_series([PathElement::new(line, style)]).map_err(failed)?;
        }
        Ok(())
    }
}
