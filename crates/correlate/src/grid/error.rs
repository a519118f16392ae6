//! Why a topology is no grid.

use super::fit::MAX_AXES;

/// Why a topology is no grid for the locations of a profile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GridError {
    /// No axes, too many, or one without places.
    #[error(
        "topology {topology:?} has {n_axes} axes and {n_places} places; it needs 1 to {MAX_AXES} axes, each of 1 \
         place or more"
    )]
    Shape {
        /// Its name.
        topology: String,
        /// Number of axes.
        n_axes: usize,
        /// Number of places, as text as it may exceed every integer.
        n_places: String,
    },
    /// Far more places than locations, also around those that are used.
    #[error(
        "topology {topology:?} ({sizes}) has {n_places} places, {n_cut} around the {n_located} used ones: more than \
         the limit of {limit} for that many; choose another topology with --topology, by its name or by axis sizes, \
         e.g. {n_located}"
    )]
    Sparse {
        /// Its name.
        topology: String,
        /// Sizes of its axes.
        sizes: String,
        /// Number of places, as text as it may exceed every integer.
        n_places: String,
        /// Number of places around those that are used, as text.
        n_cut: String,
        /// Number of locations that have a place.
        n_located: usize,
        /// Most places for so many locations.
        limit: u64,
    },
    /// Members and coordinates do not go together.
    #[error(
        "topology {topology:?} has {n_members} members of {n_axes} coordinates each, but {n_coordinates} coordinates"
    )]
    Coordinates {
        /// Its name.
        topology: String,
        /// Number of members.
        n_members: usize,
        /// Number of axes.
        n_axes: usize,
        /// Number of coordinates.
        n_coordinates: usize,
    },
    /// A member has a coordinate beyond its axis.
    #[error("topology {topology:?} puts {member} at {at} of axis {axis:?}, which has {size} places")]
    Outside {
        /// Its name.
        topology: String,
        /// The member.
        member: String,
        /// Its coordinate.
        at: u32,
        /// Name of the axis.
        axis: String,
        /// Its size.
        size: u32,
    },
    /// Two locations have one place.
    #[error("topology {topology:?} has two locations in place {place:?}: {first} and {second}")]
    TwoInOnePlace {
        /// Its name.
        topology: String,
        /// The coordinates.
        place: Vec<u32>,
        /// One of them.
        first: String,
        /// The other one.
        second: String,
    },
    /// The topology knows none of the profile's locations.
    #[error(
        "topology {topology:?} places {n_members} {kind}, none of which is among the {n_locations} locations of the profile"
    )]
    Foreign {
        /// Its name.
        topology: String,
        /// Number of members.
        n_members: usize,
        /// What they are, in the plural.
        kind: &'static str,
        /// Number of locations of the profile.
        n_locations: usize,
    },
}
