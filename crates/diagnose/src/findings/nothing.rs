//! The finding that no single cause costs much: what takes the run's time then, as far as that is known.
//!
//! Law: what was not recorded is not called insignificant, and what is recorded is named.

use super::context::{Context, SIGNIFICANT, Times, greatest_first};
use super::draft::Draft;
use super::finding::{Evidence, FindingKind, Quantity, QuantityUnit};
use super::stages::Stage;
use super::{Sources, waiting, words};
use crate::accelerators_card::AcceleratorsCard;
use crate::losses::Loss;
use ouzel_analyses::semantics::Category;
use ouzel_model::{CallPathId, CallPathTree, short_name, units};

/// Share of the run from which it is called computation.
const MOSTLY: f64 = 2.0 / 3.0;
/// Accelerators that are busy for this share of their time hardly ever wait.
const BUSY: f64 = 0.9;
/// Accelerators that are busy for a smaller share of the run are not what it takes long for.
const BUSY_OF_RUN: f64 = 0.5;

/// The finding. `largest` is the largest loss found, with its gain in ticks.
pub(super) fn nothing(cx: &Context<'_>, sources: &Sources<'_>, largest: Option<(String, u64)>) -> Draft {
    // Where hosts and streams were not replayed, what keeps accelerators waiting is not known.
    let replayed = sources.accelerators.filter(|_| sources.devices.is_some());
    let is_busy = |of: &AcceleratorsCard| BUSY <= of.busy_fraction && BUSY_OF_RUN <= of.busy_of_run;
    match (sources.accelerators, replayed) {
        (Some(of), _) if is_busy(of) => devices_are_busy(cx, of),
        (_, Some(of)) => devices_are_not_busy(cx, of, largest),
        _ => of_hosts(cx, largest, sources.threads_wait),
    }
}

/// The finding that nothing costs much time, because accelerators run the work and hardly ever wait.
fn devices_are_busy(cx: &Context<'_>, of: &AcceleratorsCard) -> Draft {
    let busy = words::percent(of.busy_fraction);
    let devices = units::counted(of.n_devices, "accelerator", "accelerators");
    let limit = words::percent(SIGNIFICANT);
    Draft {
        sentence: format!(
            "No single cause that keeps accelerators waiting costs more than {limit} of the run. They are busy in \
             {busy} of the time between their first and last operation: to speed up the run, speed up the kernels."
        ),
        evidence: vec![Evidence::new(
            format!("{devices} busy in {busy} of the time between first and last operation"),
            "busy time / time from the first operation to the last, summed over accelerators",
            vec![Quantity::ns("busy", of.busy_ns), Quantity::ns("first to last operation", of.span_ns)],
        )],
        advice: "Check which kernels take the most time.".to_owned(),
        command: vec!["kernels".to_owned()],
        ..of_hosts(cx, None, None)
    }
}

/// The finding that nothing costs much time, although accelerators do not run for most of it.
fn devices_are_not_busy(cx: &Context<'_>, of: &AcceleratorsCard, largest: Option<(String, u64)>) -> Draft {
    let of_run = words::percent(of.busy_of_run);
    let limit = words::percent(SIGNIFICANT);
    let outside_ns = cx.ns(cx.run()).saturating_mul(of.n_devices).saturating_sub(of.span_ns);
    let devices = units::counted(of.n_devices, "accelerator", "accelerators");
    let most_of_rest = of.span_ns.saturating_sub(of.busy_ns) < outside_ns;
    let (rest, advice, command): (_, _, &[&str]) = match most_of_rest {
        true => (
            "most of the rest is before their first operation or after their last",
            "Check what the host does before the first operation and after the last, and whether accelerators could \
             take over some of it.",
            &["profile", "--call-paths"],
        ),
        false => (
            "the rest has many causes",
            "Check which kernels take the most time, and why streams are idle.",
            &["idle", "--by", "cause"],
        ),
    };
    let alone = of_hosts(cx, largest, None);
    Draft {
        sentence: format!(
            "No single cause that keeps accelerators waiting costs more than {limit} of the run. They are busy in \
             {of_run} of it; {rest}."
        ),
        evidence: std::iter::once(Evidence::new(
            format!("{devices} busy in {of_run} of the run"),
            "busy time / (run time × accelerators); before and after = run time × accelerators − time from the first \
             operation to the last, summed over accelerators",
            vec![
                Quantity::ns("busy", of.busy_ns),
                Quantity::ns("idle between operations", of.span_ns.saturating_sub(of.busy_ns)),
                Quantity::ns("before and after", outside_ns),
            ],
        ))
        .chain(alone.evidence.into_iter().skip(1))
        .collect(),
        advice: advice.to_owned(),
        command: command.iter().map(|&word| word.to_owned()).collect(),
        ..of_hosts(cx, None, None)
    }
}

/// Busy time of the process that is busy longest, where processes have no ranks: they may have nothing to do with each
/// other, and their mean says little.
fn busiest_of_unranked(cx: &Context<'_>) -> Option<u64> {
    let is_meant = !cx.are_ranks() && 1 < cx.n_peers();
    is_meant.then(|| cx.busy(CallPathTree::ROOT).max().unwrap_or_default())
}

/// Whether the run is computation for the most part.
pub(super) fn computes_mostly(cx: &Context<'_>) -> bool {
    let mean = cx.stages.iter().map(Stage::busy).sum();
    MOSTLY <= cx.share(busiest_of_unranked(cx).unwrap_or(mean))
}

