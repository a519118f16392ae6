//! Which message made whom wait: late senders and late receivers.
//!
//! Every end of a message is kept until the pass is over; then the sends and the
//! receives of a channel (sender, receiver, communicator, tag) are paired in the order
//! of posting, since messages of a channel do not overtake each other. A receive is
//! posted where its request was, and completes where it was received. Ends of several
//! threads of a process share its rank and are ordered by time, then by location.
//!
//! Waiting is counted once for each visit of a call: a `MPI_Waitall` that completes many
//! messages waits for the latest of them. Law: pairs depend on the ends alone, so any
//! grouping of locations gives the same partial, byte for byte. Memory is 48 bytes and a
//! few for each end. Not here: why the other side was late.

mod fold;
mod output;
mod pairing;
mod state;
#[cfg(test)]
mod tests;
mod waits;

pub use fold::LateMessages;
pub use output::{LateMessagesOutput, LateRow, PairWait, RankWait, SendRow};
pub use state::{LateMessagesPartial, Local};
pub use waits::LateKind;

pub(crate) use pairing::{Pair, Pairing, pairing};
pub(crate) use state::{Call, End, OpenEnd};
