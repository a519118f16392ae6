//! Mergeable state of a whole set over some locations; it can travel.
//!
//! Encoded partials are canonical: the same locations give the same bytes, whatever
//! the order of folding and merging. The encoding is for exchange between equal
//! builds, not an archive.

use crate::analysis::{FinishCx, LocationSummary, SettleCx};
use crate::erased::{AnalysisSet, Erased, Outputs};
use ouzel_model::{CallPathTree, Definitions, LocationId, Notice, Notices};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// State of every analysis of a set over a set of locations.
#[derive(Debug)]
pub struct Partial {
    pub(crate) call_paths: CallPathTree,
    pub(crate) locations: BTreeMap<LocationId, LocationSummary>,
    pub(crate) notices: Notices,
    pub(crate) slots: Vec<Erased>,
}

impl Partial {
    /// The locations it holds.
    pub fn locations(&self) -> &BTreeMap<LocationId, LocationSummary> {
        &self.locations
    }
}

/// Partials that do not fit together.
#[derive(Debug, thiserror::Error)]
pub enum PartialError {
    /// It was made by something else than this build.
    #[error("partial was not written by this version of ouzel ({})", env!("CARGO_PKG_VERSION"))]
    ForeignBuild,
    /// It was made by other analyses, or other versions of them.
    #[error("partial of {found:?} cannot be read as {expected:?}")]
    Mismatch {
        /// Name and version of the analysis in the set.
        expected: (String, u32),
        /// Name and version found.
        found: (String, u32),
    },
    /// It holds another number of analyses.
    #[error("partial holds {found} analyses, {expected} are expected")]
    Slots {
        /// Members of the set.
        expected: usize,
        /// Members of the partial.
        found: usize,
    },
    /// A location would be counted twice.
    #[error("both partials contain location {0:?}")]
    Overlap(LocationId),
    /// It does not decode.
    #[error("partial does not decode: {0}")]
    Codec(#[from] postcard::Error),
}

const MAGIC: &str = concat!("ouzel partial ", env!("CARGO_PKG_VERSION"));

#[derive(Serialize, Deserialize)]
struct Wire {
    magic: String,
    call_paths: CallPathTree,
    locations: BTreeMap<LocationId, LocationSummary>,
    notices: Vec<Notice>,
    slots: Vec<(String, u32, Vec<u8>)>,
}

impl AnalysisSet {
    /// The state before any location.
    pub fn empty(&self) -> Partial {
        Partial {
            call_paths: CallPathTree::default(),
            locations: BTreeMap::new(),
            notices: Notices::default(),
            slots: self.members.iter().map(|m| m.empty()).collect(),
        }
    }

    /// Adds the locations of `from`.
    ///
    /// # Errors
    /// [`PartialError::Overlap`] if a location is in both; `into` is then unchanged.
    pub fn merge(&self, into: &mut Partial, mut from: Partial) -> Result<(), PartialError> {
        if let Some(&location) = from.locations.keys().find(|l| into.locations.contains_key(l)) {
            return Err(PartialError::Overlap(location));
        }
        let remap = into.call_paths.absorb(&from.call_paths);
        into.locations.append(&mut from.locations);
        into.notices.extend(from.notices.to_vec());
        for ((member, slot), mut other) in self.members.iter().zip(&mut into.slots).zip(from.slots) {
            member.remap(&mut other, &remap);
            member.merge(slot, other);
        }
        Ok(())
    }

    /// Numbers the call paths as every other partial of the same locations would.
    fn canonicalise(&self, partial: &mut Partial) {
        let (call_paths, remap) = std::mem::take(&mut partial.call_paths).into_canonical();
        partial.call_paths = call_paths;
        for (member, slot) in self.members.iter().zip(&mut partial.slots) {
            member.remap(slot, &remap);
        }
    }

