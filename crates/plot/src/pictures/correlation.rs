//! A severity view and those that vary like it, side by side over the topology.

use super::fields::fields;
use crate::Picture;
use crate::canvas::shortened;
use crate::fields::{Field, FieldAxis, Solid};
use crate::palette::Palette;
use ouzel_correlate::{Correlation, Grid, Question, View};
use ouzel_model::{CallPathId, ProfileDefinitions};

/// What is drawn.
#[derive(Debug)]
pub struct CorrelationViews<'a> {
    /// What the profile defines.
    pub definitions: &'a ProfileDefinitions,
    /// The places.
    pub grid: &'a Grid,
    /// What was asked.
    pub question: &'a Question,
    /// The values of the reference on the grid, as [`view_on_grid`](ouzel_correlate::view_on_grid) gives them.
    pub reference: Vec<f64>,
    /// The partners, in their order, with their values.
    pub partners: Vec<(&'a Correlation, Vec<f64>)>,
}

/// Characters of a call path below a title.
const PATH_CHARS: usize = 62;

/// The call path of a view; that of the program itself has no region.
pub fn view_path(definitions: &ProfileDefinitions, path: CallPathId) -> String {
    let names = definitions.call_path_names(path);
    if names.is_empty() { "(the program)".to_owned() } else { names.join(" › ") }
}

/// The reference first, then its partners with r_f and the shift.
pub fn correlation(views: CorrelationViews<'_>, of: &str, style: (Palette, Solid)) -> Picture {
    let CorrelationViews { definitions, grid, question, reference, partners } = views;
    let name = |i: usize| {
        if grid.axes()[i].name.is_empty() { format!("axis {i}") } else { grid.axis_name(i) }
    };
    let axis = |i: usize| FieldAxis { name: name(i), size: grid.axes()[i].size as usize };
    let axes: Vec<FieldAxis> = (0..grid.axes().len()).map(axis).collect();
    let field = |view: View, before: String, values| {
        let metric = definitions.metric(view.metric);
        let path = view_path(definitions, view.path);
        // The innermost regions are the most important.
        let n_chars = path.chars().count();
        let note = if n_chars <= PATH_CHARS {
            path
        } else {
            format!("… {}", path.chars().skip(n_chars - PATH_CHARS + 2).collect::<String>())
        };
        let title = format!("{before}{}", shortened(&metric.display_name, 30));
        Field { title, note, unit: metric.unit.to_string(), values }
    };
    let mut all = vec![field(question.reference, "chosen: ".to_owned(), reference)];
    for (n, (row, values)) in partners.into_iter().enumerate() {
        let shift: Vec<String> = grid.signed_shift(&row.shift).iter().map(ToString::to_string).collect();
        let shift = if row.shift.iter().all(|&step| step == 0) {
            "no shift".to_owned()
        } else {
            format!("shift ({})", shift.join(", "))
        };
        let sign = if row.r < 0.0 { "−" } else { "" };
        let before = format!("{}.  r = {sign}{:.3}, {shift} · ", n + 1, row.r.abs());
        all.push(field(row.view, before, values));
    }
    let used: Vec<String> = question.axes.iter().map(name).collect();
    let filtered = (0..grid.axes().len()).filter(|&axis| !question.axes.contains(axis));
    let filtered: Vec<String> = filtered.map(name).collect();
    let mut title = format!("Views that vary with it along {}", used.join(", "));
    if !filtered.is_empty() {
        title += &format!("; variation along {} filtered out", filtered.join(", "));
    }
    fields(&shortened(&title, 100), of, axes, all, style)
}
