//! Kinds of data that traces and profiles hold, as users ask for them.

use crate::Needs;

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
