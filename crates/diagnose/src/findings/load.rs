//! The finding that work is uneven, and the evidence that all findings about uneven work share.

use super::context::{Context, Times, greatest_first};
use super::counters::by_counters;
use super::draft::{Draft, Saving};
use super::finding::{Evidence, FindingKind, Iterations, Quantity};
use super::ranks::Ranks;
use super::stages::{PhaseTimes, Stage};
use super::words::capitalised;
use super::work::{Uneven, iterations};
use ouzel_analyses::semantics::Category;
use ouzel_model::units::{count, counted};
use ouzel_model::{CallPathId, LocationId};
use ouzel_replay::Edit;
use std::collections::BTreeMap;

/// Least number of iterations for a trend or a moving imbalance.
pub(super) const LEAST_ITERATIONS: usize = 6;

pub(super) fn imbalance_evidence(cx: &Context<'_>, imbalance: u64, stages: &[&Stage]) -> Evidence {
    let n_phases: u64 = stages.iter().map(|stage| stage.phases.len() as u64).sum();
    let length: u64 = stages.iter().map(|stage| stage.length()).sum();
    let busy: u64 = stages.iter().map(|stage| stage.busy()).sum();
    Evidence::new(
        format!("this part of the run has {} between synchronisations", counted(n_phases, "phase", "phases")),
        "imbalance = Σ over phases of (max busy − mean busy); busy is time not spent waiting or synchronising",
        vec![
            Quantity::ns("imbalance", cx.ns(imbalance)),
            Quantity::ns("mean busy", cx.ns(busy)),
            Quantity::ns("length", cx.ns(length)),
            Quantity::count("phases", n_phases),
        ],
    )
}

/// Where the others wait meanwhile: the other side of the same loss. The calls that start and end MPI take their own time,
/// too, so they count only if there is no other.
pub(super) fn waiting_evidence(cx: &Context<'_>, stages: &[&Stage]) -> Option<Evidence> {
    let mut sums: BTreeMap<CallPathId, u64> = BTreeMap::new();
    let starts_or_ends = |stage: &Stage| cx.starts_mpi(stage) || cx.ends_mpi(stage);
    let has_others = stages.iter().any(|stage| !starts_or_ends(stage));
    for stage in stages.iter().filter(|stage| !has_others || !starts_or_ends(stage)) {
        for (&(path, subset), times) in &stage.paths {
            if cx.category(path, subset) != Category::Computation {
                *sums.entry(path).or_default() += stage.mean(times.exclusive_sum);
            }
        }
    }
    let waits = greatest_first(&sums);
    let (first, _) = *waits.iter().find(|(_, ticks)| 0 < *ticks)?;
    let shown: Vec<(CallPathId, u64)> = waits.into_iter().take(4).filter(|(_, ticks)| 0 < *ticks).collect();
    let places = cx.places(&shown.iter().map(|(path, _)| *path).collect::<Vec<_>>());
    Some(Evidence::new(
        format!("meanwhile the others wait, longest in {}", cx.place(first)),
        "mean over ranks of the time in calls that wait or synchronise, in the same phases",
        places.iter().zip(shown).map(|(place, (_, ticks))| Quantity::ns(place, cx.ns(ticks))).collect(),
    ))
}

/// Which callees of an uneven path contribute; `None` if its own code does.
fn contributions_evidence(cx: &Context<'_>, group: &Uneven<'_>) -> Option<Evidence> {
    let all = group.contributions(cx);
    let (first, _) = *all.first().filter(|&&(path, _)| path != group.path)?;
    let places = cx.places(&all.iter().take(4).map(|(path, _)| *path).collect::<Vec<_>>());
    Some(Evidence::new(
        format!("within {}, ranks differ most in {}", cx.name(group.path), cx.name(first)),
        "Σ over phases of (max − mean) of the time without callees, in each call path",
        places.iter().zip(&all).map(|(place, &(_, ticks))| Quantity::ns(place, cx.ns(ticks))).collect(),
    ))
}

