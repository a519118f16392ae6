//! Partials on their way: which part of the whole they are, and of how many locations.
//!
//! ```text
//! build, header (part, coverage), encoded partial
//! ```
//!
//! A bucket does not name its locations, as the engine's partials do; a count and a sum of hashes tell whether a
//! piece is missing or came twice.

use super::{BUILD, JobError};
use ouzel_model::LocationId;
use serde::{Deserialize, Serialize};

/// Which part of a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum Part {
    /// What pairs no locations.
    Rest,
    /// One of the buckets.
    Bucket(u32),
}

/// Of which locations something is. Adds up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Coverage {
    pub n_locations: u64,
    /// Sum of a hash of each.
    sum: u64,
}

impl Coverage {
    pub fn of<'l>(locations: impl IntoIterator<Item = &'l LocationId>) -> Self {
        let one = |location: &LocationId| {
            let mut hash = u64::from(location.0).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            hash ^= hash >> 31;
            Coverage { n_locations: 1, sum: hash.wrapping_mul(0xBF58_476D_1CE4_E5B9) }
        };
        let mut all = Coverage::default();
        locations.into_iter().for_each(|location| all.add(one(location)));
        all
    }

    pub fn add(&mut self, other: Coverage) {
        self.n_locations += other.n_locations;
        self.sum = self.sum.wrapping_add(other.sum);
    }
}

/// What stands before an encoded partial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Header {
    pub part: Part,
    pub of: Coverage,
}

impl Header {
    pub fn before(&self, mut partial: Vec<u8>) -> Result<Vec<u8>, JobError> {
        let mut bytes = postcard::to_extend(self, postcard::to_stdvec(BUILD)?)?;
        bytes.append(&mut partial);
        Ok(bytes)
    }

    /// The header, and the encoded partial behind it.
    pub fn read(bytes: &[u8]) -> Result<(Header, &[u8]), JobError> {
        Ok(postcard::take_from_bytes(of_this_build(bytes)?)?)
    }
}

/// What stands behind the name of the build.
pub(super) fn of_this_build(bytes: &[u8]) -> Result<&[u8], JobError> {
    let (found, rest) = postcard::take_from_bytes::<&str>(bytes)?;
    if found == BUILD { Ok(rest) } else { Err(JobError::ForeignBuild { found: found.to_owned() }) }
}
