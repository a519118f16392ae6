//! How a picture looks where it shall not look as usual: texts, size, colours.
//!
//! Law: a style changes no value and no order. Colours of the style replace those of the legend, mark by mark.

use crate::colour::Colour;
use crate::palette::Palette;
use ouzel_model::{Filter, units, visible};
use std::collections::BTreeMap;
use std::path::Path;

/// What differs from the usual look.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Style {
    /// The line at the top.
    pub title: Option<String>,
    /// The line below it.
    pub subtitle: Option<String>,
    /// Points from left to right.
    pub width: Option<u32>,
    /// Points from top to bottom.
    pub height: Option<u32>,
    /// The name of the axis below.
    pub x_name: Option<String>,
    /// The name of the axis to the left.
    pub y_name: Option<String>,
    /// Colours.
    pub colours: Colours,
}

/// Colours other than the usual ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Colours {
    /// The usual ones: a region has the same colour in every picture.
    #[default]
    Usual,
    /// A scale: of the values where they are coloured, else from the first entry of the legend to the last.
    Scale(Palette),
    /// For the entries of the legend, in order; they repeat.
    List(Vec<Colour>),
    /// By the names in the legend; others stay as they are.
    Named(BTreeMap<String, Colour>),
}

/// Smallest and largest width and height of a picture in points.
pub const SIZES: (u32, u32) = (200, 8000);

impl Colours {
    /// The colour of entry `i` of `n`, whose usual one is `usual`.
    pub(crate) fn of_entry(&self, name: &str, (i, n): (usize, usize), usual: Colour) -> Colour {
        match self {
            Colours::Usual => usual,
            Colours::Scale(palette) => palette.colour(i as f64 / n.saturating_sub(1).max(1) as f64),
            Colours::List(colours) if colours.is_empty() => usual,
            Colours::List(colours) => colours[i % colours.len()],
            Colours::Named(colours) => colours.get(name).copied().unwrap_or(usual),
        }
    }
}

/// Names of files that say nothing of the run: the folder's name belongs to them.
const ANCHORS: [&str; 6] =
    ["traces.otf2", "trace.otf2", "profile.cubex", "profile.cube", "trace.db", "summary.cubex"];

/// The subtitle of a picture: the name of the trace without the way to it, and what was selected of it.
pub fn origin(path: &Path, filter: &Filter) -> String {
    let mut text = short_name(path);
    let Filter { ranks, time_ns, regions, predicate, .. } = filter;
    if let Some(ranks) = ranks {
        text += &format!(" · ranks {ranks}");
    }
    if let Some((start, end)) = time_ns {
        let end = if *end == u64::MAX { "the end".to_owned() } else { units::time(*end) };
        text += &format!(" · from {} to {end}", units::time(*start));
    }
    if !regions.is_empty() {
        text += &format!(" · {}", regions.join(", "));
    }
    if let Some(predicate) = predicate {
        text += &format!(" · where {predicate}");
    }
    visible(&text).into_owned()
}

/// `scorep-run/traces.otf2` of a path: pictures are shown to others, whom the folders above do not concern.
pub fn short_name(path: &Path) -> String {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let Some(name) = whole.file_name().map(|name| name.to_string_lossy().into_owned()) else {
        return path.display().to_string();
    };
    let folder = whole.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    match folder {
        Some(folder) if ANCHORS.contains(&&*name) => format!("{folder}/{name}"),
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_names_the_run_and_not_the_way_to_it() {
        for (path, expected) in [
            ("/data/runs/scorep-run/traces.otf2", "scorep-run/traces.otf2"),
            ("/data/runs/scorep-run", "scorep-run"),
            ("runs/a.sqlite", "a.sqlite"),
        ] {
            assert_eq!(short_name(Path::new(path)), expected);
        }
        let filter =
            Filter { regions: vec!["MPI_*".to_owned()], time_ns: Some((0, 2_000_000)), ..Filter::default() };
        assert_eq!(origin(Path::new("/x/run"), &filter), "run · from 0 s to 2.000 ms · MPI_*");
    }

    #[test]
    fn colours_are_by_place_or_by_name() {
        let [red, blue] = [[255, 0, 0], [0, 0, 255]].map(|rgb| Colour { rgb, alpha: 255 });
        let list = Colours::List(vec![red, blue]);
        assert_eq!([0, 1, 2].map(|i| list.of_entry("x", (i, 3), Colour::NONE)), [red, blue, red]);
        let named = Colours::Named(BTreeMap::from([("solve".to_owned(), red)]));
        assert_eq!(named.of_entry("solve", (1, 2), blue), red);
        assert_eq!(named.of_entry("other", (1, 2), blue), blue);
    }
}
