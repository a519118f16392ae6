//! The finding that ranks are slow in whatever they compute, or do not run all the time.

use super::context::{Context, Times};
use super::counters::by_counters;
use super::draft::{Draft, Saving};
use super::finding::{Evidence, FindingKind, Quantity, QuantityUnit};
use super::load::{imbalance_evidence, waiting_evidence};
use super::slow::Slow;
use super::stages::{PhaseTimes, Stage};
use super::words::{capitalised, percent};
use super::work::{Uneven, iterations, range_of};
use ouzel_model::{CallPathId, CallPathTree};
use ouzel_replay::{Edit, EditedCode};

pub(super) fn slow_ranks(cx: &Context<'_>, slow: &Slow, groups: &[Uneven<'_>]) -> Option<Draft> {
    let imbalance: u64 = groups.iter().map(|group| group.imbalance).sum();
    let (n, n_slow) = (cx.n_peers(), slow.locations.len() as u64);
    let gain = u128::from(imbalance) * u128::from(n) / u128::from(n - n_slow);
    let gain = u64::try_from(gain).unwrap_or(u64::MAX).min(cx.run());
    let stages: Vec<&Stage> = groups.iter().flat_map(|group| group.stages.iter().copied()).collect();
    stages.first()?;
    let ranks = cx.ranks(slow.locations.iter().copied());
    let who = cx.in_words(&ranks);
    let node = slow.node.map(|node| cx.definitions.system_tree.nodes[node.index()].name.clone());
    let more = percent(slow.factor - 1.0);
    let (kind, subject) = match &node {
        Some(node) => (FindingKind::SlowNode, format!("{who} of compute node {node}")),
        None => (FindingKind::SlowRank, who.clone()),
    };
    let s = if n_slow == 1 { "s" } else { "" };
    let path = common_caller(cx, slow.paths.iter().map(|&(path, _)| path));
    let factors = slow.paths.iter().take(8).map(|&(path, factor)| {
        Quantity::of(&format!("factor in {}", cx.name(path)), factor, QuantityUnit::Ratio)
    });
    let mut evidence = vec![
        Evidence::new(
            format!("{who} take{s} longer in {} of the call paths that compute", slow.paths.len()),
            "exclusive time of the rank / that of the median rank",
            factors.collect(),
        ),
        imbalance_evidence(cx, imbalance, &stages),
    ];
    let by_counters = by_counters(cx, path, Times::Busy, &slow.locations);
    evidence.extend(by_counters.into_iter().flat_map(|it| it.evidence));
    evidence.extend(waiting_evidence(cx, &stages));
    let often = match slow.are_interrupted {
        true => {
            ", but only in some visits: the shortest are as short as elsewhere, so it was probably not running in \
             between"
        }
        false => "",
    };
    let often = if n_slow == 1 { often.to_owned() } else { often.replace("it was", "they were") };
    Some(Draft {
        title: match slow.are_interrupted {
            true => capitalised(&format!("{subject} {} interrupted everywhere", if n_slow == 1 { "is" } else { "are" })),
            false => format!("{} {more} longer everywhere", capitalised(&format!("{subject} take{s}"))),
        },
        sentence: format!(
            "{} take{s} {more} longer than the median rank in nearly all computation{often}, and the others wait.",
            capitalised(&subject)
        ),
        saving: Saving::new("Running as fast as the others would save"),
        ranks,
        iterations: iterations(&stages, PhaseTimes::imbalance),
        range: range_of(&stages),
        gain,
        remedy: as_fast_as_others(cx, slow),
        loss: gain,
        assumption: "the slow ranks run as fast as the mean of the others, with the same work".to_owned(),
        evidence,
        advice: match slow.are_interrupted {
            true => "Check whether several ranks or threads share a core (pinning, more of them than cores), and what else \
                     runs on the machine: the program itself has the same work there.",
            false => "The same factor in every call path points to the machine rather than to the work: check clock \
                 frequency, temperature, other jobs, memory errors and pinning there, and run again on other nodes \
                 to see whether the factor follows the nodes.",
        }
        .to_owned(),
        ..Draft::about(cx, kind, path)
    })
}

/// Each slow rank takes, in each path in which it is slow, the mean of the others.
fn as_fast_as_others(cx: &Context<'_>, slow: &Slow) -> Vec<Edit> {
    let mut edits = Vec::new();
    for &(path, _) in &slow.paths {
        let by_peer = cx.by_peer(path, Times::Exclusive);
        let (own, others): (Vec<_>, Vec<_>) =
            by_peer.into_iter().partition(|(location, _)| slow.locations.contains(location));
        let mean = others.iter().map(|&(_, ticks)| ticks).sum::<u64>() / others.len().max(1) as u64;
        edits.extend(own.into_iter().filter(|&(_, ticks)| mean < ticks).map(|(location, ticks)| {
            let code = EditedCode { locations: Some(vec![location]), ..EditedCode::exclusive(vec![path]) };
            Edit::Scale(code, (mean, ticks))
        }));
    }
    edits
}

/// The innermost path that equals or contains all of them.
fn common_caller(cx: &Context<'_>, paths: impl Iterator<Item = CallPathId>) -> CallPathId {
    let chain = |path: CallPathId| {
        let mut chain: Vec<CallPathId> = cx.chain(path).collect();
        chain.reverse();
        chain
    };
    let common = |a: Vec<CallPathId>, b: Vec<CallPathId>| {
        a.into_iter().zip(b).take_while(|(a, b)| a == b).map(|(a, _)| a).collect()
    };
    let chains = paths.map(chain).reduce(common).unwrap_or_default();
    chains.last().copied().unwrap_or(CallPathTree::ROOT)
}
