//! Threads that do not run: blocked, or because others have the processors. It is known where processor time was read
//! (see the engine's calls made of samples), and comes before what it makes others wait.

use super::context::{Context, Times};
use super::draft::{Draft, Saving, compare_ranks};
use super::finding::{Confidence, Evidence, FindingKind, Quantity, QuantityUnit};
use super::message_waiting::others;
use super::stages::{PhaseTimes, Stage};
use super::waiting::Waiting;
use super::words::capitalised;
use super::work::{iterations, range_of};
use ouzel_model::{CallPathId, CallPathTree, LocationId};
use ouzel_replay::Edit;
use std::collections::BTreeMap;

const ADVICE: &str = "Run no more ranks and threads than the node has processors, bind each to its own, and see what else runs \
                 there (top, other jobs). If the processors are free, the threads are blocked: look for locks, page \
                 faults from disk, and calls of the system there (strace -c, perf trace).";

/// Changes after which nobody stands still.
pub(super) fn running(waiting: &Waiting<'_>) -> Vec<Edit> {
    vec![waiting.shortened((0, 1))]
}

/// The finding.
#[expect(clippy::cast_precision_loss, reason = "the only division, of exact sums")]
pub(super) fn not_running(cx: &Context<'_>, waiting: &Waiting<'_>) -> Draft {
    let path = waiting.main_path();
    let stages: Vec<&Stage> = waiting.stages.iter().map(|&(stage, _)| stage).collect();
    let mut by_peer: BTreeMap<LocationId, u64> = BTreeMap::new();
    for &(path, _) in &waiting.paths {
        cx.by_peer(path, Times::Inclusive)
            .iter()
            .for_each(|&(peer, ticks)| *by_peer.entry(peer).or_default() += ticks);
    }
    let (&most_peer, &most) = by_peer.iter().max_by_key(|(_, ticks)| **ticks).unwrap_or((&LocationId(0), &0));
    let ranks = cx.ranks(by_peer.iter().filter(|(_, ticks)| most <= 4 * **ticks).map(|(&peer, _)| peer));
    let who = cx.in_words(&ranks);
    let place = cx.name(cx.chain(path).find(|path| cx.has_name(*path)).unwrap_or(CallPathTree::ROOT));
    let (does, is, they) = if ranks.list.len() == 1 { ("does", "is", "it") } else { ("do", "are", "they") };
    let sum: u64 = by_peer.values().sum();
    let shown: Vec<CallPathId> = waiting.paths.iter().take(4).map(|&(path, _)| path).collect();
    let of_paths = waiting.paths.iter().take(4).zip(cx.places(&shown));
    let mut values = vec![
        Quantity::ns("most of one rank", cx.ns(most)),
        Quantity::ns("mean", cx.ns(sum / by_peer.len().max(1) as u64)),
        Quantity::of(
            "share of the time of that rank",
            most as f64 / cx.run().max(1) as f64,
            QuantityUnit::Ratio,
        ),
    ];
    values.extend(
        cx.rank(most_peer).map(|rank| Quantity::of("that rank", f64::from(rank), QuantityUnit::Rank)),
    );
    values.extend(of_paths.map(|(&(_, ticks), place)| Quantity::ns(&format!("mean {place}"), cx.ns(ticks))));
    let (confidence, reason) = cx.confidence_of_phases();
    Draft {
        title: format!("{} {is} not running all the time, longest in {place}", capitalised(&who)),
        sentence: format!(
            "{} {does} not run for up to {} ({} of the run) in which {they} should compute, longest in {place}: other threads \
             or programs have the processors, or threads are blocked in calls that are not recorded.",
            capitalised(&who),
            cx.time(most),
            cx.percent(most)
        ),
        saving: Saving::new("Running all the time would save"),
        ranks,
        iterations: iterations(&stages, |phase: &PhaseTimes| u128::from(phase.waiting())),
        range: range_of(&stages),
        gain: waiting.ticks,
        remedy: running(waiting),
        also: others(cx, waiting, path),
        loss: waiting.ticks,
        assumption: "threads that compute always have a processor, and are never blocked".to_owned(),
        confidence: (
            confidence.min(Confidence::Likely),
            format!("{reason}; whether threads are blocked or others have the processors is not recorded"),
        ),
        evidence: vec![Evidence::new(
            "time between samples in which the threads used no processor",
            "Σ over intervals between two samples of (length − processor time), without recorded calls",
            values,
        )],
        advice: ADVICE.to_owned(),
        command: compare_ranks(cx, path),
        ..Draft::about(cx, FindingKind::NotRunning, path)
    }
}

/// First threads wait for others, which do not run for so long on average, longest in `path`.
pub(super) fn of_others(cx: &Context<'_>, mut waiting: Draft, path: CallPathId, ticks: u64) -> Draft {
    let has_name = |path: &CallPathId| !cx.name(*path).starts_with('[');
    let place = cx.name(cx.chain(path).find(has_name).unwrap_or(CallPathTree::ROOT));
    let meanwhile = std::mem::take(&mut waiting.sentence);
    waiting.evidence.push(Evidence::new(
        "the threads that they wait for use no processor for part of the time",
        "Σ over intervals between two samples of (length − processor time), without recorded calls; mean over the threads \
         that compute for at least a twentieth of the time of the busiest",
        vec![Quantity::ns("not running", cx.ns(ticks))],
    ));
    Draft {
        kind: FindingKind::NotRunning,
        title: format!("Helper threads are not running all the time, longest in {place}"),
        sentence: format!(
            "Helper threads do not run for {} ({} of the run) on average in which they should compute, longest in \
             {place}: other threads or programs have the processors, or threads are blocked in calls that are not \
             recorded. {meanwhile}",
            cx.time(ticks),
            cx.percent(ticks)
        ),
        saving: Saving::new("Running all the time would save at most"),
        also: std::iter::once(waiting.path).chain(std::mem::take(&mut waiting.also)).collect(),
        path,
        gain: ticks,
        loss: ticks,
        assumption: "threads that compute always have a processor, and are never blocked".to_owned(),
        advice: ADVICE.to_owned(),
        command: compare_ranks(cx, path),
        ..waiting
    }
}
