//! Messages and bytes, and sums of them by key.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Messages and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Number of messages.
    pub messages: u64,
    /// Bytes. Sums stop at the greatest number, which only corrupt lengths reach.
    pub bytes: u64,
}

impl Traffic {
    /// Adds other messages.
    pub fn add(&mut self, other: Traffic) {
        self.messages = self.messages.saturating_add(other.messages);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }

    /// One message.
    #[inline]
    pub fn one(bytes: u64) -> Self {
        Traffic { messages: 1, bytes }
    }
}

/// Adds every entry of `from`.
pub(super) fn add_all<K: Ord>(into: &mut BTreeMap<K, Traffic>, from: impl IntoIterator<Item = (K, Traffic)>) {
    for (key, traffic) in from {
        into.entry(key).or_default().add(traffic);
    }
}
