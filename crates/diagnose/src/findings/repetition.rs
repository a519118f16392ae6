//! Findings about iterations: single ones that take long, and all taking longer and longer.
//!
//! Both look at the mean busy time of the phases of a stage, so they overlap neither with
//! imbalance nor with waiting. Where samples show too few synchronisations, slow iterations are those of the program's own
//! loop, by their length.
//!
//! | finding | evidence | gain |
//! |---|---|---|
//! | slow iterations | more than `median + 5 · MAD` and 1 % of the run above the median, at most a tenth of all, not at even distances | `Σ (busy − median)` |
//! | iterations grow longer | Kendall's τ at least 0.6, and more growth than three times the noise | `Σ (busy − first)`, with the line of Theil and Sen |

use super::context::{Context, SIGNIFICANT, Times};
use super::draft::{Draft, Saving};
use super::finding::{Confidence, Evidence, FindingKind, Iterations, Quantity, QuantityUnit};
use super::ranks::{Ranks, ranges_of};
use super::series::{median, median_absolute_deviation, outliers, trend};
use super::stages::{PhaseTimes, Stage};
use super::words::plural;
use crate::steps::StepLoop;
use ouzel_analyses::semantics::Category;
use ouzel_model::units::count;
use ouzel_model::{CallPathId, CallPathTree, LocationId, TimeRange};
use std::collections::BTreeMap;

/// Part of the usual time by which each iteration of a slow stretch exceeds it, and its least length.
const LEAST_EXCESS: f64 = 0.1;
const LEAST_STRETCH: usize = 3;

/// Least number of iterations to determine what is usual.
const LEAST_ITERATIONS: usize = 8;

/// The findings.
pub(super) fn repetitions(cx: &Context<'_>) -> Vec<Draft> {
    let repeat = |stage: &&Stage| LEAST_ITERATIONS <= stage.n_iterations;
    let stages = cx.stages.iter().filter(repeat);
    let of_stage = |stage: &Stage| {
        let slow = if may_join_iterations(cx, stage) { None } else { slow(cx, stage) };
        slow.or_else(|| growing(cx, stage))
    };
    let mut drafts: Vec<Draft> = stages.filter_map(of_stage).collect();
    if drafts.is_empty() {
        drafts.extend(slow_steps(cx));
    }
    drafts
}

/// Whether phases of a stage may be several iterations, as samples miss synchronisations: unless there are as many as of the
/// program's own loop.
fn may_join_iterations(cx: &Context<'_>, stage: &Stage) -> bool {
    let phase = stage.phases.first().and_then(|phase| cx.group.phases.get(phase.index as usize));
    let is_sampled = phase.is_some_and(|phase| cx.group.noise_of_anchor(phase).is_some());
    let n_steps = cx.steps.around(cx.group.run_range).map(StepLoop::n_steps);
    is_sampled && n_steps != Some(stage.n_iterations)
}

/// Mean busy time of each iteration, in ticks.
#[expect(clippy::cast_precision_loss, reason = "times are compared with each other")]
fn busy(stage: &Stage) -> Vec<f64> {
    let sums = stage.by_iteration(|phase| u128::from(phase.busy.sum.0));
    sums.into_iter().map(|sum| sum as f64 / stage.n_peers() as f64).collect()
}

fn computes(cx: &Context<'_>, path: CallPathId) -> bool {
    cx.category(path, false) == Category::Computation && !cx.is_inside_waiting(path)
}

/// The path that computes most in a stage.
fn main_path(cx: &Context<'_>, stage: &Stage) -> CallPathId {
    let own = stage.paths.iter().filter(|((path, _), _)| computes(cx, *path));
    let most = own.max_by_key(|((path, _), times)| (times.exclusive_sum, std::cmp::Reverse(*path)));
    most.map_or(CallPathTree::ROOT, |(&(path, _), _)| path)
}

/// The path, or the innermost caller of it in which some rank spends that much.
fn containing(cx: &Context<'_>, path: CallPathId, ticks: u64) -> CallPathId {
    let spends = |path: &CallPathId| cx.by_peer(*path, Times::Busy).iter().any(|&(_, spent)| ticks <= spent);
    cx.chain(path).find(spends).unwrap_or(CallPathTree::ROOT)
}

