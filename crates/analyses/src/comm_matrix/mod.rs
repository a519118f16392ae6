//! Who sends how much to whom: messages and bytes by sender and receiver, and totals by process.
//!
//! ```text
//! sends ──add_sends──► traffic by (communicator, peer) ──end──► traffic by (rank, rank) ──finish──► cells, sorted
//! ```
//!
//! Only pairs that talk are kept, so memory grows with them, not with the square of the number of ranks and not with
//! the number of messages. Rows and columns are the world ranks of the run in ascending order, whichever are
//! selected; messages of a rank to itself are kept. What a rank sent comes from its sends, what it received from its
//! receives: a message that was lost shows as a difference.
//!
//! Collectives have no recorded pairs. On request each rank's recorded bytes `S` are spread over the `D` ranks that
//! the operation sends to, `⌊S / D⌋` each and one more to the first `S mod D` of them, so that rows sum up to what
//! was recorded; each of the `D` counts one message for each operation:
//!
//! | operation | sender | receivers |
//! |---|---|---|
//! | bcast, scatter, scatterv | the root | all members |
//! | gather, gatherv, reduce | every member | the root |
//! | allgather(v), alltoall(v, w), allreduce, reduce_scatter(_block) | every member | all members |
//! | scan | rank `i` | ranks `i` and above |
//! | exscan | rank `i` | ranks above `i` |
//! | barrier, operations on handles, unknown ones | | none: counted as not expanded if they have bytes |
//!
//! All members includes the sender, as tracers record buffers of that size. In an inter-communicator the receivers
//! are of the other group. The matrix shows what is exchanged, not which algorithm of the library moves it.
//! After Pipit's `comm_matrix` and `comm_by_process` (Bhatele et al., SC 2023). Not covered: remote memory access and
//! device-to-device copies, which have no message events; and which send belongs to which receive.

mod collectives;
mod fold;
mod output;
mod state;
#[cfg(test)]
pub(crate) mod tests;
mod traffic;

pub use fold::{CommMatrix, Expansion};
pub use output::{CommMatrixOutput, MatrixCell, PairTraffic, ProcessTraffic, TooManyRanks, TrafficUnit};
pub use traffic::Traffic;
