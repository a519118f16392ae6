//! What calls of an accelerator's runtime do to streams, where a trace records it.
//!
//! Which call launched which operation is a [`Link`](crate::Link); here is the rest: for what the host waits, and which
//! stream waits for which. Law: an event is known by its last record before it is waited for, over all threads.

use crate::{LocationGroupId, LocationId};
use serde::{Deserialize, Serialize};

/// A call that waits for streams, or makes one wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceCall {
    /// Row of the enter of the call. At most one shares a row.
    pub row: u32,
    /// What it does.
    pub step: DeviceStep,
}

/// What a call does to streams. Events have numbers that are unique in the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum DeviceStep {
    /// The host waits until all is done that was launched into a stream.
    AwaitStream(LocationId),
    /// The host waits until all is done that was launched into the streams of an accelerator context.
    AwaitDevice(LocationGroupId),
    /// The host waits until an event has occurred.
    AwaitEvent(u64),
    /// An event occurs once all is done that was launched into a stream before.
    RecordEvent {
        /// The event.
        event: u64,
        /// The stream.
        stream: LocationId,
    },
    /// What is launched into a stream from now on waits for an event.
    StreamAwaitsEvent {
        /// The stream that waits.
        stream: LocationId,
        /// The event.
        event: u64,
    },
}

impl DeviceStep {
    /// A stream that no operation was launched into, which is no location.
    pub const NO_STREAM: LocationId = LocationId(u32::MAX);
}
