//! The critical path: the chain of work and waiting that determines the run time.
//!
//! ```text
//! operations ──waits──► who waited for whom, until when ──walk──► segments, from the end back to the start
//! segments ──second pass (PathCalls)──► calls in the local ones ──profile──► by call path, region and activity, share of ranks
//! ```
//!
//! The walk starts at the main thread with the last event (ties: smallest rank). From (location, time) it looks for the
//! latest call that waited and was left by then:
//!
//! | waited for | if | segment on the path | goes on at |
//! |---|---|---|---|
//! | a message | the call that sends it was entered after the call that receives it | from the entry of the send to the leave of the receive | sender, entry of the send |
//! | a collective | the last one it waits for arrived after it | from that arrival to its own leave | the last to arrive, its arrival |
//! | the receive of a synchronous send | the receive was posted after the send was entered | from there to the leave of the send | receiver, the posting of the receive |
//!
//! and the time in between is a local segment. If nothing waited, the rest back to the start of the location is local;
//! a helper thread goes on at the main thread of its process. A call that completes several (`MPI_Waitall`) waited for
//! the one that was sent last, as completions are recorded once all are there. In a collective with a root that has
//! all data (broadcast, scatter) members wait for the root alone, in one that gives to a root (gather, reduce) only
//! the root waits, in a scan each waits for those before it; else all wait for all. A wait that ended before its cause
//! began is not followed but counted: clocks are wrong.
//!
//! The path is that of the whole run. A time range cuts it; of ranks, it keeps the segments in which they work or wait.
//!
//! Laws: segments tile the path without gap or overlap, from the start of a location to the end of the run, and never
//! go back in time; the parts of the path in the ranges of a partition of time add up to the whole. O(n log n) for n
//! operations. Memory is 48 bytes for each call that waited, in addition to that of
//! [`paired_operations`](crate::paired_operations); the second pass keeps what is on the path, not the whole trace.
//! After Pipit's `critical_path_analysis` (Bhatele et al., SC 2023), whose code takes the latest send of the sender
//! for the matched one. Not covered: edges between threads of a process; and what would change if a segment were
//! shorter.
//!
//! Waits of threads for accelerators, of streams for launches and events, and of devices for each other are given to it
//! from outside: the path goes from a thread to the stream that it waits for, and from an operation to its launch. Each
//! part of the path is bound by the host, the device, a launch or communication, see [`Bound`].

mod activity;
mod bounds;
mod calls;
mod in_mpi;
mod profile;
#[cfg(test)]
mod tests;
mod waits;
mod walk;

pub use activity::{Activity, PathTime, activities};
pub use bounds::{Bound, PathBounds};
pub use calls::{PathCalls, PathCallsOutput, SegmentShare};
pub use in_mpi::{CallsOfMpi, RangesInMpi};
pub use profile::{PathProfile, PathRow, RegionTime, profile};
pub use waits::{DeviceWaitKind, SegmentKind, WaitOfDevices, WaitsOfDevices};
pub use walk::{CriticalPathOutput, Segment, critical_path};
