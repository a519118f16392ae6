//! Findings about calls that cost time although no rank is late: collectives, locks, threads, accelerators.
//!
//! | finding | gain |
//! |---|---|
//! | cost of a collective operation | synchronising: `Σ over phases of min S`, what even the rank with least time spends there; others: their part of the waiting |
//! | threads wait for locks | its part of the waiting |
//! | threads wait for each other, waiting for the accelerator | its part of the waiting; about the work of the threads if that is uneven, see [`threads`](super::threads) |
//!
//! Starting and ending MPI is not a finding.

use super::context::{Context, Times, greatest_first};
use super::draft::{Draft, Saving, compare_ranks, most_spent};
use super::finding::{Confidence, Evidence, FindingKind, Quantity, QuantityUnit};
use super::message_waiting::others;
use super::not_running;
use super::set_up;
use super::stages::{PhaseTimes, Stage};
use super::threads::{helpers, uneven, uneven_before};
use super::waiting::{Theme, Waiting, joins_threads, takes_lock};
use super::words::capitalised;
use super::work::{iterations, range_of};
use ouzel_analyses::semantics::Family;
use ouzel_model::units::{count, counted};
use ouzel_model::{CallPathId, LocationId};
use ouzel_replay::{Edit, EditedCode};
use ouzel_waits::WaitClass;
use std::collections::BTreeMap;

/// Payload per rank below which two collectives cost nearly as much as one.
const SMALL_BYTES: u64 = 1024;

/// What to do about waiting for locks.
const LOCK_ADVICE: &str = "Hold the lock for less time, or replace it: with a copy for each thread that is summed later, one \
                           lock for each part of the data, or atomic operations.";

/// Synchronisations that take long even for the rank with least time in each of them.
pub(super) fn synchronisations(cx: &Context<'_>) -> Vec<Draft> {
    let mut by_path: BTreeMap<CallPathId, Vec<&Stage>> = BTreeMap::new();
    for stage in cx.stages.iter().filter(|stage| !cx.starts_mpi(stage) && !cx.ends_mpi(stage)) {
        if let Some(anchor) = stage.anchor {
            by_path.entry(anchor.call_path).or_default().push(stage);
        }
    }
    let mut drafts: Vec<Draft> = Vec::new();
    for (path, stages) in by_path {
        let late = late_first_threads(cx, path, &stages);
        // The barriers of one parallel region have one reason.
        let is_new = |late: &Draft| drafts.iter().all(|other| other.path != late.path);
        let draft = late.filter(is_new).unwrap_or_else(|| synchronisation(cx, path, &stages));
        drafts.push(draft);
    }
    drafts
}

/// Where one process is recorded, its phases end at barriers of its threads: the first thread waits little there if it
/// works longest, and the others wait for it.
fn late_first_threads(cx: &Context<'_>, path: CallPathId, stages: &[&Stage]) -> Option<Draft> {
    if !cx.recorded.several_threads() || !joins_threads(cx, path) {
        return None;
    }
    let (uneven, gain) = uneven_before(cx, path)?;
    let draft = Draft {
        saving: Saving::new("Spreading the work evenly over the threads would save"),
        iterations: iterations(stages, |phase| u128::from(phase.busy.max.0)),
        gain,
        remedy: Vec::new(),
        loss: gain,
        assumption: "all threads of a process wait equally little there".to_owned(),
        evidence: Vec::new(),
        ..synchronisation(cx, path, stages)
    };
    Some(uneven.explain(cx, draft))
}

