//! From raw events of a location to properly nested ones.
//!
//! The stack of open calls lives here, once for all analyses. Rules for exact traces:
//! a leave closes the nearest open call of its region and every call above it at the
//! same time (*truncated*); a leave without open call is dropped (*unmatched*); calls
//! open at the end are closed at the last time stamp (*open*). Each is counted.
//! The user's filter is applied here, too: calls that reach over a border of the time
//! range are clipped, regions that are not selected become `[filtered]`, and directly
//! nested `[filtered]` calls become one. Listings may keep calls that reach over a border
//! whole: their enters then come before the range and their leaves after it; other events never do.
//! For analyses that see more than is selected, calls that are not selected are marked
//! in their paths and keep their rows.
//!
//! Law: rows that leave this module are nested; rows that need no repair pass through
//! the fast loop untouched.

use crate::room::roomy;
use crate::verdicts::Verdicts;
use ouzel_model::{
    Borders, CallPathId, CallPathTree, ChunkBuffer, EventKind, Needs, RegionId, Ticks, TimeRange, Visit,
};

/// How the events of a location are cut to what is selected.
#[derive(Debug, Clone)]
pub(crate) struct Cut {
    /// Only events in this range.
    pub time: Option<TimeRange>,
    /// What becomes of calls that reach over one of its borders.
    pub borders: Borders,
    /// For each region whether it is shown; all are if `None`.
    pub regions: Option<Vec<bool>>,
    /// What becomes of calls that are not shown.
    pub hidden: Hidden,
}

/// What becomes of calls that are not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hidden {
    /// They become this region, once for those directly inside each other.
    BehindOne(RegionId),
    /// They keep rows and regions. Their paths mark them, see [`CallPathTree::hidden_child`], and separate columns hold
    /// what is shown, with this region in their place.
    Marked(RegionId),
}

/// Calls that had to be repaired.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Repairs {
    pub unmatched_leaves: u64,
    pub truncated_calls: u64,
    pub open_calls: u64,
}

/// An open call.
#[derive(Debug, Clone, Copy)]
struct Frame {
    /// The region as recorded: what a leave must name.
    region: RegionId,
    /// The region as shown.
    shown: RegionId,
    path: CallPathId,
    /// Whether it has rows of its own; else it is part of the `[filtered]` call below it.
    visible: bool,
    /// Whether it was entered after the time range: it has no rows, but callers that are shown whole need its time.
    behind: bool,
    enter: Ticks,
    in_callees: Ticks,
}

impl Frame {
    /// No call.
    const OUTSIDE: Frame = Frame {
        region: RegionId(u32::MAX),
        shown: RegionId(u32::MAX),
        path: CallPathTree::ROOT,
        visible: false,
        behind: false,
        enter: Ticks(0),
        in_callees: Ticks(0),
    };
}

/// The open calls of one location.
#[derive(Debug)]
pub(crate) struct Nesting<'p> {
    cut: &'p Cut,
    verdicts: Verdicts<'p>,
    needs: Needs,
    stack: Vec<Frame>,
    /// Whether the calls that were open at the start of the time range have their enters.
    started: bool,
    /// Whether the end of the time range was reached.
    ended: bool,
    /// Whether there is nothing left to read.
    finished: bool,
    last: Ticks,
    pub repairs: Repairs,
    input: Input,
    /// The stack of the fast loop, see [`nest_regular`].
    frames: Vec<Frame>,
    /// Region and path of each open call as they are shown, where hidden calls are marked.
    shown: Vec<(RegionId, CallPathId)>,
}

/// The base columns of the rows that the careful loop has yet to process.
#[derive(Debug, Default)]
struct Input {
    time: Vec<Ticks>,
    kind: Vec<EventKind>,
    region: Vec<RegionId>,
    /// New row of each old one; `u32::MAX` if it was left out.
    new_row: Vec<u32>,
}

impl<'p> Nesting<'p> {
    pub fn new(cut: &'p Cut, verdicts: Verdicts<'p>, needs: Needs) -> Self {
        Nesting {
            cut,
            verdicts,
            needs,
            stack: roomy(),
            started: cut.time.is_none(),
            ended: false,
            finished: false,
            last: Ticks(0),
            repairs: Repairs::default(),
            input: Input::default(),
            frames: roomy(),
            shown: roomy(),
        }
    }

    /// Whether rows pass unchanged, except for repairs.
    fn is_plain(&self) -> bool {
        self.cut.time.is_none() && self.cut.regions.is_none() && self.verdicts.is_all()
    }

    /// The region shown in place of marked calls, if there may be any.
    fn marks(&self) -> Option<RegionId> {
        match self.cut.hidden {
            Hidden::Marked(stand_in) if !self.is_plain() => Some(stand_in),
            _ => None,
        }
    }

