//! CUBE profiles: bytes ↔ definitions and rows of severities.
//!
//! A `.cubex` is a tar of `anchor.xml` ([`Anchor`]) and, for each metric, an index (which
//! rows there are) and the rows, each one value for each location ([`MetricRows`]). The
//! older `.cube` is one XML file with the same definitions and rows as text. [`open`]
//! distinguishes them by content. [`Writer`] writes `.cubex`.
//!
//! Law: no input makes this crate panic or take more memory than a constant factor of what
//! it reads; every error names file and byte offset. There is no event model here, no sums
//! along trees, no threads.
#![forbid(unsafe_code)]
#![deny(missing_docs)]
// A number of a file becomes a length or an index: no cast cuts it unseen.
#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

mod anchor;
mod anchor_writer;
mod anchor_xml;
mod archive;
pub mod cubepl;
mod data_type;
mod error;
mod inflate;
mod metric_rows;
mod tags;
mod tar;
mod tree_order;
mod write;
mod xml;

pub use anchor::{
    Anchor, AnchorCart, AnchorCnode, AnchorDimension, AnchorGroup, AnchorLocation, AnchorMetric,
    AnchorParameter, AnchorRegion, AnchorSystemNode, MemberKind, SystemNodeKind, XmlRow,
};
pub use archive::{Cube, FromWord, Kind, XmlRows, open, recognise};
pub use data_type::{DataType, Part, Primitive};
pub use error::CubeError;
pub use metric_rows::MetricRows;
pub use tree_order::wide_order;
pub use write::Writer;

/// The examples of the README compile.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
