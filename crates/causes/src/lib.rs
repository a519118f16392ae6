//! Are there bottlenecks in a profile, where, and why.
//!
//! ```text
//! profile ──► process vectors ──clusters──► external bottlenecks ─┐
//!         └─► region means ────classes──► internal bottlenecks ───┴─ decision tables ──rough sets──► causes
//! ```
//!
//! The method is that of AutoAnalyzer; `docs/method.md` says where we differ. Law: the answer does not depend on
//! the order of locations or attributes in memory, nor on random numbers. Not here: reading formats, printing.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod classes;
pub mod clusters;
#[cfg(test)]
mod golden;
pub mod refine;
pub mod rough;
pub mod search;
pub mod vectors;
