//! Anchors, definitions, markers, snapshots and thumbnails: files that are read whole.

use crate::allocation::{DECODER, bounded};
use crate::chunk_bytes_first;
use ouzel_otf2::read::RecordReader;
use ouzel_otf2::records::marker::thumbnail::ThumbnailRecord;
use ouzel_otf2::records::{FieldValue, MarkerRecord, RefKind, SnapshotRecord};
use ouzel_otf2::wire::{Cursor, Fault};
use ouzel_otf2::{Anchor, Definitions, LocalDefinitions, Notice};

/// An anchor; a good one survives the round trip.
pub fn anchor(data: &[u8]) {
    bounded(data.len(), DECODER, || match Anchor::parse(data, "a.otf2") {
        Ok(anchor) => {
            let newest = Anchor { anchor_format: 3, ..anchor };
            let again = Anchor::parse(&newest.encode(), "b.otf2").expect("what was written is read");
            assert_eq!(again, newest);
        }
        Err(error) => assert!(error.offset <= data.len() as u64, "{error}"),
    });
}

/// Global definitions, and every way to look one up.
pub fn global_definitions(data: &[u8]) {
    let (chunk_bytes, file) = chunk_bytes_first(data);
    bounded(data.len(), DECODER, || {
        let (definitions, notices) = Definitions::parse(file.to_vec(), "a.def", chunk_bytes);
        check_notices(&notices, file);
        // A record has an id and a length.
        assert!(definitions.len() * 2 <= file.len());
        let mut n_records = 0;
        for record in definitions.records() {
            n_records += 1;
            record.fields(&mut |_, value| n_items(value, file.len()));
        }
        assert_eq!(n_records, definitions.len());
        for kind in RefKind::ALL {
            for id in [0, 1, 7, u64::from(u32::MAX), u64::MAX] {
                assert_eq!(definitions.get(kind, id).is_some(), definitions.all(kind, id).next().is_some());
            }
        }
        let n_regions = definitions.regions().count();
        assert!(n_regions <= definitions.len());
        let n_named = definitions.locations().filter(|l| definitions.string(l.name).is_some()).count();
        assert!(n_named <= definitions.len());
        let _ = (definitions.clock(), definitions.groups().count(), definitions.metric_class(0));
    });
}

/// Local definitions, and what they do to ids and times.
pub fn local_definitions(data: &[u8]) {
    let (chunk_bytes, file) = chunk_bytes_first(data);
    bounded(data.len(), DECODER, || {
        let (local, notices) = LocalDefinitions::parse(file, "0.def", chunk_bytes);
        check_notices(&notices, file);
        for kind in RefKind::ALL {
            for id in [0, 1, 2, 1000, u32::MAX] {
                let mut ids = [id];
                local.mapping.map_slice(kind, &mut ids);
                assert_eq!(ids[0], local.mapping.map_u32(kind, id));
            }
            let _ = local.mapping.map_u64(kind, u64::MAX - 1);
        }
        let times = [0, 1, 2, 1 << 40, u64::MAX / 2, u64::MAX - 1, u64::MAX];
        let mut corrected = times;
        local.clock.correct(&mut corrected);
        assert_eq!(corrected, times.map(|time| local.clock.global(time)));
    });
}

/// Markers.
pub fn markers(data: &[u8]) {
    let (chunk_bytes, file) = chunk_bytes_first(data);
    bounded(data.len(), DECODER, || {
        if let Ok(reader) = RecordReader::new(file, "a.marker", chunk_bytes) {
            walk(reader, file, MarkerRecord::decode, |record, seen| {
                record.fields(&mut |_, value| seen(value))
            });
        }
    });
}

/// Snapshots.
pub fn snapshots(data: &[u8]) {
    let (chunk_bytes, file) = chunk_bytes_first(data);
    bounded(data.len(), DECODER, || {
        if let Ok(reader) = RecordReader::new(file, "0.snap", chunk_bytes) {
            let reader = reader.with_timestamps();
            walk(reader, file, SnapshotRecord::decode, |record, seen| {
                record.fields(&mut |_, value| seen(value));
            });
        }
    });
}

/// Thumbnails.
pub fn thumbnails(data: &[u8]) {
    let (chunk_bytes, file) = chunk_bytes_first(data);
    bounded(data.len(), DECODER, || {
        if let Ok(reader) = RecordReader::new(file, "a.thumb", chunk_bytes) {
            walk(reader, file, ThumbnailRecord::decode, |record, seen| {
                record.fields(&mut |_, value| seen(value));
            });
        }
    });
}

/// Reads to the end: records follow each other inside the file, and nothing follows an error.
fn walk<'a, T>(
    mut reader: RecordReader<'a>,
    file: &'a [u8],
    decode: impl Fn(u8, &mut Cursor<'a>) -> Result<Option<T>, Fault>,
    fields: impl Fn(&T, &mut dyn FnMut(FieldValue<'_>)),
) {
    let mut end = 0;
    loop {
        match reader.next_as(&decode) {
            Ok(Some((raw, record))) => {
                assert!(end <= raw.offset && raw.offset < raw.body_offset);
                end = raw.body_offset + raw.body.len() as u64;
                assert!(end <= file.len() as u64);
                if let Some(record) = record {
                    fields(&record, &mut |value| n_items(value, file.len()));
                }
            }
            Ok(None) => break,
            Err(error) => {
                assert!(error.offset <= file.len() as u64, "{error}");
                break;
            }
        }
    }
    assert!(matches!(reader.next_raw(), Ok(None)));
    assert!(reader.counts().records * 2 <= file.len() as u64);
}

fn check_notices(notices: &[Notice], file: &[u8]) {
    for notice in notices {
        assert!(notice.offset <= file.len() as u64 && !notice.to_string().is_empty(), "{notice}");
    }
}

/// Lists have as many items as declared, and no more than fit into the file.
fn n_items(value: FieldValue<'_>, file_bytes: usize) {
    let (said, found) = match value {
        FieldValue::Numbers(list) => (list.len(), list.iter().count()),
        FieldValue::Ids(list) => (list.len(), list.iter().count()),
        FieldValue::Refs(_, list) => (list.len(), list.iter().count()),
        FieldValue::Metrics(list) => (list.len(), list.iter().count()),
        FieldValue::Attributes(list) => (list.len(), list.iter().count()),
        _ => return,
    };
    assert_eq!(said, found);
    assert!(found <= file_bytes);
}
