//! State while one location is folded: its open calls, and the times of the current entry.
//!
//! ```text
//! rows ──walk──► times by call path ──end of an anchor──► cells of the entry
//! ```
//!
//! All events of the location are read, so its n-th anchor is the n-th whatever is selected. With a time range, the
//! clock does not run before its start and after its end: entries outside of it take no time.
//!
//! Law: when an entry ends, a call that is open gives it the time since it was entered or since the
//! entry began, and goes on as if entered now; so inclusive times of a call path add up over entries.

use super::anchors::{AnchorRules, Flags};
use super::by_peer::{PeerRow, ProgramTimes};
use super::cells::{join_equal_cells, tails};
use super::cut::{Cut, Pieces, cut};
use super::plan::GroupPlan;
use super::planned::Planned;
use super::state::{Aligned, EntryState, GroupKey, MAX_ENTRIES, One, OneCell, SequenceHash, Spread};
use ouzel_engine::{LocationCx, Selected, roomy};
use ouzel_model::{CallPathId, CallPathTree, EventChunk, EventKind, LocationId, RegionId, Ticks};

/// An open call.
#[derive(Debug, Clone, Copy)]
struct Frame {
    /// The call path as it is shown.
    call_path: CallPathId,
    /// The region as recorded.
    region: RegionId,
    /// Whether `[filtered]` is shown in its place.
    is_hidden: bool,
    /// Whether that `[filtered]` also replaces its caller.
    is_joined: bool,
    /// Whether it was entered in the time range.
    is_inside: bool,
    flags: Flags,
    /// When it was entered, or when the entry began.
    since: Ticks,
    /// When it was entered, on the clock that only runs in the time range.
    enter: Ticks,
    /// When it was entered.
    entered: Ticks,
    /// Time in callees that have ended, since `since`.
    in_callees: Ticks,
    /// What [`Under::waiting`] was then.
    waiting_before: Ticks,
}

/// Times of one call path in the current entry.
#[derive(Debug, Clone, Copy, Default)]
struct EntryTimes {
    is_touched: bool,
    n_visits: u64,
    n_stays: u64,
    /// When the last visit ended.
    left: Ticks,
    inclusive: u64,
    exclusive: u64,
    busy: u64,
}

/// A complete entry.
#[derive(Debug, Clone, Copy)]
struct LocalEntry {
    anchor: (RegionId, CallPathId),
    hash: SequenceHash,
    in_anchors: Ticks,
    enter: Ticks,
    end: Ticks,
}

/// One location while it is folded.
#[derive(Debug)]
pub struct PhasesLocal {
    /// Peer group; `None` if the location has no peers.
    pub(super) group: Option<u8>,
    /// Members of the group.
    n_peers: usize,
    /// Which of the events count.
    selected: Selected,
    /// Whether calls are recorded beside samples, so that entries begin and end at exact times.
    cuts_exactly: bool,
    /// Whether a call counts.
    has_calls: bool,
    frames: Vec<Frame>,
    /// Open calls inside of a call whose callees are ignored, itself included.
    n_inside_leaf: u32,
    /// By twice the call path, plus one if the call left peers out.
    times: Vec<EntryTimes>,
    touched: Vec<u32>,
    /// When the first call was entered.
    first: Option<Ticks>,
    entry: Under,
    /// Useful time of the entries that have ended.
    useful: u64,
    program: ProgramTimes,
    /// s: entries are 2^s phases long.
    log_phases: u8,
    n_anchors: u64,
    entries: Vec<LocalEntry>,
    cells: Vec<OneCell>,
    /// Whether a plan is to say where to cut: samples miss synchronisations. Until then, none is one of all peers.
    awaits_plan: bool,
    /// If a plan says where to cut; then there are no entries before the end, and cells are those of pieces.
    planned: Option<Planned>,
}

