//! The bytes of the anchor file.

use super::options::WriteOptions;
use crate::records::special;
use crate::wire::{EncodeError, RecordBuffer};

/// Format of the anchor file itself.
const ANCHOR_FORMAT: u8 = 3;
/// Format of the other files.
const TRACE_FORMAT: u8 = 2;
/// Version of the reference library that wrote files like these: major, minor, bugfix.
const LIBRARY_VERSION: [u8; 3] = [3, 0, 2];
const SUBSTRATE_POSIX: u8 = 1;
const COMPRESSION_NONE: u8 = 1;

/// What is known at the end only.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counts {
    pub(super) n_locations: u64,
    pub(super) n_definitions: u64,
}

pub(super) fn encode(options: &WriteOptions, counts: Counts) -> Result<RecordBuffer, EncodeError> {
    let mut anchor = RecordBuffer::new(options.endian);
    anchor.put_u8(special::CHUNK_HEADER);
    anchor.put_u8(options.endian.to_byte());
    anchor.put_text(b"OTF2")?;
    anchor.put_u8(ANCHOR_FORMAT);
    anchor.put_u8(TRACE_FORMAT);
    anchor.put_bytes(&LIBRARY_VERSION);
    anchor.put_u64_full(options.event_chunk_bytes);
    anchor.put_u64_full(options.definition_chunk_bytes);
    anchor.put_u8(SUBSTRATE_POSIX);
    anchor.put_u8(COMPRESSION_NONE);
    anchor.put_u64_full(counts.n_locations);
    anchor.put_u64_full(counts.n_definitions);
    anchor.put_text(options.machine.as_bytes())?;
    anchor.put_text(options.creator.as_bytes())?;
    anchor.put_text(options.description.as_bytes())?;
    let n = options.properties.len();
    let max = u32::MAX as usize;
    anchor.put_u32_full(u32::try_from(n).map_err(|_| EncodeError::ListTooLong { n, max })?);
    for (name, value) in &options.properties {
        anchor.put_text(name.as_bytes())?;
        anchor.put_text(value.as_bytes())?;
    }
    anchor.put_u64_full(options.trace_id);
    // Neither snapshots nor thumbnails.
    anchor.put_u32_full(0);
    anchor.put_u32_full(0);
    anchor.put_bytes(&[special::END_OF_FILE, special::END_OF_BUFFER, 0]);
    Ok(anchor)
}
