//! The reader of a file that is in memory: definitions, markers, snapshots.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::sync::Arc;

use super::chunks::parse_chunk_header;
use crate::error::{ReadError, ReadErrorKind};
use crate::records::special::{
    CHUNK_HEADER, CHUNK_HEADER_BYTES, END_OF_BUFFER, END_OF_CHUNK, END_OF_FILE, TIMESTAMP,
};
use crate::wire::{Cursor, Endian, Fault};

/// One record before its fields are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawRecord<'a> {
    /// File offset of the id byte.
    pub offset: u64,
    /// Number of the record in the file, from 1.
    pub number: u64,
    /// The id in the file.
    pub id: u8,
    /// File offset of the first byte of the fields.
    pub body_offset: u64,
    /// The bytes of the fields.
    pub body: &'a [u8],
    /// The byte order of the file.
    pub endian: Endian,
}

/// What a reader of records met so far.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordCounts {
    /// Records, also unknown ones.
    pub records: u64,
    /// Records of kinds that this version does not know, by id.
    pub unknown: BTreeMap<u8, u64>,
    /// Records with bytes after the fields that this version knows.
    pub longer_records: u64,
    /// Those bytes.
    pub trailing_bytes: u64,
}

/// Walks over the records of a definition or marker file.
///
/// ```
/// use ouzel_otf2::read::RecordReader;
/// use ouzel_otf2::records::Definition;
/// let mut file = vec![3, 0x42];
/// file.extend([0; 16]);
/// file.extend(b"\x0a\x07\x01\x07main\0\x02\x01");
/// let mut reader = RecordReader::new(&file, "traces.def", None)?;
/// let (record, definition) = reader.next_as(Definition::decode)?.expect("the file has one record");
/// assert_eq!(record.offset, 18);
/// assert!(matches!(definition, Some(Definition::String(string)) if string.id == 7));
/// assert!(reader.next_as(Definition::decode)?.is_none());
/// # Ok::<(), ouzel_otf2::ReadError>(())
/// ```
#[derive(Debug, Clone)]
pub struct RecordReader<'a> {
    bytes: &'a [u8],
    file: Arc<str>,
    endian: Endian,
    chunk_bytes: Option<NonZeroU64>,
    chunk_end: usize,
    pos: usize,
    has_timestamps: bool,
    ended: bool,
    counts: RecordCounts,
}

struct RecordStop {
    at: usize,
    kind: ReadErrorKind,
}

impl<'a> RecordReader<'a> {
    /// Begins to read; the first chunk's header is read here.
    ///
    /// `chunk_bytes` is the definition chunk size of the anchor; without it the
    /// next chunk is looked for after the zeros that fill the last.
    ///
    /// # Errors
    /// If there is no chunk header.
    pub fn new(bytes: &'a [u8], file: &str, chunk_bytes: Option<NonZeroU64>) -> Result<Self, ReadError> {
        let mut reader = RecordReader {
            bytes,
            file: file.into(),
            endian: Endian::Little,
            chunk_bytes,
            chunk_end: bytes.len(),
            pos: 0,
            has_timestamps: false,
            ended: false,
            counts: RecordCounts::default(),
        };
        match reader.begin_chunk() {
            Ok(()) => Ok(reader),
            Err(stop) => Err(reader.error(stop)),
        }
    }

    /// For snapshot files, in which id 5 is a time of eight raw bytes without a length.
    #[must_use]
    pub fn with_timestamps(mut self) -> Self {
        self.has_timestamps = true;
        self
    }

    /// What was met so far.
    pub fn counts(&self) -> &RecordCounts {
        &self.counts
    }

    /// The byte order of the file.
    pub fn endian(&self) -> Endian {
        self.endian
    }

