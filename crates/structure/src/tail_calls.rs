//! Calls that end a function: the compiler makes jumps of them, and the stack no longer shows the function.
//!
//! ```text
//! main: call checkpoint        checkpoint: … jmp MPI_Barrier        the stack in MPI_Barrier: MPI_Barrier ◄ main
//! ```
//! Law: a function is named only if the call before it leads there and it can be left by a jump to what runs. Where
//! several jumps can have been taken, the function is known and the jump is not.

use crate::flow::{FlowGraph, Transfer};

/// Most functions in a row that end by a jump.
const CHAIN_MAX: usize = 8;

/// Where a jump out of a function leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// To a function of the same file.
    Own(usize),
    /// To a function of another file.
    Imported,
    /// To what a register or memory says.
    Unknown,
}

/// A jump out of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exit {
    /// The address of the jump.
    pub jump: u64,
    pub target: Target,
}

/// A function that was left by a jump.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Left {
    pub function: usize,
    /// The address of the jump, if only one can have been taken.
    pub jump: Option<u64>,
}

/// The jumps out of a function. `target` says where an address outside of it leads.
pub(crate) fn exits(graph: &FlowGraph, target: &dyn Fn(u64) -> Target) -> Vec<Exit> {
    let reached = graph.reached();
    let last_steps = graph.blocks.iter().zip(reached).filter(|(block, reached)| *reached && block.leaves);
    let exit = |step: &crate::flow::Step| {
        let target = match step.transfer {
            Transfer::Jump(to) | Transfer::Branch(to) => target(to),
            Transfer::JumpSlot(_) => Target::Imported,
            Transfer::IndirectJump => Target::Unknown,
            _ => return None,
        };
        Some(Exit { jump: step.address, target })
    };
    last_steps.filter_map(|(block, _)| exit(&graph.steps[block.steps.end - 1])).collect()
}

/// The functions between a call of `first` and `reached` (none: a function of another file) that were left by jumps,
/// outermost first; empty if jumps do not lead there.
pub(crate) fn chain(
    first: usize,
    reached: Option<usize>,
    exits: &mut dyn FnMut(usize) -> Vec<Exit>,
) -> Vec<Left> {
    let leads_there = |exit: &Exit| match exit.target {
        Target::Own(function) => Some(function) == reached,
        Target::Imported => reached.is_none(),
        Target::Unknown => true,
    };
    let mut left: Vec<Left> = Vec::new();
    let mut at = first;
    while Some(at) != reached && left.len() < CHAIN_MAX && left.iter().all(|left| left.function != at) {
        let exits = exits(at);
        let mut there = exits.iter().filter(|exit| leads_there(exit));
        match (there.next(), there.next(), exits.as_slice()) {
            (Some(exit), None, _) => {
                left.push(Left { function: at, jump: Some(exit.jump) });
                return left;
            }
            (Some(_), Some(_), _) => {
                left.push(Left { function: at, jump: None });
                return left;
            }
            (None, _, &[Exit { jump, target: Target::Own(next) }]) => {
                left.push(Left { function: at, jump: Some(jump) });
                at = next;
            }
            _ => return Vec::new(),
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(exits: &[&[Exit]], reached: Option<usize>) -> Vec<(usize, Option<u64>)> {
        let left = chain(0, reached, &mut |function| exits[function].to_vec());
        left.into_iter().map(|left| (left.function, left.jump)).collect()
    }

    fn exit(jump: u64, target: Target) -> Exit {
        Exit { jump, target }
    }

    #[test]
    fn a_function_that_jumps_to_what_runs_was_left() {
        let imported = exit(7, Target::Imported);
        assert_eq!(found(&[&[imported]], None), [(0, Some(7))]);
        assert_eq!(found(&[&[exit(7, Target::Unknown)]], None), [(0, Some(7))]);
        assert_eq!(found(&[&[exit(7, Target::Own(1))], &[imported]], Some(1)), [(0, Some(7))]);
        let two = [exit(3, Target::Own(1)), exit(7, Target::Own(1)), exit(9, Target::Imported)];
        assert_eq!(found(&[&two, &[]], Some(1)), [(0, None)]);
        assert_eq!(found(&[&two, &[]], None), [(0, Some(9))]);
    }

    #[test]
    fn jumps_are_followed_while_there_is_one() {
        let (to_1, to_2) = (exit(3, Target::Own(1)), exit(5, Target::Own(2)));
        let imported = exit(7, Target::Imported);
        assert_eq!(found(&[&[to_1], &[to_2], &[imported]], None), [(0, Some(3)), (1, Some(5)), (2, Some(7))]);
        assert_eq!(found(&[&[to_1, to_2], &[imported], &[imported]], None), []);
    }

    #[test]
    fn what_jumps_do_not_lead_to_was_not_reached_by_them() {
        assert_eq!(found(&[&[]], None), []);
        assert_eq!(found(&[&[exit(7, Target::Imported)], &[]], Some(1)), []);
        assert_eq!(found(&[&[exit(3, Target::Own(1))], &[exit(5, Target::Own(0))]], None), [], "a circle");
        assert_eq!(found(&[&[exit(7, Target::Imported)]], Some(0)), [], "the function itself runs");
    }
}
