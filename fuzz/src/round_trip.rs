//! The writer's output for what the reader read.

use crate::archive::dir;
use crate::chunk_bytes_first;
use ouzel_otf2::Archive;
use ouzel_otf2::read::{EventReader, EventSource};
use ouzel_otf2::records::definition::{ClockProperties, Location};
use ouzel_otf2::records::enums::LocationType;
use ouzel_otf2::records::{
    Definition, Event, EventKind, LocalDefinition, MarkerRecord, RefKind, SnapshotRecord,
};
use ouzel_otf2::wire::{Cursor, Endian, RecordBuffer, UNDEFINED_U32};
use ouzel_otf2::write::{ArchiveWriter, WriteErrorKind, WriteOptions};
use std::fs;

/// One record of any table: decoded and encoded, it is decoded as what it was.
pub fn record_round_trip(data: &[u8]) {
    let [table, id, body @ ..] = data else { return };
    let endian = if table & 0x80 == 0 { Endian::Little } else { Endian::Big };
    macro_rules! check {
        ($Table:ident) => {
            if let Ok(Some(record)) = $Table::decode(*id, &mut Cursor::new(body, endian)) {
                let mut buffer = RecordBuffer::new(endian);
                record.encode(&mut buffer).expect("what was read can be written");
                let (id, body) = split(buffer.bytes(), stringify!($Table) == "Event");
                let mut cursor = Cursor::new(body, endian);
                let again = $Table::decode(id, &mut cursor).expect("what was written is read");
                assert!(cursor.is_at_end());
                // As texts, because a float that is no number is not equal to itself.
                assert_eq!(format!("{again:?}"), format!("{:?}", Some(record)));
            }
        };
    }
    match table % 5 {
        0 => check!(Event),
        1 => check!(Definition),
        2 => check!(LocalDefinition),
        3 => check!(MarkerRecord),
        _ => check!(SnapshotRecord),
    }
}

/// The id and the fields of a written record.
fn split(record: &[u8], is_event: bool) -> (u8, &[u8]) {
    let (&id, rest) = record.split_first().expect("a record has an id");
    if is_event && EventKind::from_id(id).is_some_and(EventKind::is_bare) {
        return (id, rest);
    }
    let (&len, body) = rest.split_first().expect("a record has a length");
    let body = if len == 0xff { &body[8..] } else { body };
    (id, body)
}

/// The events of a file, written as a new archive: they are read again as what they were.
pub fn archive_round_trip(data: &[u8]) {
    let (chunk_bytes, file) = chunk_bytes_first(data);
    let source = EventSource::whole(file, "0.evt", file.len() as u64, chunk_bytes);
    let Ok(mut reader) = EventReader::with_window(source, 64) else { return };
    let dir = dir("round-trip");
    fs::remove_dir_all(&dir).expect("the directory is ours");
    let event_chunk_bytes = chunk_bytes.map_or(1 << 16, |size| size.get().max(WriteOptions::MIN_CHUNK_BYTES));
    let options = WriteOptions { endian: reader.endian(), event_chunk_bytes, ..WriteOptions::default() };
    let mut archive = ArchiveWriter::create(&dir, "traces", options).expect("the directory is empty");
    let mut events = archive.events(0).expect("the first writer of the location");
    let mut expected = Vec::new();
    let mut last = 0;
    while let Ok(Some(record)) = reader.next_record() {
        let Some(event) = record.event else { continue };
        // The writer requires ascending times.
        last = record.time.max(last);
        match events.write_with(last, &record.attributes, event) {
            Ok(()) => expected.push(format!("{last} {:?} {event:?}", record.attributes)),
            Err(error) => assert!(matches!(error.kind(), WriteErrorKind::RecordTooLarge { .. }), "{error}"),
        }
    }
    let n_events = events.finish().expect("the file can be written").n_events;
    assert_eq!(n_events, expected.len() as u64);
    let clock = ClockProperties {
        timer_resolution: 1,
        global_offset: 0,
        trace_length: u64::MAX,
        realtime_timestamp: 0,
    };
    archive.define(clock).expect("the first clock");
    let location = Location {
        id: 0,
        name: UNDEFINED_U32,
        location_type: LocationType::CpuThread,
        number_of_events: n_events,
        location_group: UNDEFINED_U32,
    };
    archive.define(location).expect("the first location");
    archive.finish().expect("definitions and events agree");

    let archive = Archive::open(&dir).expect("there is an archive");
    let (definitions, notices) = archive.read_global_definitions();
    assert_eq!((definitions.len(), notices.len()), (2, 0), "{notices:?}");
    assert!(definitions.get(RefKind::Location, 0).is_some() && archive.notices().is_empty());
    let mut reader = archive.events(0).expect("the file was written");
    let mut found = Vec::new();
    while let Some(record) = reader.next_record().expect("what was written is read") {
        let event = record.event.expect("only known events were written");
        found.push(format!("{} {:?} {event:?}", record.time, record.attributes));
    }
    assert_eq!(found, expected);
    let counts = reader.counts();
    assert_eq!((counts.chunks_miscounted, counts.longer_records, counts.events_claimed), (0, 0, n_events));
}
