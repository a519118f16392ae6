//! A square of coloured cells, row by column: the darker, the larger.
//!
//! Law: at most [`MAX_CELLS`] rows and columns; beyond that neighbours are summed, and the scale's title reports it.

use crate::PlotError;
use crate::axis::number;
use crate::canvas::{Canvas, GRID, INK, failed, rgb};
use crate::colour::Colour;
use crate::palette::Palette;
use crate::style::Colours;
use plotters::chart::ChartBuilder;
use plotters::prelude::{Color, DrawingBackend, Rectangle, Text};

/// More cells would be thinner than three points.
pub(crate) const MAX_CELLS: usize = 160;

/// How values become colours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ColourScale {
    /// Equal steps are equal differences.
    #[default]
    Linear,
    /// Equal steps are equal ratios.
    Logarithmic,
}

/// A square of coloured cells.
#[derive(Debug, Clone)]
pub struct Matrix {
    /// The axis below.
    pub x_name: String,
    /// The axis to the left.
    pub y_name: String,
    /// What the colours mean, with the unit.
    pub value_name: String,
    /// Names of rows and columns.
    pub names: Vec<String>,
    /// Row, column, value; in order, none twice.
    pub cells: Vec<(usize, usize, f64)>,
    /// How values become colours.
    pub scale: ColourScale,
    /// The scale of colours; without one, from yellow to dark blue.
    pub palette: Option<Palette>,
}

impl Matrix {
    /// The same with at most [`MAX_CELLS`] rows and columns: sums over squares of neighbours.
    pub fn bounded(mut self) -> Self {
        let n_together = self.names.len().div_ceil(MAX_CELLS).max(1);
        if n_together == 1 {
            return self;
        }
        let n = self.names.len().div_ceil(n_together);
        let mut sums = vec![0.0; n * n];
        for &(row, column, value) in &self.cells {
            sums[row / n_together * n + column / n_together] += value;
        }
        let cells = sums.into_iter().enumerate().filter(|(_, value)| 0.0 < *value);
        self.cells = cells.map(|(i, value)| (i / n, i % n, value)).collect();
        self.names = self.names.into_iter().step_by(n_together).collect();
        self.value_name = format!("{}, {n_together} × {n_together} ranks", self.value_name);
        self
    }

    /// Other names of the axes, another scale of colours.
    pub(crate) fn restyle(&mut self, (x, y): (Option<&str>, Option<&str>), colours: &Colours) {
        self.x_name = x.map_or_else(|| std::mem::take(&mut self.x_name), str::to_owned);
        self.y_name = y.map_or_else(|| std::mem::take(&mut self.y_name), str::to_owned);
        if let Colours::Scale(palette) = colours {
            self.palette = Some(*palette);
        }
    }

    /// What is written over the scale: what the values are, and whether equal steps are equal ratios.
    pub(crate) fn scale_name(&self) -> String {
        match self.scale {
            ColourScale::Linear => self.value_name.clone(),
            ColourScale::Logarithmic => format!("{}, logarithmic", self.value_name),
        }
    }

    /// The range of the values that are not zero.
    fn range(&self) -> (f64, f64) {
        let values = || self.cells.iter().map(|cell| cell.2).filter(|value| 0.0 < *value);
        let (min, max) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
        if max <= 0.0 { (0.0, 1.0) } else { (min, max) }
    }

