//! Fields: one value for each place of a grid, several side by side, each with its own scale of colours.
//!
//! ```text
//! axes longer than one place   1: columns   2: a heat map   3 and more: slices (tiles of heat maps) or blocks of cubes
//! ```
//!
//! Law: all fields of a picture have the same layout, so that a place has the same position in each. A place without a
//! value is hatched grey and never has a colour of the scale. Few places are vectors; beyond `MAX_VECTORS` they are
//! pixels. With more places than pixels a pixel is the mean of its places, and the caption reports it. Of a block of
//! cubes only the visible part is drawn. The meaning of the values is not known here.

mod columns;
mod cubes;
mod heat;
mod key;
mod panel;
mod tiling;

use crate::PlotError;
use crate::axis::number;
use crate::canvas::Canvas;
use crate::palette::Palette;
use panel::Panel;
use plotters::prelude::DrawingBackend;

/// Fields over one grid.
#[derive(Debug, Clone)]
pub struct Fields {
    /// The axes of the grid; the last one runs fastest in `values`.
    pub axes: Vec<FieldAxis>,
    /// What is drawn, in order.
    pub fields: Vec<Field>,
    /// The scale of colours.
    pub palette: Palette,
    /// How three and more axes are drawn.
    pub solid: Solid,
}

/// An axis of the grid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldAxis {
    /// Its name.
    pub name: String,
    /// Number of places along it.
    pub size: usize,
}

/// One field.
#[derive(Debug, Clone)]
pub struct Field {
    /// What it is.
    pub title: String,
    /// More words below the title.
    pub note: String,
    /// The unit of the values.
    pub unit: String,
    /// One value for each place, NaN without a value.
    pub values: Vec<f64>,
}

/// How three and more axes are drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Solid {
    /// A heat map for each place of the other axes: everything is visible.
    #[default]
    Slices,
    /// Blocks of small cubes seen from a corner: the surface is visible.
    Cubes,
}

/// Marks of a field that are drawn one by one.
pub(crate) const MAX_VECTORS: usize = 2500;
/// Points of one field, width and height.
const PANEL: (u32, u32) = (460, 380);
/// The same for columns over one axis.
const STRIP: (u32, u32) = (1100, 230);
/// Points of the title of the picture.
const HEAD: u32 = 64;

/// The grid as it is drawn: axes of more than one place.
#[derive(Debug, Clone)]
struct GridLayout {
    axes: Vec<FieldAxis>,
    n_places: usize,
}

impl Fields {
    /// Another scale of colours.
    pub(crate) fn restyle(&mut self, colours: &crate::style::Colours) {
        if let crate::style::Colours::Scale(palette) = colours {
            self.palette = *palette;
        }
    }

    /// Points of the whole picture.
    pub(crate) fn size(&self) -> (u32, u32) {
        let (columns, rows) = self.arrangement();
        let (width, height) = self.panel_size();
        ((columns * width).max(720), HEAD + rows * height)
    }

    fn panel_size(&self) -> (u32, u32) {
        if self.layout().axes.len() < 2 { STRIP } else { PANEL }
    }

    /// Columns and rows of panels.
    fn arrangement(&self) -> (u32, u32) {
        let n = self.fields.len().max(1) as u32;
        let columns = match n {
            _ if self.layout().axes.len() < 2 => 1,
            1..=3 => n,
            4 => 2,
            _ => 3,
        };
        (columns, n.div_ceil(columns))
    }

    fn layout(&self) -> GridLayout {
        let axes: Vec<FieldAxis> = self.axes.iter().filter(|axis| 1 < axis.size).cloned().collect();
        let n_places = axes.iter().map(|axis| axis.size).product();
        GridLayout { axes, n_places }
    }

    /// Draws the fields, each in its place.
    pub(crate) fn draw<DB: DrawingBackend>(&self, canvas: &Canvas<'_, DB>) -> Result<(), PlotError> {
        let layout = self.layout();
        let (width, height) = self.panel_size();
        let (columns, _) = self.arrangement();
        for (field, i) in self.fields.iter().zip(0_u32..) {
            if field.values.len() != layout.n_places {
                return Err(PlotError::Draw(format!(
                    "{} values for {} places",
                    field.values.len(),
                    layout.n_places
                )));
            }
            let corner = (i % columns * width, i / columns * height);
            let panel = Panel::new(canvas, self.palette, field, corner, (width, height));
            panel.draw_title()?;
            match layout.axes.len() {
                0 | 1 => columns::draw(&panel, &layout)?,
                2 => heat::draw(&panel, &layout)?,
                _ if self.solid == Solid::Cubes && cubes::draw(&panel, &layout)? => {}
                _ => heat::draw(&panel, &layout)?,
            }
            key::draw(&panel)?;
        }
        Ok(())
    }
}

/// A number on the scale of colours.
fn label(value: f64) -> String {
    number(value)
}
