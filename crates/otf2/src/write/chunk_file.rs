//! A file of chunks, of which only the last is in memory.
//!
//! Law: every chunk but the last has exactly `chunk_bytes` bytes, and at least
//! two zero bytes at its end: a reader meets the end of the chunk before the
//! end of the bytes. The file is open only while a chunk goes to it.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

use super::error::{WriteError, WriteErrorKind};
use super::options::WriteOptions;
use crate::records::special;
use crate::wire::{EncodeError, Endian, RecordBuffer};

/// Bytes of `END_OF_FILE` and `END_OF_BUFFER`, kept free in every chunk.
const END_BYTES: usize = 2;

#[derive(Debug)]
pub(super) struct ChunkFile {
    path: Arc<Path>,
    /// The records of the open chunk, without its header.
    body: RecordBuffer,
    body_max: usize,
    n_chunks: u64,
    /// Records written to the file, of those that are counted.
    n_counted: u64,
    n_counted_before_chunk: u64,
}

/// Where a record lies in its chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChunkPlace {
    ChunkStart,
    Later,
}

impl ChunkFile {
    /// Nothing is written before the first chunk is full or the file is finished.
    pub(super) fn new(path: Arc<Path>, chunk_bytes: u64, endian: Endian) -> Result<Self, WriteError> {
        let min = WriteOptions::MIN_CHUNK_BYTES;
        let usable = usize::try_from(chunk_bytes).ok().filter(|_| chunk_bytes >= min);
        let Some(usable) = usable else {
            return Err(WriteError::new(&path, WriteErrorKind::ChunkBytes { bytes: chunk_bytes, min }));
        };
        Ok(ChunkFile {
            path,
            body: RecordBuffer::new(endian),
            body_max: usable - special::CHUNK_HEADER_BYTES - END_BYTES,
            n_chunks: 0,
            n_counted: 0,
            n_counted_before_chunk: 0,
        })
    }

    #[cold]
    pub(super) fn error(&self, kind: impl Into<WriteErrorKind>) -> WriteError {
        WriteError::new(&self.path, kind)
    }

    pub(super) fn n_counted(&self) -> u64 {
        self.n_counted
    }

    /// Puts records that must stay together, and that count as `n` in the chunk's header.
    ///
    /// `put` is called a second time, at the start of a new chunk, if they do not fit.
    #[inline]
    pub(super) fn append(
        &mut self,
        n: u64,
        put: impl Fn(&mut RecordBuffer, ChunkPlace) -> Result<(), EncodeError>,
    ) -> Result<(), WriteError> {
        let before = self.body.len();
        let place = if before == 0 { ChunkPlace::ChunkStart } else { ChunkPlace::Later };
        if let Err(error) = put(&mut self.body, place) {
            self.body.truncate(before);
            return Err(self.error(error));
        }
        if self.body.len() > self.body_max {
            self.begin_chunk_at(before)?;
            self.put_first(put)?;
        }
        self.n_counted += n;
        Ok(())
    }

    /// Writes the first `used` bytes as a chunk that is not the last, and forgets the others.
    #[inline(never)]
    fn begin_chunk_at(&mut self, used: usize) -> Result<(), WriteError> {
        let bytes = self.body.len() - used;
        self.body.truncate(used);
        if bytes > self.body_max {
            return Err(self.too_large(bytes));
        }
        self.write_chunk(self.body_max + END_BYTES - used)
    }

    #[inline(never)]
    fn put_first(
        &mut self,
        put: impl Fn(&mut RecordBuffer, ChunkPlace) -> Result<(), EncodeError>,
    ) -> Result<(), WriteError> {
        let outcome = put(&mut self.body, ChunkPlace::ChunkStart);
        let bytes = self.body.len();
        if bytes > self.body_max {
            self.body.clear();
            return Err(self.too_large(bytes));
        }
        outcome.map_err(|error| self.error(error))
    }

    #[cold]
    fn too_large(&self, bytes: usize) -> WriteError {
        self.error(WriteErrorKind::RecordTooLarge { bytes, max: self.body_max })
    }

    /// Writes the last chunk and the end of the file.
    pub(super) fn finish(&mut self) -> Result<(), WriteError> {
        self.body.put_u8(special::END_OF_FILE);
        self.body.put_u8(special::END_OF_BUFFER);
        self.write_chunk(0)
    }

    fn write_chunk(&mut self, padding: usize) -> Result<(), WriteError> {
        self.try_write_chunk(padding).map_err(|error| self.error(error))?;
        self.n_chunks += 1;
        self.n_counted_before_chunk = self.n_counted;
        self.body.clear();
        Ok(())
    }

    fn try_write_chunk(&self, padding: usize) -> io::Result<()> {
        let endian = self.body.endian();
        let mut header = [0; special::CHUNK_HEADER_BYTES];
        header[0] = special::CHUNK_HEADER;
        header[1] = endian.to_byte();
        header[2..10].copy_from_slice(&endian.u64_to(self.n_counted_before_chunk + 1));
        header[10..].copy_from_slice(&endian.u64_to(self.n_counted));

        let mut file = match self.n_chunks {
            0 => File::create(&self.path)?,
            _ => OpenOptions::new().append(true).open(&self.path)?,
        };
        file.write_all(&header)?;
        file.write_all(self.body.bytes())?;
        let mut zeros = io::repeat(special::END_OF_CHUNK).take(padding as u64);
        io::copy(&mut zeros, &mut file).map(|_| ())
    }
}
