//! Counters of threads and memory of processes, as archives have them.

use crate::sampled::Workshop;
use crate::shop::{LIBRARIES, N_RANKS, Recorded, Shop, check_with_reference_tool};
use ouzel_otf2::Archive;
use ouzel_otf2::records::{Definition, Event};
use ouzel_recording::counters::Wanted;
use ouzel_recording::finish::FinishedArchive;
use ouzel_recording::launch::Choices;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The metrics of an archive.
#[derive(Debug, Default)]
struct Counted {
    /// For each location, the values of each metric in the order of time.
    values: Vec<BTreeMap<String, Vec<u64>>>,
    /// What each region gained of each counter while it was innermost, over all locations.
    of_regions: BTreeMap<(String, String), u64>,
    /// Samples of each location.
    n_samples: Vec<u64>,
}

impl Counted {
    fn read(folder: &Path) -> Self {
        let archive = Archive::open(folder).expect("an archive");
        let (definitions, notices) = archive.read_global_definitions();
        assert!(notices.is_empty(), "{notices:?}");
        let (mut texts, mut regions) = (BTreeMap::new(), BTreeMap::new());
        let (mut members, mut classes) = (BTreeMap::new(), BTreeMap::new());
        for definition in definitions.records() {
            match definition {
                Definition::String(it) => {
                    texts.insert(it.id, String::from_utf8_lossy(it.string.bytes()).into_owned());
                }
                Definition::Region(it) => drop(regions.insert(it.id, texts[&it.name].clone())),
                Definition::MetricMember(it) => drop(members.insert(it.id, texts[&it.name].clone())),
                Definition::MetricClass(it) => {
                    let names: Vec<String> =
                        it.metric_members.iter().map(|id| members[&id].clone()).collect();
                    classes.insert(it.id, names);
                }
                _ => {}
            }
        }
        let mut counted = Counted::default();
        for &location in archive.locations_on_disk() {
            let (local, notices) = archive.read_local_definitions(location);
            assert!(notices.is_empty(), "{notices:?}");
            let mut events = archive.events(location).expect("an event file");
            let (mut values, mut n_samples, mut open) = (BTreeMap::new(), 0, Vec::new());
            while let Some(record) = events.next_record().expect("events are valid") {
                let Some(mut event) = record.event else { panic!("an unknown event") };
                event.map_refs(&local.mapping);
                match event {
                    Event::Enter(it) => open.push(regions[&it.region].clone()),
                    Event::Leave(_) => drop(open.pop()),
                    Event::CallingContextSample(_) => n_samples += 1,
                    Event::Metric(it) => {
                        let names = &classes[&it.metric];
                        assert_eq!(names.len(), it.values.iter().count());
                        let region: &str = open.last().map_or("", |region: &String| region);
                        counted.add(region, names, it.values.iter().map(|it| it.bits), &mut values);
                    }
                    _ => {}
                }
            }
            counted.values.push(values);
            counted.n_samples.push(n_samples);
        }
        counted
    }

    /// Adds values of metrics to those before; what they have grown by belongs to the region.
    fn add(
        &mut self,
        region: &str,
        metrics: &[String],
        new: impl Iterator<Item = u64>,
        values: &mut BTreeMap<String, Vec<u64>>,
    ) {
        for (metric, value) in metrics.iter().zip(new) {
            let of_metric = values.entry(metric.clone()).or_default();
            let before = of_metric.last().copied().unwrap_or(value);
            if metric != "resident_memory" {
                assert!(before <= value, "{metric}: {before}, then {value}");
                *self.of_regions.entry((region.to_owned(), metric.clone())).or_default() += value - before;
            }
            of_metric.push(value);
        }
    }

    fn gain(&self, location: usize, metric: &str) -> u64 {
        let values = &self.values[location][metric];
        values.last().expect("a value") - values.first().expect("a value")
    }
}

fn choices(counters: &str, sample_hz: Option<u32>) -> Choices {
    let counters = Wanted::parse(counters).expect("they are known").to_string();
    Choices { counters: Some(counters), with_memory: true, sample_hz, ..Choices::default() }
}

fn said(archive: &FinishedArchive) -> String {
    let lines: Vec<&str> = archive.notices.iter().map(|notice| notice.message.as_str()).collect();
    lines.join("\n")
}

#[test]
fn threads_have_the_processor_time_of_their_samples() {
    let Some(shop) = Workshop::open() else { return };
    let program = shop.compile("samples.c", "samples", &["-O2"]);
    let output = shop.run_with(&program, "run", &["threads", "3"], &choices("auto", Some(1000)));
    assert!(output.status.success(), "{output:?}");
    let finished = shop.finish("run");
    assert!(finished.archives[0].notices.iter().all(|notice| !notice.is_loss), "{finished:?}");
    let counted = Counted::read(&shop.path("run"));
    assert_eq!(counted.values.len(), 4);
    for (location, &n_samples) in counted.n_samples.iter().enumerate() {
        let processor_ns = counted.gain(location, "task-clock");
        // A sample is due after each millisecond of processor time.
        assert!(
            n_samples * 1_000_000 <= processor_ns + processor_ns / 10 + 5_000_000,
            "{n_samples} samples in {processor_ns} ns"
        );
        assert!(0 < processor_ns);
        counted.gain(location, "page-faults");
        counted.gain(location, "context-switches");
    }
    let most_of =
        |name: &str| counted.values.iter().filter_map(|values| values.get(name)?.iter().max()).max();
    let (highest, most) = (most_of("resident_memory_highest"), most_of("resident_memory"));
    assert!(most.is_some_and(|&most| 100_000 < most) && most <= highest, "{most:?}, {highest:?}");
}

