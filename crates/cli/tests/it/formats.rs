//! Traces of formats other than OTF2, from outside: they mean the same when converted, and one program traced by
//! several tools gives consistent answers.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

use crate::archives::{assert_reference_reads, assert_same_answers, converted};
use crate::run::{Scratch, ran_on};
use ouzel::analyses::communication_totals::Communication;
use ouzel::model::{Filter, LocationId};
use ouzel_testkit::shared_data;
use std::path::{Path, PathBuf};

/// Real traces of formats that record calls, small ones.
fn traces() -> Vec<PathBuf> {
    let Some(shared) = shared_data() else { return Vec::new() };
    let names = [
        "projections/pingpong-pipit",
        "projections/hello-ppl",
        "projections/hello-1darray-pipit-old",
        "foo-bar.csv",
    ];
    names.iter().map(|name| shared.join("data").join(name)).collect()
}

#[test]
fn what_is_converted_to_otf2_says_the_same() {
    for (nth, path) in traces().iter().enumerate() {
        let scratch = Scratch::new(&format!("format-{nth}"));
        let to = scratch.0.join("archive");
        converted(path, &to, &[]);
        assert_same_answers(path, &Filter::default(), &to);
        assert_reference_reads(&to.join("traces.otf2"));
    }
}

/// Every real trace below a folder of a format: files, and folders that are a trace.
fn all_below(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut pending) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(path) = pending.pop() {
        if ouzel::open(&path).is_ok() {
            found.push(path.clone());
        }
        if path.is_dir() {
            pending.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    found.sort();
    found
}

#[test]
fn every_real_trace_becomes_an_archive_that_the_reference_reads() {
    let Some(shared) = shared_data() else { return };
    let formats = ["chrome", "chrome-pytorch", "csv", "hpctoolkit", "nsight", "projections"];
    let traces = formats.map(|format| all_below(&shared.join("data").join(format))).concat();
    assert!(40 <= traces.len(), "only {} traces were found", traces.len());
    for (nth, path) in traces.iter().enumerate() {
        let scratch = Scratch::new(&format!("every-{nth}"));
        let to = scratch.0.join("archive");
        let ran = ran_on(path, &["convert", to.to_str().unwrap(), "--to", "otf2", "--quiet"]);
        assert!(matches!(ran.code, Some(0 | 2)), "{path:?}: {}", ran.err);
        assert_reference_reads(&to.join("traces.otf2"));
    }
}

#[test]
fn tables_are_written_of_every_format() {
    for (nth, path) in traces().iter().enumerate() {
        for to in ["csv", "parquet"] {
            let scratch = Scratch::new(&format!("format-{to}-{nth}"));
            let out = scratch.0.join("tables");
            let ran = ran_on(path, &["convert", out.to_str().unwrap(), "--to", to]);
            assert_eq!(ran.code, Some(0), "{path:?} to {to}: {}", ran.err);
            let events = std::fs::metadata(out.join(format!("events.{to}"))).unwrap();
            assert!(0 < events.len());
        }
    }
}

/// Names with everything that breaks text formats, processes that are no ranks, no communicator.
#[test]
fn odd_names_come_through() {
    let scratch = Scratch::new("format-odd");
    let table = scratch.0.join("odd");
    let text = "Timestamp (s),Event Type,Name,Process,Thread\n0,Enter,\"a \"\"b\"\", c\n\u{e9}\u{1F600}\",-3,x\n\
                1,Enter,,-3,x\n2,Leave,,-3,x\n3,Leave,\"a \"\"b\"\", c\n\u{e9}\u{1F600}\",-3,x\n";
    std::fs::write(&table, text).unwrap();
    let to = scratch.0.join("archive");
    converted(&table, &to, &[]);
    assert_same_answers(&table, &Filter::default(), &to);
    assert_reference_reads(&to.join("traces.otf2"));
}

/// Messages, bytes and ranks of one trace.
fn messages(path: &Path) -> (usize, u64, u64) {
    let trace = ouzel::open(path).unwrap();
    let mut set = ouzel::engine::AnalysisSet::default();
    let key = set.add(Communication);
    let mut report = trace.run(&set, &ouzel::Options::default()).unwrap();
    let total = report.outputs.take(&key).unwrap().total_messages();
    assert_eq!(total.sends, total.receives);
    (trace.definitions().ranks().len(), total.sends, total.bytes_sent)
}

/// The ping-pong as an MPI program (Score-P, HPCToolkit) and in Charm++ (Projections). The two programs send different
/// numbers of messages; this test checks what they have in common.
#[test]
fn one_program_traced_by_several_tools() {
    let Some(shared) = shared_data() else { return };
    let data = shared.join("data");
    let [scorep, hpctoolkit, charm] =
        ["otf2/scorep-pingpong", "hpctoolkit/pingpong-pipit", "projections/pingpong-pipit"]
            .map(|name| data.join(name));
    // Powers of two from 8 KiB to 1 MiB, there and back.
    assert_eq!(messages(&scorep), (2, 16, 8_355_840));
    let (ranks, n, bytes) = messages(&charm);
    assert_eq!((ranks, n), (2, 145));
    assert!(145 <= bytes, "each message has an envelope");
    let (ranks, n, _) = messages(&hpctoolkit);
    assert_eq!((ranks, n), (2, 0), "HPCToolkit records no messages");
    let names = |path: &Path| -> Vec<String> {
        let trace = ouzel::open(path).unwrap();
        trace.definitions().regions.iter().map(|region| region.name.to_string()).collect()
    };
    let (by_scorep, by_hpctoolkit) = (names(&scorep), names(&hpctoolkit));
    for name in ["MPI_Init", "MPI_Finalize"] {
        assert!(by_scorep.iter().any(|known| known == name), "{name}");
    }
    assert!(by_hpctoolkit.iter().any(|name| name.contains("main")), "{by_hpctoolkit:?}");
    let trace = ouzel::open(&charm).unwrap();
    assert_eq!(trace.definitions().location(LocationId(1)).name.as_ref(), "PE 1");
}

#[test]
fn what_the_profiler_does_for_itself_is_no_code_of_the_program() {
    let scratch = Scratch::new("of-profiler");
    let archive = scratch.0.join("trace.json");
    // The program runs 40 of 140 µs on its thread; then the profiler writes its buffers for 100.
    let text = r#"{"schemaVersion":1,"traceEvents":[
        {"ph":"X","cat":"cpu_op","name":"solve","pid":9,"tid":9,"ts":0,"dur":30},
        {"ph":"X","cat":"cpu_op","name":"check","pid":9,"tid":9,"ts":30,"dur":10},
        {"ph":"X","cat":"overhead","name":"Buffer Flush","pid":9,"tid":9,"ts":40,"dur":100},
        {"ph":"X","cat":"Trace","name":"PyTorch Profiler (0)","pid":"Spans","tid":"PyTorch Profiler","ts":0,"dur":140}]}"#;
    std::fs::write(&archive, text).unwrap();
    let page = ran_on(&archive, &["profile"]).out;
    let rows: Vec<&str> = page.lines().skip(1).take(4).collect();
    let names = ["solve", "check", "PyTorch Profiler (0)", "Buffer Flush"];
    assert!(rows.iter().zip(names).all(|(row, name)| row.starts_with(name)), "{page}");
    assert!(rows[0].contains("75.0 %") && rows[1].contains("25.0 %"), "{page}");
    assert!(rows[2..].iter().all(|row| !row.contains('%')), "{page}");
    assert!(page.contains("240.0 µs of the profiler itself"), "{page}");
    let page = ran_on(&archive, &["report"]).out.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = "most in \"Buffer Flush\", takes 100.0 µs of the 140.0 µs of the run on one thread";
    assert!(page.contains(said), "{page}");
}
