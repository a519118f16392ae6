//! Archives that the writer made, read back, and shown to the reference tool.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ouzel_otf2::Archive;
use ouzel_otf2::records::definition::{ClockProperties, Location};
use ouzel_otf2::records::enums::{GroupType, LocationType, Paradigm};
use ouzel_otf2::records::event::{Enter, Leave, ProgramBegin};
use ouzel_otf2::records::local::ClockOffset;
use ouzel_otf2::records::{
    AttributeList, Definition, DefinitionKind, Event, EventAttribute, EventKind, IdMap, List, RefKind, Value,
};
use ouzel_otf2::wire::{Cursor, Endian, UNDEFINED_U32};
use ouzel_otf2::write::{ArchiveWriter, WriteErrorKind, WriteOptions};
use proptest::prelude::*;

const ORDERS: [Endian; 2] = [Endian::Little, Endian::Big];

/// A directory that is removed at the end of the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("ouzel-otf2-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        Scratch(dir)
    }

    fn create(&self, options: WriteOptions) -> ArchiveWriter {
        ArchiveWriter::create(&self.0, "traces", options).unwrap()
    }

    fn read(&self) -> Archive {
        Archive::open(&self.0).unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn options(endian: Endian, event_chunk_bytes: u64) -> WriteOptions {
    WriteOptions { endian, event_chunk_bytes, definition_chunk_bytes: 512, ..WriteOptions::default() }
}

const CLOCK: ClockProperties = ClockProperties {
    timer_resolution: 1_000_000,
    global_offset: 0,
    trace_length: u64::MAX,
    realtime_timestamp: 0,
};

fn location(id: u64, number_of_events: u64) -> Location {
    Location { id, name: 0, location_type: LocationType::CpuThread, number_of_events, location_group: 0 }
}

/// Bytes in which every number, count and type is one; a text is closed by the zero at the end.
const ONES: [u8; 120] = {
    let mut bytes = [1; 120];
    bytes[119] = 0;
    bytes
};

fn event_of(id: u8, bytes: &[u8], endian: Endian) -> Option<Event<'_>> {
    Event::decode(id, &mut Cursor::new(bytes, endian)).ok().flatten()
}

/// One event of each kind, each with references that are one.
fn event_of_each_kind() -> Vec<Event<'static>> {
    EventKind::ALL.iter().map(|kind| event_of(kind.id(), &ONES, Endian::Little).unwrap()).collect()
}

/// What a location's file says, in words.
fn events_in_words(archive: &Archive, location: u64) -> Vec<String> {
    let mut words = Vec::new();
    let mut events = archive.events(location).unwrap();
    while let Some(record) = events.next_record().unwrap() {
        words.push(format!("{} {:?} {:?}", record.time, record.attributes, record.event.unwrap()));
    }
    words
}

#[test]
fn every_kind_of_event_and_definition_comes_back() {
    for endian in ORDERS {
        let scratch = Scratch::new(&format!("kinds-{endian}"));
        let mut archive = scratch.create(options(endian, 256));
        let mut events = archive.events(3).unwrap();
        let attributes = [EventAttribute { attribute: 1, value: Value::Double(0.5) }];
        let mut expected = Vec::new();
        for (time, event) in (10..).zip(event_of_each_kind()) {
            // Every time twice: the second event has no time of its own.
            events.write(time, event).unwrap();
            events.write_with(time, &AttributeList::new(&attributes), event).unwrap();
            expected.push(format!("{time} [] {event:?}"));
            expected.push(format!("{time} {attributes:?} {event:?}"));
        }
        let summary = events.finish().unwrap();
        assert_eq!(summary.n_events, 2 * EventKind::ALL.len() as u64);
        assert_eq!(summary.span, Some((10, 9 + EventKind::ALL.len() as u64)));
        assert_eq!(archive.event_span(), summary.span);

        let mut definitions = Vec::new();
        for kind in DefinitionKind::ALL {
            let definition = match kind {
                DefinitionKind::ClockProperties => CLOCK.into(),
                DefinitionKind::Location => location(3, summary.n_events).into(),
                other => {
                    let mut cursor = Cursor::new(&ONES, Endian::Little);
                    Definition::decode(other.id(), &mut cursor).unwrap().unwrap()
                }
            };
            archive.define(definition).unwrap();
            definitions.push(definition);
        }
        archive.finish().unwrap();

        let archive = scratch.read();
        assert_eq!(archive.notices(), []);
        assert_eq!(archive.anchor().n_global_definitions, DefinitionKind::ALL.len() as u64);
        assert_eq!((archive.anchor().n_locations, archive.anchor().endian), (1, endian));
        let (found, notices) = archive.read_global_definitions();
        assert_eq!(found.records().collect::<Vec<_>>(), definitions, "{notices:?}");
        assert_eq!(events_in_words(&archive, 3), expected);
        let (chunks, _) = archive.event_chunks(3).unwrap();
        assert!(chunks.len() > 5, "{} chunks", chunks.len());
    }
}

