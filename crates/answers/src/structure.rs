//! `ouzel structure`.

use ouzel_structure::{FunctionStructure, Scope, Structure};
use serde::Serialize;
use std::path::Path;
use std::sync::Arc;

/// What the code of binaries looks like.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StructureAnswer {
    /// The binaries, in the order in which they were named.
    pub binaries: Vec<StructureBinary>,
    /// Functions by ascending address, each with what is in it: outer scopes before inner ones, each level by line and
    /// address.
    pub rows: Vec<StructureRow>,
}

/// A binary.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StructureBinary {
    /// Its path.
    pub path: String,
    /// Its build id in hexadecimal digits; `null` if it has none.
    pub build_id: Option<String>,
    /// Number of functions.
    pub functions: u64,
    /// Number of loops, those of inlined functions at each place where they are.
    pub loops: u64,
    /// Code in functions.
    pub code_bytes: u64,
    /// Jumps by tables that were not found.
    pub unresolved_jumps: u64,
}

/// A function, or a loop, an inlined function or a call in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StructureRow {
    /// The place of its binary in `binaries`, from 0.
    pub binary: u64,
    /// `function`, `loop`, `inlined` or `call`.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["function", "loop", "inlined", "call"])))]
    pub kind: &'static str,
    /// The function; of loops and calls, the one that they are in in the source. Its address in brackets if the binary
    /// does not name it.
    pub function: Arc<str>,
    /// What a call leads to; `null` for other kinds, and if a register or memory says so.
    pub target: Option<Arc<str>>,
    /// The source file; `null` without debug information.
    pub file: Option<Arc<str>>,
    /// The line that a function begins at, of a loop's `for`, `while` or `do`, or of the call that is made or was
    /// inlined; `null` without debug information.
    pub line: Option<u32>,
    /// Scopes around it; 0 for functions.
    pub depth: u32,
    /// Where it begins in the binary: of a loop, the first instruction of an iteration.
    pub address: u64,
    /// Its instructions, with those of what is inside.
    pub size_bytes: u64,
    /// Whether it is a loop that is entered at several places.
    pub irreducible: bool,
}

/// How many binaries could be read.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StructureCoverage {
    /// Binaries that were read.
    pub binaries: u64,
    /// Binaries that were named.
    pub binaries_asked: u64,
}

fn known(text: &Arc<str>) -> Option<Arc<str>> {
    Some(text.clone()).filter(|text| !text.is_empty())
}

impl StructureAnswer {
    /// Adds a binary.
    pub fn add(&mut self, path: &Path, structure: &Structure) {
        let binary = self.binaries.len() as u64;
        let n_before = self.rows.len();
        for function in &structure.functions {
            self.rows.push(StructureRow::of_function(binary, function));
            self.rows.extend(function.scopes.iter().map(|scope| StructureRow::of_scope(binary, scope)));
        }
        self.binaries.push(StructureBinary {
            path: path.display().to_string(),
            build_id: structure.build_id.clone(),
            functions: structure.functions.len() as u64,
            loops: self.rows[n_before..].iter().filter(|row| row.kind == "loop").count() as u64,
            code_bytes: structure.n_code_bytes,
            unresolved_jumps: structure.functions.iter().map(|function| function.n_unresolved).sum(),
        });
    }
}

impl StructureRow {
    fn of_function(binary: u64, function: &FunctionStructure) -> Self {
        StructureRow {
            binary,
            kind: "function",
            function: function.name.clone(),
            target: None,
            file: known(&function.file),
            line: Some(function.line).filter(|&line| 0 < line),
            depth: 0,
            address: function.address,
            size_bytes: function.n_bytes,
            irreducible: false,
        }
    }

    fn of_scope(binary: u64, scope: &Scope) -> Self {
        StructureRow {
            binary,
            kind: scope.kind.as_str(),
            function: scope.function.clone(),
            target: known(&scope.target),
            file: known(&scope.file),
            line: Some(scope.line).filter(|&line| 0 < line),
            depth: scope.depth,
            address: scope.address,
            size_bytes: scope.n_bytes,
            irreducible: scope.is_irreducible,
        }
    }
}
