//! Results as pictures, in SVG and PNG.
//!
//! ```text
//! output of an analysis ──pictures::…──► Picture (title, axes with units, marks) ──bytes──► .svg | .png
//! ```
//!
//! Law: equal outputs give equal files, on every machine: the font is part of the program. Every axis has a name and a
//! unit; the legend is beside the data; a region always has the same colour. A picture has a bounded number of marks,
//! whatever the size of the run: neighbours that would share a pixel are merged, and the axis reports it. [`colour`]s,
//! and numbers with [`units`] and [`ranks`] in words are here, too, as all front ends share them. This crate computes
//! no results.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod axis;
mod bars;
mod canvas;
pub mod colour;
pub mod fields;
mod lanes;
mod matrix;
mod palette;
pub mod pictures;
mod rows;
mod scores;
pub mod style;
mod svg;
#[cfg(test)]
mod tests;

pub use matrix::ColourScale;
pub use ouzel_model::units::{self, ranks};
pub use palette::Palette;
pub use style::{Colours, Style, origin};

use bars::Bars;
use canvas::Canvas;
use fields::Fields;
use lanes::Lanes;
use matrix::Matrix;
use plotters::prelude::{BitMapBackend, DrawingBackend, IntoDrawingArea};
use rows::BarRows;
use scores::Scores;
use std::path::{Path, PathBuf};

/// A picture, ready to be written.
#[derive(Debug, Clone)]
pub struct Picture {
    /// What it shows.
    title: String,
    /// Its source: the trace, the number of ranks.
    subtitle: String,
    marks: Marks,
    /// Points, width and height, if they are not the usual ones.
    size: (Option<u32>, Option<u32>),
}

/// What is drawn.
#[derive(Debug, Clone)]
enum Marks {
    Bars(Bars),
    Matrix(Matrix),
    Rows(BarRows),
    Lanes(Lanes),
    Fields(Fields),
    Scores(Scores),
}

/// Formats of pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageFormat {
    /// Scalable vector graphics.
    Svg,
    /// Portable network graphics.
    Png,
}

impl ImageFormat {
    /// The format by the ending of a file name.
    ///
    /// # Errors
    /// If the ending is unknown.
    pub fn of_path(path: &Path) -> Result<Self, PlotError> {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        match &*ending.to_ascii_lowercase() {
            "svg" => Ok(ImageFormat::Svg),
            "png" => Ok(ImageFormat::Png),
            _ => Err(PlotError::UnknownEnding { path: path.to_owned() }),
        }
    }
}

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
pub enum PlotError {
    /// The ending of the file name is unknown.
    #[error("a picture's name must end in .svg or .png, unlike {path:?}")]
    UnknownEnding {
        /// The file.
        path: PathBuf,
    },
    /// The drawing library failed.
    #[error("cannot draw: {0}")]
    Draw(String),
}

/// Points of most pictures, width and height; a PNG has twice as many pixels.
const SIZE: (u32, u32) = (1100, 620);
const PNG_SCALE: u32 = 2;
/// Points of a matrix, which is a square with a scale beside it.
const MATRIX_SIZE: (u32, u32) = (780, 620);

impl Picture {
    fn new(title: impl Into<String>, subtitle: &str, marks: Marks) -> Self {
        Picture { title: title.into(), subtitle: subtitle.to_owned(), marks, size: (None, None) }
    }

    /// The same in another style. Sizes are held within [`style::SIZES`]; the size of fields follows from their number.
    #[must_use]
    pub fn styled(mut self, style: &Style) -> Self {
        let Style { title, subtitle, width, height, x_name, y_name, colours } = style;
        self.title = title.clone().unwrap_or(self.title);
        self.subtitle = subtitle.clone().unwrap_or(self.subtitle);
        let (least, most) = style::SIZES;
        self.size = (width.map(|w| w.clamp(least, most)), height.map(|h| h.clamp(least, most)));
        let names = (x_name.as_deref(), y_name.as_deref());
        match &mut self.marks {
            Marks::Bars(bars) => bars.restyle(names, colours),
            Marks::Matrix(matrix) => matrix.restyle(names, colours),
            Marks::Rows(rows) => rows.restyle(names, colours),
            Marks::Lanes(lanes) => lanes.restyle(names, colours),
            Marks::Fields(fields) => fields.restyle(colours),
            Marks::Scores(_) => {}
        }
        self
    }

