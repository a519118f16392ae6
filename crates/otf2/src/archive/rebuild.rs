//! What an anchor would say, from the other files, for archives that lack it.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use super::find::Files;
use crate::anchor::Anchor;
use crate::read::parse_chunk_header;
use crate::records::special::CHUNK_HEADER_BYTES;
use crate::wire::Endian;

/// Powers of two that are tried as chunk sizes, from 256 B to 1 GiB; libraries use 256 KiB to 16 MiB.
const CHUNK_SIZES: std::ops::RangeInclusive<u32> = 8..=30;

/// Rebuilds an anchor; chunk sizes that no file gives stay 0.
pub(super) fn rebuild_anchor(files: &Files, locations: &[u64]) -> Anchor {
    let event_files: Vec<_> = locations.iter().map(|&id| files.of_location(id, "evt")).collect();
    let first = event_files.iter().find_map(|path| header_at(path, 0));
    let first = first.or_else(|| header_at(&files.definitions(), 0));
    let endian = first.map_or(Endian::Little, |(endian, _, _)| endian);
    Anchor {
        endian,
        anchor_format: 3,
        trace_format: 2,
        library_version: [0; 3],
        event_chunk_bytes: event_files.iter().find_map(|path| event_chunk_bytes(path)).unwrap_or(0),
        definition_chunk_bytes: 0,
        n_locations: locations.len() as u64,
        n_global_definitions: 0,
        machine_name: String::new(),
        creator: String::new(),
        description: String::new(),
        properties: Vec::new(),
        trace_id: 0,
        n_snapshots: 0,
        n_thumbnails: 0,
    }
}

/// The smallest power of two at which a chunk begins whose events follow those of the first.
fn event_chunk_bytes(path: &Path) -> Option<u64> {
    let (endian, _, last) = header_at(path, 0)?;
    CHUNK_SIZES.map(|bits| 1 << bits).find(|&size| {
        header_at(path, size)
            .is_some_and(|(order, first, _)| order == endian && Some(first) == last.checked_add(1))
    })
}

fn header_at(path: &Path, offset: u64) -> Option<(Endian, u64, u64)> {
    let mut file = ouzel_files::input::open(path).ok()?;
    file.seek(SeekFrom::Start(offset)).ok()?;
    let mut bytes = [0; CHUNK_HEADER_BYTES];
    file.read_exact(&mut bytes).ok()?;
    let header = parse_chunk_header(&bytes).ok()?;
    Some((header.endian, header.first_event, header.last_event))
}