/// The current entry.
#[derive(Debug, Clone, Copy)]
struct Under {
    hash: SequenceHash,
    start: Ticks,
    /// Time in outermost calls that have ended, since `start`.
    in_calls: Ticks,
    /// Time in anchors that have ended, since `start`.
    in_anchors: Ticks,
    /// Time of calls that wait or synchronise, without their callees, since `start`.
    waiting: Ticks,
    /// Time that is not useful, since `start`.
    idle: Ticks,
}

impl PhasesLocal {
    pub(super) fn new(group: Option<u8>, n_peers: usize, cx: &LocationCx<'_>) -> Self {
        PhasesLocal {
            group,
            n_peers,
            selected: cx.selected,
            cuts_exactly: cx.completes_calls,
            has_calls: false,
            frames: roomy(),
            n_inside_leaf: 0,
            times: roomy(),
            touched: roomy(),
            first: None,
            entry: Under {
                hash: SequenceHash::EMPTY,
                start: Ticks(0),
                in_calls: Ticks(0),
                in_anchors: Ticks(0),
                waiting: Ticks(0),
                idle: Ticks(0),
            },
            useful: 0,
            program: ProgramTimes::default(),
            log_phases: 0,
            n_anchors: 0,
            entries: roomy(),
            cells: roomy(),
            awaits_plan: cx.has_sampled_calls && !cx.completes_calls,
            planned: None,
        }
    }

    /// The same, cut by a plan; `period` is the sampling period of the location.
    pub(super) fn planned(self, period: Ticks) -> Self {
        PhasesLocal { planned: Some(Planned::new(period)), ..self }
    }

    /// Adds a chunk.
    pub(super) fn walk(&mut self, rules: &AnchorRules, plan: Option<&GroupPlan>, chunk: &EventChunk<'_>) {
        let mut collectives = chunk.collectives.iter();
        let regions = chunk.region.iter().zip(chunk.regions_shown());
        let calls = regions.zip(chunk.paths_shown());
        for ((&at, &kind), ((&region, shown), &call_path)) in chunk.time.iter().zip(chunk.kind).zip(calls) {
            // Which other events are there depends on what other analyses need.
            if let (Some(plan), EventKind::Enter | EventKind::Leave) = (plan, kind) {
                self.cut_by(plan, at, kind == EventKind::Enter);
            }
            match kind {
                EventKind::Enter => {
                    let (flags, is_hidden) = (rules.flags(region), region != *shown);
                    let flags = if is_hidden { rules.of_hidden(flags) } else { flags };
                    self.enter(at, (region, call_path), flags, is_hidden);
                }
                EventKind::Leave => self.leave(plan, at),
                EventKind::CollectiveEnd => {
                    let Some(collective) = collectives.next() else { continue };
                    let Some(frame) = self.frames.last_mut() else { continue };
                    if frame.flags.has(Flags::SYNC) && collective.request.is_none() {
                        frame.flags = frame.flags.union(rules.recorded(collective.comm));
                    }
                }
                _ => {}
            }
        }
    }

    /// The time on a clock that only runs in the time range.
    #[inline]
    fn clock(&self, at: Ticks) -> Ticks {
        self.selected.window.map_or(at, |window| at.max(window.start).min(window.end))
    }

    #[inline]
    fn enter(
        &mut self,
        at: Ticks,
        (region, call_path): (RegionId, CallPathId),
        flags: Flags,
        is_hidden: bool,
    ) {
        if 0 < self.n_inside_leaf {
            self.n_inside_leaf += 1;
            return;
        }
        let is_inside = self.selected.has(at);
        let entered = at;
        let at = self.clock(at);
        if self.first.is_none() {
            self.first = Some(at);
            self.entry.start = at;
        }
        self.n_inside_leaf = u32::from(flags.has(Flags::LEAF));
        let is_idle = self.frames.last().is_some_and(|caller| caller.flags.has(Flags::IDLE));
        let flags = if is_idle { flags.union(Flags::IDLE) } else { flags };
        if flags.has(Flags::ENDS) && self.program.end.is_none() {
            self.program.end = Some((at, self.useful_until(at)));
        }
        let is_joined = is_hidden && self.frames.last().is_some_and(|caller| caller.call_path == call_path);
        self.frames.push(Frame {
            call_path,
            region,
            is_hidden,
            is_joined,
            is_inside,
            flags,
            since: at,
            enter: at,
            entered,
            in_callees: Ticks(0),
            waiting_before: self.entry.waiting,
        });
    }

