//! Findings about uneven work.
//!
//! | finding | evidence | gain |
//! |---|---|---|
//! | slow rank, slow node | few ranks above the median in nearly all paths, by a similar factor | `imbalance · n / (n − slow)`: as if they ran like the others' mean |
//! | serialised work, I/O by one rank | one rank has nearly all of the path's time | imbalance, and waiting for its messages: everybody takes a part |
//! | more synchronisation than needed | the imbalance of the totals is less than half of that of the phases | imbalance of the phases less that of the totals |
//! | growing imbalance | the imbalance of phases rises over the iterations, or sets in | imbalance |
//! | load imbalance | none of these | imbalance |
//!
//! `imbalance = Σ over phases of (max busy − mean busy)`, see [`stages`](super::stages).

use super::context::{Context, Times};
use super::draft::{Draft, Saving, compare_ranks};
use super::finding::{Confidence, Evidence, FindingKind, Iterations, Quantity, QuantityUnit};
use super::hub::hub;
use super::ranks::Ranks;
use super::series::{onset, trend};
use super::slow::{Slow, slow};
use super::stages::{PhaseTimes, Stage};
use super::waiting::{Theme, Waiting};
use super::words::{capitalised, percent, plural};
use super::work::{Uneven, above_mean, imbalance_of, iterations, latest, range_of, uneven};
use ouzel_analyses::semantics::{Category, Family};
use ouzel_model::{CallPathId, CallPathTree, LocationId};
use ouzel_replay::{Edit, EditedCode};

/// Least share of the imbalance that slow ranks must cause to be named as its reason.
const MOST: f64 = 0.8;
/// Least share of a path's time that one rank has if it works alone.
const ALONE: f64 = 0.75;
/// Least number of iterations for a trend or a moving imbalance.
const LEAST_ITERATIONS: usize = 6;
/// Kendall's τ from which an imbalance counts as rising steadily.
const STEADY: f64 = 0.6;

/// The findings, in no order. Waiting for a rank that works alone belongs to its finding, and is taken from `waiting`.
pub(super) fn imbalances(cx: &Context<'_>, waiting: &mut [Waiting<'_>]) -> Vec<Draft> {
    if cx.n_peers() < 2 {
        return Vec::new();
    }
    let mut drafts = Vec::new();
    let mut groups = uneven(cx);
    if let Some(slow) = slow(cx) {
        let (of_slow, others) = groups.into_iter().partition(|group| is_made_by(&group.stages, &slow));
        groups = others;
        drafts.extend(slow_ranks(cx, &slow, &of_slow));
    }
    for group in groups {
        drafts.extend(one_group(cx, &group, waiting));
    }
    drafts
}

#[expect(clippy::cast_precision_loss, reason = "the only division, of exact sums")]
fn share_made_by(stages: &[&Stage], who: &[LocationId]) -> f64 {
    let latest = latest(stages);
    let all: u128 = latest.values().sum();
    let own: u128 = who.iter().filter_map(|location| latest.get(location)).sum();
    if all == 0 { 0.0 } else { own as f64 / all as f64 }
}

fn is_made_by(stages: &[&Stage], slow: &Slow) -> bool {
    MOST <= share_made_by(stages, &slow.locations)
}

