//! Imbalance in one call path that another makes up for before any rank waits for it.
//!
//! A remark without gain: balancing only one of the paths would lose the balance of both. Reported for stages in which
//! the imbalances of paths that compute add up to at least 5 % of the run and to five times the imbalance of the busy
//! time.

use super::context::{Context, Times, greatest_first};
use super::draft::Draft;
use super::finding::{Evidence, FindingKind, Quantity};
use super::stages::Stage;
use ouzel_analyses::semantics::Category;
use ouzel_model::{CallPathId, CallPathTree};
use std::collections::BTreeMap;

/// Least share of the run that must even out to be reported.
const LEAST: f64 = 0.05;
/// Least factor between the imbalance of paths and that of the busy time.
const FACTOR: u64 = 5;

/// The remarks.
pub(super) fn tradeoffs(cx: &Context<'_>) -> Vec<Draft> {
    if !cx.are_ranks() {
        return Vec::new();
    }
    cx.stages.iter().filter(|stage| !cx.starts_mpi(stage)).filter_map(|stage| tradeoff(cx, stage)).collect()
}

fn tradeoff(cx: &Context<'_>, stage: &Stage) -> Option<Draft> {
    let mut paths: BTreeMap<CallPathId, u64> = BTreeMap::new();
    for (&(path, subset), times) in &stage.paths {
        // What one region lacks, the code around it has: that is no work of its own.
        let computes = path != CallPathTree::ROOT
            && cx.category(path, subset) == Category::Computation
            && !cx.is_inside_waiting(path);
        // Different work of different ranks is no imbalance of either.
        if computes && cx.by_peer(path, Times::Exclusive).iter().all(|&(_, ticks)| 0 < ticks) {
            *paths.entry(path).or_default() += stage.mean(times.exclusive_imbalance(stage.n_peers()));
        }
    }
    let (sum, together) = (paths.values().sum::<u64>(), stage.imbalance());
    let evened = sum.saturating_sub(together);
    if cx.share(evened) < LEAST || sum < together * FACTOR {
        return None;
    }
    let worst = greatest_first(&paths);
    let (&(first, _), &(second, _)) = (worst.first()?, worst.get(1)?);
    let (a, b) = (cx.name(first), cx.name(second));
    let values = worst.iter().take(4).map(|&(path, ticks)| Quantity::ns(&cx.name(path), cx.ns(ticks)));
    Some(Draft {
        title: format!("Imbalance in {a} and {b} evens out"),
        sentence: format!(
            "{a} and {b} are each imbalanced, but ranks that are slow in one are fast in the other, so that all come to \
             the next synchronisation together: {} of imbalance evens out. Balancing only one would cost time.",
            cx.time(evened)
        ),
        range: stage.range(),
        loss: evened,
        evidence: vec![Evidence::new(
            "imbalances of call paths, compared with that of all together",
            "Σ over phases of (max − mean) of exclusive time, and of busy time",
            values.chain([Quantity::ns("together", cx.ns(together))]).collect(),
        )],
        advice: format!("Leave it as it is, unless a synchronisation comes between {a} and {b}."),
        ..Draft::about(cx, FindingKind::BalancedElsewhere, first)
    })
}