    /// Ends the pieces that a plan wants to end before an event.
    #[inline]
    fn cut_by(&mut self, plan: &GroupPlan, at: Ticks, enters: bool) {
        while let Some(cut) = self.planned.as_mut().and_then(|planned| planned.cut_before(plan, at, enters)) {
            self.end_piece(cut);
            if let Some(planned) = &mut self.planned {
                planned.pass();
            }
        }
    }

    /// Ends a piece, unless one ends there already.
    fn end_piece(&mut self, at: Ticks) {
        if self.planned.as_ref().is_some_and(|planned| !planned.has_ended(at)) {
            let shown = self.clock(at);
            self.end_entry(shown);
            if let Some(planned) = &mut self.planned {
                planned.end_piece(at);
            }
        }
    }

    /// Marks the call that ends at `at` if it synchronises, and is none of the planned synchronisations: none is before
    /// there is a plan.
    fn mark_subset(&mut self, plan: Option<&GroupPlan>, at: Ticks) {
        let Some(frame) = self.frames.last_mut().filter(|frame| frame.flags.has(Flags::SYNC)) else { return };
        let planned = plan.zip(self.planned.as_ref());
        if !planned.is_some_and(|(plan, planned)| planned.is_common(plan, frame.region, frame.entered, at)) {
            frame.flags = frame.flags.union(Flags::RECORDED_SUBSET);
        }
    }

    #[inline]
    fn leave(&mut self, plan: Option<&GroupPlan>, at: Ticks) {
        if 1 < self.n_inside_leaf {
            self.n_inside_leaf -= 1;
            return;
        }
        self.n_inside_leaf = 0;
        if plan.is_some() || self.awaits_plan {
            self.mark_subset(plan, at);
        }
        // Frames stay where they are: copies of what was written just now would be slow.
        let Some(frame) = self.frames.last() else { return };
        let left = at;
        let at = self.clock(at);
        let inclusive = at.since(frame.since);
        if frame.is_inside || frame.enter < at {
            self.has_calls = true;
            let entry = (&mut self.entry, &mut self.touched);
            add(&mut self.times, entry, frame, inclusive, at).n_visits += u64::from(!frame.is_joined);
        }
        let flags = frame.flags;
        let anchor = flags.is_anchor().then_some(*frame);
        self.frames.pop();
        match self.frames.last_mut() {
            Some(caller) => caller.in_callees += inclusive,
            None => self.entry.in_calls += inclusive,
        }
        if flags.has(Flags::STARTS) && self.program.start.is_none() {
            self.program.start = Some((at, self.useful_until(at)));
        }
        match anchor {
            Some(anchor) if self.planned.is_some() => self.end_planned(&anchor, left),
            Some(anchor) => self.end_phase(&anchor, at),
            None => {}
        }
    }

    /// Useful time from the first call to `at`, outside of calls that are not useful.
    fn useful_until(&self, at: Ticks) -> Ticks {
        Ticks(self.useful + at.since(self.entry.start).since(self.entry.idle).0)
    }

    /// When the location is in the parallel program; after all of its events.
    fn program_times(&self) -> ProgramTimes {
        ProgramTimes { useful: Ticks(self.useful), ..self.program }
    }

    /// An anchor has ended, which may be a planned synchronisation.
    fn end_planned(&mut self, anchor: &Frame, at: Ticks) {
        if self.planned.as_ref().is_some_and(Planned::has_room) {
            self.end_piece(at);
        }
        if let Some(planned) = &mut self.planned {
            planned.left((anchor.region, anchor.call_path), anchor.entered, at);
        }
    }

