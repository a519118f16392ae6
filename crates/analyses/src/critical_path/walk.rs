//! The walk from the end of the run back to its start.

use super::waits::{SegmentKind, Wait, WaitsOfDevices, waits};
use crate::paired_operations::{LocationSpan, OperationsOutput};
use ouzel_model::{
    CallPathId, CallPathTree, Definitions, Level, LocationId, Notice, NoticeCode, Notices, Ticks, TimeRange,
    WorldRank,
};
use std::collections::BTreeSet;

/// A piece of the critical path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// What it is.
    pub kind: SegmentKind,
    /// Where: of a message or collective the location that waits.
    pub location: LocationId,
    /// Its rank, if the trace has ranks.
    pub rank: Option<WorldRank>,
    /// Where the path comes from, if it is another location.
    pub from: Option<LocationId>,
    /// When.
    pub range: TimeRange,
    /// The call that waits; of a local segment the root until [`profile`](super::profile) is asked.
    pub call_path: CallPathId,
}

impl Segment {
    /// Its length.
    pub fn ticks(&self) -> Ticks {
        self.range.end.since(self.range.start)
    }
}

/// The critical path of the run, or its selected part: what lies in the time range, at the ranks that wait or work.
#[derive(Debug, Clone)]
pub struct CriticalPathOutput {
    /// The call paths that the segments refer to.
    pub call_paths: CallPathTree,
    /// In the order of time. Each begins where the one before it ends, if no ranks are selected.
    pub segments: Vec<Segment>,
    /// Messages that were received before they were sent: the path does not follow them.
    pub n_out_of_order: u64,
}

impl CriticalPathOutput {
    /// From the start of the path to its end; `None` if the trace has no events.
    pub fn range(&self) -> Option<TimeRange> {
        let (first, last) = (self.segments.first()?, self.segments.last()?);
        Some(TimeRange { start: first.range.start, end: last.range.end })
    }
}

/// The critical path through the operations, and through waits for accelerators, whose call paths are those of
/// `output`. Says to `notices` what it could not follow.
pub fn critical_path(
    output: &OperationsOutput,
    of_devices: &WaitsOfDevices,
    definitions: &Definitions,
    notices: &Notices,
) -> CriticalPathOutput {
    let (waits, n_out_of_order) = waits(output, &of_devices.list, definitions);
    if 0 < n_out_of_order {
        let what = "the critical path does not follow a message: it was received before it was sent; --repair-clocks corrects clocks";
        notices.push(Notice::new(Level::Medium, NoticeCode::MessageOrder, what).times(n_out_of_order));
    }
    let mut segments = walk(output, &waits, &helpers(output, &of_devices.locations));
    segments.reverse();
    segments.retain_mut(|segment| select(segment, output));
    CriticalPathOutput { call_paths: output.call_paths.clone(), segments, n_out_of_order }
}

/// Cuts a segment to the time range; whether something is selected of it. One without length is where it begins.
fn select(segment: &mut Segment, output: &OperationsOutput) -> bool {
    let TimeRange { start, end } = segment.range;
    if let Some(window) = output.window {
        segment.range = segment.range.clipped_to(window);
    }
    let is_inside = match start < end {
        true => segment.range.start < segment.range.end,
        false => output.window.is_none_or(|window| window.contains(start)),
    };
    is_inside && output.is_selected(segment.location)
}

/// Locations that have no part in what accelerators do, of ranks that have others which do: threads that only wait for
/// the end, and those of profilers.
fn helpers(output: &OperationsOutput, takes_part: &BTreeSet<LocationId>) -> BTreeSet<LocationId> {
    let ranks: BTreeSet<_> = output
        .lines
        .iter()
        .filter(|line| takes_part.contains(&line.location))
        .map(|line| line.rank)
        .collect();
    let is_helper = |line: &&LocationSpan| ranks.contains(&line.rank) && !takes_part.contains(&line.location);
    output.lines.iter().filter(is_helper).map(|line| line.location).collect()
}

/// The location that ends last: a main thread if there is one, and no helper; of several the one of the smallest rank.
fn last<'a>(lines: &'a [LocationSpan], helpers: &BTreeSet<LocationId>) -> Option<&'a LocationSpan> {
    lines.iter().min_by_key(|line| {
        let is_helper = helpers.contains(&line.location);
        let end = std::cmp::Reverse(line.end);
        (line.main.is_some(), is_helper, end, line.rank.is_none(), line.rank, line.location)
    })
}

/// The segments, last first.
fn walk(output: &OperationsOutput, waits: &[Wait], helpers: &BTreeSet<LocationId>) -> Vec<Segment> {
    let Some(mut line) = last(&output.lines, helpers) else { return Vec::new() };
    let mut segments: Vec<Segment> = Vec::new();
    let mut until = line.end;
    // Waits of each location that the path has not passed yet: each step passes one, so it comes to an end.
    let mut ahead: Vec<&[Wait]> = output.lines.iter().map(|line| of_location(waits, line.location)).collect();
    let mut begun = vec![false; output.lines.len()];
    let segment = |line: &LocationSpan, start: Ticks, end: Ticks| Segment {
        kind: SegmentKind::Local,
        location: line.location,
        rank: line.rank,
        from: None,
        range: TimeRange { start, end },
        call_path: CallPathTree::ROOT,
    };
    while let Some(at) = output.line(line.location) {
        let here = ahead[at];
        let n = here.partition_point(|wait| wait.leave <= until);
        let wait = n.checked_sub(1).map(|last| here[last]);
        let start = wait.map_or(line.start, |wait| wait.leave);
        if start < until {
            segments.push(segment(line, start, until));
        }
        let Some(wait) = wait else {
            until = until.min(start);
            let main = line.main.and_then(|main| output.line(main)).map(|main| &output.lines[main]);
            match main.filter(|main| main.start < until && !begun[at]) {
                Some(main) => line = main,
                None => break,
            }
            begun[at] = true;
            continue;
        };
        ahead[at] = &here[..n - 1];
        segments.push(Segment {
            kind: wait.kind,
            from: Some(wait.cause),
            call_path: wait.call_path,
            ..segment(line, wait.at, wait.leave)
        });
        until = wait.at;
        match output.line(wait.cause) {
            Some(cause) => line = &output.lines[cause],
            None => break,
        }
    }
    segments
}

fn of_location(waits: &[Wait], location: LocationId) -> &[Wait] {
    let start = waits.partition_point(|wait| wait.location < location);
    let end = waits.partition_point(|wait| wait.location <= location);
    &waits[start..end]
}
