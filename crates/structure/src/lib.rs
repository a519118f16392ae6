//! Functions, loops, inlined code and calls of a binary, with their files and lines.
//!
//! ```text
//! ELF ─image─► symbols, unwind entries ─functions─► ranges ─flow─► blocks, jump tables ─loops─► nests of loops
//!                                                                          └──── DWARF ─tree─► scopes with lines
//! ```
//! Law: the result depends on the bytes of the file (and of its debug files) alone; nothing panics on a damaged file,
//! which gives notices and what is still there; memory is bounded by a constant factor of the file's size.
//! Of machines, x86-64 is read; others are refused by name. What is not followed: catch blocks of exceptions are not
//! part of the loops that they return to, and two loops of the source that share their first block are one.

#![forbid(unsafe_code)]
#![deny(missing_docs)]
#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

mod binary;
mod cache;
mod flow;
mod functions;
mod image;
mod jump_tables;
mod lines;
mod loops;
mod names;
mod order;
mod tail_calls;
mod tree;

pub use binary::{Binary, Explorer, ScopeAt, Structure};
pub use cache::{Kept, structure_of};
pub use order::{Flow, Vertex};
pub use tree::{FunctionStructure, Scope, ScopeId, ScopeKind};

/// Why a file has no structure.
#[derive(Debug, thiserror::Error)]
pub enum StructureError {
    /// It cannot be read.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// It is something else.
    #[error("no ELF file: the structure of programs and shared libraries of Linux can be read")]
    NotElf,
    /// It is for a machine whose instructions are not known.
    #[error("a binary for {0}; only binaries for x86-64 can be read")]
    Machine(String),
    /// Nothing of it can be used.
    #[error("damaged: {0}")]
    Damaged(String),
}
