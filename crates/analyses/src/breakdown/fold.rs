//! The fold: a look-up for each call, an interval for each change of activity.

use super::activity::{Activity, HostCode, HostOrDevice, activities};
use super::output::{BreakdownOutput, ProcessBreakdown};
use super::state::{Activities, BreakdownLocal, BreakdownPartial, ProcessPartial};
use crate::semantics::Class;
use crate::spread::{Owner, owner};
use ouzel_engine::{
    Analysis, AnalysisError, FinishCx, LocationCx, LocationSummary, Question, Scope, SelectionCx,
};
use ouzel_model::{
    Content, Contents, EventChunk, EventKind, Level, LocationKind, Needs, Notice, NoticeCode, Remap,
    RequestEvent, Ticks,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Whether non-blocking operations communicate between their calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Requests {
    /// From the post to the completion.
    #[default]
    Included,
    /// Only time inside calls counts.
    LeftOut,
}

/// Computation, communication and their overlap in each process.
#[derive(Debug, Clone)]
pub struct Breakdown {
    classes: Vec<Class>,
    host_code: HostCode,
    requests: Requests,
}

impl Breakdown {
    /// `classes` has the class of every region, see [`Semantics::classes`](crate::semantics::Semantics::classes).
    pub fn new(classes: &[Class], host_code: HostCode, requests: Requests) -> Self {
        Breakdown { classes: classes.to_vec(), host_code, requests }
    }
}

impl Question for Breakdown {
    type Analysis = BreakdownFold;
    type Output = BreakdownOutput;

    fn prepare(self: Arc<Self>, cx: &SelectionCx<'_>) -> Arc<BreakdownFold> {
        let definitions = cx.definitions;
        let mut n_locations: BTreeMap<Owner, u32> = BTreeMap::new();
        let mut with_streams = BTreeSet::new();
        let selected = cx.selection.locations.iter().copied();
        for location in selected.filter(|&id| definitions.location(id).kind.runs_code()) {
            let process = owner(definitions, location);
            *n_locations.entry(process).or_default() += 1;
            if definitions.location(location).kind == LocationKind::AcceleratorStream {
                with_streams.insert(process);
            }
        }
        let by_place = [HostOrDevice::Host, HostOrDevice::HostWithStreams, HostOrDevice::Stream]
            .map(|place| activities(definitions, &self.classes, place, self.host_code));
        Arc::new(BreakdownFold { requests: self.requests, by_place, n_locations, with_streams })
    }
}

/// A [`Breakdown`] of the selected processes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct BreakdownFold {
    requests: Requests,
    /// The activity of every region on a host, on a host with streams, on a stream.
    by_place: [Vec<Activity>; 3],
    /// Number of selected locations of each process that run code.
    n_locations: BTreeMap<Owner, u32>,
    with_streams: BTreeSet<Owner>,
}

impl BreakdownFold {
    fn n_locations(&self, process: Owner) -> u32 {
        self.n_locations.get(&process).copied().unwrap_or(0)
    }
}

impl Analysis for BreakdownFold {
    type Local = BreakdownLocal;
    type Partial = BreakdownPartial;
    type Output = BreakdownOutput;
    const NAME: &'static str = "breakdown";
    const PARTIAL_VERSION: u32 = 2;
    /// A post may lie before a time range, and a completion after it.
    const SCOPE: Scope = Scope::Locations;

    fn needs(&self) -> Needs {
        match self.requests {
            Requests::Included => Needs::MESSAGES | Needs::COLLECTIVES,
            Requests::LeftOut => Needs::NOTHING,
        }
    }

    fn speaks_of(&self) -> Contents {
        Contents::of(&[Content::Calls])
    }

    fn empty(&self) -> BreakdownPartial {
        BreakdownPartial::default()
    }

    fn begin(&self, cx: &LocationCx<'_>) -> BreakdownLocal {
        let process = owner(cx.definitions, cx.location);
        let place = match cx.definitions.location(cx.location).kind {
            LocationKind::AcceleratorStream => HostOrDevice::Stream,
            _ if self.with_streams.contains(&process) => HostOrDevice::HostWithStreams,
            _ => HostOrDevice::Host,
        };
        BreakdownLocal::new(place, self.n_locations(process) == 1, cx.selected)
    }

    fn fold(&self, local: &mut BreakdownLocal, chunk: &EventChunk<'_>) {
        add_calls(local, chunk, &self.by_place[local.place as usize]);
        if self.requests == Requests::Included {
            add_requests(local, chunk);
        }
        local.forget();
    }

