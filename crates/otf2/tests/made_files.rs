//! Event files made byte by byte: byte orders, chunks, damage, the unknown.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

use std::num::NonZeroU64;

use ouzel_otf2::read::{
    ByteSource, Chunk, EventCounts, EventKinds, EventReader, EventSink, EventSource, InMemory, list_chunks,
};
use ouzel_otf2::records::definition;
use ouzel_otf2::records::enums::Type;
use ouzel_otf2::records::event::{
    Enter, Leave, Metric, MpiCollectiveBegin, MpiIrecvRequest, MpiSend, ProgramBegin,
};
use ouzel_otf2::records::{
    AttributeList, Definition, Event, EventAttribute, EventKind, List, MetricValue, Value, encode_attributes,
    encode_timestamp,
};
use ouzel_otf2::wire::{Endian, RecordBuffer};
use ouzel_otf2::{Definitions, ReadErrorKind};

/// What a sink saw, in words.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Log(Vec<String>);

impl EventSink for Log {
    fn enter(&mut self, time: u64, region: u32) {
        self.0.push(format!("{time} enter {region}"));
    }

    fn leave(&mut self, time: u64, region: u32) {
        self.0.push(format!("{time} leave {region}"));
    }

    fn event(&mut self, time: u64, event: Event<'_>) {
        self.0.push(format!("{time} {event:?}"));
    }

    fn attributes(&mut self, list: AttributeList<'_>) {
        self.0.push(format!("{list:?}"));
    }
}

/// Makes an event file; a chunk is begun when the next event might not fit.
struct FileMaker {
    bytes: Vec<u8>,
    chunk: RecordBuffer,
    chunk_bytes: usize,
    n_events: u64,
    n_before: u64,
    time: Option<u64>,
}

impl FileMaker {
    fn new(endian: Endian, chunk_bytes: usize) -> Self {
        let chunk = RecordBuffer::new(endian);
        FileMaker { bytes: Vec::new(), chunk, chunk_bytes, n_events: 0, n_before: 0, time: None }
    }

    fn put(&mut self, time: u64, event: impl Into<Event<'static>>) {
        self.put_with(time, &[], event.into());
    }

    fn put_with(&mut self, time: u64, attributes: &[EventAttribute], event: Event<'_>) {
        let mut group = RecordBuffer::new(self.chunk.endian());
        if !attributes.is_empty() {
            encode_attributes(&List::new(attributes), &mut group).unwrap();
        }
        event.encode(&mut group).unwrap();
        if 18 + self.chunk.len() + 9 + group.len() + 2 > self.chunk_bytes {
            self.end_chunk();
            self.bytes.resize(self.bytes.len().next_multiple_of(self.chunk_bytes), 0);
        }
        if self.time != Some(time) {
            encode_timestamp(time, &mut self.chunk);
            self.time = Some(time);
        }
        self.chunk.put_bytes(group.bytes());
        self.n_events += 1;
    }

    fn end_chunk(&mut self) {
        let mut header = RecordBuffer::new(self.chunk.endian());
        header.put_bytes(&[3, self.chunk.endian().to_byte()]);
        header.put_u64_full(self.n_before + 1);
        header.put_u64_full(self.n_events);
        self.bytes.extend_from_slice(header.bytes());
        self.bytes.extend_from_slice(self.chunk.bytes());
        self.chunk.clear();
        self.n_before = self.n_events;
        self.time = None;
    }

    fn finish(mut self) -> Vec<u8> {
        self.end_chunk();
        self.bytes.extend([2, 1]);
        self.bytes
    }
}

const CHUNK_BYTES: usize = 512;