#[test]
fn threads_in_sequence_go_on_from_each_other() {
    let Some(shop) = Workshop::open() else { return };
    let program = shop.compile("samples.c", "samples", &["-O2"]);
    let output = shop.run_with(&program, "run", &["sequence", "2000"], &choices("auto", Some(1000)));
    assert!(output.status.success(), "{output:?}");
    shop.finish("run");
    let counted = Counted::read(&shop.path("run"));
    // Each thread leaves its last values at least.
    assert!(counted.values.iter().any(|values| 2000 < values["task-clock"].len()), "{:?}", counted.n_samples);
}

#[test]
fn page_faults_and_memory_are_those_of_the_function() {
    let Some(shop) = Workshop::open() else { return };
    let program = shop.compile("counted.c", "counted", &["-O1", "-finstrument-functions"]);
    const MIB: u64 = 64;
    let words = ["touch", &MIB.to_string()];
    let output = shop.run_with(&program, "run", &words, &choices("task-clock,page-faults", None));
    assert!(output.status.success(), "{output:?}");
    shop.finish("run");
    let counted = Counted::read(&shop.path("run"));
    let gained = |region: &str, metric: &str| counted.of_regions[&(region.to_owned(), metric.to_owned())];
    let n_pages = MIB * 256;
    assert!(n_pages <= gained("touch", "page-faults"), "{:?}", counted.of_regions);
    assert!(gained("compute", "page-faults") < n_pages / 16, "{:?}", counted.of_regions);
    assert!(0 < gained("compute", "task-clock"), "{:?}", counted.of_regions);
    let highest = counted.values[0]["resident_memory_highest"].last().copied();
    assert!(highest.is_some_and(|bytes| MIB << 20 <= bytes), "{highest:?}");
    let resident = counted.values[0]["resident_memory"].last().copied();
    assert!(resident.is_some_and(|bytes| bytes < MIB << 20), "it was given back: {resident:?}");
}

#[test]
fn short_calls_are_read_within_limits_and_said() {
    let Some(shop) = Workshop::open() else { return };
    let program = shop.compile("counted.c", "counted", &["-O1", "-finstrument-functions"]);
    let words = ["short", "300000"];
    let output = shop.run_with(&program, "run", &words, &choices("task-clock", None));
    assert!(output.status.success(), "{output:?}");
    let finished = shop.finish("run");
    let said = said(&finished.archives[0]);
    assert!(said.contains(" of 300,001 calls, as they came too fast"), "{said}");
    let counted = Counted::read(&shop.path("run"));
    let n = counted.values[0]["task-clock"].len();
    assert!((2 * 256..300_000).contains(&n), "{n}");
    // Another counter's file, where this system lets it be opened; it counts what the clock does.
    let output = shop.run_with(&program, "both", &["touch", "8"], &choices("task-clock,cpu-clock", None));
    assert!(output.status.success(), "{output:?}");
    shop.finish("both");
    let counted = Counted::read(&shop.path("both"));
    if counted.values[0].contains_key("cpu-clock") {
        let (task, cpu) = (counted.gain(0, "task-clock"), counted.gain(0, "cpu-clock"));
        assert!(task / 2 < cpu && cpu / 2 < task, "{task} and {cpu}");
    }
}

/// A program that closes files that are not its own gets the bytes of those that it opens in their places.
#[test]
fn files_of_the_program_are_not_read() {
    let Some(shop) = Workshop::open() else { return };
    let program = shop.compile("counted.c", "counted", &["-O1"]);
    let text: String = ('a'..='z').cycle().take(300).collect();
    let path = shop.path("text");
    fs::write(&path, &text).expect("a file");
    for hz in [None, Some(1000)] {
        let choices = Choices { with_io: true, ..choices("task-clock,cpu-clock", hz) };
        let name = format!("run-{}", hz.unwrap_or(0));
        let words = ["close", path.to_str().expect("text")];
        let output = shop.run_with(&program, &name, &words, &choices);
        assert!(output.status.success(), "{output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), text);
        shop.finish(&name);
        Counted::read(&shop.path(&name));
    }
}

#[test]
fn calls_of_mpi_are_counted() {
    for shop in LIBRARIES.into_iter().filter_map(|library| Shop::open(library, "mpicc")) {
        let library = shop.library;
        let program = shop.compile("mpicc", "program.c", "program", &[]);
        let counter = shop.compile("mpicc", "count.c", "count.so", &["-shared", "-fPIC"]);
        let output = shop.run_with(&program, "run", &[], Some(&counter), &choices("auto", Some(1000)));
        assert!(output.status.success(), "{library}: {output:?}");
        let finished = shop.finish("run");
        assert_eq!(finished.archives[0].n_processes, N_RANKS, "{library}");
        check_with_reference_tool(&shop.path("run"));
        let recorded = Recorded::read(&shop.path("run"));
        for (rank, of_rank) in shop.counted().iter().enumerate() {
            for (function, expected) in of_rank {
                assert_eq!(
                    recorded.counts[rank].get(function),
                    Some(expected),
                    "{library}: {rank}, {function}"
                );
            }
        }
        let counted = Counted::read(&shop.path("run"));
        let in_init = ("MPI_Init".to_owned(), "task-clock".to_owned());
        assert!(counted.of_regions.get(&in_init).is_some_and(|&ns| 0 < ns), "{library}");
    }
}
