//! Phases that end in the same call and are no iterations of the same thing.
//!
//! ```text
//! calls    setup Allreduce │ matvec Allreduce │ axpy Allreduce │ matvec Allreduce │ axpy Allreduce │ …
//! anchors          A       │         A        │       A        │         A        │       A        │      one loop of A
//! contents         S       │         M        │       X        │         M        │       X        │      S, n × {M X}
//! ```
//!
//! The second row is a loop of as many iterations as there are synchronisations. It is divided where what is called
//! in its phases says so: phases whose contents take turns are parts of one iteration, and a first phase without the
//! work of the others is what comes before the loop. Law: phases that are alike by their contents stay alike.

use super::output::{Cell, Phase, PhaseGroup};
use super::structure::{Slot, Structure};
use ouzel_model::{CallPathId, CallPathTree};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Most phases in a turn.
const LONGEST_TURN: usize = 8;
/// Least number of turns.
const LEAST_TURNS: usize = 3;
/// Share of the phases that must agree.
const AGREE: (usize, usize) = (9, 10);

/// The part of the phases that are alike by their anchors.
pub(super) const FIRST_PART: u32 = 1;
/// The part of a phase that comes before the loop.
const BEFORE: u32 = u32::MAX;

impl Structure {
    /// The loops of a group's phases. Phases are alike if the call path of their anchor is the same, and what is called
    /// in them is not another part of an iteration.
    pub fn new(group: &PhaseGroup) -> Self {
        let by_anchor = by_anchor(group);
        let structure = Structure::of_sequence(&by_anchor);
        match divided(group, &structure) {
            Some(parts) => Structure::of_sequence(&numbered(&by_anchor, &parts)),
            None => structure,
        }
    }
}

/// The part of an iteration that each phase is; `None` if all phases of one anchor are alike.
///
/// An anchor that comes several times in an iteration has a part for each.
pub(super) fn parts(group: &PhaseGroup) -> Option<Vec<u32>> {
    let by_anchor = by_anchor(group);
    let structure = Structure::of_sequence(&by_anchor);
    let divided = divided(group, &structure);
    let structure = match &divided {
        Some(parts) => Structure::of_sequence(&numbered(&by_anchor, parts)),
        None => structure,
    };
    let mut parts = divided.unwrap_or_else(|| vec![FIRST_PART; group.phases.len()]);
    if !structure.slots_are_merged {
        count_turns(&structure, &by_anchor, &mut parts);
    }
    parts.iter().any(|&part| part != FIRST_PART).then_some(parts)
}

/// Numbers the slots of one anchor in one loop.
fn count_turns(structure: &Structure, by_anchor: &[u32], parts: &mut [u32]) {
    let mut n_slots: FxHashMap<(&[u32], u32), u32> = FxHashMap::default();
    for slot in structure.slots.iter().filter(|slot| !slot.loops.is_empty()) {
        let Some(&first) = slot.phases.first() else { continue };
        let n = n_slots.entry((&slot.loops, by_anchor[first as usize])).or_default();
        for &phase in &slot.phases {
            let part = &mut parts[phase as usize];
            if *part != BEFORE {
                *part = FIRST_PART + *n;
            }
        }
        *n += 1;
    }
}

/// For each phase the call path of its anchor.
fn by_anchor(group: &PhaseGroup) -> Vec<u32> {
    let key = |phase: &Phase| phase.anchor.map_or(u32::MAX, |anchor| anchor.call_path.0);
    group.phases.iter().map(key).collect()
}

/// The sequence in which each part of each anchor has a number. The first part keeps that of the anchor.
fn numbered(by_anchor: &[u32], parts: &[u32]) -> Vec<u32> {
    let unused = by_anchor.iter().filter(|it| **it != u32::MAX).max().map_or(0, |most| most + 1);
    let mut numbers: FxHashMap<(u32, u32), u32> = FxHashMap::default();
    let number = |(&anchor, &part): (&u32, &u32)| {
        if part == FIRST_PART {
            return anchor;
        }
        let next = unused + numbers.len() as u32;
        *numbers.entry((anchor, part)).or_insert(next)
    };
    by_anchor.iter().zip(parts).map(number).collect()
}

