//! The events of one thread, as chunks of an OTF2 event file that are valid at any moment.
//!
//! ```text
//! chunk  = header · (time · event)* · zeros        of one length; the last one is the open one
//! commit = bytes and events that are complete      after each event
//! ```
//! Law: an event is committed after its bytes are in place, so a reader of what was committed sees whole events;
//! times never decrease, also where those of the last moment are postponed. The chunk's memory comes from a [`Space`]: a
//! mapped file when recording, a vector in tests.
//! Writing an event allocates nothing once the scratch buffer has grown.

use crate::slots::Slot;
use ouzel_otf2::records::{Event, encode_timestamp, special};
use ouzel_otf2::wire::{Endian, RecordBuffer};

/// Bytes of a chunk, unless the user says otherwise: the least that the reference library reads.
pub const CHUNK_BYTES: usize = 256 * 1024;
/// The most that it reads.
pub const CHUNK_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Chunks are mapped, so their length is a multiple of every system's pages.
pub const CHUNK_STEP: usize = 64 * 1024;

/// A length of chunks, if it is one.
///
/// # Errors
/// A sentence that says which lengths there are.
pub fn chunk_bytes(n_bytes: u64) -> Result<usize, String> {
    let fits = |n: &usize| (CHUNK_BYTES..=CHUNK_BYTES_MAX).contains(n) && n.is_multiple_of(CHUNK_STEP);
    let n_bytes = usize::try_from(n_bytes).ok().filter(fits);
    n_bytes.ok_or_else(|| "a buffer has 256K to 16M, in steps of 64K".to_owned())
}

/// Bytes of the record of a time before the time.
const TIME_AT: usize = 1;
/// Bytes kept free at the end of each chunk, for the end of the file.
const END_BYTES: usize = 2;
/// Room for any event that is recorded without being looked at twice.
const SCRATCH_BYTES: usize = 4096;

/// Where chunks are.
pub trait Space {
    /// Bytes of each chunk.
    fn chunk_bytes(&self) -> usize;

    /// The bytes of the open chunk; all zero when it is new.
    fn chunk(&mut self) -> &mut [u8];

    /// Leaves the open chunk, and begins one after it. False if there is no room: nothing is written any more.
    fn begin_chunk(&mut self) -> bool;

    /// From now on this is valid.
    fn commit(&mut self, slot: Slot);
}

/// Whether an event was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// It is committed.
    Yes,
    /// There is no room.
    No,
    /// It is none of the [window](crate::window), or ends what began before it.
    Before,
    /// The window is over.
    After,
}

/// Writes the events of one thread.
#[derive(Debug)]
pub struct EventStream<S> {
    space: S,
    scratch: RecordBuffer,
    slot: Slot,
    /// Bytes used of the open chunk.
    used: usize,
    /// Where the last time is in it, unless a chunk before has a part of that moment.
    last_time: Option<usize>,
    is_full: bool,
}

impl<S: Space> EventStream<S> {
    /// Begins a file in a space without a chunk.
    pub fn new(space: S) -> Self {
        let mut scratch = RecordBuffer::new(native());
        scratch.put_bytes(&[0; SCRATCH_BYTES]);
        scratch.clear();
        // The first event begins the first chunk.
        let used = space.chunk_bytes();
        EventStream { space, scratch, slot: Slot::default(), used, last_time: None, is_full: false }
    }

    /// Where its chunks are.
    pub fn space(&self) -> &S {
        &self.space
    }

    /// Gives its space back.
    pub fn into_space(self) -> S {
        self.space
    }

    /// The same, to be changed.
    pub fn space_mut(&mut self) -> &mut S {
        &mut self.space
    }

    /// What is valid.
    pub fn slot(&self) -> Slot {
        self.slot
    }

