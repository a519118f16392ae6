//! The sheet: title, room for the marks, a legend beside them.

use crate::PlotError;
use crate::colour::Colour;
use ouzel_model::visible;
use plotters::coord::Shift;
use plotters::prelude::{Color, DrawingArea, DrawingBackend, FontStyle, Rectangle, Text};
use plotters::style::{IntoFont, RGBColor, TextStyle, register_font};
use std::sync::LazyLock;

/// The one font of all pictures, as SVG files name it.
pub(crate) const FONT: &str = "sans-serif";
/// Ink of text and axes.
pub(crate) const INK: RGBColor = RGBColor(40, 44, 52);
/// Ink of less important text.
pub(crate) const PALE_INK: RGBColor = RGBColor(100, 106, 116);
/// Lines behind the marks.
pub(crate) const GRID: RGBColor = RGBColor(222, 225, 230);

/// The font of the program for bitmaps, and for the widths of text: registered once.
static REGISTERED: LazyLock<bool> = LazyLock::new(|| {
    register_font(FONT, FontStyle::Normal, dejavu::sans::regular()).is_ok()
        && register_font(FONT, FontStyle::Bold, dejavu::sans::bold()).is_ok()
});

/// An area with the scale of its pixels.
pub struct Canvas<'a, DB: DrawingBackend> {
    /// Left of the legend, below the title.
    pub plot: DrawingArea<DB, Shift>,
    /// The legend's place.
    legend: DrawingArea<DB, Shift>,
    scale: u32,
    _root: &'a DrawingArea<DB, Shift>,
}

/// One line of a legend.
pub struct LegendEntry<'a> {
    /// Its colour.
    pub colour: Colour,
    /// Its name.
    pub name: &'a str,
}

const TITLE_HEIGHT: u32 = 64;
/// Most points of a legend, and fewest, which the line about messages that are not drawn needs.
pub const LEGEND_WIDTH: u32 = 250;
const LEGEND_LEAST: u32 = 120;
/// Points of a character of a legend, and of what is beside the names.
const CHARACTER: u32 = 7;
const BESIDE: u32 = 46;
/// Characters of a name in the legend.
const NAME_CHARS: usize = 28;

/// Points that a legend with these names needs.
pub fn legend_width<'a>(names: impl IntoIterator<Item = &'a str>) -> u32 {
    let longest = names.into_iter().map(|name| name.chars().count().min(NAME_CHARS)).max().unwrap_or(0);
    (BESIDE + CHARACTER * longest as u32).clamp(LEGEND_LEAST, LEGEND_WIDTH)
}

/// The drawing library's error as a [`PlotError`].
pub fn failed(error: impl std::fmt::Display) -> PlotError {
    PlotError::Draw(error.to_string())
}

impl<'a, DB: DrawingBackend> Canvas<'a, DB> {
    /// A white sheet with a title; `scale` in pixels of a point, the width of the legend in points.
    pub fn begin(
        root: &'a DrawingArea<DB, Shift>,
        (scale, legend_width): (u32, u32),
        title: &str,
        subtitle: &str,
    ) -> Result<Self, PlotError> {
        if !*REGISTERED {
            return Err(PlotError::Draw("the built-in font cannot be read".to_owned()));
        }
        root.fill(&RGBColor(255, 255, 255)).map_err(failed)?;
        let (head, body) = root.split_vertically((TITLE_HEIGHT * scale) as i32);
        let width = body.dim_in_pixel().0;
        let (plot, legend) = body.split_horizontally((width - legend_width * scale) as i32);
        let canvas = Canvas { plot, legend, scale, _root: root };
        let at = |x: u32, y: u32| ((x * scale) as i32, (y * scale) as i32);
        let style = canvas.text(19, INK);
        head.draw(&Text::new(title.to_owned(), at(20, 12), style)).map_err(failed)?;
        let style = canvas.text(13, PALE_INK);
        head.draw(&Text::new(subtitle.to_owned(), at(20, 39), style)).map_err(failed)?;
        Ok(canvas)
    }

    /// `points` of the sheet in pixels.
    pub fn px(&self, points: u32) -> u32 {
        points * self.scale
    }

    /// A style of text, its size in points.
    pub fn text(&self, points: u32, colour: RGBColor) -> TextStyle<'static> {
        (FONT, self.px(points)).into_font().color(&colour)
    }

    /// The legend's place, for scales of colours.
    pub(crate) fn legend_area(&self) -> &DrawingArea<DB, Shift> {
        &self.legend
    }

    /// One line for each entry, the first at the top.
    pub fn legend(&self, entries: &[LegendEntry<'_>]) -> Result<(), PlotError> {
        let px = |points: u32| self.px(points) as i32;
        for (entry, i) in entries.iter().zip(0_u32..) {
            let y = px(8 + 24 * i);
            let corner = [(px(8), y), (px(8) + px(14), y + px(14))];
            self.legend.draw(&Rectangle::new(corner, rgb(entry.colour).filled())).map_err(failed)?;
            let name = shortened(entry.name, NAME_CHARS);
            self.legend.draw(&Text::new(name, (px(30), y + px(3)), self.text(12, INK))).map_err(failed)?;
        }
        Ok(())
    }
}

/// An opaque colour for the drawing library, blended with white.
pub fn rgb(colour: Colour) -> RGBColor {
    let over_white = |c: u8| {
        let alpha = u32::from(colour.alpha);
        ((u32::from(c) * alpha + 255 * (255 - alpha) + 127) / 255) as u8
    };
    let [r, g, b] = colour.rgb.map(over_white);
    RGBColor(r, g, b)
}

/// `text` with invisible characters escaped, in at most `n_chars`, cut in the middle.
pub fn shortened(text: &str, n_chars: usize) -> String {
    let chars: Vec<char> = visible(text).chars().collect();
    if chars.len() <= n_chars {
        return chars.into_iter().collect();
    }
    let n_back = n_chars.saturating_sub(1) / 2;
    let n_front = n_chars.saturating_sub(1) - n_back;
    let (front, back) = (&chars[..n_front], &chars[chars.len() - n_back..]);
    front.iter().chain(&['…']).chain(back).collect()
}
