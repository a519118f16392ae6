//! How much is found out about waits.

use serde::{Deserialize, Serialize};

/// What is kept of the waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Depth {
    /// Those that are selected.
    Waits,
    /// Also what their causes are found from.
    Causes,
    /// Only who needs whom, not the waits.
    Edges,
    /// Waits, their causes and who needs whom.
    CausesAndEdges,
}

impl Depth {
    /// Whether waits are kept.
    pub fn has_waits(self) -> bool {
        self != Depth::Edges
    }

    /// Whether causes are found.
    pub fn has_causes(self) -> bool {
        matches!(self, Depth::Causes | Depth::CausesAndEdges)
    }

    /// Whether it is kept who needs whom.
    pub fn has_edges(self) -> bool {
        matches!(self, Depth::Edges | Depth::CausesAndEdges)
    }
}
