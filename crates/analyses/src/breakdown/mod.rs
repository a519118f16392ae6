//! How much of the communication is hidden behind computation, process by process.
//!
//! ```text
//! events ──fold──► intervals by activity ──union over the locations of a process──► sweep ──► ActivityTimes
//! ```
//!
//! A process computes while any of its locations computes, and communicates while any communicates. With
//! `P` and `C` the unions of those intervals:
//! computation = `|P \ C|`, overlap = `|P ∩ C|`, communication = `|C \ P|`, other = span `− |P ∪ C|`, where the
//! span is from the first event to the last of the locations of the process. Two parts of the other time are
//! named: `transfer` (copies between host and device) and `unclassified` (unknown regions).
//!
//! What a location does is what its innermost call does, and whatever is called inside a communication call is
//! part of it. What a call does follows from the [`semantics`](crate::semantics) of its region and from
//! where it runs, see [`activity`]: a kernel computes unless it is a collective of a communication library. Host code
//! of a process that has accelerator streams launches and waits; [`HostCode`] decides whether it counts as
//! computation. A non-blocking operation communicates from its post to its completion if [`Requests::Included`]; one
//! that completes on another location than it was posted on is left out, with a notice.
//!
//! Posts and completions are matched over the whole location; then all intervals are cut to the time range.
//!
//! Laws: the four parts sum up to the span, and those of a partition of time to those of the whole; unions are
//! canonical, so the order of merging does not matter. Memory: a process of one location
//! keeps sums and the intervals since its oldest open request. A process of several keeps its
//! intervals, 16 bytes for each change of activity, until all of them are folded, then sums.
//! After Pipit's `comm_comp_breakdown` (Bhatele et al., SC 2023). Who waits for whom is not determined.

pub mod activity;
mod fold;
mod intervals;
mod output;
mod state;
#[cfg(test)]
mod tests;

pub use activity::{Activity, HostCode};
pub use fold::{Breakdown, BreakdownFold, Requests};
pub use intervals::Intervals;
pub use output::{BreakdownOutput, ProcessBreakdown};
pub use state::ActivityTimes;
