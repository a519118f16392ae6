//! Time at sampled locations is counted once: a trace sampled in one half gives the same results as the same calls all
//! recorded.
//!
//! The calls of the sampled half are written out by hand in the simplest way: a frame lasts from the first sample with
//! it to the first without, and what is open at the last event ends there.

use ouzel_analyses::breakdown::{Breakdown, HostCode, Requests};
use ouzel_analyses::call_path_profile::CallPathProfile;
use ouzel_analyses::idle::{IdleRegions, idle_time};
use ouzel_analyses::semantics::Semantics;
use ouzel_analyses::time_grid::TimeGrid;
use ouzel_analyses::time_profile::TimeProfile;
use ouzel_analyses::{By, Per};
use ouzel_diagnose::ReportAnalyses;
use ouzel_engine::{AnalysisSet, Pass};
use ouzel_model::{ColumnData, Filter, Table, Ticks, TimeRange, TraceSource};
use ouzel_testkit::{Rng, ToyTrace, run};
use std::collections::BTreeMap;
use std::num::{NonZeroU16, NonZeroUsize};

/// None synchronises all ranks: what does cuts recorded calls into phases, and samples only by a plan.
const NAMES: [&str; 6] = ["main", "solve", "write_chunk", "MPI_Recv", "MPI_Send", "MPI_Wait"];

/// Time and frames from the outermost.
type Sample = (u64, Vec<&'static str>);

fn samples(rng: &mut Rng) -> Vec<Sample> {
    let mut at = rng.below(10);
    let mut frames = Vec::new();
    let mut sample = || {
        frames.truncate(rng.below(4) as usize);
        while frames.is_empty() || (rng.below(3) != 0 && frames.len() < 4) {
            frames.push(NAMES[rng.below(6) as usize]);
        }
        at += 1 + rng.below(20);
        (at, frames.clone())
    };
    (0..60).map(|_| sample()).collect()
}

fn as_sample(frames: &[&str]) -> String {
    format!("sample {}", frames.join("/"))
}

/// The samples as a line of a trace.
fn as_samples(location: &str, samples: &[Sample]) -> String {
    let event = |(at, frames): &Sample| format!("{} @{at}", as_sample(frames));
    format!("{location}: {}\n", samples.iter().map(event).collect::<Vec<_>>().join(", "))
}

/// The calls that the samples represent as a line of a trace, and each sample after them if it is kept.
fn as_calls(location: &str, samples: &[Sample], keeps_samples: bool) -> String {
    let mut events = Vec::new();
    let mut open: Vec<&str> = Vec::new();
    for (nth, (at, frames)) in samples.iter().enumerate() {
        let is_last = nth + 1 == samples.len();
        let n_same = open.iter().zip(frames).take_while(|(a, b)| a == b).count();
        for _ in n_same..open.len() {
            events.push(format!("leave @{at}"));
        }
        open.truncate(n_same);
        for &frame in &frames[n_same..] {
            events.push(format!("enter {frame} @{at}"));
            open.push(frame);
        }
        let what = if keeps_samples { as_sample(frames) } else { "other".to_owned() };
        events.push(format!("{what} @{at}"));
        if is_last {
            events.extend(open.drain(..).map(|_| format!("leave @{at}")));
        }
    }
    format!("{location}: {}\n", events.join(", "))
}

/// Time in each region on its own, from the samples alone: each lasts to the next.
fn exclusive(locations: &[Vec<Sample>]) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for pair in locations.iter().flat_map(|samples| samples.windows(2)) {
        if let Some(innermost) = pair[0].1.last() {
            *sums.entry((*innermost).to_owned()).or_insert(0) += pair[1].0 - pair[0].0;
        }
    }
    sums
}

/// The same calls, with ranks 0 and 2 sampled, and with all recorded. Rank 1 was recorded and sampled at a time.
fn half_sampled_and_recorded(locations: &[Vec<Sample>]) -> [ToyTrace; 2] {
    // Regions get their numbers in one order.
    let named = NAMES.map(|name| format!("enter {name} @0, leave @0")).join(", ");
    [true, false].map(|is_half_sampled| {
        let mut text = format!("{}: {named}\n", locations.len());
        for (rank, samples) in locations.iter().enumerate() {
            let location = rank.to_string();
            text += &match (is_half_sampled, rank % 2) {
                (true, 0) => as_samples(&location, samples),
                (is_half_sampled, _) => as_calls(&location, samples, is_half_sampled),
            };
        }
        ToyTrace::new(&text)
    })
}

