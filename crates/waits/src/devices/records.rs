//! What is kept of accelerators: calls that launch and wait, and the operations of streams.
//!
//! Law: everything is in the order of the records of its location.

use super::calls::DeviceApi;
use ouzel_model::{CallPathId, CollectiveOp, CommId, DeviceStep, LaunchShape, Remap, Ticks};
use serde::{Deserialize, Serialize};

/// The records of one location: of a thread, or of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DeviceRecords {
    /// Of a thread, by their enter.
    pub calls: Vec<HostCall>,
    /// What the thread did in calls that wait and call others, in order; no two overlap.
    pub inner: Vec<InnerRange>,
    /// Of a thread whose calls are made of samples.
    pub code: SampledCode,
    /// Of a stream.
    pub operations: Vec<DeviceOperation>,
    /// What else is known of operations and of the host, if it is asked for.
    pub details: DeviceDetails,
}

/// What a thread does, where samples show it and its launches are not recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SampledCode {
    /// Median interval between samples; 0 where calls or launches are recorded.
    pub period: Ticks,
    /// In order, without overlap; empty if they are not asked for.
    pub ranges: Vec<InnerRange>,
}

/// What only some questions need.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DeviceDetails {
    /// Of a stream: numbers of operations and the values of parameters that they were made with, in order.
    pub values: Vec<(u32, OperationValue, u64)>,
    /// Of a stream: operations that are collectives, in order.
    pub collectives: Vec<StreamCollective>,
    /// Of a stream: how its kernels were launched, each shape once.
    pub shapes: Vec<LaunchShape>,
    /// Of a stream: numbers of operations and of their shapes, in order.
    pub shape_of: Vec<(u32, u32)>,
    /// Of a thread: what an allocator had after it gave or took memory, in order.
    pub memory: Vec<MemoryChange>,
    /// Of a thread: when it communicated or started something up, outermost calls only, in order.
    pub states: Vec<(HostState, Ticks, Ticks)>,
    /// Of a thread: numbers of calls, and the code that took the longest before each, longest first.
    pub codes: Vec<(u32, CallPathId, Ticks)>,
}

/// A value that an operation was made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum OperationValue {
    /// Bytes of a copy or fill.
    Bytes,
    /// Whether the memory of the host that a copy has is pageable: 1, or pinned: 0.
    Pageable,
}

/// An allocator gave or took memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MemoryChange {
    pub path: CallPathId,
    pub at: Ticks,
    /// Which memory: an index into the pools of the question.
    pub pool: u32,
    /// What it has given, afterwards.
    pub allocated: u64,
    /// What it holds of the device, afterwards.
    pub reserved: Option<u64>,
    /// What it gave, or took if less than zero.
    pub change: Option<i64>,
}

/// What a host does, as far as it explains why a device has nothing to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum HostState {
    /// In a call of MPI or another library that waits for other ranks.
    Communicates,
    /// In a call that makes contexts, loads modules, or compiles.
    StartsUp,
}

/// An operation that is a collective of several devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StreamCollective {
    /// Which operation of the stream.
    pub nth: u32,
    pub op: CollectiveOp,
    pub comm: CommId,
    pub bytes_sent: u64,
    pub bytes_received: u64,
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
    /// Gives back what the lists have grown too long: they are kept until all processes are read.
    pub fn fit(&mut self) {
        self.calls.shrink_to_fit();
        self.inner.shrink_to_fit();
        self.code.ranges.shrink_to_fit();
        self.operations.shrink_to_fit();
        let DeviceDetails { values, collectives, shapes, shape_of, memory, states, codes } =
            &mut self.details;
        values.shrink_to_fit();
        collectives.shrink_to_fit();
        shapes.shrink_to_fit();
        shape_of.shrink_to_fit();
        memory.shrink_to_fit();
        states.shrink_to_fit();
        codes.shrink_to_fit();
    }

    /// Number of calls and operations.
    pub fn n_records(&self) -> usize {
        self.calls.len() + self.operations.len()
    }

    /// When a call was entered or an operation began.
    pub fn start(&self, nth: usize) -> Ticks {
        let operation = |nth: usize| self.operations.get(nth).map_or(Ticks(0), |it| it.start);
        self.calls.get(nth).map_or_else(|| operation(nth - self.calls.len()), |call| call.enter)
    }

    /// Leaves what a replay needs: calls, the code before them, operations, and what copies are of. Collectives are kept
    /// elsewhere, as their members are in other processes.
    pub fn leave_replayed(&mut self) {
        self.inner = Vec::new();
        self.code = SampledCode::default();
        let DeviceDetails { values, codes, .. } = std::mem::take(&mut self.details);
        self.details = DeviceDetails { values, codes, ..DeviceDetails::default() };
        self.details.values.retain(|it| it.1 == OperationValue::Pageable);
        self.fit();
    }

    /// Some of these records, numbered from 0 on: of a thread or stream with nothing but what a replay needs.
    pub fn part(&self, range: std::ops::Range<usize>) -> DeviceRecords {
        let of = |n: usize| range.start.min(n)..range.end.min(n);
        let numbered = |nth: u32| nth.checked_sub(range.start as u32).filter(|_| (nth as usize) < range.end);
        let details = &self.details;
        let value = details.values.partition_point(|it| (it.0 as usize) < range.start);
        let code = details.codes.partition_point(|it| (it.0 as usize) < range.start);
        let values = details.values[value..].iter().map_while(|it| Some((numbered(it.0)?, it.1, it.2)));
        let codes = details.codes[code..].iter().map_while(|it| Some((numbered(it.0)?, it.1, it.2)));
        DeviceRecords {
            calls: self.calls[of(self.calls.len())].to_vec(),
            operations: self.operations[of(self.operations.len())].to_vec(),
            details: DeviceDetails {
                values: values.collect(),
                codes: codes.collect(),
                ..DeviceDetails::default()
            },
            ..DeviceRecords::default()
        }
    }

    /// Adds what follows, see [`part`](DeviceRecords::part).
    pub fn append(&mut self, mut more: DeviceRecords) {
        let n = self.n_records() as u32;
        self.calls.append(&mut more.calls);
        self.operations.append(&mut more.operations);
        self.details.values.extend(more.details.values.iter().map(|it| (it.0 + n, it.1, it.2)));
        self.details.codes.extend(more.details.codes.iter().map(|it| (it.0 + n, it.1, it.2)));
    }

    pub fn remap(&mut self, remap: &Remap) {
        for call in &mut self.calls {
            (call.path, call.code) = (remap.path(call.path), remap.path(call.code));
        }
        self.inner.iter_mut().for_each(|it| it.path = remap.path(it.path));
        self.code.ranges.iter_mut().for_each(|it| it.path = remap.path(it.path));
        self.operations.iter_mut().for_each(|it| it.path = remap.path(it.path));
        self.details.codes.iter_mut().for_each(|it| it.1 = remap.path(it.1));
        self.details.memory.iter_mut().for_each(|it| it.path = remap.path(it.path));
    }
}
