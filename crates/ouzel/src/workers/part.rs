//! Partials in transit: which part of the whole they are, and how many locations they cover.
//!
//! ```text
//! build, checksum of the rest, header (part, coverage), encoded partial
//! build, checksum of the rest, encoded job
//! ```
//!
//! Law: damage in transit is detected before any of the content is used.
//!
//! A bucket does not name its locations, as the engine's partials do; a count and a sum of hashes tell whether a
//! piece is missing or came twice.

use super::{BUILD, JobError};
use ouzel_model::LocationId;
use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_128;

/// Which part of a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum PartialKind {
    /// What does not pair locations.
    Rest,
    /// One of the buckets.
    Bucket(u32),
}

/// Which locations are covered. Can be added up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PartCoverage {
    pub n_locations: u64,
    /// Sum of a hash of each.
    sum: u64,
}

impl PartCoverage {
    pub fn of<'l>(locations: impl IntoIterator<Item = &'l LocationId>) -> Self {
        let one = |location: &LocationId| {
            let mut hash = u64::from(location.0).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            hash ^= hash >> 31;
            PartCoverage { n_locations: 1, sum: hash.wrapping_mul(0xBF58_476D_1CE4_E5B9) }
        };
        let mut all = PartCoverage::default();
        locations.into_iter().for_each(|location| all.add(one(location)));
        all
    }

    pub fn add(&mut self, other: PartCoverage) {
        self.n_locations += other.n_locations;
        self.sum = self.sum.wrapping_add(other.sum);
    }
}

/// The header of an encoded partial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PartialHeader {
    pub part: PartialKind,
    pub of: PartCoverage,
}

impl PartialHeader {
    pub fn before(&self, mut partial: Vec<u8>) -> Result<Vec<u8>, JobError> {
        sealed(|bytes| {
            let mut bytes = postcard::to_extend(self, bytes)?;
            bytes.append(&mut partial);
            Ok(bytes)
        })
    }

    /// The header, and the encoded partial after it.
    pub fn read(bytes: &[u8]) -> Result<(PartialHeader, &[u8]), JobError> {
        Ok(postcard::take_from_bytes(unsealed(bytes, "partial")?)?)
    }
}

const CHECKSUM_BYTES: usize = size_of::<u128>();

/// The bytes that `append` adds, after the build and a checksum.
pub(super) fn sealed(
    append: impl FnOnce(Vec<u8>) -> Result<Vec<u8>, postcard::Error>,
) -> Result<Vec<u8>, JobError> {
    let mut bytes = postcard::to_stdvec(BUILD)?;
    let at = bytes.len();
    bytes.resize(at + CHECKSUM_BYTES, 0);
    let mut bytes = append(bytes)?;
    let checksum = XxHash3_128::oneshot(&bytes[at + CHECKSUM_BYTES..]);
    bytes[at..at + CHECKSUM_BYTES].copy_from_slice(&checksum.to_le_bytes());
    Ok(bytes)
}

/// The bytes after the build and the checksum of a `what`.
pub(super) fn unsealed<'b>(bytes: &'b [u8], what: &'static str) -> Result<&'b [u8], JobError> {
    let damaged = || JobError::Damaged { what, n_bytes: bytes.len() };
    let (found, rest) = postcard::take_from_bytes::<&str>(bytes).map_err(|_| damaged())?;
    if found != BUILD {
        // If this is not a build id at all, all that can be reported is damage.
        let is_build = found.len() <= 80 && found.chars().all(|c| c.is_ascii_graphic());
        return Err(if is_build { JobError::ForeignBuild { found: found.to_owned() } } else { damaged() });
    }
    let (checksum, rest) = rest.split_first_chunk::<CHECKSUM_BYTES>().ok_or_else(damaged)?;
    if XxHash3_128::oneshot(rest) == u128::from_le_bytes(*checksum) { Ok(rest) } else { Err(damaged()) }
}