    /// Writes an event. A time before that of the last event is raised to it.
    pub fn write(&mut self, time_ns: u64, event: &Event<'_>) -> Kept {
        if self.is_full {
            return Kept::No;
        }
        let time_ns = time_ns.max(self.slot.last_ns);
        let is_new_time = self.slot.n_events == 0 || time_ns != self.slot.last_ns;
        if !self.put(is_new_time.then_some(time_ns), event) {
            return Kept::No;
        }
        let is_over = self.space.chunk_bytes() < self.used + self.scratch.len() + END_BYTES;
        if is_over && !self.put_in_new_chunk(time_ns, event) {
            return Kept::No;
        }
        if is_new_time {
            self.last_time = Some(self.used + TIME_AT);
        } else if is_over {
            self.last_time = None;
        }
        let (start, end) = (self.used, self.used + self.scratch.len());
        self.space.chunk()[start..end].copy_from_slice(self.scratch.bytes());
        self.used = end;
        self.slot.n_bytes += self.scratch.len() as u64;
        if self.slot.n_events == 0 {
            self.slot.first_ns = time_ns;
        }
        self.slot.n_events += 1;
        self.slot.last_ns = time_ns;
        self.space.commit(self.slot);
        Kept::Yes
    }

    /// Moves what was written last, if that was at `from_ns`, to a later time, unless it is in two chunks. Gives when it is.
    pub fn postpone(&mut self, from_ns: u64, to_ns: u64) -> u64 {
        let Some(place) = self.last_time.filter(|_| self.slot.last_ns == from_ns && from_ns < to_ns) else {
            return from_ns;
        };
        self.space.chunk()[place..place + size_of::<u64>()].copy_from_slice(&to_ns.to_ne_bytes());
        if self.slot.first_ns == from_ns {
            self.slot.first_ns = to_ns;
        }
        self.slot.last_ns = to_ns;
        self.space.commit(self.slot);
        to_ns
    }

    /// Encodes into the scratch buffer; false for what the format cannot say.
    fn put(&mut self, time_ns: Option<u64>, event: &Event<'_>) -> bool {
        self.scratch.clear();
        if let Some(time_ns) = time_ns {
            encode_timestamp(time_ns, &mut self.scratch);
        }
        event.encode(&mut self.scratch).is_ok()
    }

    #[cold]
    fn put_in_new_chunk(&mut self, time_ns: u64, event: &Event<'_>) -> bool {
        self.begin_chunk() && self.put(Some(time_ns), event)
    }

    fn begin_chunk(&mut self) -> bool {
        let n_events = self.slot.n_events;
        let has_chunk = n_events != 0;
        if has_chunk {
            set_last_event(self.space.chunk(), n_events);
        }
        if !self.space.begin_chunk() {
            self.is_full = true;
            return false;
        }
        if has_chunk {
            self.slot.n_bytes += (self.space.chunk_bytes() - self.used) as u64;
        }
        self.slot.n_bytes += special::CHUNK_HEADER_BYTES as u64;
        self.used = special::CHUNK_HEADER_BYTES;
        let chunk = self.space.chunk();
        chunk[0] = special::CHUNK_HEADER;
        chunk[1] = native().to_byte();
        chunk[2..10].copy_from_slice(&(n_events + 1).to_ne_bytes());
        true
    }
}

/// The byte order of this machine.
pub fn native() -> Endian {
    if cfg!(target_endian = "big") { Endian::Big } else { Endian::Little }
}

/// Completes the header of a chunk.
pub fn set_last_event(chunk: &mut [u8], n_events: u64) {
    chunk[10..special::CHUNK_HEADER_BYTES].copy_from_slice(&n_events.to_ne_bytes());
}

/// What ends a file after its last event.
pub const END: [u8; END_BYTES] = [special::END_OF_FILE, special::END_OF_BUFFER];

#[cfg(test)]
mod tests {
    use super::*;
    use ouzel_otf2::read::{EventReader, EventSource};
    use ouzel_otf2::records::event::{Enter, MpiSend};

    #[derive(Default)]
    struct Memory {
        chunks: Vec<Vec<u8>>,
        n_max: usize,
        committed: Vec<Slot>,
    }

    impl Space for Memory {
        fn chunk_bytes(&self) -> usize {
            CHUNK_BYTES
        }

        fn chunk(&mut self) -> &mut [u8] {
            self.chunks.last_mut().expect("a chunk was begun")
        }

