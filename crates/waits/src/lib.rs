//! Wait states: which calls wait for another rank, of which kind, for how long, and for whom.
//!
//! ```text
//! events ──fold──► Records of each location: message ends, collectives, calls without a record
//!        ──finish──► messages and instances over the whole run ──► waits, at most one for each visit ──► rows
//! ```
//!
//! A wait is a range of time in one visit of a call. Its class says what was waited for, see [`WaitClass`]; its culprit
//! is the call that came late. Messages are paired by [`message_matching`](ouzel_analyses::message_matching), members of
//! collectives by [`paired_operations`](ouzel_analyses::paired_operations): both over the whole run, whatever is
//! selected. A selection then clips waits to the time range and keeps those of selected locations.
//!
//! Laws: waits lie within their visits, and of the classes that count no two are of one visit; all values are integers
//! and do not depend on the grouping of locations; the waits of adjacent time ranges add up. Memory is 44 bytes for
//! each message end with 12 more for the order of the records, and 64 for each collective of a location; with several
//! threads in a process, at most 80 for each acquisition of a lock, 56 for each barrier or join of a thread, and 120 for each
//! thread of a parallel region; and at most 80 for each record of one-sided communication.
//!
//! Threads of a process wait for each other at locks and barriers, see `threads`; what many of them wait for no single
//! call is added up in [`WaitSum`].
//!
//! One-sided communication waits at fences, for epochs of groups, and for locks, see `rma`.
//!
//! Threads wait for the accelerators of their process, streams for each other, and devices in collectives, see `devices`:
//! at most 64 bytes for each call that launches or waits, and 40 for each operation of a stream.
//!
//! The formulas follow Scalasca's wait states (F. Wolf and B. Mohr, 2003) where the module does not say otherwise.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod accelerators;
mod calls;
mod class;
mod collectives;
mod delays;
mod depth;
mod device_collectives;
mod devices;
pub mod edges;
mod fold;
mod impact;
mod kept;
mod messages;
mod neighbours;
mod order;
mod output;
mod processes;
mod records;
mod rma;
mod rma_records;
mod rows;
#[cfg(test)]
mod tests;
mod threads;
mod wait;

pub use class::{Certainty, ClassRole, WaitClass};
pub use delays::{
    ChainDelay, ChainWait, DelayRow, DelaysOutput, Dependencies, UnexplainedRow, WaitChain, WaitParts,
};
pub use fold::Waits;
pub use impact::{ImpactRow, PathImpact};
pub use kept::{KeptRecords, WaitRecords};
pub use messages::ClockViolations;
pub use output::{ClassSum, WaitsOutput};
pub use rows::{RowCulprit, WaitRow, WaitRows, WaitsPer};
pub use wait::{Culprit, Wait, WaitSum};
