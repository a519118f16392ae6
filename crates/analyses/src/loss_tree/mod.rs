//! What is lost where: imbalance and waiting by call path, segments, and the run time without them.
//!
//! ```text
//! phases ──structure──► slots ──cells──► nodes of call paths, each with its loss ──significant──► segments
//!                                                                                   └─projection─► run time
//! ```
//!
//! Imbalance and waiting of a call path follow from the durations of all peers and from what the path is
//! for ([`loss`](crate::imbalance::loss)). Sums over what is below a path tell where a loss comes from.
//! A *segment* is what leads up to one synchronisation of all peers; in a loop it is the same place in
//! every iteration, and losses add up over the iterations. After Wei and Mellor-Crummey, *Automated
//! analysis of time series data to understand parallel program behaviors* (ICS 2018), §4.3.
//!
//! Laws: losses are exact fractions; comparisons with thresholds are strict; a path is significant, or
//! something below it, never both for one kind of loss. What to do about a loss is not covered.

mod band;
mod diagnosis;
#[cfg(test)]
mod golden_tests;
mod node;
mod segments;
#[cfg(test)]
mod segments_tests;
mod slot;
mod thresholds;

pub use band::Band;
pub use diagnosis::{Diagnosis, diagnosis, projected};
pub use node::{LossNode, significant, sums};
pub use segments::{PathLoss, PhaseLoss, Segment, Segments, segments};
pub use thresholds::{SelfTime, Significance, Thresholds};