#[test]
fn local_definitions_come_back() {
    for endian in ORDERS {
        let scratch = Scratch::new(&format!("local-{endian}"));
        let mut archive = scratch.create(options(endian, 4096));
        archive.define(CLOCK).unwrap();
        archive.define(location(1 << 40, 0)).unwrap();
        let mut local = archive.local_definitions(1 << 40).unwrap();
        local.map(RefKind::Region, IdMap::Dense(List::new(&[7, 5]))).unwrap();
        local.map(RefKind::Comm, IdMap::Sparse(List::new(&[(2, 4), (9, 1)]))).unwrap();
        let error = local.map(RefKind::Callpath, IdMap::Dense(List::new(&[]))).unwrap_err();
        assert!(matches!(error.kind(), WriteErrorKind::NotMappable { .. }), "{error}");
        for (time, offset) in [(100, 10), (200, -30)] {
            local.clock_offset(ClockOffset { time, offset, standard_deviation: 0.25 }).unwrap();
        }
        let late = ClockOffset { time: 200, offset: 0, standard_deviation: 0.0 };
        let error = local.clock_offset(late).unwrap_err();
        assert!(
            matches!(error.kind(), WriteErrorKind::ClockOffsetOrder { before: 200, now: 200 }),
            "{error}"
        );
        local.finish().unwrap();
        archive.finish().unwrap();

        let (local, notices) = scratch.read().read_local_definitions(1 << 40);
        assert_eq!(notices, []);
        assert_eq!([0, 1, 2].map(|id| local.mapping.map_u32(RefKind::Region, id)), [7, 5, 2]);
        assert_eq!([2, 3, 9].map(|id| local.mapping.map_u32(RefKind::Comm, id)), [4, 3, 1]);
        assert_eq!(local.clock.global(150), 150 - 10);
        assert_eq!(local.clock_offsets.len(), 2);
    }
}

#[test]
fn broken_promises_are_errors() {
    let scratch = Scratch::new("errors");
    let mut archive = scratch.create(options(Endian::Little, 128));
    let mut events = archive.events(5).unwrap();
    events.write(10, Enter { region: 1 }).unwrap();
    let error = events.write(9, Leave { region: 1 }).unwrap_err();
    assert!(
        error.to_string().ends_with("traces/5.evt: timestamp 9 is before 10 of the same location"),
        "{error}"
    );
    let program_arguments: Vec<u32> = (0..100).collect();
    let begin = ProgramBegin { program_name: 0, program_arguments: List::new(&program_arguments) };
    let error = events.write(10, begin).unwrap_err();
    assert!(matches!(error.kind(), WriteErrorKind::RecordTooLarge { max: 108, .. }), "{error}");
    events.write(10, Leave { region: 1 }).unwrap();
    assert_eq!(events.n_events(), 2);

    let error = archive.events(5).unwrap_err();
    assert!(matches!(error.kind(), WriteErrorKind::WriterExists { location: 5 }), "{error}");
    archive.define(location(5, 2)).unwrap();
    let error = archive.define(location(5, 2)).unwrap_err();
    assert!(error.to_string().ends_with("location 5 is defined twice"), "{error}");
    events.finish().unwrap();
    let error = archive.finish().unwrap_err();
    assert!(matches!(error.kind(), WriteErrorKind::NoClock), "{error}");
    assert!(!scratch.0.join("traces.otf2").exists(), "a broken archive has no anchor");

    let error = ArchiveWriter::create(&scratch.0, "traces", WriteOptions::default()).unwrap_err();
    assert!(matches!(error.kind(), WriteErrorKind::Exists), "{error}");
    let error = ArchiveWriter::create(&scratch.0, "a/b", WriteOptions::default()).unwrap_err();
    assert!(matches!(error.kind(), WriteErrorKind::BadName { .. }), "{error}");
    let error = ArchiveWriter::create(&scratch.0, "small", options(Endian::Little, 127)).unwrap_err();
    assert!(matches!(error.kind(), WriteErrorKind::ChunkBytes { bytes: 127, min: 128 }), "{error}");
    let texts = WriteOptions { creator: "a\0b".to_owned(), ..WriteOptions::default() };
    let error = ArchiveWriter::create(&scratch.0, "texts", texts).unwrap_err();
    assert!(matches!(error.kind(), WriteErrorKind::Encode(_)), "{error}");
}

