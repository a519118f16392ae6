//! Waiting of threads for others of their process.
//!
//! | class | who waits, and how long |
//! |---|---|
//! | lock contention | the call that acquires a lock as the k-th: `min(release(k − 1), acquired) − enter` |
//! | condition wait | the same, in a call that released the lock before, from that release on |
//! | wait at OpenMP barrier | each thread of the team: `min(B, leave) − enter`, less what the call calls (tasks); `B` is the latest enter |
//! | … without a record of the barrier that ends the team | `latest end of a thread in the team − end of this one` |
//! | thread join | the call that waits for a created thread: `min(end of the thread, leave) − enter` |
//! | idle threads | for each thread of the largest team beside the master: time of the master outside of all teams |
//! | management | each thread of a team but its master: from the fork to its begin in the team, from its end (without a barrier that ends the team: the latest end) to the join |
//! | limited parallelism | each thread that an outermost team has less than the largest: from fork to join |
//!
//! Acquisitions of a lock are in the order of their recorded numbers, not of their times. `release(k − 1)` is the
//! latest release of an earlier acquisition; its thread is the culprit. Locks are of one process and programming model.
//! Members of a team are those of its communicator, and its n-th use is one parallel region at all of them; the n-th
//! barrier of each is one barrier. Without records of teams, the threads of a process that have barriers between a fork
//! and its join are a team; without records of forks, those that visit a parallel region at one time. Barriers that lack members, or of which members call different ones, have no value.
//!
//! The last three classes, and waiting for the end of a team without a barrier, are sums over many short times with no
//! single call that came late: time of the master is charged to its call path, that of a team to the call that forks.
//! Only processes with several threads are looked at, whose clock is one.

mod barriers;
mod calls;
mod fold;
mod locks;
mod records;
mod teams;

pub(crate) use calls::{ThreadCalls, is_thread};
pub(crate) use fold::ThreadFold;
pub(crate) use records::{ThreadRecords, TimeSum};

use crate::class::{Certainty, WaitClass};
use crate::delays::GroupPoint;
use crate::depth::Depth;
use crate::wait::{Culprit, Wait, WaitSum};
use ouzel_engine::FinishCx;
use ouzel_model::{CallPathId, Definitions, LocationGroupId, LocationId, ThreadLife, Ticks};
use records::{BlockedCall, BlockedFor, EndedThread, InnerCall};
use std::collections::BTreeMap;

/// What the threads of a run say about waiting.
#[derive(Debug, Default)]
pub(crate) struct ThreadWaits {
    /// By location; no two of a location overlap.
    pub waits: Vec<Wait>,
    pub sums: Vec<WaitSum>,
    /// Barriers that none left before all had come, and forks, if causes are asked for.
    pub groups: Vec<GroupPoint>,
    /// Selected barriers without a value.
    pub n_partial: u64,
    /// Selected threads that teams use beyond those that there are at once.
    pub n_replaced: u64,
    /// Selected calls that take a lock without a record of it.
    pub n_unrecorded_locks: u64,
    /// Whether there are any records of teams, locks or created threads.
    pub has_records: bool,
}

/// The threads of one process.
pub(crate) struct Process<'a> {
    pub threads: Vec<(LocationId, &'a ThreadRecords)>,
}

impl<'a> Process<'a> {
    pub fn of(&self, location: LocationId) -> Option<&'a ThreadRecords> {
        let place = self.threads.binary_search_by_key(&location, |it| it.0).ok()?;
        Some(self.threads[place].1)
    }
}

/// The waits of all threads.
pub(crate) fn thread_waits<'a>(
    records: impl Iterator<Item = (LocationId, &'a ThreadRecords)>,
    depth: Depth,
    cx: &FinishCx<'_>,
) -> ThreadWaits {
    let mut found = ThreadWaits::default();
    for process in processes(records, cx.definitions) {
        found.has_records |= process.threads.iter().any(|(_, of)| of.has_records());
        found.n_unrecorded_locks += process.threads.iter().map(|(_, of)| of.n_unrecorded_locks).sum::<u64>();
        locks::add(&mut found.waits, &process);
        let instances = teams::instances(&process, cx.call_paths, cx.definitions);
        barriers::add(&mut found, &process, &instances, depth, cx);
        teams::add(&mut found, &process, &instances, depth, cx);
        add_joins(&mut found.waits, &process);
    }
    found.waits.sort_unstable_by_key(|it| (it.location, it.start, it.end, it.path, it.class));
    found.sums.retain(|sum| Ticks(0) < sum.wait);
    found.sums.sort_unstable_by_key(|it| (it.class, it.location, it.path));
    found
}

fn processes<'a>(
    records: impl Iterator<Item = (LocationId, &'a ThreadRecords)>,
    definitions: &Definitions,
) -> impl Iterator<Item = Process<'a>> {
    let mut processes: BTreeMap<LocationGroupId, Vec<(LocationId, &ThreadRecords)>> = BTreeMap::new();
    for (location, of) in records.filter(|(_, of)| **of != ThreadRecords::default()) {
        processes.entry(definitions.location(location).group).or_default().push((location, of));
    }
    processes.into_values().map(|threads| Process { threads })
}

/// Who waits for the ends of created threads.
fn add_joins(waits: &mut Vec<Wait>, process: &Process<'_>) {
    let mut ends: BTreeMap<ThreadLife, (LocationId, &EndedThread)> = BTreeMap::new();
    for &(location, of) in &process.threads {
        for end in &of.ends {
            ends.entry(end.life).or_insert((location, end));
        }
    }
    for &(location, of) in &process.threads {
        for (nth, call) in (0..).zip(&of.blocked) {
            let BlockedFor::Thread(life) = call.reason else { continue };
            let Some(&(culprit, end)) = ends.get(&life).filter(|it| it.0 != location) else { continue };
            let &EndedThread { path, at, .. } = end;
            let culprit = Culprit { location: culprit, path, arrived: at, left: at };
            add_blocked(waits, WaitClass::ThreadJoin, (location, of), nth, (call, culprit));
        }
    }
}

/// The wait of a call that blocks for a culprit, one for each range of time in which it calls nothing.
fn add_blocked(
    waits: &mut Vec<Wait>,
    class: WaitClass,
    (location, of): (LocationId, &ThreadRecords),
    nth: u32,
    (call, culprit): (&BlockedCall, Culprit),
) {
    let &BlockedCall { path, enter, leave, .. } = call;
    let end = culprit.arrived.min(leave);
    let first = of.inner.partition_point(|inner| (inner.blocked, inner.start) < (nth, call.start));
    let counts = |inner: &&InnerCall| inner.blocked == nth && inner.start < end;
    let inner = of.inner[first..].iter().take_while(counts);
    let mut start = call.start;
    for range in inner.map(|inner| (inner.start, inner.end)).chain([(end, end)]) {
        waits.extend(
            wait(class, (location, path), (enter, leave), (start, range.0.min(end)))
                .map(|wait| Wait { culprit: Some(culprit), ..wait }),
        );
        start = range.1;
    }
}

/// A wait in a call, if it takes time.
fn wait(
    class: WaitClass,
    (location, path): (LocationId, CallPathId),
    (enter, leave): (Ticks, Ticks),
    (start, end): (Ticks, Ticks),
) -> Option<Wait> {
    (start < end).then_some(Wait {
        class,
        certainty: Certainty::Certain,
        is_clamped: false,
        location,
        path,
        enter,
        leave,
        start,
        end,
        culprit: None,
        nth: 0,
    })
}
