//! A collective operation while it runs, and once it is over.

use super::machine::{Coupling, Machine};
use super::matching::VisitId;
use super::program::{CollectiveCall, Shape};

#[derive(Debug)]
pub(super) struct Instance {
    pub call: CollectiveCall,
    coupling: Coupling,
    members: Vec<usize>,
    /// The visit of each member, in the order of the communicator; all once the run is over.
    pub arrived: Vec<Option<VisitId>>,
}

impl Instance {
    pub fn new(call: CollectiveCall, members: &[usize], machine: &Machine) -> Self {
        let coupling = machine.coupling(call.kind);
        Instance { call, coupling, members: members.to_vec(), arrived: vec![None; members.len()] }
    }

    /// # Panics
    /// If `rank` is no member, or the members do not agree on what they call.
    pub fn arrive(&mut self, rank: usize, visit: VisitId, call: CollectiveCall) {
        assert_eq!(call, self.call, "the members call the same operation");
        let position = self.position(rank);
        self.arrived[position] = Some(visit);
    }

    /// Those for whom a member waits.
    pub fn needed(&self, rank: usize) -> &[Option<VisitId>] {
        match self.coupling {
            Coupling::None => &[],
            Coupling::All => &self.arrived,
            Coupling::Data => self.data_of(rank),
        }
    }

    /// Those whose lateness counts as waiting of a member.
    pub fn waited_for(&self, rank: usize) -> &[Option<VisitId>] {
        if self.coupling == Coupling::None { &[] } else { self.data_of(rank) }
    }

    /// The visits of all members but the root.
    pub fn others(&self) -> impl Iterator<Item = VisitId> {
        let of_others = |&(&member, _): &(&usize, &Option<VisitId>)| member != self.call.root;
        self.members.iter().zip(&self.arrived).filter(of_others).filter_map(|(_, &visit)| visit)
    }

    fn data_of(&self, rank: usize) -> &[Option<VisitId>] {
        let (all, root) = (&self.arrived, self.call.root);
        match self.call.kind.shape() {
            Shape::AllToAll => all,
            Shape::OneToAll if rank != root => std::slice::from_ref(&all[self.position(root)]),
            Shape::AllToOne if rank == root => all,
            Shape::OneToAll | Shape::AllToOne => &[],
            Shape::Prefix => &all[..=self.position(rank)],
        }
    }

    fn position(&self, rank: usize) -> usize {
        let position = self.members.iter().position(|&member| member == rank);
        position.expect("only members take part, and the root is one")
    }
}
