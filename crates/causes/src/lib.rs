//! Are there bottlenecks in a profile, where, and why.
//!
//! ```text
//! profile ──► process vectors ──clusters──► external bottlenecks ─┐
//!         └─► region means ────classes──► internal bottlenecks ───┴─ decision tables ──rough sets──► causes
//! ```
//!
//! The method is that of AutoAnalyzer; `docs/method.md` lists the differences. Law: the answer does not depend on the
//! order of locations or attributes in memory, nor on random numbers. Formats and printing are handled elsewhere.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod advice;
mod analysis;
pub mod attributes;
pub mod classes;
pub mod clusters;
mod column;
mod error;
mod external;
mod fold;
#[cfg(test)]
mod golden;
mod input;
mod internal;
mod names;
mod output;
mod processes;
pub mod refine;
mod regions;
pub mod rough;
pub mod search;
mod table;
#[cfg(test)]
mod tests;
mod threads;
mod time;
pub mod vectors;

pub use analysis::{Options, causes};
pub use error::CausesError;
pub use names::seconds;
pub use output::{
    AttributeCard, BetweenProcesses, Causes, Classified, Cluster, Critical, ExplanationCard, External,
    ExternalCause, InRegion, Internal, InternalCause, ProcessesCard, RegionName, RegionsCard, RowCard,
    TableCard, Tables, TimeCard,
};
pub use processes::Unit;
pub use time::{TimeKind, run_time_metric};
