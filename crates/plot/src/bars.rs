//! Bars over an axis of numbers: stacked or side by side.
//!
//! Law: at most [`MAX_BARS`] bars; if there are more, neighbours are merged into their mean.

use crate::PlotError;
use crate::axis::{mark, number};
use crate::canvas::{Canvas, GRID, INK, LegendEntry, failed, rgb, shortened};
use crate::colour::Colour;
use crate::style::Colours;
use plotters::chart::ChartBuilder;
use plotters::prelude::{Color, DrawingBackend, PathElement, RGBColor, Rectangle};

/// More bars would be thinner than two points.
pub(crate) const MAX_BARS: usize = 400;

/// More bars than this touch each other.
const MAX_APART: usize = 100;

/// Bars over an axis of numbers.
#[derive(Debug, Clone)]
pub struct Bars {
    /// The axis below: its name with the unit.
    pub x_name: String,
    /// The axis to the left: its name with the unit.
    pub y_name: String,
    /// Edges of the bars, one more than there are.
    pub edges: Vec<f64>,
    /// The labels below.
    pub ticks: Ticks,
    /// The series, the lowest first.
    pub series: Vec<Series>,
    /// How series are arranged.
    pub arrangement: Arrangement,
}

/// Values of one colour.
#[derive(Debug, Clone)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Its colour.
    pub colour: Colour,
    /// One for each bar.
    pub values: Vec<f64>,
}

/// The labels below bars.
#[derive(Debug, Clone)]
pub enum Ticks {
    /// Numbers at round places.
    Numbers,
    /// The name of bar `i`, which reaches from `i − ½` to `i + ½`.
    Names(Vec<String>),
    /// The name of edge `i`.
    Edges(Vec<String>),
}

/// How series are arranged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrangement {
    /// On top of each other.
    Stacked,
    /// Side by side.
    Beside,
}

impl Bars {
    /// Bars of things with names, such as ranks: the edges of bar `i` are `i − ½` and `i + ½`.
    pub(crate) fn named_edges(n: usize) -> Vec<f64> {
        (0..=n).map(|i| i as f64 - 0.5).collect()
    }

    /// The same with at most [`MAX_BARS`] bars: means of `⌈n / MAX_BARS⌉` neighbours.
    pub fn bounded(mut self) -> Self {
        let n = self.edges.len().saturating_sub(1);
        let n_together = n.div_ceil(MAX_BARS).max(1);
        if n_together == 1 {
            return self;
        }
        for series in &mut self.series {
            let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
            series.values = series.values.chunks(n_together).map(mean).collect();
        }
        let last = self.edges[n];
        self.edges = self.edges[..n].iter().copied().step_by(n_together).chain([last]).collect();
        self.y_name = format!("{}, mean of {n_together} neighbours", self.y_name);
        self
    }

    /// Other names of the axes, other colours.
    pub(crate) fn restyle(&mut self, (x, y): (Option<&str>, Option<&str>), colours: &Colours) {
        self.x_name = x.map_or_else(|| std::mem::take(&mut self.x_name), str::to_owned);
        self.y_name = y.map_or_else(|| std::mem::take(&mut self.y_name), str::to_owned);
        let n = self.series.len();
        for (i, series) in self.series.iter_mut().enumerate() {
            series.colour = colours.of_entry(&series.name, (i, n), series.colour);
        }
    }