fn slow_ranks(cx: &Context<'_>, slow: &Slow, groups: &[Uneven<'_>]) -> Option<Draft> {
    let imbalance: u64 = groups.iter().map(|group| group.imbalance).sum();
    let (n, n_slow) = (cx.n_peers(), slow.locations.len() as u64);
    let gain = u128::from(imbalance) * u128::from(n) / u128::from(n - n_slow);
    let gain = u64::try_from(gain).unwrap_or(u64::MAX).min(cx.run());
    let stages: Vec<&Stage> = groups.iter().flat_map(|group| group.stages.iter().copied()).collect();
    let main = stages.iter().max_by_key(|stage| stage.imbalance())?;
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
    evidence.extend(waiting_evidence(cx, &stages));
    Some(Draft {
        kind,
        title: format!("{} {more} longer everywhere", capitalised(&format!("{subject} take{s}"))),
        sentence: format!(
            "{} take{s} {more} longer than the median rank in nearly all computation, and the others wait.",
            capitalised(&subject)
        ),
        saving: Saving::new("Running as fast as the others would save"),
        path,
        ranks,
        iterations: iterations(main, PhaseTimes::imbalance),
        range: range_of(&stages),
        gain,
        remedy: as_fast_as_others(cx, slow),
        remedy_before: Vec::new(),
        replayed: None,
        loss: gain,
        assumption: "the slow ranks run as fast as the mean of the others, with the same work".to_owned(),
        confidence: cx.confidence_of_phases(),
        evidence,
        advice: "The same factor in every call path points to the machine rather than to the work: check clock \
                 frequency, temperature, other jobs, memory errors and pinning there, and run again on other nodes \
                 to see whether the factor follows the nodes."
            .to_owned(),
        command: compare_ranks(cx, path),
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
        let mut chain = vec![path];
        let mut at = path;
        while at != CallPathTree::ROOT {
            at = cx.paths().parent(at);
            chain.push(at);
        }
        chain.reverse();
        chain
    };
    let common = |a: Vec<CallPathId>, b: Vec<CallPathId>| {
        a.into_iter().zip(b).take_while(|(a, b)| a == b).map(|(a, _)| a).collect()
    };
    let chains = paths.map(chain).reduce(common).unwrap_or_default();
    chains.last().copied().unwrap_or(CallPathTree::ROOT)
}

/// The kind of imbalance of a call path.
fn one_group(cx: &Context<'_>, group: &Uneven<'_>, waiting: &mut [Waiting<'_>]) -> Vec<Draft> {
    let by_peer = group.by_peer(cx);
    let ranks = cx.ranks(above_mean(&by_peer));
    if ALONE <= group.share_of_one(cx) && 3 <= cx.n_peers() {
        return vec![one_works(cx, group, &by_peer, waiting)];
    }
    let in_total = imbalance_of(&group.busy_by_peer(cx)).min(group.imbalance);
    let moving = group.imbalance - in_total;
    let n_phases = group.main_stage().phases.len();
    let ends = group.main_stage().anchor.is_none() || cx.ends_mpi(group.main_stage());
    if in_total < moving && LEAST_ITERATIONS <= n_phases && !ends {
        let rest = Draft { remedy: group.evened(cx), ..load(cx, group, &by_peer, ranks, in_total) };
        return vec![excess(cx, group, moving, in_total), rest];
    }
    let from = grows(cx, group.main_stage());
    match from {
        Some(growth) => vec![growing(cx, group, &by_peer, ranks, &growth)],
        None => vec![load(cx, group, &by_peer, ranks, group.imbalance)],
    }
}

fn imbalance_evidence(cx: &Context<'_>, imbalance: u64, stages: &[&Stage]) -> Evidence {
    let n_phases: u64 = stages.iter().map(|stage| stage.phases.len() as u64).sum();
    let length: u64 = stages.iter().map(|stage| stage.length()).sum();
    let busy: u64 = stages.iter().map(|stage| stage.busy()).sum();
    Evidence::new(
        format!("this part of the run has {n_phases} phase{} between synchronisations", plural(n_phases)),
        "imbalance = Σ over phases of (max busy − mean busy); busy is time not spent waiting or synchronising",
        vec![
            Quantity::ns("imbalance", cx.ns(imbalance)),
            Quantity::ns("mean busy", cx.ns(busy)),
            Quantity::ns("length", cx.ns(length)),
            Quantity::count("phases", n_phases),
        ],
    )
}

/// Where the others wait meanwhile: the other side of the same loss.
fn waiting_evidence(cx: &Context<'_>, stages: &[&Stage]) -> Option<Evidence> {
    let mut sums: std::collections::BTreeMap<CallPathId, u64> = std::collections::BTreeMap::new();
    for stage in stages {
        for (&(path, subset), times) in &stage.paths {
            if cx.category(path, subset) != Category::Computation {
                *sums.entry(path).or_default() += stage.mean(times.exclusive_sum);
            }
        }
    }
    let waits = super::context::greatest_first(&sums);
    let (first, _) = *waits.iter().find(|(_, ticks)| 0 < *ticks)?;
    let values = waits.iter().take(4).filter(|(_, ticks)| 0 < *ticks);
    Some(Evidence::new(
        format!("meanwhile the others wait, longest in {}", cx.place(first)),
        "mean over ranks of the time in calls that wait or synchronise, in the same phases",
        values.map(|&(path, ticks)| Quantity::ns(&cx.place(path), cx.ns(ticks))).collect(),
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
        "sum over visits, with callees if they contribute",
        vec![of(most, "most"), Quantity::ns("mean", cx.ns(sum / n)), of(least, "least")],
    )
}

/// ` from iteration 10 of 40 on`, ` in 3 of 40 iterations`, or nothing if all iterations are affected.
fn when(iterations: Option<&Iterations>) -> String {
    let Some(Iterations { n_all, ranges }) = iterations else { return String::new() };
    let n: u64 = ranges.iter().map(|(first, last)| last - first + 1).sum();
    match ranges.as_slice() {
        [(0, last)] if last + 1 == *n_all => String::new(),
        [(first, last)] if last + 1 == *n_all => format!(" from iteration {first} of {n_all} on"),
        _ => format!(" in {n} of {n_all} iterations"),
    }
}

/// What to do about uneven work in a call path.
pub(super) fn advice(name: &str) -> String {
    format!(
        "Give these ranks less to do in {name}: divide the domain by measured cost instead of by size, or move work at \
         run time. First check whether they have more data or are slower with the same data."
    )
}

/// What is assumed where work is spread.
pub(super) const SPREAD: &str = "the same work in total, spread evenly over the ranks in each phase";

fn load(
    cx: &Context<'_>,
    group: &Uneven<'_>,
    by_peer: &[(LocationId, u64)],
    ranks: Ranks,
    gain: u64,
) -> Draft {
    let (name, who) = (cx.name(group.path), cx.in_words(&ranks));
    let iterations = iterations(group.main_stage(), PhaseTimes::imbalance);
    let s = if ranks.list.len() == 1 { "s" } else { "" };
    let mut evidence =
        vec![imbalance_evidence(cx, group.imbalance, &group.stages), ranks_evidence(cx, group, by_peer)];
    evidence.extend(waiting_evidence(cx, &group.stages));
    Draft {
        kind: FindingKind::LoadImbalance,
        title: format!("Load imbalance in {name}: {who}"),
        sentence: format!(
            "{} work{s} longer in {name} than the others, which wait{}.",
            capitalised(&who),
            when(iterations.as_ref())
        ),
        saving: Saving::new("Spreading the work evenly would save"),
        path: group.path,
        ranks,
        iterations,
        range: group.range(),
        gain,
        remedy: vec![Edit::Balance(group.code(cx))],
        remedy_before: Vec::new(),
        replayed: None,
        loss: gain,
        assumption: SPREAD.to_owned(),
        confidence: cx.confidence_of_phases(),
        evidence,
        advice: advice(&name),
        command: compare_ranks(cx, group.path),
    }
}

/// How an imbalance grows.
struct Growth {
    /// Nanoseconds from one iteration to the next.
    slope_ns: f64,
    first: u64,
    n_all: u64,
    is_steady: bool,
}

#[expect(clippy::cast_precision_loss, reason = "shown, and compared with each other")]
fn grows(cx: &Context<'_>, stage: &Stage) -> Option<Growth> {
    if stage.phases.len() < LEAST_ITERATIONS {
        return None;
    }
    let n = stage.n_peers() as f64;
    let tick_ns = 1e9 / cx.definitions.clock.ticks_per_second as f64;
    let series: Vec<f64> = stage.phases.iter().map(|phase| phase.imbalance() as f64 / n * tick_ns).collect();
    let line = trend(&series)?;
    let is_steady = STEADY <= line.tau && 3.0 * line.noise < line.last - line.first;
    // The beginning must be low compared with the end, else the imbalance varies rather than grows.
    let is_steady = is_steady && line.first.max(0.0) * 2.0 < line.last;
    let set_in = onset(&series);
    if !is_steady && set_in.is_none() {
        return None;
    }
    // A twentieth of its final value is more than the noise of a balanced iteration.
    let limit = line.last / 20.0;
    let first = series.iter().rposition(|&value| value < limit).map_or(0, |i| i + 1);
    Some(Growth {
        slope_ns: line.slope,
        first: first.min(series.len() - 1) as u64,
        n_all: series.len() as u64,
        is_steady,
    })
}

fn growing(
    cx: &Context<'_>,
    group: &Uneven<'_>,
    by_peer: &[(LocationId, u64)],
    ranks: Ranks,
    growth: &Growth,
) -> Draft {
    let who = cx.in_words(&ranks);
    let name = cx.name(group.path);
    let how = if growth.is_steady { "grows steadily from" } else { "sets in at" };
    let evidence = Evidence::new(
        format!("the imbalance {how} iteration {} of {}", growth.first, growth.n_all),
        "slope of the Theil–Sen line through max busy − mean busy of the iterations",
        vec![
            Quantity::of("slope", growth.slope_ns, QuantityUnit::NanosecondsPerIteration),
            Quantity::count("first", growth.first),
        ],
    );
    let base = load(cx, group, by_peer, ranks, group.imbalance);
    let mut all = vec![evidence];
    all.extend(base.evidence);
    Draft {
        kind: FindingKind::GrowingImbalance,
        title: format!("Growing load imbalance in {name}: {who}"),
        sentence: format!(
            "From iteration {} on, {who} work{} longer and longer in {name}, and the others wait.",
            growth.first,
            if base.ranks.list.len() == 1 { "s" } else { "" }
        ),
        saving: Saving::in_a_longer_run("Spreading the work evenly would save"),
        iterations: Some(Iterations { n_all: growth.n_all, ranges: vec![(growth.first, growth.n_all - 1)] }),
        evidence: all,
        advice: format!(
            "The work in {name} moves between ranks during the run: rebalance it every few iterations, or when \
             max / mean exceeds a limit."
        ),
        ..base
    }
}

/// Whether time in the path is input or output, by what is recorded and by its name.
fn is_io(cx: &Context<'_>, path: CallPathId) -> (bool, bool) {
    let Some(region) = cx.paths().region(path) else { return (false, false) };
    let name = cx.definitions.region(region).name.to_ascii_lowercase();
    let by_record = cx.class(path).is_some_and(|class| class.family == Family::PosixIo)
        || cx.mpi_name(region).starts_with("mpi_file_");
    let words = ["write", "read", "output", "checkpoint", "dump", "hdf5", "h5d", "netcdf", "nc_put", "adios"];
    let hint = |name: &str| {
        words
            .iter()
            .any(|word| name.split(|c: char| !c.is_ascii_alphanumeric()).any(|part| part.starts_with(word)))
    };
    (by_record, hint(&name))
}

fn one_works(
    cx: &Context<'_>,
    group: &Uneven<'_>,
    by_peer: &[(LocationId, u64)],
    waiting: &mut [Waiting<'_>],
) -> Draft {
    let name = cx.name(group.path);
    let most = by_peer.iter().rev().max_by_key(|&&(_, ticks)| ticks).map(|&(location, _)| location);
    let ranks = cx.ranks(most);
    let who = cx.in_words(&ranks);
    let (is_io, looks_like_io) = is_io(cx, group.path);
    let kind = if is_io { FindingKind::IoByOneRank } else { FindingKind::Serialisation };
    let mut gain = group.imbalance;
    let mut evidence = Vec::new();
    let mut remedy = vec![Edit::Balance(group.code(cx))];
    // Waiting of the others to hand data to it, or to get data from it, belongs to its work.
    for waiting in waiting.iter_mut().filter(|waiting| waiting.theme == Theme::Messages) {
        let Some(hub) = hub(cx, waiting).filter(|hub| ranks.list == [hub.rank]) else { continue };
        let ticks = waiting.take(&group.stages);
        if 0 < ticks {
            gain += ticks;
            remedy.extend(waiting.gone());
            let mut through = hub.evidence(cx);
            through.values.push(Quantity::ns("waiting beyond the imbalance", cx.ns(ticks)));
            evidence.push(through);
        }
    }
    let base = load(cx, group, by_peer, ranks, gain);
    let share = Evidence::new(
        format!("{who} alone does nearly all of {name}"),
        "Σ over phases of the time of the rank with the most / Σ over phases of the time of all ranks",
        vec![Quantity::of("share of one rank", group.share_of_one(cx), QuantityUnit::Ratio)],
    );
    evidence.insert(0, share);
    evidence.extend(base.evidence);
    let advice = if is_io || looks_like_io {
        format!(
            "Let all ranks take part in {name}: use parallel output (MPI-IO, parallel HDF5, ADIOS), write a file for \
             each rank or group of ranks, or hand the data to a dedicated rank so that no rank waits."
        )
    } else {
        format!(
            "Spread {name} over the ranks, or let the others continue meanwhile: work that one rank does alone does \
             not get faster with more ranks."
        )
    };
    Draft {
        kind,
        title: format!("{name} is serialised: {who} works, the others wait"),
        sentence: format!("{} works alone in {name} while the others wait.", capitalised(&who)),
        saving: Saving::new("Letting all ranks take part would save"),
        remedy,
        assumption: "the work can be divided evenly among all ranks".to_owned(),
        evidence,
        advice,
        ..base
    }
}

fn excess(cx: &Context<'_>, group: &Uneven<'_>, moving: u64, in_total: u64) -> Draft {
    let stage = group.main_stage();
    let sync = stage.anchor.map_or(group.path, |anchor| anchor.call_path);
    let (sync_name, name) = (cx.place(sync), cx.name(group.path));
    let moves_data = stage.anchor.is_some_and(|anchor| !cx.mpi_name(anchor.region).contains("barrier"));
    let n_phases: u64 = group.stages.iter().map(|stage| stage.phases.len() as u64).sum();
    let n_latest = latest(&group.stages).values().filter(|&&ticks| 0 < ticks).count() as u64;
    let (confidence, reason) = cx.confidence_of_phases();
    let ranks = cx.ranks(cx.group.locations.iter().copied());
    let confidence = match confidence {
        Confidence::Sure => {
            (Confidence::Likely, format!("{reason}; it is assumed that the ranks can do without {sync_name}"))
        }
        other => (other, reason),
    };
    let mut evidence = vec![Evidence::new(
        format!("{n_latest} different ranks come last in {n_phases} phases: the imbalance moves"),
        "Σ over phases of (max − mean), compared with max − mean of the totals over the run",
        vec![
            Quantity::ns("imbalance of the phases", cx.ns(group.imbalance)),
            Quantity::ns("imbalance of the totals", cx.ns(in_total)),
            Quantity::count("phases", n_phases),
        ],
    )];
    evidence.extend(waiting_evidence(cx, &group.stages));
    let advice = if moves_data {
        format!(
            "{sync_name} exchanges data, so it cannot simply be removed: check whether every iteration needs it, \
             combine it with another call, or start it early and complete it late (non-blocking)."
        )
    } else {
        format!("Remove {sync_name}, unless something depends on it that messages do not already order.")
    };
    Draft {
        kind: FindingKind::ExcessSynchronisation,
        title: format!("{sync_name} is called too often"),
        sentence: format!(
            "Time in {name} varies from rank to rank and from iteration to iteration, and {sync_name} makes all ranks \
             wait for the slowest each time. Over the run the differences even out."
        ),
        saving: Saving::new(format!("Removing {sync_name} would save")),
        path: sync,
        ranks,
        iterations: iterations(stage, PhaseTimes::imbalance),
        range: group.range(),
        gain: moving,
        remedy: vec![Edit::Release(EditedCode::with_callees(sync))],
        remedy_before: Vec::new(),
        replayed: None,
        loss: moving,
        assumption: "no rank needs the others between two iterations".to_owned(),
        confidence,
        evidence,
        advice,
        command: compare_ranks(cx, group.path),
    }
}
