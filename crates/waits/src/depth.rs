//! How much is found out about waits.

use serde::{Deserialize, Serialize};

/// What is kept of the waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Depth {
    /// Those that are selected.
    Waits,
    /// Also what their causes are found from.
    Causes,
    /// Also who needs whom.
    Edges,
    /// All of it.
    CausesAndEdges,
}

impl Depth {
    /// Whether causes are found.
    pub fn has_causes(self) -> bool {
        matches!(self, Depth::Causes | Depth::CausesAndEdges)
    }

    /// Whether it is kept who needs whom.
    pub fn has_edges(self) -> bool {
        matches!(self, Depth::Edges | Depth::CausesAndEdges)
    }
}
