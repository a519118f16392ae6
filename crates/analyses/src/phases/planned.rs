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

use super::by_peer::PeerRow;
use super::local::{PhasesLocal, tails};
use super::plan::{GroupPlan, PlannedAnchor, after};
use super::state::{Aligned, CellKey, EntryState, One, OneCell, SequenceHash, Spread};
use ouzel_model::{CallPathId, CallPathTree, LocationId, RegionId, Ticks};

/// Most pieces that end with calls of the location. Then calls end no more pieces; planned moments do.
const MAX_PIECES: usize = 1 << 18;

/// Who stands in for the location whose call path is shown: one that was not there. Every other comes before it.
const NOWHERE: LocationId = LocationId(u32::MAX);

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
    ends: Vec<Ticks>,
    own: Vec<OwnAnchor>,
}

/// A call of the location that may be a common synchronisation.
#[derive(Debug, Clone, Copy)]
struct OwnAnchor {
    region: RegionId,
    call_path: CallPathId,
    enter: Ticks,
    leave: Ticks,
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
            passed: Vec::new(),
            ends: Vec::new(),
            own: Vec::new(),
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

    /// For each planned synchronisation the own call that it is, if any, and the number of pieces until it.
    fn matched(&self, plan: &GroupPlan) -> Vec<(Option<OwnAnchor>, usize)> {
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

/// A location with the entries of a plan, and again with one entry for each stretch.
pub(super) struct Cut {
    pub fine: One,
    pub coarse: One,
}

/// An entry of one location.
#[derive(Debug, Clone, Copy)]
struct PlannedEntry {
    region: RegionId,
    call_path: Option<CallPathId>,
    in_anchors: Ticks,
    enter: Ticks,
    end: Ticks,
    n_pieces: usize,
}

impl PhasesLocal {
    /// The location as a group of one; all its pieces have ended.
    pub(super) fn into_cut(
        mut self,
        plan: &GroupPlan,
        location: LocationId,
        span: (Ticks, Ticks),
    ) -> Option<Cut> {
        let mut planned = self.planned.take()?;
        let n_pieces = planned.ends.len();
        // The location ended before the rest of the plan.
        planned.passed.resize(plan.anchors.len(), n_pieces);
        let entries = entries(&planned, plan, span);
        let fine = self.one(plan, &entries, |_| true, location, span);
        let coarse = self.one(plan, &entries, |i| plan.anchors[i].ends_stretch, location, span);
        Some(Cut { fine, coarse })
    }

    /// The location with those of the entries that `is_kept` says; the others are part of the next.
    fn one(
        &self,
        plan: &GroupPlan,
        entries: &[PlannedEntry],
        is_kept: impl Fn(usize) -> bool,
        location: LocationId,
        span: (Ticks, Ticks),
    ) -> One {
        let mut kept: Vec<EntryState> = Vec::new();
        let mut until: Vec<usize> = Vec::new();
        let (mut start, mut in_anchors, mut hash) = (span.0, Ticks(0), SequenceHash::EMPTY);
        for (i, entry) in entries.iter().enumerate() {
            in_anchors += entry.in_anchors;
            hash.push(entry.region);
            if !is_kept(i) {
                continue;
            }
            let call_path = entry.call_path.map(|path| (path, location));
            let (call_path, at) = call_path.unwrap_or((CallPathTree::ROOT, NOWHERE));
            kept.push(EntryState {
                anchor: Some((entry.region, call_path, at)),
                hash: std::mem::replace(&mut hash, SequenceHash::EMPTY),
                in_anchors: Some(Spread::one(std::mem::take(&mut in_anchors), location)),
                start,
                end: entry.end,
                last_enter: entry.enter,
            });
            until.push(entry.n_pieces);
            start = entry.end;
        }
        let last = EntryState {
            anchor: None,
            hash,
            in_anchors: None,
            start: start.min(span.1),
            end: span.1.max(start),
            last_enter: Ticks(0),
        };
        kept.push(last);
        let cells = self.cells_of_entries(&until);
        let n_anchors = (plan.anchors.len() as u64, location);
        let tails = tails(&cells, kept.len() - 1, self.times.len());
        let of_root = cells.iter().filter(|cell| cell.key.1 == CallPathTree::ROOT && cell.key.2);
        let times = of_root.map(|cell| (cell.key.0, cell.inclusive, cell.exclusive));
        let rows = vec![PeerRow::new(location, kept.len(), self.n_peers, times).with(self.program_times())];
        let entries = Aligned {
            locations: vec![location],
            span,
            n_anchors: (n_anchors, n_anchors),
            is_complete: true,
            entries: kept,
            cells: Vec::new(),
            tails: Vec::new(),
            rows,
        };
        One { location, entries, cells, tails }
    }

    /// The cells of pieces as those of entries: entry `i` has the pieces up to `until[i]`, and one more entry the rest.
    fn cells_of_entries(&self, until: &[usize]) -> Vec<OneCell> {
        let zero = |key: CellKey| OneCell {
            key,
            n_visits: 0,
            inclusive: Ticks(0),
            exclusive: Ticks(0),
            busy: Ticks(0),
        };
        // An entry without a piece has no time, but it is there.
        let roots = (0..=until.len() as u32)
            .flat_map(|entry| [false, true].map(|is_busy| zero((entry, CallPathTree::ROOT, is_busy))));
        let entry_of = |piece: u32| until.partition_point(|&n_pieces| n_pieces <= piece as usize) as u32;
        let moved = self.cells.iter().map(|cell| {
            let (piece, call_path, subset) = cell.key;
            OneCell { key: (entry_of(piece), call_path, subset), ..*cell }
        });
        let mut cells: Vec<OneCell> = roots.chain(moved).collect();
        super::local::join_equal_cells(&mut cells);
        cells
    }
}

/// The entries of a location, without the last.
fn entries(planned: &Planned, plan: &GroupPlan, span: (Ticks, Ticks)) -> Vec<PlannedEntry> {
    let end_of = |n_pieces: usize| n_pieces.checked_sub(1).map_or(span.0, |last| planned.ends[last]);
    let mut start = span.0;
    let mut of = |(&PlannedAnchor { region, .. }, (own, n_pieces)): (_, (Option<OwnAnchor>, usize))| {
        let end = end_of(n_pieces).min(span.1).max(start);
        // Calls may be cut into several by samples, or go on after the end.
        let first = planned.own.partition_point(|own| own.leave <= start);
        let inside = planned.own[first..].iter().take_while(|own| own.enter < end);
        let inside = inside.filter(|own| own.region == region);
        let in_anchors = inside.map(|own| own.leave.min(end).since(own.enter.max(start))).sum();
        let enter = own.map_or(end, |own| own.enter.max(start).min(end));
        start = end;
        PlannedEntry { region, call_path: own.map(|own| own.call_path), in_anchors, enter, end, n_pieces }
    };
    plan.anchors.iter().zip(planned.matched(plan)).map(&mut of).collect()
}
