//! Calls that set up the run: communicators that are made once.
//!
//! The first of them often make the connections between the ranks, so they take long, and neither wait for somebody who
//! computes nor can be hidden.

use super::context::{Context, Times};
use super::draft::{Draft, Saving};
use super::finding::{Evidence, Quantity};
use super::waiting::Waiting;
use ouzel_model::{CallPathId, mpi_function};

/// Calls that make a communicator, without prefix.
const MAKE_COMMUNICATORS: [&str; 10] = [
    "cart_create",
    "cart_sub",
    "comm_create",
    "comm_create_group",
    "comm_dup",
    "comm_split",
    "comm_split_type",
    "dist_graph_create",
    "dist_graph_create_adjacent",
    "graph_create",
];

/// Whether all the waiting is in calls that make communicators, each made once by a rank at most.
pub(super) fn makes_communicators_once(cx: &Context<'_>, waiting: &Waiting<'_>) -> bool {
    let makes_one = |path: CallPathId| {
        let region = cx.paths().region(path);
        let function = region.and_then(|region| mpi_function(&cx.definitions.region(region).name));
        function.is_some_and(|function| MAKE_COMMUNICATORS.contains(&function.as_str()))
    };
    let is_once = |path: CallPathId| cx.visits(path) <= cx.n_peers();
    cx.recorded.calls && waiting.paths.iter().all(|&(path, _)| makes_one(path) && is_once(path))
}

/// Set-up: nothing hides it, and a longer run has no more of it.
pub(super) fn cost(cx: &Context<'_>, waiting: &Waiting<'_>, draft: Draft) -> Draft {
    let place = cx.place(draft.path);
    let by_peer = cx.by_peer(draft.path, Times::Inclusive);
    let mean = by_peer.iter().map(|it| it.1).sum::<u64>() / cx.n_peers().max(1);
    let most = by_peer.iter().map(|it| it.1).max().unwrap_or(0);
    Draft {
        title: format!("Cost of {place}"),
        sentence: format!(
            "{place} makes a communicator, is called once, and takes {} ({} of the run) on average.",
            cx.time(mean),
            cx.percent(mean)
        ),
        saving: Saving::new("Avoiding this would save at most"),
        gain: waiting.ticks.min(most),
        assumption: "the calls can be avoided, and what they do for the first time takes no time elsewhere".to_owned(),
        evidence: vec![Evidence::new(
            "one call by each rank; how long ranks wait in it for others is not known",
            "inclusive time of the call by rank; the gain is at most that of the rank with most of it",
            vec![Quantity::ns("mean of ranks", cx.ns(mean)), Quantity::ns("longest", cx.ns(most))],
        )],
        advice: "It happens once, so it matters less in a longer run. The first such calls often make the connections \
                 between the ranks: check whether the time moves elsewhere without it."
            .to_owned(),
        ..draft
    }
}
