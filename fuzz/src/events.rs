//! Event files: pushed, pulled, and chunk by chunk.

use crate::allocation::{DECODER, Limit, bounded};
use crate::chunk_bytes_first;
use ouzel_otf2::ReadError;
use ouzel_otf2::read::{ByteSource, EventKinds, EventReader, EventSink, EventSource, InMemory, list_chunks};
use ouzel_otf2::records::{AttributeList, Event};
use std::num::NonZeroU64;

/// What the sink got, in a form that is quick to compare.
#[derive(Debug, Default, PartialEq, Eq, Clone, Copy)]
struct Tally {
    n_enter: u64,
    n_leave: u64,
    n_other: u64,
    n_attributes: u64,
    /// Of times and regions.
    sum: u64,
}

impl EventSink for Tally {
    fn enter(&mut self, time: u64, region: u32) {
        self.n_enter += 1;
        self.sum = self.sum.rotate_left(5) ^ time ^ u64::from(region);
    }

    fn leave(&mut self, time: u64, region: u32) {
        self.n_leave += 1;
        self.sum = self.sum.rotate_left(5) ^ time ^ u64::from(region);
    }

    fn event(&mut self, time: u64, event: Event<'_>) {
        self.n_other += 1;
        self.sum = self.sum.rotate_left(5) ^ time ^ u64::from(event.kind().id());
    }

    fn attributes(&mut self, list: AttributeList<'_>) {
        self.n_attributes += list.iter().count() as u64;
    }
}

/// How a file was read to its end.
#[derive(Debug, PartialEq)]
struct Outcome {
    tally: Tally,
    n_events: u64,
    error: Option<(u64, u64, String)>,
}

fn push<R: ByteSource>(
    source: EventSource<R>,
    window_bytes: usize,
    max_events: usize,
    skip: EventKinds,
) -> Outcome {
    let mut tally = Tally::default();
    let place = |error: ReadError| Some((error.offset, error.record, error.kind.to_string()));
    let mut reader = match EventReader::with_window(source, window_bytes) {
        Ok(reader) => reader,
        Err(error) => return Outcome { tally, n_events: 0, error: place(error) },
    };
    reader.skip(skip);
    let mut n_read = 0;
    let error = loop {
        match reader.read(max_events, &mut tally) {
            Ok(0) => break None,
            Ok(n) => n_read += n as u64,
            Err(error) => break place(error),
        }
    };
    let counts = reader.counts();
    let n_unknown: u64 = counts.unknown.iter().filter(|&(&id, _)| 10 <= id).map(|(_, n)| n).sum();
    let n_delivered = tally.n_enter + tally.n_leave + tally.n_other;
    assert_eq!(n_read, counts.events);
    assert_eq!(n_delivered + n_unknown + counts.skipped, counts.events);
    assert!(matches!(reader.read(max_events, &mut tally), Ok(0)), "after the end comes nothing");
    Outcome { tally, n_events: n_read, error }
}

fn of_slice(file: &[u8], chunk_bytes: Option<NonZeroU64>) -> EventSource<&[u8]> {
    EventSource::whole(file, "0.evt", file.len() as u64, chunk_bytes)
}

/// Events pushed to a sink: any window, any number at a time, from a file or from memory, the answer is one.
pub fn events_push(data: &[u8]) {
    let (chunk_bytes, file) = chunk_bytes_first(data);
    let whole =
        bounded(data.len(), DECODER, || push(of_slice(file, chunk_bytes), 1 << 18, 4096, EventKinds::NONE));
    // An event is two bytes at the least.
    assert!(whole.n_events * 2 <= file.len() as u64);
    assert!(whole.error.as_ref().is_none_or(|(offset, ..)| *offset <= file.len() as u64), "{whole:?}");
    let narrow = push(of_slice(file, chunk_bytes), 64, 1, EventKinds::NONE);
    assert_eq!(narrow, whole, "a narrow window changes nothing");
    let memory = EventSource::whole(InMemory(file), "0.evt", file.len() as u64, chunk_bytes);
    assert_eq!(push(memory, 64, 3, EventKinds::NONE), whole, "bytes in memory change nothing");
    let skipped = push(of_slice(file, chunk_bytes), 64, 7, EventKinds::ALL);
    assert!(whole.n_events <= skipped.n_events, "what is skipped cannot be found broken");
}

/// Events one at a time: those that the push interface delivers, and the same error.
pub fn events_pull(data: &[u8]) {
    let (chunk_bytes, file) = chunk_bytes_first(data);
    let mut tally = Tally::default();
    let mut n_events = 0;
    let mut error = None;
    bounded(data.len(), DECODER, || match EventReader::with_window(of_slice(file, chunk_bytes), 64) {
        Ok(mut reader) => loop {
            match reader.next_record() {
                Ok(Some(record)) => {
                    n_events += 1;
                    assert_eq!(record.number, n_events);
                    assert!(record.offset + 1 + record.body.len() as u64 <= file.len() as u64);
                    assert_eq!(file[record.offset as usize], record.id);
                    tally.attributes(record.attributes);
                    match record.event {
                        Some(Event::Enter(enter)) => tally.enter(record.time, enter.region),
                        Some(Event::Leave(leave)) => tally.leave(record.time, leave.region),
                        Some(event) => tally.event(record.time, event),
                        None => {}
                    }
                }
                Ok(None) => break,
                Err(found) => {
                    error = Some((found.offset, found.record, found.kind.to_string()));
                    assert!(matches!(reader.next_record(), Ok(None)), "after an error comes nothing");
                    break;
                }
            }
        },
        Err(found) => error = Some((found.offset, found.record, found.kind.to_string())),
    });
    let pushed = push(of_slice(file, chunk_bytes), 1 << 18, 4096, EventKinds::NONE);
    assert_eq!(Outcome { tally, n_events, error }, pushed);
}

/// The chunks of a file, and the events of each on its own.
pub fn chunks(data: &[u8]) {
    let (chunk_bytes, file) = chunk_bytes_first(data);
    let size = chunk_bytes.unwrap_or(NonZeroU64::MAX);
    // Each chunk is read with a window of its own.
    let limit = Limit { fixed: 4 << 20, ..DECODER };
    bounded(data.len(), limit, || {
        let mut source = std::io::Cursor::new(file);
        let (chunks, error) = list_chunks(&mut source, "0.evt", file.len() as u64, size);
        let covered: u64 = chunks.iter().map(|chunk| chunk.n_bytes).sum();
        match error {
            None => assert_eq!(covered, file.len() as u64),
            Some(error) => assert!(
                covered <= error.offset.saturating_add(size.get()) && error.offset <= file.len() as u64
            ),
        }
        for chunk in chunks {
            let _ = chunk.n_events();
            let bytes = &file[chunk.offset as usize..][..chunk.n_bytes as usize];
            let read = push(EventSource::chunk(bytes, "0.evt", chunk, chunk_bytes), 64, 64, EventKinds::NONE);
            assert!(read.n_events * 2 <= chunk.n_bytes);
        }
    });
}
