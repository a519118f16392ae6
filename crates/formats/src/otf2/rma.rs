//! Records of one-sided communication as events of the model, and back.

use super::refs::LocationRefs;
use super::roots::{number_of_root, root};
use ouzel_model::{
    CollectiveOp, CommRank, RmaAccess, RmaAtomicKind, RmaCollective, RmaEvent, RmaLock, RmaLockMode,
    RmaOperationId, RmaStep, RmaSyncKind, RmaSyncLevel, RmaWindowId,
};
use ouzel_otf2::records::event::{
    RmaAcquireLock, RmaAtomic, RmaCollectiveBegin, RmaCollectiveEnd, RmaGet, RmaGroupSync,
    RmaOpCompleteBlocking, RmaOpCompleteNonBlocking, RmaOpCompleteRemote, RmaOpTest, RmaPut, RmaReleaseLock,
    RmaRequestLock, RmaSync, RmaTryLock, RmaWaitChange, RmaWinCreate, RmaWinDestroy,
};
use ouzel_otf2::records::{Event, enums};
use ouzel_otf2::wire::UNDEFINED_U32;

fn lock(remote: u32, lock_id: u64, lock_type: enums::LockType) -> RmaLock {
    let mode = RmaLockMode::from_code(lock_type.to_u8());
    RmaLock { target: CommRank(remote), lock: lock_id, mode }
}

fn access(remote: u32, bytes: u64, matching_id: u64) -> RmaAccess {
    RmaAccess { target: CommRank(remote), bytes, id: RmaOperationId(matching_id) }
}

/// The window and the step that a record means; `None` for records of other kinds.
pub(super) fn step(event: &Event<'_>, refs: &mut LocationRefs<'_>) -> Option<(Option<RmaWindowId>, RmaStep)> {
    let (window, step) = match *event {
        Event::RmaCollectiveBegin(_) => return Some((None, RmaStep::CollectiveBegin)),
        Event::RmaWinCreate(it) => (it.win, RmaStep::WindowCreate),
        Event::RmaWinDestroy(it) => (it.win, RmaStep::WindowDestroy),
        Event::RmaCollectiveEnd(it) => (
            it.win,
            RmaStep::CollectiveEnd(RmaCollective {
                op: CollectiveOp::from_code(it.collective_op.to_u8()),
                level: RmaSyncLevel(it.sync_level),
                root: root(it.root),
                bytes_sent: it.bytes_sent,
                bytes_received: it.bytes_received,
            }),
        ),
        Event::RmaGroupSync(it) => {
            let group = if it.group == UNDEFINED_U32 { None } else { refs.rank_group(it.group) };
            (it.win, RmaStep::GroupSync { level: RmaSyncLevel(it.sync_level), group })
        }
        Event::RmaRequestLock(it) => {
            (it.win, RmaStep::LockRequest(lock(it.remote, it.lock_id, it.lock_type)))
        }
        Event::RmaAcquireLock(it) => {
            (it.win, RmaStep::LockAcquire(lock(it.remote, it.lock_id, it.lock_type)))
        }
        Event::RmaTryLock(it) => (it.win, RmaStep::LockTry(lock(it.remote, it.lock_id, it.lock_type))),
        Event::RmaReleaseLock(it) => {
            (it.win, RmaStep::LockRelease { target: CommRank(it.remote), lock: it.lock_id })
        }
        Event::RmaSync(it) => {
            let kind = RmaSyncKind::from_code(it.sync_type.to_u8());
            (it.win, RmaStep::Sync { target: CommRank(it.remote), kind })
        }
        Event::RmaWaitChange(it) => (it.win, RmaStep::WaitChange),
        _ => access_step(event)?,
    };
    Some((if window == UNDEFINED_U32 { None } else { refs.rma_window(window) }, step))
}

fn access_step(event: &Event<'_>) -> Option<(u32, RmaStep)> {
    Some(match *event {
        Event::RmaPut(it) => (it.win, RmaStep::Put(access(it.remote, it.bytes, it.matching_id))),
        Event::RmaGet(it) => (it.win, RmaStep::Get(access(it.remote, it.bytes, it.matching_id))),
        Event::RmaAtomic(it) => (
            it.win,
            RmaStep::Atomic {
                access: access(it.remote, it.bytes_sent, it.matching_id),
                kind: RmaAtomicKind::from_code(it.atomic_type.to_u8()),
                bytes_received: it.bytes_received,
            },
        ),
        Event::RmaOpCompleteBlocking(it) => {
            (it.win, RmaStep::CompleteBlocking(RmaOperationId(it.matching_id)))
        }
        Event::RmaOpCompleteNonBlocking(it) => {
            (it.win, RmaStep::CompleteNonBlocking(RmaOperationId(it.matching_id)))
        }
        Event::RmaOpTest(it) => (it.win, RmaStep::Test(RmaOperationId(it.matching_id))),
        Event::RmaOpCompleteRemote(it) => (it.win, RmaStep::CompleteRemote(RmaOperationId(it.matching_id))),
        _ => return None,
    })
}

