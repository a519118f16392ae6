//! Names and lines of functions that are known by their addresses, from the files that the code is in.
//!
//! Law: a name is that of the function's own entry, a line that of its beginning. A file that is gone, stripped or
//! damaged gives no names; the function then is called by its file and offset.

use crate::elf;
use addr2line::{Loader, demangle_auto};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::path::Path;

/// A function's name, file and line; the file is empty and the line 0 where they are unknown.
pub(super) type Named = (String, String, u32);

/// A function on a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SymbolFrame {
    pub name: String,
    /// The file that the function is in; empty if unknown.
    pub file: String,
    /// The line that it begins at; 0 if unknown.
    pub line: u32,
    /// Where in it the program is.
    pub place: Option<(String, u32)>,
}

/// A file with its names.
struct NamedFile {
    loader: Loader,
    /// The address that its first mapped page is linked at.
    first: u64,
    build_id: Option<String>,
}

/// The files met so far.
#[derive(Default)]
pub(super) struct Symbols(FxHashMap<String, Option<NamedFile>>);

impl std::fmt::Debug for Symbols {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Symbols").field("n_files", &self.0.len()).finish()
    }
}

impl Symbols {
    fn open(&mut self, module: &str) -> Option<&NamedFile> {
        let open = || {
            let mut file = ouzel_files::input::open(Path::new(module)).ok()?;
            let segments = elf::segments(&mut file).ok()??;
            let (first, build_id) = (elf::first_address(&segments)?, elf::build_id(&mut file, &segments));
            Some(NamedFile { loader: Loader::new(module).ok()?, first, build_id })
        };
        self.0.entry(module.to_owned()).or_insert_with(open).as_ref()
    }

    /// Gives no names any more from a file that is another one than that with this build id; whether it is.
    pub fn forget_if_replaced(&mut self, module: &str, build_id: &str) -> bool {
        let is_replaced = self.open(module).is_some_and(|file| {
            !build_id.is_empty() && file.build_id.as_deref().is_some_and(|found| found != build_id)
        });
        if is_replaced {
            self.0.insert(module.to_owned(), None);
        }
        is_replaced
    }

    /// The function at an offset from where a file is mapped.
    pub fn find(&mut self, module: &str, offset: u64) -> Option<Named> {
        let file = self.open(module)?;
        file.at(file.first.checked_add(offset)?)
    }

    /// An offset from where a file is mapped, as the file counts addresses.
    pub fn address(&mut self, module: &str, offset: u64) -> Option<u64> {
        self.open(module)?.first.checked_add(offset)
    }

    /// The function, file and line that code at an address as the file counts it was written in, also if it was inlined;
    /// each is empty, or the line 0, if it is unknown.
    pub fn place(&mut self, module: &str, address: u64) -> Named {
        let innermost = self.frames(module, address).pop();
        let Some(SymbolFrame { name, place, .. }) = innermost else { return Named::default() };
        let (file, line) = place.unwrap_or_default();
        (name, file, line)
    }

    /// Where the function that has the code at an address begins.
    pub fn beginning(&mut self, module: &str, address: u64) -> Option<u64> {
        Some(self.open(module)?.loader.find_symbol_info(address)?.address())
    }

    /// The functions at an address as the file counts it, outermost first: more than one where calls are inlined. None
    /// without a name.
    pub fn frames(&mut self, module: &str, address: u64) -> Vec<SymbolFrame> {
        let Some(file) = self.open(module) else { return Vec::new() };
        let mut frames: Vec<SymbolFrame> = Vec::new();
        if let Ok(mut found) = file.loader.find_frames(address) {
            while let Ok(Some(frame)) = found.next() {
                let name = frame.function.as_ref().and_then(|name| Some(name.demangle().ok()?.into_owned()));
                let place = frame.location.and_then(|at| Some((at.file?.to_owned(), at.line?)));
                let file = place.as_ref().map(|(file, _)| file.clone()).unwrap_or_default();
                frames.push(SymbolFrame { name: name.unwrap_or_default(), file, line: 0, place });
            }
        }
        frames.reverse();
        // The outermost one is the function that has code of its own, which the symbols name.
        let own = file.loader.find_symbol_info(address).map(|symbol| symbol.address());
        if let Some((name, path, line)) = own.and_then(|own| file.at(own)) {
            match frames.first_mut() {
                Some(outermost) => (outermost.name, outermost.file, outermost.line) = (name, path, line),
                None => frames.push(SymbolFrame { name, file: path, line, place: None }),
            }
        }
        frames.retain(|frame| !frame.name.is_empty());
        frames
    }
}

impl NamedFile {
    fn at(&self, address: u64) -> Option<Named> {
        let (file, line) = match self.loader.find_location(address) {
            Ok(Some(location)) => (location.file.unwrap_or_default().to_owned(), location.line.unwrap_or(0)),
            _ => (String::new(), 0),
        };
        let name = self.loader.find_symbol(address);
        let name = name.map(|name| demangle_auto(Cow::Borrowed(of_source(name)), None).into_owned());
        Some((name.or_else(|| inner_name(&self.loader, address))?, file, line))
    }
}

/// The name that a function has in its source: compilers mark parts and copies of it.
fn of_source(name: &str) -> &str {
    let marks = [".constprop.", ".isra.", ".part.", ".cold", ".lto_priv."];
    let first = marks.iter().filter_map(|mark| name.find(mark)).min();
    &name[..first.unwrap_or(name.len())]
}

/// The name that the debug information has.
fn inner_name(loader: &Loader, address: u64) -> Option<String> {
    let mut frames = loader.find_frames(address).ok()?;
    let frame = frames.next().ok()??;
    Some(frame.function?.demangle().ok()?.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_of_a_function_have_its_name() {
        for (name, expected) in [
            ("heavy.constprop.0", "heavy"),
            ("a.part.3.isra.0.cold", "a"),
            ("__module_MOD_solve", "__module_MOD_solve"),
            ("L.partial", "L.partial"),
        ] {
            assert_eq!(of_source(name), expected);
        }
    }

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
