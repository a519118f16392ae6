//! Pages for people: numbers with units, aligned columns, colours where they are wanted.

pub mod grid;
pub mod style;
pub mod units;
