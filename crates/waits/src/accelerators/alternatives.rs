//! Losses of which each gains what the others gain: the same time, not more.
//!
//! Where two changes together gain no more than one of them, another part of the run sets its end once either is made.
//! Stated side by side, they would be added.

use super::loss::{Candidate, DeviceLoss};
use super::loss_kind::DeviceLossKind;
use super::trials::Trials;

/// Gains that differ by less than this factor are taken for equal.
const AS_MUCH: (u64, u64) = (20, 21);

/// The losses of candidates whose gains are known; those of one kind that gain nothing together are one, the first, which
/// knows the others.
pub(super) fn gather(mut candidates: Vec<Candidate>, trials: &mut Trials<'_>) -> Vec<DeviceLoss> {
    candidates.sort_by_key(|it| std::cmp::Reverse(it.loss.gain));
    let mut kept: Vec<Candidate> = Vec::new();
    for it in candidates {
        let gains_the_same = |of: &&mut Candidate| {
            let as_much = |gain: u64| gain * AS_MUCH.0 <= of.loss.gain.0 * AS_MUCH.1;
            of.loss.kind == it.loss.kind
                && it.loss.kind != DeviceLossKind::Straggler
                && of.loss.locations == it.loss.locations
                && of.loss.gain.0 * AS_MUCH.0 <= it.loss.gain.0 * AS_MUCH.1
                && as_much(trials.gain(&[&of.changes, &it.changes]))
        };
        match kept.iter_mut().find(gains_the_same) {
            Some(first) => first.loss.alternatives.push(it.loss.call_path),
            None => kept.push(it),
        }
    }
    kept.into_iter().map(|it| it.loss).collect()
}
