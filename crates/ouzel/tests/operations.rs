//! Operations of the scripting library on real archives, each against the simplest way to get the same result.
//!
//! The references go through the events of each location one by one, as the pass hands them out, without bins, channels
//! or partials. Archives that are not part of the repository are skipped with a message.

use ouzel::analyses::breakdown::{Breakdown, HostCode, Requests};
use ouzel::analyses::call_path_profile::CallPathProfile;
use ouzel::analyses::comm_matrix::{CommMatrix, CommMatrixOutput, TrafficUnit};
use ouzel::analyses::comm_over_time::CommOverTime;
use ouzel::analyses::idle::{IDLE, IdleRegions, MPI_MORE_WAITS, MPI_WAITS, idle_time};
use ouzel::analyses::message_histogram::MessageHistogram;
use ouzel::analyses::semantics::{Category, Family, Semantics};
use ouzel::analyses::time_grid::TimeGrid;
use ouzel::analyses::time_profile::TimeProfile;
use ouzel::analyses::{By, Per};
use ouzel::engine::{Analysis, AnalysisError, AnalysisSet, FinishCx, LocationCx, LocationSummary, Question};
use ouzel::model::{
    EventChunk, EventKind, Filter, LocationId, LocationKind, MessageEnd, Needs, RegionId, Remap, Ticks,
    TimeRange,
};
use ouzel::{Options, Trace};
use std::collections::BTreeMap;
use std::num::NonZeroU16;

/// Time, region, whether it is an enter.
type Call = (u64, u32, bool);
/// Time, communicator, peer, bytes.
type End = (u64, u32, u32, u64);
/// Calls, sends and receives of a location.
type Recorded = (Vec<Call>, Vec<End>, Vec<End>);

/// Keeps every event.
struct Recorder;

impl Analysis for Recorder {
    type Local = Recorded;
    type Partial = BTreeMap<LocationId, Recorded>;
    type Output = BTreeMap<LocationId, Recorded>;
    const NAME: &'static str = "recorder";
    const PARTIAL_VERSION: u32 = 1;

    fn needs(&self) -> Needs {
        Needs::MESSAGES
    }

    fn empty(&self) -> Self::Partial {
        BTreeMap::new()
    }

    fn begin(&self, _: &LocationCx<'_>) -> Recorded {
        Recorded::default()
    }

    fn fold(&self, local: &mut Recorded, chunk: &EventChunk<'_>) {
        for row in 0..chunk.time.len() {
            match chunk.kind[row] {
                EventKind::Enter => local.0.push((chunk.time[row].0, chunk.region[row].0, true)),
                EventKind::Leave => local.0.push((chunk.time[row].0, chunk.region[row].0, false)),
                _ => {}
            }
        }
        let end = |end: &MessageEnd| (chunk.time[end.row as usize].0, end.comm.0, end.peer.0, end.bytes);
        local.1.extend(chunk.sends.iter().map(end));
        local.2.extend(chunk.recvs.iter().map(end));
    }

    fn end(&self, local: Recorded, cx: &LocationCx<'_>, _: &LocationSummary, into: &mut Self::Partial) {
        into.insert(cx.location, local);
    }

    fn remap(&self, _: &mut Self::Partial, _: &Remap) {}

    fn merge(&self, into: &mut Self::Partial, mut from: Self::Partial) {
        into.append(&mut from);
    }

    fn finish(&self, partial: Self::Partial, _: &FinishCx<'_>) -> Result<Self::Output, AnalysisError> {
        Ok(partial)
    }
}

/// A trace, its events, and the results of a first pass.
struct Case {
    name: String,
    trace: Trace,
    events: BTreeMap<LocationId, Recorded>,
    spans: BTreeMap<LocationId, (u64, u64)>,
    run: TimeRange,
}

fn cases() -> Vec<Case> {
    ouzel_testkit::archives().iter().map(|folder| case(folder)).collect()
}