    /// The next record, `None` at the end.
    ///
    /// # Errors
    /// What ends the file early; `None` after it.
    pub fn next_raw(&mut self) -> Result<Option<RawRecord<'a>>, ReadError> {
        if self.ended {
            return Ok(None);
        }
        let found = self.find();
        if matches!(found, Ok(None)) {
            self.ended = true;
        }
        found.map_err(|stop| self.error(stop))
    }

    /// The next record with its fields, which `decode` reads; `None` for a kind it does not know.
    ///
    /// # Errors
    /// What ends the file early; `None` after it.
    pub fn next_as<T>(
        &mut self,
        decode: impl FnOnce(u8, &mut Cursor<'a>) -> Result<Option<T>, Fault>,
    ) -> Result<Option<(RawRecord<'a>, Option<T>)>, ReadError> {
        let Some(raw) = self.next_raw()? else { return Ok(None) };
        let mut cursor = Cursor::new(raw.body, raw.endian);
        match decode(raw.id, &mut cursor) {
            Ok(None) => {
                *self.counts.unknown.entry(raw.id).or_default() += 1;
                Ok(Some((raw, None)))
            }
            Ok(known) => {
                if !cursor.is_at_end() {
                    self.counts.longer_records += 1;
                    self.counts.trailing_bytes += cursor.left() as u64;
                }
                Ok(Some((raw, known)))
            }
            Err(fault) => {
                self.counts.records -= 1;
                let at = self.pos - raw.body.len() + cursor.position();
                Err(self.error(RecordStop { at, kind: ReadErrorKind::Field { id: raw.id, fault } }))
            }
        }
    }

    #[cold]
    fn error(&mut self, stop: RecordStop) -> ReadError {
        self.ended = true;
        let record = self.counts.records + 1;
        ReadError { file: self.file.clone(), offset: stop.at as u64, record, kind: stop.kind }
    }

    fn find(&mut self) -> Result<Option<RawRecord<'a>>, RecordStop> {
        loop {
            if self.pos == self.chunk_end && self.pos < self.bytes.len() {
                self.begin_chunk()?;
            }
            let at = self.pos;
            let Some(&id) = self.bytes.get(at) else {
                return Err(RecordStop { at, kind: ReadErrorKind::NoEnd });
            };
            match id {
                END_OF_CHUNK => self.end_chunk()?,
                END_OF_FILE if self.bytes.get(at + 1) != Some(&END_OF_BUFFER) => {
                    return Err(RecordStop { at: at + 1, kind: ReadErrorKind::NoEnd });
                }
                END_OF_FILE | END_OF_BUFFER => {
                    self.pos = at + if id == END_OF_FILE { 2 } else { 1 };
                    return Ok(None);
                }
                CHUNK_HEADER => return Err(RecordStop { at, kind: ReadErrorKind::EarlyChunkHeader }),
                TIMESTAMP if self.has_timestamps => {
                    self.take(1, 8)?;
                }
                _ => {
                    let body = self.sized_body()?;
                    self.counts.records += 1;
                    return Ok(Some(RawRecord {
                        offset: at as u64,
                        number: self.counts.records,
                        id,
                        body_offset: (self.pos - body.len()) as u64,
                        body,
                        endian: self.endian,
                    }));
                }
            }
        }
    }

    fn sized_body(&mut self) -> Result<&'a [u8], RecordStop> {
        let at = self.pos;
        let Some(&short) = self.bytes.get(at + 1) else {
            return Err(RecordStop { at, kind: ReadErrorKind::Truncated { needed: 1 } });
        };
        if short != 0xff {
            return self.take(2, u64::from(short));
        }
        let len = Cursor::within(self.bytes, at + 2, self.bytes.len(), self.endian)
            .u64_full()
            .map_err(|_| RecordStop { at, kind: ReadErrorKind::Truncated { needed: 1 } })?;
        self.take(10, len)
    }

    /// Moves over a head of `head` bytes and takes the `len` after it.
    fn take(&mut self, head: usize, len: u64) -> Result<&'a [u8], RecordStop> {
        let at = self.pos;
        let start = at + head;
        let left_in_chunk = self.chunk_end.saturating_sub(start) as u64;
        let left_in_file = self.bytes.len().saturating_sub(start) as u64;
        if len > left_in_file && self.chunk_end >= self.bytes.len() {
            return Err(RecordStop { at, kind: ReadErrorKind::Truncated { needed: len - left_in_file } });
        }
        if len > left_in_chunk {
            return Err(RecordStop { at, kind: ReadErrorKind::RecordPastChunk { len, left: left_in_chunk } });
        }
        // No longer than the chunk, so it fits.
        let end = start + usize::try_from(len).unwrap_or(usize::MAX);
        let Some(body) = self.bytes.get(start..end) else {
            return Err(RecordStop { at, kind: ReadErrorKind::Truncated { needed: len } });
        };
        self.pos = end;
        Ok(body)
    }

    fn end_chunk(&mut self) -> Result<(), RecordStop> {
        let at = self.pos;
        self.pos = match self.chunk_bytes {
            Some(_) => self.chunk_end,
            None => {
                let zeros = self.bytes[at..].iter().position(|&byte| byte != 0);
                zeros.map_or(self.bytes.len(), |zeros| at + zeros)
            }
        };
        if self.pos >= self.bytes.len() {
            return Err(RecordStop { at, kind: ReadErrorKind::NoEnd });
        }
        self.begin_chunk()
    }

    fn begin_chunk(&mut self) -> Result<(), RecordStop> {
        let at = self.pos;
        let header = parse_chunk_header(&self.bytes[at..])
            .map_err(|(behind, kind)| RecordStop { at: at + behind, kind })?;
        self.endian = header.endian;
        self.chunk_end = match self.chunk_bytes.and_then(|size| usize::try_from(size.get()).ok()) {
            Some(size) => (at - at % size).saturating_add(size),
            None => self.bytes.len(),
        };
        self.pos = at + CHUNK_HEADER_BYTES;
        Ok(())
    }
}
