//! Languages, and how compilers tell them by a file's name.

use std::path::Path;

/// A language that can be instrumented.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// C.
    C,
    /// C++.
    Cpp,
    /// Fortran in free form.
    Fortran,
}

impl Language {
    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Language::C => "C",
            Language::Cpp => "C++",
            Language::Fortran => "Fortran",
        }
    }
}

/// What a file is by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceKind {
    /// It can be instrumented.
    Known(Language),
    /// Fortran in fixed form.
    FixedForm,
    /// No source that is compiled by itself: a header, an object, anything else.
    Other,
}

/// What a compiler takes a file for.
pub fn kind_of(path: &Path) -> SourceKind {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    match ending {
        "c" => SourceKind::Known(Language::C),
        "C" | "cc" | "cp" | "cpp" | "cxx" | "c++" | "CPP" => SourceKind::Known(Language::Cpp),
        "f90" | "F90" | "f95" | "F95" | "f03" | "F03" | "f08" | "F08" | "f18" | "F18" => {
            SourceKind::Known(Language::Fortran)
        }
        "f" | "F" | "for" | "FOR" | "fpp" | "FPP" | "ftn" | "FTN" | "f77" | "F77" => SourceKind::FixedForm,
        _ => SourceKind::Other,
    }
}
