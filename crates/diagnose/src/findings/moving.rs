//! Imbalances that stay with the same ranks for an epoch and then move to others.
//!
//! Over the run such an imbalance evens out, and still no phase is to blame: for many phases in a row the same ranks have
//! most to do. Epochs are those of [`ouzel_analyses::phases::epochs`].

use super::context::Context;
use super::draft::{Draft, Saving};
use super::finding::{Evidence, Quantity};
use super::load::load;
use super::ranks::Ranks;
use super::work::{Uneven, above_mean, imbalance_of};
use ouzel_model::{LocationId, TimeRange};
use ouzel_replay::Edit;

/// Epochs with less than this part of the greatest imbalance are not named.
const NAMED: u64 = 4;
/// Epochs in a sentence.
const N_SHOWN: usize = 6;

/// What some uneven work loses in the epochs of the run.
pub(super) struct InEpochs {
    /// `Σ over epochs of (max − mean)` of the busy time of its phases there, each at most that of the epoch, in ticks.
    pub imbalance: u64,
    /// Number, imbalance, range and busiest peers of each epoch that matters.
    epochs: Vec<(u32, u64, TimeRange, Vec<LocationId>)>,
}

/// What a group loses in epochs, if most of its imbalance is there and not in the run as a whole.
pub(super) fn in_epochs(cx: &Context<'_>, group: &Uneven<'_>, in_total: u64) -> Option<InEpochs> {
    let by_peer = &cx.group.by_peer;
    let mut is_own = vec![false; cx.group.phases.len()];
    let phases = group.stages.iter().flat_map(|stage| &stage.phases);
    phases.for_each(|phase| is_own[phase.index as usize] = true);
    // Where a bucket has several phases, it belongs to the group if most of them do.
    let is_in = |bucket: &usize| {
        let phases = by_peer.borders[*bucket] as usize..by_peer.borders[bucket + 1] as usize;
        let n = phases.len();
        n < 2 * is_own[phases].iter().filter(|own| **own).count()
    };
    let mut epochs = Vec::new();
    let mut imbalance = 0;
    for (number, epoch) in (1..).zip(cx.epochs) {
        let mut times: Vec<(LocationId, u64)> = cx.group.locations.iter().map(|&it| (it, 0)).collect();
        for bucket in epoch.buckets.clone().filter(is_in) {
            let busy = by_peer.busy_of(bucket..bucket + 1);
            times.iter_mut().zip(busy).for_each(|(time, ticks)| time.1 += ticks);
        }
        // What other phases of the epoch make up for is not lost in it.
        let own = imbalance_of(&times).min(epoch.imbalance.0);
        imbalance += own;
        epochs.push((number, own, epoch.range, above_mean(&times)));
    }
    let greatest = epochs.iter().map(|epoch| epoch.1).max().unwrap_or_default();
    epochs.retain(|epoch| 0 < epoch.1 && greatest <= epoch.1 * NAMED);
    let imbalance = imbalance.min(group.imbalance);
    let is_there = group.imbalance < 2 * imbalance && 2 * in_total < imbalance && 2 <= epochs.len();
    is_there.then_some(InEpochs { imbalance, epochs })
}

/// The finding about it.
pub(super) fn moving(cx: &Context<'_>, group: &Uneven<'_>, found: &InEpochs) -> Draft {
    let name = cx.name(group.path);
    let ranks = cx.ranks(found.epochs.iter().flat_map(|epoch| epoch.3.iter().copied()));
    let who = |peers: &[LocationId]| cx.in_words(&cx.ranks(peers.iter().copied()));
    let shown = found.epochs.iter().take(N_SHOWN);
    let mut in_words: Vec<String> =
        shown.map(|(number, _, _, most)| format!("{} in epoch {number}", who(most))).collect();
    if N_SHOWN < found.epochs.len() {
        in_words.push("…".to_owned());
    }
    let values = found.epochs.iter().map(|(number, ticks, range, most)| {
        let (from, to) = (cx.time(range.start.0), cx.time(range.end.0));
        Quantity::ns(&format!("epoch {number} ({from} … {to}, {})", who(most)), cx.ns(*ticks))
    });
    let n = cx.epochs.len();
    let epochs = Evidence::new(
        format!(
            "uneven work in {name} in the {n} epochs, in which the same ranks have most to do, and others in the next"
        ),
        "max − mean over ranks of the busy time in phases of the finding, at most that of the whole epoch; see Epochs in \
         docs/method.md",
        values.collect(),
    );
    let windows = found.epochs.iter().map(|epoch| cx.epochs[epoch.0 as usize - 1].window).collect();
    let base = load(cx, group, &[], Ranks::default(), found.imbalance);
    let mut evidence = vec![epochs];
    // The times of the ranks over the run even out, and would say nothing.
    let mut rest = base.evidence;
    // Where it arises says more than how many phases there are.
    rest.rotate_left(1);
    evidence.extend(rest);
    Draft {
        title: format!("Load imbalance in {name}, which moves from rank to rank"),
        sentence: format!(
            "Some ranks work longer in {name} and the others wait, for many phases in a row; then others do: {}.",
            in_words.join("; ")
        ),
        saving: Saving::new("Spreading the work evenly within each epoch would save"),
        iterations: None,
        epochs: found.epochs.iter().map(|epoch| epoch.0).collect(),
        range: TimeRange {
            start: found.epochs.first().map_or(base.range.start, |epoch| epoch.2.start),
            end: found.epochs.last().map_or(base.range.end, |epoch| epoch.2.end),
        },
        ranks,
        remedy: vec![Edit::BalanceIn(group.code(cx), windows)],
        assumption: "the same work in total, spread evenly over the ranks in each epoch".to_owned(),
        evidence,
        advice: format!(
            "The work in {name} moves with the data: share it out anew when an epoch begins, by measured cost, or \
             every few iterations."
        ),
        ..base
    }
}
