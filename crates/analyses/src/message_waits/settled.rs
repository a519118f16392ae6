//! Results from the pairs of a bucket, added up as far as possible before the other buckets are known.
//!
//! ```text
//! ends ──pairs──► Settled: waits that may count, sums of sends, counts ──all buckets──► output
//! ```
//!
//! Law: once sorted, the result does not depend on the order of adding, and settling nothing adds nothing. Only the
//! longest wait of a visit is kept, so memory is 80 bytes for each visit that waits, and 24 for each call path and
//! pair of ranks; the messages themselves are dropped.

use super::waits::{Wait, Waits, longest_of_visits};
use crate::message_matching::{MessageEnds, Pair, for_each_pair};
use crate::semantics::Class;
use ouzel_engine::FinishCx;
use ouzel_model::{CallPathId, CallPathTree, Definitions, Remap, Ticks, TimeRange, WorldRank};
use serde::{Deserialize, Serialize};

/// Pairs, settled.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Settled {
    /// Once sorted: by location and time, one for each visit.
    pub waits: Vec<Wait>,
    /// Selected sends. Once sorted: ascending by path and ranks, one of each.
    pub sends: Vec<Sends>,
    /// Sends that have no receive.
    pub unmatched_sends: u64,
    /// Receives that have no send.
    pub unmatched_receives: u64,
    /// Selected messages whose receive completed before the send was posted.
    pub received_before_sent: u64,
    /// The greatest such difference.
    pub received_before_sent_worst: Ticks,
}

/// Messages of one call path from one rank to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sends {
    pub path: CallPathId,
    pub from: WorldRank,
    pub to: WorldRank,
    pub n_messages: u64,
    pub bytes: u64,
}

impl Sends {
    fn key(&self) -> (CallPathId, WorldRank, WorldRank) {
        (self.path, self.from, self.to)
    }

    fn add(&mut self, other: &Sends) {
        self.n_messages += other.n_messages;
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

impl Settled {
    /// Pairs the ends, which are those of all locations.
    pub fn of(
        ends: &MessageEnds,
        definitions: &Definitions,
        call_paths: &CallPathTree,
        classes: &[Class],
    ) -> Self {
        let mut waits = Waits::new(call_paths, classes);
        let mut settled = Settled::default();
        // Messages come channel by channel, so the last entry of a path is mostly the one to add to.
        let mut sends: Vec<Vec<Sends>> = vec![Vec::new(); call_paths.len()];
        let unmatched = for_each_pair(ends, definitions, |pair| {
            waits.add(&pair);
            // A message counts where its send does.
            if !pair.send.is_selected() {
                return;
            }
            let (path, from, to) = (pair.send.path(), pair.from, pair.to);
            let one = Sends { path, from, to, n_messages: 1, bytes: pair.send.bytes() };
            let of_path = &mut sends[path.index()];
            match of_path.last_mut().filter(|last| last.key() == one.key()) {
                Some(last) => last.add(&one),
                None => of_path.push(one),
            }
            if let Some(early) = received_before_sent(&pair) {
                settled.received_before_sent += 1;
                settled.received_before_sent_worst = settled.received_before_sent_worst.max(early);
            }
        });
        settled.unmatched_sends = unmatched.sends;
        settled.unmatched_receives = unmatched.receives;
        settled.waits = waits.found;
        settled.sends = sends.concat();
        settled
    }

    /// Adds another bucket.
    pub fn add(&mut self, mut from: Settled) {
        if self.waits.is_empty() {
            self.waits = from.waits;
        } else {
            self.waits.append(&mut from.waits);
        }
        if self.sends.is_empty() {
            self.sends = from.sends;
        } else {
            self.sends.append(&mut from.sends);
        }
        self.unmatched_sends += from.unmatched_sends;
        self.unmatched_receives += from.unmatched_receives;
        self.received_before_sent += from.received_before_sent;
        self.received_before_sent_worst =
            self.received_before_sent_worst.max(from.received_before_sent_worst);
    }

    /// Leaves of the waits what is selected, and gives everything the paths that are shown. Nothing can be added then.
    pub fn select(&mut self, cx: &FinishCx<'_>, shown: &Remap) {
        self.waits.retain_mut(|wait| {
            let selected = cx.selected_of(wait.waiting_location);
            let TimeRange { start, end } = selected.clip(TimeRange { start: wait.start, end: wait.end });
            (wait.start, wait.end) = (start, end);
            selected.location && start < end
        });
        self.remap(shown);
        self.sort_sends();
    }

    pub fn remap(&mut self, remap: &Remap) {
        for wait in &mut self.waits {
            wait.waiting_path = remap.path(wait.waiting_path);
            wait.culprit_path = remap.path(wait.culprit_path);
        }
        for sends in &mut self.sends {
            sends.path = remap.path(sends.path);
        }
    }

    /// Puts everything in order, and drops waits that do not count. Call paths must be in canonical order, as they
    /// break ties.
    pub fn sort(&mut self) {
        longest_of_visits(&mut self.waits);
        self.sort_sends();
    }

    /// One of each path and pair of ranks, ascending.
    fn sort_sends(&mut self) {
        self.sends.sort_by_key(Sends::key);
        self.sends.dedup_by(|next, first| {
            let is_same = first.key() == next.key();
            if is_same {
                first.add(next);
            }
            is_same
        });
    }
}

/// By how much a message was received before it was sent, if it was.
fn received_before_sent(pair: &Pair<'_>) -> Option<Ticks> {
    let (completed, posted) = (pair.receive.completed()?.leave, pair.send.posted());
    (completed < posted).then(|| posted.since(completed))
}
