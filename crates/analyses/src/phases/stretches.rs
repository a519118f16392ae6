//! Iterations that are too short for the sampling period, as phases of their own or as one.
//!
//! The imbalance of a phase is `max − mean` over noisy peers, which is too great by up to `s √(2 ln N)`; over many short
//! phases that is more than what is looked for. As one phase, a loop has the noise of one. But then peers that take turns
//! at being slow look balanced. So a stretch of iterations stays divided if its phases lose more than it does as a whole,
//! by more than noise and one percent of the run.

use super::by_peer::PeerRow;
use super::noise::Noise;
use super::plan::{GroupPlan, noise_factor};
use super::state::{Aligned, CellState, is_border};
use ouzel_model::{CallPathTree, Ticks};

/// Part of the run that must be lost by taking turns.
const LEAST_PART: f64 = 0.01;

/// A group with the stretches divided that are worth it, and the number of synchronisations in each entry.
pub(super) fn divided(fine: Aligned, coarse: Aligned, plan: &GroupPlan, run: Ticks) -> (Aligned, Vec<u64>) {
    let stretches = stretches(plan);
    if fine.entries.len() == coarse.entries.len() {
        return (fine, vec![1; stretches.len()]);
    }
    let noise = Noise { period: plan.period, n_peers: fine.locations.len() as u64, n_synchronisations: 0 };
    let can_divide = fine.rows.iter().all(PeerRow::is_by_entry);
    let of_fine = lost(&fine);
    let of_coarse = lost(&coarse);
    let is_divided = |i: usize| {
        let (from, to) = stretches[i];
        let n = (to - from) as f64;
        // One stay of each peer in a phase: from one synchronisation to the next.
        let s = noise.period.0 as f64 / 6.0_f64.sqrt();
        let bias = n * s * noise_factor(noise.n_peers);
        let taking_turns = of_fine[from..to].iter().sum::<f64>() - bias - of_coarse[i];
        1 < to - from && can_divide && 2.0 * s * n.sqrt() + LEAST_PART * (run.0 as f64) < taking_turns
    };
    let divided: Vec<bool> = (0..stretches.len()).map(is_divided).collect();
    if !divided.contains(&true) {
        let n_phases = stretches.iter().map(|&(from, to)| (to - from) as u64).collect();
        return (coarse, n_phases);
    }
    mixed(fine, &coarse, &stretches, &divided)
}

/// First phase of each stretch, and the one after its last.
fn stretches(plan: &GroupPlan) -> Vec<(usize, usize)> {
    let n = plan.anchors.len();
    let ends = plan.anchors.iter().enumerate().filter(|(_, anchor)| anchor.ends_stretch).map(|(i, _)| i + 1);
    let mut stretches = Vec::new();
    let mut from = 0;
    for to in ends.chain([n + 1]) {
        stretches.push((from, to));
        from = to;
    }
    stretches
}

/// For each entry `max − mean` of the busy times of the peers, in ticks.
fn lost(aligned: &Aligned) -> Vec<f64> {
    let mut lost = vec![0.0; aligned.entries.len()];
    let n = aligned.locations.len().max(1) as f64;
    let is_busy = |cell: &&CellState| cell.key.1 == CallPathTree::ROOT && cell.key.2;
    for cell in aligned.cells.iter().filter(is_busy) {
        lost[cell.key.0 as usize] = cell.inclusive.max.0 as f64 - cell.inclusive.sum.0 as f64 / n;
    }
    lost
}

/// The entries of `fine` in divided stretches, of `coarse` elsewhere.
fn mixed(
    fine: Aligned,
    coarse: &Aligned,
    stretches: &[(usize, usize)],
    divided: &[bool],
) -> (Aligned, Vec<u64>) {
    let (mut entries, mut cells, mut n_phases) = (Vec::new(), Vec::new(), Vec::new());
    // By new entry, the phases in it.
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for (i, &(from, to)) in stretches.iter().enumerate() {
        let (source, range) = if divided[i] { (&fine, from..to) } else { (coarse, i..i + 1) };
        for old in range {
            let at = entries.len() as u32;
            let start = source.cells.partition_point(|cell| (cell.key.0 as usize) < old);
            let own = source.cells[start..].iter().take_while(|cell| cell.key.0 as usize == old);
            cells.extend(own.map(|cell| CellState { key: (at, cell.key.1, cell.key.2), ..*cell }));
            let part = if divided[i] { (old, old + 1) } else { (from, to) };
            n_phases.push((part.1 - part.0) as u64);
            parts.push(part);
            entries.push(source.entries[old]);
        }
    }
    let rows = fine.rows.iter().map(|row| row.joined(&parts)).collect();
    // Nothing is cut any more: only the sums over the run are needed.
    let tails = fine.tails.iter().take_while(|tail| tail.key.0 == 0).copied().collect();
    debug_assert!(is_border(0));
    (Aligned { entries, cells, rows, tails, ..fine }, n_phases)
}