/// Those of a series of times that are slow: few, and either together or at no even distances. Usual is the median.
#[expect(clippy::cast_precision_loss, reason = "a limit for floats")]
fn slow_among(cx: &Context<'_>, times: &[f64], begins_otherwise: impl Fn() -> bool) -> Option<Vec<usize>> {
    let usual = median(times);
    let mut slow = match outliers(times, 5.0, SIGNIFICANT * cx.run() as f64) {
        none if none.is_empty() => stretch(times, usual),
        slow => slow,
    };
    if slow.first() == Some(&0) && begins_otherwise() {
        slow.remove(0);
    }
    // Where iterations have nothing in common, none of them is slow.
    let is_usual = median_absolute_deviation(times) <= usual / 2.0;
    let (&first, &last) = (slow.first()?, slow.last()?);
    let are_few = match last - first + 1 == slow.len() {
        true => 3 * slow.len() <= times.len(),
        false => 10 * slow.len() <= times.len(),
    };
    (is_usual && are_few && !are_periodic(&slow, times.len())).then_some(slow)
}

/// What slow iterations are told from.
struct SlowIterations {
    /// Of all iterations, in ticks.
    times: Vec<f64>,
    slow: Vec<usize>,
    /// The slow ones, and the longest of them, by the numbers of the program's loop.
    named: Iterations,
    longest: u64,
    range: TimeRange,
    path: CallPathId,
    /// Who takes longer, as a sentence goes on.
    whom: String,
    ranks: Ranks,
    /// What the times are, if not all of an iteration: "of work", and for how many iterations.
    of_what: &'static str,
    per: String,
    evidence: &'static str,
}

impl SlowIterations {
    /// How much longer than usual some of a series take together, in ticks.
    fn gain(times: &[f64], slow: &[usize]) -> u64 {
        let usual = median(times);
        ticks(slow.iter().map(|&i| times[i] - usual).sum())
    }

    fn worst(times: &[f64], slow: &[usize]) -> usize {
        slow.iter().copied().max_by(|&a, &b| times[a].total_cmp(&times[b])).unwrap_or_default()
    }

    fn draft(self, cx: &Context<'_>) -> Draft {
        let SlowIterations { times, slow, named, longest, range, path, whom, ranks, of_what, per, evidence } =
            self;
        let (usual, gain) = (median(&times), Self::gain(&times, &slow));
        let worst = times[Self::worst(&times, &slow)];
        let n = named.n_named();
        let (confidence, reason) = cx.confidence_of_phases();
        Draft {
            title: match n {
                1 => format!("One slow iteration of {}", count(named.n_all)),
                _ => format!("{} slow iterations of {}", count(n), count(named.n_all)),
            },
            sentence: format!(
                "Iteration{} {} take{} much longer than usual {whom}{}{of_what} instead of {}{}{per}.",
                plural(n),
                shown(&named.ranges),
                if n == 1 { "s" } else { "" },
                cx.time(ticks(worst)),
                cx.time(ticks(usual)),
                if slow.len() == 1 { "" } else { " in the worst" },
            ),
            saving: Saving::new("Bringing the time down to the median would save"),
            ranks,
            iterations: Some(named),
            range,
            gain,
            loss: gain,
            assumption: format!(
                "{} as long as the median one",
                if n == 1 { "this iteration takes" } else { "these iterations take" }
            ),
            confidence: (confidence.min(Confidence::Likely), format!("{reason}; they may have more to do")),
            evidence: vec![Evidence::new(
                evidence,
                "slow: above median + 5 · median absolute deviation, and above median + 1 % of the run",
                vec![
                    Quantity::ns("median", cx.ns(ticks(usual))),
                    Quantity::ns(
                        "median absolute deviation",
                        cx.ns(ticks(median_absolute_deviation(&times))),
                    ),
                    Quantity::ns("longest", cx.ns(ticks(worst))),
                    Quantity::count("longest iteration", longest),
                ],
            )],
            advice: format!(
                "Check what is different in {}: output, memory that is allocated or moved, a mesh change, or something \
                 else on the machine at that time.",
                if n == 1 { "this iteration" } else { "these iterations" }
            ),
            command: vec![
                "profile".to_owned(),
                "--call-paths".to_owned(),
                "--time".to_owned(),
                format!("{}ns..{}ns", cx.ns(range.start.0), cx.ns(range.end.0)),
            ],
            ..Draft::about(cx, FindingKind::IterationOutlier, path)
        }
    }
}

fn slow(cx: &Context<'_>, stage: &Stage) -> Option<Draft> {
    let times = busy(stage);
    let slow = slow_among(cx, &times, || begins_with_other_code(cx, stage))?;
    let gain = SlowIterations::gain(&times, &slow);
    let worst = SlowIterations::worst(&times, &slow);
    let (whom, ranks) = on_whom(cx, stage, &slow, gain);
    // Times are those between synchronisations, which may have several iterations.
    let n_steps = stage.steps_per_iteration();
    let of = SlowIterations {
        named: stage.named(slow.iter().copied()),
        longest: stage.named([worst]).ranges.first().map_or(0, |&(first, _)| first),
        range: stage.range_of_iterations(*slow.first()?, *slow.last()?),
        path: containing(cx, main_path(cx, stage), gain),
        whom,
        ranks,
        of_what: " of work",
        per: if n_steps <= 1.0 { String::new() } else { format!(" {n_steps:.0} iterations") },
        evidence: "mean busy time of the ranks in each iteration",
        times,
        slow,
    };
    Some(of.draft(cx))
}