    fn end(
        &self,
        mut local: BreakdownLocal,
        cx: &LocationCx<'_>,
        summary: &LocationSummary,
        into: &mut BreakdownPartial,
    ) {
        if !cx.definitions.location(cx.location).kind.runs_code() {
            return;
        }
        let at = local.since;
        local.change(Activity::Other, at);
        into.n_lost += local.n_lost();
        let BreakdownLocal { calls, requests, forgotten, .. } = local;
        let span = summary.span.and_then(|span| cx.selected.clip_span(span));
        let mut process = ProcessPartial { n_folded: 1, span, activities: calls, times: forgotten };
        process.activities.unite(Activities { communication: requests, ..Activities::default() });
        self.add(into, owner(cx.definitions, cx.location), process);
    }

    fn remap(&self, _: &mut BreakdownPartial, _: &Remap) {}

    fn merge(&self, into: &mut BreakdownPartial, from: BreakdownPartial) {
        into.n_lost += from.n_lost;
        for (process, partial) in from.processes {
            self.add(into, process, partial);
        }
    }

    fn finish(&self, partial: BreakdownPartial, cx: &FinishCx<'_>) -> Result<BreakdownOutput, AnalysisError> {
        if 0 < partial.n_lost {
            let message = "a non-blocking operation has no post or no completion at its location; its lifetime does \
                           not count as communication";
            cx.notices
                .push(Notice::new(Level::Low, NoticeCode::UnmatchedMessages, message).times(partial.n_lost));
        }
        let rows = partial.processes.into_iter().filter_map(|((rank, group), mut process)| {
            process.settle();
            let (start, end) = process.span?;
            Some(ProcessBreakdown { rank, group, span: end.since(start), times: process.times })
        });
        let mut rows: Vec<ProcessBreakdown> = rows.collect();
        rows.sort_unstable_by_key(|row| (row.rank.is_none(), row.rank, row.group));
        Ok(BreakdownOutput { rows, n_lost: partial.n_lost })
    }
}

impl BreakdownFold {
    fn add(&self, into: &mut BreakdownPartial, process: Owner, partial: ProcessPartial) {
        into.processes.entry(process).or_default().add(partial, self.n_locations(process));
    }
}

/// Follows the activity of the innermost call: the hot loop.
#[inline(never)]
fn add_calls(local: &mut BreakdownLocal, chunk: &EventChunk<'_>, activities: &[Activity]) {
    let mut current = local.current;
    let mut top = local.top;
    let rows = chunk.time.iter().zip(chunk.kind).zip(chunk.regions_shown());
    for ((&at, &kind), &region) in rows {
        match kind {
            EventKind::Enter => {
                let of_region = activities.get(region.index()).copied().unwrap_or(Activity::Unclassified);
                local.stack.push(top);
                top = if top == Activity::Communication { top } else { of_region };
            }
            EventKind::Leave => top = local.stack.pop().unwrap_or(Activity::Other),
            _ => continue,
        }
        if top != current {
            current = top;
            local.change(top, at);
        }
    }
    local.top = top;
}

/// A step in the life of a non-blocking operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestStep {
    Post,
    Complete,
}

/// Follows non-blocking operations. Their steps stand in four tables, which are walked together by row.
#[inline(never)]
fn add_requests(local: &mut BreakdownLocal, chunk: &EventChunk<'_>) {
    let sends = chunk.sends.iter().filter_map(|end| Some((end.row, end.request?, RequestStep::Post)));
    let receives = chunk.recvs.iter().filter_map(|end| Some((end.row, end.request?, RequestStep::Complete)));
    let collectives =
        chunk.collectives.iter().filter_map(|end| Some((end.row, end.request?, RequestStep::Complete)));
    let requests = chunk.requests.iter().filter_map(|request| {
        let step = match request.event {
            RequestEvent::RecvPosted | RequestEvent::CollectivePosted => RequestStep::Post,
            RequestEvent::SendComplete | RequestEvent::Cancelled => RequestStep::Complete,
            RequestEvent::Tested => return None,
        };
        Some((request.row, request.request, step))
    });
    for (row, request, step) in by_row(by_row(sends, receives), by_row(collectives, requests)) {
        let at: Ticks = chunk.time[row as usize];
        match step {
            RequestStep::Post => local.post(request, at),
            RequestStep::Complete => local.complete(request, at),
        }
    }
}

/// Two tables that are sorted by row as one.
fn by_row(
    a: impl Iterator<Item = (u32, u64, RequestStep)>,
    b: impl Iterator<Item = (u32, u64, RequestStep)>,
) -> impl Iterator<Item = (u32, u64, RequestStep)> {
    let (mut a, mut b) = (a.peekable(), b.peekable());
    std::iter::from_fn(move || match (a.peek(), b.peek()) {
        (Some(x), Some(y)) if y.0 < x.0 => b.next(),
        (None, _) => b.next(),
        (Some(_), _) => a.next(),
    })
}