/// The part that each phase is, if any is another than the first.
fn divided(group: &PhaseGroup, structure: &Structure) -> Option<Vec<u32>> {
    if structure.slots_are_merged {
        return None;
    }
    let mut parts = vec![FIRST_PART; group.phases.len()];
    for slot in structure.slots.iter().filter(|slot| !slot.loops.is_empty()) {
        for run in runs(structure, slot) {
            let before = usize::from(comes_before(group, run));
            if before == 1 {
                parts[run[0] as usize] = BEFORE;
            }
            let run = &run[before..];
            let turn = if is_alone(structure, slot) { turn(group, run) } else { 1 };
            for (i, &phase) in run.iter().enumerate() {
                parts[phase as usize] = FIRST_PART + (i % turn) as u32;
            }
        }
    }
    parts.iter().any(|&part| part != FIRST_PART).then_some(parts)
}

/// Whether the slot is all that its loop has.
fn is_alone(structure: &Structure, slot: &Slot) -> bool {
    let Some(&inner) = slot.loops.last() else { return false };
    structure.loops[inner as usize].iterations.iter().all(|(first, last)| first == last)
}

/// The phases of a slot, run by run of its innermost loop.
fn runs<'s>(structure: &Structure, slot: &'s Slot) -> Vec<&'s [u32]> {
    let is_next = |before: &u32, phase: &u32| {
        let number = |phase: u32| structure.iterations_of[phase as usize].last().copied();
        number(*before) < number(*phase)
    };
    slot.phases.chunk_by(is_next).collect()
}

/// Whether the first phase lacks the call path whose own work takes most of the time of the others, and its
/// synchronisation is not that of the first iteration.
fn comes_before(group: &PhaseGroup, run: &[u32]) -> bool {
    let Some((&first, others)) = run.split_first().filter(|(_, others)| 2 <= others.len()) else {
        return false;
    };
    let mut work: FxHashMap<CallPathId, (u64, usize)> = FxHashMap::default();
    for &phase in others {
        // Calls that wait are not busy.
        let works = |it: &&Cell| is_work(it.call_path) && 0 < it.busy.sum.0.min(it.exclusive.sum.0);
        let works = group.cells_of(phase).iter().filter(works);
        for cell in works {
            let sum = work.entry(cell.call_path).or_default();
            *sum = (sum.0 + cell.exclusive.sum.0, sum.1 + 1);
        }
    }
    // What only some of the others call says nothing.
    let usual = work.iter().filter(|(_, sum)| others.len() * AGREE.0 <= sum.1 * AGREE.1);
    let Some((&main, _)) = usual.max_by_key(|(path, sum)| (sum.0, std::cmp::Reverse(**path))) else {
        return false;
    };
    let is_there = |cell: &Cell| cell.call_path == main && (0 < cell.n_visits || 0 < cell.exclusive.sum.0);
    !group.cells_of(first).iter().any(is_there) && !is_rotated(group, run, main)
}

/// Whether iterations begin before their synchronisation and end behind it, as steps do that agree on their length before
/// they compute: a call that is open at the end of the first phase ends in the second, is made in the others, too, and has
/// as much work in them as `main`.
fn is_rotated(group: &PhaseGroup, run: &[u32], main: CallPathId) -> bool {
    let (first, others) = (run[0], &run[1..]);
    let is_open = |cell: &&Cell| is_work(cell.call_path) && cell.n_visits == 0 && 0 < cell.inclusive.sum.0;
    group.cells_of(first).iter().filter(is_open).any(|open| {
        let spans = |&&phase: &&u32| {
            let cell = |path| group.cells_of(phase).iter().find(|it| it.call_path == path && !it.subset);
            let work = cell(main).map_or(0, |it| it.busy.sum.0);
            cell(open.call_path).is_some_and(|it| 0 < it.n_visits && work <= it.busy.sum.0)
        };
        spans(&&others[0]) && others.len() * AGREE.0 <= others.iter().filter(spans).count() * AGREE.1
    })
}

fn is_work(path: CallPathId) -> bool {
    path != CallPathTree::ROOT
}

/// How many phases in a row differ in what they call before the same comes again; 1 if all are alike, if nothing repeats,
/// or if several are alike and another calls more than they do, as output every few steps does.
fn turn(group: &PhaseGroup, run: &[u32]) -> usize {
    let contents: Vec<BTreeSet<(CallPathId, bool)>> =
        run.iter().map(|&phase| content(group, phase)).collect();
    let agree = |distance: usize| {
        let pairs = || contents.iter().zip(&contents[distance..]);
        let n_equal = pairs().filter(|(a, b)| a == b).count();
        pairs().len() * AGREE.0 <= n_equal * AGREE.1
    };
    let longest = LONGEST_TURN.min(run.len() / LEAST_TURNS);
    let Some(turn) = (1..=longest).find(|&distance| agree(distance)) else { return 1 };
    // The first phases may hold what comes before the loop.
    let parts = &contents[run.len() - turn..];
    let holds_another = |part: &BTreeSet<_>| parts.iter().any(|other| other != part && other.is_subset(part));
    let are_alike = (1..turn).any(|part| parts[..part].contains(&parts[part]));
    if are_alike && parts.iter().any(holds_another) { 1 } else { turn }
}