fn synchronisation(cx: &Context<'_>, path: CallPathId, stages: &[&Stage]) -> Draft {
    let gain: u64 = stages.iter().map(|stage| stage.cost_of_sync().min(stage.waiting())).sum();
    let n: u64 = stages.iter().map(|stage| stage.phases.len() as u64).sum();
    let (operations, bytes) = payload(cx, path);
    let mean_bytes = bytes.checked_div(operations).unwrap_or_default();
    let place = cx.place(path);
    let cost = |phase: &PhaseTimes| u128::from(phase.sync.map_or(0, |sync| sync.min.0));
    let (confidence, reason) = cx.confidence_of_phases();
    let is_alone = cx.n_peers() == 1;
    let how_often = match (cx.recorded.calls, n) {
        // Between two samples in a call, it may have been left and entered again.
        (false, _) => format!("takes {}", cx.time(gain)),
        (true, 1) => format!("is called once and takes {}", cx.time(gain)),
        (true, n) => format!("is called {} times and takes {} on average", count(n), cx.time(gain / n)),
    };
    let mut values = vec![Quantity::ns("total", cx.ns(gain))];
    if cx.recorded.calls {
        values.push(Quantity::count("calls", n));
        values.push(Quantity::ns("per call", cx.ns(gain / n.max(1))));
    }
    if 0 < operations {
        values.push(Quantity::of("bytes per rank and call", mean_bytes as f64, QuantityUnit::Bytes));
    }
    Draft {
        title: format!("Cost of {place}"),
        sentence: format!(
            "{place} {how_often}{}.",
            if is_alone {
                String::new()
            } else {
                format!(", even for the {} that spends least there", cx.peers_in_words().0)
            },
        ),
        saving: Saving::new("Avoiding this would save"),
        ranks: cx.ranks(cx.group.locations.iter().copied()),
        iterations: iterations(stages, cost),
        range: range_of(stages),
        gain,
        remedy: vec![Edit::Scale(EditedCode::with_callees(path), (0, 1))],
        loss: gain,
        assumption: "the calls can be removed, combined or hidden behind computation".to_owned(),
        confidence: (
            confidence.min(Confidence::Likely),
            format!("{reason}; how many of the calls are needed is not known"),
        ),
        evidence: vec![if is_alone {
            Evidence::new(
                match cx.recorded.several_threads() && joins_threads(cx, path) {
                    true => "the time of the first thread in the call, in which it also waits for others",
                    false => "only one rank was recorded, so what it waits for is not known",
                },
                "Σ over phases of the time in the call",
                values,
            )
        } else {
            Evidence::new(
                "what each rank spends at least in each call; the others wait there, too",
                "Σ over phases of the time of the rank that spends the least in the call",
                values,
            )
        }],
        advice: if is_alone || operations == 0 {
            "Check whether it is needed, and whether it can be started earlier.".to_owned()
        } else if n == 1 {
            "It happens once, so it matters less in a longer run; check whether it is needed.".to_owned()
        } else if mean_bytes < SMALL_BYTES {
            format!(
                "With so few bytes, the call costs the time and not the data: call {place} less often, combine several \
                 calls into one, or start it early and complete it late (non-blocking)."
            )
        } else {
            format!(
                "Check whether all ranks need all of the data of {place}, and whether it can be started earlier."
            )
        },
        ..Draft::about(cx, FindingKind::CollectiveCost, path)
    }
}

/// Operations in a call path over all ranks, and their bytes: sent or received, whichever is more.
fn payload(cx: &Context<'_>, path: CallPathId) -> (u64, u64) {
    let rows = cx.communication.locations.iter().flat_map(|location| &location.collectives);
    rows.filter(|row| row.call_path == path).fold((0, 0), |(n, bytes), row| {
        let more = row.totals.bytes_sent.max(row.totals.bytes_received);
        (n + row.totals.operations, bytes.saturating_add(more))
    })
}

/// What is known of a theme before its calls are looked at.
struct Known {
    kind: FindingKind,
    /// Begins the title; the call follows.
    title: &'static str,
    /// Why the confidence is not higher.
    reason: &'static str,
    advice: &'static str,
}

/// `None` for messages, and for threads that do not run.
fn known(theme: Theme, is_alone: bool, has_threads: bool) -> Option<Known> {
    let (kind, title, reason, advice) = match theme {
        Theme::Messages | Theme::Running => return None,
        Theme::Collectives => (
            FindingKind::CollectiveCost,
            "Time in",
            match is_alone {
                true => "what the call waits for is not recorded",
                false => "waiting for other ranks and transfer are not distinguished",
            },
            match is_alone {
                true => "Check whether the call is needed; a trace of every rank shows which arrives last.",
                false => "Check which rank arrives last at the call, and whether all ranks are needed in it.",
            },
        ),
        Theme::Locks => (
            FindingKind::LockContention,
            if has_threads { "Threads wait for locks in" } else { "Waiting for locks in" },
            "it is assumed that all waiting for the lock can be avoided",
            LOCK_ADVICE,
        ),
        Theme::Threads => (
            FindingKind::WaitingForThreads,
            if has_threads { "Threads wait for each other in" } else { "Waiting in" },
            match has_threads {
                true => "what the other threads do meanwhile is not shown here",
                false => "the threads that these calls wait for are not recorded",
            },
            match has_threads {
                true => {
                    "Compare the threads of a process: is the work of the loop divided evenly (schedule), and is there \
                     enough for all threads?"
                }
                false => "See what these calls wait for; a trace of all threads shows more.",
            },
        ),
        Theme::Device => (
            FindingKind::WaitingForDevice,
            "Waiting for the accelerator in",
            "how much of the host's work could be done meanwhile is not known",
            "Work on the host meanwhile, or keep several streams busy; check which kernels run in this time.",
        ),
        Theme::Process => (
            FindingKind::WaitingElsewhere,
            "Waiting for another process in",
            "what the other process does meanwhile is not shown here",
            "See what the other process does meanwhile: whether it starts late, or could send sooner or in larger pieces.",
        ),
        Theme::Other => (
            FindingKind::WaitingElsewhere,
            "Waiting in",
            "what these calls wait for is not recorded",
            "See what these calls wait for.",
        ),
    };
    Some(Known { kind, title, reason, advice })
}