fn case(folder: &std::path::Path) -> Case {
    let trace = ouzel::open(folder).expect("the archive opens");
    let mut set = AnalysisSet::default();
    let key = set.add(Recorder);
    let mut report = trace.run(&set, &Options::default()).expect("the pass succeeds");
    let runs_code = |id: &LocationId| trace.definitions().location(*id).kind.runs_code();
    let spans = report.locations.iter().filter(|(id, _)| runs_code(id));
    let spans = spans.filter_map(|(id, summary)| summary.span.map(|(start, end)| (*id, (start.0, end.0))));
    Case {
        name: folder.file_name().expect("a folder has a name").to_string_lossy().into_owned(),
        events: report.outputs.take(&key).expect("the analysis answers"),
        spans: spans.collect(),
        run: report.run_range.expect("there are events"),
        trace,
    }
}

impl Case {
    fn answer<Q: Question>(&self, question: Q) -> Q::Output {
        let mut set = AnalysisSet::default();
        let key = set.add(question);
        let mut report = self.trace.run(&set, &Options::default()).expect("the pass succeeds");
        report.outputs.take(&key).expect("the analysis answers")
    }

    fn grid(&self, n_bins: u16) -> TimeGrid {
        TimeGrid::new(self.run, NonZeroU16::new(n_bins).expect("there are bins"))
    }

    /// Calls `each` with the open regions, outermost first, from one call event of a location to the next.
    fn slices(&self, location: LocationId, mut each: impl FnMut(&[u32], u64, u64)) {
        let (mut open, mut since) = (Vec::new(), 0);
        for &(at, region, is_enter) in &self.events[&location].0 {
            each(&open, since, at);
            since = at;
            if is_enter {
                open.push(region);
            } else {
                assert_eq!(open.pop(), Some(region));
            }
        }
        assert!(open.is_empty());
    }

    fn name_of(&self, region: u32) -> &str {
        &self.trace.definitions().region(RegionId(region)).name
    }

    /// Sends and receives that have another side: rank, its world rank, time, bytes.
    fn ends(&self, sends: bool) -> Vec<(u32, u32, u64, u64)> {
        let definitions = self.trace.definitions();
        let mut found = Vec::new();
        for (id, events) in &self.events {
            let rank = definitions.location(*id).rank.map(|rank| rank.0);
            for &(at, comm, peer, bytes) in if sends { &events.1 } else { &events.2 } {
                let members = &definitions.communicators[comm as usize].members;
                // A peer from 2^31 on is no process (MPI_PROC_NULL).
                if let (Some(rank), Some(peer)) = (rank, members.get(peer as usize)) {
                    found.push((rank, peer.0, at, bytes));
                }
            }
        }
        found
    }
}

/// Ticks of each region in each bin.
fn exclusive_by_region(case: &Case, edges: &[u64]) -> BTreeMap<u32, Vec<u64>> {
    let mut ticks: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    let mut add = |open: &[u32], start: u64, end: u64| {
        let Some(&region) = open.last() else { return };
        let row = ticks.entry(region).or_insert_with(|| vec![0; edges.len() - 1]);
        for (bin, sum) in row.iter_mut().enumerate() {
            *sum += end.min(edges[bin + 1]).saturating_sub(start.max(edges[bin]));
        }
    };
    case.spans.keys().for_each(|&location| case.slices(location, &mut add));
    ticks.retain(|_, row| row.iter().any(|&ticks| 0 < ticks));
    ticks
}

/// Ticks of a location in idle regions, and in any region.
fn idle_and_any(case: &Case, location: LocationId, idle: &IdleRegions) -> (u64, u64) {
    let (mut in_idle, mut in_any) = (0, 0);
    case.slices(location, |open, start, end| {
        let is_idle = open.iter().any(|&r| idle.contains(RegionId(r)));
        in_idle += u64::from(is_idle) * (end - start);
        in_any += u64::from(!open.is_empty()) * (end - start);
    });
    (in_idle, in_any)
}

