//! Blocks of small bevelled cubes, seen from a corner.
//!
//! The three largest axes span a block; the places of the other axes are blocks, wrapped like words on a page. The
//! first axis comes towards the left, the second towards the right, the third goes up. Hidden faces are not drawn: of a
//! full block of n³ cubes 3 n² are visible. A place without a value has no cube, but an outline.

use super::panel::{Font, HATCH, Panel};
use super::tiling::coordinate;
use super::{FieldAxis, GridLayout};
use crate::PlotError;
use crate::canvas::INK;
use plotters::prelude::DrawingBackend;
use plotters::style::RGBColor;

/// Faces of one field; more would make a large file. The same number of faces as cubes of 64 × 64 × 64 show.
const MAX_FACES: usize = 13_000;
/// Least length in points of a visible edge.
const MIN_EDGE: f64 = 3.0;
/// Greatest length of an edge.
const MAX_EDGE: f64 = 30.0;

/// A block of cubes and its position.
struct CubeBlock {
    /// Places along the three axes.
    sizes: [usize; 3],
    /// Steps from a place to the next along each in the values.
    strides: [usize; 3],
    /// The first place.
    first: usize,
    /// The position of its lowest corner.
    origin: (f64, f64),
    /// Pixels of an edge.
    edge: f64,
}

/// Draws the blocks; `false` if the cubes are too small or too many to be visible.
pub fn draw<DB: DrawingBackend>(panel: &Panel<'_, DB>, layout: &GridLayout) -> Result<bool, PlotError> {
    let inner = panel.inner();
    let axes = &layout.axes;
    let mut by_size: Vec<usize> = (0..axes.len()).collect();
    by_size.sort_by_key(|&axis| (std::cmp::Reverse(axes[axis].size), axis));
    let mut inside = [by_size[0], by_size[1], by_size[2]];
    inside.sort_unstable();
    let outside: Vec<usize> = (0..axes.len()).filter(|axis| !inside.contains(axis)).collect();
    let sizes = inside.map(|axis| axes[axis].size);
    let strides = inside.map(|axis| axes[axis + 1..].iter().map(|axis| axis.size).product());
    let n_blocks: usize = outside.iter().map(|&axis| axes[axis].size).product();
    // In edges: a block is (a + b) cos 30° wide and (a + b) / 2 + c high.
    let extent =
        ((sizes[0] + sizes[1]) as f64 * COS_30, (sizes[0] + sizes[1]) as f64 * 0.5 + sizes[2] as f64);
    let head = f64::from(if n_blocks == 1 { 0 } else { panel.px(16) });
    let room = |columns: usize| {
        let rows = n_blocks.div_ceil(columns);
        (f64::from(inner.width) / columns as f64, f64::from(inner.height) / rows as f64 - head)
    };
    let edge = |columns: usize| {
        let (width, height) = room(columns);
        (width / (extent.0 + 1.0)).min(height / (extent.1 + 1.0))
    };
    let columns = (1..=n_blocks.min(64)).max_by(|&a, &b| edge(a).total_cmp(&edge(b))).unwrap_or(1);
    let edge = edge(columns).min(MAX_EDGE * f64::from(panel.px(1)));
    let n_faces = n_blocks * (sizes[0] * sizes[1] + sizes[0] * sizes[2] + sizes[1] * sizes[2]);
    if edge < MIN_EDGE * f64::from(panel.px(1)) || MAX_FACES < n_faces {
        return Ok(false);
    }
    let pitch = room(columns);
    let mut at = Vec::new();
    for tile in 0..n_blocks {
        let outer: Vec<FieldAxis> = outside.iter().map(|&axis| axes[axis].clone()).collect();
        coordinate(tile, &outer, &mut at);
        let stride = |axis: usize| axes[axis + 1..].iter().map(|axis| axis.size).product::<usize>();
        let first = outside.iter().zip(&at).map(|(&axis, at)| stride(axis) * at).sum();
        let (x, y) = (tile % columns, tile / columns);
        let corner =
            (f64::from(inner.x) + x as f64 * pitch.0, f64::from(inner.y) + y as f64 * (pitch.1 + head));
        let left = corner.0 + sizes[0] as f64 * COS_30 * edge + (pitch.0 - extent.0 * edge) / 2.0;
        let top = corner.1 + head + sizes[2] as f64 * edge;
        let block = CubeBlock { sizes, strides, first, origin: (left, top), edge };
        if !outside.is_empty() {
            let names: Vec<String> =
                outer.iter().zip(&at).map(|(axis, at)| format!("{} = {at}", axis.name)).collect();
            let place = (corner.0 as i32, corner.1 as i32 - panel.px(8));
            panel.text(&names.join(", "), place, Font::LABEL)?;
        }
        block.draw(panel)?;
        if tile == 0 {
            block.draw_axes(panel, inside.map(|axis| &axes[axis]))?;
        }
    }
    Ok(true)
}

const COS_30: f64 = 0.866_025_403_784_438_6;

/// A face of a cube by its corners, in steps along the three axes.
struct Face {
    corners: [[usize; 3]; 4],
    /// The axis that it faces: a neighbour there hides it.
    towards: usize,
    /// How much light falls on it.
    light: f64,
}

const FACES: [Face; 3] = [
    Face { corners: [[1, 0, 0], [1, 1, 0], [1, 1, 1], [1, 0, 1]], towards: 0, light: 0.80 },
    Face { corners: [[0, 1, 0], [1, 1, 0], [1, 1, 1], [0, 1, 1]], towards: 1, light: 0.90 },
    Face { corners: [[0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]], towards: 2, light: 1.0 },
];