/// Finishes an archive with two events of location 1 at 10 and 20, after `spoil`.
fn finish_after(name: &str, spoil: impl FnOnce(&mut ArchiveWriter)) -> String {
    let scratch = Scratch::new(name);
    let mut archive = scratch.create(WriteOptions::default());
    let mut events = archive.events(1).unwrap();
    events.write(10, Enter { region: 1 }).unwrap();
    events.write(20, Leave { region: 1 }).unwrap();
    events.finish().unwrap();
    spoil(&mut archive);
    archive.finish().map_or_else(|error| error.kind().to_string(), |()| "finished".to_owned())
}

#[test]
fn the_end_finds_contradictions() {
    let good = |archive: &mut ArchiveWriter| {
        archive.define(CLOCK).unwrap();
        archive.define(location(1, 2)).unwrap();
    };
    assert_eq!(finish_after("good", good), "finished");
    let counts = finish_after("counts", |archive| {
        archive.define(CLOCK).unwrap();
        archive.define(location(1, 3)).unwrap();
    });
    assert_eq!(counts, "location 1 has 2 events, its definition says 3");
    let undefined = finish_after("undefined", |archive| archive.define(CLOCK).unwrap());
    assert_eq!(undefined, "location 1 has no definition");
    let unfinished = finish_after("unfinished", |archive| {
        good(archive);
        archive.define(location(2, 0)).unwrap();
        drop(archive.events(2).unwrap());
    });
    assert_eq!(unfinished, "the writer of location 2 was not finished");
    let outside = finish_after("outside", |archive| {
        archive.define(ClockProperties { global_offset: 11, trace_length: 9, ..CLOCK }).unwrap();
        archive.define(location(1, 2)).unwrap();
    });
    assert_eq!(outside, "location 1 has events at 10..=20, the clock says 11..=20");
}

#[test]
fn equal_texts_have_one_id() {
    let scratch = Scratch::new("texts");
    let mut archive = scratch.create(options(Endian::Big, 4096));
    archive.define(CLOCK).unwrap();
    let ids: Vec<u32> = ["a", "b", "a", "", "b"].iter().map(|text| archive.string(text).unwrap()).collect();
    assert_eq!(ids, [0, 1, 0, 2, 1]);
    archive.finish().unwrap();
    let (definitions, _) = scratch.read().read_global_definitions();
    assert_eq!(definitions.string(1).unwrap().bytes(), b"b");
    assert_eq!(definitions.len(), 4);
}

/// Events as drawn: location, time since the last, id, and bytes that become fields.
type Drawn = (u8, u64, u8, Vec<u8>);

