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
//! For what differences cost, see `ouzel_diagnose`. Their causes are not determined.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod align;
mod analysis;
mod assemble;
mod builder;
mod cluster;
pub mod control_flow;
mod diff;
mod flat_profile;
mod fold_short;
mod iterations;
mod merge;
mod node;
mod output;
pub mod partial;
mod piece;
mod prune;
mod recognise;
mod rows;
mod run_length;
pub mod sample_tree;
mod strip;
#[cfg(test)]
mod tests;

pub use align::{LookAhead, Order};
pub use analysis::{ContextTrees, ContextTreesFold, ContextTreesPartial, Local};
pub use cluster::{ClusterRule, Weighted, cluster};
pub use diff::{Differ, Dummies};
pub use merge::{Merger, Over};
pub use node::{Body, IterationCluster, LoopBody, LoopSource, Node, StaticId, Stats};
pub use output::{ContextTreesOutput, IterationRow, LocationCluster, LoopInstance, LoopSummary, TreeGroup};
pub use run_length::{Run, Runs};
pub use sample_tree::LcaQuality;
