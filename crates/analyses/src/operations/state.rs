//! Operations while a location is folded, and of the locations folded so far.

use crate::late_messages;
use ouzel_model::{CallPathId, CollectiveOp, CollectiveRoot, CommId, LocationId, Remap, Ticks, WorldRank};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What an operation of a location is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum What {
    /// A send; `nth` as in the ends of `late_messages`.
    Send { nth: u32 },
    /// A receive; `nth` as in the ends of `late_messages`.
    Receive { nth: u32 },
    /// A collective; index into [`LocationOps::collectives`].
    Collective { index: u32 },
}

/// One operation of a location.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Op {
    pub what: What,
    pub path: CallPathId,
    pub enter: Ticks,
    pub leave: Ticks,
}

/// What is known of a collective besides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Part {
    pub op: CollectiveOp,
    pub comm: CommId,
    /// The root, where the operation has one that is known.
    pub root: Option<WorldRank>,
    /// When it was posted, or entered.
    pub arrived: Ticks,
}

/// The operations of one location, in order.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LocationOps {
    pub ops: Vec<Op>,
    pub collectives: Vec<Part>,
}

/// The operations of the locations folded so far.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct OperationsPartial {
    pub(super) messages: late_messages::LateMessagesPartial,
    pub(super) locations: BTreeMap<LocationId, LocationOps>,
}

impl OperationsPartial {
    pub(super) fn remap(&mut self, remap: &Remap) {
        for op in self.locations.values_mut().flat_map(|location| &mut location.ops) {
            op.path = remap.path(op.path);
        }
    }
}

/// An open call.
#[derive(Debug)]
pub(super) struct Frame {
    pub enter: Ticks,
    /// Whether its region waits, sends or synchronises.
    pub is_operation: bool,
    /// Index of the first of its operations in [`Local::open`].
    pub first: usize,
}

/// While a location is folded.
#[derive(Debug, Default)]
pub struct Local {
    pub(super) messages: late_messages::Local,
    pub(super) ops: Vec<Op>,
    pub(super) collectives: Vec<(Part, CollectiveRoot)>,
    pub(super) stack: Vec<Frame>,
    /// Indices of the operations of open calls, those of inner calls last.
    pub(super) open: Vec<usize>,
    /// When a collective was posted under a request.
    pub(super) posted: FxHashMap<u64, Ticks>,
}

impl Local {
    pub(super) fn enter(&mut self, enter: Ticks, is_operation: bool) {
        self.stack.push(Frame { enter, is_operation, first: self.open.len() });
    }

    pub(super) fn leave(&mut self, at: Ticks) {
        let Some(frame) = self.stack.pop() else { return };
        for i in self.open.drain(frame.first..) {
            self.ops[i].leave = at;
        }
    }

    /// When what is recorded now began: with its call, if that is an operation.
    pub(super) fn began(&self, at: Ticks) -> Ticks {
        self.stack.last().filter(|frame| frame.is_operation).map_or(at, |frame| frame.enter)
    }

    pub(super) fn push(&mut self, what: What, path: CallPathId, at: Ticks) {
        if self.stack.last().is_some_and(|frame| frame.is_operation) {
            self.open.push(self.ops.len());
        }
        self.ops.push(Op { what, path, enter: self.began(at), leave: at });
    }
}
