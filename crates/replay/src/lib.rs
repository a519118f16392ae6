//! Logical replay: how long a run would take if some of its code, or its network, were faster.
//!
//! ```text
//! Edges (crate waits) ──Graph::new──► points of each location, in an order in which every cause comes before its effect
//! Graph ──second pass──► exclusive time of each call path in each piece
//! Graph + calls of MPI ──► the run without transfers: no second pass
//! Replay: pieces with changes ──► when each point would be reached, and the end of the run
//! ```
//!
//! Between two points a location works for itself: a *piece*, whose length is its own. At a *point* it posts what others
//! need, or needs what others post; then it goes on at `max(its own time, the latest post it needs)`. The rest of a call
//! after its wait (transfer, overhead) is part of the next piece.
//!
//! Laws: with unchanged pieces, a replay reproduces every recorded time; shorter pieces never make a run longer; both
//! hold by construction, as a dependency that the record did not meet is dropped and counted. A replay takes time
//! linear in points and dependencies. Memory is 48 bytes for each point, of which a message has two to four.
//!
//! Limits: what a program decides by time (receives from any source, `MPI_Waitany`, dynamic scheduling) stays as it was
//! recorded, and so do the lengths of transfers. Threads beside the main one, and accelerators, are not replayed.
//! See docs/method.md.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod build;
mod change;
mod edit;
mod entries;
mod error;
mod graph;
mod grouped;
mod ideal;
mod network;
mod order;
mod pieces;
mod replayed;
mod run;
#[cfg(test)]
mod tests;
mod what_if;

pub use change::{Change, Code};
pub use edit::{Edit, EditedCode};
pub use error::ChangeError;
pub use graph::{Dropped, Graph};
pub use network::Network;
pub use run::{RankSpans, Replay, SpanKind};
pub use what_if::{Gains, PathGain, Projection, RankProjection};