    #[inline(never)]
    fn end_phase(&mut self, anchor: &Frame, at: Ticks) {
        self.entry.hash.push(anchor.region);
        self.entry.in_anchors += at.since(anchor.enter);
        self.n_anchors += 1;
        let phases = 1_u64 << self.log_phases;
        if !self.n_anchors.is_multiple_of(phases) {
            return;
        }
        self.end_entry(at);
        self.entries.push(LocalEntry {
            anchor: (anchor.region, anchor.call_path),
            hash: std::mem::replace(&mut self.entry.hash, SequenceHash::EMPTY),
            in_anchors: std::mem::take(&mut self.entry.in_anchors),
            enter: anchor.enter,
            end: at,
        });
        if MAX_ENTRIES <= self.entries.len() as u64 {
            self.coarsen();
        }
    }

    /// Moves the times of the current entry into cells.
    fn end_entry(&mut self, at: Ticks) {
        let mut inside = Ticks(0);
        for depth in (0..self.frames.len()).rev() {
            let frame = &mut self.frames[depth];
            frame.in_callees += inside;
            inside = at.since(frame.since);
            let frame = *frame;
            if self.selected.window.is_none() || 0 < inside.0 {
                let spans = self.cuts_exactly && frame.since == self.entry.start;
                let entry = (&mut self.entry, &mut self.touched);
                add(&mut self.times, entry, &frame, inside, at).n_stays -= u64::from(spans);
            }
            let frame = &mut self.frames[depth];
            (frame.since, frame.in_callees, frame.waiting_before) = (at, Ticks(0), Ticks(0));
        }
        let n_ended = self.planned.as_ref().map_or(self.entries.len(), Planned::n_pieces);
        let entry = n_ended as u32;
        let whole = at.since(self.entry.start);
        let outside = whole.since(self.entry.in_calls).since(inside);
        let (busy, useful) = (whole.since(self.entry.waiting), whole.since(self.entry.idle));
        self.useful += useful.0;
        self.cells.push(OneCell {
            key: (entry, CallPathTree::ROOT, false),
            n_visits: 0,
            n_stays: 1,
            inclusive: whole,
            exclusive: outside,
            busy,
        });
        self.cells.push(OneCell {
            key: (entry, CallPathTree::ROOT, true),
            n_visits: 0,
            n_stays: 1,
            inclusive: busy,
            exclusive: useful,
            busy,
        });
        self.touched.sort_unstable();
        for slot in self.touched.drain(..) {
            let times = std::mem::take(&mut self.times[slot as usize]);
            self.cells.push(OneCell {
                key: (entry, CallPathId(slot / 2), slot % 2 == 1),
                n_visits: times.n_visits,
                n_stays: times.n_stays,
                inclusive: Ticks(times.inclusive),
                exclusive: Ticks(times.exclusive),
                busy: Ticks(times.busy),
            });
        }
        self.entry.start = at;
        self.entry.in_calls = Ticks(0);
        self.entry.waiting = Ticks(0);
        self.entry.idle = Ticks(0);
    }

    /// Makes entries twice as long.
    #[cold]
    fn coarsen(&mut self) {
        self.log_phases += 1;
        let join = |pair: &[LocalEntry]| LocalEntry {
            hash: pair[0].hash.join(pair[1].hash),
            in_anchors: pair[0].in_anchors + pair[1].in_anchors,
            ..pair[1]
        };
        self.entries = self.entries.chunks_exact(2).map(join).collect();
        self.cells.iter_mut().for_each(|cell| cell.key.0 /= 2);
        join_equal_cells(&mut self.cells);
    }

    /// The location as a group of one; `None` if it has no calls. `span` is that of all its events in the time range.
    pub(super) fn finish(mut self, location: LocationId, span: (Ticks, Ticks)) -> Option<(GroupKey, One)> {
        let group = self.group?;
        let lead = self.lead(span)?;
        self.end_entry(span.1);
        self.add_lead(lead);
        Some(((group, self.log_phases), self.into_one(location, span)))
    }

