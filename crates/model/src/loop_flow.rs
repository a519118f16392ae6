//! What can run after what in one iteration of a loop, as the code of the program says.
//!
//! Law: the order is transitive and without circles. Where it comes from is the reader's affair.

use crate::plain_name;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A call, an inlined function or an inner loop that is directly in a loop.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LoopPart {
    /// The line of the call or of the inner loop; 0 if unknown.
    pub line: u32,
    /// Whether it is an inner loop.
    pub is_loop: bool,
    /// The function that is called; empty for a loop, and if the code does not say.
    pub function: Arc<str>,
}

/// The parts of a loop and their order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopFlow {
    /// Each once; none if the order of this loop's parts is not known.
    pub parts: Vec<LoopPart>,
    /// For each part the places of those that can run after it, ascending.
    pub after: Vec<Vec<u32>>,
}

impl LoopFlow {
    /// The part that a call or loop is: that of this line and name, else the one of this line that has no name, else the
    /// only one of this line. If the line is not known, the only one of this name.
    pub fn part(&self, line: Option<u32>, is_loop: bool, function: &str) -> Option<usize> {
        let Some(line) = line else {
            let asked = plain_name(function);
            let mut named = (0..)
                .zip(&self.parts)
                .filter(|(_, it)| it.is_loop == is_loop && plain_name(&it.function) == asked);
            return named.next().filter(|_| named.next().is_none()).map(|(at, _)| at);
        };
        let of_line = || (0..).zip(&self.parts).filter(|(_, it)| it.line == line && it.is_loop == is_loop);
        let named = |name: &str| of_line().find(|(_, it)| *it.function == *name);
        let only = || of_line().next().filter(|_| of_line().count() == 1);
        named(function).or_else(|| named("")).or_else(only).map(|(at, _)| at)
    }

    /// Whether a part can run after another one in the same iteration.
    pub fn follows(&self, before: usize, next: usize) -> bool {
        let Ok(next) = u32::try_from(next) else { return false };
        self.after.get(before).is_some_and(|after| after.binary_search(&next).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found_by_line_then_by_name() {
        let part = |line, is_loop, name: &str| LoopPart { line, is_loop, function: Arc::from(name) };
        let flow = LoopFlow {
            parts: vec![
                part(5, false, "a"),
                part(5, false, "b"),
                part(6, false, ""),
                part(7, false, "mpi_send_"),
                part(7, true, ""),
            ],
            after: vec![vec![1, 2], vec![2], vec![], vec![], vec![]],
        };
        assert_eq!(flow.part(Some(5), false, "b"), Some(1));
        assert_eq!(flow.part(Some(5), false, "c"), None, "it may be either");
        assert_eq!(flow.part(Some(6), false, "called by its address"), Some(2));
        assert_eq!(flow.part(Some(7), false, "MPI_Send"), Some(3));
        assert_eq!(
            (flow.part(Some(7), true, "loop at a.c:7"), flow.part(Some(8), true, "")),
            (Some(4), None)
        );
        assert_eq!((flow.part(None, false, "ns::b(int)"), flow.part(None, false, "c")), (Some(1), None));
        assert!(flow.follows(0, 2) && !flow.follows(2, 0) && !flow.follows(9, 0));
    }
}
