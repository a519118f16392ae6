//! The chunks of a file, found by their headers alone.
//!
//! Law: chunks lie at multiples of the chunk size, so a list of them costs one
//! small read each; nothing between the headers is looked at.

use std::io::{self, Read, Seek, SeekFrom};
use std::num::NonZeroU64;

use crate::error::{ReadError, ReadErrorKind};
use crate::records::special::{CHUNK_HEADER, CHUNK_HEADER_BYTES};
use crate::wire::Endian;

/// One chunk of an event file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    /// File offset of the header.
    pub offset: u64,
    /// Bytes, header and filling included.
    pub n_bytes: u64,
    /// Number of the first event, from 1, as the header claims.
    pub first_event: u64,
    /// Number of the last event, as the header claims; below `first_event` for none.
    pub last_event: u64,
}

impl Chunk {
    /// Events that the header claims.
    pub fn n_events(&self) -> u64 {
        n_events(self.first_event, self.last_event)
    }
}

/// The header of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChunkHeader {
    pub endian: Endian,
    pub first_event: u64,
    pub last_event: u64,
}

impl ChunkHeader {
    pub fn n_events(&self) -> u64 {
        n_events(self.first_event, self.last_event)
    }
}

fn n_events(first: u64, last: u64) -> u64 {
    if last < first || last == 0 { 0 } else { (last - first).saturating_add(1) }
}

/// Reads a header; an error comes with the place of the byte that is wrong.
pub(crate) fn parse_chunk_header(bytes: &[u8]) -> Result<ChunkHeader, (usize, ReadErrorKind)> {
    let Some(&[id, order, ref numbers @ ..]) = bytes.first_chunk::<CHUNK_HEADER_BYTES>() else {
        let needed = CHUNK_HEADER_BYTES.saturating_sub(bytes.len()) as u64;
        return Err((0, ReadErrorKind::Truncated { needed }));
    };
    if id != CHUNK_HEADER {
        return Err((0, ReadErrorKind::NoChunkHeader { found: id }));
    }
    let endian = Endian::from_byte(order).ok_or((1, ReadErrorKind::ByteOrder { found: order }))?;
    let [first, last] = [0, 8].map(|at| {
        let mut raw = [0; 8];
        raw.copy_from_slice(&numbers[at..at + 8]);
        endian.u64_from(raw)
    });
    Ok(ChunkHeader { endian, first_event: first, last_event: last })
}

/// Lists the chunks of a file of `n_bytes`.
///
/// Stops with what it has at the first thing that is not a chunk header; the second
/// value says what that was.
pub fn list_chunks<R: Read + Seek>(
    source: &mut R,
    file: &str,
    n_bytes: u64,
    chunk_bytes: NonZeroU64,
) -> (Vec<Chunk>, Option<ReadError>) {
    let mut chunks = Vec::new();
    let mut offset = 0;
    while offset < n_bytes {
        let header = read_header(source, offset).and_then(|bytes| parse_chunk_header(&bytes));
        match header {
            Ok(header) => chunks.push(Chunk {
                offset,
                n_bytes: chunk_bytes.get().min(n_bytes - offset),
                first_event: header.first_event,
                last_event: header.last_event,
            }),
            Err((at, kind)) => {
                let record = chunks.len() as u64 + 1;
                let error = ReadError { file: file.into(), offset: offset + at as u64, record, kind };
                return (chunks, Some(error));
            }
        }
        offset = offset.saturating_add(chunk_bytes.get());
    }
    (chunks, None)
}

fn read_header<R: Read + Seek>(source: &mut R, offset: u64) -> Result<Vec<u8>, (usize, ReadErrorKind)> {
    let read = |source: &mut R| -> io::Result<Vec<u8>> {
        source.seek(SeekFrom::Start(offset))?;
        let mut bytes = Vec::with_capacity(CHUNK_HEADER_BYTES);
        source.take(CHUNK_HEADER_BYTES as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read(source).map_err(|error| (0, ReadErrorKind::Io(error)))
}