    /// Draws the bars and their legend.
    pub fn draw<DB: DrawingBackend>(&self, canvas: &Canvas<'_, DB>) -> Result<(), PlotError> {
        let n = self.edges.len().saturating_sub(1);
        let total = |i: usize| -> f64 {
            let values = self.series.iter().map(|series| series.values.get(i).copied().unwrap_or(0.0));
            match self.arrangement {
                Arrangement::Stacked => values.sum(),
                Arrangement::Beside => values.fold(0.0, f64::max),
            }
        };
        let largest = (0..n).map(total).fold(0.0, f64::max);
        let top = if largest <= 0.0 { 1.0 } else { largest * 1.04 };
        let (first, last) = match (self.edges.first(), self.edges.last()) {
            (Some(&first), Some(&last)) if first < last => (first, last),
            (Some(&first), _) => (first, first + 1.0),
            (None, _) => (0.0, 1.0),
        };
        let mut chart = ChartBuilder::on(&canvas.plot)
            .margin(canvas.px(12))
            .x_label_area_size(canvas.px(48))
            .y_label_area_size(canvas.px(76))
            .build_cartesian_2d(first..last, 0.0..top)
            .map_err(failed)?;
        let x_text = |x: &f64| self.ticks.text(*x, (first, last));
        let n_labels = match &self.ticks {
            Ticks::Numbers => 9,
            Ticks::Names(names) => names.len().clamp(1, 24) + 1,
            Ticks::Edges(names) => names.len().clamp(1, 14),
        };
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(GRID.mix(0.0))
            .bold_line_style(GRID)
            .axis_style(INK)
            .x_labels(n_labels)
            .y_labels(8)
            .x_label_formatter(&x_text)
            .y_label_formatter(&|y| number(*y))
            .label_style(canvas.text(12, INK))
            .axis_desc_style(canvas.text(13, INK))
            .x_desc(self.x_name.clone())
            .y_desc(self.y_name.clone())
            .draw()
            .map_err(failed)?;
        // There are gaps between named things, but not between neighbours in time.
        let gap = if matches!(self.ticks, Ticks::Names(_)) && n <= MAX_APART { 0.06 } else { 0.0 };
        for i in 0..n {
            let (left, right) = (self.edges[i], self.edges[i + 1]);
            let mut below = 0.0;
            for (k, series) in self.series.iter().enumerate() {
                let value = series.values.get(i).copied().unwrap_or(0.0);
                if value <= 0.0 {
                    continue;
                }
                let corners = match self.arrangement {
                    Arrangement::Stacked => {
                        below += value;
                        [(left + gap, below - value), (right - gap, below)]
                    }
                    Arrangement::Beside => {
                        // A tenth of a bar's width on either side is left free.
                        let width = (right - left) * 0.8 / self.series.len() as f64;
                        let from = left + (right - left) * 0.1 + width * k as f64;
                        [(from, 0.0), (from + width, value)]
                    }
                };
                let style = rgb(series.colour).filled();
                chart.draw_series([Rectangle::new(corners, style)]).map_err(failed)?;
                // A white line separates neighbours of similar colours.
                if self.arrangement == Arrangement::Stacked && largest * 0.005 < value {
                    let ((from, _), (to, top)) = (corners[0], corners[1]);
                    let line = PathElement::new([(from, top), (to, top)], RGBColor(255, 255, 255));
                    chart.draw_series([line]).map_err(failed)?;
                }
            }
        }
        fn entry(series: &Series) -> LegendEntry<'_> {
            LegendEntry { colour: series.colour, name: &series.name }
        }
        // In the order of the bars: the uppermost first.
        match self.arrangement {
            Arrangement::Stacked => canvas.legend(&self.series.iter().rev().map(entry).collect::<Vec<_>>()),
            Arrangement::Beside => canvas.legend(&self.series.iter().map(entry).collect::<Vec<_>>()),
        }
    }
}

/// Characters of a name below a bar.
const TICK_CHARS: usize = 10;

impl Ticks {
    fn text(&self, x: f64, range: (f64, f64)) -> String {
        let is_whole = (x - x.round()).abs() < 1e-6 && -0.5 < x;
        match self {
            Ticks::Numbers => mark(x, range),
            Ticks::Names(names) | Ticks::Edges(names) if is_whole => {
                names.get(x.round() as usize).map(|name| shortened(name, TICK_CHARS)).unwrap_or_default()
            }
            Ticks::Names(_) | Ticks::Edges(_) => String::new(),
        }
    }
}
