//! The anchor file of an archive: versions, chunk sizes, names, properties.

use std::num::NonZeroU64;

use crate::error::{ReadError, ReadErrorKind};
use crate::records::special::{CHUNK_HEADER, END_OF_FILE};
use crate::wire::{Cursor, Endian, Fault, RecordBuffer};

/// The newest anchor format known.
pub const ANCHOR_FORMAT: u8 = 3;
const MAGIC: &[u8] = b"OTF2\0";
/// What an anchor begins with: a byte, the byte order, and the name of the format.
pub(crate) const ANCHOR_MAGIC_BYTES: usize = 2 + MAGIC.len();
const SUBSTRATE_POSIX: u8 = 1;
const SUBSTRATE_NONE: u8 = 3;
const COMPRESSION_NONE: u8 = 1;

/// What an anchor file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anchor {
    /// Byte order of the anchor itself.
    pub endian: Endian,
    /// Version of the anchor's own form, 1 to 3.
    pub anchor_format: u8,
    /// Version of the trace's form.
    pub trace_format: u8,
    /// Version of the library that wrote it: major, minor, bugfix.
    pub library_version: [u8; 3],
    /// Bytes of a chunk of event and snapshot files.
    pub event_chunk_bytes: u64,
    /// Bytes of a chunk of definition and marker files.
    pub definition_chunk_bytes: u64,
    /// Number of locations.
    pub n_locations: u64,
    /// Number of global definition records.
    pub n_global_definitions: u64,
    /// Where it was recorded.
    pub machine_name: String,
    /// What recorded it.
    pub creator: String,
    /// What it is, in the words of who recorded it.
    pub description: String,
    /// Named properties, in the order of the file; none before anchor format 2.
    pub properties: Vec<(String, String)>,
    /// Random id of the trace; 0 before anchor format 2.
    pub trace_id: u64,
    /// Number of snapshots; 0 before anchor format 3.
    pub n_snapshots: u32,
    /// Number of thumbnails; 0 before anchor format 3.
    pub n_thumbnails: u32,
}

impl Anchor {
    /// Whether bytes begin as an anchor does.
    pub fn begins(bytes: &[u8]) -> bool {
        matches!(bytes, [CHUNK_HEADER, _, rest @ ..] if rest.starts_with(MAGIC))
    }

    /// Reads an anchor; `file` names it in errors.
    ///
    /// # Errors
    /// If it is not an anchor, is broken, newer than known, or of an archive that
    /// cannot be read (SIONlib containers, zlib).
    pub fn parse(bytes: &[u8], file: &str) -> Result<Anchor, ReadError> {
        let endian = match bytes {
            [_, order, ..] if Anchor::begins(bytes) => *order,
            _ => return Err(ReadError::of_file(file, ReadErrorKind::NotAnAnchor)),
        };
        let at =
            |offset: usize, kind| ReadError { file: file.into(), offset: offset as u64, record: 0, kind };
        let endian =
            Endian::from_byte(endian).ok_or_else(|| at(1, ReadErrorKind::ByteOrder { found: endian }))?;
        let mut cursor = Cursor::within(bytes, 2 + MAGIC.len(), bytes.len(), endian);
        let field = |cursor: &Cursor<'_>, fault| {
            at(cursor.position(), ReadErrorKind::Field { id: CHUNK_HEADER, fault })
        };
        let head = AnchorHead::parse(&mut cursor).map_err(|fault| field(&cursor, fault))?;
        if head.anchor_format > ANCHOR_FORMAT {
            return Err(at(7, ReadErrorKind::AnchorVersion { found: head.anchor_format }));
        }
        match head.substrate {
            SUBSTRATE_POSIX | SUBSTRATE_NONE => {}
            2 => return Err(at(28, ReadErrorKind::Sion)),
            found => return Err(at(28, ReadErrorKind::Substrate { found })),
        }
        match head.compression {
            COMPRESSION_NONE => {}
            2 => return Err(at(29, ReadErrorKind::Zlib)),
            found => return Err(at(29, ReadErrorKind::Compression { found })),
        }
        Anchor::parse_tail(endian, &head, &mut cursor).map_err(|fault| field(&cursor, fault))
    }

    fn parse_tail(endian: Endian, head: &AnchorHead, cursor: &mut Cursor<'_>) -> Result<Anchor, Fault> {
        let mut anchor = Anchor {
            endian,
            anchor_format: head.anchor_format,
            trace_format: head.trace_format,
            library_version: head.library_version,
            event_chunk_bytes: head.event_chunk_bytes,
            definition_chunk_bytes: head.definition_chunk_bytes,
            n_locations: cursor.u64_full()?,
            n_global_definitions: cursor.u64_full()?,
            machine_name: text(cursor)?,
            creator: text(cursor)?,
            description: text(cursor)?,
            properties: Vec::new(),
            trace_id: 0,
            n_snapshots: 0,
            n_thumbnails: 0,
        };
        if anchor.anchor_format >= 2 {
            for _ in 0..cursor.u32_full()? {
                anchor.properties.push((text(cursor)?, text(cursor)?));
            }
            anchor.trace_id = cursor.u64_full()?;
        }
        if anchor.anchor_format >= 3 {
            anchor.n_snapshots = cursor.u32_full()?;
            anchor.n_thumbnails = cursor.u32_full()?;
        }
        Ok(anchor)
    }

    /// The bytes of the anchor file, in the newest anchor format.
    ///
    /// Texts are cut at their first zero byte, which the format cannot say.
    pub fn encode(&self) -> Vec<u8> {
        let mut buffer = RecordBuffer::new(self.endian);
        buffer.put_u8(CHUNK_HEADER);
        buffer.put_u8(self.endian.to_byte());
        buffer.put_bytes(MAGIC);
        buffer.put_u8(ANCHOR_FORMAT);
        buffer.put_u8(self.trace_format);
        buffer.put_bytes(&self.library_version);
        buffer.put_u64_full(self.event_chunk_bytes);
        buffer.put_u64_full(self.definition_chunk_bytes);
        buffer.put_u8(SUBSTRATE_POSIX);
        buffer.put_u8(COMPRESSION_NONE);
        buffer.put_u64_full(self.n_locations);
        buffer.put_u64_full(self.n_global_definitions);
        for text in [&self.machine_name, &self.creator, &self.description] {
            put_text(text, &mut buffer);
        }
        buffer.put_u32_full(u32::try_from(self.properties.len()).unwrap_or(u32::MAX));
        for (name, value) in self.properties.iter().take(u32::MAX as usize) {
            put_text(name, &mut buffer);
            put_text(value, &mut buffer);
        }
        buffer.put_u64_full(self.trace_id);
        buffer.put_u32_full(self.n_snapshots);
        buffer.put_u32_full(self.n_thumbnails);
        buffer.put_bytes(&[END_OF_FILE, 1, 0]);
        buffer.bytes().to_vec()
    }

    /// The value of a property, for instance of `OTF2::MPI_COMMUNICATION_COMPLETE`.
    pub fn property(&self, name: &str) -> Option<&str> {
        self.properties.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    /// Chunk size of event files, `None` if the anchor says 0.
    pub fn event_chunk_size(&self) -> Option<NonZeroU64> {
        NonZeroU64::new(self.event_chunk_bytes)
    }

    /// Chunk size of definition files, `None` if the anchor says 0.
    pub fn definition_chunk_size(&self) -> Option<NonZeroU64> {
        NonZeroU64::new(self.definition_chunk_bytes)
    }
}