/// All results for a trace, in words.
fn answers(trace: &ToyTrace) -> Vec<String> {
    let definitions = trace.definitions();
    let classes = Semantics::default().classes(definitions);
    let filter = Filter::default();
    let profile = run(trace, CallPathProfile);
    let range = TimeRange { start: Ticks(0), end: Ticks(997) };
    let grid = TimeGrid::new(range, NonZeroU16::new(13).expect("13 bins"));
    let idle = IdleRegions::named(definitions, &["MPI_Recv".to_owned(), "MPI_Wait".to_owned()]);
    let breakdown = Breakdown::new(&classes, HostCode::default(), Requests::default());
    let mut all: Vec<String> = [By::Region, By::CallPath]
        .map(|by| format!("{:?}", sorted(&profile.table(definitions, by, Per::Location))))
        .to_vec();
    all.push(format!("{:?}", run(trace, TimeProfile::new(grid)).table(definitions, By::Region)));
    all.push(format!("{:?}", run(trace, breakdown).table(definitions)));
    all.push(format!("{:?}", idle_time(&profile, definitions, &idle).table(definitions, Per::Location)));
    let mut set = AnalysisSet::default();
    let analyses = ReportAnalyses::add_to(&mut set, definitions, &Semantics::default());
    let pass = Pass { filter: &filter, jobs: NonZeroUsize::MIN, progress: None };
    let mut pass = set.run(trace, pass).expect("the pass succeeds");
    let report = analyses.finish(&mut pass, definitions).expect("the report is made");
    all.push(format!("{:?}", report.losses));
    all.push(format!("{:?}", report.efficiency));
    // Evidence counts calls where they are recorded, and states where they are not.
    let findings = report.findings.iter();
    all.extend(findings.map(|of| format!("{} {:?} {:?} {:?}", of.title, of.call_path, of.ranks, of.gain_ns)));
    all
}

/// Rows in the order of their names.
fn sorted(table: &Table) -> Vec<String> {
    let names = |row: usize| table.columns.iter().map(|c| value(&c.data, row)).collect::<Vec<_>>().join(" ");
    let mut rows: Vec<String> = (0..table.n_rows()).map(names).collect();
    rows.sort();
    rows
}

fn value(data: &ColumnData, row: usize) -> String {
    match data {
        ColumnData::U64(v) => v[row].to_string(),
        ColumnData::OptionU64(v) => format!("{:?}", v[row]),
        ColumnData::Text(v) => v[row].to_string(),
        ColumnData::TextList(v) => v[row].join("/"),
        _ => String::new(),
    }
}

#[test]
fn a_trace_of_two_halves_says_what_recorded_calls_say() {
    let mut n_ns = 0;
    for seed in 0..20 {
        let mut rng = Rng::new(seed);
        let locations: Vec<_> = (0..4).map(|_| samples(&mut rng)).collect();
        let [half, recorded] = half_sampled_and_recorded(&locations);
        let sampled: Vec<bool> =
            half.definitions().location_ids().map(|location| half.is_sampled(location)).collect();
        assert_eq!(sampled.iter().filter(|is| **is).count(), 2, "{sampled:?}");
        for (one, other) in answers(&half).into_iter().zip(answers(&recorded)) {
            assert_eq!(one, other, "seed {seed}");
        }
        let definitions = half.definitions();
        let rows = run(&half, CallPathProfile).rows(definitions, By::Region, Per::Total);
        let sums: BTreeMap<String, u64> = rows
            .iter()
            .map(|row| (definitions.region(row.key.region).name.to_string(), row.times.exclusive.0))
            .filter(|(_, ns)| 0 < *ns)
            .collect();
        assert_eq!(sums, exclusive(&locations), "seed {seed}");
        n_ns += sums.values().sum::<u64>();
    }
    assert!(0 < n_ns);
}