impl CubeBlock {
    fn place(&self, at: [usize; 3]) -> usize {
        self.first + at.iter().zip(&self.strides).map(|(at, stride)| at * stride).sum::<usize>()
    }

    /// The point of the sheet at a corner of the grid.
    fn point(&self, [a, b, c]: [f64; 3]) -> (f64, f64) {
        let x = self.origin.0 + (b - a) * COS_30 * self.edge;
        let y = self.origin.1 + ((a + b) * 0.5 - c) * self.edge;
        (x, y)
    }

    /// Whether cubes in front of the place hide it completely: its three neighbours do.
    fn is_hidden(&self, at: [usize; 3], values: &[f64]) -> bool {
        (0..3).all(|towards| self.has_neighbour(at, towards, values))
    }

    fn has_neighbour(&self, at: [usize; 3], towards: usize, values: &[f64]) -> bool {
        let mut next = at;
        next[towards] += 1;
        next[towards] < self.sizes[towards] && values[self.place(next)].is_finite()
    }

    /// Draws the cubes from the farthest to the nearest.
    fn draw<DB: DrawingBackend>(&self, panel: &Panel<'_, DB>) -> Result<(), PlotError> {
        let values = &panel.field.values;
        let [a, b, c] = self.sizes;
        for far in 0..a + b + c - 2 {
            let layer = (0..a).flat_map(|i| (0..b).map(move |j| (i, j)));
            for (i, j) in layer.filter(|(i, j)| i + j <= far && far - i - j < c) {
                let at = [i, j, far - i - j];
                match panel.colour(values[self.place(at)]) {
                    Some(_) if self.is_hidden(at, values) => {}
                    Some(colour) => self.draw_cube(panel, at, colour)?,
                    None => self.draw_outline(panel, at)?,
                }
            }
        }
        Ok(())
    }

    fn draw_cube<DB: DrawingBackend>(
        &self,
        panel: &Panel<'_, DB>,
        at: [usize; 3],
        colour: RGBColor,
    ) -> Result<(), PlotError> {
        for face in FACES.iter().filter(|face| !self.has_neighbour(at, face.towards, &panel.field.values)) {
            let corners = face
                .corners
                .map(|corner| self.point(std::array::from_fn(|axis| (at[axis] + corner[axis]) as f64)));
            // The bevel: a darker border around the face.
            panel.polygon(&whole(&corners), lit(colour, face.light * 0.72))?;
            let middle =
                corners.iter().fold((0.0, 0.0), |sum, point| (sum.0 + point.0 / 4.0, sum.1 + point.1 / 4.0));
            let inset = 1.0 - (0.14_f64).max(1.0 / self.edge);
            let inner =
                corners.map(|(x, y)| (middle.0 + (x - middle.0) * inset, middle.1 + (y - middle.1) * inset));
            panel.polygon(&whole(&inner), lit(colour, face.light))?;
        }
        Ok(())
    }

    /// The three edges that meet at the back, below: they show a hole without covering what is behind it.
    fn draw_outline<DB: DrawingBackend>(
        &self,
        panel: &Panel<'_, DB>,
        at: [usize; 3],
    ) -> Result<(), PlotError> {
        let corner = |step: [f64; 3]| {
            let (x, y) = self.point(std::array::from_fn(|axis| at[axis] as f64 + step[axis]));
            (x.round() as i32, y.round() as i32)
        };
        for towards in [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]] {
            panel.line(&[corner([0.0; 3]), corner(towards)], HATCH)?;
        }
        Ok(())
    }

    /// Names of the axes along the edges that point to the reader.
    fn draw_axes<DB: DrawingBackend>(
        &self,
        panel: &Panel<'_, DB>,
        axes: [&FieldAxis; 3],
    ) -> Result<(), PlotError> {
        let [a, b, c] = self.sizes.map(|size| size as f64);
        let at = |place: [f64; 3], (dx, dy): (i32, i32)| {
            let (x, y) = self.point(place);
            (x.round() as i32 + dx, y.round() as i32 + dy)
        };
        let far = panel.px(6);
        let text = |axis: &FieldAxis| format!("{} 0–{}", axis.name, axis.size - 1);
        panel.text(&text(axes[0]), at([a / 2.0, b, 0.0], (far, far)), Font::LABEL)?;
        panel.text(&text(axes[1]), at([a, b / 2.0, 0.0], (-far, far)), Font::LABEL.ending())?;
        let side = at([a, 0.0, c / 2.0], (-far, 0));
        panel.text(&text(axes[2]), side, Font::LABEL.centred().beside().upright())?;
        let arrow = |from: [f64; 3], to: [f64; 3], shift: (i32, i32)| {
            panel.line(&[at(from, shift), at(to, shift)], INK)
        };
        let gap = panel.px(3);
        arrow([0.0, b, 0.0], [a, b, 0.0], (gap, gap))?;
        arrow([a, 0.0, 0.0], [a, b, 0.0], (-gap, gap))?;
        arrow([a, 0.0, 0.0], [a, 0.0, c], (-gap, 0))
    }
}

fn whole(points: &[(f64, f64); 4]) -> [(i32, i32); 4] {
    points.map(|(x, y)| (x.round() as i32, y.round() as i32))
}

/// The colour in dimmer light.
fn lit(colour: RGBColor, light: f64) -> RGBColor {
    let dim = |c: u8| (f64::from(c) * light).round() as u8;
    RGBColor(dim(colour.0), dim(colour.1), dim(colour.2))
}