fn sample(endian: Endian, n_rounds: u64) -> Vec<u8> {
    let mut maker = FileMaker::new(endian, CHUNK_BYTES);
    let arguments: Vec<u32> = (0..40).chain([u32::MAX]).collect();
    maker.put_with(5, &[], ProgramBegin { program_name: 1, program_arguments: List::new(&arguments) }.into());
    for round in 0..n_rounds {
        let time = 10 + round * 1000;
        let region = u32::try_from(round * round * 977).unwrap();
        let values = [
            MetricValue { value_type: Type::Uint64, bits: round << 20 },
            MetricValue { value_type: Type::Double, bits: 1.5_f64.to_bits() },
        ];
        let attribute = EventAttribute { attribute: 3, value: Value::Double(round as f64) };
        maker.put_with(time, &[], Metric { metric: 0, values: List::new(&values) }.into());
        maker.put(time, Enter { region });
        maker.put(time + 1, MpiIrecvRequest { request_id: round << 33 });
        maker.put(time + 1, MpiCollectiveBegin {});
        let send = MpiSend { receiver: 3, communicator: 1, msg_tag: 99, msg_length: 1 << (round % 60) };
        maker.put_with(time + 2, &[attribute], send.into());
        maker.put(time + 3, Leave { region });
        maker.put(time + 3, Enter { region: u32::MAX });
        maker.put(time + 4, Leave { region: u32::MAX });
    }
    maker.finish()
}

const CHUNK_SIZE: Option<NonZeroU64> = NonZeroU64::new(CHUNK_BYTES as u64);

fn source(bytes: &[u8], chunk_bytes: Option<NonZeroU64>) -> EventSource<&[u8]> {
    EventSource::whole(bytes, "7.evt", bytes.len() as u64, chunk_bytes)
}

/// Everything that can be read, what was counted, and the error that ended it.
fn read_all<R: ByteSource>(
    mut reader: EventReader<R>,
    at_once: usize,
) -> (Log, EventCounts, Option<ouzel_otf2::ReadError>) {
    let mut log = Log::default();
    let error = loop {
        match reader.read(at_once, &mut log) {
            Ok(0) => break None,
            Ok(_) => {}
            Err(error) => break Some(error),
        }
    };
    assert_eq!(reader.read(1, &mut log).unwrap(), 0, "nothing comes after the end");
    assert!(reader.next_record().unwrap().is_none());
    (log, reader.counts().clone(), error)
}

#[test]
fn byte_orders_windows_and_chunk_sizes_make_no_difference() {
    let little = sample(Endian::Little, 50);
    let big = sample(Endian::Big, 50);
    let (expected, counts, error) =
        read_all(EventReader::new(source(&little, CHUNK_SIZE)).unwrap(), usize::MAX);
    assert!(error.is_none());
    assert_eq!(expected.0.len(), 1 + 50 * 9);
    assert_eq!((counts.events, counts.events_claimed, counts.attribute_lists), (401, 401, 50));
    assert!(counts.chunks > 10 && counts.chunks_miscounted == 0);
    for window in [1, 64, 100, 333, 511, 512, 513, 4096] {
        for bytes in [&little, &big] {
            for chunk_size in [CHUNK_SIZE, None] {
                let reader = EventReader::with_window(source(bytes, chunk_size), window).unwrap();
                let (log, counted, error) = read_all(reader, 1 + window % 7);
                assert!(error.is_none(), "{error:?}");
                assert_eq!(log, expected, "window {window}");
                assert_eq!(counted, counts);
            }
        }
    }
}

#[test]
fn each_chunk_of_definitions_tells_its_own_byte_order() {
    let strings = [0x0102_u32, 0x0304];
    let mut file = Vec::new();
    for (endian, id) in [Endian::Little, Endian::Big].into_iter().zip(strings) {
        let mut chunk = RecordBuffer::new(endian);
        chunk.put_bytes(&[3, endian.to_byte()]);
        chunk.put_bytes(&[0; 16]);
        let solve = definition::String { id, string: "solve".into() };
        Definition::from(solve).encode(&mut chunk).unwrap();
        chunk.put_bytes(if id == strings[0] { &[0][..] } else { &[2, 1] });
        file.extend_from_slice(chunk.bytes());
        file.resize(file.len().next_multiple_of(256), 0);
    }
    let (definitions, notices) = Definitions::parse(file, "traces.def", NonZeroU64::new(256));
    assert_eq!(notices, []);
    let solve = |id| Definition::from(definition::String { id, string: "solve".into() });
    assert!(definitions.records().eq(strings.map(solve)), "{:?}", definitions.records().collect::<Vec<_>>());
}