/// Time of the ranks in a path.
fn ranks_evidence(cx: &Context<'_>, group: &Uneven<'_>, by_peer: &[(LocationId, u64)]) -> Evidence {
    let n = by_peer.len().max(1) as u64;
    let sum: u64 = by_peer.iter().map(|&(_, ticks)| ticks).sum();
    let name = cx.name(group.path);
    let most = by_peer.iter().rev().max_by_key(|&&(_, ticks)| ticks);
    let least = by_peer.iter().min_by_key(|&&(_, ticks)| ticks);
    let of = |extreme: Option<&(LocationId, u64)>, word: &str| {
        let (location, ticks) = extreme.copied().unwrap_or((LocationId(0), 0));
        let rank = cx.rank(location).map_or_else(|| "one".to_owned(), |rank| format!("rank {rank}"));
        Quantity::ns(&format!("{word} ({rank})"), cx.ns(ticks))
    };
    Evidence::new(
        format!("time in {name} by rank, over the run"),
        match group.times(cx) {
            Times::Exclusive => "sum over visits, without callees",
            Times::Busy | Times::Inclusive => {
                "sum over visits, with callees, without what waits or synchronises"
            }
        },
        vec![of(most, "most"), Quantity::ns("mean", cx.ns(sum / n)), of(least, "least")],
    )
}

/// What a visit costs where all ranks enter the path equally often: more data, a slower rank, or one that did not run in
/// some visits.
fn visits_evidence(cx: &Context<'_>, group: &Uneven<'_>, by_peer: &[(LocationId, u64)]) -> Option<Evidence> {
    let visits = cx.visits_by_peer(group.path);
    let &(n, _) = visits.first().filter(|(n, _)| 1 < *n && cx.recorded.calls)?;
    if visits.iter().any(|it| it.0 != n) {
        return None;
    }
    let most = by_peer.iter().rev().max_by_key(|&&(_, ticks)| ticks)?;
    let least = by_peer.iter().min_by_key(|&&(_, ticks)| ticks)?;
    let mean = |&(location, ticks): &(LocationId, u64)| {
        let who = cx.in_words(&cx.ranks([location]));
        Quantity::ns(&format!("mean visit on {who}"), cx.ns(ticks / n))
    };
    let mut values = vec![mean(most), mean(least)];
    // A visit that waits as well is no measure of work.
    if cx.by_peer(group.path, Times::Inclusive) == by_peer {
        let shortest = visits.iter().map(|it| it.1).min().unwrap_or_default();
        values.push(Quantity::ns("shortest visit", cx.ns(shortest)));
    }
    Some(Evidence::new(
        format!("each rank enters {} {} times", cx.name(group.path), count(n)),
        "time of the rank / its visits; the shortest visit is that of any rank",
        values,
    ))
}

/// ` from iteration 10 of 40 on`, ` in 3 of 40 iterations`, or nothing if all iterations are affected.
fn when(iterations: Option<&Iterations>) -> String {
    let Some(Iterations { n_all, ranges }) = iterations else { return String::new() };
    let n: u64 = ranges.iter().map(|(first, last)| last - first + 1).sum();
    match ranges.as_slice() {
        [(0, last)] if last + 1 == *n_all => String::new(),
        [(first, last)] if last + 1 == *n_all => {
            format!(" from iteration {} of {} on", count(*first), count(*n_all))
        }
        _ => format!(" in {} of {} iterations", count(n), count(*n_all)),
    }
}

/// What to do about uneven work of so many ranks in a call path.
pub(super) fn advice(name: &str, n_ranks: usize) -> String {
    let (these, have, are) = match n_ranks {
        1 => ("this rank", "it has", "is"),
        _ => ("these ranks", "they have", "are"),
    };
    format!(
        "Give {these} less to do in {name}: divide the domain by measured cost instead of by size, or move work at run \
         time. First check whether {have} more data or {are} slower with the same data."
    )
}

fn is_one_of(cx: &Context<'_>, ranks: &Ranks, location: LocationId) -> bool {
    cx.rank(location).is_some_and(|rank| ranks.list.binary_search(&rank).is_ok())
}

/// A phase is a single one among so many.
const MANY_PHASES: usize = 10;

