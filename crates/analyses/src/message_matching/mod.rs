//! Which send and which receive are one message: the matching that every analysis of messages shares.
//!
//! ```text
//! records ──fold──► slots of a location, in the order of posting ──end──► Ends: columns, one queue after the other
//! Ends of all locations ──for_each_pair──► (send, receive), channel by channel; in buckets, what is Matched
//! ```
//!
//! A channel is a sender, a receiver, a communicator and a tag; a queue is one side of a channel at one location.
//! Messages of a channel do not overtake each other, so the nth send and the nth receive are one message, in the order
//! of posting: by the time at which the posting call was entered, then by location, then as recorded. A receive
//! is posted where its request was, and completes where it was received.
//!
//! When a location is complete, the ends of a queue are contiguous and sorted. So matching sorts only the few queues
//! and then walks over pairs of columns; the ends themselves are sorted only if threads share a rank. Law: pairs
//! depend on the ends alone, so any grouping of locations gives the same state, byte for byte. Memory is 48 bytes for
//! each end of the location that is being folded and 44 for each end of complete ones (45 with a selection); a pair
//! takes none. Analyses that match have [`Scope::Trace`](ouzel_engine::Scope::Trace): all ends take part, whatever is
//! selected. For what a pair means, see [`message_waits`](crate::message_waits), [`paired_operations`](crate::paired_operations) and
//! [`clock_repair`](crate::clock_repair); for messages that are only counted, see
//! [`communication_totals`](crate::communication_totals).

mod ends;
mod fold;
mod matched;
mod pairs;
#[cfg(test)]
mod tests;

pub use ends::{End, EndCall, LocationEnds, MatchedEnd, MessageEnds, Side};
pub use fold::{MatchingLocal, Observer, fold};
pub use pairs::{Pair, Unmatched, for_each_pair, report_unmatched};

pub(crate) use matched::Matched;