/// Slow iterations of the program's loop where samples show too few synchronisations to tell its iterations apart.
#[expect(clippy::cast_precision_loss, reason = "times are compared with each other")]
fn slow_steps(cx: &Context<'_>) -> Option<Draft> {
    let of = cx.steps.around(cx.group.run_range).filter(|of| LEAST_ITERATIONS <= of.n_steps())?;
    if !cx.stages.iter().any(|stage| may_join_iterations(cx, stage)) {
        return None;
    }
    let times: Vec<f64> = of.lengths().map(|ticks| ticks as f64).collect();
    let slow = slow_among(cx, &times, || false)?;
    let (first, last) = (*slow.first()?, *slow.last()?);
    let gain = SlowIterations::gain(&times, &slow);
    let range = of.range_of(first, last);
    // Waiting and what only some ranks do are told elsewhere.
    let phases = || cx.stages.iter().flat_map(|stage| &stage.phases);
    let inside = || phases().filter(|phase| phase.range.start < range.end && range.start < phase.range.end);
    let lost = |phase: &PhaseTimes| {
        u128::from(phase.waiting()) + phase.imbalance() / u128::from(phase.n_peers.max(1))
    };
    if u128::from(gain) < 2 * inside().map(lost).sum::<u128>() {
        return None;
    }
    let busiest = cx.stages.iter().max_by_key(|stage| stage.busy())?;
    let ranges = ranges_of(slow.iter().map(|&i| i as u64));
    let of = SlowIterations {
        longest: SlowIterations::worst(&times, &slow) as u64,
        named: Iterations { n_all: times.len() as u64, ranges },
        range,
        path: containing(cx, main_path(cx, busiest), gain),
        whom: format!("on {}: ", cx.all_peers()),
        ranks: cx.ranks(cx.group.locations.iter().copied()),
        of_what: "",
        per: String::new(),
        evidence: "length of each iteration, by samples of one rank of those that are alike",
        times,
        slow,
    };
    Some(of.draft(cx))
}

/// Who takes longer in slow iterations, which together take `gain` ticks longer on average over all peers: how a sentence
/// goes on, up to the times of that average, and the ranks to look at.
#[expect(clippy::cast_precision_loss, reason = "times are compared with each other")]
fn on_whom(cx: &Context<'_>, stage: &Stage, slow: &[usize], gain: u64) -> (String, Ranks) {
    let n = u128::from(stage.n_peers());
    // More than half of what all together take longer.
    let is_most = |value: &dyn Fn(&PhaseTimes) -> u128| {
        let times: Vec<f64> = stage.by_iteration(value).into_iter().map(|sum| sum as f64).collect();
        let usual = median(&times);
        (gain as f64) < 2.0 * slow.iter().map(|&i| times[i] - usual).sum::<f64>()
    };
    let all = cx.ranks(cx.group.locations.iter().copied());
    if n == 1 || is_most(&|phase| u128::from(phase.busy.min.0)) {
        return (format!("on {}: ", cx.all_peers()), all);
    }
    let others = |phase: &PhaseTimes| u128::from(phase.busy.sum.0.saturating_sub(phase.busy.max.0)) / (n - 1);
    if is_most(&others) {
        return (format!("on average over {}: ", cx.all_peers()), all);
    }
    let mut longest: BTreeMap<LocationId, u128> = BTreeMap::new();
    for phase in stage.phases.iter().filter(|phase| slow.contains(&phase.iteration)) {
        *longest.entry(phase.busy.max_at).or_default() += phase.imbalance();
    }
    let ranks = cx.ranks(longest.into_iter().max_by_key(|&(_, ticks)| ticks).map(|(location, _)| location));
    (format!("on {}: on average over {}, ", cx.in_words(&ranks), cx.all_peers()), ranks)
}

/// Whether most of the first iteration's time is in a path that the others hardly have: what comes before a loop.
fn begins_with_other_code(cx: &Context<'_>, stage: &Stage) -> bool {
    let mut times: BTreeMap<CallPathId, (u64, u64)> = BTreeMap::new();
    for phase in &stage.phases {
        for cell in cx.group.cells_of(phase.index).iter().filter(|cell| computes(cx, cell.call_path)) {
            let (first, others) = times.entry(cell.call_path).or_default();
            *(if phase.iteration == 0 { first } else { others }) += cell.exclusive.sum.0;
        }
    }
    let most = times.values().max_by_key(|(first, _)| *first);
    most.is_some_and(|(first, others)| others.saturating_mul(100) < *first)
}

