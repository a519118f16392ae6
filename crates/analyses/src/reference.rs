//! Slow and obvious views of a trace in memory, for tests: call by call, tick by tick.

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
pub(crate) fn random_traces() -> impl Iterator<Item = ToyTrace> {
    (0..12).map(|seed| {
        let n_locations = 1 + (seed % 7) as u32;
        RandomTrace { seed, n_locations, n_events: 200, faults: Faults::None }.build()
    })
}

/// Locations that run code.
pub(crate) fn code_locations(trace: &ToyTrace) -> Vec<LocationId> {
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

/// A random program of up to five ranks on one clock, run realistically: no receive completes before its send is
/// entered, no rank leaves a barrier before all have entered it. Receives may be non-blocking.
pub(crate) fn agreeing_trace(seed: u64) -> ToyTrace {
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let n = 2 + random.below(4) as usize;
    let mut now: Vec<u64> = (0..n).map(|_| random.below(5)).collect();
    let mut lines: Vec<String> =
        now.iter().enumerate().map(|(rank, at)| format!("{rank}: enter main @{at}")).collect();
    for request in 0..20 + random.below(30) {
        let rank = random.below(n as u64) as usize;
        let start = now[rank];
        now[rank] += random.below(40);
        lines[rank].push_str(&format!(", enter work @{start}, leave @{}", now[rank]));
        if random.below(6) == 0 {
            let entered = *now.iter().max().expect("there are ranks");
            for (line, now) in lines.iter_mut().zip(&mut now) {
                let leave = entered + random.below(3);
                line.push_str(&format!(
                    ", enter MPI_Barrier @{now}, collective barrier @{leave}, leave @{leave}"
                ));
                *now = leave;
            }
            continue;
        }
        let to = (rank + 1 + random.below(n as u64 - 1) as usize) % n;
        let (entered, posted) = (now[rank], now[to]);
        now[rank] += random.below(3);
        lines[rank]
            .push_str(&format!(", enter MPI_Send @{entered}, send>{to} @{entered}, leave @{}", now[rank]));
        let mut enter = posted;
        let mut name = "MPI_Recv";
        let mut option = String::new();
        if random.below(2) == 0 {
            let left = posted + random.below(2);
            lines[to].push_str(&format!(
                ", enter MPI_Irecv @{posted}, request {request} recv-posted @{posted}, leave @{left}"
            ));
            enter = left + random.below(10);
            (name, option) = ("MPI_Wait", format!(" request {request}"));
        }
        now[to] = enter.max(entered) + random.below(4);
        let leave = now[to];
        lines[to].push_str(&format!(", enter {name} @{enter}, recv<{rank}{option} @{leave}, leave @{leave}"));
    }
    for (line, now) in lines.iter_mut().zip(&now) {
        line.push_str(&format!(", leave @{now}"));
    }
    ToyTrace::new(&lines.join("\n"))
}

/// Numbers from a seed (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }
}
