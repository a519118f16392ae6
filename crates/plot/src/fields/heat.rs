//! Heat maps over two axes, and tiles of heat maps over more.

use super::panel::{Box2, Font, HATCH, MISSING, Panel};
use super::tiling::{Tiling, coordinate};
use super::{FieldAxis, GridLayout, MAX_VECTORS};
use crate::PlotError;
use crate::canvas::{GRID, INK};
use plotters::prelude::DrawingBackend;

/// Draws the cells, their axes and the names of tiles.
pub fn draw<DB: DrawingBackend>(panel: &Panel<'_, DB>, layout: &GridLayout) -> Result<(), PlotError> {
    let inner = panel.inner();
    let n_outer = layout.axes.len() - 2;
    // Names of rows of tiles are on the right.
    let room = if n_outer < 2 { inner.width } else { inner.width - panel.px(28) };
    let room = (room.max(1) as usize, inner.height.max(1) as usize);
    let tiling = Tiling::new(&layout.axes, room, panel.px(1) as usize);
    let sizes: Vec<usize> = layout.axes.iter().map(|axis| axis.size).collect();
    let (width, height) = tiling.size(&sizes);
    // If even cells of one pixel do not fit, this many share one.
    let together = (width.div_ceil(room.0), height.div_ceil(room.1));
    let shown = Box2 {
        width: width.div_ceil(together.0) as i32,
        height: height.div_ceil(together.1) as i32,
        ..inner
    };
    if layout.n_places <= MAX_VECTORS {
        draw_vectors(panel, layout, &tiling, shown)?;
    } else {
        draw_pixels(panel, layout, &tiling, (shown, together))?;
    }
    if n_outer == 0 {
        panel.frame(shown, GRID)?;
    }
    draw_axes(panel, layout, &tiling, (shown, together))
}

fn draw_vectors<DB: DrawingBackend>(
    panel: &Panel<'_, DB>,
    layout: &GridLayout,
    tiling: &Tiling,
    shown: Box2,
) -> Result<(), PlotError> {
    let mut at = Vec::new();
    let cell = tiling.cell as i32;
    for (place, &value) in panel.field.values.iter().enumerate() {
        coordinate(place, &layout.axes, &mut at);
        let (x, y) = tiling.at(&at);
        let corner = Box2 { x: shown.x + x as i32, y: shown.y + y as i32, width: cell, height: cell };
        match panel.colour(value) {
            Some(colour) => panel.fill(corner, colour)?,
            None => panel.hatch(corner)?,
        }
    }
    Ok(())
}

/// The sum over the places of one pixel.
#[derive(Clone, Copy, Default)]
struct Pixel {
    sum: f64,
    n: u32,
    n_missing: u32,
}

fn draw_pixels<DB: DrawingBackend>(
    panel: &Panel<'_, DB>,
    layout: &GridLayout,
    tiling: &Tiling,
    (shown, together): (Box2, (usize, usize)),
) -> Result<(), PlotError> {
    let (width, height) = (shown.width as usize, shown.height as usize);
    let mut pixels = vec![Pixel::default(); width * height];
    let mut at = Vec::new();
    for (place, &value) in panel.field.values.iter().enumerate() {
        coordinate(place, &layout.axes, &mut at);
        let (left, top) = tiling.at(&at);
        for y in top..top + tiling.cell {
            for x in left..left + tiling.cell {
                let pixel = &mut pixels[y / together.1 * width + x / together.0];
                if value.is_finite() {
                    pixel.sum += value;
                    pixel.n += 1;
                } else {
                    pixel.n_missing += 1;
                }
            }
        }
    }
    let mut rgb = Vec::with_capacity(pixels.len() * 3);
    for (i, pixel) in pixels.iter().enumerate() {
        // If places with and without a value share a pixel, the values are shown.
        let mean = (pixel.n != 0).then(|| pixel.sum / f64::from(pixel.n));
        let is_hatch = (i % width + i / width).is_multiple_of(4);
        let colour = match mean.and_then(|mean| panel.colour(mean)) {
            Some(colour) => colour,
            None if pixel.n_missing == 0 => plotters::style::RGBColor(255, 255, 255),
            None if is_hatch => HATCH,
            None => MISSING,
        };
        rgb.extend([colour.0, colour.1, colour.2]);
    }
    panel.image((shown.x, shown.y), (width as u32, height as u32), rgb)
}

