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

            /// The need of an analysis that cannot answer without it; `None` if no need implies it.
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
    /// Teams, tasks, created threads and locks.
    Threads "events of threads and locks" Some(Needs::THREADS),
    /// Windows, accesses to the memory of other ranks, and their synchronisation.
    Rma "one-sided communication" Some(Needs::RMA),
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

    /// These kinds.
    pub fn of(contents: &[Content]) -> Contents {
        contents.iter().fold(Contents::NONE, |set, &content| Contents(set.0 | 1 << content as u16))
    }

    /// What an analysis with these needs cannot answer without, see [`Content::need`]: one of the kinds at least;
    /// calls, if the needs name none.
    pub fn of_needs(needs: Needs) -> Contents {
        let named = |content: &Content| content.need().is_some_and(|need| needs.contains(need));
        let named: Vec<Content> = Content::ALL.iter().copied().filter(named).collect();
        if named.is_empty() { Contents::of(&[Content::Calls]) } else { Contents::of(&named) }
    }

    /// Whether the sets have a kind in common.
    pub fn overlaps(self, other: Contents) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether there is no kind in the set.
    pub fn is_empty(self) -> bool {
        self == Contents::NONE
    }

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
        assert!(set.overlaps(other) && !Contents::NONE.overlaps(set) && Contents::NONE.is_empty());
    }

    #[test]
    fn needs_name_what_an_analysis_speaks_of() {
        let of = |needs| Contents::of_needs(needs).iter().collect::<Vec<_>>();
        assert_eq!(of(Needs::NOTHING), [Content::Calls]);
        assert_eq!(of(Needs::VISITS | Needs::CALL_PATHS), [Content::Calls]);
        assert_eq!(of(Needs::MESSAGES | Needs::CALL_PATHS), [Content::Messages]);
        assert_eq!(of(Needs::MESSAGES | Needs::COLLECTIVES), [Content::Messages, Content::Collectives]);
        assert_eq!(of(Needs::METRICS), [Content::Counters]);
    }
}
