//! The time of message matching on two threads, for `cargo xtask bench`: `matching N_ENDS [ROUNDS]`.
//!
//! Processes in a ring exchange non-blocking messages with their neighbours, as a halo exchange does. The events stand in
//! memory; a pass over them with [`LateMessages`], which takes the ends from the records, pairs them and looks who
//! waited, is measured in turn with one that asks for the same events and keeps nothing. Matching is the difference of
//! the medians. Prints one line of JSON.

use ouzel_analyses::message_waits::LateMessages;
use ouzel_engine::{Analysis, AnalysisError, AnalysisSet, FinishCx, LocationCx, LocationSummary, Pass};
use ouzel_model::{
    CommId, CommRank, EventChunk, Filter, LocationKind, MessageEnd, Needs, RegionId, Remap, Request,
    RequestEvent, Ticks, WorldRank,
};
use ouzel_testkit::{ToyEvent, ToyPayload, ToyTrace};
use std::error::Error;
use std::num::NonZeroUsize;

const N_RANKS: u32 = 16;
/// Messages that a rank sends in an exchange, and that it receives.
const N_NEIGHBOURS: u32 = 4;
const N_THREADS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(1);

/// Asks for what matching needs, and does nothing with it.
struct Nothing;

impl Analysis for Nothing {
    type Local = ();
    type Partial = ();
    type Output = u64;
    const NAME: &'static str = "nothing";
    const PARTIAL_VERSION: u32 = 1;

    fn needs(&self) -> Needs {
        LateMessages::default().needs()
    }
    fn empty(&self) {}
    fn begin(&self, _: &LocationCx<'_>) {}
    fn fold(&self, (): &mut (), chunk: &EventChunk<'_>) {
        std::hint::black_box(chunk);
    }
    fn end(&self, (): (), _: &LocationCx<'_>, _: &LocationSummary, (): &mut ()) {}
    fn remap(&self, (): &mut (), _: &Remap) {}
    fn merge(&self, (): &mut (), (): ()) {}
    fn finish(&self, (): (), _: &FinishCx<'_>) -> Result<u64, AnalysisError> {
        Ok(0)
    }
}

/// A trace of exchanges with `n_ends` ends or some more; their number is the second value.
fn exchanges(n_ends: u64) -> (ToyTrace, u64) {
    let mut trace = ToyTrace::empty();
    let [irecv, isend, waitall] = ["MPI_Irecv", "MPI_Isend", "MPI_Waitall"].map(|name| trace.region(name));
    let n_rounds = n_ends.div_ceil(u64::from(2 * N_NEIGHBOURS * N_RANKS));
    for rank in 0..N_RANKS {
        let events = (0..n_rounds).flat_map(|round| exchange(rank, round, [irecv, isend, waitall])).collect();
        trace.add_location(WorldRank(rank), &format!("rank {rank}"), LocationKind::CpuThread, events);
    }
    (trace, n_rounds * u64::from(2 * N_NEIGHBOURS * N_RANKS))
}

fn exchange(rank: u32, round: u64, [irecv, isend, waitall]: [RegionId; 3]) -> Vec<ToyEvent> {
    let mut events = Vec::new();
    let mut at = 10_000 * round;
    let mut push = |what| {
        at += 7;
        events.push(ToyEvent { time: Ticks(at), what });
    };
    let first = round * u64::from(2 * N_NEIGHBOURS);
    let request =
        |i: u32, event| ToyPayload::Request(Request { row: 0, request: first + u64::from(i), event });
    // Neighbours at both sides, so that channels hold one message of each round.
    let ahead = |i: u32| CommRank((rank + 1 + i) % N_RANKS);
    let behind = |i: u32| CommRank((rank + N_RANKS - 1 - i) % N_RANKS);
    let end = |peer, request: u32| MessageEnd {
        row: 0,
        comm: CommId(0),
        peer,
        tag: 1,
        bytes: 8192,
        request: Some(first + u64::from(request)),
    };
    for i in 0..N_NEIGHBOURS {
        push(ToyPayload::Enter(irecv));
        push(request(i, RequestEvent::RecvPosted));
        push(ToyPayload::Leave(irecv));
    }
    for i in 0..N_NEIGHBOURS {
        push(ToyPayload::Enter(isend));
        push(ToyPayload::Send(end(ahead(i), N_NEIGHBOURS + i)));
        push(ToyPayload::Leave(isend));
    }
    push(ToyPayload::Enter(waitall));
    for i in 0..N_NEIGHBOURS {
        push(ToyPayload::Recv(end(behind(i), i)));
        push(request(N_NEIGHBOURS + i, RequestEvent::SendComplete));
    }
    push(ToyPayload::Leave(waitall));
    events
}

/// Seconds of a pass, and what it says.
fn seconds<A: Analysis>(trace: &ToyTrace, analysis: A) -> Result<(f64, A::Output), Box<dyn Error>> {
    let mut set = AnalysisSet::default();
    let key = set.add(analysis);
    let filter = Filter::default();
    #[expect(clippy::disallowed_methods, reason = "a stopwatch is what this program is")]
    let start = std::time::Instant::now();
    let mut report = set.run(trace, Pass { filter: &filter, jobs: N_THREADS, progress: None })?;
    let output = report.outputs.take(&key)?;
    Ok((start.elapsed().as_secs_f64(), output))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let n_ends: u64 = arguments.next().ok_or("matching takes a number of message ends")?.parse()?;
    let n_rounds: usize = arguments.next().map_or(Ok(7), |rounds| rounds.parse())?;
    let (trace, n_ends) = exchanges(n_ends);
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for _ in 0..n_rounds.max(1) {
        without.push(seconds(&trace, Nothing)?.0);
        let (seconds, output) = seconds(&trace, LateMessages::default())?;
        if output.n_messages * 2 != n_ends {
            return Err(format!("{} of {} messages were paired", output.n_messages, n_ends / 2).into());
        }
        with.push(seconds);
    }
    let (with, without) = (median(with), median(without));
    let matching = (with - without).max(f64::MIN_POSITIVE);
    println!(
        "{{\"events\": {n_ends}, \"events_seconds\": {matching}, \"with_seconds\": {with}, \"without_seconds\": {without}}}"
    );
    Ok(())
}
