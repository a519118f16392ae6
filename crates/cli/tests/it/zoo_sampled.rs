//! Programs with a planted fault, as a sampling tracer would have seen the recorded runs.
//!
//! Each archive of `testdata/zoo` is read, sampled, and written as an archive that holds nothing but samples. What samples
//! cannot know is lost: messages, visits, what is shorter than a period.

use crate::model_archive::write;
use crate::run::{Scratch, json, testdata};
use ouzel::formats::otf2::Otf2Source;
use ouzel::formats::otf2::model_archive::Clocks;
use ouzel::model::{ChunkBuffer, EventKind, Needs, ReadPlan, TraceSource};
use ouzel_testkit::{Sampler, ToyEvent, ToyPayload, ToyTrace};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Most gain that a finding may promise in a program without fault, as a part of the run time.
const CLEAN_MAX: f64 = 0.02;
/// Programs without a fault.
const CLEAN: [(&str, &str); 8] = [
    ("clean", "faulty"),
    ("static_imbalance", "fixed"),
    ("slow_rank", "fixed"),
    ("oversubscribed", "fixed"),
    ("slow_start", "fixed"),
    ("gpu_stencil", "fixed"),
    ("starving_device", "fixed"),
    ("drifting_imbalance", "fixed"),
];
/// Samples per second.
const RATES: [u64; 2] = [1000, 200];

/// The calls of an archive.
fn calls(archive: &Path) -> ToyTrace {
    let source = Otf2Source::open(archive).expect("the archive can be read");
    let mut trace = ToyTrace::of_definitions(source.definitions().clone());
    let plan = ReadPlan::all(Needs::NOTHING);
    let mut buffer = ChunkBuffer::default();
    for location in source.definitions().location_ids() {
        let mut reader = source.open(location, &plan).expect("the location can be read");
        loop {
            buffer.clear();
            let more = reader.read(&mut buffer).expect("the location can be read");
            for row in 0..buffer.len() {
                let what = match buffer.kind[row] {
                    EventKind::Enter => ToyPayload::Enter(buffer.region[row]),
                    EventKind::Leave => ToyPayload::Leave(buffer.region[row]),
                    _ => continue,
                };
                trace.events_mut(location).push(ToyEvent { time: buffer.time[row], what });
            }
            if !more {
                break;
            }
        }
    }
    trace
}

/// The report on samples of an archive at so many per second and location. Accelerators keep their exact times, as
/// tracers record them.
fn report_on_samples(archive: &Path, hz: u64, scratch: &Scratch) -> Value {
    let exact = calls(archive);
    let period = exact.definitions().clock.ticks_per_second / hz;
    let sampler = Sampler { jitter: period / 50, ..Sampler::every(period, hz) };
    let sampled = sampler.samples_of_threads(&exact, &|_, _, _| None);
    let folder = scratch.0.join("samples");
    let _ = std::fs::remove_dir_all(&folder);
    write(&sampled, &folder, Clocks::Synchronised);
    json(&folder, &["report"])["data"].take()
}

/// Kind, call path and ranks of the first finding.
fn what(report: &Value) -> (&Value, &Value, &Value) {
    let first = &report["findings"][0];
    (&first["kind"], &first["call_path"], &first["ranks"]["list"])
}

fn in_words(report: &Value) -> String {
    let first = &report["findings"][0];
    let path: Vec<&str> =
        first["call_path"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    let gain = first["gain_fraction"].as_f64().expect("a number");
    match (first["kind"].as_str().expect("a text"), path.last()) {
        ("nothing_significant", _) => "nothing significant".to_owned(),
        (kind, Some(last)) => format!("`{kind}` in {last}, {:.1} %", 100.0 * gain),
        (kind, None) => format!("`{kind}`, {:.1} %", 100.0 * gain),
    }
}

/// The rows of the page, and how many of the first findings are the same at each rate.
fn table() -> (String, Vec<[bool; 2]>) {
    let scratch = Scratch::new("zoo-sampled");
    let folders = std::fs::read_dir(testdata("zoo")).expect("the recorded programs are there");
    let mut programs: Vec<PathBuf> =
        folders.map(|entry| entry.expect("can be listed").path()).filter(|path| path.is_dir()).collect();
    programs.sort();
    let (mut rows, mut are_same) = (String::new(), Vec::new());
    for program in programs {
        let name = program.file_name().and_then(|name| name.to_str()).expect("a name in UTF-8").to_owned();
        let archive = program.join("faulty");
        let exact = json(&archive, &["report"])["data"].take();
        let found = RATES.map(|hz| report_on_samples(&archive, hz, &scratch));
        let same = found.each_ref().map(|found| what(found) == what(&exact));
        let cells = [0, 1].map(|i| match same[i] {
            true => format!(
                "the same, {:.1} %",
                100.0 * found[i]["findings"][0]["gain_fraction"].as_f64().unwrap_or(0.0)
            ),
            false => in_words(&found[i]),
        });
        rows += &format!("| {name} | {} | {} | {} |\n", in_words(&exact), cells[0], cells[1]);
        are_same.push(same);
    }
    (rows, are_same)
}

#[test]
fn the_first_finding_of_samples_is_that_of_the_exact_run_or_on_the_page() {
    let (rows, are_same) = table();
    let n_same = [0, 1].map(|i| are_same.iter().filter(|same| same[i]).count());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/validation-samples.md");
    let head = format!(
        "{} programs: {} at 1 kHz and {} at 200 Hz have the same first finding",
        are_same.len(),
        n_same[0],
        n_same[1]
    );
    let page = std::fs::read_to_string(path).expect("the page is there");
    assert!(page.contains(&rows) && page.contains(&head), "the page should have:\n{head}\n{rows}");
}

#[test]
fn samples_of_a_clean_program_have_no_finding() {
    let scratch = Scratch::new("zoo-sampled-clean");
    for hz in RATES {
        for (program, variant) in CLEAN {
            let report = report_on_samples(&testdata("zoo").join(program).join(variant), hz, &scratch);
            let gain = report["findings"][0]["gain_fraction"].as_f64().expect("a number");
            assert!(gain <= CLEAN_MAX, "{program} at {hz} Hz: {}", report["findings"]);
        }
    }
}
