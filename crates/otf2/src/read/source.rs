//! What goes into a reader of events and what comes out of it one at a time.

use std::num::NonZeroU64;
use std::sync::Arc;

use super::chunks::Chunk;
use crate::records::{AttributeList, Event};

/// Where an [`EventReader`](super::EventReader) reads: the bytes and what is known about them.
#[derive(Debug, Clone)]
pub struct EventSource<R> {
    /// Gives the bytes, from `offset` on.
    pub bytes: R,
    /// Name for errors.
    pub file: Arc<str>,
    /// File offset at which to begin: 0, or that of a chunk.
    pub offset: u64,
    /// Number of bytes to read at most: the length of the file or of the chunk.
    pub n_bytes: u64,
    /// Bytes of a full chunk, from the anchor; `None` finds the next chunk after the zeros that fill the last.
    pub chunk_bytes: Option<NonZeroU64>,
    /// Number of the first event, from 1; errors count from it.
    pub first_event: u64,
    /// Whether the end of the first chunk is the end.
    pub one_chunk: bool,
}

impl<R> EventSource<R> {
    /// A whole file of `n_bytes`.
    pub fn whole(bytes: R, file: &str, n_bytes: u64, chunk_bytes: Option<NonZeroU64>) -> Self {
        EventSource {
            bytes,
            file: file.into(),
            offset: 0,
            n_bytes,
            chunk_bytes,
            first_event: 1,
            one_chunk: false,
        }
    }

    /// One chunk of a file; `bytes` must give the chunk's first byte first.
    pub fn chunk(bytes: R, file: &str, chunk: Chunk, chunk_bytes: Option<NonZeroU64>) -> Self {
        EventSource {
            bytes,
            file: file.into(),
            offset: chunk.offset,
            n_bytes: chunk.n_bytes,
            chunk_bytes,
            first_event: chunk.first_event,
            one_chunk: true,
        }
    }
}

/// One event as [`EventReader::next_record`](super::EventReader::next_record) gives it out.
#[derive(Debug, Clone, Copy)]
pub struct EventRecord<'a> {
    /// File offset of the event's id byte; its time and attributes lie before it.
    pub offset: u64,
    /// Number of the event in the file, from 1.
    pub number: u64,
    /// Raw ticks.
    pub time: u64,
    /// The event's attributes.
    pub attributes: AttributeList<'a>,
    /// The id in the file.
    pub id: u8,
    /// The event, `None` if this version does not know the id.
    pub event: Option<Event<'a>>,
    /// The bytes of the fields.
    pub body: &'a [u8],
}
