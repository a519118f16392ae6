//! Waiting in messages: which calls waited because a sender or a receiver was late, and for how long.
//!
//! Every end of a message is kept until the pass is over; then sends and receives are
//! paired, see [`message_matching`](crate::message_matching).
//!
//! Waiting is counted once for each visit of a call: an `MPI_Waitall` that completes many
//! messages waits for the latest of them. Memory is that of
//! the ends and 80 bytes for each wait. Why the other side was late is not determined.

mod fold;
mod output;
mod settled;
#[cfg(test)]
mod tests;
mod waits;

pub use fold::LateMessages;
pub use output::{LateMessagesOutput, LateRow, PairWait, RankWait, SendRow};
pub use waits::LateKind;
