//! The places of a topology, and the location in each.
//!
//! Data: axes; for each location its place or none; for each place its location or none. A place is the coordinates as
//! one number, the last axis fastest. Law: no location has two places, no place two locations. Members that own several
//! locations (processes with threads) get one more axis, the position of a location within its member, so that this
//! holds. A topology of far more places than locations is cut to the part that is used; if that is still too large, no
//! grid is made: work on a grid costs time and memory by its places, and no cost may exceed what a file holds by more
//! than a constant factor. A grid holds no values.

mod error;
mod fit;
mod members;

pub use error::GridError;

use fit::{Placed, by_x, check_shape, cut, is_cut, place_in, placed, runs, used_runs};
use members::{location_name, locations_of_members};
use ouzel_model::{CartDimension, CartTopology, Level, LocationId, Notice, NoticeCode, ProfileDefinitions};
use std::sync::Arc;

/// Below this share of places with a location, the fill values of the others show in the spectra.
const MIN_COVERAGE: f64 = 0.5;
/// Below this number of locations, the best of all shifts and views is high by chance: of two locations any two views
/// have |r| = 1.
const MIN_LOCATED: usize = 8;
const NONE: u32 = u32::MAX;

/// The places of a topology, and the location in each.
#[derive(Debug, Clone, PartialEq)]
pub struct Grid {
    name: Arc<str>,
    axes: Vec<CartDimension>,
    /// First coordinate of each axis in the topology it was cut out of.
    origin: Vec<u32>,
    /// Sizes of the axes of the topology, if it was cut because too few of its places are used.
    cut_from: Option<Vec<u32>>,
    place_of: Vec<u32>,
    location_at: Vec<u32>,
    n_located: usize,
    n_members_unknown: usize,
}

impl Grid {
    /// Makes the grid of a topology.
    ///
    /// # Errors
    /// If the topology does not match the locations: coordinates outside it, two locations in one place, none at all;
    /// or if too few of its places are used.
    pub fn new(definitions: &ProfileDefinitions, topology: &CartTopology) -> Result<Grid, GridError> {
        check_shape(topology)?;
        let owned = locations_of_members(definitions, &topology.members);
        let n_within = owned.iter().map(Vec::len).max().unwrap_or(0);
        if n_within == 0 {
            return Err(GridError::Foreign {
                topology: topology.name.to_string(),
                n_members: topology.members.len(),
                kind: topology.members.as_str(),
                n_locations: definitions.locations.len(),
            });
        }
        let n_members_unknown = owned.iter().filter(|locations| locations.is_empty()).count();
        let placed = placed(topology, &owned, n_within)?;
        let runs = runs(topology, &placed)?;
        let Placed { axes, locations, coordinates } = placed;
        let n_places = runs.iter().map(|run| run.length as usize).product();
        let mut grid = Grid {
            name: Arc::clone(&topology.name),
            origin: runs.iter().map(|run| run.start).collect(),
            cut_from: is_cut(&axes, &runs).then(|| axes.iter().map(|axis| axis.size).collect()),
            axes: axes.iter().zip(&runs).map(cut).collect(),
            place_of: vec![NONE; definitions.locations.len()],
            location_at: vec![NONE; n_places],
            n_located: 0,
            n_members_unknown,
        };
        for (location, at) in locations.into_iter().zip(coordinates.chunks_exact(axes.len())) {
            let place = place_in(at, &axes, &runs);
            grid.put(definitions, location, place, at)?;
        }
        Ok(grid)
    }

    fn put(
        &mut self,
        definitions: &ProfileDefinitions,
        location: LocationId,
        place: usize,
        at: &[u32],
    ) -> Result<(), GridError> {
        let there = self.location_at[place];
        if there != NONE {
            return Err(GridError::TwoInOnePlace {
                topology: self.name.to_string(),
                place: at.to_vec(),
                first: location_name(definitions, LocationId(there)),
                second: location_name(definitions, location),
            });
        }
        self.location_at[place] = location.0;
        self.place_of[location.index()] = place as u32;
        self.n_located += 1;
        Ok(())
    }

    /// The name of the topology; may be empty.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The axes, the last one running fastest.
    pub fn axes(&self) -> &[CartDimension] {
        &self.axes
    }

    /// The name of an axis, or its number where it has none.
    pub fn axis_name(&self, axis: usize) -> String {
        let name = &self.axes[axis].name;
        if name.is_empty() { axis.to_string() } else { name.to_string() }
    }

    /// Coordinate in the topology of the first place along each axis: 0 unless the grid was cut out.
    pub fn origin(&self) -> &[u32] {
        &self.origin
    }

    /// Number of places.
    pub fn n_places(&self) -> usize {
        self.location_at.len()
    }

    /// Number of locations that have a place.
    pub fn n_located(&self) -> usize {
        self.n_located
    }

    /// The place of a location; `None` if it has none.
    pub fn place(&self, location: LocationId) -> Option<usize> {
        self.place_of.get(location.index()).filter(|&&place| place != NONE).map(|&place| place as usize)
    }

