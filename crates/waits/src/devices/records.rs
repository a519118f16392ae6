//! What is kept of accelerators: calls that launch and wait, and the operations of streams.
//!
//! Law: everything is in the order of the records of its location.

use super::calls::DeviceApi;
use ouzel_model::{CallPathId, DeviceStep, Remap, Ticks};
use serde::{Deserialize, Serialize};

/// The records of one location: of a thread, or of a stream.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DeviceRecords {
    /// Of a thread, by their enter.
    pub calls: Vec<HostCall>,
    /// What the thread did in calls that wait and call others, in order; no two overlap.
    pub inner: Vec<InnerRange>,
    /// Of a stream.
    pub operations: Vec<DeviceOperation>,
}

// What the documentation of the crate says of memory.
const _: () = assert!(size_of::<HostCall>() <= 64 && size_of::<DeviceOperation>() <= 40);

/// A call that launches, waits, or makes a stream wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HostCall {
    pub path: CallPathId,
    /// The code that took the longest since the last call that launched or waited.
    pub code: CallPathId,
    pub enter: Ticks,
    pub leave: Ticks,
    /// The link to what it launched; 0 for none.
    pub link: u64,
    /// What it is by its name; [`DeviceApi::Other`] if another call does the same for it.
    pub api: DeviceApi,
    pub step: Option<DeviceStep>,
}

/// A range of time in one call path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InnerRange {
    pub path: CallPathId,
    pub start: Ticks,
    pub end: Ticks,
}

/// A kernel or a copy on a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DeviceOperation {
    pub path: CallPathId,
    pub start: Ticks,
    pub end: Ticks,
    /// The link to the call that launched it; 0 for none.
    pub link: u64,
    pub is_kernel: bool,
}

impl DeviceRecords {
    pub fn remap(&mut self, remap: &Remap) {
        for call in &mut self.calls {
            (call.path, call.code) = (remap.path(call.path), remap.path(call.code));
        }
        self.inner.iter_mut().for_each(|it| it.path = remap.path(it.path));
        self.operations.iter_mut().for_each(|it| it.path = remap.path(it.path));
    }
}