fn draw_axes<DB: DrawingBackend>(
    panel: &Panel<'_, DB>,
    layout: &GridLayout,
    tiling: &Tiling,
    (shown, together): (Box2, (usize, usize)),
) -> Result<(), PlotError> {
    let [Some(&x_axis), Some(&y_axis)] = [tiling.x.axes.last(), tiling.y.axes.last()] else { return Ok(()) };
    let (x_axis, y_axis) = (&layout.axes[x_axis], &layout.axes[y_axis]);
    let size = |axis: &FieldAxis| axis.size as f64;
    let across = size(x_axis) * tiling.cell as f64 / together.0 as f64;
    let down = size(y_axis) * tiling.cell as f64 / together.1 as f64;
    // The names of the axes are at the tile at the lower left.
    let rows_of_tiles = tiling.wrapped.map_or(1, |(axis, n)| layout.axes[axis].size.div_ceil(n));
    let bottom = shown.y + shown.height;
    let last_top = match tiling.wrapped {
        Some(_) => shown.y + ((rows_of_tiles - 1) * (tiling.y.length + tiling.gap) / together.1) as i32,
        None => bottom - down.round() as i32,
    };
    let is_narrow = across < f64::from(panel.px(30));
    for tick in ticks(x_axis.size, if is_narrow { 1 } else { (across as i32 / panel.px(30)).min(8) }) {
        let x = shown.x + ((tick as f64 + 0.5) * across / size(x_axis)) as i32;
        panel.line(&[(x, bottom), (x, bottom + panel.px(3))], INK)?;
        panel.text(&tick.to_string(), (x, bottom + panel.px(5)), Font::LABEL.centred())?;
    }
    for tick in ticks(y_axis.size, (down as i32 / panel.px(16)).clamp(1, 8)) {
        let y = last_top + ((tick as f64 + 0.5) * down / size(y_axis)) as i32;
        panel.line(&[(shown.x - panel.px(3), y), (shown.x, y)], INK)?;
        panel.text(&tick.to_string(), (shown.x - panel.px(6), y), Font::LABEL.ending().beside())?;
    }
    let middle = (shown.x + (across / 2.0) as i32, bottom + panel.px(20));
    let below = caption(layout, tiling, together);
    if tiling.x.axes.len() + tiling.y.axes.len() == 2 && tiling.wrapped.is_none() && together == (1, 1) {
        panel.text(&x_axis.name, middle, Font::LABEL.centred())?;
    } else {
        panel.text(&below, (shown.x - panel.px(20), bottom + panel.px(21)), Font::LABEL)?;
    }
    let beside = (shown.x - panel.px(34), last_top + (down / 2.0) as i32);
    panel.text(&y_axis.name, beside, Font::LABEL.centred().beside().upright())?;
    draw_tile_names(panel, layout, tiling, (shown, together))
}

/// Which axis runs where, and how many places share a pixel.
fn caption(layout: &GridLayout, tiling: &Tiling, together: (usize, usize)) -> String {
    let names = |axes: &[usize]| {
        let names: Vec<&str> = axes.iter().map(|&axis| &*layout.axes[axis].name).collect();
        names.join(" › ")
    };
    let mut text = format!("→ {}   ↓ {}", names(&tiling.x.axes), names(&tiling.y.axes));
    if let Some((axis, _)) = tiling.wrapped {
        text += &format!("   tiles: {}", layout.axes[axis].name);
    }
    if together != (1, 1) {
        text += &format!("   mean of {} × {} places", together.0, together.1);
    }
    text
}