fn drawn_events() -> impl Strategy<Value = Vec<Drawn>> {
    let field_bytes = prop_oneof![4 => 0_u8..=4, 1 => any::<u8>()];
    let gaps = prop_oneof![Just(0_u64), 1_u64..1000, 0..u64::MAX / 256];
    let event = (0_u8..3, gaps, 10_u8..=92, proptest::collection::vec(field_bytes, 0..90));
    proptest::collection::vec(event, 0..120)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read(drawn in drawn_events(), big in any::<bool>(), chunk in 512_u64..3000) {
        let endian = if big { Endian::Big } else { Endian::Little };
        let scratch = Scratch::new("any");
        let mut archive = scratch.create(options(endian, chunk));
        let mut writers: Vec<_> = (0..3).map(|location| archive.events(location).unwrap()).collect();
        let (mut times, mut expected) = ([0_u64; 3], [const { Vec::new() }; 3]);
        for (at, gap, id, bytes) in &drawn {
            let at = usize::from(*at);
            // Bytes that are no event of this kind are left out.
            let Some(event) = event_of(*id, bytes, endian) else { continue };
            times[at] = times[at].saturating_add(*gap);
            writers[at].write(times[at], event).unwrap();
            expected[at].push(format!("{} [] {event:?}", times[at]));
        }
        archive.define(CLOCK).unwrap();
        for writer in writers {
            let summary = writer.finish().unwrap();
            archive.define(location(summary.location, summary.n_events)).unwrap();
        }
        archive.finish().unwrap();
        let archive = scratch.read();
        let (definitions, _) = archive.read_global_definitions();
        prop_assert_eq!(archive.compare_event_counts(&definitions), []);
        for (at, expected) in (0..).zip(expected) {
            prop_assert_eq!(events_in_words(&archive, at), expected);
        }
    }
}

/// What `otf2-print` says on its error stream, and its lines; `None` if it is not installed.
fn reference_reads(anchor: &Path, arguments: &[&str]) -> Option<(String, Vec<String>)> {
    let Ok(out) = Command::new("otf2-print").args(arguments).arg(anchor).output() else {
        eprintln!("SKIPPED: otf2-print is not installed (Debian package otf2-tools); nothing was compared");
        return None;
    };
    let errors = String::from_utf8_lossy(&out.stderr).into_owned();
    let lines: Vec<String> = String::from_utf8_lossy(&out.stdout).lines().map(str::to_owned).collect();
    assert!(out.status.success(), "{} says {errors} behind {:?}", out.status, lines.last());
    Some((errors, lines))
}

/// What refers to records of greater ids comes after them.
fn kinds_in_order() -> Vec<DefinitionKind> {
    let mut kinds = DefinitionKind::ALL.to_vec();
    kinds.sort_by_key(|&kind| match kind {
        DefinitionKind::String => 0,
        DefinitionKind::MetricInstance | DefinitionKind::MetricClassRecorder => 2,
        other if other.name().ends_with("Property") => 2,
        _ => 1,
    });
    kinds
}

/// A record made of zeros but for its own id, so with references to 0.
fn definition_of_zeros(kind: DefinitionKind, id: u8) -> Definition<'static> {
    const ZEROS: [u8; 40] = [0; 40];
    const OF_ID: [[u8; 42]; 4] = {
        let mut bytes = [[0; 42]; 4];
        let mut id = 1;
        while id < 4 {
            (bytes[id][0], bytes[id][1]) = (1, id as u8);
            id += 1;
        }
        bytes
    };
    let bytes: &'static [u8] = if id == 0 { &ZEROS } else { &OF_ID[usize::from(id)] };
    let mut definition =
        Definition::decode(kind.id(), &mut Cursor::new(bytes, Endian::Little)).unwrap().unwrap();
    // What the tool does not take from zeros: roots of trees, groups of ranks, and ids of one raw byte.
    match &mut definition {
        Definition::SystemTreeNode(node) => node.parent = UNDEFINED_U32,
        Definition::CallingContext(context) => context.parent = UNDEFINED_U32,
        Definition::Callpath(path) => path.parent = UNDEFINED_U32,
        Definition::IoHandle(handle) => handle.parent = UNDEFINED_U32,
        Definition::Comm(comm) => (comm.group, comm.parent) = (1, UNDEFINED_U32),
        Definition::InterComm(comm) => (comm.group_a, comm.group_b) = (1, 1),
        Definition::Group(group) => {
            group.members = List::new(&[0, 1]);
            group.group_type = [GroupType::CommLocations, GroupType::CommGroup][usize::from(id)];
            group.paradigm = Paradigm::Mpi;
        }
        Definition::IoParadigm(paradigm) => paradigm.id = id,
        _ => {}
    }
    definition
}

