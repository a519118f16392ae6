//! Lateness by logical step: how long after the first of its peers each operation ends.
//!
//! ```text
//! operations ──order──► logical step of each ──► leave − earliest leave of the step ──► by rank: greatest, sum
//! ```
//!
//! Steps count what must happen before. The first operation of a location has step 0; every other is one step after
//! the one before it, and a receive also after its send; members of a collective share the greatest of their steps.
//! So a collective of all processes brings all of them to the same step again.
//!
//! * lateness = leave − min(leave over all operations of the step), of all ranks;
//! * differential lateness = max(0, lateness − max(lateness of what comes directly before: the operation before it
//!   on the location, and for a receive its send)): what was added here.
//!
//! Steps, and the earliest leave of each, are those of the whole run; a selection chooses rows, by the time stamp of
//! the record. So rows of a partition of time, or of ranks, are those of the whole.
//!
//! After K. Isaacs et al., *Ordering traces logically to identify lateness in message passing programs* (2016), without
//! their partitions: the steps are Lamport's, which differ from theirs if processes do different numbers of
//! operations between collectives. Laws: in each step some rank has lateness 0; steps do not depend on clocks. Time and
//! memory grow with the number of operations: 8 bytes each, and 8 for each step, in addition to those of
//! [`paired_operations`](crate::paired_operations); rows are made on request.
//! For who caused it, see `critical_path` and `message_waits`.

mod order;
mod output;
#[cfg(test)]
mod tests;

pub use order::{Cycle, steps};
pub use output::{LateOperation, LatenessOutput, RankLateness, lateness};
