//! How much of a topology is a grid.
//!
//! Law: time and memory are bounded by members and locations, whatever the sizes of axes are; the grid has as many
//! places as locations, but for a constant factor. Where the topology has more, the grid is the part around the places
//! that are used.

use super::GridError;
use super::members::{member_name, within_name};
use ouzel_model::{CartDimension, CartTopology, LocationId};
use std::sync::Arc;

/// Most places of a grid, however many are used. Each costs 8 to 24 bytes per view in work: here that is a gigabyte or so. The largest
/// machines had 10 M hardware threads.
const MAX_PLACES: u64 = 1 << 26;
/// Places for each location that has one, at most, as transforms work on all places: below 1 of 64, a spectrum is that
/// of the places that are taken rather than that of the values.
const MAX_PLACES_PER_LOCATED: u64 = 64;
/// So many places are used always: a view of them costs 0.1 ms.
const FREE_PLACES: u64 = 4096;
/// Most axes: a filter has one bit for each.
pub(crate) const MAX_AXES: usize = 31;

/// Whether axes and coordinates can be used at all.
pub(crate) fn check_shape(topology: &CartTopology) -> Result<(), GridError> {
    let sizes = || topology.dimensions.iter().map(|axis| axis.size);
    if !(1..=MAX_AXES).contains(&topology.dimensions.len()) || sizes().any(|size| size == 0) {
        return Err(GridError::Shape {
            topology: topology.name.to_string(),
            n_axes: topology.dimensions.len(),
            n_places: places_text(n_places(sizes())),
        });
    }
    if topology.members.len().checked_mul(topology.dimensions.len()) != Some(topology.coordinates.len()) {
        return Err(GridError::Coordinates {
            topology: topology.name.to_string(),
            n_members: topology.members.len(),
            n_axes: topology.dimensions.len(),
            n_coordinates: topology.coordinates.len(),
        });
    }
    Ok(())
}

/// The axes, and who is where.
pub struct Placed {
    /// Those of the topology, and one more for locations within their member if there are several.
    pub axes: Vec<CartDimension>,
    /// The locations that have a place.
    pub locations: Vec<LocationId>,
    /// Their coordinates, one for each axis.
    pub coordinates: Vec<u32>,
}

/// Who is where, by the locations of each member, of which there are `n_within` at most.
pub fn placed(
    topology: &CartTopology,
    owned: &[Vec<LocationId>],
    n_within: usize,
) -> Result<Placed, GridError> {
    let mut axes = topology.dimensions.clone();
    if n_within > 1 {
        axes.push(CartDimension {
            name: Arc::from(within_name(&topology.members)),
            size: u32::try_from(n_within).expect("locations are numbered in 32 bits"),
            periodic: false,
        });
    }
    if axes.len() > MAX_AXES {
        let n_places = places_text(n_places(axes.iter().map(|axis| axis.size)));
        return Err(GridError::Shape { topology: topology.name.to_string(), n_axes: axes.len(), n_places });
    }
    let mut placed = Placed { axes, locations: Vec::new(), coordinates: Vec::new() };
    for (member, locations) in owned.iter().enumerate() {
        let coordinate = topology.coordinate(member);
        for (&at, axis) in coordinate.iter().zip(&topology.dimensions) {
            if at >= axis.size {
                return Err(GridError::Outside {
                    topology: topology.name.to_string(),
                    member: member_name(&topology.members, member),
                    at,
                    axis: axis.name.to_string(),
                    size: axis.size,
                });
            }
        }
        for (within, &location) in locations.iter().enumerate() {
            placed.locations.push(location);
            placed.coordinates.extend_from_slice(coordinate);
            placed.coordinates.extend((n_within > 1).then_some(within as u32));
        }
    }
    Ok(placed)
}

/// On each axis the places that the grid has: all, or those around the used ones where there are too many.
pub fn runs(topology: &CartTopology, placed: &Placed) -> Result<Vec<AxisRun>, GridError> {
    let Placed { axes, locations, coordinates } = placed;
    let limit = (MAX_PLACES_PER_LOCATED * locations.len() as u64).clamp(FREE_PLACES, MAX_PLACES);
    let all = n_places(axes.iter().map(|axis| axis.size));
    if all.is_some_and(|n| n <= limit) {
        return Ok(axes.iter().map(|axis| AxisRun { start: 0, length: axis.size }).collect());
    }
    let runs = used_runs(axes, coordinates);
    let cut = n_places(runs.iter().map(|run| run.length));
    if cut.is_some_and(|n| n <= limit) {
        return Ok(runs);
    }
    Err(GridError::Sparse {
        topology: topology.name.to_string(),
        sizes: by_x(axes.iter().map(|axis| axis.size)),
        n_places: places_text(all),
        n_cut: places_text(cut),
        n_located: locations.len(),
        limit,
    })
}

/// Places that follow each other on an axis, around its end if need be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AxisRun {
    /// The first.
    pub start: u32,
    /// How many.
    pub length: u32,
}

/// On each axis the shortest run that holds all coordinates.
pub(crate) fn used_runs(axes: &[CartDimension], coordinates: &[u32]) -> Vec<AxisRun> {
    let run = |(i, axis): (usize, &CartDimension)| {
        let mut used: Vec<u32> = coordinates.iter().skip(i).step_by(axes.len()).copied().collect();
        used.sort_unstable();
        used.dedup();
        shortest_run(&used, axis.size, axis.periodic)
    };
    axes.iter().enumerate().map(run).collect()
}

/// Whether runs are less than their axes.
pub fn is_cut(axes: &[CartDimension], runs: &[AxisRun]) -> bool {
    axes.iter().zip(runs).any(|(axis, run)| run.length != axis.size)
}

/// An axis cut to a run.
pub fn cut((axis, run): (&CartDimension, &AxisRun)) -> CartDimension {
    let periodic = axis.periodic && run.length == axis.size;
    CartDimension { name: Arc::clone(&axis.name), size: run.length, periodic }
}

/// The place of coordinates on a grid of these runs, which hold them.
pub(crate) fn place_in(at: &[u32], axes: &[CartDimension], runs: &[AxisRun]) -> usize {
    let step = |place: usize, ((at, axis), run): ((&u32, &CartDimension), &AxisRun)| {
        let from_start =
            (u64::from(*at) + u64::from(axis.size) - u64::from(run.start)) % u64::from(axis.size);
        place * run.length as usize + from_start as usize
    };
    at.iter().zip(axes).zip(runs).fold(0, step)
}

/// The product of sizes; `None` if it does not fit into 64 bits.
pub fn n_places(sizes: impl Iterator<Item = u32>) -> Option<u64> {
    sizes.map(u64::from).try_fold(1_u64, u64::checked_mul)
}

fn places_text(n: Option<u64>) -> String {
    n.map_or_else(|| "more than 2^64".to_owned(), |n| n.to_string())
}

/// Sizes as people write them.
pub(crate) fn by_x(sizes: impl Iterator<Item = u32>) -> String {
    sizes.map(|size| size.to_string()).collect::<Vec<_>>().join("x")
}

/// Start and length of the shortest run that holds all that is used, ascending; may go around the end of `size`.
fn shortest_run(used: &[u32], size: u32, around: bool) -> AxisRun {
    let (Some(&first), Some(&last)) = (used.first(), used.last()) else {
        return AxisRun { start: 0, length: size };
    };
    let mut best = AxisRun { start: first, length: last - first + 1 };
    if around {
        for pair in used.windows(2) {
            let length = size - (pair[1] - pair[0]) + 1;
            if length < best.length {
                best = AxisRun { start: pair[1], length };
            }
        }
    }
    best
}
