//! A table of scores: rows with names that are indented, columns with headings, cells coloured by their values.
//!
//! Law: at most [`MAX_COLUMNS`] columns; the caller says how many are left out.

use crate::PlotError;
use crate::canvas::{Canvas, GRID, INK, LegendEntry, PALE_INK, failed, rgb, shortened};
use crate::colour::Colour;
use plotters::prelude::{Color, DrawingBackend, Rectangle, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// More columns would be too narrow for a percentage.
pub(crate) const MAX_COLUMNS: usize = 8;

/// A table of scores.
#[derive(Debug, Clone)]
pub struct Scores {
    /// Headings: each of up to two lines.
    pub columns: Vec<[String; 2]>,
    /// From top to bottom.
    pub rows: Vec<ScoreRow>,
    /// What is worth attention lies below.
    pub mark: f64,
}

/// One score in all columns.
#[derive(Debug, Clone)]
pub struct ScoreRow {
    /// Its name.
    pub name: String,
    /// How far the name is indented.
    pub depth: u32,
    /// By column; `None` where it is not known.
    pub values: Vec<Option<f64>>,
}

/// Points of the names' column, of a step of indentation, and of the headings.
const NAMES_WIDTH: u32 = 290;
const INDENT: u32 = 16;
const HEADING_HEIGHT: u32 = 44;
/// Most points of a row, and of a column.
const ROW_HEIGHT: u32 = 30;
const COLUMN_WIDTH: u32 = 110;
/// Points of a character in a heading.
const CHARACTER_WIDTH: u32 = 8;

impl Scores {
    /// The same with at most [`MAX_COLUMNS`] columns.
    pub fn bounded(mut self) -> Self {
        self.columns.truncate(MAX_COLUMNS);
        self.rows.iter_mut().for_each(|row| row.values.truncate(MAX_COLUMNS));
        self
    }

    /// Draws the table and the scale of colours.
    pub fn draw<DB: DrawingBackend>(&self, canvas: &Canvas<'_, DB>) -> Result<(), PlotError> {
        let (width, height) = canvas.plot.dim_in_pixel();
        let left = canvas.px(NAMES_WIDTH);
        let top = canvas.px(HEADING_HEIGHT);
        let n_columns = self.columns.len().max(1) as u32;
        let n_rows = self.rows.len().max(1) as u32;
        let column = (width.saturating_sub(left + canvas.px(12)) / n_columns).min(canvas.px(COLUMN_WIDTH));
        let row = (height.saturating_sub(top + canvas.px(16)) / n_rows).min(canvas.px(ROW_HEIGHT));
        let at = |x: u32, y: u32| (x as i32, y as i32);
        let centred = |points, ink| canvas.text(points, ink).pos(Pos::new(HPos::Center, VPos::Center));
        let n_chars = (column / canvas.px(CHARACTER_WIDTH)).max(4) as usize;
        for (heading, i) in self.columns.iter().zip(0..) {
            let x = left + column * i + column / 2;
            for (line, (y, ink)) in heading.iter().zip([(12, INK), (30, PALE_INK)]) {
                let text = Text::new(shortened(line, n_chars), at(x, canvas.px(y)), centred(13, ink));
                canvas.plot.draw(&text).map_err(failed)?;
            }
        }
        let named = canvas.text(14, INK).pos(Pos::new(HPos::Left, VPos::Center));
        for (score, i) in self.rows.iter().zip(0..) {
            let y = top + row * i;
            let x = canvas.px(20 + INDENT * score.depth);
            let name = Text::new(shortened(&score.name, 40), at(x, y + row / 2), named.clone());
            canvas.plot.draw(&name).map_err(failed)?;
            for (value, i) in score.values.iter().zip(0..) {
                let x = left + column * i;
                let corners = [at(x, y), at(x + column, y + row)];
                let fill = value.map_or(Colour { rgb: [255; 3], alpha: 255 }, |value| self.colour(value));
                canvas.plot.draw(&Rectangle::new(corners, rgb(fill).filled())).map_err(failed)?;
                canvas.plot.draw(&Rectangle::new(corners, GRID)).map_err(failed)?;
                let text =
                    value.map_or_else(|| "–".to_owned(), |value| ouzel_model::units::percent(Some(value)));
                let place = at(x + column / 2, y + row / 2);
                canvas.plot.draw(&Text::new(text, place, centred(14, INK))).map_err(failed)?;
            }
        }
        self.legend(canvas)
    }

    fn legend<DB: DrawingBackend>(&self, canvas: &Canvas<'_, DB>) -> Result<(), PlotError> {
        let mark = ouzel_model::units::percent(Some(self.mark));
        let entries = [
            (self.colour(1.0), "100 % and more".to_owned()),
            (self.colour(self.mark), format!("from {mark}: acceptable")),
            (self.colour(self.mark - 0.01), format!("below {mark}")),
            (self.colour(0.0), "0 %".to_owned()),
            (Colour { rgb: [255; 3], alpha: 255 }, "–  not known".to_owned()),
        ];
        let entries: Vec<LegendEntry<'_>> =
            entries.iter().map(|(colour, name)| LegendEntry { colour: *colour, name }).collect();
        canvas.legend(&entries)
    }

    /// Green from the mark on, orange below it: colours that colour-blind readers tell apart, too.
    fn colour(&self, value: f64) -> Colour {
        const GOOD: [u8; 3] = [0, 158, 115];
        const BAD: [u8; 3] = [213, 94, 0];
        let alpha = |from: f64, to: f64, part: f64| (from + (to - from) * part.clamp(0.0, 1.0)) as u8;
        if self.mark <= value {
            Colour { rgb: GOOD, alpha: alpha(60.0, 150.0, (value - self.mark) / (1.0 - self.mark)) }
        } else {
            Colour { rgb: BAD, alpha: alpha(60.0, 210.0, (self.mark - value) / self.mark) }
        }
    }
}
