//! The scale of colours of a field, beside it: the unit, what the colours mean, and what has no value.

use super::label;
use super::panel::{Box2, Font, Panel};
use crate::PlotError;
use crate::canvas::{GRID, shortened};
use plotters::prelude::DrawingBackend;

const N_STEPS: i32 = 64;
/// Characters of a unit.
const UNIT_CHARS: usize = 12;

/// Draws the scale.
pub fn draw<DB: DrawingBackend>(panel: &Panel<'_, DB>) -> Result<(), PlotError> {
    let inner = panel.inner();
    let left = inner.x + inner.width + panel.px(22);
    let unit = shortened(&panel.field.unit, UNIT_CHARS);
    panel.text(&unit, (left, inner.y - panel.px(18)), Font::LABEL)?;
    let room = inner.height - if panel.n_missing == 0 { 0 } else { panel.px(24) };
    let bar = Box2 { x: left, y: inner.y, width: panel.px(12), height: room.min(panel.px(260)) };
    match panel.range {
        None => panel.text("no values", (left, inner.y), Font::LABEL)?,
        Some((least, greatest)) if least < greatest => {
            for step in 0..N_STEPS {
                let y = |step: i32| bar.y + bar.height - bar.height * step / N_STEPS;
                let at = Box2 { y: y(step + 1), height: y(step) - y(step + 1), ..bar };
                panel.fill(at, panel.part((f64::from(step) + 0.5) / f64::from(N_STEPS)))?;
            }
            panel.frame(bar, GRID)?;
            for fourth in 0..=4 {
                let part = f64::from(fourth) / 4.0;
                let y = bar.y + bar.height - (f64::from(bar.height) * part) as i32;
                let value = least + (greatest - least) * part;
                panel.text(&label(value), (left + panel.px(18), y), Font::LABEL.beside())?;
            }
        }
        Some((value, _)) => {
            let at = Box2 { height: panel.px(12), ..bar };
            panel.fill(at, panel.part(0.5))?;
            let middle = at.y + at.height / 2;
            panel.text(&label(value), (left + panel.px(18), middle), Font::LABEL.beside())?;
        }
    }
    if 0 < panel.n_missing {
        let at = Box2 { y: inner.y + inner.height - panel.px(12), height: panel.px(12), ..bar };
        panel.hatch(at)?;
        let text = if panel.range.is_some() { "missing" } else { "all missing" };
        let middle = at.y + at.height / 2;
        panel.text(text, (left + panel.px(18), middle), Font::LABEL.beside())?;
    }
    Ok(())
}