/// Ticks that a thread computes and communicates, without the lifetimes of requests.
fn computes_and_communicates(case: &Case, location: LocationId, semantics: &Semantics) -> (u64, u64) {
    let class = |&region: &u32| semantics.class_of_name(case.name_of(region));
    let talks =
        |region: &u32| class(region).family == Family::Mpi && class(region).category != Category::Computation;
    let (mut computation, mut communication) = (0, 0);
    case.slices(location, |open, start, end| {
        if open.iter().any(talks) {
            communication += end - start;
        } else if open.last().is_some_and(|region| class(region).family == Family::User) {
            computation += end - start;
        }
    });
    (computation, communication)
}

#[test]
fn time_profiles_are_those_of_the_events() {
    for case in cases() {
        for n_bins in [1, 100, 997] {
            let grid = case.grid(n_bins);
            let edges: Vec<u64> = grid.edges().iter().map(|edge| edge.0).collect();
            let expected = exclusive_by_region(&case, &edges);
            let output = case.answer(TimeProfile::new(grid));
            assert!(output.grid.is_exact_for(output.run_range), "{}", case.name);
            let functions = output.functions(case.trace.definitions(), By::Region);
            let found: BTreeMap<u32, Vec<u64>> = functions
                .iter()
                .map(|row| (row.key.region.0, row.exclusive.iter().map(|ticks| ticks.0).collect()))
                .collect();
            assert_eq!(found, expected, "{}", case.name);
            for (bin, idle) in output.idle.iter().enumerate() {
                let busy: u64 = expected.values().map(|row| row[bin]).sum();
                let width = edges[bin + 1] - edges[bin];
                assert_eq!(idle.0 + busy, width * case.spans.len() as u64, "{} bin {bin}", case.name);
            }
        }
    }
}

#[test]
fn messages_are_those_of_the_events() {
    for case in cases() {
        let (sends, receives) = (case.ends(true), case.ends(false));
        let matrix = case.answer(CommMatrix::default());
        let mut cells: BTreeMap<(u32, u32), (u64, u64)> = BTreeMap::new();
        for &(from, to, _, bytes) in &sends {
            let cell = cells.entry((from, to)).or_default();
            *cell = (cell.0 + 1, cell.1 + bytes);
        }
        let found: BTreeMap<_, _> = matrix
            .cells
            .iter()
            .map(|c| ((c.from.0, c.to.0), (c.traffic.messages, c.traffic.bytes)))
            .collect();
        assert_eq!(found, cells, "{}", case.name);
        for row in matrix.by_process() {
            let own: Vec<u64> = receives.iter().filter(|end| end.0 == row.rank.0).map(|end| end.3).collect();
            let found = (row.received.messages, row.received.bytes);
            assert_eq!(found, (own.len() as u64, own.iter().sum()), "{} {:?}", case.name, row.rank);
        }

        let histogram = case.answer(MessageHistogram);
        let mut sizes: Vec<u64> = sends.iter().map(|end| end.3).collect();
        sizes.sort_unstable();
        let found: Vec<u64> =
            histogram.sizes.iter().flat_map(|&(size, n)| std::iter::repeat_n(size, n as usize)).collect();
        assert_eq!(found, sizes, "{}", case.name);
        let bins = histogram.linear(NonZeroU16::new(10).unwrap());
        assert_eq!(bins.counts.iter().sum::<u64>(), sizes.len() as u64, "{}", case.name);

        let over_time = case.answer(CommOverTime::new(case.grid(50)));
        let edges = over_time.grid.edges();
        for (bin, found) in over_time.bins.iter().enumerate() {
            let is_last = bin + 1 == over_time.bins.len();
            let is_in = |at: u64| {
                edges[bin].0 <= at && (at < edges[bin + 1].0 || (is_last && at == edges[bin + 1].0))
            };
            let sum = |ends: &[(u32, u32, u64, u64)]| {
                let inside = ends.iter().filter(|end| is_in(end.2));
                inside.fold((0, 0), |(n, bytes), end| (n + 1, bytes + end.3))
            };
            assert_eq!((found.sent.messages, found.sent.bytes), sum(&sends), "{} bin {bin}", case.name);
            assert_eq!(
                (found.received.messages, found.received.bytes),
                sum(&receives),
                "{} bin {bin}",
                case.name
            );
        }
    }
}

