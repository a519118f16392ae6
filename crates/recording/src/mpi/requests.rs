//! Requests under way, by the handle that the program holds.
//!
//! Law: a handle has at most one request; a library reuses handles once they are freed, so a completed request
//! that is not persistent is forgotten at once.

use super::interface::Handle;
use rustc_hash::FxHashMap;

/// Number of an operation, unique in its process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OperationId(pub u64);

/// Collective operation under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CollectiveCall {
    /// As OTF2 numbers operations.
    pub op: u8,
    /// As this process numbers communicators.
    pub communicator: u32,
    /// As OTF2 says roots.
    pub root: u32,
    /// Bytes that this process sends.
    pub sent_bytes: u64,
    /// Bytes that this process receives.
    pub received_bytes: u64,
}

/// A message to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outgoing {
    /// As this process numbers communicators.
    pub communicator: u32,
    /// Rank of the receiver.
    pub receiver: u32,
    /// Its tag.
    pub tag: u32,
    /// Its length.
    pub n_bytes: u64,
}

/// What completes with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// A send.
    Send(Outgoing),
    /// A receive on a communicator.
    Receive {
        /// As this process numbers communicators.
        communicator: u32,
    },
    /// A send and a receive that complete together.
    SendReceive {
        /// The operation of the receive.
        receive: OperationId,
        /// As this process numbers communicators.
        communicator: u32,
        /// Whether a message is sent.
        sends: bool,
    },
    /// A collective operation.
    Collective(CollectiveCall),
    /// A read or write of a file.
    File {
        /// As this process numbers handles.
        file: u32,
    },
    /// A communicator that is being made; `place` is where its handle will be.
    Communicator {
        /// The argument that the handle will be behind.
        place: Handle,
        /// What it will be defined as.
        made: super::communicators::Making,
    },
}

/// A request that the program holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldRequest {
    /// Of the operation that is under way.
    pub id: OperationId,
    /// What completes.
    pub operation: Operation,
    /// Whether it can be started again.
    pub is_persistent: bool,
    /// Whether an operation is under way.
    pub is_active: bool,
    /// Whether it was cancelled.
    pub is_cancelled: bool,
}

/// The requests of a process.
#[derive(Debug, Default)]
pub struct Requests {
    held: FxHashMap<Handle, HeldRequest>,
    n_operations: u64,
}

impl Requests {
    /// A number for an operation that begins.
    pub fn next_id(&mut self) -> OperationId {
        self.n_operations += 1;
        OperationId(self.n_operations)
    }

    /// From now on `handle` is an operation under way.
    pub fn begin(&mut self, handle: Handle, id: OperationId, operation: Operation) {
        let held = HeldRequest { id, operation, is_persistent: false, is_active: true, is_cancelled: false };
        self.held.insert(handle, held);
    }

    /// From now on `handle` is an operation that can be started.
    pub fn make(&mut self, handle: Handle, operation: Operation) {
        let id = OperationId(0);
        let held = HeldRequest { id, operation, is_persistent: true, is_active: false, is_cancelled: false };
        self.held.insert(handle, held);
    }

    /// Starts a persistent request.
    pub fn start(&mut self, handle: Handle) -> Option<HeldRequest> {
        let id = self.next_id();
        let held = self.held.get_mut(&handle)?;
        (held.id, held.is_active, held.is_cancelled) = (id, true, false);
        Some(*held)
    }

    /// Notes that a request was cancelled.
    pub fn cancel(&mut self, handle: Handle) {
        if let Some(held) = self.held.get_mut(&handle) {
            held.is_cancelled = true;
        }
    }

    /// The operation that has completed; none if the handle has none under way.
    pub fn complete(&mut self, handle: Handle) -> Option<HeldRequest> {
        let held = self.held.get_mut(&handle)?;
        let completed = *held;
        if held.is_persistent {
            held.is_active = false;
        } else {
            self.held.remove(&handle);
        }
        completed.is_active.then_some(completed)
    }

    /// The receives under way, in the order in which they were posted.
    pub fn receives(&self) -> Vec<OperationId> {
        let receive = |held: &HeldRequest| match held.operation {
            Operation::Receive { .. } => Some(held.id),
            Operation::SendReceive { receive, .. } => Some(receive),
            _ => None,
        };
        let active = self.held.values().filter(|held| held.is_active);
        let mut ids: Vec<OperationId> = active.filter_map(receive).collect();
        ids.sort_unstable_by_key(|id| id.0);
        ids
    }

    /// The number of the last operation.
    pub fn last_id(&self) -> OperationId {
        OperationId(self.n_operations)
    }

    /// Forgets a request that the program frees.
    pub fn free(&mut self, handle: Handle) {
        self.held.remove(&handle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_are_reused_and_persistent_ones_are_kept() {
        let mut requests = Requests::default();
        let operation = Operation::Receive { communicator: 0 };
        let (first, handle) = (requests.next_id(), Handle(7));
        requests.begin(handle, first, operation);
        assert_eq!(requests.complete(handle).map(|held| held.id), Some(first));
        assert_eq!(requests.complete(handle), None);
        requests.make(handle, operation);
        assert_eq!(requests.complete(handle), None);
        let second = requests.start(handle).expect("it is held").id;
        requests.cancel(handle);
        let done = requests.complete(handle).expect("it was started");
        assert!(done.id == second && second != first && done.is_cancelled);
        assert!(requests.start(handle).is_some_and(|held| !held.is_cancelled));
        requests.free(handle);
        assert_eq!(requests.start(handle), None);
    }
}
