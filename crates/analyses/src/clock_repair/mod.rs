//! Clocks that disagree: how often messages arrive before they are sent, and a correction after which none does.
//!
//! ```text
//! records ──fold──► sync points of each location ──finish──► dependencies ─► lines ─► jumps ─► ClockRepair
//! ```
//!
//! A sync point is a record of a message, a request, or the begin or end of a collective. A receive depends on its
//! send; the end of a collective on the begin of every member where all wait for all (barrier, allreduce, allgather,
//! alltoall), of the root (broadcast, scatter), or, at the root, of every member (reduce, gather); that of a scan on
//! the rank before. A record before what it depends on is a violation. Then, in this order:
//! 1. Lines (`lines`): each process gets an offset that is linear in time, from what the messages of pairs of
//!    processes allow (F. Cristian, Distributed Computing 3, 1989; A. Duda et al., ICDCS 1987). Pairs without a
//!    violation keep their clocks.
//! 2. Jumps (`logical`): where a record still comes before what it depends on, it is put there, and the location
//!    goes on from there 1/128 slower until it is back on its line: the forward part of the controlled logical clock
//!    (R. Rabenseifner, PDP 1997), with a latency of zero.
//!
//! Laws: afterwards nothing comes before what it depends on; the order within a location stays; a trace without a
//! violation has no correction. Memory is 8 bytes for each sync point, 64 for each message end and 32 for each
//! collective while locations are folded, and 56 more for each message in `finish`. Not covered: threads of a process
//! that depend on each other, and collectives whose begin is not recorded.

mod fold;
mod line;
mod lines;
mod logical;
mod output;
mod points;
#[cfg(test)]
mod tests;

pub use fold::ClockRepairs;
pub use line::{Jump, OffsetLine};
pub use output::{ClockRepair, Correction, Corrector};
