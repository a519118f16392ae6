//! Lines and inlined functions of addresses, from debug information.
//!
//! Law: an address without debug information has no place and no inlined functions. Names and files are kept once.

use addr2line::Loader;
use addr2line::gimli::ReaderOffset;
use rustc_hash::FxHashMap;
use std::path::Path;
use std::sync::Arc;

/// A file and a line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place {
    pub file: Arc<str>,
    pub line: u32,
}

/// A function whose code is in that of another one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Inlined {
    /// Which instance of it.
    pub instance: u64,
    pub name: Arc<str>,
    /// Where it is called.
    pub call: Option<Place>,
}

/// What is at an address.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Spot {
    /// The inlined functions, outermost first.
    pub inlined: Vec<Inlined>,
    /// The place in the innermost one.
    pub place: Option<Place>,
}

impl Spot {
    /// The place in the function that is `depth` levels inlined.
    pub fn place_at(&self, depth: usize) -> Option<&Place> {
        match self.inlined.get(depth) {
            Some(inner) => inner.call.as_ref(),
            None => self.place.as_ref(),
        }
    }
}

/// The debug information of a file, for one thread.
pub(crate) struct Lines {
    loader: Option<Loader>,
    texts: FxHashMap<String, Arc<str>>,
}

impl std::fmt::Debug for Lines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lines").field("is_there", &self.loader.is_some()).finish()
    }
}

impl Lines {
    /// That of a file; why there is none.
    pub fn new(path: &Path) -> (Lines, Option<String>) {
        let (loader, error) = match Loader::new(path) {
            Ok(loader) => (Some(loader), None),
            Err(error) => (None, Some(error.to_string())),
        };
        (Lines { loader, texts: FxHashMap::default() }, error)
    }

    /// The place of an address alone.
    pub fn place(&mut self, address: u64) -> Option<Place> {
        let location = self.loader.as_ref()?.find_location(address).ok()??;
        let (file, line) = (location.file?.to_owned(), location.line.filter(|&line| 0 < line)?);
        Some(Place { file: text(&mut self.texts, &file), line })
    }

    /// What is at an address.
    pub fn spot(&mut self, address: u64) -> Spot {
        let mut spot = Spot::default();
        let Some(loader) = &self.loader else { return spot };
        let Ok(mut frames) = loader.find_frames(address) else { return spot };
        // From the innermost one outwards: the place in each is where the one before it is called.
        let mut inner: Option<Inlined> = None;
        let mut is_first = true;
        while let Ok(Some(frame)) = frames.next() {
            let place = frame.location.and_then(|location| {
                let (file, line) = (location.file?, location.line.filter(|&line| 0 < line)?);
                Some(Place { file: text(&mut self.texts, file), line })
            });
            if let Some(mut inlined) = inner.take() {
                inlined.call = place.clone();
                spot.inlined.push(inlined);
            }
            if std::mem::take(&mut is_first) {
                spot.place = place;
            }
            let name = frame.function.and_then(|name| Some(name.demangle().ok()?.into_owned()));
            let instance = frame.dw_die_offset.map_or(0, |offset| offset.0.into_u64());
            let name = text(&mut self.texts, &name.unwrap_or_default());
            inner = Some(Inlined { instance, name, call: None });
        }
        spot.inlined.reverse();
        spot
    }

    /// The text, kept once.
    pub fn text(&mut self, value: &str) -> Arc<str> {
        text(&mut self.texts, value)
    }
}

fn text(texts: &mut FxHashMap<String, Arc<str>>, value: &str) -> Arc<str> {
    if let Some(found) = texts.get(value) {
        return found.clone();
    }
    let kept: Arc<str> = Arc::from(value);
    texts.insert(value.to_owned(), kept.clone());
    kept
}