/// The call paths that are called in a phase.
fn content(group: &PhaseGroup, phase: u32) -> BTreeSet<(CallPathId, bool)> {
    let called = group.cells_of(phase).iter().filter(|cell| 0 < cell.n_visits);
    called.map(|cell| (cell.call_path, cell.subset)).collect()
}

#[cfg(test)]
mod tests {
    use crate::phases::Phases;
    use crate::phases::structure::Structure;
    use ouzel_testkit::{ToyTrace, run};
    use std::fmt::Write;

    /// Two ranks that call these functions, each followed by a reduction.
    fn structure(functions: &[&str]) -> Structure {
        let mut text = String::new();
        for rank in 0..2 {
            write!(text, "{rank}: enter main @0").unwrap();
            let mut at = 0;
            for function in functions {
                for name in function.split('+') {
                    write!(text, ", enter {name} @{at}, leave @{}", at + 10).unwrap();
                    at += 10;
                }
                write!(text, ", enter MPI_Allreduce @{at}, leave @{}", at + 2).unwrap();
                at += 2;
            }
            writeln!(text, ", leave @{}", at + 1).unwrap();
        }
        let output = run(&ToyTrace::new(&text), Phases::default());
        Structure::new(&output.groups[0])
    }

    #[test]
    fn phases_that_take_turns_are_one_iteration() {
        let functions: Vec<&str> = ["matvec", "axpy"].repeat(10);
        let found = structure(&functions);
        assert_eq!(found.loops.len(), 1);
        assert_eq!(found.loops[0].n_iterations, [10]);
        assert_eq!(found.slots.iter().map(|slot| slot.phases.len()).collect::<Vec<_>>(), [10, 10, 1]);
    }

    #[test]
    fn what_comes_before_a_loop_is_no_iteration() {
        let found = structure(&["setup", "step", "step", "step", "step"]);
        assert_eq!(found.loops[0].n_iterations, [4]);
        assert_eq!(found.slots.iter().map(|slot| slot.phases.len()).collect::<Vec<_>>(), [1, 4, 1]);
    }

    #[test]
    fn the_first_of_steps_that_begin_with_their_synchronisation_is_an_iteration() {
        let mut text = String::new();
        for rank in 0..2 {
            write!(text, "{rank}: enter main @0, enter setup @0, leave @30").unwrap();
            for step in 0..5 {
                let at = 30 + step * 20;
                write!(
                    text,
                    ", enter step @{at}, enter MPI_Allreduce @{at}, leave @{}, enter work @{}, leave @{}, leave @{}",
                    at + 2,
                    at + 2,
                    at + 20,
                    at + 20
                )
                .unwrap();
            }
            writeln!(text, ", leave @131").unwrap();
        }
        let output = run(&ToyTrace::new(&text), Phases::default());
        assert_eq!(Structure::new(&output.groups[0]).loops[0].n_iterations, [5]);
    }

    #[test]
    fn an_anchor_that_comes_several_times_in_an_iteration_has_a_part_for_each() {
        let mut text = String::new();
        for rank in 0..2 {
            write!(text, "{rank}: enter main @0").unwrap();
            for (i, call) in ["Barrier", "Allreduce", "Allreduce"].iter().cycle().take(12).enumerate() {
                write!(text, ", enter work @{}, leave @{}", 20 * i, 20 * i + 10).unwrap();
                write!(text, ", enter MPI_{call} @{}, leave @{}", 20 * i + 10, 20 * i + 12).unwrap();
            }
            writeln!(text, ", leave @240").unwrap();
        }
        let output = run(&ToyTrace::new(&text), Phases::default());
        let parts = super::parts(&output.groups[0]).unwrap();
        assert_eq!(parts[..12], [1, 1, 2].repeat(4));
    }

    #[test]
    fn phases_that_are_alike_stay_one_loop() {
        assert_eq!(structure(&["step"; 7]).loops[0].n_iterations, [7]);
        // Output every few steps makes no longer iterations.
        assert_eq!(structure(&["step", "step", "step+write"].repeat(6)).loops[0].n_iterations, [18]);
        // Output now and then is part of the iterations.
        let functions =
            ["step", "step", "step", "step", "write", "step", "step", "step", "step", "write", "step"];
        assert_eq!(structure(&functions).loops[0].n_iterations, [11]);
    }
}
