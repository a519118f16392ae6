//! A piece of a run as sums by region, used if order is not worth its memory.
//!
//! Law: exclusive times and visits by region are kept, and so is the time outside of all
//! regions. The pieces are chosen in [`fold_short`](crate::fold_short).

use crate::node::{Body, Node, StaticId};
use crate::strip::{LEAVE, LOOPS, Token};
use ouzel_model::RegionId;
use std::collections::BTreeMap;

/// Exclusive time in ticks and visits by region.
#[derive(Debug, Default)]
pub struct FlatProfile {
    regions: BTreeMap<RegionId, Totals>,
    /// Time that belongs to the call in which the profile hangs.
    outside: f64,
    open: Vec<RegionId>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Totals {
    exclusive: f64,
    visits: f64,
}

impl FlatProfile {
    /// Adds a token and the time before it; `aux` is the tree of a loop or profile token.
    pub(crate) fn add_token(&mut self, token: Token, time: f64, aux: Option<&Node>) {
        self.add_time(self.open.last().copied(), time);
        match token {
            LEAVE => {
                self.open.pop();
            }
            token if token < LOOPS => {
                self.regions.entry(RegionId(token)).or_default().visits += 1.0;
                self.open.push(RegionId(token));
            }
            _ => {
                if let Some(node) = aux {
                    self.add(self.open.last().copied(), node, 1.0);
                }
            }
        }
    }

    /// Adds `n` instances of a tree, called from the call in which the profile hangs.
    pub(crate) fn add_tree(&mut self, node: &Node, n: f64) {
        self.add(None, node, n);
    }

    fn add_time(&mut self, owner: Option<RegionId>, time: f64) {
        match owner {
            Some(region) => self.regions.entry(region).or_default().exclusive += time,
            None => self.outside += time,
        }
    }

    fn add(&mut self, caller: Option<RegionId>, node: &Node, n: f64) {
        // Loops, iterations and calls folded before are part of their caller.
        let owner = node.id.region().or(caller);
        let is_region = node.id.region().is_some();
        let (own, visits, children) = match &node.body {
            Body::Call { gaps, children } => (gaps.iter().sum(), 1.0, children),
            Body::Profile { self_time, visits, children } => (*self_time, *visits, children),
            Body::Loop(body) => {
                for cluster in &body.clusters {
                    self.add(owner, &cluster.tree, n * cluster.n as f64);
                }
                (body.gap, 1.0, &body.profiles)
            }
        };
        self.add_time(owner, n * own);
        if let (Some(region), true) = (owner, is_region) {
            self.regions.entry(region).or_default().visits += n * visits;
        }
        for child in children {
            self.add(owner, child, n);
        }
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.regions.is_empty() && self.outside <= 0.0
    }

    /// A node that holds it.
    pub(crate) fn into_node(self, id: StaticId) -> Node {
        let children = self.regions.into_iter().map(|(region, Totals { exclusive, visits })| {
            Node::profile(StaticId::Region(region), exclusive, visits, Vec::new())
        });
        Node::profile(id, self.outside, 1.0, children.collect())
    }

    #[cfg(test)]
    /// Exclusive time and visits of each region, by region.
    pub fn regions(&self) -> impl Iterator<Item = (RegionId, f64, f64)> + '_ {
        self.regions.iter().map(|(&region, totals)| (region, totals.exclusive, totals.visits))
    }
}
