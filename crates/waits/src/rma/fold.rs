//! The fold: notes the records of a location, each with the call that it is in.

use super::calls::RmaCallKind;
use crate::rma_records::{RmaRecord, RmaRecords, RmaWhat, SyncCall};
use ouzel_model::{
    CallPathId, CallPathTree, RmaAccess, RmaCollective, RmaEvent, RmaLock, RmaStep, Ticks, Visit,
};

/// While a location is folded.
#[derive(Debug, Default)]
pub(crate) struct RmaFold {
    done: RmaRecords,
    /// The last begin of a collective operation that has not ended.
    begun: Option<Ticks>,
    /// Records in open calls, those of inner calls last.
    open: Vec<(CallPathId, u32)>,
}

/// Where a record stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecordPlace {
    pub path: CallPathId,
    pub at: Ticks,
    /// The number of the call, if that is kept.
    pub nth: Option<u32>,
    pub is_selected: bool,
}

impl RmaFold {
    pub fn event(&mut self, event: &RmaEvent, place: RecordPlace) {
        let what = match event.step {
            RmaStep::CollectiveBegin => {
                self.begun = Some(place.at);
                return;
            }
            RmaStep::CollectiveEnd(RmaCollective { op, root, bytes_sent, bytes_received, .. }) => {
                let moves_data = bytes_sent != 0 || bytes_received != 0;
                RmaWhat::Collective { op, root, moves_data, is_fence: false, begin: self.begun.take() }
            }
            // A test that found accesses under way.
            RmaStep::GroupSync { level, .. } if level.is_none() => return,
            RmaStep::GroupSync { group, .. } => RmaWhat::Sync { call: SyncCall::Unknown, group },
            RmaStep::LockRequest(RmaLock { target, lock, mode }) => {
                RmaWhat::LockRequest { target, lock, mode }
            }
            RmaStep::LockAcquire(RmaLock { target, lock, mode }) => {
                RmaWhat::LockAcquire { target, lock, mode }
            }
            RmaStep::LockRelease { target, lock } => RmaWhat::LockRelease { target, lock },
            RmaStep::Put(RmaAccess { target, .. })
            | RmaStep::Get(RmaAccess { target, .. })
            | RmaStep::Atomic { access: RmaAccess { target, .. }, .. } => RmaWhat::Access { target },
            RmaStep::CompleteBlocking(_) | RmaStep::CompleteNonBlocking(_) | RmaStep::CompleteRemote(_) => {
                RmaWhat::Completes
            }
            RmaStep::WindowCreate
            | RmaStep::WindowDestroy
            | RmaStep::LockTry(_)
            | RmaStep::Sync { .. }
            | RmaStep::WaitChange
            | RmaStep::Test(_) => return,
        };
        let Some(window) = event.window else { return };
        let is_same = |last: &RmaRecord| last.window == window && last.path == place.path;
        if what == RmaWhat::Completes
            && let Some(&(_, last)) = self.open.last()
            && is_same(&self.done.records[last as usize])
        {
            // The call is known already.
            return;
        }
        let RecordPlace { path, at, nth, is_selected } = place;
        if path != CallPathTree::ROOT {
            self.open.push((path, self.done.records.len() as u32));
        }
        self.done.records.push(RmaRecord { window, what, is_selected, path, nth, enter: at, leave: at });
    }

    pub fn is_waiting(&self) -> bool {
        !self.open.is_empty()
    }

    /// A call is over.
    pub fn leave(&mut self, visit: &Visit, kind: RmaCallKind) {
        while let Some((_, record)) = self.open.pop_if(|open| open.0 == visit.call_path) {
            let record = &mut self.done.records[record as usize];
            if kind == RmaCallKind::Works {
                continue;
            }
            (record.enter, record.leave) = (visit.enter, visit.leave);
            match &mut record.what {
                RmaWhat::Collective { is_fence, begin, .. } => {
                    *is_fence = kind == RmaCallKind::Fence;
                    // One before the call is of an end that is lost.
                    *begin = begin.filter(|begin| visit.enter <= *begin);
                }
                RmaWhat::Sync { call: call @ SyncCall::Unknown, .. } => *call = SyncCall::of(kind),
                _ => {}
            }
        }
    }

    pub fn end(self) -> RmaRecords {
        self.done
    }
}

impl SyncCall {
    fn of(kind: RmaCallKind) -> Self {
        match kind {
            RmaCallKind::Start => SyncCall::Start,
            RmaCallKind::Complete => SyncCall::Complete,
            RmaCallKind::Post => SyncCall::Post,
            RmaCallKind::Wait => SyncCall::Wait,
            RmaCallKind::Test => SyncCall::Test,
            RmaCallKind::Works | RmaCallKind::Call | RmaCallKind::Fence => SyncCall::Unknown,
        }
    }
}
