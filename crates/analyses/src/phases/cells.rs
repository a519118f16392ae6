//! Cells of one location: joined, and summed from each border to the end.

use super::state::{CellKey, OneCell, border_at_most, is_border};
use ouzel_engine::roomy;
use std::cmp::Reverse;

/// Adds up the cells of one key. The sort is stable: the cells are two or more sorted runs, joined in linear time.
pub(super) fn join_equal_cells(cells: &mut Vec<OneCell>) {
    cells.sort_by_key(|cell| cell.key);
    cells.dedup_by(|cell, before| {
        let same = cell.key == before.key;
        if same {
            before.add(cell);
        }
        same
    });
}

/// At each border up to entry `n_common`, the times from there to the end. `n_slots` bounds the call paths.
pub(super) fn tails(cells: &[OneCell], n_common: usize, n_slots: usize) -> Vec<OneCell> {
    let slot_of = |key: CellKey| key.1.index() * 2 + usize::from(key.2);
    let mut sums: Vec<Option<OneCell>> = vec![None; n_slots.max(2)];
    // Those that have times so far, descending.
    let mut slots: Vec<usize> = roomy();
    let mut tails = Vec::with_capacity(cells.len());
    let mut rest = cells;
    let mut border = border_at_most(n_common as u64);
    loop {
        let n_before = slots.len();
        while let Some((cell, before)) = rest.split_last().filter(|(cell, _)| border <= u64::from(cell.key.0))
        {
            let slot = slot_of(cell.key);
            match &mut sums[slot] {
                Some(sum) => sum.add(cell),
                free => {
                    *free = Some(*cell);
                    slots.push(slot);
                }
            }
            rest = before;
        }
        if n_before < slots.len() {
            slots.sort_unstable_by_key(|&slot| Reverse(slot));
        }
        let at_border = |&slot: &usize| {
            let sum = sums[slot].expect("it has times");
            OneCell { key: (border as u32, sum.key.1, sum.key.2), ..sum }
        };
        tails.extend(slots.iter().map(at_border));
        if border == 0 {
            break;
        }
        border = border_at_most(border - 1);
    }
    debug_assert!(tails.iter().all(|tail: &OneCell| is_border(u64::from(tail.key.0))));
    tails.reverse();
    tails
}
