//! Root causes of waiting: which earlier code of which rank makes others wait, near and far.
//!
//! ```text
//! waits ──Dependencies──► intervals of waiter and culprit since their last common point
//!       ──second pass (PathCalls)──► time of each call path in the pieces of these intervals
//!       ──sweep, backward──► short-term and long-term costs, and what stays unexplained
//! ```
//!
//! Waiter and culprit were last together at a common point; since then the culprit has done more. What it did longer in
//! a call path than the waiter is the delay of the path. The wait is divided among these delays (short-term costs) and
//! the waits of the culprit in the interval, which pass it on to their own culprits (long-term costs). After D. Böhme et
//! al., *Identifying the root causes of wait states in large-scale parallel applications* (2016).
//!
//! The sweep also tells how waits for messages are divided ([`WaitParts`]), and from wait to wait the chains that begin at
//! the costliest delays ([`WaitChain`]).
//!
//! Law: Σ short-term + Σ long-term + Σ unexplained = Σ waits, in ticks, of each class. All values are integers and do
//! not depend on the grouping of locations. Memory is that of the waits, and of the call paths in each piece, which is
//! bounded: what does not fit is divided by rate, see [`Dependencies::accepts`].

mod caused;
mod chain;
mod chains;
mod dependencies;
mod intervals;
mod output;
mod parts;
mod pieces;
mod second_pass;
mod share;
mod sweep;
#[cfg(test)]
mod tests;

pub(crate) use caused::{CausedWait, GroupPoint};
pub use chain::{ChainDelay, ChainWait, WaitChain};
pub use dependencies::Dependencies;
pub use output::{DelayRow, DelaysOutput, UnexplainedRow};
pub use parts::WaitParts;
pub(crate) use share::shares;
