//! Topologies of CUBE as topologies of the model.
//!
//! What does not fit is left out and counted: coordinates outside of the axes, members that
//! are not defined, second places of a member, members of another kind than the first.

use ouzel_cube::{Anchor, AnchorCart, MemberKind};
use ouzel_model::{
    CartDimension, CartMembers, CartTopology, Level, Location, LocationGroupId, LocationId, Notice,
    NoticeCode, SystemNodeId,
};
use rustc_hash::FxHashMap;
use std::sync::Arc;

pub(super) fn resolve(
    anchor: &Anchor,
    locations: &[Location],
    file: &Arc<str>,
    notices: &mut Vec<Notice>,
) -> Vec<CartTopology> {
    let mut index: FxHashMap<(u8, u32), u32> = FxHashMap::default();
    for (i, location) in (0..).zip(locations) {
        let id = u32::try_from(location.native_id).expect("ids of files have 32 bits");
        index.entry((kind_code(MemberKind::Location), id)).or_insert(i);
    }
    for (i, group) in (0..).zip(&anchor.groups) {
        index.entry((kind_code(MemberKind::Group), group.id)).or_insert(i);
    }
    for (i, node) in (0..).zip(&anchor.system_nodes) {
        index.entry((kind_code(MemberKind::SystemNode(node.kind)), node.id)).or_insert(i);
    }
    let resolve = |(i, cart): (usize, &AnchorCart)| {
        let (topology, n_bad) = topology(cart, &index);
        if n_bad > 0 {
            let message = format!(
                "coordinates of topology {i} {:?} are left out: they lie outside it, belong to nothing, or belong to \
                 something that already has a place",
                cart.name
            );
            let notice = Notice::new(Level::Medium, NoticeCode::UndefinedReference, message);
            notices.push(notice.times(n_bad).in_file(file.clone()));
        }
        topology
    };
    anchor.carts.iter().enumerate().map(resolve).collect()
}

fn kind_code(kind: MemberKind) -> u8 {
    match kind {
        MemberKind::Location => 0,
        MemberKind::Group => 1,
        MemberKind::SystemNode(kind) => 2 + kind as u8,
    }
}

/// The topology, and how many coordinates are left out.
fn topology(cart: &AnchorCart, index: &FxHashMap<(u8, u32), u32>) -> (CartTopology, u64) {
    let n = cart.dimensions.len();
    let kind = cart.members.first().map_or(MemberKind::Location, |(kind, _)| *kind);
    let is_same = |other: MemberKind| match (kind, other) {
        (MemberKind::SystemNode(_), MemberKind::SystemNode(_)) => true,
        (kind, other) => kind == other,
    };
    let mut places: Vec<(u32, &[u32])> = Vec::with_capacity(cart.members.len());
    for (i, &(kind, id)) in cart.members.iter().enumerate() {
        let coordinate = &cart.coordinates[i * n..(i + 1) * n];
        let is_inside = coordinate.iter().zip(&cart.dimensions).all(|(&at, axis)| at < axis.size);
        if let Some(&member) = index.get(&(kind_code(kind), id)).filter(|_| is_inside && is_same(kind)) {
            places.push((member, coordinate));
        }
    }
    places.sort_by_key(|(member, _)| *member);
    places.dedup_by_key(|(member, _)| *member);
    let n_bad = (cart.members.len() - places.len()) as u64 + cart.n_bad;
    let members = places.iter().map(|(member, _)| *member);
    let topology = CartTopology {
        name: Arc::from(cart.name.as_str()),
        comm: None,
        dimensions: cart
            .dimensions
            .iter()
            .map(|axis| CartDimension {
                name: Arc::from(axis.name.as_str()),
                size: axis.size,
                periodic: axis.periodic,
            })
            .collect(),
        members: match kind {
            MemberKind::Location => CartMembers::Locations(members.map(LocationId).collect()),
            MemberKind::Group => CartMembers::Groups(members.map(LocationGroupId).collect()),
            MemberKind::SystemNode(_) => CartMembers::SystemNodes(members.map(SystemNodeId).collect()),
        },
        coordinates: places.iter().flat_map(|(_, place)| *place).copied().collect(),
    };
    (topology, n_bad)
}
