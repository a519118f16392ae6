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
//! For what differences cost, see `loss_tree`. Their causes are not determined.

pub mod align;
mod analysis;
pub mod assemble;
pub mod builder;
pub mod cluster;
pub mod control_flow;
pub mod diff;
mod flat_profile;
mod fold_short;
pub mod iterations;
pub mod merge;
pub mod node;
pub mod output;
pub mod partial;
pub mod piece;
mod prune;
pub mod recognise;
pub mod rows;
pub mod run_length;
pub mod sample_tree;
pub mod strip;
#[cfg(test)]
mod tests;

pub use align::{LookAhead, Order};
pub use analysis::{ContextTrees, ContextTreesPartial, Local};
pub use cluster::{ClusterRule, Weighted, cluster};
pub use diff::{Differ, Dummies};
pub use merge::{Merger, Over};
pub use node::{Body, IterationCluster, LoopBody, LoopSource, Node, StaticId, Stats};
pub use output::{ContextTreesOutput, IterationRow, LocationCluster, LoopInstance, LoopSummary, TreeGroup};
pub use run_length::{Run, Runs};
pub use sample_tree::LcaQuality;
