//! Reader and writer of the Open Trace Format 2, in pure Rust.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod mapping;
pub mod records;
pub mod wire;

pub use mapping::MappingTables;
