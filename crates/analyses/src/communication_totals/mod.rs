//! Totals of communication: how much was sent and received, from where in the code, and what has no other side.
//!
//! Totals are kept per location and call path. Each channel — sender, receiver,
//! communicator, tag — keeps its sends less its receives; a channel in balance is
//! dropped, so memory grows with what is open. Law: differences are integers, so they
//! add up the same in any grouping. Sends are not matched with receives.

mod fold;
mod output;
mod state;
#[cfg(test)]
mod tests;

pub use fold::Communication;
pub use fold::peer_rank;
pub(crate) use fold::{LEAST_NULL_PEER, groups};
pub use output::{CommunicationOutput, CommunicationRow, LocationCommunication, UnmatchedChannel};
pub use state::{Channel, CollectiveTotals, MessageTotals, PathCollectives, PathMessages};
