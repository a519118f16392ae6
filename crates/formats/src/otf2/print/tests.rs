//! Lines of a made archive and of those in `testdata/`.

mod made;

use super::{Layout, PrintOptions, Printer};
use expect_test::{Expect, expect};
use made::{FAR_LOCATION, made};
use ouzel_model::{Filter, Level, Notice, NoticeCode, RankSet};
use ouzel_otf2::read::RecordReader;
use ouzel_otf2::records::{Definition, DefinitionKind, EventKind};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const RECORDED: [&str; 5] =
    ["eztrace-fortran-ring", "eztrace-jacobi", "eztrace-pingpong", "pmpi-jacobi", "pmpi-masterio"];

fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name)
}

/// A directory that is removed at the end of the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ouzel-print-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn printed(path: &Path, options: PrintOptions) -> (String, Vec<Notice>) {
    let mut out = Vec::new();
    let notices = Printer::open(path, options).unwrap().print(&mut out).unwrap();
    (String::from_utf8(out).unwrap(), notices)
}

fn text(path: &Path, options: PrintOptions) -> String {
    printed(path, options).0
}

fn json(path: &Path, options: PrintOptions) -> Vec<Value> {
    let options = PrintOptions { layout: Layout::JsonLines, ..options };
    text(path, options).lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

fn everything() -> PrintOptions {
    PrintOptions { definitions: true, local_definitions: true, markers: true, ..PrintOptions::default() }
}

fn offset_of(record: &Value) -> usize {
    usize::try_from(record["file_offset"].as_u64().unwrap()).unwrap()
}

fn check(options: PrintOptions, expected: &Expect) {
    let scratch = Scratch::new(&format!("made-{:?}", std::thread::current().id()));
    made(&scratch.0);
    expected.assert_eq(&text(&scratch.0, options));
}

#[test]
fn events_come_with_names_and_corrected_times() {
    check(
        PrintOptions::default(),
        &expect![[r##"
        #  location         ticks         seconds  record            fields
                  3          1000     0.000000000  Enter             region "main" <0>
                  3          1500     0.000500000  Metric            metric <0>, values ["cycles" <0>: UINT64 42]
                  3          1500     0.000500000  Enter             region "MPI_Send \"quoted\"\n" <1>, attributes ["größe" <0>: UINT64 7, <9>: DOUBLE inf, "größe" <0>: LOCATION "main" <4294967301>]
                  3          1600     0.000600000  MpiSend           receiver 1, communicator UNDEFINED, msg_tag 2, msg_length 18446744073709551615
                  3          1700     0.000700000  Leave             region "MPI_Send \"quoted\"\n" <1>
                  3          1800     0.000800000  MpiCollectiveEnd  collective_op INVALID <99>, communicator <4>, root NONE, size_sent 0, size_received 8
                  3          1900     0.000900000  IoChangeStatusFlags  handle <0>, status_flags {APPEND, 0x1000}
                  3          2500     0.001500000  ProgramEnd        exit_status -1
         4294967301          1100     0.000100000  Enter             region "MPI_Send \"quoted\"\n" <1>
         4294967301          1700     0.000700000  UNKNOWN(200)      body_bytes 2
         4294967301          1700     0.000700000  BufferFlush       stop_time 2300
         4294967301          2300     0.001300000  Leave             region "MPI_Send \"quoted\"\n" <1>
    "##]],
    );
}

#[test]
fn raw_events_are_those_of_the_file() {
    check(
        PrintOptions { raw: true, offsets: true, ..PrintOptions::default() },
        &expect![[r#"
        #   offset    number    location         ticks  record            fields
              0x1b         1           3          1000  Enter             region <0>
              0x26         2           3          1500  Metric            metric <5>, values [UINT64 42]
              0x49         3           3          1500  Enter             region <1>, attributes [<0>: UINT64 7, <9>: DOUBLE inf, <0>: LOCATION <4294967301>]
              0x55         4           3          1600  MpiSend           receiver 1, communicator UNDEFINED, msg_tag 2, msg_length 18446744073709551615
              0x66         5           3          1700  Leave             region <1>
              0x72         6           3          1800  MpiCollectiveEnd  collective_op INVALID <99>, communicator <4>, root NONE, size_sent 0, size_received 8
              0x84         7           3          1900  IoChangeStatusFlags  handle <0>, status_flags {APPEND, 0x1000}
              0x93         8           3          2500  ProgramEnd        exit_status -1
              0x1b         1  4294967301          1000  Enter             region <0>
              0x26         2  4294967301          1500  UNKNOWN(200)      body_bytes 2
              0x2a         3  4294967301          1500  BufferFlush       stop_time 2000
              0x3d         4  4294967301          2000  Leave             region <0>
    "#]],
    );
}

#[test]
fn merged_locations_come_in_order_of_time() {
    check(
        PrintOptions { merged: true, ..PrintOptions::default() },
        &expect![[r##"
        #  location         ticks         seconds  record            fields
                  3          1000     0.000000000  Enter             region "main" <0>
         4294967301          1100     0.000100000  Enter             region "MPI_Send \"quoted\"\n" <1>
                  3          1500     0.000500000  Metric            metric <0>, values ["cycles" <0>: UINT64 42]
                  3          1500     0.000500000  Enter             region "MPI_Send \"quoted\"\n" <1>, attributes ["größe" <0>: UINT64 7, <9>: DOUBLE inf, "größe" <0>: LOCATION "main" <4294967301>]
                  3          1600     0.000600000  MpiSend           receiver 1, communicator UNDEFINED, msg_tag 2, msg_length 18446744073709551615
                  3          1700     0.000700000  Leave             region "MPI_Send \"quoted\"\n" <1>
         4294967301          1700     0.000700000  UNKNOWN(200)      body_bytes 2
         4294967301          1700     0.000700000  BufferFlush       stop_time 2300
                  3          1800     0.000800000  MpiCollectiveEnd  collective_op INVALID <99>, communicator <4>, root NONE, size_sent 0, size_received 8
                  3          1900     0.000900000  IoChangeStatusFlags  handle <0>, status_flags {APPEND, 0x1000}
         4294967301          2300     0.001300000  Leave             region "MPI_Send \"quoted\"\n" <1>
                  3          2500     0.001500000  ProgramEnd        exit_status -1
    "##]],
    );
}

#[test]
fn definitions_come_in_the_order_of_the_file() {
    check(
        PrintOptions { events: false, ..everything() },
        &expect![[r#"
             ClockProperties   timer_resolution 1000000, global_offset 1000, trace_length 1500, realtime_timestamp UNDEFINED
             String            id <0>, string ""
             String            id <1>, string "main"
             String            id <2>, string "MPI_Send \"quoted\"\n"
             String            id <3>, string "cycles"
             String            id <4>, string "größe"
             SystemTreeNode    id <0>, name "main" <1>, class_name "" <0>, parent UNDEFINED
             LocationGroup     id <0>, name "main" <1>, location_group_type PROCESS, system_tree_parent "main" <0>, creating_location_group UNDEFINED
             Location          id <3>, name "main" <1>, location_type CPU_THREAD, number_of_events 8, location_group "main" <0>
             Location          id <4294967301>, name "main" <1>, location_type CPU_THREAD, number_of_events 4, location_group "main" <0>
             Region            id <0>, name "main" <1>, description "" <0>, region_type 0, source_file UNDEFINED, begin_line_number 0, end_line_number 0, canonical_name "main" <1>, region_role FUNCTION, paradigm USER, region_flags 0
             Region            id <1>, name "MPI_Send \"quoted\"\n" <2>, description "" <0>, region_type 0, source_file UNDEFINED, begin_line_number 0, end_line_number 0, canonical_name "MPI_Send \"quoted\"\n" <2>, region_role FUNCTION, paradigm USER, region_flags 0
             Attribute         id <0>, name "größe" <4>, value_type UINT64, description "" <0>
             MetricMember      id <0>, name "cycles" <3>, description "" <0>, metric_type PAPI, metric_mode 0, value_type UINT64, base DECIMAL, exponent 0, unit "" <0>
             MetricClass       id <0>, metric_members ["cycles" <0>], metric_occurrence SYNCHRONOUS, recorder_kind CPU
                      3  MappingTable      mapping_type METRIC, id_map [5→0]
             4294967301  MappingTable      mapping_type REGION, id_map [0→1, 1→0]
             4294967301  ClockOffset       time 1000, offset 100, standard_deviation 0.5
             4294967301  ClockOffset       time 2000, offset 300, standard_deviation 0.0
        "#]],
    );
}

#[test]
fn json_lines_hold_the_same() {
    check(
        PrintOptions { layout: Layout::JsonLines, offsets: true, ..everything() },
        &expect![[r#"
        {"file_offset":18,"number":1,"definition":"ClockProperties","timer_resolution":1000000,"global_offset":1000,"trace_length":1500,"realtime_timestamp":18446744073709551615}
        {"file_offset":31,"number":2,"definition":"String","id":0,"string":""}
        {"file_offset":35,"number":3,"definition":"String","id":1,"string":"main"}
        {"file_offset":44,"number":4,"definition":"String","id":2,"string":"MPI_Send \"quoted\"\n"}
        {"file_offset":67,"number":5,"definition":"String","id":3,"string":"cycles"}
        {"file_offset":78,"number":6,"definition":"String","id":4,"string":"größe"}
        {"file_offset":90,"number":7,"definition":"SystemTreeNode","id":0,"name":{"id":1,"name":"main"},"class_name":{"id":0,"name":""},"parent":null}
        {"file_offset":97,"number":8,"definition":"LocationGroup","id":0,"name":{"id":1,"name":"main"},"location_group_type":"PROCESS","system_tree_parent":{"id":0,"name":"main"},"creating_location_group":null}
        {"file_offset":105,"number":9,"definition":"Location","id":3,"name":{"id":1,"name":"main"},"location_type":"CPU_THREAD","number_of_events":8,"location_group":{"id":0,"name":"main"}}
        {"file_offset":115,"number":10,"definition":"Location","id":4294967301,"name":{"id":1,"name":"main"},"location_type":"CPU_THREAD","number_of_events":4,"location_group":{"id":0,"name":"main"}}
        {"file_offset":129,"number":11,"definition":"Region","id":0,"name":{"id":1,"name":"main"},"description":{"id":0,"name":""},"region_type":0,"source_file":null,"begin_line_number":0,"end_line_number":0,"canonical_name":{"id":1,"name":"main"},"region_role":"FUNCTION","paradigm":"USER","region_flags":0}
        {"file_offset":144,"number":12,"definition":"Region","id":1,"name":{"id":2,"name":"MPI_Send \"quoted\"\n"},"description":{"id":0,"name":""},"region_type":0,"source_file":null,"begin_line_number":0,"end_line_number":0,"canonical_name":{"id":2,"name":"MPI_Send \"quoted\"\n"},"region_role":"FUNCTION","paradigm":"USER","region_flags":0}
        {"file_offset":160,"number":13,"definition":"Attribute","id":0,"name":{"id":4,"name":"größe"},"value_type":"UINT64","description":{"id":0,"name":""}}
        {"file_offset":167,"number":14,"definition":"MetricMember","id":0,"name":{"id":3,"name":"cycles"},"description":{"id":0,"name":""},"metric_type":"PAPI","metric_mode":0,"value_type":"UINT64","base":"DECIMAL","exponent":0,"unit":{"id":0,"name":""}}
        {"file_offset":179,"number":15,"definition":"MetricClass","id":0,"metric_members":[{"id":0,"name":"cycles"}],"metric_occurrence":"SYNCHRONOUS","recorder_kind":"CPU"}
        {"of_location":3,"file_offset":18,"number":1,"local_definition":"MappingTable","mapping_type":"METRIC","id_map":[[5,0]]}
        {"of_location":4294967301,"file_offset":18,"number":1,"local_definition":"MappingTable","mapping_type":"REGION","id_map":[[0,1],[1,0]]}
        {"of_location":4294967301,"file_offset":27,"number":2,"local_definition":"ClockOffset","time":1000,"offset":100,"standard_deviation":0.5}
        {"of_location":4294967301,"file_offset":47,"number":3,"local_definition":"ClockOffset","time":2000,"offset":300,"standard_deviation":0.0}
        {"location":3,"time_ticks":1000,"time_ns":0,"file_offset":27,"number":1,"record":"Enter","region":{"id":0,"name":"main"}}
        {"location":3,"time_ticks":1500,"time_ns":500000,"file_offset":38,"number":2,"record":"Metric","metric":{"id":0},"values":[{"member":{"id":0,"name":"cycles"},"type":"UINT64","value":42}]}
        {"location":3,"time_ticks":1500,"time_ns":500000,"file_offset":73,"number":3,"record":"Enter","region":{"id":1,"name":"MPI_Send \"quoted\"\n"},"attributes":[{"attribute":{"id":0,"name":"größe"},"type":"UINT64","value":7},{"attribute":{"id":9},"type":"DOUBLE","value":null},{"attribute":{"id":0,"name":"größe"},"type":"LOCATION","value":{"id":4294967301,"name":"main"}}]}
        {"location":3,"time_ticks":1600,"time_ns":600000,"file_offset":85,"number":4,"record":"MpiSend","receiver":1,"communicator":null,"msg_tag":2,"msg_length":18446744073709551615}
        {"location":3,"time_ticks":1700,"time_ns":700000,"file_offset":102,"number":5,"record":"Leave","region":{"id":1,"name":"MPI_Send \"quoted\"\n"}}
        {"location":3,"time_ticks":1800,"time_ns":800000,"file_offset":114,"number":6,"record":"MpiCollectiveEnd","collective_op":"INVALID <99>","communicator":{"id":4},"root":4294967295,"size_sent":0,"size_received":8}
        {"location":3,"time_ticks":1900,"time_ns":900000,"file_offset":132,"number":7,"record":"IoChangeStatusFlags","handle":{"id":0},"status_flags":4098}
        {"location":3,"time_ticks":2500,"time_ns":1500000,"file_offset":147,"number":8,"record":"ProgramEnd","exit_status":-1}
        {"location":4294967301,"time_ticks":1100,"time_ns":100000,"file_offset":27,"number":1,"record":"Enter","region":{"id":1,"name":"MPI_Send \"quoted\"\n"}}
        {"location":4294967301,"time_ticks":1700,"time_ns":700000,"file_offset":38,"number":2,"record":"Unknown","id":200,"body_bytes":2}
        {"location":4294967301,"time_ticks":1700,"time_ns":700000,"file_offset":42,"number":3,"record":"BufferFlush","stop_time":2300}
        {"location":4294967301,"time_ticks":2300,"time_ns":1300000,"file_offset":61,"number":4,"record":"Leave","region":{"id":1,"name":"MPI_Send \"quoted\"\n"}}
    "#]],
    );
}

#[test]
fn a_region_selects_its_calls_and_what_is_right_in_them() {
    let filter = Filter { regions: vec!["MPI_*".to_owned()], ..Filter::default() };
    check(
        PrintOptions { filter, ..PrintOptions::default() },
        &expect![[r##"
        #  location         ticks         seconds  record            fields
                  3          1500     0.000500000  Enter             region "MPI_Send \"quoted\"\n" <1>, attributes ["größe" <0>: UINT64 7, <9>: DOUBLE inf, "größe" <0>: LOCATION "main" <4294967301>]
                  3          1600     0.000600000  MpiSend           receiver 1, communicator UNDEFINED, msg_tag 2, msg_length 18446744073709551615
                  3          1700     0.000700000  Leave             region "MPI_Send \"quoted\"\n" <1>
         4294967301          1100     0.000100000  Enter             region "MPI_Send \"quoted\"\n" <1>
         4294967301          1700     0.000700000  UNKNOWN(200)      body_bytes 2
         4294967301          1700     0.000700000  BufferFlush       stop_time 2300
         4294967301          2300     0.001300000  Leave             region "MPI_Send \"quoted\"\n" <1>
    "##]],
    );
}

#[test]
fn a_range_of_time_is_half_open_and_in_corrected_time() {
    // 100 µs to 700 µs after tick 1000.
    let filter = Filter { time_ns: Some((100_000, 700_000)), ..Filter::default() };
    check(
        PrintOptions { filter, ..PrintOptions::default() },
        &expect![[r##"
        #  location         ticks         seconds  record            fields
                  3          1500     0.000500000  Metric            metric <0>, values ["cycles" <0>: UINT64 42]
                  3          1500     0.000500000  Enter             region "MPI_Send \"quoted\"\n" <1>, attributes ["größe" <0>: UINT64 7, <9>: DOUBLE inf, "größe" <0>: LOCATION "main" <4294967301>]
                  3          1600     0.000600000  MpiSend           receiver 1, communicator UNDEFINED, msg_tag 2, msg_length 18446744073709551615
         4294967301          1100     0.000100000  Enter             region "MPI_Send \"quoted\"\n" <1>
    "##]],
    );
}

#[test]
fn what_is_not_known_is_told() {
    let scratch = Scratch::new("told");
    made(&scratch.0);
    let (_, notices) = printed(&scratch.0, PrintOptions::default());
    let unknown: Vec<_> = notices.iter().filter(|n| n.code == NoticeCode::UnknownRecords).collect();
    assert_eq!(unknown.len(), 1, "{notices:?}");
    assert!(unknown[0].message.contains("200"), "{unknown:?}");
    assert!(notices.iter().all(|notice| notice.level < Level::High), "{notices:?}");
}

/// The id bytes of the files are where the lines say, and the numbers count the records.
#[test]
fn records_are_where_the_offsets_say() {
    let event_ids = |name: &str| EventKind::ALL.iter().find(|kind| kind.name() == name).unwrap().id();
    let definition_ids =
        |name: &str| DefinitionKind::ALL.iter().find(|kind| kind.name() == name).unwrap().id();
    for name in RECORDED {
        let archive = ouzel_otf2::Archive::open(&testdata(name)).unwrap();
        let options = PrintOptions { offsets: true, raw: true, ..everything() };
        let (mut n_events, mut number, mut last) = (0, 0, u64::MAX);
        let mut bytes = Vec::new();
        let definitions = archive.global_definition_bytes().unwrap().1;
        for record in json(&testdata(name), options) {
            let at = offset_of(&record);
            if let Some(name) = record["definition"].as_str() {
                assert_eq!(definitions[at], definition_ids(name), "{record}");
            } else if let Some(name) = record["record"].as_str() {
                let location = record["location"].as_u64().unwrap();
                if location != last {
                    (last, number) = (location, 0);
                    bytes = fs::read(archive.event_path(location)).unwrap();
                }
                number += 1;
                n_events += 1;
                assert_eq!(record["number"], number, "{record}");
                assert_eq!(bytes[at], event_ids(name), "{record}");
                if matches!(name, "Enter" | "Leave") {
                    let mut cursor = ouzel_otf2::wire::Cursor::new(&bytes[at + 1..], archive_endian(&bytes));
                    assert_eq!(record["region"]["id"], cursor.u32().unwrap(), "{record}");
                }
            }
        }
        let found: u64 = archive
            .locations_on_disk()
            .iter()
            .map(|&location| {
                archive
                    .event_chunks(location)
                    .unwrap()
                    .0
                    .iter()
                    .map(ouzel_otf2::read::Chunk::n_events)
                    .sum::<u64>()
            })
            .sum();
        assert_eq!(n_events, found, "{name}");
    }
}

fn archive_endian(bytes: &[u8]) -> ouzel_otf2::wire::Endian {
    RecordReader::new(bytes, "events", None).unwrap().endian()
}

#[test]
fn every_definition_of_the_file_is_a_line() {
    for name in RECORDED {
        let archive = ouzel_otf2::Archive::open(&testdata(name)).unwrap();
        let (file, bytes) = archive.global_definition_bytes().unwrap();
        let mut reader = RecordReader::new(&bytes, &file, archive.anchor().definition_chunk_size()).unwrap();
        let mut names = Vec::new();
        while let Some((_, definition)) = reader.next_as(Definition::decode).unwrap() {
            names.push(definition.unwrap().kind().name().to_owned());
        }
        let options = PrintOptions { definitions: true, events: false, ..PrintOptions::default() };
        let found: Vec<String> = json(&testdata(name), options)
            .iter()
            .map(|line| line["definition"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(found, names, "{name}");
    }
}

#[test]
fn merging_changes_the_order_and_nothing_else() {
    for name in RECORDED {
        let lines = |merged| -> Vec<String> {
            let options = PrintOptions { merged, layout: Layout::JsonLines, ..PrintOptions::default() };
            text(&testdata(name), options).lines().map(str::to_owned).collect()
        };
        let (mut in_order, mut merged) = (lines(false), lines(true));
        let place = |line: &String| -> (u64, u64) {
            let record: Value = serde_json::from_str(line).unwrap();
            (record["time_ticks"].as_u64().unwrap(), record["location"].as_u64().unwrap())
        };
        assert!(merged.is_sorted_by_key(place), "{name}");
        in_order.sort();
        merged.sort();
        assert_eq!(in_order, merged, "{name}");
    }
}

#[test]
fn ranks_and_locations_select() {
    let locations = |options| -> Vec<u64> {
        let mut found: Vec<u64> = json(&testdata("pmpi-jacobi"), options)
            .iter()
            .map(|line| line["location"].as_u64().unwrap())
            .collect();
        found.dedup();
        found
    };
    let ranks: RankSet = "2,5-6".parse().unwrap();
    let filter = Filter { ranks: Some(ranks), ..Filter::default() };
    assert_eq!(locations(PrintOptions { filter: filter.clone(), ..PrintOptions::default() }), [2, 5, 6]);
    assert_eq!(locations(PrintOptions { filter, locations: vec![6, 7], ..PrintOptions::default() }), [6]);
    assert_eq!(locations(PrintOptions { locations: vec![1 << 40], ..PrintOptions::default() }), [0_u64; 0]);
}

#[test]
fn a_damaged_location_is_printed_up_to_the_damage() {
    let scratch = Scratch::new("damage");
    made(&scratch.0);
    let path = scratch.0.join("traces/3.evt");
    let whole = json(&scratch.0, PrintOptions { offsets: true, ..PrintOptions::default() });
    let bytes = fs::read(&path).unwrap();
    for n_bytes in 0..bytes.len() {
        fs::write(&path, &bytes[..n_bytes]).unwrap();
        for merged in [false, true] {
            let options =
                PrintOptions { offsets: true, merged, layout: Layout::JsonLines, ..PrintOptions::default() };
            let (lines, notices) = printed(&scratch.0, options);
            let found: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            let of = |records: &[Value], location: u64| -> Vec<Value> {
                records.iter().filter(|record| record["location"] == location).cloned().collect()
            };
            assert_eq!(of(&found, FAR_LOCATION), of(&whole, FAR_LOCATION), "the other location is whole");
            let (kept, all) = (of(&found, 3), of(&whole, 3));
            assert_eq!(kept, all[..kept.len()], "a prefix of {n_bytes} bytes");
            let next = all.get(kept.len()).map_or(bytes.len(), offset_of);
            assert!(n_bytes < next + 20, "{n_bytes} bytes hold more than {} records", kept.len());
            let told =
                notices.iter().find(|notice| notice.code == NoticeCode::DamagedEvents).expect("is told");
            assert_eq!(told.level, Level::High);
            assert!(told.file.as_deref().unwrap().ends_with("3.evt"), "{told}");
            assert!(told.offset.unwrap() <= n_bytes as u64, "{told}");
        }
    }
    fs::remove_file(&path).unwrap();
    let (_, notices) = printed(&scratch.0, PrintOptions::default());
    assert!(
        notices.iter().any(|n| n.code == NoticeCode::MissingEvents && n.level == Level::High),
        "{notices:?}"
    );
}

#[test]
fn a_writer_that_fails_ends_the_printing() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let printer = Printer::open(&testdata("pmpi-jacobi"), PrintOptions::default()).unwrap();
    assert_eq!(printer.print(&mut Full).unwrap_err().kind(), std::io::ErrorKind::BrokenPipe);
}
