//! Who is next to whom in a Cartesian communicator.
//!
//! Law: being next to each other is mutual; a rank that is its own neighbour (a periodic dimension of one place) is left
//! out.

use ouzel_model::{CartMembers, CartTopology, Communicator, WorldRank};
use std::collections::BTreeMap;

/// The neighbours of each rank, ascending.
#[derive(Debug, Default)]
pub(crate) struct Neighbours(BTreeMap<WorldRank, Vec<WorldRank>>);

impl Neighbours {
    /// Those of a topology of ranks; `None` if it is of anything else.
    pub fn new(topology: &CartTopology, comm: &Communicator) -> Option<Self> {
        let CartMembers::Ranks(ranks) = &topology.members else { return None };
        let world = |rank: usize| comm.members.get(rank).copied();
        let place = |member: usize| Some((topology.coordinate(member), world(ranks[member].index())?));
        let places: BTreeMap<&[u32], WorldRank> = (0..ranks.len()).filter_map(place).collect();
        let mut all = BTreeMap::new();
        for (coordinate, rank) in &places {
            let mut of: Vec<WorldRank> = Vec::new();
            for (axis, dimension) in topology.dimensions.iter().enumerate() {
                let at = coordinate[axis];
                let last = dimension.size.saturating_sub(1);
                let wrapped = |edge: u32| dimension.periodic.then_some(edge);
                let below = at.checked_sub(1).or_else(|| wrapped(last));
                let above = if at < last { Some(at + 1) } else { wrapped(0) };
                for next in [below, above].into_iter().flatten() {
                    let mut beside = coordinate.to_vec();
                    beside[axis] = next;
                    of.extend(places.get(&*beside).copied());
                }
            }
            of.retain(|it| it != rank);
            of.sort_unstable();
            of.dedup();
            all.insert(*rank, of);
        }
        Some(Neighbours(all))
    }

    /// The neighbours of a rank.
    pub fn of(&self, rank: WorldRank) -> &[WorldRank] {
        self.0.get(&rank).map_or(&[], Vec::as_slice)
    }
}