/// Iterations that follow each other and together take longer than usual, each too little to matter.
fn stretch(busy: &[f64], usual: f64) -> Vec<usize> {
    let slow = outliers(busy, 5.0, LEAST_EXCESS * usual);
    let (Some(first), Some(last)) = (slow.first(), slow.last()) else { return Vec::new() };
    if LEAST_STRETCH <= slow.len() && last - first + 1 == slow.len() { slow } else { Vec::new() }
}

/// Whether indices are, or may be, evenly spaced over all iterations: then they are regular work, no exception.
fn are_periodic(indices: &[usize], n_all: usize) -> bool {
    let steps: Vec<usize> = indices.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let (Some(&step), Some(&last)) = (steps.first(), indices.last()) else { return false };
    steps.iter().all(|other| *other == step) && indices[0] <= step && n_all - last <= step
}

/// `3, 7 to 9`; at most eight.
fn shown(ranges: &[(u64, u64)]) -> String {
    let range = |&(first, last): &(u64, u64)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first} to {last}"),
    };
    let first: Vec<String> = ranges.iter().take(8).map(range).collect();
    first.join(", ") + if 8 < ranges.len() { ", …" } else { "" }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "times of a run, not negative")]
fn ticks(value: f64) -> u64 {
    value.max(0.0).round() as u64
}

#[expect(clippy::cast_precision_loss, reason = "times are compared with each other")]
fn growing(cx: &Context<'_>, stage: &Stage) -> Option<Draft> {
    let busy = busy(stage);
    let line = trend(&busy)?;
    if line.tau < 0.6 || line.last - line.first <= 3.0 * line.noise || line.first <= 0.0 {
        return None;
    }
    let gain = ticks((line.last - line.first) / 2.0 * busy.len() as f64);
    let (named, per) = (stage.named(0..busy.len()), stage.steps_per_iteration());
    let (first, last) = (ticks(line.first / per), ticks(line.last / per));
    let path = containing(cx, growing_path(cx, stage), gain);
    let (confidence, reason) = cx.confidence_of_phases();
    let tick_ns = 1e9 / cx.definitions.clock.ticks_per_second as f64;
    Some(Draft {
        title: format!("Iterations get longer in {}", cx.name(path)),
        sentence: format!(
            "The work per iteration grows from {} to {} over {} iterations, on {}.",
            cx.time(first),
            cx.time(last),
            count(named.n_named()),
            if cx.n_peers() == 1 { cx.all_peers() } else { format!("average over {}", cx.all_peers()) }
        ),
        saving: Saving::in_a_longer_run("Keeping it at the first value would save"),
        ranks: cx.ranks(cx.group.locations.iter().copied()),
        iterations: Some(named),
        range: stage.range(),
        gain,
        loss: gain,
        assumption: "all iterations take as long as the first".to_owned(),
        confidence: (confidence.min(Confidence::Likely), format!("{reason}; iterations may have more to do")),
        evidence: vec![Evidence::new(
            "mean busy time of the ranks in each iteration",
            "Theil–Sen line; gain = (last − first) / 2 · iterations",
            vec![
                Quantity::ns("first", cx.ns(first)),
                Quantity::ns("last", cx.ns(last)),
                Quantity::of("slope", line.slope * tick_ns / (per * per), QuantityUnit::NanosecondsPerIteration),
                Quantity::of("Kendall's tau", line.tau, QuantityUnit::Ratio),
            ],
        )],
        advice: "Look for something that accumulates: lists that are searched but never emptied, scattered memory, \
                 more particles or cells, growing files."
            .to_owned(),
        ..Draft::about(cx, FindingKind::GrowthOverIterations, path)
    })
}

/// The path whose exclusive time grows most from the first half of the iterations to the second.
fn growing_path(cx: &Context<'_>, stage: &Stage) -> CallPathId {
    let mut growth: BTreeMap<CallPathId, i128> = BTreeMap::new();
    let n = stage.n_iterations;
    for phase in &stage.phases {
        let i = phase.iteration;
        // The middle one of an odd number is in neither half.
        let sign = i128::from(n <= 2 * i) - i128::from(2 * i + 1 < n);
        for cell in cx.group.cells_of(phase.index).iter().filter(|cell| computes(cx, cell.call_path)) {
            *growth.entry(cell.call_path).or_default() += sign * i128::from(cell.exclusive.sum.0);
        }
    }
    super::context::greatest_first(&growth).first().map_or(CallPathTree::ROOT, |&(path, _)| path)
}