/// Two records of each kind; kinds that share a table with another come after its two.
fn put_two_definitions_of_each_kind(archive: &mut ArchiveWriter, n_events: u64) {
    for kind in kinds_in_order() {
        let ids = match kind {
            DefinitionKind::ClockProperties => continue,
            DefinitionKind::MetricInstance | DefinitionKind::InterComm | DefinitionKind::IoDirectory => {
                [2, 3]
            }
            _ => [0, 1],
        };
        for id in ids {
            match kind {
                DefinitionKind::Location => archive.define(location(u64::from(id), n_events)).unwrap(),
                other => archive.define(definition_of_zeros(other, id)).unwrap(),
            }
        }
    }
}

/// An archive of two locations with every kind of event and definition, in several chunks.
fn write_everything(scratch: &Scratch, endian: Endian) -> u64 {
    // The smallest chunks that the reference tool accepts.
    let bytes = 256 << 10;
    let options = WriteOptions { definition_chunk_bytes: bytes, ..options(endian, bytes) };
    let mut archive = scratch.create(options);
    let mut n_events = 0;
    for id in 0..2 {
        let mut local = archive.local_definitions(id).unwrap();
        local.map(RefKind::Region, IdMap::Dense(List::new(&[1, 0]))).unwrap();
        local.map(RefKind::Comm, IdMap::Sparse(List::new(&[(0, 1), (1, 0)]))).unwrap();
        for time in [5, 500] {
            local.clock_offset(ClockOffset { time, offset: 7, standard_deviation: 0.5 }).unwrap();
        }
        local.finish().unwrap();
        let mut events = archive.events(id).unwrap();
        let attributes = [EventAttribute { attribute: 0, value: Value::Uint32(7) }];
        for round in 0..500 {
            event_of_each_kind().into_iter().for_each(|event| events.write(10 + round, event).unwrap());
            let last = Enter { region: 1 };
            events.write_with(10 + round, &AttributeList::new(&attributes), last).unwrap();
        }
        // More than 254 bytes need the long form of a length.
        let program_arguments = [1; 300];
        let begin = ProgramBegin { program_name: 0, program_arguments: List::new(&program_arguments) };
        events.write(1000, begin).unwrap();
        n_events = events.finish().unwrap().n_events;
    }
    archive.define(CLOCK).unwrap();
    put_two_definitions_of_each_kind(&mut archive, n_events);
    for n in 0..6000 {
        archive.string(&format!("text {n:040}")).unwrap();
    }
    archive.finish().unwrap();
    assert_eq!(scratch.read().event_chunks(0).unwrap().0.len(), 2);
    assert!(fs::metadata(scratch.0.join("traces.def")).unwrap().len() > bytes);
    let last = events_in_words(&scratch.read(), 0).pop().unwrap();
    assert_eq!(last.matches("1, 1, 1, 1, 1, 1, 1, 1, 1, 1, ").count(), 29, "{last}");
    2 * n_events
}

/// Whether a line of the tool is a record: a name in capitals, then fields.
fn is_record(line: &str) -> bool {
    let name = line.split_whitespace().next().unwrap_or("");
    line.starts_with(name)
        && name.len() > 2
        && name.bytes().all(|b| matches!(b, b'A'..=b'Z' | b'0'..=b'9' | b'_'))
}

#[test]
fn the_reference_tool_has_nothing_to_say() {
    for endian in ORDERS {
        let scratch = Scratch::new(&format!("reference-{endian}"));
        let n_events = write_everything(&scratch, endian);
        let anchor = scratch.0.join("traces.otf2");
        let Some((errors, events)) = reference_reads(&anchor, &[]) else { return };
        assert_eq!(errors, "");
        assert_eq!(events.iter().filter(|line| is_record(line)).count() as u64, n_events);
        assert_eq!(events.iter().filter(|line| line.contains("ADDITIONAL ATTRIBUTES")).count(), 1000);
        assert!(events.last().unwrap().contains("300 Arguments"), "{:?}", events.last());
        let Some((errors, definitions)) = reference_reads(&anchor, &["-G"]) else { return };
        assert_eq!(errors, "");
        // One clock, two of each other kind, and the texts.
        let n_definitions = 1 + 2 * (DefinitionKind::ALL.len() - 1) + 6000;
        assert_eq!(definitions.iter().filter(|line| is_record(line)).count(), n_definitions);
    }
}
