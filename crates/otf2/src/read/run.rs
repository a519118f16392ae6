//! The hot loop: events that lie whole in the window of a little-endian file.
//!
//! It takes the longest run of events it is sure of and stops before the first
//! thing that is not plain: the end of the window or of a chunk, an attribute
//! list, a long record, a broken field. The careful path of
//! [`EventReader`](super::EventReader) goes on from there, so nothing here
//! makes an error.

use super::sink::{EventCounts, EventKinds, EventSink};
use crate::records::special::{FIRST_EVENT, TIMESTAMP};
use crate::records::{Event, EventKind};
use crate::wire::{Cursor, Endian};

const ENTER: u8 = EventKind::Enter.id();
const LEAVE: u8 = EventKind::Leave.id();
/// A timestamp record (9), an id, a length and the four digits of a region need 15 bytes.
const HEAD_BYTES: usize = 16;

// The first arm of the loop tests for both with one comparison.
const _: () = assert!(ENTER | 1 == LEAVE && LEAVE | 1 == LEAVE);
/// Ones in as many low bytes as a region has digits.
const DIGIT_MASKS: [u32; 5] = [0, 0xff, 0xffff, 0xff_ffff, 0xffff_ffff];

/// The position of a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct DeliveredRun {
    /// Next byte of the window.
    pub pos: usize,
    /// Time of the last event.
    pub time: u64,
    /// Events delivered.
    pub n: usize,
}

/// What does not change during a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct RunContext {
    pub max_events: usize,
    pub skip: EventKinds,
    /// File offset of the first byte given.
    pub offset: u64,
}

/// An event's id byte, where it lies, and the event's time.
#[derive(Debug, Clone, Copy)]
struct EventPlace {
    at: usize,
    id: u8,
    time: u64,
}

/// Delivers events of `bytes`, which end at the end of the window or of the chunk.
#[inline]
pub(super) fn deliver_run<S: EventSink>(
    bytes: &[u8],
    context: RunContext,
    mut time: u64,
    counts: &mut EventCounts,
    sink: &mut S,
) -> DeliveredRun {
    let plain = !context.skip.contains_id(ENTER) && !context.skip.contains_id(LEAVE);
    let mut rest = bytes;
    let mut left = context.max_events;
    while left > 0 {
        let Some(head) = rest.first_chunk::<HEAD_BYTES>() else { break };
        let [kind, t0, t1, t2, t3, t4, t5, t6, t7, id, digits, r0, r1, r2, r3, _] = *head;
        let now = u64::from_le_bytes([t0, t1, t2, t3, t4, t5, t6, t7]);
        if kind == TIMESTAMP && id | 1 == LEAVE && digits <= 4 && plain {
            let region = u32::from_le_bytes([r0, r1, r2, r3]) & DIGIT_MASKS[usize::from(digits)];
            if now < time {
                counts.step_back(time - now, context.offset + (bytes.len() - rest.len()) as u64);
            }
            rest = &rest[11 + usize::from(digits)..];
            time = now;
            left -= 1;
            if id == ENTER {
                sink.enter(now, region);
            } else {
                sink.leave(now, region);
            }
            continue;
        }
        let pos = bytes.len() - rest.len();
        let place = match kind {
            TIMESTAMP => EventPlace { at: pos + 9, id, time: now },
            _ => EventPlace { at: pos, id: kind, time },
        };
        let Some(next) = deliver_other(bytes, place, context.skip, counts, sink) else { break };
        if place.time < time {
            counts.step_back(time - place.time, context.offset + pos as u64);
        }
        rest = &bytes[next..];
        time = place.time;
        left -= 1;
    }
    DeliveredRun { pos: bytes.len() - rest.len(), time, n: context.max_events - left }
}

/// Delivers one event of any kind; gives back where the next record begins.
#[inline]
fn deliver_other<S: EventSink>(
    bytes: &[u8],
    EventPlace { at, id, time }: EventPlace,
    skip: EventKinds,
    counts: &mut EventCounts,
    sink: &mut S,
) -> Option<usize> {
    if id < FIRST_EVENT {
        return None;
    }
    if EventKinds::BARE.contains_id(id) {
        let mut cursor = Cursor::within(bytes, at + 1, bytes.len(), Endian::Little);
        let event = Event::decode_here(id, &mut cursor).ok()??;
        if skip.contains_id(id) {
            counts.skipped += 1;
        } else {
            deliver(event, time, sink);
        }
        return Some(cursor.position());
    }
    let len = *bytes.get(at + 1)?;
    let end = at + 2 + usize::from(len);
    if len == 0xff || end > bytes.len() {
        return None;
    }
    if skip.contains_id(id) {
        counts.skipped += 1;
        return Some(end);
    }
    let mut cursor = Cursor::within(bytes, at + 2, end, Endian::Little);
    match Event::decode_here(id, &mut cursor).ok()? {
        Some(event) => {
            if !cursor.is_at_end() {
                counts.longer_record(cursor.left());
            }
            deliver(event, time, sink);
        }
        None => counts.unknown_record(id),
    }
    Some(end)
}

/// Calls the sink's function for the event.
#[inline]
pub(super) fn deliver<S: EventSink>(event: Event<'_>, time: u64, sink: &mut S) {
    match event {
        Event::Enter(enter) => sink.enter(time, enter.region),
        Event::Leave(leave) => sink.leave(time, leave.region),
        other => sink.event(time, other),
    }
}
