//! Calls of one track that overlap without being nested, laid out in lanes whose calls are.
//!
//! A call goes to the first lane in which it lies inside the innermost open call, or after it. On streams nothing
//! is inside of anything: kernels that run at the same time always get lanes of their own. Begins and ends without
//! lengths stay in the first lane; if a call with a length does not nest with them, all such calls leave that lane.
//! Law: no call is dropped or moved; only beyond [`LANES_MAX`] calls are cut short, and counted.

use super::record::{RecordKind, TrackRecord};

/// Most lanes of a track. Real traces need some dozen; finding a lane takes time in their number.
pub(super) const LANES_MAX: usize = 512;

/// An open call.
#[derive(Debug, Clone, Copy)]
struct OpenInLane {
    at_ns: i64,
    /// What lies inside ends by then. `i64::MAX` if the end is not known.
    limit_ns: i64,
    is_begin: bool,
    /// Its number among the calls of the lane.
    call: u64,
}

#[derive(Debug, Default)]
struct LaneState {
    open: Vec<OpenInLane>,
    n_calls: u64,
}

/// How the records of a track are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TrackLayout {
    /// Whether calls may be inside of each other.
    pub nests: bool,
    /// Whether begins and ends have the first lane for themselves.
    pub is_split: bool,
}

/// Where a call or a flow belongs: a lane, and the number of the call in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LanePlace {
    pub lane: usize,
    pub call: u64,
}

/// The lanes, while records come in order.
#[derive(Debug)]
pub(super) struct TrackLanes {
    layout: TrackLayout,
    lanes: Vec<LaneState>,
    /// Ends without a begin.
    pub n_unmatched: u64,
    /// Calls cut short.
    pub n_cut: u64,
}

/// Begins and ends do not nest with the calls that have a length: lay out anew, split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Conflict;

impl TrackLanes {
    pub fn new(layout: TrackLayout) -> Self {
        TrackLanes { layout, lanes: vec![LaneState::default()], n_unmatched: 0, n_cut: 0 }
    }

    /// Number of lanes so far.
    pub fn len(&self) -> usize {
        self.lanes.len()
    }

    /// Places a begin, an end or a call with a length; the latter may be cut. `None` for an end without a begin.
    pub fn place(&mut self, record: &mut TrackRecord) -> Result<Option<LanePlace>, Conflict> {
        match record.kind {
            RecordKind::Begin => self.begin(record.at_ns).map(Some),
            RecordKind::End => self.end(record.at_ns),
            _ => self.slice(record).map(Some),
        }
    }

    fn begin(&mut self, at_ns: i64) -> Result<LanePlace, Conflict> {
        let lane = &mut self.lanes[0];
        lane.close_until(at_ns)?;
        let limit_ns = lane.open.last().map_or(i64::MAX, |top| top.limit_ns);
        Ok(lane.push(0, at_ns, limit_ns, true))
    }

    fn end(&mut self, at_ns: i64) -> Result<Option<LanePlace>, Conflict> {
        let lane = &mut self.lanes[0];
        lane.close_until(at_ns)?;
        match lane.open.last() {
            Some(top) if top.is_begin => {
                let call = top.call;
                lane.open.pop();
                Ok(Some(LanePlace { lane: 0, call }))
            }
            Some(_) if lane.open.iter().any(|open| open.is_begin) => Err(Conflict),
            _ => {
                self.n_unmatched += 1;
                Ok(None)
            }
        }
    }

    fn slice(&mut self, record: &mut TrackRecord) -> Result<LanePlace, Conflict> {
        let (at_ns, end_ns) = (record.at_ns, record.end_ns());
        let first = usize::from(self.layout.is_split);
        if !self.layout.is_split {
            self.lanes[0].close_until(at_ns)?;
        }
        for (i, lane) in self.lanes.iter_mut().enumerate().skip(first) {
            if i != 0 {
                lane.close_until(at_ns)?;
            }
            let fits = match lane.open.last() {
                None => true,
                Some(top) => self.layout.nests && end_ns <= top.limit_ns,
            };
            if fits {
                return Ok(lane.push(i, at_ns, end_ns, false));
            }
        }
        if self.lanes.len() < LANES_MAX {
            self.lanes.push(LaneState::default());
            let i = self.lanes.len() - 1;
            return Ok(self.lanes[i].push(i, at_ns, end_ns, false));
        }
        let i = LANES_MAX - 1;
        let limit_ns = self.lanes[i].open.last().map_or(end_ns, |top| top.limit_ns.min(end_ns));
        record.length_ns = limit_ns - at_ns;
        self.n_cut += 1;
        Ok(self.lanes[i].push(i, at_ns, limit_ns, false))
    }

