//! Synthetic archives read back, by the plainest loop there is, and compared with their facts.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ouzel_otf2::records::Event;
use ouzel_otf2::{Archive, Definitions};

use super::*;

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("ouzel-synth-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        Scratch(dir)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Enough events for several clock intervals and, in chunks this small, several chunks.
fn some() -> SynthOptions {
    SynthOptions {
        n_events: 60_000,
        n_ranks: 6,
        event_chunk_bytes: 4096,
        output_every: 9,
        ..Default::default()
    }
}

fn variants() -> Vec<(&'static str, SynthOptions)> {
    vec![
        ("plain", SynthOptions { n_events: 300_000, ..some() }),
        ("one-rank", SynthOptions { n_ranks: 1, n_events: 3_000, ..some() }),
        ("counters", SynthOptions { counters: Counters::On, seed: 5, ..some() }),
        ("big-endian", SynthOptions { endian: Endian::Big, skew: Skew::Constant, ..some() }),
        ("tsc", SynthOptions { ticks_per_second: 3_699_958_577, n_ranks: 9, ..some() }),
        ("no-skew", SynthOptions { skew: Skew::None, imbalance_percent: 0, output_every: 0, ..some() }),
    ]
}

/// Visits, inclusive and exclusive ticks, and what the counters gained inclusively, by region.
type Sums = BTreeMap<String, [u64; 5]>;

/// The contents of one location's events.
#[derive(Debug, Default, PartialEq)]
struct Told {
    n_events: u64,
    span: Option<(u64, u64)>,
    sums: Sums,
    messages: MessageFacts,
    collectives: BTreeMap<String, (u64, u64)>,
}

fn name_of(definitions: &Definitions, region: u32) -> String {
    let region = definitions.region(region).expect("the region is defined");
    definitions.string(region.name).expect("its name is defined").to_string()
}

fn told_by(archive: &Archive, definitions: &Definitions, location: u64) -> Told {
    let (local, notices) = archive.read_local_definitions(location);
    assert_eq!(notices, []);
    let mut told = Told::default();
    let mut stack: Vec<(u64, u64, [u64; 2])> = Vec::new();
    let mut counts = [0; 2];
    let mut events = archive.events(location).expect("the file is there");
    while let Some(record) = events.next_record().expect("the file is sound") {
        let time = local.clock.global(record.time);
        let mut event = record.event.expect("the event is known");
        event.map_refs(&local.mapping);
        let (first, last) = told.span.unwrap_or((time, time));
        assert!(last <= time, "corrected times do not decrease");
        told.span = Some((first, time));
        told.n_events += 1;
        match event {
            Event::Metric(metric) => {
                assert_eq!(metric.metric, 0);
                metric.values.iter().zip(&mut counts).for_each(|(value, count)| *count = value.bits);
            }
            Event::Enter(_) => stack.push((time, 0, counts)),
            Event::Leave(leave) => {
                let (enter, in_callees, before) = stack.pop().expect("leaves match enters");
                let inclusive = time - enter;
                let sum = told.sums.entry(name_of(definitions, leave.region)).or_default();
                let gains = [counts[0] - before[0], counts[1] - before[1]];
                let more = [1, inclusive, inclusive - in_callees, gains[0], gains[1]];
                sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
                stack.iter_mut().rev().take(1).for_each(|caller| caller.1 += inclusive);
            }
            other => told.count(&other),
        }
    }
    assert!(stack.is_empty());
    told
}

impl Told {
    fn count(&mut self, event: &Event<'_>) {
        let messages = &mut self.messages;
        let (sent, received) = match event {
            Event::MpiSend(send) => (Some(send.msg_length), None),
            Event::MpiIsend(send) => (Some(send.msg_length), None),
            Event::MpiRecv(recv) => (None, Some(recv.msg_length)),
            Event::MpiIrecv(recv) => (None, Some(recv.msg_length)),
            Event::MpiCollectiveEnd(end) => {
                let total = self.collectives.entry(end.collective_op.to_string()).or_default();
                *total = (total.0 + 1, total.1 + end.size_sent);
                (None, None)
            }
            _ => (None, None),
        };
        messages.n_sent += u64::from(sent.is_some());
        messages.bytes_sent += sent.unwrap_or(0);
        messages.n_received += u64::from(received.is_some());
        messages.bytes_received += received.unwrap_or(0);
    }
}

/// The same from the facts.
fn told_by_facts(facts: &RankFacts) -> Told {
    let gain = |region: &RegionFacts, name| region.counters.get(name).map_or(0, |gain| gain.inclusive);
    let sums = facts.regions.iter().map(|region| {
        let [cycles, instructions] = definitions::COUNTERS.map(|name| gain(region, name));
        let sums = [region.visits, region.inclusive_ticks, region.exclusive_ticks, cycles, instructions];
        (region.region.clone(), sums)
    });
    let collectives = facts.collectives.iter().map(|c| (c.operation.clone(), (c.n_calls, c.bytes_sent)));
    Told {
        n_events: facts.n_events,
        span: Some((facts.start_ticks, facts.end_ticks)),
        sums: sums.collect(),
        messages: facts.messages,
        collectives: collectives.collect(),
    }
}

#[test]
fn the_facts_are_what_a_reader_finds() {
    for (name, options) in variants() {
        let scratch = Scratch::new(name);
        let facts = write_archive(&scratch.0, &options).expect("the directory can be written");
        let archive = Archive::open(&scratch.0).expect("the archive is sound");
        let (definitions, notices) = archive.read_global_definitions();
        assert_eq!(notices, [], "{name}");
        assert_eq!(archive.compare_event_counts(&definitions), []);
        assert_eq!(archive.locations_on_disk().len(), facts.ranks.len());
        for rank in &facts.ranks {
            assert_eq!(told_by(&archive, &definitions, rank.location), told_by_facts(rank), "{name}");
        }
        let sum: u64 = facts.ranks.iter().map(|rank| rank.n_events).sum();
        assert_eq!((sum, sum), (facts.n_events, facts.n_events_by_record.values().sum()));
        assert!(sum >= options.n_events);
        assert_eq!(facts.messages.n_sent, facts.messages.n_received);
        let stored = fs::read(scratch.0.join("facts.json")).expect("the facts are stored");
        assert_eq!(serde_json::from_slice::<Facts>(&stored).expect("the facts are JSON"), facts);
    }
}

#[test]
fn what_is_planted_is_there() {
    let scratch = Scratch::new("planted");
    let facts = write_archive(&scratch.0, &some()).expect("the directory can be written");
    let losses = &facts.losses;
    assert_eq!(losses.slow_ranks, [1, 5]);
    assert_eq!(losses.n_output_phases, facts.n_iterations / 9);
    assert!(losses.n_output_phases > 0 && losses.serialised_output_wait_ticks > 0);
    let kernels = ["stencil", "flux", "source_term"];
    let time_in_kernels = |rank: u32| -> u64 {
        let regions = facts.ranks[rank as usize].regions.iter();
        regions.filter(|r| kernels.contains(&r.region.as_str())).map(|r| r.exclusive_ticks).sum()
    };
    assert!(time_in_kernels(1) * 10 > time_in_kernels(0) * 13);
    let main = facts.regions.iter().find(|region| region.region == "main").expect("main runs");
    assert_eq!(facts.regions.iter().map(|region| region.exclusive_ticks).sum::<u64>(), main.inclusive_ticks);

    let even = SynthOptions { imbalance_percent: 0, output_every: 0, ..some() };
    let scratch = Scratch::new("not-planted");
    let even = write_archive(&scratch.0, &even).expect("the directory can be written").losses;
    assert_eq!((even.extra_compute_ticks, even.n_output_phases, even.slow_ranks.len()), (0, 0, 0));
    assert!(even.allreduce_wait_ticks * 4 < losses.allreduce_wait_ticks);
}

/// Every file and its bytes.
fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for sub in [dir.to_path_buf(), dir.join("traces")] {
        for entry in fs::read_dir(sub).expect("the directory is there") {
            let path = entry.expect("it can be listed").path();
            let inside = path.strip_prefix(dir).expect("it lies inside").to_path_buf();
            fs::read(&path).ok().and_then(|bytes| files.insert(inside, bytes));
        }
    }
    files
}

