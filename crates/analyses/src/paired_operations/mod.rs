//! Sends, receives and collective operations one by one, each paired with its other side.
//!
//! ```text
//! events ──fold──► operations of each location, in order ──finish──► messages (send, receive)
//!                                                                    instances of collectives (members)
//! ```
//!
//! One pass serves every analysis of dependencies: see [`logical_lateness`](crate::logical_lateness) and
//! [`critical_path`](crate::critical_path). An operation begins when the call is entered that waits, sends or
//! synchronises, and ends when that call is left; one that is recorded in a region of any other meaning takes no time.
//! A send is an operation of the call that posts it, a receive of the call that completes it, a collective of the
//! call that ends it; that one arrives when it is posted. Messages are paired by
//! [`message_matching`](crate::message_matching). The n-th collective of each member on a communicator, in the order of
//! arrival, is one instance.
//!
//! Law: operations of a location are in the order of the records. Memory is 44 bytes for each message end and 32
//! bytes for each operation while locations are folded (24 more for a collective), and 40 more for each operation of
//! the output. Who waited for whom is not determined.

mod fold;
mod instances;
mod output;
mod state;
#[cfg(test)]
mod tests;

pub use fold::Operations;
pub use instances::{CollectiveMember, instances, n_members};
pub use output::{
    CollectiveInstance, LocationSpan, Message, Operation, OperationKind, OperationsOutput,
    is_synchronous_send,
};
pub use state::{CollectivePart, Rendezvous};

pub(crate) use instances::waits_for_all;
