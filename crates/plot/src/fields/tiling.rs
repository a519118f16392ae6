//! The positions of the places of a grid on a plane.
//!
//! The two largest axes span a tile; the places of the others are tiles, in rows and columns. One other axis is wrapped
//! like words on a page. Of several, each runs across or down, whichever gives the largest cells; slower axes are
//! farther out. There are gaps between tiles, wider between tiles of slower axes.

use super::FieldAxis;

/// Positions along one direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TileLane {
    /// Axes by their number, from the outermost to the innermost.
    pub axes: Vec<usize>,
    /// Pixels from one place of each axis to the next.
    pub strides: Vec<usize>,
    /// Pixels in all.
    pub length: usize,
}

/// The position of each place.
#[derive(Debug, Clone)]
pub struct Tiling {
    /// Across.
    pub x: TileLane,
    /// Down.
    pub y: TileLane,
    /// The axis whose places are wrapped, and the number of places in a row.
    pub wrapped: Option<(usize, usize)>,
    /// Pixels of a cell.
    pub cell: usize,
    /// Pixels between tiles of the fastest axis.
    pub gap: usize,
}

/// Axes beyond these run across.
const MAX_CHOICES: u32 = 10;
/// Largest cell, so that a grid of four places does not fill the sheet.
const MAX_CELL_POINTS: usize = 96;

impl TileLane {
    /// Tiles of `sizes`, given from the outermost to the innermost, with `gap` between the innermost.
    fn new(axes: Vec<usize>, sizes: &[usize], cell: usize, gap: usize) -> TileLane {
        let mut strides = vec![0; axes.len()];
        let (mut stride, mut length) = (cell, cell);
        for (level, i) in (0..axes.len()).rev().enumerate() {
            if 0 < level {
                stride = length + gap * level;
            }
            strides[i] = stride;
            length += stride * (sizes[axes[i]] - 1);
        }
        TileLane { axes, strides, length }
    }

    /// The pixel of a place.
    pub fn at(&self, coordinate: &[usize]) -> usize {
        self.axes.iter().zip(&self.strides).map(|(&axis, stride)| coordinate[axis] * stride).sum()
    }
}

impl Tiling {
    /// The tiling of axes longer than one place, two at least, with the largest cells that fit `room`; of one pixel if
    /// even these do not. `point` is the number of pixels of a point.
    pub fn new(axes: &[FieldAxis], room: (usize, usize), point: usize) -> Tiling {
        let sizes: Vec<usize> = axes.iter().map(|axis| axis.size).collect();
        let mut by_size: Vec<usize> = (0..sizes.len()).collect();
        by_size.sort_by_key(|&axis| (std::cmp::Reverse(sizes[axis]), std::cmp::Reverse(axis)));
        let (x, y) = (by_size[0].max(by_size[1]), by_size[0].min(by_size[1]));
        let others: Vec<usize> = (0..sizes.len()).filter(|&axis| axis != x && axis != y).collect();
        let choices: Vec<Choice> = match others[..] {
            [] => vec![Choice { across: vec![x], down: vec![y], wrapped: None }],
            [axis] => (1..=sizes[axis])
                .map(|n| Choice { across: vec![x], down: vec![y], wrapped: Some((axis, n)) })
                .collect(),
            _ => (0..1_u32 << others.len().min(MAX_CHOICES as usize))
                .map(|bits| {
                    let is_down = |i: usize| i < MAX_CHOICES as usize && (bits >> i) & 1 == 1;
                    let pick = |down: bool, inner: usize| {
                        let outer = others.iter().enumerate().filter(|(i, _)| is_down(*i) == down);
                        outer.map(|(_, &axis)| axis).chain([inner]).collect()
                    };
                    Choice { across: pick(false, x), down: pick(true, y), wrapped: None }
                })
                .collect(),
        };
        choices
            .iter()
            .map(|choice| choice.largest(&sizes, room, point))
            // Of equal cells, the one that leaves the most even margins.
            .max_by_key(|tiling| (tiling.cell, tiling.slack(&sizes, room)))
            .expect("there is at least one choice")
    }

    /// Pixels across and down.
    pub fn size(&self, sizes: &[usize]) -> (usize, usize) {
        match self.wrapped {
            None => (self.x.length, self.y.length),
            Some((axis, n)) => {
                let rows = sizes[axis].div_ceil(n);
                (n * (self.x.length + self.gap) - self.gap, rows * (self.y.length + self.gap) - self.gap)
            }
        }
    }

