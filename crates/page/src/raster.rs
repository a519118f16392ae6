//! Pictures whose pixels are call paths: an index for each call path, an image of indices, a PNG with a palette.
//!
//! One image serves two purposes: the browser shows it by its palette, and the script on the page reads the indices
//! from the same bytes to name the call path under the pointer. Hence rows are stored without a filter.
//! Law: index 0 is "no event yet, or no more", 1 is "outside of every region", the rest are call paths.

use crate::colour::Colour;
use base64::{Engine, prelude::BASE64_STANDARD};
use ouzel::analyses::timeline::{TimelineOutput, TimelineRow};
use ouzel::model::{CallPathId, CallPathTree};

/// Most indices of an image with a palette.
const MAX_INDICES: usize = 256;
/// The index of "no event yet, or no more".
pub const NOTHING: u8 = 0;
/// The index of "outside of every region".
pub const OUTSIDE: u8 = 1;

/// The call paths that pictures show, each with its index.
#[derive(Debug)]
pub struct PathIndex {
    /// The call path of each index from 2 on, most frequent first.
    pub paths: Vec<CallPathId>,
    /// Call paths that are too rare for an index and are shown as a caller.
    pub n_merged: usize,
    index: Vec<u8>,
}

impl PathIndex {
    /// Indices for the call paths of a timeline, most frequent first. A path too rare for an index is shown as its
    /// nearest caller that has one.
    pub fn new(timeline: &TimelineOutput) -> Self {
        Self::with_most(timeline, MAX_INDICES - 2)
    }

    fn with_most(timeline: &TimelineOutput, most: usize) -> Self {
        let tree = &timeline.call_paths;
        let mut n_seen = vec![0_u64; tree.len()];
        for run in timeline.rows.iter().flat_map(|row| &row.runs) {
            if let Some(path) = run.call_path {
                n_seen[path.index()] += u64::from(run.n_columns);
            }
        }
        let mut paths: Vec<CallPathId> = tree.paths().filter(|path| 0 < n_seen[path.index()]).collect();
        paths.sort_by_key(|path| (std::cmp::Reverse(n_seen[path.index()]), *path));
        let n_merged = paths.len().saturating_sub(most);
        paths.truncate(most);
        let mut index = vec![NOTHING; tree.len()];
        index[CallPathTree::ROOT.index()] = OUTSIDE;
        for (i, path) in paths.iter().enumerate() {
            index[path.index()] = u8::try_from(i + 2).expect("at most 256 indices");
        }
        for path in tree.paths() {
            if index[path.index()] == NOTHING {
                index[path.index()] = index[tree.parent(path).index()];
            }
        }
        PathIndex { paths, n_merged, index }
    }

    /// The index of a state of a timeline.
    fn of(&self, path: Option<CallPathId>) -> u8 {
        path.map_or(NOTHING, |path| self.index[path.index()])
    }

    /// Colours by index: of nothing, of outside, and of each call path.
    pub fn palette(&self, of_path: impl Fn(CallPathId) -> Colour) -> Vec<Colour> {
        let paths = self.paths.iter().map(|&path| of_path(path));
        [Colour::NONE, Colour::OUTSIDE].into_iter().chain(paths).collect()
    }
}

/// An image of indices.
#[derive(Debug)]
pub struct Raster {
    width: u32,
    pixels: Vec<u8>,
}

impl Raster {
    /// An image without rows.
    pub fn new(width: u32) -> Self {
        Raster { width, pixels: Vec::new() }
    }

    /// Appends a row of a timeline.
    pub fn push(&mut self, row: &TimelineRow, index: &PathIndex) {
        for run in &row.runs {
            let end = self.pixels.len() + run.n_columns as usize;
            self.pixels.resize(end, index.of(run.call_path));
        }
    }

    /// Appends a row in which nothing is drawn.
    pub(crate) fn push_nothing(&mut self) {
        self.pixels.resize(self.pixels.len() + self.width as usize, NOTHING);
    }

    /// Number of rows.
    pub fn height(&self) -> u32 {
        self.pixels.len().checked_div(self.width as usize).unwrap_or(0) as u32
    }

    /// The image as a PNG in a `data:` address; `None` if it has no pixel.
    pub(crate) fn data_url(&self, palette: &[Colour]) -> Option<String> {
        let height = self.height();
        let n_pixels = self.width as usize * height as usize;
        if n_pixels == 0 {
            return None;
        }
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, self.width, height);
        encoder.set_color(png::ColorType::Indexed);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_palette(palette.iter().flat_map(|colour| colour.rgb).collect::<Vec<u8>>());
        encoder.set_trns(palette.iter().map(|colour| colour.alpha).collect::<Vec<u8>>());
        encoder.set_compression(png::Compression::High);
        encoder.set_filter(png::Filter::NoFilter);
        let mut writer = encoder.write_header().expect("a palette of at most 256 colours fits");
        writer.write_image_data(&self.pixels[..n_pixels]).expect("there are as many pixels as announced");
        writer.finish().expect("memory takes any image");
        Some(format!("data:image/png;base64,{}", BASE64_STANDARD.encode(&bytes)))
    }
}
