//! Intervals of a location while it is folded, and of the processes of the locations folded so far.

use super::activity::{Activity, HostOrDevice};
use super::intervals::{Intervals, measure_by_membership};
use crate::spread::Owner;
use ouzel_engine::Selected;
use ouzel_model::{Ticks, TimeRange};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A location that may forget does so at this many intervals, 64 kB.
const FORGET_AT: usize = 4096;

/// Ticks of a process by what it does. All but `other` of the [output](super::ProcessBreakdown).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActivityTimes {
    /// `|P \ C|`: computes, and does not communicate.
    pub computation: Ticks,
    /// `|P ∩ C|`: does both.
    pub overlap: Ticks,
    /// `|C \ P|`: communicates, and does not compute.
    pub communication: Ticks,
    /// Copies between host and device, and neither communicates nor computes.
    pub transfer: Ticks,
    /// In regions of which nothing is known, and does nothing of the above.
    pub unclassified: Ticks,
}

impl ActivityTimes {
    pub(super) fn add(&mut self, other: &ActivityTimes) {
        let add = |sum: &mut Ticks, ticks: Ticks| sum.0 = sum.0.saturating_add(ticks.0);
        add(&mut self.computation, other.computation);
        add(&mut self.overlap, other.overlap);
        add(&mut self.communication, other.communication);
        add(&mut self.transfer, other.transfer);
        add(&mut self.unclassified, other.unclassified);
    }
}

/// When a process did what.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Activities {
    pub computation: Intervals,
    pub communication: Intervals,
    pub transfer: Intervals,
    pub unclassified: Intervals,
}

impl Activities {
    fn sets(&self) -> [&Intervals; 4] {
        [&self.computation, &self.communication, &self.transfer, &self.unclassified]
    }

    fn sets_mut(&mut self) -> [&mut Intervals; 4] {
        [&mut self.computation, &mut self.communication, &mut self.transfer, &mut self.unclassified]
    }

    pub fn len(&self) -> usize {
        self.sets().iter().map(|set| set.len()).sum()
    }

    pub fn unite(&mut self, mut other: Activities) {
        for (set, other) in self.sets_mut().into_iter().zip(other.sets_mut()) {
            if set.is_empty() {
                *set = std::mem::take(other);
            } else if !other.is_empty() {
                *set = set.union(other);
            }
        }
    }

    fn take_before(&mut self, at: u64) -> Activities {
        let [computation, communication, transfer, unclassified] =
            self.sets_mut().map(|set| set.take_before(at));
        Activities { computation, communication, transfer, unclassified }
    }

    pub fn times(&self) -> ActivityTimes {
        let ticks: [u64; 16] = measure_by_membership(self.sets());
        let sum = |with: usize, of: usize| {
            let masks = (0..16_usize).filter(|mask| mask & of == with);
            Ticks(masks.map(|mask| ticks[mask]).sum())
        };
        const P: usize = 1;
        const C: usize = 2;
        const T: usize = 4;
        const U: usize = 8;
        ActivityTimes {
            computation: sum(P, P | C),
            overlap: sum(P | C, P | C),
            communication: sum(C, P | C),
            transfer: sum(T, P | C | T),
            unclassified: sum(U, P | C | T | U),
        }
    }
}

/// While a location is folded.
#[derive(Debug)]
pub struct BreakdownLocal {
    /// What counts of what is seen.
    selected: Selected,
    pub(super) place: HostOrDevice,
    /// Whether it is the only location of its process: its past need not be kept.
    pub(super) is_alone: bool,
    /// The activity of the innermost open call.
    pub(super) top: Activity,
    /// Those of the calls around it, outside of all calls first.
    pub(super) stack: Vec<Activity>,
    pub(super) current: Activity,
    /// Since when `current` lasts.
    pub(super) since: Ticks,
    pub(super) calls: Activities,
    /// Life times of non-blocking operations.
    pub(super) requests: Intervals,
    /// Non-blocking operations that were posted, and when.
    pub(super) open: FxHashMap<u64, Ticks>,
    /// Time before everything in `calls` and `requests`.
    pub(super) forgotten: ActivityTimes,
    pub(super) forget_at: usize,
    /// Non-blocking operations whose post or completion is missing, so far.
    n_lost: u64,
}

