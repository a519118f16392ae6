//! What the analyses of a pass want to see.

use serde::{Deserialize, Serialize};

/// The kinds of events and the derived columns that the analyses of a pass want, united.
///
/// Law: a reader may skip the rest, and no result changes by it. Enter and leave are always read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Needs(u16);

impl Needs {
    /// Nothing but enter and leave.
    pub const NOTHING: Needs = Needs(0);
    /// Sends, receives and their requests.
    pub const MESSAGES: Needs = Needs(1);
    /// Ends of collective operations.
    pub const COLLECTIVES: Needs = Needs(2);
    /// Metric values.
    pub const METRICS: Needs = Needs(4);
    /// Parameters of calls.
    pub const PARAMETERS: Needs = Needs(8);
    /// A row for every other event, too.
    pub const OTHERS: Needs = Needs(16);
    /// The column of call paths.
    pub const CALL_PATHS: Needs = Needs(32);
    /// The list of visits that end in the chunk.
    pub const VISITS: Needs = Needs(64);
    /// Samples of the call path.
    pub const SAMPLES: Needs = Needs(128);
    /// Which event caused which, and what waits for streams: [`Link`](crate::Link), [`DeviceCall`](crate::DeviceCall).
    pub const LINKS: Needs = Needs(256);
    /// Input and output operations.
    pub const IO: Needs = Needs(512);
    /// Events of threads, tasks and locks.
    pub const THREADS: Needs = Needs(1024);
    /// Events of one-sided communication.
    pub const RMA: Needs = Needs(2048);
    /// Every event of the model.
    pub const ALL_EVENTS: Needs = Needs(1 | 2 | 4 | 8 | 16 | 128 | 256 | 512 | 1024 | 2048);

    /// Both.
    #[must_use]
    pub const fn union(self, other: Needs) -> Needs {
        Needs(self.0 | other.0)
    }

    /// Whether all of `other` is wanted.
    pub const fn contains(self, other: Needs) -> bool {
        self.0 & other.0 == other.0
    }
}

impl std::ops::BitOr for Needs {
    type Output = Needs;
    fn bitor(self, other: Needs) -> Needs {
        self.union(other)
    }
}
