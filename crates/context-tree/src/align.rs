//! Which child of one node corresponds to which child of another.
//!
//! Two cursors walk the children. Equal ids match. Of two unlike children the earlier one in
//! program order has no counterpart and is passed; program order comes from an [`Order`],
//! and where that is silent from looking ahead.
//! Law: swapping the two sides swaps the steps and nothing else. The printed Algorithm 2
//! always passes the left child when neither follows the other, which makes the difference
//! depend on the side; here the choice does not know the side.
//!
//! Source: ICS'18 paper, Algorithm 2, lines 5 to 22.

use crate::node::{Node, StaticId};
use std::cmp::Ordering;

/// Program order inside of a construct.
pub trait Order {
    /// How `a` and `b` stand in one fixed linear extension of the forward control flow inside `parent`:
    /// `Less` if `a` comes before `b`; `None` if nothing is known. Swapping `a` and `b` reverses the answer.
    fn compare(&self, parent: StaticId, a: StaticId, b: StaticId) -> Option<Ordering>;
}

/// No control flow is known: look ahead.
#[derive(Debug, Clone, Copy, Default)]
pub struct LookAhead;

impl Order for LookAhead {
    fn compare(&self, _: StaticId, _: StaticId, _: StaticId) -> Option<Ordering> {
        None
    }
}

/// Children that are looked at ahead of a mismatch, so that a long sequence of mismatches stays linear.
pub(crate) const CHILDREN_AHEAD: usize = 64;

/// One step of the walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// These two correspond.
    Both(usize, usize),
    /// This child of the left node has no counterpart.
    Left(usize),
    /// This child of the right node has no counterpart.
    Right(usize),
}

/// The walk over the children of two nodes.
pub struct Alignment<'a> {
    order: &'a dyn Order,
    parent: StaticId,
    left: &'a [Node],
    right: &'a [Node],
    at: (usize, usize),
}

impl std::fmt::Debug for Alignment<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Alignment")
            .field("parent", &self.parent)
            .field("at", &self.at)
            .finish_non_exhaustive()
    }
}

impl<'a> Alignment<'a> {
    /// The walk over children of two instances of `parent`.
    pub fn new(order: &'a dyn Order, parent: StaticId, left: &'a [Node], right: &'a [Node]) -> Self {
        Alignment { order, parent, left, right, at: (0, 0) }
    }

    /// Whether the left child of a mismatch is the earlier one.
    fn is_left_earlier(&self) -> bool {
        let (left, right) = (&self.left[self.at.0..], &self.right[self.at.1..]);
        let (a, b) = (left[0].id, right[0].id);
        match self.order.compare(self.parent, a, b) {
            Some(Ordering::Less) => return true,
            Some(Ordering::Greater) => return false,
            Some(Ordering::Equal) | None => {}
        }
        let is_ahead = |nodes: &[Node], id| nodes.iter().take(CHILDREN_AHEAD).any(|node| node.id == id);
        match (is_ahead(right, a), is_ahead(left, b)) {
            // The left child comes later on the right: what is before it there is passed.
            (true, false) => false,
            (false, true) => true,
            // Where only one of them runs on either side: by line, as calls of one construct are in one function.
            _ => (a.line(), a) < (b.line(), b),
        }
    }
}

impl Iterator for Alignment<'_> {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        let (i, j) = self.at;
        let step = match (self.left.get(i), self.right.get(j)) {
            (None, None) => return None,
            (Some(_), None) => Step::Left(i),
            (None, Some(_)) => Step::Right(j),
            (Some(a), Some(b)) if a.id == b.id => Step::Both(i, j),
            (Some(_), Some(_)) if self.is_left_earlier() => Step::Left(i),
            (Some(_), Some(_)) => Step::Right(j),
        };
        match step {
            Step::Both(..) => self.at = (i + 1, j + 1),
            Step::Left(_) => self.at.0 += 1,
            Step::Right(_) => self.at.1 += 1,
        }
        Some(step)
    }
}

/// The walk over children sorted by id.
pub fn by_id<'a>(left: &'a [Node], right: &'a [Node]) -> impl Iterator<Item = Step> + 'a {
    let mut at = (0, 0);
    std::iter::from_fn(move || {
        let (i, j) = at;
        let order = match (left.get(i), right.get(j)) {
            (None, None) => return None,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(a), Some(b)) => a.id.cmp(&b.id),
        };
        Some(match order {
            Ordering::Equal => {
                at = (i + 1, j + 1);
                Step::Both(i, j)
            }
            Ordering::Less => {
                at.0 += 1;
                Step::Left(i)
            }
            Ordering::Greater => {
                at.1 += 1;
                Step::Right(j)
            }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ouzel_model::RegionId;

    fn nodes(ids: &[u32]) -> Vec<Node> {
        ids.iter().map(|&id| Node::leaf(StaticId::Region(RegionId(id)), 1.0)).collect()
    }

    fn steps(left: &[u32], right: &[u32]) -> Vec<Step> {
        Alignment::new(&LookAhead, StaticId::Root, &nodes(left), &nodes(right)).collect()
    }

    #[test]
    fn an_extra_child_is_passed_on_its_side() {
        use Step::{Both, Left, Right};
        assert_eq!(steps(&[5, 9, 2], &[5, 2]), [Both(0, 0), Left(1), Both(2, 1)]);
        assert_eq!(steps(&[5, 2], &[5, 9, 2]), [Both(0, 0), Right(1), Both(1, 2)]);
        // Exclusive branches: by id, whatever the side.
        assert_eq!(steps(&[7, 1], &[3, 1]), [Right(0), Left(0), Both(1, 1)]);
        assert_eq!(steps(&[3, 1], &[7, 1]), [Left(0), Right(0), Both(1, 1)]);
    }
}
