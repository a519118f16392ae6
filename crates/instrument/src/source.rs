//! One source file as users name it: read, filtered, instrumented.

use crate::distortion::FrequentRegions;
use crate::filter::SourceFilter;
use crate::language::Language;
use crate::{Choices, Instrumented, Refusal, RegionKind, SOURCE_BYTES_MAX, instrument};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

/// What is wanted of all sources.
#[derive(Debug, Clone)]
pub struct SourceOptions {
    /// Whether outermost loops are regions.
    pub loops: bool,
    /// The user's filter.
    pub filter: SourceFilter,
    /// What a recorded run says.
    pub frequent: FrequentRegions,
}

/// Why a file is not instrumented.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// It cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It cannot be instrumented for certain.
    #[error("{}{}: {refusal}", path.display(), refusal.line().map_or_else(String::new, |line| format!(":{line}")))]
    Refused {
        /// The file.
        path: PathBuf,
        /// Why.
        refusal: Refusal,
    },
}

impl SourceOptions {
    /// Whether this file is to be instrumented at all.
    pub fn includes(&self, path: &Path) -> bool {
        self.filter.includes_file(path)
    }

    /// Reads and instruments a file. Compilers are told its path as it is given here.
    ///
    /// # Errors
    /// If it cannot be read, or not be instrumented for certain.
    pub fn instrument(&self, path: &Path, language: Language) -> Result<Instrumented, SourceError> {
        let text = read(path).map_err(|source| SourceError::Read { path: path.to_owned(), source })?;
        let recorded_path = absolute(path);
        let file = recorded_path.to_string_lossy();
        let obstacle = |name: &str, kind: RegionKind| match () {
            () if !self.filter.includes_region(name, kind) => Some("left out by the filter"),
            () if self.frequent.contains(name, &file) => Some("called too often in the recorded run"),
            () => None,
        };
        let choices = Choices {
            path,
            recorded_path: &recorded_path,
            loops: self.loops,
            obstacle: &obstacle,
            tag: tag(&file, &text),
        };
        instrument(&text, language, &choices)
            .map_err(|refusal| SourceError::Refused { path: path.to_owned(), refusal })
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    // A little more shows that it is too large.
    let mut text = Vec::new();
    ouzel_files::input::open(path)?.take(SOURCE_BYTES_MAX as u64 + 1).read_to_end(&mut text)?;
    Ok(text)
}

/// An absolute path without `.` and `..`, links unresolved.
fn absolute(path: &Path) -> PathBuf {
    let full = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut clean = PathBuf::new();
    for part in full.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(clean.pop()),
            part => clean.push(part),
        }
    }
    clean
}

/// A number for the file and its contents: FNV-1a of 64 bits.
fn tag(path: &str, text: &[u8]) -> u64 {
    let fold = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    path.as_bytes().iter().chain(text).fold(0xcbf2_9ce4_8422_2325, fold)
}