    /// The partial as bytes, canonical.
    ///
    /// # Errors
    /// If a member's state cannot be encoded.
    pub fn encode(&self, mut partial: Partial) -> Result<Vec<u8>, PartialError> {
        self.canonicalise(&mut partial);
        let mut slots = Vec::with_capacity(self.members.len());
        for (member, slot) in self.members.iter().zip(&partial.slots) {
            let (name, version) = member.stamp();
            slots.push((name.to_owned(), version, member.encode(slot)?));
        }
        let Partial { call_paths, locations, notices, .. } = partial;
        let wire = Wire { magic: MAGIC.to_owned(), call_paths, locations, notices: notices.to_vec(), slots };
        Ok(postcard::to_stdvec(&wire)?)
    }

    /// The partial that [`encode`](AnalysisSet::encode) wrote.
    ///
    /// # Errors
    /// If it comes from another build or other analyses, or does not decode.
    pub fn decode(&self, bytes: &[u8]) -> Result<Partial, PartialError> {
        if postcard::take_from_bytes::<String>(bytes)?.0 != MAGIC {
            return Err(PartialError::ForeignBuild);
        }
        let wire: Wire = postcard::from_bytes(bytes)?;
        let (expected, found) = (self.members.len(), wire.slots.len());
        if expected != found {
            return Err(PartialError::Slots { expected, found });
        }
        let mut slots = Vec::with_capacity(found);
        for (member, (name, version, bytes)) in self.members.iter().zip(wire.slots) {
            let expected = member.stamp();
            if expected != (name.as_str(), version) {
                let expected = (expected.0.to_owned(), expected.1);
                return Err(PartialError::Mismatch { expected, found: (name, version) });
            }
            slots.push(member.decode(&bytes)?);
        }
        let notices = Notices::default();
        notices.extend(wire.notices);
        Ok(Partial { call_paths: wire.call_paths, locations: wire.locations, notices, slots })
    }

    /// The rest and `n_buckets` buckets of a partial, see [`Analysis::split`](crate::Analysis::split). Locations and
    /// notices stay in the rest; call paths go with each.
    pub fn split(&self, mut partial: Partial, n_buckets: usize) -> (Partial, Vec<Partial>) {
        let bucket = || Partial {
            call_paths: partial.call_paths.clone(),
            locations: BTreeMap::new(),
            notices: Notices::default(),
            slots: Vec::with_capacity(self.members.len()),
        };
        let mut buckets: Vec<Partial> = (0..n_buckets).map(|_| bucket()).collect();
        for (member, slot) in self.members.iter().zip(&mut partial.slots) {
            let parts = member.split(slot, n_buckets);
            let name = member.stamp().0;
            assert_eq!(parts.len(), n_buckets, "{name} splits into as many buckets as asked for");
            for (bucket, part) in buckets.iter_mut().zip(parts) {
                bucket.slots.push(part);
            }
        }
        (partial, buckets)
    }

    pub(crate) fn settled(&self, mut bucket: Partial, definitions: &Definitions) -> Partial {
        // Who breaks ties by call path must do it as the whole would.
        self.canonicalise(&mut bucket);
        let cx = SettleCx { definitions, call_paths: &bucket.call_paths };
        let slots = std::mem::take(&mut bucket.slots);
        bucket.slots =
            self.members.iter().zip(slots).map(|(member, slot)| member.settle(slot, &cx)).collect();
        bucket
    }

    /// The results. What went wrong is added to `notices`.
    pub fn finish(&self, mut partial: Partial, definitions: &Definitions, notices: &Notices) -> Outputs {
        self.canonicalise(&mut partial);
        notices.extend(partial.notices.to_vec());
        let cx =
            FinishCx { definitions, call_paths: &partial.call_paths, locations: &partial.locations, notices };
        let outputs = self.members.iter().zip(partial.slots).map(|(m, slot)| Some(m.finish(slot, &cx)));
        Outputs(outputs.collect())
    }
}
