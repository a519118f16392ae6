//! Cells of one location: joined, and summed from each border to the end.

use super::state::{CellKey, OneCell, border_at_most, is_border};
use ouzel_model::Ticks;

/// Adds up the cells of one key. The sort is stable: the cells are two or more sorted runs, joined in linear time.
pub(super) fn join_equal_cells(cells: &mut Vec<OneCell>) {
    cells.sort_by_key(|cell| cell.key);
    cells.dedup_by(|cell, before| {
        let same = cell.key == before.key;
        if same {
            before.n_visits += cell.n_visits;
            before.n_stays += cell.n_stays;
            before.inclusive += cell.inclusive;
            before.exclusive += cell.exclusive;
            before.busy += cell.busy;
        }
        same
    });
}

/// At each border up to entry `n_common`, the times from there to the end. `n_slots` bounds the call paths.
pub(super) fn tails(cells: &[OneCell], n_common: usize, n_slots: usize) -> Vec<OneCell> {
    let slot_of = |key: CellKey| key.1.index() * 2 + usize::from(key.2);
    let mut sums: Vec<Option<OneCell>> = vec![None; n_slots.max(2)];
    let mut tails = Vec::new();
    let mut rest = cells;
    let mut border = border_at_most(n_common as u64);
    loop {
        while let Some((cell, before)) = rest.split_last().filter(|(cell, _)| border <= u64::from(cell.key.0))
        {
            let sum = sums[slot_of(cell.key)].get_or_insert(OneCell {
                n_visits: 0,
                n_stays: 0,
                inclusive: Ticks(0),
                exclusive: Ticks(0),
                busy: Ticks(0),
                ..*cell
            });
            sum.n_visits += cell.n_visits;
            sum.n_stays += cell.n_stays;
            sum.inclusive += cell.inclusive;
            sum.exclusive += cell.exclusive;
            sum.busy += cell.busy;
            rest = before;
        }
        let at_border = sums.iter().rev().flatten().map(|sum| {
            let key = (border as u32, sum.key.1, sum.key.2);
            OneCell { key, ..*sum }
        });
        tails.extend(at_border);
        if border == 0 {
            break;
        }
        border = border_at_most(border - 1);
    }
    debug_assert!(tails.iter().all(|tail| is_border(u64::from(tail.key.0))));
    tails.reverse();
    tails
}
