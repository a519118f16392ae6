//! A location that was cut into pieces, with the entries of a plan.
//!
//! Law: entries have all the time of the location, and every location has those of the plan.

use super::by_peer::{PeerRow, ProgramTimes};
use super::cells::{join_equal_cells, tails};
use super::plan::{GroupPlan, PlannedAnchor};
use super::planned::{OwnAnchor, Planned};
use super::state::{Aligned, EntryState, One, OneCell, SequenceHash, Spread};
use ouzel_engine::roomy;
use ouzel_model::{CallPathId, CallPathTree, LocationId, RegionId, Ticks};

/// Who stands in for the location whose call path is shown: one that was not there. Every other comes before it.
const NOWHERE: LocationId = LocationId(u32::MAX);

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

/// The pieces of a location, all of which have ended.
pub(super) struct Pieces {
    pub planned: Planned,
    /// By piece.
    pub cells: Vec<OneCell>,
    /// Bounds the call paths.
    pub n_slots: usize,
    pub n_peers: usize,
    pub program: ProgramTimes,
}

/// The location as a group of one.
pub(super) fn cut(mut pieces: Pieces, plan: &GroupPlan, location: LocationId, span: (Ticks, Ticks)) -> Cut {
    pieces.planned.end(plan);
    let entries = entries(&pieces.planned, plan, span);
    let fine = pieces.one(plan, &entries, |_| true, location, span);
    let coarse = pieces.one(plan, &entries, |i| plan.anchors[i].ends_stretch, location, span);
    Cut { fine, coarse }
}

impl Pieces {
    /// The location with those of the entries that `is_kept` says; the others are part of the next.
    fn one(
        &self,
        plan: &GroupPlan,
        entries: &[PlannedEntry],
        is_kept: impl Fn(usize) -> bool,
        location: LocationId,
        span: (Ticks, Ticks),
    ) -> One {
        let mut kept: Vec<EntryState> = roomy();
        let mut until: Vec<usize> = roomy();
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
        let tails = tails(&cells, kept.len() - 1, self.n_slots);
        let of_root = cells.iter().filter(|cell| cell.key.1 == CallPathTree::ROOT && cell.key.2);
        let times = of_root.map(|cell| (cell.key.0, cell.inclusive, cell.exclusive));
        let rows = vec![PeerRow::new(location, kept.len(), self.n_peers, times).with(self.program)];
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
        let mut cells = Vec::with_capacity(self.cells.len());
        let mut rest = self.cells.as_slice();
        let mut joined = roomy();
        for (entry, end) in (0..).zip(until.iter().copied().chain([usize::MAX])) {
            let (own, behind) = rest.split_at(rest.partition_point(|cell| (cell.key.0 as usize) < end));
            rest = behind;
            let of_entry = own.iter().map(|cell| OneCell { key: (entry, cell.key.1, cell.key.2), ..*cell });
            match own {
                // An entry without a piece has no time, but it is there.
                [] => cells
                    .extend([false, true].map(|is_busy| OneCell::zero((entry, CallPathTree::ROOT, is_busy)))),
                [first, .., last] if first.key.0 < last.key.0 => {
                    joined.extend(of_entry);
                    join_equal_cells(&mut joined);
                    cells.append(&mut joined);
                }
                _ => cells.extend(of_entry),
            }
        }
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
