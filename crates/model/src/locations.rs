//! Locations and the groups that own them.

use crate::{LocationGroupId, SystemNodeId, WorldRank};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A sequence of time-ordered events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// The name the tracer gave, e.g. `Master thread`.
    pub name: Arc<str>,
    /// What it represents.
    pub kind: LocationKind,
    /// What owns it.
    pub group: LocationGroupId,
    /// World rank of the process it belongs to; `None` where the trace knows no ranks.
    pub rank: Option<WorldRank>,
    /// Number of events that the definitions declare. Tracers get it wrong; it is never trusted.
    pub declared_events: Option<u64>,
    /// The id of this location in its format, as users see it in file names.
    pub native_id: u64,
}

/// What a location represents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum LocationKind {
    /// A thread of a process.
    CpuThread,
    /// A stream or queue of an accelerator.
    AcceleratorStream,
    /// A source of metric values; not a process, runs no code.
    Metric,
    /// Not specified.
    Unknown,
}

impl LocationKind {
    /// Whether regions are entered and left here, i.e. whether it counts as running.
    pub fn runs_code(self) -> bool {
        self != LocationKind::Metric
    }
}

/// What owns locations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocationGroup {
    /// The name the tracer gave, e.g. `MPI Rank 3`.
    pub name: Arc<str>,
    /// Process or accelerator context.
    pub kind: LocationGroupKind,
    /// Its place in the system tree.
    pub system_node: Option<SystemNodeId>,
    /// The process that made it, for an accelerator context.
    pub creator: Option<LocationGroupId>,
    /// The physical device of an accelerator context, by a name that no other device of the trace has; `None` if the
    /// trace does not tell.
    pub device: Option<Arc<str>>,
    /// World rank of the process, or of the process that made it.
    pub rank: Option<WorldRank>,
}

/// What kind of owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum LocationGroupKind {
    /// An operating-system process.
    Process,
    /// A context on an accelerator.
    Accelerator,
    /// Not specified.
    Unknown,
}
