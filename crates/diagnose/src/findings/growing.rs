//! Imbalances that grow: how, from which iteration on, and what that means.

use super::context::Context;
use super::draft::{Draft, Saving};
use super::finding::{Evidence, FindingKind, Iterations, Quantity, QuantityUnit};
use super::load::{LEAST_ITERATIONS, load};
use super::ranks::Ranks;
use super::series::{onset, trend};
use super::stages::{PhaseTimes, Stage};
use super::words::capitalised;
use super::work::Uneven;
use ouzel_model::LocationId;

/// Kendall's τ from which an imbalance counts as rising steadily.
const STEADY: f64 = 0.6;

/// How an imbalance grows.
pub(super) struct Growth {
    /// Nanoseconds from one iteration to the next.
    slope_ns: f64,
    iterations: Iterations,
    is_steady: bool,
}

impl Growth {
    fn first(&self) -> u64 {
        self.iterations.ranges.first().map_or(0, |&(first, _)| first)
    }
}

#[expect(clippy::cast_precision_loss, reason = "shown, and compared with each other")]
pub(super) fn grows(cx: &Context<'_>, stage: &Stage) -> Option<Growth> {
    if stage.n_iterations < LEAST_ITERATIONS {
        return None;
    }
    let n = stage.n_peers() as f64;
    let tick_ns = 1e9 / cx.definitions.clock.ticks_per_second as f64;
    let imbalances = stage.by_iteration(PhaseTimes::imbalance);
    let series: Vec<f64> = imbalances.iter().map(|&imbalance| imbalance as f64 / n * tick_ns).collect();
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
    let iterations = stage.named(first.min(series.len() - 1)..series.len());
    // Each has so many iterations of the program's loop, and as many slopes lie between two.
    let slope_ns = line.slope / stage.steps_per_iteration().powi(2);
    Some(Growth { slope_ns, iterations, is_steady })
}

pub(super) fn growing(
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
        format!("the imbalance {how} iteration {} of {}", growth.first(), growth.iterations.n_all),
        "slope of the Theil–Sen line through max busy − mean busy of the iterations",
        vec![
            Quantity::of("slope", growth.slope_ns, QuantityUnit::NanosecondsPerIteration),
            Quantity::count("first", growth.first()),
        ],
    );
    let base = load(cx, group, by_peer, ranks, group.imbalance);
    let mut all = vec![evidence];
    all.extend(base.evidence);
    Draft {
        kind: FindingKind::GrowingImbalance,
        title: format!("Growing load imbalance in {name}: {who}"),
        sentence: {
            let since = match growth.first() {
                0 => capitalised(&who),
                first => format!("From iteration {first} on, {who}"),
            };
            let s = if base.ranks.list.len() == 1 { "s" } else { "" };
            format!("{since} work{s} longer and longer in {name}, and the others wait.")
        },
        saving: Saving::in_a_longer_run("Spreading the work evenly would save"),
        iterations: Some(growth.iterations.clone()),
        evidence: all,
        advice: format!(
            "The work in {name} moves between ranks during the run: rebalance it every few iterations, or when \
             max / mean exceeds a limit."
        ),
        ..base
    }
}