    /// The location in a place; `None` if it is missing.
    pub fn location(&self, place: usize) -> Option<LocationId> {
        self.location_at
            .get(place)
            .filter(|&&location| location != NONE)
            .map(|&location| LocationId(location))
    }

    /// The coordinates of a place.
    pub fn coordinates(&self, place: usize) -> Vec<u32> {
        let mut rest = place;
        let mut coordinates = vec![0; self.axes.len()];
        for (at, axis) in coordinates.iter_mut().zip(&self.axes).rev() {
            *at = (rest % axis.size as usize) as u32;
            rest /= axis.size as usize;
        }
        coordinates
    }

    /// Share of the places that have a location, in (0, 1].
    pub fn coverage(&self) -> f64 {
        self.n_located as f64 / self.n_places() as f64
    }

    /// A shift in display form: for each axis the shorter way around, in (−d/2, d/2].
    pub fn signed_shift(&self, shift: &[u32]) -> Vec<i64> {
        let signed = |(&at, axis): (&u32, &CartDimension)| {
            let (at, size) = (i64::from(at), i64::from(axis.size));
            if 2 * at > size { at - size } else { at }
        };
        shift.iter().zip(&self.axes).map(signed).collect()
    }

    /// The grid cut down to the locations: on each axis the shortest run of places that holds them all, around the ends
    /// where those meet. `None` if that is the whole grid.
    pub fn cut_to_used(&self) -> Option<Grid> {
        let places = self.location_ids().filter_map(|location| self.place(location));
        let coordinates: Vec<u32> = places.flat_map(|place| self.coordinates(place)).collect();
        let runs = used_runs(&self.axes, &coordinates);
        if !is_cut(&self.axes, &runs) {
            return None;
        }
        let axes: Vec<CartDimension> = self.axes.iter().zip(&runs).map(cut).collect();
        let n_places = axes.iter().map(|axis| axis.size as usize).product();
        let mut grid = Grid {
            name: Arc::clone(&self.name),
            origin: self.origin.iter().zip(&runs).map(|(origin, run)| origin + run.start).collect(),
            cut_from: self.cut_from.clone(),
            axes,
            place_of: vec![NONE; self.place_of.len()],
            location_at: vec![NONE; n_places],
            n_located: self.n_located,
            n_members_unknown: self.n_members_unknown,
        };
        for location in self.location_ids() {
            let Some(place) = self.place(location) else { continue };
            let to = place_in(&self.coordinates(place), &self.axes, &runs);
            grid.place_of[location.index()] = to as u32;
            grid.location_at[to] = location.0;
        }
        Some(grid)
    }

    fn location_ids(&self) -> impl Iterator<Item = LocationId> + use<> {
        (0..self.place_of.len()).map(LocationId::from_index)
    }

    /// Reports that places were cut off, if far more places were there than are used.
    pub fn cut_notice(&self) -> Option<Notice> {
        let message = format!(
            "topology {:?} ({}) has far more places than are used: it is cut to those around the used ones ({})",
            self.name,
            by_x(self.cut_from.as_ref()?.iter().copied()),
            by_x(self.axes.iter().map(|axis| axis.size))
        );
        Some(Notice::new(Level::Medium, NoticeCode::NotAvailable, message))
    }

    /// What to know before trusting it: places without a location, locations without a place, few of both.
    pub fn notices(&self) -> Vec<Notice> {
        let mut notices = Vec::new();
        notices.extend(self.cut_notice());
        let n_missing = self.n_places() - self.n_located;
        if n_missing > 0 {
            let level = if self.coverage() < MIN_COVERAGE { Level::Medium } else { Level::Low };
            let mut message = format!(
                "{} of {} places of topology {:?} have a location; the others are given the mean",
                self.n_located,
                self.n_places(),
                self.name
            );
            if let Some(cut) = self.cut_to_used().filter(|cut| cut.coverage() > self.coverage()) {
                let sizes = by_x(cut.axes.iter().map(|axis| axis.size));
                message += &format!("; cut to the used part, it has {} places ({sizes})", cut.n_places());
            }
            notices.push(Notice::new(level, NoticeCode::NotAvailable, message).times(n_missing as u64));
        }
        if self.n_located < MIN_LOCATED {
            let message = format!("{} locations are few: unrelated views may match well", self.n_located);
            notices.push(Notice::new(Level::Low, NoticeCode::DoubtfulSeverities, message));
        }
        if self.n_members_unknown > 0 {
            let message = format!("members of topology {:?} are not locations of the profile", self.name);
            let n = self.n_members_unknown as u64;
            notices.push(Notice::new(Level::Medium, NoticeCode::UndefinedReference, message).times(n));
        }
        let n_outside = self.place_of.len() - self.n_located;
        if n_outside > 0 {
            let message = format!("locations have no place in topology {:?} and are left out", self.name);
            notices
                .push(Notice::new(Level::Medium, NoticeCode::NotAvailable, message).times(n_outside as u64));
        }
        notices
    }
}
