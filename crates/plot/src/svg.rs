//! SVG files with images inside.
//!
//! The library's backend draws everything; instead of an image it draws a rectangle in a colour that is not used
//! elsewhere, which is replaced by the image at the end. (Its own images have a type that browsers refuse.)

use base64::Engine;
use ouzel_model::visible;
use plotters::prelude::SVGBackend;
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind,
};
use std::fmt::Write;

/// Darker than any colour of a mark or ink.
const PLACEHOLDER: BackendColor = BackendColor { alpha: 1.0, rgb: (1, 2, 3) };
const PLACEHOLDER_FILL: &str = "fill=\"#010203\"";

/// An image and its position.
#[derive(Debug)]
pub struct Embedded {
    at: BackendCoord,
    size: (u32, u32),
    png: Vec<u8>,
}

/// Draws into the text of an SVG file.
pub struct SvgWithImages<'a> {
    inner: SVGBackend<'a>,
    images: &'a mut Vec<Embedded>,
}

impl<'a> SvgWithImages<'a> {
    /// Draws into `text`; images go to `images` until [`embed`] is called.
    pub fn new(text: &'a mut String, images: &'a mut Vec<Embedded>, size: (u32, u32)) -> Self {
        SvgWithImages { inner: SVGBackend::with_string(text, size), images }
    }
}

/// The complete text: each placeholder is replaced by its image.
pub fn embed(text: &str, images: &[Embedded]) -> String {
    let mut whole = String::with_capacity(text.len());
    let mut images = images.iter();
    for line in text.split_inclusive('\n') {
        match images.as_slice().first().filter(|_| line.contains(PLACEHOLDER_FILL)) {
            None => whole += line,
            Some(Embedded { at: (x, y), size: (width, height), png }) => {
                images.next();
                let data = base64::engine::general_purpose::STANDARD.encode(png);
                let _ = writeln!(
                    whole,
                    "<image x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" \
                     preserveAspectRatio=\"none\" href=\"data:image/png;base64,{data}\"/>"
                );
            }
        }
    }
    whole
}

type Outcome<'a> = Result<(), DrawingErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>>;

impl<'a> DrawingBackend for SvgWithImages<'a> {
    type ErrorType = <SVGBackend<'a> as DrawingBackend>::ErrorType;

    fn get_size(&self) -> (u32, u32) {
        self.inner.get_size()
    }

    fn ensure_prepared(&mut self) -> Outcome<'a> {
        self.inner.ensure_prepared()
    }

    fn present(&mut self) -> Outcome<'a> {
        self.inner.present()
    }

    fn draw_pixel(&mut self, point: BackendCoord, color: BackendColor) -> Outcome<'a> {
        self.inner.draw_pixel(point, color)
    }

    fn draw_line<S: BackendStyle>(&mut self, from: BackendCoord, to: BackendCoord, style: &S) -> Outcome<'a> {
        self.inner.draw_line(from, to, style)
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        upper_left: BackendCoord,
        bottom_right: BackendCoord,
        style: &S,
        fill: bool,
    ) -> Outcome<'a> {
        self.inner.draw_rect(upper_left, bottom_right, style, fill)
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Outcome<'a> {
        self.inner.draw_path(path, style)
    }

    fn draw_circle<S: BackendStyle>(
        &mut self,
        center: BackendCoord,
        radius: u32,
        style: &S,
        fill: bool,
    ) -> Outcome<'a> {
        self.inner.draw_circle(center, radius, style, fill)
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        points: I,
        style: &S,
    ) -> Outcome<'a> {
        self.inner.fill_polygon(points, style)
    }

    fn draw_text<S: BackendTextStyle>(&mut self, text: &str, style: &S, at: BackendCoord) -> Outcome<'a> {
        // A viewer would change the direction of reading, or hide zero-width characters.
        self.inner.draw_text(&visible(text), style, at)
    }

    fn estimate_text_size<S: BackendTextStyle>(
        &self,
        text: &str,
        style: &S,
    ) -> Result<(u32, u32), DrawingErrorKind<Self::ErrorType>> {
        self.inner.estimate_text_size(text, style)
    }

    fn blit_bitmap(&mut self, at: BackendCoord, size: (u32, u32), rgb: &[u8]) -> Outcome<'a> {
        let png = crate::png_of(size, rgb)
            .map_err(|error| DrawingErrorKind::DrawingError(std::io::Error::other(error)))?;
        self.images.push(Embedded { at, size, png });
        self.inner.draw_rect(at, (at.0 + size.0 as i32, at.1 + size.1 as i32), &PLACEHOLDER, true)
    }
}
