//! The run time on an ideal network.

use crate::change::{Change, Changing, Network};
use crate::graph::Graph;
use crate::pieces::Pieces;
use ouzel_model::Ticks;

/// How long the run would take if calls of MPI took no time but waiting: every location keeps its own work, and all
/// that it needs of others.
pub fn ideal_run_time(graph: &Graph, pieces: &Pieces) -> Ticks {
    let change = Change::Network(Network::Ideal);
    let mut changing = Changing::new(graph, pieces);
    match changing.make(&change) {
        Ok(()) => graph.replay(&changing.lengths()).run_time(),
        // A network has no name that could be unknown.
        Err(_) => Ticks(graph.run().end.0 - graph.run().start.0),
    }
}
