//! What can run after what in one iteration of a loop, or in one call of a function, as the code of the program says.
//!
//! Law: the order is transitive, and that of a loop without circles. Where it comes from is the reader's affair.

use crate::plain_name;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A call, an inlined function or an inner loop that is directly in a loop or function.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CodePart {
    /// The line of the call or of the inner loop; 0 if unknown.
    pub line: u32,
    /// Whether it is an inner loop.
    pub is_loop: bool,
    /// Whether no iteration that is followed by another, and no call that returns, can do without it.
    pub is_always: bool,
    /// The function that is called; empty for a loop, and if the code does not say.
    pub function: Arc<str>,
}

/// The parts of a loop or function and their order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeFlow {
    /// Each once; none if their order is not known.
    pub parts: Vec<CodePart>,
    /// For each part the places of those that can run after it, ascending.
    pub after: Vec<Vec<u32>>,
}

impl CodeFlow {
    /// The parts that a call or loop can be: that of this line and name, else the one of this line that has no name, else
    /// those of this line. If the line is not known, the only one of this name.
    pub fn parts_of(&self, line: Option<u32>, is_loop: bool, function: &str) -> Vec<usize> {
        let of_kind = || (0..).zip(&self.parts).filter(|(_, it)| it.is_loop == is_loop);
        let Some(line) = line else {
            let asked = plain_name(function);
            let named = of_kind().filter(|(_, it)| plain_name(&it.function) == asked);
            let named: Vec<usize> = named.map(|(at, _)| at).collect();
            return if named.len() == 1 { named } else { Vec::new() };
        };
        let of_line = || of_kind().filter(|(_, it)| it.line == line);
        let named = |name: &str| of_line().find(|(_, it)| *it.function == *name).map(|(at, _)| vec![at]);
        let all = || of_line().map(|(at, _)| at).collect();
        named(function).or_else(|| named("")).unwrap_or_else(all)
    }

    /// Whether no iteration that is followed by another, and no call that returns, can do without what is one of these parts.
    pub fn is_always(&self, parts: &[usize]) -> bool {
        !parts.is_empty() && parts.iter().all(|&part| self.parts.get(part).is_some_and(|part| part.is_always))
    }

    /// Whether one of these parts can run after one of those in the same iteration or call.
    pub fn follows(&self, before: &[usize], next: &[usize]) -> bool {
        let can = |before: usize, next: usize| {
            let Ok(next) = u32::try_from(next) else { return false };
            self.after.get(before).is_some_and(|after| after.binary_search(&next).is_ok())
        };
        before.iter().any(|&before| next.iter().any(|&next| can(before, next)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found_by_line_then_by_name() {
        let part = |line, is_loop, name: &str| CodePart {
            line,
            is_loop,
            is_always: line == 6 || name == "a",
            function: Arc::from(name),
        };
        let flow = CodeFlow {
            parts: vec![
                part(5, false, "a"),
                part(5, false, "b"),
                part(6, false, ""),
                part(7, false, "mpi_send_"),
                part(7, true, ""),
            ],
            after: vec![vec![1, 2], vec![2], vec![], vec![], vec![]],
        };
        assert_eq!(flow.parts_of(Some(5), false, "b"), [1]);
        assert_eq!(flow.parts_of(Some(5), false, "c"), [0, 1], "it may be either");
        assert_eq!(flow.parts_of(Some(6), false, "called by its address"), [2]);
        assert_eq!(flow.parts_of(Some(7), false, "MPI_Send"), [3]);
        assert_eq!(flow.parts_of(Some(7), true, "loop at a.c:7"), [4]);
        assert!(flow.parts_of(Some(8), true, "").is_empty());
        assert_eq!(flow.parts_of(None, false, "ns::b(int)"), [1]);
        assert!(flow.parts_of(None, false, "c").is_empty());
        assert!(flow.follows(&[0], &[2]) && !flow.follows(&[2], &[0]) && !flow.follows(&[9], &[0]));
        assert!(flow.is_always(&[0]) && flow.is_always(&[0, 2]));
        assert!(!flow.is_always(&[0, 1]), "it may be the other");
        assert!(!flow.is_always(&[]) && !flow.is_always(&[9]));
        // Of parts that cannot be told apart one can follow another.
        assert!(flow.follows(&[0, 1], &[0, 1]) && !flow.follows(&[1], &[1]));
    }
}
