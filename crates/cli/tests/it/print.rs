//! `ouzel print`: lines, selections, damage, pipes.

use crate::run::{Scratch, ran, ran_on, testdata};
use expect_test::expect;
use serde_json::Value;
use std::fs;

fn lines(words: &[&str]) -> Vec<Value> {
    let ran = ran_on(&testdata("pmpi-masterio"), words);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    ran.out.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
}

#[test]
fn text_for_people() {
    let words = ["print", "--ranks", "2", "--region", "MPI_B*", "--time", "1.7s..2s", "--offsets"];
    let ran = ran_on(&testdata("pmpi-masterio"), &words);
    expect![[r##"
        #   offset    number  location          ticks         seconds  record            fields
              0xc1        14         2  2697454828034     1.767403850  Enter             region "MPI_Barrier" <9>
              0xcd        15         2  2697454828091     1.767403907  MpiCollectiveBegin
              0xd8        16         2  2697508102271     1.820678087  MpiCollectiveEnd  collective_op BARRIER, communicator "MPI_COMM_WORLD" <0>, root NONE, size_sent 0, size_received 0
              0xe8        17         2  2697508102768     1.820678584  Leave             region "MPI_Barrier" <9>
    "##]]
    .assert_eq(&ran.out);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
}

#[test]
fn json_lines_are_objects_without_an_envelope() {
    let records = lines(&["print", "--format", "json"]);
    let info = crate::run::json(&testdata("pmpi-masterio"), &["info"]);
    assert_eq!(info["data"]["n_events"], records.len());
    assert!(records.iter().all(|record| record["record"].is_string() && record["time_ns"].is_u64()));
    let place = |record: &Value| (record["location"].as_u64().unwrap(), record["time_ns"].as_u64().unwrap());
    assert!(records.is_sorted_by_key(place), "location by location");
    let merged = lines(&["print", "--format", "json", "--merged"]);
    assert!(merged.is_sorted_by_key(|record| record["time_ns"].as_u64().unwrap()), "by time");
    assert_eq!(merged.len(), records.len());
}

#[test]
fn the_sections_that_are_named_are_printed() {
    let kinds = |words: &[&str]| -> Vec<&str> {
        let all = [&["print", "--format", "json"], words].concat();
        let lines = lines(&all);
        let keys = ["record", "definition", "local_definition"];
        keys.into_iter().filter(|key| lines.iter().any(|line| line.get(key).is_some())).collect()
    };
    assert_eq!(kinds(&[]), ["record"]);
    assert_eq!(kinds(&["--definitions"]), ["definition"]);
    assert_eq!(kinds(&["--local"]), ["local_definition"]);
    assert_eq!(kinds(&["--local", "--events"]), ["record", "local_definition"]);
    assert_eq!(kinds(&["--all"]), ["record", "definition", "local_definition"]);
}

#[test]
fn a_truncated_file_is_printed_up_to_the_damage() {
    let scratch = Scratch::new("print-truncated");
    let archive = scratch.copied("pmpi-masterio");
    let events = archive.join("traces/4.evt");
    let whole = ran_on(&archive, &["print", "--location", "4"]).out;
    let bytes = fs::read(&events).unwrap();
    fs::write(&events, &bytes[..bytes.len() / 2]).unwrap();
    for words in [&["print", "--location", "4"][..], &["print", "--location", "4", "--merged"]] {
        let ran = ran_on(&archive, words);
        assert_eq!(ran.code, Some(2), "{}", ran.err);
        assert!(whole.starts_with(&ran.out) && 10 < ran.out.lines().count() && ran.out.len() < whole.len());
        assert!(ran.err.starts_with("lost      "), "{}", ran.err);
        assert!(ran.err.contains("4.evt+0x"), "{}", ran.err);
    }
    let json = ran_on(&archive, &["print", "--format", "json"]);
    assert_eq!(json.code, Some(2));
    assert!(json.err.contains("4.evt+0x"), "no envelope holds the notice: {}", json.err);
    assert_eq!(ran_on(&archive, &["print", "--quiet"]).err, "");
    assert_eq!(ran_on(&archive, &["print", "--location", "3"]).code, Some(0), "what is not read is not told");
}

#[test]
fn what_cannot_be_printed_is_one_line() {
    let scratch = Scratch::new("print-absent");
    let absent = ran_on(&scratch.0.join("absent"), &["print"]);
    assert_eq!((absent.code, absent.out.as_str()), (Some(1), ""));
    assert!(
        absent.err.contains("no such file or directory") && absent.err.lines().count() == 1,
        "{}",
        absent.err
    );
    let table = ran(&["print", "t", "--format", "csv"]);
    assert_eq!(table.code, Some(64), "{}", table.err);
}
