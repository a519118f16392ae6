//! Columns over one axis: their height and colour show the value.

use super::heat::ticks;
use super::panel::{Box2, Font, HATCH, MISSING, Panel};
use super::{GridLayout, MAX_VECTORS, label};
use crate::PlotError;
use crate::canvas::{GRID, INK};
use plotters::prelude::DrawingBackend;

/// Draws the columns and their axes.
pub fn draw<DB: DrawingBackend>(panel: &Panel<'_, DB>, layout: &GridLayout) -> Result<(), PlotError> {
    let inner = panel.inner();
    let n = layout.n_places;
    let n_columns = n.min(inner.width.max(1) as usize).min(MAX_VECTORS);
    // From zero, so that lengths may be compared.
    let (least, greatest) =
        panel.range.map_or((0.0, 1.0), |(least, greatest)| (least.min(0.0), greatest.max(0.0)));
    let greatest = if least < greatest { greatest } else { least + 1.0 };
    let y = |value: f64| {
        inner.y + inner.height - ((value - least) / (greatest - least) * f64::from(inner.height)) as i32
    };
    for fourth in 0..=4 {
        let value = least + (greatest - least) * f64::from(fourth) / 4.0;
        panel.line(&[(inner.x, y(value)), (inner.x + inner.width, y(value))], GRID)?;
        panel.text(&label(value), (inner.x - panel.px(5), y(value)), Font::LABEL.ending().beside())?;
    }
    let edge = |column: usize| inner.x + (column * inner.width as usize / n_columns) as i32;
    for column in 0..n_columns {
        let places = column * n / n_columns..((column + 1) * n / n_columns).max(column * n / n_columns + 1);
        let values = || panel.field.values[places.clone()].iter().filter(|value| value.is_finite());
        let mean = values().sum::<f64>() / values().count() as f64;
        let (left, right) = (edge(column), edge(column + 1));
        let whole = Box2 { x: left, y: inner.y, width: right - left, height: inner.height };
        match panel.colour(mean) {
            Some(colour) => {
                let (top, bottom) = (y(mean.max(0.0)), y(mean.min(0.0)));
                let gap = i32::from(panel.px(5) < whole.width);
                let width = whole.width - gap;
                panel.fill(Box2 { y: top, height: (bottom - top).max(1), width, ..whole }, colour)?;
            }
            None => {
                panel.fill(whole, MISSING)?;
                panel.line(&[(left, inner.y + inner.height), (right, inner.y)], HATCH)?;
            }
        }
    }
    let Some(axis) = layout.axes.first() else { return Ok(()) };
    let bottom = inner.y + inner.height;
    for tick in ticks(n, 16) {
        let x = inner.x + ((tick as f64 + 0.5) / n as f64 * f64::from(inner.width)) as i32;
        panel.line(&[(x, bottom), (x, bottom + panel.px(3))], INK)?;
        panel.text(&tick.to_string(), (x, bottom + panel.px(5)), Font::LABEL.centred())?;
    }
    let mut name = axis.name.clone();
    if n_columns < n {
        name += &format!(", mean of {} neighbours", n.div_ceil(n_columns));
    }
    panel.text(&name, (inner.x + inner.width / 2, bottom + panel.px(20)), Font::LABEL.centred())
}
