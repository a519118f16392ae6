//! Inserts enter and leave of functions and outermost loops into sources in C, C++ and free-form Fortran.
//!
//! ```text
//! text ──tree-sitter──► tree ──c, fortran──► insertions ──► text with hooks, that says where each line was
//! ```
//! Law: the output is the input and what is inserted, nothing is changed or taken away; where the parser is unsure,
//! a file is refused. Not here: preprocessing, fixed-form Fortran, headers.

mod c;
pub mod compile;
pub mod distortion;
pub mod filter;
mod fortran;
mod insertions;
pub mod language;
mod parse;
pub mod source;

use language::Language;
use std::path::Path;

/// A source file larger than this is refused: it is generated, and its tree would take a gigabyte.
pub const SOURCE_BYTES_MAX: usize = 16 << 20;

/// What a region is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegionKind {
    /// A function, subroutine or main program.
    Function,
    /// An outermost loop.
    Loop,
}

/// A region that is entered and left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstrumentedRegion {
    /// As the recording names it.
    pub name: String,
    /// What it is.
    pub kind: RegionKind,
    /// The line of the source, from 1.
    pub line: u32,
}

/// A region that is left as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedRegion {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: RegionKind,
    /// The line of the source, from 1.
    pub line: u32,
    /// Why.
    pub reason: &'static str,
}

/// A source with hooks.
#[derive(Debug, Clone, Default)]
pub struct Instrumented {
    /// What to compile.
    pub text: Vec<u8>,
    /// In the order of the source.
    pub regions: Vec<InstrumentedRegion>,
    /// In the order of the source.
    pub skipped: Vec<SkippedRegion>,
    /// The module of Fortran that the hooks are in.
    pub module: Option<String>,
}

/// Why a file is not instrumented.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The parser has met what it does not know.
    #[error("cannot be parsed for certain")]
    Syntax {
        /// From 1.
        line: u32,
    },
    /// A form of Fortran in which columns matter.
    #[error("fixed form")]
    FixedForm,
    /// Functions for accelerators, which cannot call the recorder.
    #[error("declares code for accelerators")]
    Device {
        /// From 1.
        line: u32,
    },
    /// Too large.
    #[error("more than {} MB", SOURCE_BYTES_MAX >> 20)]
    TooLarge,
    /// Parsing takes too long or nests too deeply.
    #[error("too complex to parse")]
    TooComplex,
}

impl Refusal {
    /// The line that is the reason, from 1.
    pub fn line(&self) -> Option<u32> {
        match self {
            Refusal::Syntax { line } | Refusal::Device { line } => Some(*line),
            Refusal::FixedForm | Refusal::TooLarge | Refusal::TooComplex => None,
        }
    }
}

/// What is wanted of a source.
#[derive(Clone, Copy)]
pub struct Choices<'a> {
    /// The source's path as compilers shall name it.
    pub path: &'a Path,
    /// The path as the recording shall name it.
    pub recorded_path: &'a Path,
    /// Whether outermost loops are regions.
    pub loops: bool,
    /// Why functions and loops of this name are no regions.
    pub obstacle: &'a dyn Fn(&str, RegionKind) -> Option<&'static str>,
    /// Makes names in the output unique, where several files are compiled as one.
    pub tag: u64,
}

impl Choices<'_> {
    fn obstacle(&self, name: &str, kind: RegionKind) -> Option<&'static str> {
        (self.obstacle)(name, kind)
    }
}

/// As other tools name loops.
fn loop_name(path: &Path, line: u32) -> String {
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    format!("loop at {file}:{line}")
}

impl std::fmt::Debug for Choices<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Choices")
            .field("path", &self.path)
            .field("loops", &self.loops)
            .finish_non_exhaustive()
    }
}

/// Inserts enter and leave.
///
/// # Errors
/// If the file is none that can be instrumented for certain.
pub fn instrument(text: &[u8], language: Language, choices: &Choices<'_>) -> Result<Instrumented, Refusal> {
    if SOURCE_BYTES_MAX < text.len() {
        return Err(Refusal::TooLarge);
    }
    let tree = parse::parse(text, language)?;
    Ok(match language {
        Language::C | Language::Cpp => c::instrument(text, &tree, language, choices),
        Language::Fortran => fortran::instrument(text, &tree, choices),
    })
}