#[test]
fn idle_time_is_that_of_the_events() {
    for case in cases() {
        let profile = case.answer(CallPathProfile);
        let definitions = case.trace.definitions();
        for names in [IDLE.to_vec(), [MPI_WAITS, MPI_MORE_WAITS].concat(), vec!["MPI_*"], vec!["*"]] {
            let idle = IdleRegions::named(definitions, &names);
            let output = idle_time(&profile, definitions, &idle);
            assert_eq!(output.locations.len(), case.spans.len());
            for row in &output.locations {
                let (in_regions, in_any) = idle_and_any(&case, row.location, &idle);
                let (start, end) = case.spans[&row.location];
                let is_stream = definitions.location(row.location).kind == LocationKind::AcceleratorStream;
                let gaps = if is_stream { end - start - in_any } else { 0 };
                assert_eq!((row.in_regions.0, row.in_gaps.0), (in_regions, gaps), "{} {names:?}", case.name);
            }
        }
    }
}

#[test]
fn breakdowns_are_those_of_the_events() {
    for case in cases() {
        let definitions = case.trace.definitions();
        let semantics = Semantics::default();
        let classes = semantics.classes(definitions);
        let answer = |requests| {
            let _filter = Filter::default();
            case.answer(Breakdown::new(&classes, HostCode::default(), requests))
        };
        let with_requests = answer(Requests::Included);
        let output = answer(Requests::LeftOut);
        assert_eq!(output.rows.len(), with_requests.rows.len());
        for (row, with) in output.rows.iter().zip(&with_requests.rows) {
            let total =
                |t: &ouzel::analyses::breakdown::ActivityTimes| t.computation + t.overlap + t.communication;
            assert_eq!(total(&row.times) + row.other(), row.span, "{}", case.name);
            assert_eq!(total(&with.times) + with.other(), with.span, "{}", case.name);
            // Requests add communication, never computation.
            let computing = |t: &ouzel::analyses::breakdown::ActivityTimes| t.computation + t.overlap;
            assert_eq!(computing(&row.times), computing(&with.times), "{}", case.name);
            assert!(row.times.communication <= with.times.communication, "{}", case.name);
            let of_rank = |id: &&LocationId| definitions.location(**id).rank == row.rank;
            let locations: Vec<LocationId> = case.spans.keys().filter(of_rank).copied().collect();
            if locations.len() != 1 {
                continue;
            }
            // One thread: both are disjoint, and each slice is one of them or none.
            let (computation, communication) = computes_and_communicates(&case, locations[0], &semantics);
            let found = [row.times.computation, row.times.overlap, row.times.communication];
            assert_eq!(found, [computation, 0, communication].map(Ticks), "{} {:?}", case.name, row.rank);
        }
    }
}

#[test]
fn the_published_ping_pong_has_its_messages() {
    let n_bytes = |output: &CommMatrixOutput| output.matrix(TrafficUnit::Bytes);
    for case in cases().iter().filter(|case| case.name.starts_with("scorep-pingpong")) {
        let matrix = case.answer(CommMatrix::default());
        assert_eq!(matrix.matrix(TrafficUnit::Messages), [[0, 8], [8, 0]], "{}", case.name);
        let bytes = n_bytes(&matrix);
        assert_eq!(bytes[0][1], bytes[1][0], "{}", case.name);
        let rows = case.answer(CallPathProfile).rows(case.trace.definitions(), By::Region, Per::Total);
        let n_sends =
            rows.iter().find(|row| case.name_of(row.key.region.0) == "MPI_Send").unwrap().times.visits;
        assert_eq!(n_sends, 16, "{}", case.name);
    }
}

#[test]
fn the_declared_range_is_a_guess_that_is_checked() {
    for case in cases() {
        let Some(guess) = TimeGrid::guess(case.trace.definitions(), None, NonZeroU16::MIN) else {
            continue;
        };
        let output = case.answer(TimeProfile::new(guess));
        // Whatever the guess, the answer reports whether it was right.
        assert_eq!(output.grid.is_exact_for(output.run_range), guess.range() == case.run, "{}", case.name);
        println!("{}: declared {:?}, run {:?}", case.name, guess.range(), case.run);
    }
}
