//! The finding that collectives on threads of the CPU run while no thread of their process computes.
//!
//! Libraries such as Gloo run collectives on helper threads, so that others compute meanwhile. What they do not hide is
//! `exposed = |C \\ P|` of each process, see `ouzel_analyses::breakdown`. If collectives took no time beyond what
//! computation hides, no process would be shorter than its span without its exposed time:
//! `gain = run time − max over processes of (span − exposed)`, at most.

use super::context::{Context, greatest_first};
use super::draft::{Draft, Saving};
use super::finding::{Confidence, Evidence, FindingKind, Quantity};
use super::words::capitalised;
use ouzel_analyses::breakdown::{BreakdownOutput, ProcessBreakdown};
use ouzel_analyses::semantics::{Category, Family};
use ouzel_model::{CallPathId, CallPathTree, LocationId};
use std::collections::{BTreeMap, BTreeSet};

/// What is usually done.
const HIDE: &str =
    "Start communication as soon as its data are there, in pieces; send less, or over a faster library.";

/// The finding, if there are such collectives.
pub(super) fn exposed(cx: &Context<'_>, breakdown: &BreakdownOutput) -> Option<Draft> {
    let rest = |row: &ProcessBreakdown| row.span.since(row.times.communication).0;
    let gain = cx.run().saturating_sub(breakdown.rows.iter().map(rest).max()?);
    let n = breakdown.rows.len() as u64;
    let mean = |ticks: &dyn Fn(&ProcessBreakdown) -> u64| {
        (breakdown.rows.iter().map(|row| u128::from(ticks(row))).sum::<u128>() / u128::from(n)) as u64
    };
    let exposed = mean(&|row| row.times.communication.0);
    let hidden = mean(&|row| row.times.overlap.0);
    let computes = mean(&|row| row.times.computation.0.saturating_add(row.times.overlap.0));
    let Collectives { path, n_visits, locations, are_helpers } = collectives(cx)?;
    let (name, ranks) = (cx.name(path), cx.ranks(locations));
    let who = cx.in_words(&ranks);
    let threads = if are_helpers { "helper threads" } else { "threads" };
    Some(Draft {
        title: format!("Communication in {name} is not hidden"),
        sentence: format!(
            "{}, collectives such as {name} are under way on {threads} in {} of the run, in {} of it while no thread \
             of the process computes.",
            capitalised(&format!("on {who}")),
            cx.percent(exposed + hidden),
            cx.percent(exposed),
        ),
        saving: Saving::new("Hiding all of it behind computation would save at most"),
        ranks,
        gain,
        loss: gain,
        assumption: "collectives take no time but what computation hides".to_owned(),
        confidence: (
            Confidence::Possible,
            "whether there is computation that can run meanwhile is not recorded".to_owned(),
        ),
        evidence: vec![Evidence::new(
            "computation and communication overlap on the threads of a process",
            "means over processes; exposed: a thread communicates and none computes; gain = run time − max over \
             processes of (time from first to last event − exposed)",
            vec![
                Quantity::ns("communication", cx.ns(exposed + hidden)),
                Quantity::ns("exposed", cx.ns(exposed)),
                Quantity::ns("recorded computation", cx.ns(computes)),
                Quantity::count("collectives", n_visits),
            ],
        )],
        advice: advice(cx),
        ..Draft::about(cx, FindingKind::ExposedCommunication, path)
    })
}

/// The collectives of all threads.
struct Collectives {
    /// The call path with most time.
    path: CallPathId,
    n_visits: u64,
    locations: BTreeSet<LocationId>,
    /// Whether only helper threads run them.
    are_helpers: bool,
}

fn collectives(cx: &Context<'_>) -> Option<Collectives> {
    let is_collective = |path: CallPathId| {
        let class = cx.class(path);
        class.is_some_and(|it| it.family == Family::Nccl && it.category != Category::Computation)
    };
    let mut sums: BTreeMap<CallPathId, u64> = BTreeMap::new();
    let mut locations = BTreeSet::new();
    let mut n_visits = 0;
    for location in &cx.profile.locations {
        for row in location.rows.iter().filter(|row| is_collective(row.call_path)) {
            *sums.entry(row.call_path).or_default() += row.times.exclusive.0;
            n_visits += row.times.visits;
            locations.insert(location.location);
        }
    }
    let (path, _) = *greatest_first(&sums).first().filter(|(path, _)| *path != CallPathTree::ROOT)?;
    let are_helpers = locations.iter().all(|location| !cx.group.locations.contains(location));
    Some(Collectives { path, n_visits, locations, are_helpers })
}

/// What to do, and what it takes to know who comes late.
fn advice(cx: &Context<'_>) -> String {
    let alone = "Part of the time in collectives may be waiting for ranks that come late: traces of several ranks show that.";
    if cx.recorded.several_processes() { HIDE.to_owned() } else { format!("{HIDE} {alone}") }
}
