//! Typed ids. Every id is an index into one table of [`Definitions`](crate::Definitions),
//! dense from zero in the order of definition; sparse ids of a format end in its adapter.

use serde::{Deserialize, Serialize};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(pub u32);

        impl $name {
            /// The place in its table.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// The id of the place `index`.
            ///
            /// # Panics
            /// If a table has more than 2^32 entries, which no reader builds.
            #[inline]
            pub fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).expect("a table has fewer than 2^32 entries"))
            }
        }
    )*};
}

ids! {
    /// A sequence of time-ordered events: a CPU thread, an accelerator stream, a metric source.
    LocationId;
    /// What owns locations: a process or an accelerator context.
    LocationGroupId;
    /// A node of the system tree: machine, node, socket, …
    SystemNodeId;
    /// A code region: function, loop, parallel construct.
    RegionId;
    /// A node of the call-path tree of one pass.
    CallPathId;
    /// A call path that samples name.
    ContextId;
    /// What interrupts a program to take samples.
    InterruptGeneratorId;
    /// A communicator.
    CommId;
    /// Memory that the members of a communicator access from outside.
    RmaWindowId;
    /// A group of ranks that events name.
    RankGroupId;
    /// A metric: one column of values with a unit.
    MetricId;
    /// A named value that a region was called with.
    ParameterId;
    /// A position in a communicator.
    CommRank;
    /// A position in the world communicator, the number users know a process by.
    WorldRank;
}

impl std::fmt::Display for WorldRank {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}