/// The findings about a theme other than messages and threads that do not run; none for these.
pub(super) fn theme(cx: &Context<'_>, waiting: &Waiting<'_>) -> Vec<Draft> {
    let Some(draft) = by_theme(cx, waiting) else { return Vec::new() };
    if waiting.theme == Theme::Collectives && set_up::makes_communicators_once(cx, waiting) {
        return vec![set_up::cost(cx, waiting, draft)];
    }
    if waiting.theme != Theme::Threads {
        return vec![draft];
    }
    let is_team = cx.class(waiting.main_path()).is_some_and(|class| class.family == Family::OpenMp);
    // The first threads wait for the others at most as long as these wait for locks.
    let locks = locks_of_helpers(cx).map(|(path, wait)| (path, wait.min(waiting.ticks)));
    let locks = locks.filter(|(_, gain)| !is_team || waiting.ticks <= gain.saturating_mul(2));
    let Some(helpers) = helpers(cx).filter(|_| !is_team) else {
        if let Some((path, gain)) = locks {
            return vec![locks_of_others(cx, draft, path, gain)];
        }
        return match uneven(cx, waiting.main_path(), draft.gain) {
            Some(uneven) => vec![uneven.explain(cx, draft)],
            None => vec![draft],
        };
    };
    // The time is what the others do. It is lost as far as they do not run, wait for locks, or wait for one of them.
    let mut rest = waiting.ticks;
    let mut part = |ticks: u64| {
        let part = ticks.min(rest);
        rest -= part;
        part
    };
    let stood = helpers.stood.map(|(path, ticks)| (path, part(ticks)));
    let locks = locks.map(|(path, ticks)| (path, part(ticks)));
    let gain = part(helpers.uneven.gain());
    let again = || by_theme(cx, waiting);
    let stood =
        stood.zip(again()).map(|((path, ticks), draft)| not_running::of_others(cx, draft, path, ticks));
    let locks = locks.zip(again()).map(|((path, ticks), draft)| locks_of_others(cx, draft, path, ticks));
    let phases = draft.confidence.clone();
    let uneven = helpers.uneven.explain(cx, Draft { gain, loss: gain, ..draft });
    // Whether these threads share work is not known: some may wait for what others make.
    let uneven = Draft { confidence: (phases.0, uneven.confidence.1.clone()), ..uneven };
    stood.into_iter().chain(locks).chain([uneven]).collect()
}

/// First threads wait for others, which wait for locks in `path`.
fn locks_of_others(cx: &Context<'_>, mut draft: Draft, path: CallPathId, gain: u64) -> Draft {
    let own = |at: &CallPathId| !["std::", "__"].iter().any(|start| cx.name(*at).starts_with(start));
    let place = match cx.chain(path).skip(1).find(own) {
        Some(caller) => format!("{} in {}", cx.name(path), cx.name(caller)),
        None => cx.place(path),
    };
    let meanwhile = std::mem::take(&mut draft.sentence);
    draft.evidence.push(Evidence::new(
        format!("the threads that they wait for wait for locks in {place}"),
        "waiting of the class lock contention, mean over the threads that wait for locks",
        vec![Quantity::ns("waiting for locks", cx.ns(gain))],
    ));
    Draft {
        kind: FindingKind::LockContention,
        title: format!("Threads wait for locks in {place}"),
        sentence: format!(
            "Helper threads wait for locks in {place}, and the first threads for them. {meanwhile}"
        ),
        saving: Saving::new("Avoiding the waiting for locks would save at most"),
        also: std::iter::once(draft.path).chain(std::mem::take(&mut draft.also)).collect(),
        path,
        gain,
        loss: gain,
        assumption: "no thread waits for a lock, and the first threads wait that much less".to_owned(),
        advice: LOCK_ADVICE.to_owned(),
        command: compare_ranks(cx, path),
        ..draft
    }
}