struct AnchorHead {
    anchor_format: u8,
    trace_format: u8,
    library_version: [u8; 3],
    event_chunk_bytes: u64,
    definition_chunk_bytes: u64,
    substrate: u8,
    compression: u8,
}

impl AnchorHead {
    fn parse(cursor: &mut Cursor<'_>) -> Result<AnchorHead, Fault> {
        Ok(AnchorHead {
            anchor_format: cursor.u8()?,
            trace_format: cursor.u8()?,
            library_version: [cursor.u8()?, cursor.u8()?, cursor.u8()?],
            event_chunk_bytes: cursor.u64_full()?,
            definition_chunk_bytes: cursor.u64_full()?,
            substrate: cursor.u8()?,
            compression: cursor.u8()?,
        })
    }
}

fn text(cursor: &mut Cursor<'_>) -> Result<String, Fault> {
    cursor.text().map(|bytes| String::from_utf8_lossy(bytes).into_owned())
}

fn put_text(text: &str, buffer: &mut RecordBuffer) {
    let upto = text.find('\0').unwrap_or(text.len());
    buffer.put_bytes(&text.as_bytes()[..upto]);
    buffer.put_u8(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(endian: Endian) -> Anchor {
        Anchor {
            endian,
            anchor_format: 3,
            trace_format: 2,
            library_version: [3, 0, 2],
            event_chunk_bytes: 1 << 20,
            definition_chunk_bytes: 4 << 20,
            n_locations: 4,
            n_global_definitions: 99,
            machine_name: "Linux".into(),
            creator: "test".into(),
            description: String::new(),
            properties: vec![("OTF2::MPI_COMMUNICATION_COMPLETE".into(), "true".into())],
            trace_id: 0x1234_5678_9abc_def0,
            n_snapshots: 0,
            n_thumbnails: 2,
        }
    }

    #[test]
    fn anchors_survive_the_round_trip() {
        for endian in [Endian::Little, Endian::Big] {
            let anchor = sample(endian);
            let parsed = Anchor::parse(&anchor.encode(), "a.otf2").expect("the anchor is whole");
            assert_eq!(parsed, anchor);
            assert_eq!(parsed.property("OTF2::MPI_COMMUNICATION_COMPLETE"), Some("true"));
        }
    }

    #[test]
    fn what_cannot_be_read_is_refused_in_clear_words() {
        let good = sample(Endian::Little).encode();
        let refusal = |at: usize, byte: u8| {
            let mut bytes = good.clone();
            bytes[at] = byte;
            Anchor::parse(&bytes, "a.otf2").expect_err("the byte is wrong").to_string()
        };
        assert!(refusal(28, 2).contains("SIONlib"));
        assert!(refusal(29, 2).contains("zlib"));
        assert!(refusal(28, 9).contains("substrate 9"));
        assert!(refusal(7, 4).contains("anchor format 4"));
        assert!(refusal(1, 0).contains("byte order"));
        assert!(refusal(3, b'x').contains("not an OTF2 anchor"));
    }

    #[test]
    fn a_cut_anchor_is_an_error_everywhere() {
        let good = sample(Endian::Little).encode();
        for n in 0..good.len() - 3 {
            let error = Anchor::parse(&good[..n], "a.otf2").expect_err("the anchor is cut");
            // What lacks the first bytes is no anchor as a whole; in others a place is wrong.
            let place = if n < 7 { "a.otf2: " } else { "a.otf2+0x" };
            assert!(error.to_string().starts_with(place), "{error}");
        }
    }
}