#[test]
fn bytes_in_memory_are_read_alike_without_a_copy() {
    let bytes = sample(Endian::Little, 50);
    for n in [bytes.len(), bytes.len() - 1, 700, 512, 100] {
        for chunk_size in [CHUNK_SIZE, None] {
            let (log, counts, error) =
                read_all(EventReader::new(source(&bytes[..n], chunk_size)).unwrap(), usize::MAX);
            let in_memory = EventSource::whole(InMemory(&bytes[..n]), "7.evt", n as u64, chunk_size);
            let (same_log, same_counts, same_error) = read_all(EventReader::new(in_memory).unwrap(), 7);
            assert_eq!((same_log, same_counts), (log, counts));
            assert_eq!(format!("{same_error:?}"), format!("{error:?}"));
        }
    }
}

#[test]
fn chunks_in_parallel_are_the_file_in_order() {
    let bytes = sample(Endian::Little, 80);
    let (expected, _, _) = read_all(EventReader::new(source(&bytes, CHUNK_SIZE)).unwrap(), 17);
    let size = NonZeroU64::new(CHUNK_BYTES as u64).expect("not zero");
    let (chunks, error) = list_chunks(&mut std::io::Cursor::new(&bytes), "7.evt", bytes.len() as u64, size);
    assert!(error.is_none());
    let read_chunk = |chunk: Chunk| {
        let from = usize::try_from(chunk.offset).unwrap();
        let mut source = EventSource::chunk(&bytes[from..], "7.evt", chunk, Some(size));
        source.one_chunk = true;
        let (log, counts, error) = read_all(EventReader::new(source).unwrap(), usize::MAX);
        assert!(error.is_none(), "{error:?}");
        assert_eq!((counts.events, counts.chunks), (chunk.n_events(), 1));
        log
    };
    let logs: Vec<Log> = std::thread::scope(|scope| {
        let threads: Vec<_> = chunks.iter().map(|&chunk| scope.spawn(move || read_chunk(chunk))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no reader panics")).collect()
    });
    assert_eq!(logs.into_iter().flat_map(|log| log.0).collect::<Vec<_>>(), expected.0);
}

#[test]
fn a_file_cut_at_any_byte_keeps_its_prefix() {
    for endian in [Endian::Little, Endian::Big] {
        let bytes = sample(endian, 8);
        let (whole, _, _) = read_all(EventReader::new(source(&bytes, CHUNK_SIZE)).unwrap(), usize::MAX);
        let mut longest = 0;
        for n in 0..bytes.len() {
            let error = match EventReader::new(source(&bytes[..n], CHUNK_SIZE)) {
                Err(error) => error,
                Ok(reader) => {
                    let (log, _, error) = read_all(reader, 3);
                    assert!(whole.0.starts_with(&log.0), "cut at {n}");
                    assert!(log.0.len() >= longest, "more bytes, no fewer events");
                    longest = log.0.len();
                    error.expect("a cut file ends with an error")
                }
            };
            assert!(error.offset <= n as u64);
            assert!(error.to_string().starts_with("7.evt+0x"), "{error}");
        }
        assert_eq!(longest, whole.0.len());
    }
}

#[test]
fn flipped_bytes_never_panic_and_name_a_place() {
    let bytes = sample(Endian::Little, 12);
    for at in 0..bytes.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[at] ^= flip;
            if let Ok(reader) = EventReader::with_window(source(&damaged, CHUNK_SIZE), 100) {
                let (log, counts, error) = read_all(reader, 1000);
                assert!(log.0.len() <= 2 * bytes.len() && counts.chunks <= 100);
                if let Some(error) = error {
                    assert!(error.offset <= bytes.len() as u64, "{error}");
                }
            }
        }
    }
}