    /// Draws the cells and the scale of colours.
    pub fn draw<DB: DrawingBackend>(&self, canvas: &Canvas<'_, DB>) -> Result<(), PlotError> {
        let n = self.names.len().max(1) as f64;
        // A square: the rest of the sheet's width stays free.
        let (width, height) = canvas.plot.dim_in_pixel();
        let free = width.saturating_sub(height + canvas.px(24));
        let area = canvas.plot.margin(0, 0, (free / 2) as i32, (free / 2) as i32);
        let mut chart = ChartBuilder::on(&area)
            .margin(canvas.px(12))
            .x_label_area_size(canvas.px(48))
            .y_label_area_size(canvas.px(64))
            // Rank 0 is at the top.
            .build_cartesian_2d(-0.5..n - 0.5, n - 0.5..-0.5)
            .map_err(failed)?;
        let text = |place: &f64| {
            let is_whole = (place - place.round()).abs() < 1e-6 && -0.5 < *place;
            let name = is_whole.then(|| self.names.get(place.round() as usize)).flatten();
            name.cloned().unwrap_or_default()
        };
        let n_labels = self.names.len().clamp(1, 16) + 1;
        chart
            .configure_mesh()
            .disable_mesh()
            .axis_style(INK)
            .x_labels(n_labels)
            .y_labels(n_labels)
            .x_label_formatter(&text)
            .y_label_formatter(&text)
            .label_style(canvas.text(12, INK))
            .axis_desc_style(canvas.text(13, INK))
            .x_desc(self.x_name.clone())
            .y_desc(self.y_name.clone())
            .draw()
            .map_err(failed)?;
        let range = self.range();
        for row in self.cells.chunk_by(|a, b| a.0 == b.0) {
            // Neighbours of one colour are one rectangle.
            for run in
                row.chunk_by(|a, b| a.1 + 1 == b.1 && self.colour(a.2, range) == self.colour(b.2, range))
            {
                let (row, first, value) = run[0];
                let last = run[run.len() - 1].1;
                let corners = [(first as f64 - 0.5, row as f64 - 0.5), (last as f64 + 0.5, row as f64 + 0.5)];
                let style = rgb(self.colour(value, range)).filled();
                chart.draw_series([Rectangle::new(corners, style)]).map_err(failed)?;
            }
        }
        let frame = Rectangle::new([(-0.5, -0.5), (n - 0.5, n - 0.5)], INK);
        chart.draw_series([frame]).map_err(failed)?;
        self.draw_scale(canvas, range)
    }

    fn colour(&self, value: f64, (min, max): (f64, f64)) -> Colour {
        if value <= 0.0 {
            return Colour { rgb: [255; 3], alpha: 255 };
        }
        let part = match self.scale {
            ColourScale::Linear => value / max,
            ColourScale::Logarithmic if min < max => (value / min).ln() / (max / min).ln(),
            ColourScale::Logarithmic => 1.0,
        };
        // The eye cannot distinguish more than 64 steps.
        let part = (part.clamp(0.0, 1.0) * 64.0).round() / 64.0;
        self.palette.map_or_else(|| Colour::of_part(part), |palette| palette.colour(part))
    }

    fn draw_scale<DB: DrawingBackend>(
        &self,
        canvas: &Canvas<'_, DB>,
        (min, max): (f64, f64),
    ) -> Result<(), PlotError> {
        const N_STEPS: i32 = 64;
        const HEIGHT: u32 = 320;
        let area = canvas.legend_area();
        let px = |points: u32| canvas.px(points) as i32;
        area.draw(&Text::new(self.scale_name(), (px(8), px(8)), canvas.text(12, INK))).map_err(failed)?;
        let (top, height) = (px(36), px(HEIGHT));
        let value_at = |part: f64| match self.scale {
            ColourScale::Linear => max * part,
            ColourScale::Logarithmic => min * (max / min).powf(part),
        };
        for step in 0..N_STEPS {
            let part = (f64::from(step) + 0.5) / f64::from(N_STEPS);
            let y = |step: i32| top + height - height * step / N_STEPS;
            let corners = [(px(8), y(step + 1)), (px(30), y(step))];
            let style = rgb(self.colour(value_at(part), (min, max))).filled();
            area.draw(&Rectangle::new(corners, style)).map_err(failed)?;
        }
        let frame = [(px(8), top), (px(30), top + height)];
        area.draw(&Rectangle::new(frame, GRID)).map_err(failed)?;
        let fifths = if self.scale == ColourScale::Logarithmic && max <= min { 5..=5_u32 } else { 0..=5 };
        for fifth in fifths {
            let part = f64::from(fifth) / 5.0;
            let y = top + height - (f64::from(height) * part) as i32;
            let label = Text::new(number(value_at(part)), (px(38), y - px(7)), canvas.text(12, INK));
            area.draw(&label).map_err(failed)?;
        }
        let none = [(px(8), top + height + px(16)), (px(30), top + height + px(30))];
        area.draw(&Rectangle::new(none, GRID)).map_err(failed)?;
        let label = Text::new("none", (px(38), top + height + px(16)), canvas.text(12, INK));
        area.draw(&label).map_err(failed)
    }
}
