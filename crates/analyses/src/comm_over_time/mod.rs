//! How much was sent and received when: messages and bytes in bins of time.
//!
//! A send counts at the time of its record (for a non-blocking one: when it was posted), a receive when it
//! was complete. An instant on an edge is in the later bin, the end of the range in the last one. The bins are
//! fixed before the pass, see [`time_grid`](crate::time_grid). Law: sums over bins of a grid that covers the run are
//! those of [`comm_matrix`](crate::comm_matrix) over its cells. Memory: 32 bytes for each bin.
//! After Pipit's `comm_over_time` (Bhatele et al., SC 2023). The time messages were in flight is not counted.

mod fold;
mod output;
mod state;
#[cfg(test)]
mod tests;

pub use fold::CommOverTime;
pub use output::CommOverTimeOutput;
pub use state::BinTraffic;