fn draw_tile_names<DB: DrawingBackend>(
    panel: &Panel<'_, DB>,
    layout: &GridLayout,
    tiling: &Tiling,
    (shown, together): (Box2, (usize, usize)),
) -> Result<(), PlotError> {
    let above = |y: i32| y - panel.px(14);
    if let Some((axis, n)) = tiling.wrapped {
        let (name, size) = (&layout.axes[axis].name, layout.axes[axis].size);
        let pitch = (tiling.x.length + tiling.gap) / together.0;
        let is_roomy = panel.text_width(&format!("{name} = {size}"), Font::LABEL) <= pitch as i32;
        let has_gap = panel.px(14) <= tiling.gap as i32;
        for tile in (0..size).filter(|tile| has_gap || *tile < n) {
            let x = shown.x + (tile % n * (tiling.x.length + tiling.gap) / together.0) as i32;
            let y = shown.y + (tile / n * (tiling.y.length + tiling.gap) / together.1) as i32;
            let text = if is_roomy || tile == 0 { format!("{name} = {tile}") } else { tile.to_string() };
            if is_roomy || panel.text_width(&text, Font::LABEL) < pitch as i32 {
                panel.text(&text, (x, above(y)), Font::LABEL)?;
            }
        }
        return Ok(());
    }
    // The slowest axis that forms tiles; those within are in the caption.
    if let [outer, _, ..] = tiling.x.axes[..] {
        let pitch = tiling.x.strides[0] as f64 / together.0 as f64;
        for at in named(panel, &layout.axes[outer], pitch) {
            let x = shown.x + (at as f64 * pitch) as i32;
            panel.text(
                &tile_name(&layout.axes[outer], at, pitch, panel),
                (x, above(shown.y)),
                Font::LABEL,
            )?;
        }
    }
    if let [outer, _, ..] = tiling.y.axes[..] {
        let pitch = tiling.y.strides[0] as f64 / together.1 as f64;
        let step = (f64::from(panel.px(14)) / pitch).ceil().max(1.0) as usize;
        let x = shown.x + shown.width + panel.px(4);
        for at in (0..layout.axes[outer].size).step_by(step) {
            let y = shown.y + (at as f64 * pitch) as i32;
            let name = &layout.axes[outer].name;
            let text = if name.chars().count() <= 3 { format!("{name}={at}") } else { at.to_string() };
            panel.text(&text, (x, y), Font::LABEL)?;
        }
    }
    Ok(())
}

/// The places of an axis of tiles whose names do not overlap.
fn named<'p, DB: DrawingBackend>(
    panel: &'p Panel<'_, DB>,
    axis: &'p FieldAxis,
    pitch: f64,
) -> impl Iterator<Item = usize> + use<DB> {
    let widest = panel.text_width(&format!("{} ", axis.size), Font::LABEL);
    let step = (f64::from(widest) / pitch).ceil().max(1.0) as usize;
    (0..axis.size).step_by(step)
}

fn tile_name<DB: DrawingBackend>(axis: &FieldAxis, at: usize, pitch: f64, panel: &Panel<'_, DB>) -> String {
    let text = format!("{} = {at}", axis.name);
    let fits = f64::from(panel.text_width(&text, Font::LABEL)) < pitch;
    if fits { text } else { at.to_string() }
}

/// At most `n` numbers from 0 to below `size`, evenly spaced by a round step.
pub fn ticks(size: usize, n: i32) -> impl Iterator<Item = usize> {
    let n = n.max(1) as usize;
    let steps = (0..).flat_map(|power| [1, 2, 4, 5, 8].map(|step| step * 10_usize.saturating_pow(power)));
    let step = steps.take(100).find(|step| size.div_ceil(*step) <= n).unwrap_or(size.max(1));
    (0..size).step_by(step)
}
