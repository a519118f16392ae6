//! Traces made up from a seed.
//!
//! Law: equal recipes give equal traces, on every machine. Equal time stamps,
//! recursion, empty locations, threads and metric sources all occur.

use super::{ToyEvent, ToyPayload, ToyTrace};
use crate::rng::Rng;
use ouzel_model::{
    Collective, CollectiveOp, CollectiveRoot, CommId, CommRank, ContextId, Lca, LocationKind, MessageEnd,
    MetricId, ParameterId, ParameterValue, RegionId, RegionRole, Request, RequestEvent, Sample, Ticks,
    WorldRank,
};

/// Names of the regions of a random trace.
const REGIONS: [&str; 8] =
    ["main", "solve", "step", "exchange", "MPI_Send", "MPI_Recv", "MPI_Allreduce", "MPI_Barrier"];

/// The recipe of a random trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RandomTrace {
    /// Equal seeds give equal traces.
    pub seed: u64,
    /// Number of locations. With three and more, some are second threads and the last is a metric source.
    pub n_locations: u32,
    /// Events per location, about.
    pub n_events: usize,
    /// Whether calls are well nested.
    pub faults: Faults,
}

/// Faults of the calls of a random trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Faults {
    /// Every enter has its leave, innermost first.
    None,
    /// Leaves are missing, are of a region that is not open, or of an outer call.
    Leaves,
}

impl RandomTrace {
    /// The trace of this recipe.
    pub fn build(&self) -> ToyTrace {
        let mut trace = ToyTrace::empty();
        for name in REGIONS {
            trace.region(name);
        }
        trace.metric("PAPI_TOT_CYC");
        trace.metric("PAPI_TOT_INS");
        trace.parameter("size");
        let contexts = sampled_contexts(&mut trace);
        let (mut rank, mut thread) = (0, 0);
        for location in 0..self.n_locations {
            let mut rng = Rng::new(self.seed ^ (u64::from(location) << 32));
            let is_metric = 3 <= self.n_locations && location + 1 == self.n_locations;
            let is_thread = !is_metric && location % 4 == 2;
            if is_metric {
                let events = self.metric_events(&mut rng);
                trace.add_location(
                    WorldRank(rank - 1),
                    &format!("{}.metrics", rank - 1),
                    LocationKind::Metric,
                    events,
                );
                continue;
            }
            thread = if is_thread { thread + 1 } else { 0 };
            let of = if is_thread { rank - 1 } else { rank };
            let events = with_samples(self.events(&mut rng, is_thread), &contexts, &mut rng);
            trace.add_location(WorldRank(of), &format!("{of}.{thread}"), LocationKind::CpuThread, events);
            rank = of + 1;
        }
        trace
    }

    fn metric_events(&self, rng: &mut Rng) -> Vec<ToyEvent> {
        let mut time = 0;
        let event = |_| {
            time += rng.below(90);
            ToyEvent { time: Ticks(time), what: ToyPayload::Metric(vec![(MetricId(1), rng.below(1000))]) }
        };
        (0..self.n_events / 4).map(event).collect()
    }

    fn events(&self, rng: &mut Rng, is_thread: bool) -> Vec<ToyEvent> {
        // One location in nine is empty or nearly so.
        let n_events = if rng.below(9) == 0 { rng.below(3) as usize } else { self.n_events };
        let mut location = Location { time: rng.below(200), open: Vec::new(), counter: 0, n_collectives: 0 };
        let mut events = Vec::with_capacity(n_events + 16);
        while events.len() < n_events {
            // A third of the steps take no time.
            location.time += rng.below(3).min(1) * rng.below(50);
            let what = match rng.below(10) {
                0..=2 if location.open.len() < 12 => {
                    let region = RegionId(rng.below(REGIONS.len() as u64) as u32);
                    location.open.push(region);
                    ToyPayload::Enter(region)
                }
                3..=5 => match location.leave(rng, self.faults) {
                    Some(region) => ToyPayload::Leave(region),
                    None => continue,
                },
                _ => location.payload(rng, self.n_locations, self.seed, is_thread),
            };
            events.push(ToyEvent { time: Ticks(location.time), what });
        }
        if self.faults == Faults::None {
            while let Some(region) = location.open.pop() {
                location.time += rng.below(20);
                events.push(ToyEvent { time: Ticks(location.time), what: ToyPayload::Leave(region) });
            }
        }
        events
    }
}

/// Call paths that samples of random traces name, with their depths.
fn sampled_contexts(trace: &mut ToyTrace) -> Vec<(ContextId, u32)> {
    let [main, solve, step] = [0, 1, 2].map(RegionId);
    let paths: [&[_]; 4] = [
        &[(main, Some(4))],
        &[(main, Some(4)), (solve, None)],
        &[(main, Some(4)), (solve, Some(9)), (step, Some(20))],
        &[(main, Some(5)), (step, Some(21))],
    ];
    let context = |path: &[_]| (trace.sampled_context(path).expect("a path has frames"), path.len() as u32);
    paths.map(context).to_vec()
}