/// The phase that has more than half of the loss, if there are many and one of the ranks has most to do in it; with its
/// part of the loss.
fn single_phase<'c>(
    cx: &Context<'_>,
    group: &Uneven<'c>,
    ranks: &Ranks,
    loss: u64,
) -> Option<(&'c PhaseTimes, u64)> {
    let times = group.times(cx);
    let uneven = |stage: &'c Stage, phase: &'c PhaseTimes| {
        let cells = cx.group.cells_of(phase.index).iter();
        let cell = cells.into_iter().find(|cell| cell.call_path == group.path && !cell.subset)?;
        let stat = if times == Times::Exclusive { &cell.exclusive } else { &cell.busy };
        let more = (u128::from(stat.max.0) * u128::from(phase.n_peers)).saturating_sub(stat.sum.0.into());
        Some((phase, stage.mean(more), stat.max_at))
    };
    let all = || group.stages.iter().flat_map(|&stage| stage.phases.iter().map(move |phase| (stage, phase)));
    let worst = all().filter_map(|(stage, phase)| uneven(stage, phase)).max_by_key(|it| it.1);
    let (phase, ticks, at) = worst.filter(|_| MANY_PHASES <= all().count())?;
    (loss < ticks.saturating_mul(2) && is_one_of(cx, ranks, at)).then_some((phase, ticks))
}

/// What is assumed where work is spread.
pub(super) const SPREAD: &str = "the same work in total, spread evenly over the ranks in each phase";

pub(super) fn load(
    cx: &Context<'_>,
    group: &Uneven<'_>,
    by_peer: &[(LocationId, u64)],
    ranks: Ranks,
    gain: u64,
) -> Draft {
    let (name, who) = (cx.name(group.path), cx.in_words(&ranks));
    let iterations = iterations(&group.stages, PhaseTimes::imbalance);
    let s = if ranks.list.len() == 1 { "s" } else { "" };
    let others = if cx.n_peers() == 2 { "the other, which waits" } else { "the others, which wait" };
    let mut evidence = vec![imbalance_evidence(cx, group.imbalance, &group.stages)];
    if !by_peer.is_empty() {
        evidence.push(ranks_evidence(cx, group, by_peer));
    }
    evidence.extend(contributions_evidence(cx, group));
    evidence.extend(visits_evidence(cx, group, by_peer));
    // Few iterations that are named say as much.
    let are_all = iterations.as_ref().is_none_or(|it| it.n_named() == it.n_all);
    let single = single_phase(cx, group, &ranks, gain).filter(|_| are_all && !by_peer.is_empty());
    let once = single
        .map(|(phase, ticks)| (cx.time(ticks), cx.time(phase.range.start.0), cx.time(phase.range.end.0)));
    let slow: Vec<LocationId> =
        by_peer.iter().map(|it| it.0).filter(|&it| is_one_of(cx, &ranks, it)).collect();
    let by_counters = by_counters(cx, group.path, group.times(cx), &slow);
    let advice = by_counters
        .as_ref()
        .and_then(|it| it.advice(&name))
        .unwrap_or_else(|| advice(&name, ranks.list.len()));
    let does = if ranks.list.len() == 1 { "does" } else { "do" };
    let advice = match &once {
        Some((_, from, to)) => format!(
            "See what {who} {does} from {from} to {to}, or what else ran on the machine then: what happens once is no \
             reason to divide the work anew."
        ),
        None => advice,
    };
    evidence.extend(by_counters.into_iter().flat_map(|it| it.evidence));
    evidence.extend(waiting_evidence(cx, &group.stages));
    let about = Draft::about(cx, FindingKind::LoadImbalance, group.path);
    let mut command = about.command.clone();
    if let Some((phase, _)) = single {
        let (from, to) = cx.range_ns(phase.range);
        command.extend(["--time".to_owned(), format!("{from}ns..{to}ns")]);
    }
    Draft {
        command,
        title: format!("Load imbalance in {name}: {who}"),
        sentence: format!(
            "{} work{s} longer in {name} than {others}{}{}.",
            capitalised(&who),
            when(iterations.as_ref()),
            once.as_ref().map_or_else(String::new, |(time, from, to)| format!(
                ", most of it once: {time} from {from} to {to}"
            ))
        ),
        saving: Saving::new("Spreading the work evenly would save"),
        ranks,
        iterations,
        range: group.range(),
        gain,
        remedy: vec![Edit::Balance(group.code(cx))],
        loss: gain,
        assumption: SPREAD.to_owned(),
        evidence,
        advice,
        ..about
    }
}
