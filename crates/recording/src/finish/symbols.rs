//! Names and lines of functions that are known by their addresses, from the files that the code is in.
//!
//! Law: a name is that of the function's own entry, a line that of its beginning. A file that is gone, stripped or
//! damaged gives no names; the function then is called by its file and offset.

use addr2line::{Loader, demangle_auto};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// A function's name, file and line; the file is empty and the line 0 where they are unknown.
pub(super) type Named = (String, String, u32);

/// The files met so far.
#[derive(Default)]
pub(super) struct Symbols(FxHashMap<String, Option<(Loader, u64)>>);

impl Symbols {
    /// The function at an offset from where a file is mapped.
    pub fn find(&mut self, module: &str, offset: u64) -> Option<Named> {
        let open = || {
            let base = first_address(Path::new(module))?;
            Some((Loader::new(module).ok()?, base))
        };
        let (loader, base) = self.0.entry(module.to_owned()).or_insert_with(open).as_ref()?;
        let address = base.checked_add(offset)?;
        let (file, line) = match loader.find_location(address) {
            Ok(Some(location)) => (location.file.unwrap_or_default().to_owned(), location.line.unwrap_or(0)),
            _ => (String::new(), 0),
        };
        let name =
            loader.find_symbol(address).map(|name| demangle_auto(Cow::Borrowed(name), None).into_owned());
        Some((name.or_else(|| inner_name(loader, address))?, file, line))
    }
}

/// The name that the debug information has.
fn inner_name(loader: &Loader, address: u64) -> Option<String> {
    let mut frames = loader.find_frames(address).ok()?;
    let frame = frames.next().ok()??;
    Some(frame.function?.demangle().ok()?.into_owned())
}

/// The address that the first mapped page of an ELF file of 64 bits is linked at: 0 but for programs with fixed addresses.
fn first_address(path: &Path) -> Option<u64> {
    /// A segment that is mapped.
    const LOAD: u32 = 1;
    const PAGE: u64 = 4096;
    let mut file = ouzel_files::input::open(path).ok()?;
    let mut header = [0; 64];
    file.read_exact(&mut header).ok()?;
    if header[..6] != *b"\x7fELF\x02\x01" {
        return None;
    }
    let short = |at: usize| u64::from(u16::from_le_bytes([header[at], header[at + 1]]));
    let mut offset = [0; 8];
    offset.copy_from_slice(&header[32..40]);
    let (offset, size, n) = (u64::from_le_bytes(offset), short(54), short(56));
    let mut first = None;
    for i in 0..n {
        let mut segment = [0; 24];
        file.seek(SeekFrom::Start(offset.checked_add(i * size)?)).ok()?;
        file.read_exact(&mut segment).ok()?;
        let (mut kind, mut address) = ([0; 4], [0; 8]);
        kind.copy_from_slice(&segment[..4]);
        address.copy_from_slice(&segment[16..24]);
        if u32::from_le_bytes(kind) == LOAD {
            let address = u64::from_le_bytes(address) / PAGE * PAGE;
            first = Some(first.unwrap_or(address).min(address));
        }
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_program_has_no_names() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let path = file.path().to_str().expect("a path");
        let mut symbols = Symbols::default();
        for bytes in [&b""[..], b"#!/bin/sh", b"\x7fELF\x02\x01 and nothing more"] {
            std::fs::write(path, bytes).expect("it can be written");
            assert_eq!(symbols.find(path, 4096), None);
            symbols.0.clear();
        }
        assert_eq!(symbols.find("/no/such/file", 4096), None);
    }
}