    /// Whether the rest of the location is outside the selection.
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// Nests the rows of `buffer` and fills the derived columns.
    pub fn nest(&mut self, paths: &mut CallPathTree, buffer: &mut ChunkBuffer) {
        let records = buffer.span.map(|(_, last)| last);
        self.last = self.last.max(records.max(buffer.time.last().copied()).unwrap_or_default());
        let done = if self.is_plain() { self.nest_regular(paths, buffer) } else { 0 };
        if done < buffer.len() {
            self.nest_careful(paths, buffer, done);
        }
        // Records that no analysis needs have no row, but they, too, show that the range is over.
        if let Some(range) = self.cut.time.filter(|range| range.end <= self.last) {
            self.reach_end(buffer, range);
        }
    }

    /// The fast loop, for the requested columns. Returns the number of rows done.
    fn nest_regular(&mut self, paths: &mut CallPathTree, buffer: &mut ChunkBuffer) -> usize {
        let n_most = 1 + self.stack.len() + buffer.len();
        if self.frames.len() < n_most {
            self.frames.resize(n_most, Frame::OUTSIDE);
        }
        let depth = self.stack.len();
        self.frames[1..=depth].copy_from_slice(&self.stack);
        let frames = &mut self.frames[..n_most];
        let (done, depth) = match (self.needs.contains(Needs::CALL_PATHS), self.needs.contains(Needs::VISITS))
        {
            (false, false) => nest_regular::<false, false>(frames, depth, paths, buffer),
            (false, true) => nest_regular::<false, true>(frames, depth, paths, buffer),
            (true, false) => nest_regular::<true, false>(frames, depth, paths, buffer),
            (true, true) => nest_regular::<true, true>(frames, depth, paths, buffer),
        };
        self.stack.clear();
        self.stack.extend_from_slice(&self.frames[1..=depth]);
        done
    }

    /// The careful loop: rebuilds `buffer` from row `from` on.
    #[cold]
    fn nest_careful(&mut self, paths: &mut CallPathTree, buffer: &mut ChunkBuffer, from: usize) {
        let mut input = std::mem::take(&mut self.input);
        input.take_rows(buffer, from);
        for row in 0..input.time.len() {
            let (at, kind, region) = (input.time[row], input.kind[row], input.region[row]);
            let new_row = self.admit(paths, buffer, at, kind, region);
            input.new_row.push(new_row.unwrap_or(u32::MAX));
            if self.finished {
                break;
            }
        }
        input.new_row.resize(input.time.len(), u32::MAX);
        input.renumber(buffer, from);
        self.input = input;
    }

    /// One raw row; returns the row it became, if any.
    fn admit(
        &mut self,
        paths: &mut CallPathTree,
        buffer: &mut ChunkBuffer,
        at: Ticks,
        kind: EventKind,
        region: RegionId,
    ) -> Option<u32> {
        if let Some(range) = self.cut.time {
            if at >= range.end {
                self.reach_end(buffer, range);
                return if self.finished { None } else { self.admit_behind(paths, buffer, at, kind, region) };
            }
            // Only enters start the range at its first tick. A leave there ends a call that has no time inside, and
            // other kinds may or may not have a row: whether a call is seen must not depend on what others need.
            // A listing has only one reader; its rows must not come before enters of an earlier time.
            let starts = kind == EventKind::Enter || (self.keeps_whole() && kind != EventKind::Leave);
            if at > range.start || (at == range.start && starts) {
                self.start(buffer);
            }
        }
        match kind {
            EventKind::Enter => self.enter(paths, buffer, at, region),
            EventKind::Leave => self.leave(buffer, at, region),
            _ if self.cut.time.is_none_or(|range| range.start <= at) => {
                Some(self.emit(buffer, at, kind, region))
            }
            _ => None,
        }
    }

    /// A row after the time range, while calls that began before its end go on: only their leaves are shown.
    fn admit_behind(
        &mut self,
        paths: &mut CallPathTree,
        buffer: &mut ChunkBuffer,
        at: Ticks,
        kind: EventKind,
        region: RegionId,
    ) -> Option<u32> {
        match kind {
            EventKind::Enter => {
                self.enter(paths, buffer, at, region);
                None
            }
            EventKind::Leave => {
                let row = self.leave(buffer, at, region);
                self.finished = self.stack.is_empty();
                row
            }
            _ => None,
        }
    }

    fn keeps_whole(&self) -> bool {
        self.cut.borders == Borders::Keep
    }

    fn current(&self) -> CallPathId {
        self.stack.last().map_or(CallPathTree::ROOT, |frame| frame.path)
    }