/// The record of a step. Windows have their ids as references, groups are numbered from `first_group`.
pub(super) fn record(event: &RmaEvent, first_group: u32) -> Event<'static> {
    let win = event.window.map_or(UNDEFINED_U32, |window| window.0);
    match event.step {
        RmaStep::WindowCreate => RmaWinCreate { win }.into(),
        RmaStep::WindowDestroy => RmaWinDestroy { win }.into(),
        RmaStep::CollectiveBegin => RmaCollectiveBegin {}.into(),
        RmaStep::CollectiveEnd(end) => {
            let RmaCollective { op, level, root, bytes_sent, bytes_received } = end;
            let collective_op = enums::CollectiveOp::from_u8(op.code());
            let (sync_level, root) = (level.0, number_of_root(root));
            RmaCollectiveEnd { collective_op, sync_level, win, root, bytes_sent, bytes_received }.into()
        }
        RmaStep::GroupSync { level, group } => {
            let group = group.map_or(UNDEFINED_U32, |group| first_group + group.0);
            RmaGroupSync { sync_level: level.0, win, group }.into()
        }
        RmaStep::Sync { target, kind } => {
            let sync_type = enums::RmaSyncType::from_u8(kind.code());
            RmaSync { win, remote: target.0, sync_type }.into()
        }
        RmaStep::WaitChange => RmaWaitChange { win }.into(),
        RmaStep::LockRequest(_)
        | RmaStep::LockAcquire(_)
        | RmaStep::LockTry(_)
        | RmaStep::LockRelease { .. } => lock_record(win, event.step),
        _ => access_record(win, event.step),
    }
}

fn lock_record(win: u32, step: RmaStep) -> Event<'static> {
    let parts = |lock: RmaLock| (lock.target.0, lock.lock, enums::LockType::from_u8(lock.mode.code()));
    match step {
        RmaStep::LockRequest(lock) => {
            let (remote, lock_id, lock_type) = parts(lock);
            RmaRequestLock { win, remote, lock_id, lock_type }.into()
        }
        RmaStep::LockAcquire(lock) => {
            let (remote, lock_id, lock_type) = parts(lock);
            RmaAcquireLock { win, remote, lock_id, lock_type }.into()
        }
        RmaStep::LockTry(lock) => {
            let (remote, lock_id, lock_type) = parts(lock);
            RmaTryLock { win, remote, lock_id, lock_type }.into()
        }
        _ => {
            let (target, lock) = (step.target(), step.lock());
            let remote = target.map_or(UNDEFINED_U32, |target| target.0);
            RmaReleaseLock { win, remote, lock_id: lock.unwrap_or_default() }.into()
        }
    }
}

fn access_record(win: u32, step: RmaStep) -> Event<'static> {
    let matching_id = step.operation().map_or(0, |id| id.0);
    let remote = step.target().map_or(UNDEFINED_U32, |target| target.0);
    match step {
        RmaStep::Put(RmaAccess { bytes, .. }) => RmaPut { win, remote, bytes, matching_id }.into(),
        RmaStep::Get(RmaAccess { bytes, .. }) => RmaGet { win, remote, bytes, matching_id }.into(),
        RmaStep::Atomic { access, kind, bytes_received } => RmaAtomic {
            win,
            remote,
            atomic_type: enums::RmaAtomicType::from_u8(kind.code()),
            bytes_sent: access.bytes,
            bytes_received,
            matching_id,
        }
        .into(),
        RmaStep::CompleteBlocking(_) => RmaOpCompleteBlocking { win, matching_id }.into(),
        RmaStep::CompleteNonBlocking(_) => RmaOpCompleteNonBlocking { win, matching_id }.into(),
        RmaStep::Test(_) => RmaOpTest { win, matching_id }.into(),
        _ => RmaOpCompleteRemote { win, matching_id }.into(),
    }
}
