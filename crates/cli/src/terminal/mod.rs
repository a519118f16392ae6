//! Pages for people: numbers with units, aligned columns, colours where they are wanted.

pub mod axis;
pub mod grid;
pub mod page;
pub mod ranks;
pub mod spark;
pub mod style;
pub mod units;