    /// The same, cut by a plan.
    pub(super) fn finish_planned(
        mut self,
        plan: &GroupPlan,
        location: LocationId,
        span: (Ticks, Ticks),
    ) -> Option<(u8, Cut)> {
        let group = self.group?;
        let lead = self.lead(span)?;
        self.end_entry(span.1);
        if let Some(planned) = &mut self.planned {
            planned.end_piece(span.1);
        }
        self.add_lead(lead);
        let pieces = Pieces {
            program: self.program_times(),
            planned: self.planned.take()?,
            cells: self.cells,
            n_slots: self.times.len(),
            n_peers: self.n_peers,
        };
        Some((group, cut(pieces, plan, location, span)))
    }

    /// Time before the first call; `None` without a call.
    fn lead(&self, span: (Ticks, Ticks)) -> Option<Ticks> {
        Some(self.first.filter(|_| self.has_calls)?.since(span.0))
    }

    /// Adds the time before the first call to the first entry.
    fn add_lead(&mut self, lead: Ticks) {
        for root in self.cells.iter_mut().take_while(|root| root.key.1 == CallPathTree::ROOT) {
            root.inclusive += lead;
            root.exclusive += lead;
            root.busy += lead;
        }
        self.useful += lead.0;
        for border in [&mut self.program.start, &mut self.program.end].into_iter().flatten() {
            border.1 += lead;
        }
    }

    /// The location as a group of one.
    fn into_one(self, location: LocationId, span: (Ticks, Ticks)) -> One {
        let mut start = span.0;
        let mut entries: Vec<EntryState> = Vec::with_capacity(self.entries.len() + 1);
        for entry in &self.entries {
            let (region, call_path) = entry.anchor;
            entries.push(EntryState {
                anchor: Some((region, call_path, location)),
                hash: entry.hash,
                in_anchors: Some(Spread::one(entry.in_anchors, location)),
                start,
                end: entry.end,
                last_enter: entry.enter,
            });
            start = entry.end;
        }
        entries.push(EntryState {
            anchor: None,
            hash: self.entry.hash,
            in_anchors: None,
            start,
            end: span.1,
            last_enter: Ticks(0),
        });
        let count = (self.n_anchors, location);
        let tails = tails(&self.cells, entries.len() - 1, self.times.len());
        // Busy and useful time are passed as a second cell of the root.
        let of_root = self.cells.iter().filter(|cell| cell.key.1 == CallPathTree::ROOT && cell.key.2);
        let times = of_root.map(|cell| (cell.key.0, cell.inclusive, cell.exclusive));
        let rows =
            vec![PeerRow::new(location, entries.len(), self.n_peers, times).with(self.program_times())];
        let entries = Aligned {
            locations: vec![location],
            span,
            n_anchors: (count, count),
            is_complete: true,
            entries,
            cells: Vec::new(),
            tails: Vec::new(),
            rows,
        };
        One { location, entries, cells: self.cells, tails }
    }
}

/// Adds time of a call to that of its call path in the current entry, which has touched some.
#[inline]
fn add<'t>(
    all: &'t mut Vec<EntryTimes>,
    (entry, touched): (&mut Under, &mut Vec<u32>),
    frame: &Frame,
    inclusive: Ticks,
    at: Ticks,
) -> &'t mut EntryTimes {
    let slot = frame.call_path.index() * 2 + usize::from(frame.flags.is_subset() && !frame.is_hidden);
    if all.len() <= slot {
        all.resize((slot + 1).next_power_of_two(), EntryTimes::default());
    }
    let times = &mut all[slot];
    if !times.is_touched {
        times.is_touched = true;
        touched.push(slot as u32);
        times.n_stays += 1;
    } else if times.left != frame.since {
        times.n_stays += 1;
    }
    times.left = at;
    let exclusive = inclusive.since(frame.in_callees);
    if frame.flags.has(Flags::WAITS) {
        entry.waiting += exclusive;
    }
    times.exclusive += exclusive.0;
    if !frame.is_joined {
        times.inclusive += inclusive.0;
        times.busy += inclusive.since(entry.waiting.since(frame.waiting_before)).0;
    }
    if frame.flags.has(Flags::IDLE.union(Flags::WAITS)) {
        entry.idle += exclusive;
    }
    times
}
