//! Horizontal bars with names: a pale one for the larger of two values, a dark one for the smaller.

use crate::PlotError;
use crate::axis::number;
use crate::canvas::{Canvas, GRID, INK, LegendEntry, failed, rgb, shortened};
use crate::colour::Colour;
use crate::style::Colours;
use plotters::chart::ChartBuilder;
use plotters::prelude::{Color, DrawingBackend, Rectangle, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Horizontal bars with names.
#[derive(Debug, Clone)]
pub struct BarRows {
    /// The axis below, with the unit.
    pub x_name: String,
    /// Names of the pale and the dark bar.
    pub legend: [&'static str; 2],
    /// From top to bottom.
    pub rows: Vec<BarRow>,
}

/// Two bars of one thing.
#[derive(Debug, Clone)]
pub struct BarRow {
    /// Its name.
    pub name: String,
    /// The text after its bars.
    pub note: String,
    /// Its colour.
    pub colour: Colour,
    /// Length of the pale bar.
    pub larger: f64,
    /// Length of the dark bar.
    pub smaller: f64,
}

/// Characters of a name.
const NAME_CHARS: usize = 26;

impl BarRows {
    /// Another name of the axis below, other colours of the rows.
    pub(crate) fn restyle(&mut self, (x, _): (Option<&str>, Option<&str>), colours: &Colours) {
        self.x_name = x.map_or_else(|| std::mem::take(&mut self.x_name), str::to_owned);
        let n = self.rows.len();
        for (i, row) in self.rows.iter_mut().enumerate() {
            row.colour = colours.of_entry(&row.name, (i, n), row.colour);
        }
    }

    /// Points of the names' column: as much as they need.
    fn names_width(&self) -> u32 {
        let longest = self.rows.iter().map(|row| row.name.chars().count().min(NAME_CHARS)).max().unwrap_or(0);
        28 + 7 * longest as u32
    }

    /// Draws the rows.
    pub fn draw<DB: DrawingBackend>(&self, canvas: &Canvas<'_, DB>) -> Result<(), PlotError> {
        let n = self.rows.len().max(1) as f64;
        let largest = self.rows.iter().map(|row| row.larger).fold(0.0, f64::max);
        // There is room for a note after the longest bar.
        let right = if largest <= 0.0 { 1.0 } else { largest * 1.16 };
        let mut chart = ChartBuilder::on(&canvas.plot)
            .margin(canvas.px(12))
            .x_label_area_size(canvas.px(48))
            .y_label_area_size(canvas.px(self.names_width()))
            .build_cartesian_2d(0.0..right, n - 0.5..-0.5)
            .map_err(failed)?;
        let text = |place: &f64| {
            let is_whole = (place - place.round()).abs() < 1e-6 && -0.5 < *place;
            let row = is_whole.then(|| self.rows.get(place.round() as usize)).flatten();
            row.map(|row| shortened(&row.name, NAME_CHARS)).unwrap_or_default()
        };
        chart
            .configure_mesh()
            .disable_y_mesh()
            .light_line_style(GRID.mix(0.0))
            .bold_line_style(GRID)
            .axis_style(INK)
            .x_labels(8)
            .y_labels(self.rows.len() * 2 + 1)
            .x_label_formatter(&|x| number(*x))
            .y_label_formatter(&text)
            .label_style(canvas.text(12, INK))
            .axis_desc_style(canvas.text(13, INK))
            .x_desc(self.x_name.clone())
            .draw()
            .map_err(failed)?;
        let note = canvas.text(11, INK).pos(Pos::new(HPos::Left, VPos::Center));
        for (i, row) in self.rows.iter().enumerate() {
            let y = i as f64;
            let bar = |length: f64, half: f64, colour: Colour| {
                Rectangle::new([(0.0, y - half), (length, y + half)], rgb(colour).filled())
            };
            let pale = Colour { alpha: 90, ..row.colour };
            chart
                .draw_series([bar(row.larger, 0.36, pale), bar(row.smaller, 0.2, row.colour)])
                .map_err(failed)?;
            let place = (row.larger + largest * 0.008, y);
            chart.draw_series([Text::new(row.note.clone(), place, note.clone())]).map_err(failed)?;
        }
        let grey = Colour { rgb: [90, 96, 108], alpha: 255 };
        canvas.legend(&[
            LegendEntry { colour: Colour { alpha: 90, ..grey }, name: self.legend[0] },
            LegendEntry { colour: grey, name: self.legend[1] },
        ])
    }
}