    /// Points, width and height.
    fn size(&self) -> (u32, u32) {
        let (width, height) = match &self.marks {
            Marks::Fields(fields) => return fields.size(),
            Marks::Matrix(_) => MATRIX_SIZE,
            Marks::Bars(_) | Marks::Rows(_) | Marks::Lanes(_) | Marks::Scores(_) => SIZE,
        };
        (self.size.0.unwrap_or(width), self.size.1.unwrap_or(height))
    }

    /// Points of the legend beside the marks: as much as its names need.
    fn legend_width(&self) -> u32 {
        match &self.marks {
            Marks::Fields(_) => 0,
            Marks::Matrix(matrix) => canvas::legend_width([matrix.scale_name().as_str()]),
            Marks::Bars(bars) => canvas::legend_width(bars.series.iter().map(|series| &*series.name)),
            Marks::Rows(rows) => canvas::legend_width(rows.legend),
            Marks::Lanes(lanes) => canvas::legend_width(lanes.legend.iter().map(|(_, name)| &**name)),
            Marks::Scores(_) => canvas::LEGEND_WIDTH,
        }
    }

    /// The picture as the text of an SVG file.
    ///
    /// # Errors
    /// If the drawing library fails.
    pub fn svg(&self) -> Result<String, PlotError> {
        let (mut text, mut images) = (String::new(), Vec::new());
        self.draw(svg::SvgWithImages::new(&mut text, &mut images, self.size()), 1)?;
        Ok(svg::embed(&text, &images))
    }

    /// The picture as the bytes of a PNG file.
    ///
    /// # Errors
    /// If the drawing library fails.
    pub fn png(&self) -> Result<Vec<u8>, PlotError> {
        let (width, height) = self.size();
        let (width, height) = (width * PNG_SCALE, height * PNG_SCALE);
        let mut rgb = vec![0; (width * height * 3) as usize];
        self.draw(BitMapBackend::with_buffer(&mut rgb, (width, height)), PNG_SCALE)?;
        png_of((width, height), &rgb).map_err(|error| PlotError::Draw(error.to_string()))
    }

    /// The picture as the bytes of a file.
    ///
    /// # Errors
    /// If the drawing library fails.
    pub fn bytes(&self, format: ImageFormat) -> Result<Vec<u8>, PlotError> {
        match format {
            ImageFormat::Svg => Ok(self.svg()?.into_bytes()),
            ImageFormat::Png => self.png(),
        }
    }

    fn draw<DB: DrawingBackend>(&self, backend: DB, scale: u32) -> Result<(), PlotError> {
        let root = backend.into_drawing_area();
        let canvas = Canvas::begin(&root, (scale, self.legend_width()), &self.title, &self.subtitle)?;
        match &self.marks {
            Marks::Bars(bars) => bars.draw(&canvas)?,
            Marks::Matrix(matrix) => matrix.draw(&canvas)?,
            Marks::Rows(rows) => rows.draw(&canvas)?,
            Marks::Lanes(lanes) => lanes.draw(&canvas)?,
            Marks::Fields(fields) => fields.draw(&canvas)?,
            Marks::Scores(scores) => scores.draw(&canvas)?,
        }
        root.present().map_err(canvas::failed)
    }
}

/// A PNG file of `rgb` pixels, row by row.
fn png_of((width, height): (u32, u32), rgb: &[u8]) -> Result<Vec<u8>, png::EncodingError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(rgb)?;
    writer.finish()?;
    Ok(bytes)
}
