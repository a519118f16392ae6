//! One location, cut by a plan of common synchronisations instead of by its own calls alone.
//!
//! ```text
//! samples    work work Barr Barr │ work work work ┆ work Barr │ work
//! plan                           T1               T2          T3
//! cuts       ─────── piece ──────┤────── piece ───┼── piece ──┤─────
//! ```
//!
//! While the location is folded, its times are cut into *pieces*: at the end of each call that may be one of the
//! synchronisations, and where time passes a planned moment T. A sample owns the time until the next one, so the cut is
//! at the first change at or after T, within a sampling period V; without one, at `T + V/2`, which is where a change would
//! be on average. At the end pieces become entries: the n-th entry ends with the location's own call if it left one of the
//! planned region near T, else with the piece that ends at T, and then its call is an empty one.
//!
//! Law: pieces have all the time of the location, and so have entries; every location has the entries of the plan.

use super::plan::{GroupPlan, PlannedAnchor, after};
use ouzel_engine::roomy;
use ouzel_model::{CallPathId, RegionId, Ticks};

/// Most pieces that end with calls of the location. Then calls end no more pieces; planned moments do.
const MAX_PIECES: usize = 1 << 18;

/// The state of a location that is cut by a plan.
#[derive(Debug)]
pub(super) struct Planned {
    /// Its sampling period; 0 if its calls are exact.
    period: Ticks,
    /// The next moment of the plan.
    next: usize,
    /// Where the cut for it is to be, once all that ends there has ended.
    pending: Option<Ticks>,
    /// The last event.
    last: Ticks,
    /// For each moment passed, the number of pieces before it.
    passed: Vec<usize>,
    /// When each piece ends.
    pub ends: Vec<Ticks>,
    /// In order of time.
    pub own: Vec<OwnAnchor>,
}

/// A call of the location that may be a common synchronisation.
#[derive(Debug, Clone, Copy)]
pub(super) struct OwnAnchor {
    pub region: RegionId,
    pub call_path: CallPathId,
    pub enter: Ticks,
    pub leave: Ticks,
    /// The number of pieces until its end.
    n_pieces: usize,
}

impl Planned {
    pub fn new(period: Ticks) -> Self {
        Planned {
            period,
            next: 0,
            pending: None,
            last: Ticks(0),
            passed: roomy(),
            ends: roomy(),
            own: roomy(),
        }
    }

    /// Number of pieces so far.
    pub fn n_pieces(&self) -> usize {
        self.ends.len()
    }

    /// Where the location is to be cut before an event at `at`; `enters` says whether it is an enter.
    pub fn cut_before(&mut self, plan: &GroupPlan, at: Ticks, enters: bool) -> Option<Ticks> {
        if let Some(pending) = self.pending {
            return (enters || pending < at).then(|| {
                self.pending = None;
                pending
            });
        }
        let Some(anchor) = plan.anchors.get(self.next).filter(|anchor| anchor.time <= at) else {
            self.last = at;
            return None;
        };
        let slack = Ticks(self.period.0 / 20);
        if at <= after(anchor.time, after(self.period, slack)) {
            self.pending = Some(at);
            return self.cut_before(plan, at, enters);
        }
        Some(after(anchor.time, Ticks(self.period.0 / 2)).max(self.last).min(at))
    }

    /// A piece ends at `at`.
    pub fn end_piece(&mut self, at: Ticks) {
        self.ends.push(at);
    }

    /// A moment of the plan was passed.
    pub fn pass(&mut self) {
        self.passed.push(self.ends.len());
        self.next += 1;
    }

    /// Whether the last piece ended at `at`.
    pub fn has_ended(&self, at: Ticks) -> bool {
        self.ends.last() == Some(&at)
    }

    /// Whether calls of the location still end pieces.
    pub fn has_room(&self) -> bool {
        self.ends.len() < MAX_PIECES
    }

    /// The location left a call that may be a common synchronisation.
    pub fn left(&mut self, (region, call_path): (RegionId, CallPathId), enter: Ticks, leave: Ticks) {
        let n_pieces = self.ends.len();
        self.own.push(OwnAnchor { region, call_path, enter, leave, n_pieces });
    }

    /// Whether a call of `region` that may synchronise only some is one of the planned.
    pub fn is_common(&self, plan: &GroupPlan, region: RegionId, enter: Ticks, leave: Ticks) -> bool {
        self.period == Ticks(0) || plan.has(region, (enter, leave), self.period)
    }

    /// The location ended before the rest of the plan.
    pub fn end(&mut self, plan: &GroupPlan) {
        self.passed.resize(plan.anchors.len(), self.ends.len());
    }

    /// For each planned synchronisation the own call that it is, if any, and the number of pieces until it.
    pub fn matched(&self, plan: &GroupPlan) -> Vec<(Option<OwnAnchor>, usize)> {
        let anchors = &plan.anchors;
        let mut before = 0;
        let mut of = |(i, anchor): (usize, &PlannedAnchor)| {
            let own = self.nearest(anchors, i);
            let n_pieces = own.map_or(self.passed[i], |own| own.n_pieces).max(before);
            before = n_pieces;
            debug_assert!(own.is_none_or(|own| own.region == anchor.region));
            (own, n_pieces)
        };
        anchors.iter().enumerate().map(&mut of).collect()
    }

    /// The call of the region of anchor `i` that was left nearest to it: nearer to it than to the next and the one before,
    /// and of samples not more than a period before or two periods after it.
    fn nearest(&self, anchors: &[PlannedAnchor], i: usize) -> Option<OwnAnchor> {
        let PlannedAnchor { region, time, .. } = anchors[i];
        let middle = |a: Ticks, b: Ticks| Ticks(a.0 + b.since(a).0 / 2);
        let mut from = i.checked_sub(1).map_or(Ticks(0), |before| middle(anchors[before].time, time));
        let mut to = anchors.get(i + 1).map_or(Ticks(u64::MAX), |next| middle(time, next.time));
        if self.period != Ticks(0) {
            from = from.max(Ticks(time.0.saturating_sub(self.period.0)));
            to = to.min(after(time, after(self.period, self.period)));
        }
        let first = self.own.partition_point(|own| own.leave < from);
        let near = self.own[first..].iter().take_while(|own| own.leave < to || own.leave == time);
        let near = near.filter(|own| own.region == region);
        near.min_by_key(|own| own.leave.0.abs_diff(time.0)).copied()
    }
}
