//! How long a call waited for the other side of a message.
//!
//! | kind | who waits, and how long |
//! |---|---|
//! | late sender | the call in which the receive completes: `min(send posted, leave) − enter` |
//! | late receiver | the call in which the send completes, if it is not left before the receive is posted: `receive posted − enter` |
//!
//! *Posted* is the time at which the posting call was entered. Only calls that wait or
//! synchronise by their class can wait. The longest wait of each visit of a call counts. A visit that
//! waits for a late sender does not wait for a late receiver: sends may complete at once, and then
//! nothing waits for them. After the wait states of Scalasca (F. Wolf and B. Mohr, 2003).

use crate::message_matching::{End, EndCall, Pair};
use crate::semantics::{Category, Class};
use ouzel_model::{CallPathId, CallPathTree, LocationId, Ticks, WorldRank};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Who was late.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LateKind {
    /// The receiver waits: the message is sent late.
    LateSender,
    /// The sender waits: the message is received late.
    LateReceiver,
}

/// One visit of a call that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Wait {
    pub kind: LateKind,
    pub waiting: WorldRank,
    pub culprit: WorldRank,
    pub waiting_location: LocationId,
    pub culprit_location: LocationId,
    pub waiting_path: CallPathId,
    pub culprit_path: CallPathId,
    pub start: Ticks,
    pub end: Ticks,
    /// The part of the wait during which the culprit waited for a message, too.
    pub indirect: Ticks,
    pub bytes: u64,
}

impl Wait {
    pub fn ticks(&self) -> Ticks {
        self.end.since(self.start)
    }
}

/// Finds the waits of pairs.
#[derive(Debug)]
pub(super) struct Waits {
    /// For each call path whether its region waits or synchronises.
    waits_here: Vec<bool>,
    /// At most one for each end.
    pub found: Vec<Wait>,
}

impl Waits {
    pub fn new(paths: &CallPathTree, classes: &[Class]) -> Self {
        let mut waits_here = vec![false; paths.len()];
        for path in paths.paths() {
            let class = paths.region(path).map(|region| classes[region.index()]);
            waits_here[path.index()] = class.is_some_and(|class| class.category != Category::Computation);
        }
        Waits { waits_here, found: Vec::new() }
    }

    pub fn add(&mut self, pair: &Pair<'_>) {
        let waits_here = |call: &EndCall| self.waits_here[call.path.index()];
        let (sender, receiver) = (late_sender(pair, waits_here), late_receiver(pair, waits_here));
        self.found.extend(sender);
        self.found.extend(receiver);
    }
}

/// The waits that count, by location and time. Ties are broken by call paths in canonical order.
pub(super) fn longest_of_visits(waits: &mut Vec<Wait>) {
    // The first wait of each visit is kept: late senders before late receivers, the longest first.
    waits.sort_unstable_by_key(|w| {
        let visit = (w.waiting_location, w.start, w.waiting_path);
        (visit, w.kind, std::cmp::Reverse(w.end), w.culprit_location, w.culprit_path, w.bytes)
    });
    waits.dedup_by_key(|w| (w.waiting_location, w.start, w.waiting_path));
}

fn late_sender(pair: &Pair<'_>, waits_here: impl Fn(&EndCall) -> bool) -> Option<Wait> {
    let call = pair.receive.completed().filter(waits_here)?;
    let end = pair.send.posted().min(call.leave);
    let by = (LateKind::LateSender, pair.to, pair.from);
    wait(by, &pair.receive, &pair.send, &call, end)
}

fn late_receiver(pair: &Pair<'_>, waits_here: impl Fn(&EndCall) -> bool) -> Option<Wait> {
    let call = pair.send.completed().filter(waits_here)?;
    let end = pair.receive.posted();
    let by = (LateKind::LateReceiver, pair.from, pair.to);
    if call.leave < end { None } else { wait(by, &pair.send, &pair.receive, &call, end) }
}

fn wait(
    (kind, waiting, culprit): (LateKind, WorldRank, WorldRank),
    mine: &End<'_>,
    theirs: &End<'_>,
    call: &EndCall,
    end: Ticks,
) -> Option<Wait> {
    (call.enter < end).then_some(Wait {
        kind,
        waiting,
        culprit,
        waiting_location: mine.location,
        culprit_location: theirs.location,
        waiting_path: call.path,
        culprit_path: theirs.path(),
        start: call.enter,
        end,
        indirect: Ticks(0),
        bytes: mine.bytes(),
    })
}

/// When each location waited.
#[derive(Debug)]
pub(super) struct WaitTimes(BTreeMap<LocationId, Covered>);

impl WaitTimes {
    /// `waits` are those of all locations, in order.
    pub fn of(waits: &[Wait]) -> Self {
        let mut of: BTreeMap<LocationId, Covered> = BTreeMap::new();
        for wait in waits {
            of.entry(wait.waiting_location).or_default().add(wait.start, wait.end);
        }
        WaitTimes(of)
    }

    /// Determines for each wait how much of it the culprit spent waiting itself.
    pub(crate) fn mark_indirect(&self, waits: &mut [Wait]) {
        for wait in waits {
            let Some(covered) = self.0.get(&wait.culprit_location) else { continue };
            wait.indirect = covered.before(wait.end).since(covered.before(wait.start));
        }
    }
}

/// A union of ranges of time that come in the order of their starts.
#[derive(Debug, Default)]
struct Covered {
    /// Start, end, and the time covered before the start.
    ranges: Vec<(Ticks, Ticks, Ticks)>,
}

impl Covered {
    fn add(&mut self, start: Ticks, end: Ticks) {
        match self.ranges.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            last => {
                let before = last.map_or(Ticks(0), |last| last.2 + last.1.since(last.0));
                self.ranges.push((start, end, before));
            }
        }
    }

    /// The time covered before `at`.
    fn before(&self, at: Ticks) -> Ticks {
        let n = self.ranges.partition_point(|range| range.0 < at);
        let last = n.checked_sub(1).map(|i| self.ranges[i]);
        last.map_or(Ticks(0), |(start, end, before)| before + end.min(at).since(start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn covered_time_counts_overlaps_once() {
        let mut covered = Covered::default();
        for (start, end) in [(10, 20), (15, 18), (18, 30), (50, 60)] {
            covered.add(Ticks(start), Ticks(end));
        }
        let before = |at| covered.before(Ticks(at)).0;
        assert_eq!([0, 10, 12, 30, 40, 55, 99].map(before), [0, 0, 2, 20, 20, 25, 30]);
    }
}
