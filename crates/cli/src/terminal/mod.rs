//! Pages for people: numbers with units, aligned columns, optional colours.

pub mod axis;
pub mod grid;
pub mod measured;
pub mod names;
pub mod page;
pub mod spark;
pub mod style;

pub use ouzel_plot::{ranks, units};
