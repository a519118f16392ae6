//! Nanoseconds per event of a pass over a trace in memory: what the engine itself costs.
//!
//! `cargo run --release -p ouzel-engine --example nesting [million events]`
//!
//! The reader copies prepared columns, so that little but nesting is measured; the same
//! loop without nesting is measured beside it.
#![expect(clippy::disallowed_methods, reason = "it measures time")]

use ouzel_engine::{Analysis, AnalysisError, AnalysisSet, FinishCx, LocationCx, LocationSummary, Pass};
use ouzel_model::{
    CHUNK_EVENTS, ChunkBuffer, ChunkReader, Definitions, EventChunk, EventKind, Filter, LocationId,
    LocationKind, Needs, Notice, ReadError, ReadPlan, RegionId, Remap, Ticks, TraceSource, WorldRank,
};
use ouzel_testkit::ToyTrace;
use std::num::NonZeroUsize;
use std::time::Instant;

/// Depth of calls.
const DEPTH: u32 = 6;
/// Calls of the innermost region per call of its caller.
const INNER_CALLS: u32 = 8;

/// One location whose chunks are copies of one prepared chunk.
struct Loop {
    definitions: Definitions,
    kind: Vec<EventKind>,
    region: Vec<RegionId>,
    n_chunks: u64,
}

impl Loop {
    fn new(n_events: u64) -> Self {
        let mut trace = ToyTrace::empty();
        let regions: Vec<RegionId> = (0..64).map(|i| trace.region(&format!("f{i}"))).collect();
        trace.add_location(WorldRank(0), "0", LocationKind::CpuThread, Vec::new());
        let (mut kind, mut region) = (Vec::new(), Vec::new());
        // Trees of calls, six deep, of regions that differ from tree to tree, as long as whole ones fit.
        for tree in 0.. {
            let of = |depth: u32, i: u32| regions[((tree * 7 + depth * 11 + i) % 64) as usize];
            let n = (2 * (DEPTH - 1) + 2 * INNER_CALLS) as usize;
            if CHUNK_EVENTS < kind.len() + n {
                break;
            }
            for depth in 0..DEPTH - 1 {
                kind.push(EventKind::Enter);
                region.push(of(depth, 0));
            }
            for i in 0..INNER_CALLS {
                kind.extend([EventKind::Enter, EventKind::Leave]);
                region.extend([of(DEPTH, i % 3); 2]);
            }
            for depth in (0..DEPTH - 1).rev() {
                kind.push(EventKind::Leave);
                region.push(of(depth, 0));
            }
        }
        let n_chunks = n_events / kind.len() as u64;
        let definitions = trace.definitions().clone();
        Loop { definitions, kind, region, n_chunks }
    }

    fn n_events(&self) -> u64 {
        self.n_chunks * self.kind.len() as u64
    }
}

impl TraceSource for Loop {
    fn definitions(&self) -> &Definitions {
        &self.definitions
    }
    fn notices(&self) -> &[Notice] {
        &[]
    }
    fn location_bytes(&self, _: LocationId) -> u64 {
        self.n_events()
    }
    fn open(&self, _: LocationId, _: &ReadPlan) -> Result<Box<dyn ChunkReader + '_>, ReadError> {
        Ok(Box::new(LoopReader { source: self, done: 0 }))
    }
}

struct LoopReader<'s> {
    source: &'s Loop,
    done: u64,
}

impl ChunkReader for LoopReader<'_> {
    fn read(&mut self, buffer: &mut ChunkBuffer) -> Result<bool, ReadError> {
        buffer.clear();
        if self.done == self.source.n_chunks {
            return Ok(false);
        }
        let n = self.source.kind.len() as u64;
        let first = self.done * n * 10;
        buffer.time.extend((0..n).map(|i| Ticks(first + 10 * i)));
        buffer.kind.extend_from_slice(&self.source.kind);
        buffer.region.extend_from_slice(&self.source.region);
        buffer.n_records = n;
        buffer.span = Some((buffer.time[0], buffer.time[n as usize - 1]));
        self.done += 1;
        Ok(true)
    }
    fn notices(&mut self) -> Vec<Notice> {
        Vec::new()
    }
}

/// Sums the exclusive time of visits, or nothing at all.
struct Sum(Needs);

impl Analysis for Sum {
    type Local = u64;
    type Partial = u64;
    type Output = u64;
    const NAME: &'static str = "sum";
    const PARTIAL_VERSION: u32 = 1;
    fn needs(&self) -> Needs {
        self.0
    }
    fn empty(&self) -> u64 {
        0
    }
    fn begin(&self, _: &LocationCx<'_>) -> u64 {
        0
    }
    fn fold(&self, local: &mut u64, chunk: &EventChunk<'_>) {
        *local += chunk.visits.iter().map(|v| v.leave.0 - v.enter.0 - v.in_callees.0).sum::<u64>();
    }
    fn end(&self, local: u64, _: &LocationCx<'_>, _: &LocationSummary, into: &mut u64) {
        *into += local;
    }
    fn remap(&self, _: &mut u64, _: &Remap) {}
    fn merge(&self, into: &mut u64, from: u64) {
        *into += from;
    }
    fn finish(&self, partial: u64, _: &FinishCx<'_>) -> Result<u64, AnalysisError> {
        Ok(partial)
    }
}

/// Best of forty runs, in nanoseconds per event.
fn best(n_events: u64, mut run: impl FnMut()) -> f64 {
    let seconds = (0..40).map(|_| {
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64()
    });
    seconds.fold(f64::INFINITY, f64::min) * 1e9 / n_events as f64
}

fn main() {
    let millions = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(1);
    let source = Loop::new(millions * 1_000_000);
    let n_events = source.n_events();
    println!("{n_events} events, chunks of {}", source.kind.len());
    let plan = ReadPlan::all(Needs::NOTHING);
    let reading = best(n_events, || {
        let mut buffer = ChunkBuffer::default();
        let mut reader = source.open(LocationId(0), &plan).expect("it is in memory");
        while reader.read(&mut buffer).expect("it is in memory") {
            std::hint::black_box(&buffer);
        }
    });
    println!("{reading:6.2} ns  reader alone");
    let everything = Filter::default();
    let all_time = Filter { time_ns: Some((0, u64::MAX)), ..Filter::default() };
    let all_regions = Filter { regions: vec!["*".to_owned()], ..Filter::default() };
    for (name, needs, filter) in [
        ("nothing needed", Needs::NOTHING, &everything),
        ("visits", Needs::VISITS, &everything),
        ("visits and call paths", Needs::VISITS | Needs::CALL_PATHS, &everything),
        ("visits, time range", Needs::VISITS, &all_time),
        ("visits, region filter", Needs::VISITS, &all_regions),
    ] {
        let mut set = AnalysisSet::default();
        set.add(Sum(needs));
        let pass = Pass { filter, jobs: NonZeroUsize::MIN, progress: None };
        let pass = best(n_events, || {
            std::hint::black_box(set.run(&source, pass).expect("nothing fails"));
        });
        println!("{:6.2} ns  {name} (reader taken off)", pass - reading);
    }
}