        fn begin_chunk(&mut self) -> bool {
            if self.chunks.len() == self.n_max {
                return false;
            }
            self.chunks.push(vec![0; CHUNK_BYTES]);
            true
        }

        fn commit(&mut self, slot: Slot) {
            self.committed.push(slot);
        }
    }

    fn event(i: u64) -> Event<'static> {
        match i % 3 {
            0 => Enter { region: (i % 200) as u32 }.into(),
            _ => MpiSend { receiver: 3, communicator: 0, msg_tag: 9, msg_length: i }.into(),
        }
    }

    #[test]
    fn chunks_have_lengths_that_can_be_mapped_and_read() {
        assert_eq!(
            [256 << 10, 1 << 20, 16 << 20].map(chunk_bytes),
            [Ok(CHUNK_BYTES), Ok(1 << 20), Ok(16 << 20)]
        );
        for n_bytes in [0, 1 << 10, (256 << 10) + 4096, (16 << 20) + 1, 32 << 20, u64::MAX] {
            assert!(chunk_bytes(n_bytes).is_err(), "{n_bytes}");
        }
    }

    #[test]
    fn a_full_space_keeps_what_was_written() {
        let mut stream = EventStream::new(Memory { n_max: 2, ..Memory::default() });
        let n_kept = (0..200_000).take_while(|&i| stream.write(i, &event(i)) == Kept::Yes).count() as u64;
        assert!(20_000 < n_kept && n_kept < 199_999, "{n_kept}");
        assert_eq!(stream.write(n_kept + 1, &event(0)), Kept::No);
        let slot = stream.slot();
        assert_eq!((slot.n_events, slot.first_ns, slot.last_ns), (n_kept, 0, n_kept - 1));
        assert!(slot.n_bytes <= 2 * CHUNK_BYTES as u64);
    }

    #[test]
    fn times_are_written_once_and_never_go_back() {
        let mut stream = EventStream::new(Memory { n_max: 1, ..Memory::default() });
        for time in [5, 5, 3, 6] {
            assert_eq!(stream.write(time, &event(0)), Kept::Yes);
        }
        let slots = &stream.space.committed;
        let lengths: Vec<u64> = slots.windows(2).map(|pair| pair[1].n_bytes - pair[0].n_bytes).collect();
        let (event, time) = (slots[0].n_bytes - 18 - 9, 9);
        assert_eq!(lengths, [event, event, event + time]);
        assert_eq!(slots.last().map(|slot| (slot.first_ns, slot.last_ns)), Some((5, 6)));
    }

    #[test]
    fn the_last_moment_can_be_postponed() {
        let mut stream = EventStream::new(Memory { n_max: 2, ..Memory::default() });
        assert_eq!(stream.postpone(0, 9), 0);
        let mut times = vec![];
        for i in 0..15_000 {
            let at = 10 * i;
            assert_eq!(stream.write(at, &event(3 * i)), Kept::Yes);
            assert_eq!(stream.write(at, &event(1)), Kept::Yes);
            // Nothing is written at the first, and the second is earlier.
            assert_eq!(stream.postpone(at + 1, at + 9), at + 1);
            assert_eq!(stream.postpone(at, at - at.min(1)), at);
            times.extend([stream.postpone(at, at + i % 10); 2]);
        }
        let slot = stream.slot();
        assert_eq!((slot.first_ns, slot.last_ns), (times[0], times[times.len() - 1]));
        let Memory { mut chunks, .. } = stream.into_space();
        assert_eq!(chunks.len(), 2);
        let end = slot.n_bytes as usize - CHUNK_BYTES;
        chunks[1][end..end + END.len()].copy_from_slice(&END);
        let bytes = chunks.concat();
        let source = EventSource::whole(&bytes[..], "memory", bytes.len() as u64, None);
        let mut reader = EventReader::new(source).expect("a file");
        let mut found = vec![];
        while let Ok(Some(record)) = reader.next_record() {
            found.push(record.time);
        }
        assert_eq!(found, times);
        let n_left = (0..).zip(times.chunks(2)).filter(|(i, moment)| moment[0] != 10 * i + i % 10).count();
        assert!(n_left <= 1, "{n_left}: only what is in two chunks may stay");
    }
}