    fn enter(
        &mut self,
        paths: &mut CallPathTree,
        buffer: &mut ChunkBuffer,
        at: Ticks,
        region: RegionId,
    ) -> Option<u32> {
        let Cut { regions, hidden: as_what, .. } = self.cut;
        let passes = self.verdicts.enter(region);
        let hidden = !passes
            || regions.as_ref().is_some_and(|kept| !kept.get(region.index()).copied().unwrap_or(false));
        let behind = self.ended;
        let (shown, joins) = match as_what {
            Hidden::BehindOne(stand_in) if hidden => {
                (*stand_in, self.stack.last().is_some_and(|caller| caller.shown == *stand_in))
            }
            _ => (region, false),
        };
        let visible = !joins;
        let is_marked = hidden && matches!(as_what, Hidden::Marked(_));
        let path = match visible && !behind {
            true if is_marked => paths.hidden_child(self.current(), region),
            true => paths.child(self.current(), shown),
            false => self.current(),
        };
        if let Some(stand_in) = self.marks() {
            let caller = self.shown_now();
            let as_what = if hidden { stand_in } else { region };
            let joins = hidden && caller.0 == stand_in;
            self.shown.push(if joins { caller } else { (as_what, paths.child(caller.1, as_what)) });
        }
        self.stack.push(Frame { region, shown, path, visible, behind, enter: at, in_callees: Ticks(0) });
        (visible && !behind && self.started).then(|| self.emit(buffer, at, EventKind::Enter, shown))
    }

    fn leave(&mut self, buffer: &mut ChunkBuffer, at: Ticks, region: RegionId) -> Option<u32> {
        let Some(depth) = self.stack.iter().rposition(|frame| frame.region == region) else {
            self.repairs.unmatched_leaves += 1;
            return None;
        };
        self.repairs.truncated_calls += (self.stack.len() - depth - 1) as u64;
        let mut row = None;
        while self.stack.len() > depth {
            row = self.close(buffer, at);
        }
        row
    }

    /// Closes the innermost call at `at`.
    fn close(&mut self, buffer: &mut ChunkBuffer, at: Ticks) -> Option<u32> {
        let frame = self.stack.pop()?;
        self.verdicts.leave();
        self.show_row(buffer);
        self.shown.pop();
        let row = (frame.visible && !frame.behind && self.started).then(|| {
            let row = buffer.push(at, EventKind::Leave, frame.shown);
            if self.needs.contains(Needs::CALL_PATHS) {
                buffer.call_path.push(frame.path);
            }
            let Frame { path: call_path, enter, in_callees, .. } = frame;
            if self.needs.contains(Needs::VISITS) {
                buffer.visits.push(Visit { call_path, row, enter, leave: at, in_callees });
            }
            row
        });
        if let Some(caller) = self.stack.last_mut() {
            caller.in_callees += if frame.visible { at.since(frame.enter) } else { frame.in_callees };
        }
        row
    }

    fn close_all(&mut self, buffer: &mut ChunkBuffer, at: Ticks) {
        while !self.stack.is_empty() {
            self.close(buffer, at);
        }
    }

    /// Gives the calls that are open at the start of the time range their enters, once.
    fn start(&mut self, buffer: &mut ChunkBuffer) {
        let Some(range) = self.cut.time.filter(|_| !self.started) else { return };
        self.started = true;
        for depth in 0..self.stack.len() {
            let keeps_whole = self.keeps_whole();
            let frame = &mut self.stack[depth];
            if !keeps_whole {
                frame.enter = range.start;
                frame.in_callees = Ticks(0);
            }
            let Frame { visible, shown, path, enter, .. } = *frame;
            if visible {
                buffer.push(enter, EventKind::Enter, shown);
                if self.needs.contains(Needs::CALL_PATHS) {
                    buffer.call_path.push(path);
                }
            }
        }
    }

    /// The end of the time range: open calls are clipped and the rest is skipped; or they are kept until they end.
    fn reach_end(&mut self, buffer: &mut ChunkBuffer, range: TimeRange) {
        if !self.ended && range.start < range.end {
            self.start(buffer);
            if !self.keeps_whole() {
                self.close_all(buffer, range.end);
            }
        }
        self.finished = !self.keeps_whole() || range.end <= range.start || self.stack.is_empty();
        self.ended = true;
    }

    fn emit(&mut self, buffer: &mut ChunkBuffer, at: Ticks, kind: EventKind, region: RegionId) -> u32 {
        if self.needs.contains(Needs::CALL_PATHS) {
            // At the first tick of the range calls may still wait for their enters.
            buffer.call_path.push(self.current());
        }
        self.show_row(buffer);
        buffer.push(at, kind, region)
    }

