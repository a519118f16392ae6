//! Which code makes others wait: the cause of a finding about waiting, beside the place where it shows.
//!
//! The costs of delays say which call path of which rank makes how much waiting of each class, directly and through
//! other ranks (`ouzel_waits`). If spreading the work of that path evenly gains at least half of what no waiting at all
//! would gain, by replay, the finding is one about uneven work: late messages are then its sign.

use super::context::{Context, Times};
use super::draft::{Draft, Saving, compare_ranks};
use super::finding::{Evidence, FindingKind, Quantity};
use super::load::{SPREAD, advice};
use super::ranks::Ranks;
use super::replayed::Replays;
use super::words::{capitalised, percent};
use ouzel_analyses::semantics::Category;
use ouzel_model::{CallPathId, CallPathTree, LocationId};
use ouzel_replay::{Edit, EditedCode};
use ouzel_waits::{DelaysOutput, WaitClass};
use std::collections::BTreeMap;

/// Least share of the waiting that a call path must make to be named as its cause.
const LEAST: f64 = 0.25;
/// Call paths in the evidence.
const N_SHOWN: usize = 4;

/// What one call path makes others wait.
struct Cause {
    path: CallPathId,
    /// In ticks.
    cost: u64,
    /// By location.
    of: Vec<(LocationId, u64)>,
}

/// Whether delays may tell the cause of a kind of finding.
pub(super) fn is_told(kind: FindingKind) -> bool {
    waiting_of(kind).is_some()
}

/// The classes of waiting that a kind of finding is about, and what is waited for.
fn waiting_of(kind: FindingKind) -> Option<(&'static [WaitClass], &'static str)> {
    match kind {
        FindingKind::LateSender => Some((&[WaitClass::LateSender], "late senders")),
        FindingKind::LateReceiver => Some((&[WaitClass::LateReceiver], "late receivers")),
        FindingKind::ExcessSynchronisation => Some((
            &[WaitClass::WaitAtBarrier, WaitClass::WaitAtNxn],
            "the last to come at collectives of all ranks",
        )),
        _ => None,
    }
}

/// Names the code that causes the waiting a finding is about, if the finding is about waiting and one path stands out.
pub(super) fn add_cause(draft: &mut Draft, delays: &DelaysOutput, replays: &Replays<'_>, cx: &Context<'_>) {
    let Some((classes, what)) = waiting_of(draft.kind) else { return };
    let (causes, all) = causes(delays, classes);
    let stands_out = |first: &&Cause| LEAST <= share(first.cost, all) && first.path != draft.path;
    let Some(first) = causes.first().filter(stands_out) else { return };
    let most = first.of.iter().map(|it| it.1).max().unwrap_or_default();
    let ranks = cx.ranks(first.of.iter().filter(|it| most <= it.1.saturating_mul(4)).map(|it| it.0));
    let (who, name) = (cx.in_words(&ranks), cx.place(first.path));
    let of_all = percent(share(first.cost, all));
    let shown = &causes[..causes.len().min(N_SHOWN)];
    let places = cx.places(&shown.iter().map(|it| it.path).collect::<Vec<_>>());
    let values = places.iter().zip(shown).map(|(place, it)| Quantity::ns(place, cx.ns(it.cost)));
    let evidence = Evidence::new(
        format!("{of_all} of the waiting for {what} is made by {name} on {who}"),
        "costs of delays by call path, short-term and long-term, over all ranks that wait; see What makes them wait in docs/method.md",
        values.chain([Quantity::ns("all such waiting", cx.ns(all))]).collect(),
    );
    draft.evidence.insert(0, evidence);
    if draft.kind == FindingKind::ExcessSynchronisation
        || !turn_into_imbalance(draft, first, replays, cx, &ranks)
    {
        draft.sentence =
            format!("{} The largest part of the delay ({of_all}) is in {name} on {who}.", draft.sentence);
    }
}

/// The costs of these classes by call path, greatest first, and all waiting of them.
fn causes(delays: &DelaysOutput, classes: &[WaitClass]) -> (Vec<Cause>, u64) {
    let mut by_path: BTreeMap<CallPathId, Cause> = BTreeMap::new();
    for (&(class, path, location), &(short, long)) in &delays.costs {
        if classes.contains(&class) {
            let cause = by_path.entry(path).or_insert(Cause { path, cost: 0, of: Vec::new() });
            let cost = short.0 + long.0;
            cause.cost += cost;
            match cause.of.iter_mut().find(|it| it.0 == location) {
                Some(of) => of.1 += cost,
                None => cause.of.push((location, cost)),
            }
        }
    }
    let mut causes: Vec<Cause> = by_path.into_values().collect();
    causes.sort_by_key(|cause| (std::cmp::Reverse(cause.cost), cause.path));
    let unexplained = delays.unexplained.iter().filter(|((class, _), _)| classes.contains(class));
    let unexplained: u64 = unexplained.map(|(_, wait)| wait.0).sum();
    let all = causes.iter().map(|cause| cause.cost).sum::<u64>() + unexplained;
    (causes, all)
}

#[expect(clippy::cast_precision_loss, reason = "the only division, of exact sums")]
fn share(cost: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { cost as f64 / all as f64 }
}

/// Makes it a finding about uneven work, if spreading that work regains the waiting; returns whether it does.
fn turn_into_imbalance(
    draft: &mut Draft,
    cause: &Cause,
    replays: &Replays<'_>,
    cx: &Context<'_>,
    ranks: &Ranks,
) -> bool {
    let computes =
        cx.category(cause.path, false) == Category::Computation && !cx.is_inside_waiting(cause.path);
    let remedy = vec![Edit::Balance(EditedCode::exclusive(vec![cause.path]))];
    let gain = replays.gain(&remedy).unwrap_or_default();
    // Code that some ranks do not run at all cannot be spread over them.
    let is_run_by_all = cx.by_peer(cause.path, Times::Exclusive).iter().all(|&(_, ticks)| 0 < ticks);
    let is_named = cause.path != CallPathTree::ROOT && is_run_by_all;
    if !computes || !is_named || !cx.is_significant(gain) || gain.saturating_mul(2) < draft.stated_gain() {
        return false;
    }
    let (who, name) = (cx.in_words(ranks), cx.name(cause.path));
    let s = if ranks.list.len() == 1 { "s" } else { "" };
    let meanwhile = match draft.kind {
        FindingKind::LateReceiver => "others wait until they receive",
        _ => "others wait for their messages",
    };
    draft.kind = FindingKind::LoadImbalance;
    draft.title = format!("Load imbalance in {name}: {who}");
    draft.sentence = format!("{} work{s} longer in {name}, and {meanwhile}.", capitalised(&who));
    draft.saving = Saving::new("Spreading the work evenly would save");
    (draft.path, draft.also) = (cause.path, Vec::new());
    draft.ranks = ranks.clone();
    // The costs are those of the whole run.
    (draft.iterations, draft.range) = (None, cx.group.run_range);
    (draft.remedy, draft.replayed) = (remedy, Some(gain));
    SPREAD.clone_into(&mut draft.assumption);
    draft.advice = advice(&name, draft.ranks.list.len());
    draft.command = compare_ranks(cx, cause.path);
    true
}
