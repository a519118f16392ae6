//! Where the members of a tar archive lie.
//!
//! Reads headers alone: ustar, old tar and GNU's sizes in base 256. Header checksums are
//! not checked, for CUBE 4.8 writes wrong ones. Long names of GNU and pax headers are
//! skipped with what they hold: CUBE's own names are short.

use crate::CubeError;
use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;

/// Size of a header, and what members are padded to.
pub(crate) const BLOCK: usize = 512;
pub(crate) const BLOCK_BYTES: u64 = BLOCK as u64;

/// A member: where its bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TarMember {
    pub offset: u64,
    pub n_bytes: u64,
}

/// The members by name, without a leading `./`; of two with one name the last. A member that reaches over the end of
/// the file is cut there; the second value then says so.
///
/// # Errors
/// If the file cannot be read.
pub(crate) fn members(
    input: &mut (impl Read + Seek),
    file: &Arc<str>,
) -> Result<(BTreeMap<String, TarMember>, Option<CubeError>), CubeError> {
    let mut members = BTreeMap::new();
    let result = scan(input, &mut |name, member| {
        members.insert(name, member);
        true
    });
    match result {
        Ok(damage) => {
            let damage = damage.map(|(offset, reason)| CubeError::new(file, offset, reason));
            Ok((members, damage))
        }
        Err((offset, error)) => Err(CubeError::io(file, offset, &error)),
    }
}

/// Whether the archive holds a member with such a name, as far as the input goes.
pub(crate) fn holds(input: &mut (impl Read + Seek), is_one: impl Fn(&str) -> bool) -> bool {
    let mut found = false;
    let result = scan(input, &mut |member, _| {
        found |= is_one(&member);
        !found
    });
    result.is_ok() && found
}

/// Calls `tell` for every member until it returns `false`; returns where and how the archive is damaged.
fn scan(
    input: &mut (impl Read + Seek),
    tell: &mut dyn FnMut(String, TarMember) -> bool,
) -> Result<Option<(u64, &'static str)>, (u64, std::io::Error)> {
    let at = |offset: u64| move |error: std::io::Error| (offset, error);
    let end = input.seek(SeekFrom::End(0)).map_err(at(0))?;
    let mut offset = 0;
    let mut header = [0_u8; BLOCK];
    while offset + BLOCK_BYTES <= end {
        input.seek(SeekFrom::Start(offset)).map_err(at(offset))?;
        input.read_exact(&mut header).map_err(at(offset))?;
        if header.iter().all(|&byte| byte == 0) {
            return Ok(None);
        }
        let Some(n_bytes) = number(&header[124..136]) else {
            return Ok(Some((offset, "a tar header has no size")));
        };
        let start = offset + BLOCK_BYTES;
        let member = TarMember { offset: start, n_bytes: n_bytes.min(end - start) };
        let is_file = matches!(header[156], b'0' | 0 | b'7');
        if is_file && !tell(name(&header), member) {
            return Ok(None);
        }
        if n_bytes > end - start {
            return Ok(Some((offset, "a member extends past the end of the archive")));
        }
        offset = start + n_bytes.div_ceil(BLOCK_BYTES) * BLOCK_BYTES;
    }
    // Members after the cut are not known to be missing, so the cut must be reported.
    Ok(Some((offset.min(end), "the archive ends without its end marker")))
}

/// The name of a member, with the prefix of ustar.
fn name(header: &[u8; BLOCK]) -> String {
    let field = |range: std::ops::Range<usize>| {
        let bytes = &header[range];
        let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    };
    let mut name = field(0..100);
    if &header[257..262] == b"ustar" && &header[257..265] != b"ustar  \0" {
        let prefix = field(345..500);
        if !prefix.is_empty() {
            name = format!("{prefix}/{name}");
        }
    }
    name.strip_prefix("./").map_or(name.clone(), str::to_owned)
}

/// A number of a header: octal text, or base 256 after a first bit that is set.
fn number(field: &[u8]) -> Option<u64> {
    if field[0] & 0x80 != 0 {
        let (high, low) = field.split_at(field.len() - 8);
        let high_is_zero = high[0] & 0x7f == 0 && high[1..].iter().all(|&byte| byte == 0);
        return high_is_zero.then(|| low.iter().fold(0, |n, &byte| n << 8 | u64::from(byte)));
    }
    let text = std::str::from_utf8(field).ok()?.trim_matches([' ', '\0']);
    if text.is_empty() { Some(0) } else { u64::from_str_radix(text, 8).ok() }
}

/// A header of ustar for a plain file, with its checksum.
pub(crate) fn header(name: &str, n_bytes: u64) -> [u8; BLOCK] {
    let mut header = [0_u8; BLOCK];
    let name = &name.as_bytes()[..name.len().min(99)];
    header[..name.len()].copy_from_slice(name);
    header[100..108].copy_from_slice(b"0000644\0");
    header[108..116].copy_from_slice(b"0000000\0");
    header[116..124].copy_from_slice(b"0000000\0");
    if n_bytes < 1 << 33 {
        header[124..136].copy_from_slice(format!("{n_bytes:011o}\0").as_bytes());
    } else {
        header[124] = 0x80;
        header[128..136].copy_from_slice(&n_bytes.to_be_bytes());
    }
    header[136..148].copy_from_slice(b"00000000000\0");
    header[148..156].copy_from_slice(b"        ");
    header[156] = b'0';
    header[257..265].copy_from_slice(b"ustar\x0000");
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (name, contents) in files {
            bytes.extend_from_slice(&header(name, contents.len() as u64));
            bytes.extend_from_slice(contents);
            bytes.resize(bytes.len().next_multiple_of(512), 0);
        }
        bytes.extend_from_slice(&[0; 1024]);
        bytes
    }

    #[test]
    fn members_are_found_whatever_the_checksum_says() {
        let mut bytes = archive(&[("./anchor.xml", b"<cube/>"), ("0.data", &[1; 600])]);
        bytes[148..156].copy_from_slice(b"777777\0 ");
        let (members, damage) = members(&mut Cursor::new(bytes), &Arc::from("x")).unwrap();
        assert_eq!(members["anchor.xml"], TarMember { offset: 512, n_bytes: 7 });
        assert_eq!(members["0.data"], TarMember { offset: 1536, n_bytes: 600 });
        assert_eq!(damage, None);
    }

    #[test]
    fn every_truncation_is_told_with_what_was_there() {
        let bytes = archive(&[("a", b"x"), ("b", &[1; 600])]);
        for n in 0..bytes.len() - 512 {
            let (members, damage) = members(&mut Cursor::new(&bytes[..n]), &Arc::from("x")).unwrap();
            assert!(damage.is_some_and(|damage| damage.offset <= n as u64), "at {n}: {members:?}");
        }
    }

    #[test]
    fn sizes_in_base_256_are_read() {
        let header = header("big", 1 << 40);
        assert_eq!(number(&header[124..136]), Some(1 << 40));
        assert_eq!(number(&[0xff; 12]), None);
        assert_eq!(number(b"00000000017\0"), Some(15));
        assert_eq!(number(b"0000000001x\0"), None);
    }
}
