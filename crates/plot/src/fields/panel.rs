//! The place of one field on the sheet: its title, its range of values, their colours, and text.

use super::Field;
use crate::PlotError;
use crate::canvas::{Canvas, INK, PALE_INK, failed, rgb, shortened};
use crate::colour::Colour;
use crate::palette::Palette;
use plotters::element::BitMapElement;
use plotters::prelude::{Color, DrawingBackend, PathElement, Polygon, Rectangle, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontTransform, RGBColor};

/// Background of a place without a value.
pub(crate) const MISSING: RGBColor = RGBColor(236, 237, 240);
/// Hatching of a place without a value.
pub(crate) const HATCH: RGBColor = RGBColor(168, 172, 180);

/// Where one field is drawn; lengths are in pixels.
pub struct Panel<'a, DB: DrawingBackend> {
    pub canvas: &'a Canvas<'a, DB>,
    pub field: &'a Field,
    /// The least and the greatest value; `None` without values.
    pub range: Option<(f64, f64)>,
    /// Number of places without a value.
    pub n_missing: usize,
    palette: Palette,
    corner: (i32, i32),
    size: (i32, i32),
}

/// A corner, a width and a height.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Box2 {
    pub x: i32,
    pub y: i32,
    pub width: i32,
    pub height: i32,
}

/// Points above the marks: two lines of title, and tiles' names.
const ABOVE: u32 = 58;
/// Points right of the marks: the key.
const RIGHT: u32 = 92;
/// Points left of and below the marks: the axes.
const LEFT: u32 = 50;
const BELOW: u32 = 44;

impl<'a, DB: DrawingBackend> Panel<'a, DB> {
    pub fn new(
        canvas: &'a Canvas<'a, DB>,
        palette: Palette,
        field: &'a Field,
        corner: (u32, u32),
        size: (u32, u32),
    ) -> Self {
        let px = |points: u32| canvas.px(points) as i32;
        let finite = || field.values.iter().copied().filter(|value| value.is_finite());
        let ends = finite().fold((f64::INFINITY, f64::NEG_INFINITY), |(least, greatest), value| {
            (least.min(value), greatest.max(value))
        });
        Panel {
            canvas,
            field,
            range: (ends.0 <= ends.1).then_some(ends),
            n_missing: field.values.len() - finite().count(),
            palette,
            corner: (px(corner.0), px(corner.1)),
            size: (px(size.0), px(size.1)),
        }
    }

    /// `points` in pixels.
    pub fn px(&self, points: u32) -> i32 {
        self.canvas.px(points) as i32
    }

    /// The room for the marks.
    pub fn inner(&self) -> Box2 {
        Box2 {
            x: self.corner.0 + self.px(LEFT),
            y: self.corner.1 + self.px(ABOVE),
            width: self.size.0 - self.px(LEFT + RIGHT),
            height: self.size.1 - self.px(ABOVE + BELOW),
        }
    }

    /// The colour of a value; `None` for NaN.
    pub fn colour(&self, value: f64) -> Option<RGBColor> {
        let (least, greatest) = self.range?;
        let part = if least < greatest { (value - least) / (greatest - least) } else { 0.5 };
        value.is_finite().then(|| self.part(part))
    }

    /// The colour of a part of the scale.
    pub fn part(&self, part: f64) -> RGBColor {
        let colour: Colour = self.palette.colour(part);
        rgb(colour)
    }

    pub(crate) fn draw_title(&self) -> Result<(), PlotError> {
        let room = (self.size.0 / self.px(7)).max(20) as usize;
        let (x, y) = (self.corner.0 + self.px(20), self.corner.1);
        self.text(&shortened(&self.field.title, room), (x, y + self.px(4)), Font::TITLE)?;
        let room = (self.size.0 / self.px(6)).max(20) as usize;
        self.text(&shortened(&self.field.note, room), (x, y + self.px(21)), Font::PALE)
    }

    /// Draws text.
    pub fn text(&self, text: &str, at: (i32, i32), font: Font) -> Result<(), PlotError> {
        let mut style = self.canvas.text(font.points, font.colour).pos(Pos::new(font.across, font.down));
        if font.is_upright {
            style = style.transform(FontTransform::Rotate270);
        }
        self.canvas.plot.draw(&Text::new(text.to_owned(), at, style)).map_err(failed)
    }

    /// Width of text in pixels.
    pub fn text_width(&self, text: &str, font: Font) -> i32 {
        let style = self.canvas.text(font.points, font.colour);
        self.canvas.plot.estimate_text_size(text, &style).map_or(0, |(width, _)| width as i32)
    }

    /// Fills a rectangle.
    pub fn fill(&self, at: Box2, colour: RGBColor) -> Result<(), PlotError> {
        let corners = [(at.x, at.y), (at.x + at.width, at.y + at.height)];
        self.canvas.plot.draw(&Rectangle::new(corners, colour.filled())).map_err(failed)
    }

    /// Draws the border of a rectangle.
    pub fn frame(&self, at: Box2, colour: RGBColor) -> Result<(), PlotError> {
        let corners = [(at.x, at.y), (at.x + at.width, at.y + at.height)];
        self.canvas.plot.draw(&Rectangle::new(corners, colour)).map_err(failed)
    }

    /// A place without a value.
    pub(crate) fn hatch(&self, at: Box2) -> Result<(), PlotError> {
        self.fill(at, MISSING)?;
        let ends = [(at.x, at.y + at.height), (at.x + at.width, at.y)];
        self.line(&ends, HATCH)
    }

    /// Draws a line.
    pub fn line(&self, points: &[(i32, i32)], colour: RGBColor) -> Result<(), PlotError> {
        self.canvas.plot.draw(&PathElement::new(points.to_vec(), colour)).map_err(failed)
    }

    /// Fills a polygon.
    pub(crate) fn polygon(&self, points: &[(i32, i32)], colour: RGBColor) -> Result<(), PlotError> {
        self.canvas.plot.draw(&Polygon::new(points.to_vec(), colour.filled())).map_err(failed)
    }

    /// Draws an image.
    pub fn image(&self, at: (i32, i32), size: (u32, u32), pixels: Vec<u8>) -> Result<(), PlotError> {
        let element = BitMapElement::with_owned_buffer(at, size, pixels);
        let element = element.ok_or_else(|| PlotError::Draw("an image of the wrong size".to_owned()))?;
        self.canvas.plot.draw(&element).map_err(failed)
    }
}

/// How text looks and where it is relative to its point.
#[derive(Clone, Copy)]
pub struct Font {
    points: u32,
    colour: RGBColor,
    across: HPos,
    down: VPos,
    is_upright: bool,
}

impl Font {
    pub(crate) const TITLE: Font = Font::new(13, INK);
    pub(crate) const PALE: Font = Font::new(11, PALE_INK);
    pub(crate) const LABEL: Font = Font::new(11, INK);

    const fn new(points: u32, colour: RGBColor) -> Font {
        Font { points, colour, across: HPos::Left, down: VPos::Top, is_upright: false }
    }

    /// With its middle at the point, across.
    pub const fn centred(self) -> Font {
        Font { across: HPos::Center, ..self }
    }

    /// With its end at the point.
    pub const fn ending(self) -> Font {
        Font { across: HPos::Right, ..self }
    }

    /// With its middle at the point, from above to below.
    pub const fn beside(self) -> Font {
        Font { down: VPos::Center, ..self }
    }

    /// Read from below to above.
    pub(crate) const fn upright(self) -> Font {
        Font { is_upright: true, ..self }
    }
}