impl BreakdownLocal {
    pub(super) fn new(place: HostOrDevice, is_alone: bool, selected: Selected) -> Self {
        BreakdownLocal {
            selected,
            place,
            is_alone,
            top: Activity::Other,
            stack: Vec::new(),
            current: Activity::Other,
            since: Ticks(0),
            calls: Activities::default(),
            requests: Intervals::default(),
            open: FxHashMap::default(),
            forgotten: ActivityTimes::default(),
            forget_at: FORGET_AT,
            n_lost: 0,
        }
    }

    /// A non-blocking operation was posted.
    pub(super) fn post(&mut self, request: u64, at: Ticks) {
        // An id that is posted again before it was completed: the first has no completion.
        if let Some(lost) = self.open.insert(request, at) {
            self.n_lost += u64::from(self.selected.has(lost));
        }
    }

    /// A non-blocking operation is complete.
    pub(super) fn complete(&mut self, request: u64, at: Ticks) {
        match self.open.remove(&request) {
            Some(posted) => {
                let TimeRange { start, end } = self.selected.clip(TimeRange { start: posted, end: at });
                self.requests.push(start.0, end.0);
            }
            None => self.n_lost += u64::from(self.selected.has(at)),
        }
    }

    /// Operations whose post or completion never came, when the location is over.
    pub(super) fn n_lost(&self) -> u64 {
        // Only their number is asked for: the order of the map does not show.
        let open = self.open.values().filter(|&&posted| self.selected.has(posted)).count();
        self.n_lost + open as u64
    }

    /// Another activity begins.
    pub(super) fn change(&mut self, to: Activity, at: Ticks) {
        let TimeRange { start, end } = self.selected.clip(TimeRange { start: self.since, end: at });
        let set = match self.current {
            Activity::Computation => Some(&mut self.calls.computation),
            Activity::Communication => Some(&mut self.calls.communication),
            Activity::Transfer => Some(&mut self.calls.transfer),
            Activity::Unclassified => Some(&mut self.calls.unclassified),
            Activity::Other => None,
        };
        if let Some(set) = set {
            set.push(start.0, end.0);
        }
        self.current = to;
        self.since = at;
    }

    /// Turns into sums what no later interval can reach: all before the current activity and the oldest open request.
    pub(super) fn forget(&mut self) {
        let n = self.calls.len() + self.requests.len();
        if !self.is_alone || n < self.forget_at {
            return;
        }
        // Only the smallest value is looked for: the order of the map does not show.
        let oldest = self.open.values().min().copied().unwrap_or(self.since);
        let horizon = self.since.min(oldest).0;
        let mut past = self.calls.take_before(horizon);
        past.communication.unite(self.requests.take_before(horizon));
        self.forgotten.add(&past.times());
        // A request that is never completed holds everything after it: then look half as often.
        self.forget_at = FORGET_AT.max(2 * (self.calls.len() + self.requests.len()));
    }
}

/// What is known of the locations of a process folded so far.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ProcessPartial {
    /// Number of its locations folded.
    pub n_folded: u32,
    /// From the first event to the last.
    pub span: Option<(Ticks, Ticks)>,
    /// Empty once all of its locations are folded.
    pub activities: Activities,
    /// Time that is no longer in `activities`.
    pub times: ActivityTimes,
}

impl ProcessPartial {
    /// Adds other locations of the process, of which there are `n_locations`.
    pub fn add(&mut self, other: ProcessPartial, n_locations: u32) {
        self.n_folded += other.n_folded;
        self.span = match (self.span, other.span) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (a, b) => a.or(b),
        };
        self.times.add(&other.times);
        self.activities.unite(other.activities);
        if n_locations <= self.n_folded {
            self.settle();
        }
    }

    /// Turns intervals into sums.
    pub fn settle(&mut self) {
        let activities = std::mem::take(&mut self.activities);
        self.times.add(&activities.times());
    }
}

/// Activities by process.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BreakdownPartial {
    pub(super) processes: BTreeMap<Owner, ProcessPartial>,
    /// Non-blocking operations whose post or completion is missing.
    pub(super) n_lost: u64,
}