#[test]
fn equal_seeds_make_equal_bytes() {
    let scratches = ["seed-a", "seed-b", "seed-c"].map(Scratch::new);
    let [a, b, c] = [1, 1, 2].map(|seed| SynthOptions { seed, n_events: 5_000, ..some() });
    for (scratch, options) in scratches.iter().zip([a, b, c]) {
        write_archive(&scratch.0, &options).expect("the directory can be written");
    }
    let [a, b, c] = scratches.each_ref().map(|scratch| files(&scratch.0));
    assert_eq!(a.len(), 3 + 2 * 6);
    assert!(a == b);
    assert!(a != c);
}

#[test]
fn the_reference_tool_has_nothing_to_say() {
    for (name, options) in variants() {
        // The tool reads no chunks below 256 KiB.
        let options = SynthOptions { event_chunk_bytes: 256 << 10, ..options };
        let scratch = Scratch::new(&format!("reference-{name}"));
        let facts = write_archive(&scratch.0, &options).expect("the directory can be written");
        let anchor = scratch.0.join("traces.otf2");
        let Ok(out) = Command::new("otf2-print").arg(&anchor).output() else {
            eprintln!(
                "SKIPPED: otf2-print is not installed (Debian package otf2-tools); nothing was compared"
            );
            return;
        };
        assert_eq!(String::from_utf8_lossy(&out.stderr), "", "{name}");
        let lines = String::from_utf8_lossy(&out.stdout);
        let times = lines.lines().filter_map(|line| line.split_whitespace().nth(2)?.parse::<u64>().ok());
        let times: Vec<u64> = times.collect();
        assert_eq!(times.len() as u64, facts.n_events, "{name}");
        // The tool merges locations by corrected time, which must be the true time.
        assert_eq!((times[0], times[times.len() - 1]), (facts.start_ticks, facts.end_ticks), "{name}");
    }
}

#[test]
fn senseless_options_are_refused() {
    let scratch = Scratch::new("refused");
    for options in [SynthOptions { n_ranks: 0, ..some() }, SynthOptions { ticks_per_second: 1, ..some() }] {
        assert!(matches!(write_archive(&scratch.0, &options), Err(SynthError::Options(_))));
    }
    assert!(!scratch.0.exists());
}