/// A trace of nothing but samples, of `n_samples` or fewer for each of `n_locations`; equal seeds give equal traces.
///
/// Empty paths, loops, two lines of one call and every kind of [`Lca`] occur, true or not.
pub fn sampled_trace(seed: u64, n_locations: u32, n_samples: usize) -> ToyTrace {
    let mut trace = ToyTrace::empty();
    for name in REGIONS {
        trace.region(name);
    }
    let row = trace.region("row loop");
    trace.definitions_mut().regions[row.index()].role = RegionRole::Loop;
    let mut rng = Rng::new(seed);
    let mut contexts: Vec<Option<ContextId>> = vec![None];
    let mut frames: Vec<Vec<(RegionId, Option<u32>)>> = vec![Vec::new()];
    for _ in 0..24 {
        let mut path = frames[rng.below(frames.len() as u64) as usize].clone();
        let region = RegionId(rng.below(REGIONS.len() as u64 + 1) as u32);
        path.push((region, (rng.below(3) == 0).then(|| rng.below(3) as u32)));
        contexts.push(trace.sampled_context(&path));
        frames.push(path);
    }
    for rank in 0..n_locations {
        let mut rng = Rng::new(seed ^ (u64::from(rank) << 32) ^ 0x5a);
        let mut time = rng.below(200);
        let mut at = 0;
        let event = |i: usize| {
            time += rng.below(4).min(1) * rng.below(50);
            // Samples repeat.
            if rng.below(2) == 0 {
                at = rng.below(contexts.len() as u64) as usize;
            }
            let bound = rng.below(4) as u32;
            let lca = match rng.below(4) {
                0 => Lca::Exact(bound),
                1 => Lca::AtMost(bound),
                _ => Lca::Unknown,
            };
            let lca = if i == 0 { Lca::Unknown } else { lca };
            let sample = Sample { row: 0, context: contexts[at], lca, generator: None };
            ToyEvent { time: Ticks(time), what: ToyPayload::Sample(sample) }
        };
        let events = (0..n_samples).map(event).collect();
        trace.add_location(WorldRank(rank), &format!("{rank}"), LocationKind::CpuThread, events);
    }
    trace
}

/// The same events with samples among them, one for seven events or so.
fn with_samples(events: Vec<ToyEvent>, contexts: &[(ContextId, u32)], rng: &mut Rng) -> Vec<ToyEvent> {
    let mut all = Vec::with_capacity(events.len() + events.len() / 6);
    let mut is_first = true;
    for event in events {
        let time = event.time;
        all.push(event);
        if rng.below(7) == 0 {
            let (context, depth) = contexts[rng.below(contexts.len() as u64) as usize];
            let lca = match rng.below(u64::from(depth) + 1) as u32 {
                0 => Lca::Unknown,
                _ if is_first => Lca::Unknown,
                kept => Lca::Exact(kept),
            };
            is_first = false;
            let sample = Sample { row: 0, context: Some(context), lca, generator: None };
            all.push(ToyEvent { time, what: ToyPayload::Sample(sample) });
        }
    }
    all
}

/// A random location so far.
struct Location {
    time: u64,
    open: Vec<RegionId>,
    counter: u64,
    n_collectives: u64,
}

impl Location {
    fn leave(&mut self, rng: &mut Rng, faults: Faults) -> Option<RegionId> {
        if faults == Faults::None || 0 < rng.below(6) {
            return self.open.pop();
        }
        if rng.below(2) == 0 {
            return Some(RegionId(rng.below(REGIONS.len() as u64) as u32));
        }
        let depth = rng.below(self.open.len() as u64 + 1) as usize;
        let region = self.open.get(depth).copied();
        self.open.truncate(depth);
        region
    }

    fn payload(&mut self, rng: &mut Rng, n_locations: u32, seed: u64, is_thread: bool) -> ToyPayload {
        let request = (rng.below(3) == 0).then(|| rng.below(9));
        let message = MessageEnd {
            row: 0,
            comm: CommId(0),
            peer: CommRank(rng.below(u64::from(n_locations)) as u32),
            tag: rng.below(2) as u32,
            bytes: rng.below(4096),
            request,
        };
        match rng.below(9) {
            0 => ToyPayload::Send(message),
            1 => ToyPayload::Recv(message),
            2 => ToyPayload::Request(Request {
                row: 0,
                request: rng.below(9),
                event: RequestEvent::SendComplete,
            }),
            3 => ToyPayload::CollectiveBegin,
            4 if !is_thread => {
                // Every rank takes part in the same collectives, in the same order.
                self.n_collectives += 1;
                let mut shared = Rng::new(seed ^ self.n_collectives);
                let op = CollectiveOp::from_code(shared.below(12) as u8);
                let root = CollectiveRoot::Rank(CommRank(shared.below(u64::from(n_locations)) as u32));
                let bytes_sent = rng.below(512);
                let bytes_received = rng.below(512);
                let comm = CommId(0);
                let end = Collective { row: 0, op, comm, root, bytes_sent, bytes_received, request: None };
                ToyPayload::CollectiveEnd(end)
            }
            5 | 6 => {
                self.counter += rng.below(1000);
                ToyPayload::Metric(vec![(MetricId(0), self.counter), (MetricId(1), self.counter / 2)])
            }
            7 => ToyPayload::Parameter(ParameterId(0), ParameterValue::U64(rng.below(5))),
            _ => [ToyPayload::BufferFlush, ToyPayload::MeasurementOnOff, ToyPayload::Other]
                [rng.below(3) as usize]
                .clone(),
        }
    }
}
