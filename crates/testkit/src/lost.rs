//! Archives that lose some of their global definitions.

use ouzel_otf2::read::RecordReader;
use ouzel_otf2::records::Definition;
use std::fs;
use std::io::{self, Error};
use std::path::Path;

/// Copies the archive `traces` of a folder without the global definitions for whose positions `lose` is true; returns
/// how many were dropped. Definitions must lie in one chunk.
///
/// # Errors
/// If files cannot be read or written, or the definitions are damaged.
pub fn without_definitions(
    from: &Path,
    to: &Path,
    lose: impl Fn(usize, &Definition<'_>) -> bool,
) -> io::Result<usize> {
    fs::create_dir_all(to.join("traces"))?;
    fs::copy(from.join("traces.otf2"), to.join("traces.otf2"))?;
    for entry in fs::read_dir(from.join("traces"))? {
        let entry = entry?;
        fs::copy(entry.path(), to.join("traces").join(entry.file_name()))?;
    }
    let bytes = fs::read(from.join("traces.def"))?;
    let mut reader = RecordReader::new(&bytes, "traces.def", None).map_err(Error::other)?;
    let mut kept = Vec::with_capacity(bytes.len());
    let (mut n_lost, mut position, mut copied) = (0, 0, 0);
    while let Some((record, definition)) = reader.next_as(Definition::decode).map_err(Error::other)? {
        let end = record.body_offset as usize + record.body.len();
        if definition.is_some_and(|definition| lose(position, &definition)) {
            kept.extend_from_slice(&bytes[copied..record.offset as usize]);
            copied = end;
            n_lost += 1;
        }
        position += 1;
    }
    kept.extend_from_slice(&bytes[copied..]);
    fs::write(to.join("traces.def"), kept)?;
    Ok(n_lost)
}