    /// Region and path of the innermost open call as they are shown.
    fn shown_now(&self) -> (RegionId, CallPathId) {
        self.shown.last().copied().unwrap_or((Frame::OUTSIDE.region, CallPathTree::ROOT))
    }

    /// Fills the columns of what is shown for the next row, if hidden calls are marked.
    fn show_row(&self, buffer: &mut ChunkBuffer) {
        if self.marks().is_some() {
            let (region, path) = self.shown_now();
            buffer.shown_region.push(region);
            buffer.shown_path.push(path);
        }
    }

    /// Appends the leaves of calls that are still open when the events end.
    pub fn end(&mut self, buffer: &mut ChunkBuffer) {
        if self.finished || self.stack.is_empty() {
            return;
        }
        // Calls that end with the location before the range begins have no time inside it.
        if !self.started && self.cut.time.is_some_and(|range| self.last <= range.start) {
            return;
        }
        self.start(buffer);
        self.repairs.open_calls += self.stack.len() as u64;
        self.close_all(buffer, self.last);
    }
}

/// Stops before the first leave that does not name the innermost call. Returns the number of rows done and the new
/// number of open calls, which are `frames[1..=depth]`; `frames[0]` is [`Frame::OUTSIDE`].
///
/// A slice with its own depth, not a `Vec`: pushing to one stores its length, which the next row loads again
/// (`examples/nesting.rs`).
#[inline(never)]
fn nest_regular<const PATHS: bool, const VISITS: bool>(
    frames: &mut [Frame],
    mut depth: usize,
    paths: &mut CallPathTree,
    buffer: &mut ChunkBuffer,
) -> (usize, usize) {
    let ChunkBuffer { time, kind, region, call_path, visits, .. } = buffer;
    let n = time.len();
    call_path.resize(if PATHS { n } else { 0 }, CallPathTree::ROOT);
    let rows = time.iter().zip(&kind[..n]).zip(&region[..n]);
    for (row, ((&at, &kind), &region)) in rows.enumerate() {
        let top = &mut frames[depth];
        let mut path = top.path;
        match kind {
            EventKind::Enter => {
                path = paths.child(path, region);
                depth += 1;
                frames[depth] = Frame {
                    region,
                    shown: region,
                    path,
                    visible: true,
                    behind: false,
                    enter: at,
                    in_callees: Ticks(0),
                };
            }
            EventKind::Leave => {
                if top.region != region || depth == 0 {
                    call_path.truncate(row);
                    return (row, depth);
                }
                let Frame { enter, in_callees, .. } = *top;
                if VISITS {
                    visits.push(Visit { call_path: path, row: row as u32, enter, leave: at, in_callees });
                }
                depth -= 1;
                frames[depth].in_callees += at.since(enter);
            }
            _ => {}
        }
        if PATHS {
            call_path[row] = path;
        }
    }
    (n, depth)
}

impl Input {
    /// Moves the base columns of the rows from `from` on out of `buffer`.
    fn take_rows(&mut self, buffer: &mut ChunkBuffer, from: usize) {
        self.time.clear();
        self.kind.clear();
        self.region.clear();
        self.new_row.clear();
        self.time.extend(buffer.time.drain(from..));
        self.kind.extend(buffer.kind.drain(from..));
        self.region.extend(buffer.region.drain(from..));
    }

    /// Gives side tables the new row numbers and drops entries whose row was removed.
    fn renumber(&self, buffer: &mut ChunkBuffer, from: usize) {
        let renumber = |row: &mut u32| {
            if let Some(old) = (*row as usize).checked_sub(from) {
                *row = self.new_row[old];
            }
            *row != u32::MAX
        };
        buffer.sends.retain_mut(|x| renumber(&mut x.row));
        buffer.recvs.retain_mut(|x| renumber(&mut x.row));
        buffer.requests.retain_mut(|x| renumber(&mut x.row));
        buffer.collectives.retain_mut(|x| renumber(&mut x.row));
        buffer.threads.retain_mut(|x| renumber(&mut x.row));
        buffer.rma.retain_mut(|x| renumber(&mut x.row));
        buffer.metrics.retain_mut(|x| renumber(&mut x.row));
        buffer.parameters.retain_mut(|x| renumber(&mut x.row));
        buffer.samples.retain_mut(|x| renumber(&mut x.row));
        buffer.call_sites.retain_mut(|x| renumber(&mut x.row));
        buffer.links.retain_mut(|x| renumber(&mut x.row));
        buffer.device_calls.retain_mut(|x| renumber(&mut x.row));
        buffer.io.retain_mut(|x| renumber(&mut x.row));
        buffer.named_records.retain_mut(|x| renumber(&mut x.row));
    }
}