#[test]
fn records_nobody_wants_are_counted() {
    let bytes = sample(Endian::Little, 30);
    let (all, _, _) = read_all(EventReader::new(source(&bytes, CHUNK_SIZE)).unwrap(), usize::MAX);
    for kind in [EventKind::Metric, EventKind::Enter, EventKind::MpiSend, EventKind::MpiIrecvRequest] {
        let mut reader = EventReader::new(source(&bytes, CHUNK_SIZE)).unwrap();
        reader.skip(EventKinds::NONE.with(kind));
        let (some, counts, error) = read_all(reader, usize::MAX);
        assert!(error.is_none());
        let n_skipped = usize::try_from(counts.skipped).unwrap();
        assert_eq!(counts.events, counts.events_claimed);
        assert_eq!(n_skipped, if kind == EventKind::Enter { 60 } else { 30 });
        // A skipped event takes its attributes along.
        let n_attributes = if kind == EventKind::MpiSend { 30 } else { 0 };
        assert_eq!(some.0.len(), all.0.len() - n_skipped - n_attributes, "{kind}");
    }
}

#[test]
fn newer_records_and_fields_are_passed_over() {
    let mut file = vec![3, 0x42];
    for number in [1_u64, 4] {
        file.extend(number.to_le_bytes());
    }
    file.extend([5, 1, 0, 0, 0, 0, 0, 0, 0]);
    file.extend([200, 3, 9, 9, 9]); // no version knows 200
    file.extend([11, 4, 2, 7, 7, 7]); // MeasurementOnOff with three bytes more
    file.extend([8, 1, 0]); // not an event
    file.extend([12, 1, 6]);
    file.extend([200, 0xff, 2, 0, 0, 0, 0, 0, 0, 0, 9, 9]);
    file.extend([2, 1]);
    let (log, counts, error) = read_all(EventReader::new(source(&file, None)).unwrap(), usize::MAX);
    assert!(error.is_none(), "{error:?}");
    assert_eq!(log.0.len(), 2);
    assert_eq!(log.0[1], "1 enter 6");
    assert_eq!((counts.events, counts.chunks_miscounted), (4, 0));
    assert_eq!(counts.unknown.into_iter().collect::<Vec<_>>(), [(8, 1), (200, 2)]);
    assert_eq!((counts.longer_records, counts.trailing_bytes), (1, 3));
}

#[test]
fn times_that_go_back_are_counted_and_passed_on() {
    let mut maker = FileMaker::new(Endian::Little, 1 << 20);
    for time in [100, 90, 95, 20, 200, 201, 202, 203] {
        maker.put(time, Enter { region: 1 });
    }
    let bytes = maker.finish();
    let (log, counts, _) = read_all(EventReader::new(source(&bytes, None)).unwrap(), usize::MAX);
    assert_eq!(log.0[3], "20 enter 1");
    assert_eq!((counts.steps_back, counts.largest_step_back, counts.first_step_back), (2, 75, Some(30)));
}

#[test]
fn a_length_that_lies_is_an_error_and_no_allocation() {
    let mut file = vec![3, 0x42];
    file.extend([0; 16]);
    file.extend([5, 1, 0, 0, 0, 0, 0, 0, 0, 12, 1, 6]);
    file.extend([31, 0xff]);
    file.extend((u64::MAX - 5).to_le_bytes());
    for chunk_size in [CHUNK_SIZE, None] {
        let (log, counts, error) = read_all(EventReader::new(source(&file, chunk_size)).unwrap(), usize::MAX);
        assert_eq!((log.0.len(), counts.events), (1, 1));
        let error = error.expect("the length lies");
        assert_eq!((error.offset, error.record), (30, 2));
        let expected = match chunk_size {
            Some(_) => matches!(error.kind, ReadErrorKind::RecordPastChunk { .. }),
            None => matches!(error.kind, ReadErrorKind::Truncated { .. }),
        };
        assert!(expected, "{error}");
    }
}

#[test]
fn a_chunk_may_claim_to_begin_with_the_last_number() {
    let mut file = vec![3, 0x42];
    file.extend([0xff; 16]);
    // Two events, and what is not a record.
    file.extend([12, 1, 7, 13, 1, 7, 3]);
    let chunk = Chunk { offset: 0, n_bytes: file.len() as u64, first_event: u64::MAX, last_event: u64::MAX };
    let mut reader = EventReader::new(EventSource::chunk(&file[..], "0.evt", chunk, None)).unwrap();
    for _ in 0..2 {
        assert_eq!(reader.next_record().unwrap().unwrap().number, u64::MAX);
    }
    let error = reader.next_record().unwrap_err();
    assert_eq!((error.offset, error.record), (24, u64::MAX));
}