/// Outermost calls that wait or synchronise, with their mean time over the peers, longest first.
fn waiting_calls(cx: &Context<'_>) -> Vec<(CallPathId, u64)> {
    let waits = |path: &CallPathId| {
        cx.category(*path, false) != Category::Computation && !cx.is_inside_waiting(cx.paths().parent(*path))
    };
    let mean = |path| {
        let sum: u64 = cx.by_peer(path, Times::Inclusive).into_iter().map(|(_, ticks)| ticks).sum();
        sum / cx.n_peers().max(1)
    };
    let sums = cx.paths().paths().filter(waits).map(|path| (path, mean(path))).collect();
    greatest_first(&sums)
}

/// What the findings are about: one peer has nobody to be uneven with.
fn what_is_lost(cx: &Context<'_>) -> &'static str {
    if cx.n_peers() == 1 { "waiting" } else { "imbalance or waiting" }
}

/// The only peer, or any of them, in words.
fn any_peer(cx: &Context<'_>) -> String {
    match (cx.peers_in_words(), cx.n_peers()) {
        ((one, _), 1) => format!("the {one}"),
        ((one, _), _) => format!("on average, a {one}"),
    }
}

/// What is said where little of the run is computation, and no finding says why.
fn unexplained(cx: &Context<'_>, busy: u64, waiting: u64) -> String {
    let (peer, _) = cx.peers_in_words();
    let who = any_peer(cx);
    let calls = waiting_calls(cx);
    let in_calls: u64 = calls.iter().map(|&(_, ticks)| ticks).sum();
    let limit = words::percent(SIGNIFICANT);
    match calls.first() {
        Some(&(longest, ticks)) if MOSTLY * cx.share(waiting) <= cx.share(in_calls) => format!(
            "No single change was found that would save more than {limit} of the run, but {who} computes in only {} of \
             it. The rest is in calls that wait or communicate, longest in {} ({} on average).",
            cx.percent(busy),
            cx.place(longest),
            cx.time(ticks)
        ),
        _ => {
            let what = what_is_lost(cx);
            format!(
                "No single cause of {what} was found that costs more than {limit} of the run, but {who} computes in \
                 only {} of it. What happens in the rest is not recorded, or is not the work of the {peer}.",
                cx.percent(busy)
            )
        }
    }
}

/// What is said where most of the run is computation.
fn computation(cx: &Context<'_>, threads_wait: Option<&Loss>) -> String {
    let limit = words::percent(SIGNIFICANT);
    if let Some(busiest) = busiest_of_unranked(cx) {
        return format!(
            "No single cause of waiting costs more than {limit} of the run. The processes have no ranks, so they are not \
             compared: the busiest computes in {} of the run. To speed up the run, speed up the computation.",
            cx.percent(busiest)
        );
    }
    let what = what_is_lost(cx);
    match threads_wait.filter(|loss| SIGNIFICANT <= loss.share_of_run) {
        Some(loss) => format!(
            "No single cause of {what} of first threads costs more than {limit} of the run, but threads wait for others of \
             their process for {} ({}) on average in {}. To speed up the run, speed up the computation, or spread it \
             better over the threads.",
            units::time(loss.lost_ns),
            words::percent(loss.share_of_run),
            loss.call_path.last().map_or(crate::NO_REGION.into(), |name| short_name(name)),
        ),
        None => format!(
            "No single cause of {what} costs more than {limit} of the run. To speed up the run, speed up the \
             computation."
        ),
    }
}

/// The finding that nothing costs much time. `threads_wait` is where threads wait longest for others.
fn of_hosts(cx: &Context<'_>, largest: Option<(String, u64)>, threads_wait: Option<&Loss>) -> Draft {
    let limit = words::percent(SIGNIFICANT);
    let busy: u64 = cx.stages.iter().map(Stage::busy).sum();
    let length: u64 = cx.stages.iter().map(Stage::length).sum();
    let (waiting, unseen) = (length.saturating_sub(busy), cx.run().saturating_sub(length));
    let who = any_peer(cx);
    let mut times = vec![
        Quantity::ns("mean busy", cx.ns(busy)),
        Quantity::ns("waiting", cx.ns(waiting)),
        Quantity::ns("run time", cx.ns(cx.run())),
    ];
    let mut text = format!("{who} spends {} of the run neither waiting nor synchronising", cx.percent(busy));
    if cx.is_significant(unseen) {
        times.push(Quantity::ns("without calls", cx.ns(unseen)));
        text += &format!(", and has no calls in {}", cx.percent(unseen));
    }
    let mut evidence = vec![Evidence::new(
        text,
        "Σ over phases of mean busy / run time; waiting = Σ (length − mean busy); without calls = run time − Σ length",
        times,
    )];
    evidence.extend(largest.map(|(title, gain)| {
        Evidence::new(
            format!("the largest loss found: {title}"),
            "gain of that loss",
            vec![
                Quantity::ns("gain", cx.ns(gain)),
                Quantity::of("share of the run", cx.share(gain), QuantityUnit::Ratio),
            ],
        )
    }));
    let what = what_is_lost(cx);
    let joined = waiting::for_threads(cx);
    let waits_for_threads =
        cx.is_significant(joined.saturating_mul(2)) && MOSTLY * cx.share(waiting) <= cx.share(joined);
    let is_computation = computes_mostly(cx);
    Draft {
        // As the headline begins.
        title: if is_computation { "Nothing significant" } else { "No single change" }.to_owned(),
        sentence: match is_computation {
            true => computation(cx, threads_wait),
            false if waits_for_threads => format!(
                "No single cause of {what} costs more than {limit} of the run: {who} waits for other threads in {} of \
                 it, which compute meanwhile. To speed up the run, speed up their computation.",
                cx.percent(joined)
            ),
            false => unexplained(cx, busy, waiting),
        },
        evidence,
        advice: "Check which functions take the most time.".to_owned(),
        command: vec!["profile".to_owned()],
        ..Draft::about(cx, FindingKind::NothingSignificant, CallPathTree::ROOT)
    }
}
