//! Slow and obvious views of a trace in memory, for tests: one call after the other, one tick after the other.

use ouzel_model::{LocationId, RegionId, Ticks, TimeRange, TraceSource};
use ouzel_testkit::{Faults, RandomTrace, ToyEvent, ToyPayload, ToyTrace};

/// A call of a well-nested location.
#[derive(Debug, Clone)]
pub struct Call {
    pub location: LocationId,
    pub enter: u64,
    pub leave: u64,
    /// Regions from the outermost to its own.
    pub path: Vec<RegionId>,
}

/// Well-nested random traces of several sizes.
pub fn random_traces() -> impl Iterator<Item = ToyTrace> {
    (0..12).map(|seed| {
        let n_locations = 1 + (seed % 7) as u32;
        RandomTrace { seed, n_locations, n_events: 200, faults: Faults::None }.build()
    })
}

/// Locations that run code.
pub fn code_locations(trace: &ToyTrace) -> Vec<LocationId> {
    let definitions = trace.definitions();
    definitions.location_ids().filter(|&id| definitions.location(id).kind.runs_code()).collect()
}

/// Every call, outer before inner.
pub fn calls(trace: &ToyTrace) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::new();
    for location in code_locations(trace) {
        let mut open: Vec<usize> = Vec::new();
        for ToyEvent { time, what } in trace.events(location) {
            match what {
                ToyPayload::Enter(region) => {
                    let caller: &[RegionId] = open.last().map_or(&[], |&i: &usize| &calls[i].path);
                    let path = [caller, &[*region]].concat();
                    open.push(calls.len());
                    calls.push(Call { location, enter: time.0, leave: time.0, path });
                }
                ToyPayload::Leave(_) => {
                    let i = open.pop().expect("the trace is well nested");
                    calls[i].leave = time.0;
                }
                _ => {}
            }
        }
        assert!(open.is_empty(), "the trace is well nested");
    }
    calls
}

/// The innermost call of a location in the tick that begins at `at`.
pub fn innermost(calls: &[Call], location: LocationId, at: u64) -> Option<&Call> {
    calls.iter().rev().find(|call| call.location == location && call.enter <= at && at < call.leave)
}

/// From the first event of a location to its last.
pub fn span(trace: &ToyTrace, location: LocationId) -> Option<(u64, u64)> {
    let events = trace.events(location);
    Some((events.first()?.time.0, events.last()?.time.0))
}

/// From the first event to the last over all locations that run code.
pub fn run_range(trace: &ToyTrace) -> TimeRange {
    let spans = code_locations(trace).into_iter().filter_map(|location| span(trace, location));
    let (start, end) = spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).expect("there are events");
    TimeRange { start: Ticks(start), end: Ticks(end) }
}
