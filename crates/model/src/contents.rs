//! Kinds of data that traces and profiles hold, as users ask for them.

use crate::Needs;
use serde::{Deserialize, Serialize};

macro_rules! contents {
    ($($(#[$doc:meta])* $variant:ident $text:literal $needs:expr,)*) => {
        /// A kind of data that analyses work on.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Content { $($(#[$doc])* $variant,)* }

        impl Content {
            /// Every kind, in the order of tables.
            pub const ALL: &[Content] = &[$(Content::$variant,)*];

            /// The plural, for tables and sentences.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// The need of an analysis that cannot answer without it; `None` if no need says so.
            pub fn need(self) -> Option<Needs> {
                match self { $(Self::$variant => $needs,)* }
            }
        }
    };
}

contents! {
    /// Enters and leaves of regions.
    Calls "calls" None,
    /// Samples of the call path.
    Samples "call-path samples" Some(Needs::SAMPLES),
    /// Point-to-point messages.
    Messages "messages" Some(Needs::MESSAGES),
    /// Collective operations with their sizes.
    Collectives "collectives" Some(Needs::COLLECTIVES),
    /// Hardware and other counters over time.
    Counters "counters" Some(Needs::METRICS),
    /// Locations that are streams of accelerators.
    AcceleratorStreams "accelerator streams" None,
    /// Which call launched which accelerator operation, and flows.
    Links "links" Some(Needs::LINKS),
    /// Cartesian topologies.
    Topologies "topologies" None,
    /// Severities: metric × call path × location.
    Severities "severities" None,
}

/// A set of kinds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contents(u16);

impl Contents {
    /// No kind.
    pub const NONE: Contents = Contents(0);

    /// Adds a kind.
    pub fn insert(&mut self, content: Content) {
        self.0 |= 1 << content as u16;
    }

    /// Whether a kind is in the set.
    pub fn contains(self, content: Content) -> bool {
        self.0 & (1 << content as u16) != 0
    }

    /// The kinds in the set, in the order of tables.
    pub fn iter(self) -> impl Iterator<Item = Content> {
        Content::ALL.iter().copied().filter(move |&content| self.contains(content))
    }
}

impl std::ops::BitOrAssign for Contents {
    fn bitor_assign(&mut self, other: Contents) {
        self.0 |= other.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_holds_what_was_put_in() {
        let mut set = Contents::NONE;
        set.insert(Content::Severities);
        set.insert(Content::Calls);
        assert!(set.iter().eq([Content::Calls, Content::Severities]));
        let mut other = Contents::NONE;
        other.insert(Content::Links);
        set |= other;
        assert!(Content::ALL.iter().all(|&content| set.contains(content)
            == matches!(content, Content::Calls | Content::Links | Content::Severities)));
        assert_eq!(Contents::NONE.iter().count(), 0);
    }
}
