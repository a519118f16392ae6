//! Where the time goes between one synchronisation of all peers and the next.
//!
//! ```text
//! peers     rank 0  ── compute ──┤Barrier├── compute ──┤Allreduce├── compute ──
//!           rank 1  ─ compute ─┤ Barrier ├─── compute ───┤Allred.├── compute ──
//! phases            │───────── 0 ────────│────────── 1 ──────────│──── 2 ──────
//! ```
//!
//! Calls that synchronise all peers (*anchors*) are made by all of them in the same order, so the n-th
//! anchor of each location is the same synchronisation. Anchors cut each location into phases: phase k
//! runs from the end of anchor k−1 to the end of anchor k; the last runs to the end. For each phase and
//! call path there is the sum and the extremes of the inclusive and of the exclusive time over the peers:
//! all that losses are computed from, exact and in one pass. A time range selects phases of the run and cuts the
//! first and the last: anchors are counted from the first event on.
//!
//! Laws: inclusive times of a path add up over phases to its time in the run; each phase holds exactly
//! the time between its anchors at each location. If peers differ in their anchors, only what they have
//! in common is used, and the result says so. For what is lost, see [`loss_tree`](crate::loss_tree).

mod anchors;
mod buckets;
mod by_peer;
mod cells;
mod contents;
mod cut;
pub mod epochs;
mod fold;
mod local;
mod noise;
mod output;
mod parts;
mod periods;
mod plan;
mod planned;
#[cfg(test)]
mod planned_tests;
mod planning;
mod sightings;
mod state;
mod stretches;
pub mod structure;
#[cfg(test)]
mod tests;

pub use anchors::AnchorRole;
pub use by_peer::{ByPeer, ProgramTimes};
pub use fold::{Phases, PhasesFold};
pub use noise::{Noise, Uncertainty};
pub use output::{
    AlignedBy, Alignment, Cell, Misalignment, Phase, PhaseAnchor, PhaseGroup, PhasesOutput, RecordedTimes,
    Stat,
};
pub use parts::{AnchorCounter, IterationParts, PartRules};
pub use periods::{SamplePeriod, SamplePeriods, SamplePeriodsOutput};
pub use plan::AnchorPlan;
pub use sightings::{AnchorSightings, AnchorSightingsFold, GroupSightings, SightingsOutput};
pub use state::{Aligned, CellState, EntryState, SequenceHash, Spread};
