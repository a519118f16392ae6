//! Input and output operations, written record by record.

use super::contexts::tests::archive;
use ouzel_model::{ChunkBuffer, EventKind, IoMode, LocationId, Needs, ReadPlan, TraceSource};
use ouzel_otf2::records::enums::IoOperationMode;
use ouzel_otf2::records::event::{Enter, IoOperationBegin, IoOperationCancelled, IoOperationComplete, Leave};
use ouzel_otf2::write::EventWriter;

fn begin(events: &mut EventWriter, time: u64, mode: IoOperationMode, matching_id: u64) {
    let begin = IoOperationBegin { handle: 3, mode, operation_flags: 0, bytes_request: 100, matching_id };
    events.write(time, begin).unwrap();
}

fn complete(events: &mut EventWriter, time: u64, matching_id: u64, bytes_result: u64) {
    events.write(time, IoOperationComplete { handle: 3, bytes_result, matching_id }).unwrap();
}

/// Time, direction and bytes of each operation, and the number of rows.
fn operations(needs: Needs) -> (Vec<(u64, IoMode, Option<u64>)>, usize) {
    let (_scratch, source) = archive(&format!("io-{needs:?}"), &[], |events| {
        events.write(10, Enter { region: 7 }).unwrap();
        begin(events, 11, IoOperationMode::Read, 1);
        begin(events, 12, IoOperationMode::Write, 2);
        complete(events, 13, 2, u64::MAX);
        complete(events, 14, 1, 90);
        begin(events, 15, IoOperationMode::Flush, 1);
        complete(events, 16, 1, 0);
        begin(events, 17, IoOperationMode::Read, 4);
        events.write(18, IoOperationCancelled { handle: 3, matching_id: 4 }).unwrap();
        complete(events, 19, 4, 5);
        events.write(20, Leave { region: 7 }).unwrap();
    });
    let mut reader = source.open(LocationId(0), &ReadPlan::all(needs)).unwrap();
    let (mut buffer, mut all, mut n_rows) = (ChunkBuffer::default(), Vec::new(), 0);
    loop {
        buffer.clear();
        if !reader.read(&mut buffer).unwrap() {
            return (all, n_rows);
        }
        n_rows += buffer.len();
        for io in &buffer.io {
            assert_eq!(buffer.kind[io.row as usize], EventKind::Other);
            all.push((buffer.time[io.row as usize].0, io.mode, io.bytes));
        }
    }
}

#[test]
fn a_completion_has_the_direction_of_its_beginning() {
    let expected = vec![
        (13, IoMode::Write, None),
        (14, IoMode::Read, Some(90)),
        (16, IoMode::Other, Some(0)),
        // A cancelled operation does not complete: the kind of this one is unknown.
        (19, IoMode::Other, Some(5)),
    ];
    assert_eq!(operations(Needs::IO), (expected.clone(), 11));
    assert_eq!(operations(Needs::OTHERS).0, expected);
    assert_eq!(operations(Needs::MESSAGES), (Vec::new(), 2));
}
