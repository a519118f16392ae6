//! Findings about uneven work.
//!
//! | finding | evidence | gain |
//! |---|---|---|
//! | slow rank, slow node | few ranks above the median in nearly all paths, by a similar factor | `imbalance · n / (n − slow)`: as if they ran like the others' mean |
//! | serialised work, I/O by one rank | one rank has nearly all of the path's time | imbalance, and waiting for its messages: everybody takes a part |
//! | more synchronisation than needed | the imbalance of the totals is less than half of that of the phases | imbalance of the phases less that of the totals |
//! | growing imbalance | the imbalance of phases rises over the iterations, or sets in | imbalance |
//! | load imbalance that moves | most of the imbalance is in epochs of many phases, see [`moving`](super::moving) | Σ over epochs of their imbalance |
//! | load imbalance | none of these | imbalance |
//!
//! `imbalance = Σ over phases of (max busy − mean busy)`, see [`stages`](super::stages).

use super::context::Context;
use super::draft::{Draft, Saving, compare_ranks};
use super::finding::{Confidence, Evidence, FindingKind, Quantity, QuantityUnit};
use super::growing::{growing, grows};
use super::hub::hub;
use super::load::{LEAST_ITERATIONS, load, waiting_evidence};
use super::message_waiting::others;
use super::moving::{in_epochs, moving};
use super::slow::{Slow, slow};
use super::slow_ranks::slow_ranks;
use super::stages::{PhaseTimes, Stage};
use super::waiting::{Theme, Waiting};
use super::words::capitalised;
use super::work::{Uneven, above_mean, imbalance_of, iterations, latest, uneven};
use super::working::{context_of, working_group};
use ouzel_analyses::semantics::Family;
use ouzel_model::{CallPathId, LocationId, units};
use ouzel_replay::{Edit, EditedCode};

/// Least share of the imbalance that slow ranks must cause to be named as its reason.
const MOST: f64 = 0.8;
/// Least share of a path's time that one rank has if it works alone.
const ALONE: f64 = 0.75;

/// The findings, in no order. Waiting for a rank that works alone belongs to its finding, and is taken from `waiting`.
pub(super) fn imbalances(cx: &Context<'_>, waiting: &mut [Waiting<'_>]) -> Vec<Draft> {
    match working_group(cx) {
        Some(group) => of_peers(&context_of(cx, &group), waiting),
        None => of_peers(cx, waiting),
    }
}

fn of_peers(cx: &Context<'_>, waiting: &mut [Waiting<'_>]) -> Vec<Draft> {
    if cx.n_peers() < 2 || !cx.are_ranks() {
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

/// The kind of imbalance of a call path.
fn one_group(cx: &Context<'_>, group: &Uneven<'_>, waiting: &mut [Waiting<'_>]) -> Vec<Draft> {
    if ALONE <= group.share_of_one(cx) && 3 <= cx.n_peers() {
        return vec![one_works(cx, group, &group.by_peer(cx), waiting)];
    }
    let in_total = imbalance_of(&group.busy_by_peer(cx)).min(group.imbalance);
    let n_phases = group.main_stage().phases.len();
    let ends = group.main_stage().anchor.is_none() || cx.ends_mpi(group.main_stage());
    if let Some(found) = in_epochs(cx, group, in_total) {
        let rest = group.imbalance - found.imbalance;
        let rest = (found.imbalance < rest).then(|| excess(cx, group, rest, found.imbalance));
        return std::iter::once(moving(cx, group, &found)).chain(rest).collect();
    }
    let from_phase_to_phase = group.imbalance - in_total;
    if in_total < from_phase_to_phase && LEAST_ITERATIONS <= n_phases && !ends {
        let named = group.explaining(cx, in_total);
        let by_peer = named.by_peer(cx);
        let ranks = cx.ranks(above_mean(&by_peer));
        let gain = in_total.min(imbalance_of(&by_peer).saturating_mul(3));
        let rest = Draft { remedy: named.evened(cx), ..load(cx, &named, &by_peer, ranks, gain) };
        return vec![excess(cx, group, from_phase_to_phase, in_total), rest];
    }
    if let Some(growth) = grows(cx, group.main_stage()) {
        let by_peer = group.by_peer(cx);
        let ranks = cx.ranks(above_mean(&by_peer));
        return vec![growing(cx, group, &by_peer, ranks, &growth)];
    }
    let named = group.explaining(cx, in_total);
    let by_peer = named.by_peer(cx);
    let ranks = cx.ranks(above_mean(&by_peer));
    // What no single path shows over the run is not promised.
    let gain = group.imbalance.min(imbalance_of(&by_peer).saturating_mul(3));
    vec![load(cx, &named, &by_peer, ranks, gain)]
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
    let (mut evidence, mut also) = (Vec::new(), Vec::new());
    // Waiting of the others to hand data to it, or to get data from it, belongs to its work.
    let mut remedy = vec![Edit::Balance(group.code(cx))];
    for waiting in waiting.iter_mut().filter(|waiting| waiting.theme == Theme::Messages) {
        let Some(hub) = hub(cx, waiting).filter(|hub| ranks.list == [hub.rank]) else { continue };
        let ticks = waiting.take(&group.stages);
        if 0 < ticks {
            gain += ticks;
            also.extend(others(cx, waiting, group.path));
            // Messages that only bring data to this work, or take them from it, go with it.
            if !hub.answers(cx) {
                remedy.extend(waiting.gone());
            }
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
        also,
        assumption: "the work can be divided evenly among all ranks".to_owned(),
        evidence,
        advice,
        ..base
    }
}

/// How much of the imbalance of phases is not one of the totals.
fn how_much_evens_out(imbalance: u64, in_total: u64) -> String {
    match imbalance.saturating_sub(in_total) {
        moving if in_total.saturating_mul(10) <= moving => {
            "Over the run the differences even out.".to_owned()
        }
        moving => {
            let share = moving as f64 / imbalance.max(1) as f64;
            format!("Over the run, {} of these differences even out.", units::percent(Some(share)))
        }
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
        format!(
            "{} different ranks have most to do in {} phases: the imbalance moves",
            units::count(n_latest),
            units::count(n_phases)
        ),
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
        title: format!("{sync_name} is called too often"),
        sentence: format!(
            "Time in {name} varies from rank to rank and from iteration to iteration, and {sync_name} makes all ranks \
             wait for the slowest each time. {}",
            how_much_evens_out(group.imbalance, in_total)
        ),
        saving: Saving::new(format!("Not waiting for the slowest at {sync_name} would save")),
        ranks,
        iterations: iterations(&group.stages, PhaseTimes::imbalance),
        range: group.range(),
        gain: moving,
        remedy: vec![Edit::Release(EditedCode::with_callees(sync))],
        loss: moving,
        assumption: "no rank needs the others between two iterations".to_owned(),
        confidence,
        evidence,
        advice,
        command: compare_ranks(cx, group.path),
        ..Draft::about(cx, FindingKind::ExcessSynchronisation, sync)
    }
}
