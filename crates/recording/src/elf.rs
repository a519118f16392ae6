//! What an ELF file of 64 bits says of how it is loaded: its segments, and the build id among its notes.
//!
//! Law: what a file says is checked against its length; a file of another kind has no segments.

use std::io::{self, Read, Seek, SeekFrom};

/// A segment that is mapped.
pub const LOAD: u32 = 1;
/// The segment that names the loader.
pub const INTERPRETER: u32 = 3;
/// A segment of notes.
pub const NOTE: u32 = 4;

const HEADER_BYTES: usize = 64;
const SEGMENT_BYTES: usize = 40;
/// More than the notes of any program take.
const NOTES_BYTES_MAX: u64 = 1 << 20;

/// A part of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// What it is for.
    pub kind: u32,
    /// Where it is in the file.
    pub offset: u64,
    /// The address that it is linked at.
    pub address: u64,
    /// Its bytes in the file.
    pub n_bytes: u64,
}

/// The segments of a file; none if it is something else, such as a script.
///
/// # Errors
/// If it cannot be read.
pub fn segments(file: &mut (impl Read + Seek)) -> io::Result<Option<Vec<Segment>>> {
    let mut header = [0; HEADER_BYTES];
    if file.read_exact(&mut header).is_err() || header[..6] != *b"\x7fELF\x02\x01" {
        return Ok(None);
    }
    let short = |at: usize| u64::from(u16::from_le_bytes([header[at], header[at + 1]]));
    let (offset, size, n) = (long(&header, 32), short(54), short(56));
    let mut all = Vec::new();
    for i in 0..n {
        let mut segment = [0; SEGMENT_BYTES];
        file.seek(SeekFrom::Start(offset.saturating_add(i * size)))?;
        file.read_exact(&mut segment)?;
        let kind = u32::from_le_bytes([segment[0], segment[1], segment[2], segment[3]]);
        let (offset, address, n_bytes) = (long(&segment, 8), long(&segment, 16), long(&segment, 32));
        all.push(Segment { kind, offset, address, n_bytes });
    }
    Ok(Some(all))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    let number = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>());
    number.map_or(0, |number| u64::from_le_bytes(*number))
}

/// The address that the first mapped page is linked at: 0 but for programs with fixed addresses.
pub fn first_address(segments: &[Segment]) -> Option<u64> {
    const PAGE: u64 = 4096;
    let mapped = segments.iter().filter(|segment| segment.kind == LOAD);
    mapped.map(|segment| segment.address / PAGE * PAGE).min()
}

/// The build id of a file; none if it has none.
pub fn build_id(file: &mut (impl Read + Seek), segments: &[Segment]) -> Option<String> {
    segments.iter().filter(|segment| segment.kind == NOTE).find_map(|segment| {
        file.seek(SeekFrom::Start(segment.offset)).ok()?;
        let mut notes = Vec::new();
        file.take(segment.n_bytes.min(NOTES_BYTES_MAX)).read_to_end(&mut notes).ok()?;
        build_id_of_notes(&notes)
    })
}

/// The build id among notes, in hexadecimal digits.
pub fn build_id_of_notes(mut notes: &[u8]) -> Option<String> {
    const BUILD_ID: u32 = 3;
    let padded = |n: u32| (n as usize).next_multiple_of(4);
    while let Some((head, rest)) = notes.split_first_chunk::<12>() {
        let number = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (n_name, n_id, kind) = (number(0), number(4), number(8));
        let name = rest.get(..n_name as usize)?;
        let id = rest.get(padded(n_name)..)?.get(..n_id as usize)?;
        if kind == BUILD_ID && name == b"GNU\0" {
            return Some(id.iter().map(|byte| format!("{byte:02x}")).collect());
        }
        notes = rest.get(padded(n_name).checked_add(padded(n_id))?..)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn note(kind: u32, name: &[u8], id: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for number in [name.len() as u32, id.len() as u32, kind] {
            bytes.extend(number.to_le_bytes());
        }
        for part in [name, id] {
            bytes.extend(part);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        bytes
    }

    /// A program at 0x401234 with a build id.
    fn file() -> Vec<u8> {
        let mut bytes = vec![0; HEADER_BYTES + 2 * 56];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (bytes[32], bytes[54], bytes[56]) = (64, 56, 2);
        bytes[64] = LOAD as u8;
        bytes[80..84].copy_from_slice(&0x40_1234u32.to_le_bytes());
        let notes = [note(1, b"GNU\0", &[7; 5]), note(3, b"GNU\0", &[0xab, 1, 2, 3])].concat();
        bytes[120] = NOTE as u8;
        (bytes[128], bytes[152]) = (176, notes.len() as u8);
        [bytes, notes].concat()
    }

    #[test]
    fn segments_and_build_ids_are_read() {
        let mut file = Cursor::new(file());
        let found = segments(&mut file).expect("it is complete").expect("an ELF file");
        assert_eq!(first_address(&found), Some(0x40_1000));
        assert_eq!(build_id(&mut file, &found).as_deref(), Some("ab010203"));
        assert_eq!(segments(&mut Cursor::new(b"#!/bin/sh\n")).expect("it can be read"), None);
    }

    #[test]
    fn files_that_end_early_say_nothing_wrong() {
        let whole = file();
        for end in 0..whole.len() {
            let mut file = Cursor::new(&whole[..end]);
            if let Ok(Some(found)) = segments(&mut file) {
                assert_eq!(found.len(), 2, "{end}");
                assert_eq!(build_id(&mut file, &found), None, "{end}");
            }
        }
        assert_eq!(build_id_of_notes(&[0xff; 40]), None);
    }
}
