//! Every format that can be read, in the order of the table of formats.

use crate::reader::Reader;

/// Every reader.
pub static READERS: &[&Reader] = &[
    &crate::otf2::READER,
    &crate::hpctoolkit::READER,
    &crate::projections::READER,
    &crate::nsight::READER,
    &crate::rocpd::READER,
    &crate::chrome::READER,
    &crate::csv::READER,
    &crate::cube::READER,
];