    /// The pixel of a place, its upper left corner.
    pub fn at(&self, coordinate: &[usize]) -> (usize, usize) {
        let (x, y) = (self.x.at(coordinate), self.y.at(coordinate));
        match self.wrapped {
            None => (x, y),
            Some((axis, n)) => {
                let tile = coordinate[axis];
                (x + tile % n * (self.x.length + self.gap), y + tile / n * (self.y.length + self.gap))
            }
        }
    }

    /// The smaller of the free margins across and down, negative if it does not fit: the larger, the better.
    fn slack(&self, sizes: &[usize], (width, height): (usize, usize)) -> i64 {
        let own = self.size(sizes);
        (width as i64 - own.0 as i64).min(height as i64 - own.1 as i64)
    }
}

struct Choice {
    across: Vec<usize>,
    down: Vec<usize>,
    wrapped: Option<(usize, usize)>,
}

impl Choice {
    fn with(&self, sizes: &[usize], cell: usize, point: usize) -> Tiling {
        // Above wrapped tiles there is room for their names.
        let gap = match self.wrapped {
            Some(_) if 2 * point <= cell => 16 * point,
            _ => (cell / 2).clamp(1, 2 * point),
        };
        let x = TileLane::new(self.across.clone(), sizes, cell, gap);
        let y = TileLane::new(self.down.clone(), sizes, cell, gap);
        Tiling { x, y, wrapped: self.wrapped, cell, gap }
    }

    fn largest(&self, sizes: &[usize], room: (usize, usize), point: usize) -> Tiling {
        let fits = |cell: usize| {
            let (width, height) = self.with(sizes, cell, point).size(sizes);
            width <= room.0 && height <= room.1
        };
        let (mut good, mut bad) = (1, MAX_CELL_POINTS * point + 1);
        while good + 1 < bad {
            let middle = usize::midpoint(good, bad);
            if fits(middle) {
                good = middle;
            } else {
                bad = middle;
            }
        }
        self.with(sizes, good, point)
    }
}

/// The coordinate of a place; the last axis runs fastest.
pub fn coordinate(place: usize, axes: &[FieldAxis], into: &mut Vec<usize>) {
    into.clear();
    into.resize(axes.len(), 0);
    let mut rest = place;
    for (at, axis) in into.iter_mut().zip(axes).rev() {
        *at = rest % axis.size;
        rest /= axis.size;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axes(sizes: &[usize]) -> Vec<FieldAxis> {
        sizes.iter().map(|&size| FieldAxis { name: "x".to_owned(), size }).collect()
    }

    /// No two places share a pixel, and all lie inside.
    fn check(sizes: &[usize], room: (usize, usize)) -> Tiling {
        let axes = axes(sizes);
        let tiling = Tiling::new(&axes, room, 1);
        let (width, height) = tiling.size(sizes);
        let mut taken = vec![false; width * height];
        let mut at = Vec::new();
        for place in 0..sizes.iter().product() {
            coordinate(place, &axes, &mut at);
            let (left, top) = tiling.at(&at);
            for pixel in (0..tiling.cell).flat_map(|y| (0..tiling.cell).map(move |x| (left + x, top + y))) {
                let free = &mut taken[pixel.1 * width + pixel.0];
                assert!(!*free, "{sizes:?}: {at:?} shares {pixel:?}");
                *free = true;
            }
        }
        tiling
    }

    #[test]
    fn no_two_places_share_a_pixel() {
        for sizes in
            [&[8, 8][..], &[2, 3], &[4, 8, 8], &[16, 2, 3], &[4, 4, 2, 3], &[3, 2, 2, 2, 4], &[2; 7], &[5; 4]]
        {
            let tiling = check(sizes, (400, 300));
            let (width, height) = tiling.size(sizes);
            assert!(width <= 400 && height <= 300 || tiling.cell == 1, "{sizes:?}: {width} × {height}");
        }
        assert_eq!(check(&[900, 700], (400, 300)).cell, 1);
    }

    #[test]
    fn the_largest_axes_span_a_tile() {
        let tiling = check(&[8, 2, 16, 4], (400, 300));
        assert_eq!((tiling.x.axes.last(), tiling.y.axes.last()), (Some(&2), Some(&0)));
        let slices = check(&[4, 8, 8], (400, 300));
        assert_eq!(slices.wrapped.map(|(axis, _)| axis), Some(0));
    }
}
