//! The places of a topology, and who is where.
//!
//! Data: axes; for each location its place or none; for each place its location or none. A place is the coordinates as
//! one number, the last axis fastest. Law: no location has two places, no place two locations. Members that own
//! several locations (processes with threads) get one axis more, the position of a location within its member, so
//! that this holds. Not here: values.

use ouzel_model::{
    CartDimension, CartMembers, CartTopology, Level, LocationId, Notice, NoticeCode, ProfileDefinitions,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Most places of a grid. Each costs 8 to 24 bytes per view in work: here that is a gigabyte or so. The largest
/// machines had 10 M hardware threads.
const MAX_PLACES: u64 = 1 << 26;
/// Most axes: a filter has one bit for each.
const MAX_AXES: usize = 31;
/// Below this share of places with a location, what fills the others shows in the spectra.
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
    place_of: Vec<u32>,
    location_at: Vec<u32>,
    n_located: usize,
    n_members_unknown: usize,
}

/// Why a topology is no grid for the locations of a profile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GridError {
    /// No axes, too many, or one without places.
    #[error(
        "topology {topology:?} has {n_axes} axes and {n_places} places; 1 to {MAX_AXES} axes and 1 to {MAX_PLACES} places can be used"
    )]
    Shape {
        /// Its name.
        topology: String,
        /// Number of axes.
        n_axes: usize,
        /// Number of places, as text as it may exceed every integer.
        n_places: String,
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

impl Grid {
    /// The grid of a topology.
    ///
    /// # Errors
    /// If the topology does not go with the locations: coordinates outside of it, two locations in one place, none at
    /// all; or if it is too large.
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
        let mut axes = topology.dimensions.clone();
        if n_within > 1 {
            axes.push(CartDimension {
                name: Arc::from(within_name(&topology.members)),
                size: u32::try_from(n_within).expect("locations are numbered in 32 bits"),
                periodic: false,
            });
        }
        let n_places = checked_places(topology, &axes)?;
        let mut grid = Grid {
            name: Arc::clone(&topology.name),
            origin: vec![0; axes.len()],
            axes,
            place_of: vec![NONE; definitions.locations.len()],
            location_at: vec![NONE; n_places],
            n_located: 0,
            n_members_unknown: owned.iter().filter(|locations| locations.is_empty()).count(),
        };
        for (member, locations) in owned.iter().enumerate() {
            let base = grid.checked_place(topology, member)? * if n_within > 1 { n_within } else { 1 };
            for (within, &location) in locations.iter().enumerate() {
                grid.put(definitions, location, base + within)?;
            }
        }
        Ok(grid)
    }

    fn checked_place(&self, topology: &CartTopology, member: usize) -> Result<usize, GridError> {
        let mut place = 0;
        for (&at, axis) in topology.coordinate(member).iter().zip(&topology.dimensions) {
            if at >= axis.size {
                return Err(GridError::Outside {
                    topology: topology.name.to_string(),
                    member: member_name(&topology.members, member),
                    at,
                    axis: axis.name.to_string(),
                    size: axis.size,
                });
            }
            place = place * axis.size as usize + at as usize;
        }
        Ok(place)
    }

    fn put(
        &mut self,
        definitions: &ProfileDefinitions,
        location: LocationId,
        place: usize,
    ) -> Result<(), GridError> {
        let there = self.location_at[place];
        if there != NONE {
            return Err(GridError::TwoInOnePlace {
                topology: self.name.to_string(),
                place: self.coordinates(place),
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

    /// A shift as people say it: for each axis the shorter way around, in (−d/2, d/2].
    pub fn signed_shift(&self, shift: &[u32]) -> Vec<i64> {
        let signed = |(&at, axis): (&u32, &CartDimension)| {
            let (at, size) = (i64::from(at), i64::from(axis.size));
            if 2 * at > size { at - size } else { at }
        };
        shift.iter().zip(&self.axes).map(signed).collect()
    }

    /// The grid cut down to where locations are: on each axis the shortest run of places that holds them all, around
    /// the ends where those meet. `None` if that is all of it.
    pub fn cut_to_used(&self) -> Option<Grid> {
        let mut used: Vec<Vec<bool>> = self.axes.iter().map(|axis| vec![false; axis.size as usize]).collect();
        let places: Vec<usize> = self.location_ids().filter_map(|location| self.place(location)).collect();
        for &place in &places {
            for (used, at) in used.iter_mut().zip(self.coordinates(place)) {
                used[at as usize] = true;
            }
        }
        let runs: Vec<(u32, u32)> =
            used.iter().zip(&self.axes).map(|(used, axis)| shortest_run(used, axis.periodic)).collect();
        if runs.iter().zip(&self.axes).all(|(run, axis)| run.1 == axis.size) {
            return None;
        }
        let cut = |(axis, run): (&CartDimension, &(u32, u32))| CartDimension {
            name: Arc::clone(&axis.name),
            size: run.1,
            periodic: axis.periodic && run.1 == axis.size,
        };
        let axes: Vec<CartDimension> = self.axes.iter().zip(&runs).map(cut).collect();
        let n_places = axes.iter().map(|axis| axis.size as usize).product();
        let mut grid = Grid {
            name: Arc::clone(&self.name),
            origin: self.origin.iter().zip(&runs).map(|(origin, run)| origin + run.0).collect(),
            axes,
            place_of: vec![NONE; self.place_of.len()],
            location_at: vec![NONE; n_places],
            n_located: self.n_located,
            n_members_unknown: self.n_members_unknown,
        };
        for location in self.location_ids() {
            let Some(place) = self.place(location) else { continue };
            let step = |place: usize, ((at, axis), run): ((u32, &CartDimension), &(u32, u32))| {
                place * run.1 as usize + ((at + axis.size - run.0) % axis.size) as usize
            };
            let to = self.coordinates(place).into_iter().zip(&self.axes).zip(&runs).fold(0, step);
            grid.place_of[location.index()] = to as u32;
            grid.location_at[to] = location.0;
        }
        Some(grid)
    }

    fn location_ids(&self) -> impl Iterator<Item = LocationId> + use<> {
        (0..self.place_of.len()).map(LocationId::from_index)
    }

    /// What to know before trusting it: places without a location, locations without a place, few of both.
    pub fn notices(&self) -> Vec<Notice> {
        let mut notices = Vec::new();
        let n_missing = self.n_places() - self.n_located;
        if n_missing > 0 {
            let level = if self.coverage() < MIN_COVERAGE { Level::Medium } else { Level::Low };
            let mut message = format!(
                "{} of {} places of topology {:?} have a location; the others take the mean",
                self.n_located,
                self.n_places(),
                self.name
            );
            if let Some(cut) = self.cut_to_used().filter(|cut| cut.coverage() > self.coverage()) {
                let sizes: Vec<String> = cut.axes.iter().map(|axis| axis.size.to_string()).collect();
                message +=
                    &format!("; cut to what is used it has {} places ({})", cut.n_places(), sizes.join("x"));
            }
            notices.push(Notice::new(level, NoticeCode::NotAvailable, message).times(n_missing as u64));
        }
        if self.n_located < MIN_LOCATED {
            let message = format!(
                "{} locations are few: views that have nothing in common may agree well",
                self.n_located
            );
            notices.push(Notice::new(Level::Low, NoticeCode::DoubtfulSeverities, message));
        }
        if self.n_members_unknown > 0 {
            let message = format!("members of topology {:?} are no locations of the profile", self.name);
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

fn check_shape(topology: &CartTopology) -> Result<(), GridError> {
    checked_places(topology, &topology.dimensions)?;
    let n_expected = topology.members.len() * topology.dimensions.len();
    if topology.coordinates.len() != n_expected {
        return Err(GridError::Coordinates {
            topology: topology.name.to_string(),
            n_members: topology.members.len(),
            n_axes: topology.dimensions.len(),
            n_coordinates: topology.coordinates.len(),
        });
    }
    Ok(())
}

fn checked_places(topology: &CartTopology, axes: &[CartDimension]) -> Result<usize, GridError> {
    let product = axes.iter().map(|axis| axis.size).try_fold(1_u64, |n, size| n.checked_mul(u64::from(size)));
    match product {
        Some(n @ 1..=MAX_PLACES) if (1..=MAX_AXES).contains(&axes.len()) => Ok(n as usize),
        _ => Err(GridError::Shape {
            topology: topology.name.to_string(),
            n_axes: axes.len(),
            n_places: product.map_or_else(|| "more than 2^64".to_owned(), |n| n.to_string()),
        }),
    }
}

/// For each member its locations, ascending; none of them is in two lists.
fn locations_of_members(definitions: &ProfileDefinitions, members: &CartMembers) -> Vec<Vec<LocationId>> {
    let mut owned = vec![Vec::new(); members.len()];
    let mut gather = |member_of: &dyn Fn(LocationId) -> Option<usize>| {
        for location in definitions.location_ids() {
            let runs_code = definitions.locations[location.index()].kind.runs_code();
            if let Some(member) = member_of(location).filter(|_| runs_code) {
                owned[member].push(location);
            }
        }
    };
    let of = |location: LocationId| &definitions.locations[location.index()];
    match members {
        CartMembers::Locations(locations) => {
            let at: BTreeMap<_, _> = locations.iter().enumerate().map(|(at, &id)| (id, at)).collect();
            gather(&|location| at.get(&location).copied());
        }
        CartMembers::Ranks(ranks) => {
            let at: BTreeMap<_, _> = ranks.iter().enumerate().map(|(at, rank)| (rank.0, at)).collect();
            gather(&|location| at.get(&of(location).rank?.0).copied());
        }
        CartMembers::Groups(groups) => {
            let at: BTreeMap<_, _> = groups.iter().enumerate().map(|(at, &id)| (id, at)).collect();
            gather(&|location| at.get(&of(location).group).copied());
        }
        CartMembers::SystemNodes(nodes) => {
            let at: BTreeMap<_, _> = nodes.iter().enumerate().map(|(at, &id)| (id, at)).collect();
            let nodes = &definitions.system_tree.nodes;
            gather(&|location| {
                let group = definitions.location_groups.get(of(location).group.index())?;
                let up = |&id: &ouzel_model::SystemNodeId| nodes.get(id.index()).and_then(|node| node.parent);
                let above = std::iter::successors(group.system_node, up).take(nodes.len());
                above.filter_map(|node| at.get(&node).copied()).next()
            });
        }
    }
    owned
}

fn within_name(members: &CartMembers) -> &'static str {
    match members {
        CartMembers::SystemNodes(_) => "location",
        CartMembers::Ranks(_) | CartMembers::Locations(_) | CartMembers::Groups(_) => "thread",
    }
}

fn member_name(members: &CartMembers, at: usize) -> String {
    match members {
        CartMembers::Ranks(v) => format!("rank {}", v[at].0),
        CartMembers::Locations(v) => format!("location {}", v[at].0),
        CartMembers::Groups(v) => format!("location group {}", v[at].0),
        CartMembers::SystemNodes(v) => format!("system node {}", v[at].0),
    }
}

fn location_name(definitions: &ProfileDefinitions, id: LocationId) -> String {
    let location = &definitions.locations[id.index()];
    match definitions.location_groups.get(location.group.index()) {
        Some(group) => format!("{} of {} (location {})", location.name, group.name, id.0),
        None => format!("{} (location {})", location.name, id.0),
    }
}

/// Start and length of the shortest run that holds all that is used; may go around the end.
fn shortest_run(used: &[bool], around: bool) -> (u32, u32) {
    let n = used.len();
    let at: Vec<usize> = (0..n).filter(|&i| used[i]).collect();
    let (Some(&first), Some(&last)) = (at.first(), at.last()) else { return (0, n as u32) };
    let mut best = (first, last - first + 1);
    if around {
        for pair in at.windows(2) {
            let length = n - (pair[1] - pair[0]) + 1;
            if length < best.1 {
                best = (pair[1], length);
            }
        }
    }
    (best.0 as u32, best.1 as u32)
}
