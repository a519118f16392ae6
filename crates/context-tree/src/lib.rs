//! Temporal context trees: what a location did, in order, and which locations and iterations are alike.
//!
//! ```text
//! events, or samples ──► tree per location ──► clusters of locations, each with an averaged tree
//!              loops: clusters of iterations
//! ```
//!
//! Trees are compared by the time that must be added or removed to make them equal, and
//! clustered from the inside out: inner loops, outer loops, locations.
//! Law: results depend on the events alone, not on threads or order of folding.
//! For what differences cost, see the crate `ouzel-diagnose`. Their causes are not determined.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod align;
mod alike;
mod alike_locations;
mod analysis;
mod assemble;
mod builder;
mod cluster;
mod control_flow;
mod diff;
mod flat_profile;
mod fold_short;
mod iterations;
mod merge;
mod merger;
mod node;
mod output;
mod pairs;
mod parked;
mod partial;
mod piece;
mod prune;
mod recognise;
mod rows;
mod run_length;
mod sample_tree;
mod strip;
mod strip_diff;
#[cfg(test)]
mod tests;

pub use analysis::{ContextTrees, ContextTreesFold};
pub use assemble::IterationClustering;
pub use node::{LoopSource, StaticId};
pub use output::{ContextTreesOutput, IterationRow, LocationCluster, LoopInstance, LoopSummary, TreeGroup};