    /// The innermost call around `at_ns` over all lanes: the one that began last.
    pub fn around(&self, at_ns: i64) -> Option<(LanePlace, i64)> {
        let mut found: Option<(LanePlace, i64)> = None;
        for (i, lane) in self.lanes.iter().enumerate() {
            let open = lane.open.iter().rev().find(|open| at_ns <= open.limit_ns);
            if let Some(open) = open.filter(|open| found.is_none_or(|(_, begin_ns)| begin_ns < open.at_ns)) {
                found = Some((LanePlace { lane: i, call: open.call }, open.at_ns));
            }
        }
        found
    }

    /// Checks that what is still open can be closed from the inside out.
    pub fn finish(&self) -> Result<(), Conflict> {
        let is_trapped = |open: &OpenInLane| open.is_begin && open.limit_ns != i64::MAX;
        if self.lanes[0].open.iter().any(is_trapped) { Err(Conflict) } else { Ok(()) }
    }
}

impl LaneState {
    /// Closes calls that have ended.
    fn close_until(&mut self, at_ns: i64) -> Result<(), Conflict> {
        while let Some(top) = self.open.last() {
            if at_ns < top.limit_ns || (top.is_begin && at_ns == top.limit_ns) {
                break;
            }
            if top.is_begin {
                if top.limit_ns == i64::MAX {
                    break;
                }
                return Err(Conflict);
            }
            self.open.pop();
        }
        Ok(())
    }

    fn push(&mut self, lane: usize, at_ns: i64, limit_ns: i64, is_begin: bool) -> LanePlace {
        let call = self.n_calls;
        self.n_calls += 1;
        self.open.push(OpenInLane { at_ns, limit_ns, is_begin, call });
        LanePlace { lane, call }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lanes of calls `(at, length)`; a length of -1 is a begin, of -2 an end.
    fn lanes(nests: bool, is_split: bool, calls: &[(i64, i64)]) -> Result<Vec<usize>, Conflict> {
        let mut lanes = TrackLanes::new(TrackLayout { nests, is_split });
        let mut found = Vec::new();
        for &(at_ns, length) in calls {
            let kind = match length {
                -1 => RecordKind::Begin,
                -2 => RecordKind::End,
                _ => RecordKind::Slice,
            };
            let mut record =
                TrackRecord { at_ns, length_ns: length.max(0), link: 0, what: 0, kind, shape: 0 };
            found.push(lanes.place(&mut record)?.map_or(99, |place| place.lane));
        }
        lanes.finish()?;
        Ok(found)
    }

    #[test]
    fn what_is_nested_stays_together_and_what_overlaps_does_not() {
        let check = |nests, calls: &[(i64, i64)], wanted: &[usize]| {
            assert_eq!(lanes(nests, false, calls).unwrap(), wanted, "{calls:?}");
        };
        check(true, &[(0, 10), (2, 3), (5, 5), (10, 4)], &[0, 0, 0, 0]);
        check(true, &[(0, 10), (5, 10), (6, 2), (15, 1)], &[0, 1, 0, 0]);
        check(false, &[(0, 10), (5, 2), (6, 10), (10, 1)], &[0, 1, 2, 0]);
        check(true, &[(0, -1), (0, 2), (2, -2), (2, -2)], &[0, 0, 0, 99]);
    }

    #[test]
    fn begins_that_do_not_nest_with_lengths_get_the_first_lane() {
        for calls in [
            &[(0, -1), (5, 10), (8, -2), (9, -1), (20, -2)][..],
            &[(0, 10), (5, -1), (15, -2)],
            &[(0, 10), (5, -1)],
        ] {
            assert_eq!(lanes(true, false, calls), Err(Conflict), "{calls:?}");
            assert!(lanes(true, true, calls).is_ok(), "{calls:?}");
        }
        assert_eq!(lanes(true, true, &[(0, -1), (5, 10), (8, -2)]).unwrap(), [0, 1, 0]);
    }

    #[test]
    fn too_many_lanes_cut_calls_short_and_say_so() {
        let mut lanes = TrackLanes::new(TrackLayout { nests: true, is_split: false });
        for i in 0..(LANES_MAX as i64 + 5) {
            let mut record = TrackRecord {
                at_ns: i,
                length_ns: 10_000,
                link: 0,
                what: 0,
                kind: RecordKind::Slice,
                shape: 0,
            };
            assert!(lanes.place(&mut record).unwrap().is_some());
        }
        assert_eq!((lanes.len(), lanes.n_cut), (LANES_MAX, 5));
    }
}