/// Where threads other than the first ones wait longest for locks, and how long each of them does, in ticks. Samples do not
/// show who holds a lock: there, it is the time in calls that take one.
fn locks_of_helpers(cx: &Context<'_>) -> Option<(CallPathId, u64)> {
    let mut of_paths: BTreeMap<CallPathId, u64> = BTreeMap::new();
    let mut of_threads: BTreeMap<LocationId, u64> = BTreeMap::new();
    let mut add = |path: CallPathId, location: LocationId, wait: u64| {
        if 0 < wait && !cx.group.locations.contains(&location) {
            *of_paths.entry(path).or_default() += wait;
            *of_threads.entry(location).or_default() += wait;
        }
    };
    if cx.recorded.calls {
        for (path, sums) in cx.waits.of(WaitClass::LockContention) {
            sums.iter().for_each(|(&location, &wait)| add(path, location, wait));
        }
    } else {
        for thread in &cx.profile.locations {
            let rows = thread.rows.iter().filter(|row| takes_lock(cx, row.call_path));
            rows.for_each(|row| add(row.call_path, thread.location, row.times.exclusive.0));
        }
    }
    let (path, _) = *greatest_first(&of_paths).first()?;
    Some((path, of_threads.values().sum::<u64>() / of_threads.len() as u64))
}

fn by_theme(cx: &Context<'_>, waiting: &Waiting<'_>) -> Option<Draft> {
    let (is_alone, has_threads) = (!cx.recorded.several_processes(), cx.recorded.several_threads());
    let Known { kind, title, reason, advice } = known(waiting.theme, is_alone, has_threads)?;
    let avoidable = matches!(waiting.theme, Theme::Locks | Theme::Threads);
    let (gain, remedy, assumption) = if waiting.theme == Theme::Threads && has_threads {
        let gain = cx.spread_over_threads(waiting.ticks, &waiting.paths);
        (
            gain,
            "Spreading the work evenly over the threads",
            "all threads of a process wait equally little there",
        )
    } else if avoidable {
        (waiting.ticks, "Avoiding this waiting", "no thread waits there")
    } else {
        let gain = waiting.hidden(waiting.ticks);
        (gain, "Hiding this time behind computation", "it is hidden behind the available computation")
    };
    let path = waiting.main_path();
    let stages: Vec<&Stage> = waiting.stages.iter().map(|&(stage, _)| stage).collect();
    let (confidence, phases) = cx.confidence_of_phases();
    let at_most = if kind == FindingKind::LockContention { Confidence::Likely } else { Confidence::Possible };
    let place = cx.place(path);
    // Phases may be longer than the busiest has work for, without anybody being in these calls so long.
    let spends = waiting.ticks.min(most_spent(cx, waiting.paths.iter().map(|&(path, _)| path)));
    let visits = cx.visits(path);
    let total: u64 = cx.by_peer(path, Times::Inclusive).iter().map(|&(_, ticks)| ticks).sum();
    let shown: Vec<CallPathId> = waiting.paths.iter().take(4).map(|&(path, _)| path).collect();
    let values = cx.places(&shown).into_iter().zip(&waiting.paths);
    Some(Draft {
        title: format!("{title} {place}"),
        sentence: capitalised(&match waiting.paths.len() {
            1 => cx.keep_from_computing(&place, "keeps", spends),
            _ => cx.keep_from_computing(&format!("{place} and similar calls"), "keep", spends),
        }) + ".",
        saving: Saving::new(format!("{remedy} would save")),
        ranks: cx.ranks(cx.group.locations.iter().copied()),
        iterations: iterations(&stages, |phase| u128::from(phase.waiting())),
        range: range_of(&stages),
        gain,
        // What an accelerator does in the meantime, and what helper threads do, is not replayed.
        remedy: match waiting.theme {
            Theme::Device | Theme::Threads | Theme::Running | Theme::Process | Theme::Other => Vec::new(),
            Theme::Messages | Theme::Collectives | Theme::Locks => waiting.gone(),
        },
        also: others(cx, waiting, path),
        loss: waiting.ticks,
        assumption: assumption.to_owned(),
        confidence: (confidence.min(at_most), format!("{phases}; {reason}")),
        evidence: vec![Evidence::new(
            match cx.recorded.calls {
                true => format!(
                    "{} of {} on average",
                    counted(visits, "call", "calls"),
                    cx.time(total / visits.max(1))
                ),
                false => format!(
                    "{} in these calls according to samples, summed over {}s",
                    cx.time(total),
                    cx.peers_in_words().0
                ),
            },
            "gain = Σ over phases of (length − max busy), less the cost of the synchronisation, divided among the \
             calls that wait in proportion to their mean times",
            std::iter::once(Quantity::ns("waiting", cx.ns(waiting.ticks)))
                .chain(
                    values.map(|(place, &(_, ticks))| {
                        Quantity::ns(&format!("mean time in {place}"), cx.ns(ticks))
                    }),
                )
                .collect(),
        )],
        advice: advice.to_owned(),
        ..Draft::about(cx, kind, path)
    })
}
