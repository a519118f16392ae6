//! Mergeable state of a whole set over some locations; it can be sent to other processes.
//!
//! Encoded partials are canonical: the same locations give the same bytes, whatever
//! the order of folding and merging. The encoding is for exchange between equal
//! builds, not an archive.

use crate::analysis::{FinishCx, LocationSummary, Scope, SettleCx};
use crate::erased::{DynAnalysis, Erased, Outputs, Prepared};
use ouzel_model::{CallPathTree, Definitions, LocationId, Notice, Notices, TimeRange};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// State of every analysis of a set over a set of locations.
#[derive(Debug)]
pub struct Partial {
    pub(crate) call_paths: CallPathTree,
    pub(crate) locations: BTreeMap<LocationId, LocationSummary>,
    pub(crate) notices: Notices,
    pub(crate) slots: Vec<Erased>,
    /// The requested time range.
    pub(crate) window: Option<TimeRange>,
    /// What members of a wider [`Scope`] refer to, if it is more than what is selected.
    pub(crate) whole: Option<Whole>,
}

/// Call paths and locations of more than what is selected.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Whole {
    pub call_paths: CallPathTree,
    pub locations: BTreeMap<LocationId, LocationSummary>,
}

impl Partial {
    /// The selected locations that it holds.
    pub fn locations(&self) -> &BTreeMap<LocationId, LocationSummary> {
        &self.locations
    }

    /// All locations that were folded, ascending: more than are selected if a member needs them.
    pub fn folded(&self) -> &BTreeMap<LocationId, LocationSummary> {
        self.whole.as_ref().map_or(&self.locations, |whole| &whole.locations)
    }

    /// The call paths of members of a wider scope.
    pub(crate) fn paths_of_whole(&mut self) -> &mut CallPathTree {
        self.whole.as_mut().map_or(&mut self.call_paths, |whole| &mut whole.call_paths)
    }

    /// The call paths that a member refers to.
    fn call_paths_of(&self, member: &dyn DynAnalysis) -> &CallPathTree {
        match &self.whole {
            Some(whole) if member.scope() != Scope::Selection => &whole.call_paths,
            _ => &self.call_paths,
        }
    }
}

/// Why partials do not fit together.
#[derive(Debug, thiserror::Error)]
pub enum PartialError {
    /// It was made by a program other than this build.
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
    window: Option<TimeRange>,
    whole: Option<Whole>,
}

impl Prepared {
    /// The state before any location.
    pub fn empty(&self) -> Partial {
        Partial {
            call_paths: CallPathTree::default(),
            locations: BTreeMap::new(),
            notices: Notices::default(),
            slots: self.members.iter().map(|m| m.empty()).collect(),
            window: None,
            whole: None,
        }
    }

    /// Adds the locations of `from`.
    ///
    /// # Errors
    /// [`PartialError::Overlap`] if a location is in both; `into` is then unchanged.
    pub fn merge(&self, into: &mut Partial, mut from: Partial) -> Result<(), PartialError> {
        let is_folded = |l: &&LocationId| into.folded().contains_key(l) || into.locations.contains_key(l);
        if let Some(&location) = from.folded().keys().chain(from.locations.keys()).find(is_folded) {
            return Err(PartialError::Overlap(location));
        }
        let remap = into.call_paths.absorb(&from.call_paths);
        into.locations.append(&mut from.locations);
        into.notices.extend(from.notices.to_vec());
        into.window = into.window.or(from.window);
        let whole_remap = from.whole.map(|mut whole| {
            let into = into.whole.get_or_insert_default();
            into.locations.append(&mut whole.locations);
            into.call_paths.absorb(&whole.call_paths)
        });
        for ((member, slot), mut other) in self.members.iter().zip(&mut into.slots).zip(from.slots) {
            let wide = whole_remap.as_ref().filter(|_| member.scope() != Scope::Selection);
            member.remap(&mut other, wide.unwrap_or(&remap));
            member.merge(slot, other);
        }
        Ok(())
    }

    /// Reduces what is complete in a partial, see [`Analysis::compact`](crate::Analysis::compact).
    pub(crate) fn compact(&self, partial: &mut Partial, definitions: &Definitions) {
        let mut slots = std::mem::take(&mut partial.slots);
        for (member, slot) in self.members.iter().zip(&mut slots) {
            let cx = SettleCx { definitions, call_paths: partial.call_paths_of(&**member) };
            member.compact(slot, &cx);
        }
        partial.slots = slots;
    }

    /// Numbers the call paths as every other partial of the same locations would.
    fn canonicalise(&self, partial: &mut Partial) {
        let (call_paths, remap) = std::mem::take(&mut partial.call_paths).into_canonical();
        partial.call_paths = call_paths;
        let whole_remap = partial.whole.as_mut().map(|whole| {
            let (call_paths, remap) = std::mem::take(&mut whole.call_paths).into_canonical();
            whole.call_paths = call_paths;
            remap
        });
        for (member, slot) in self.members.iter().zip(&mut partial.slots) {
            let wide = whole_remap.as_ref().filter(|_| member.scope() != Scope::Selection);
            member.remap(slot, wide.unwrap_or(&remap));
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
        let Partial { call_paths, locations, notices, window, whole, .. } = partial;
        let (magic, notices) = (MAGIC.to_owned(), notices.to_vec());
        let wire = Wire { magic, call_paths, locations, notices, slots, window, whole };
        Ok(postcard::to_stdvec(&wire)?)
    }

    /// The partial that [`encode`](Prepared::encode) wrote.
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
        let Wire { call_paths, locations, window, whole, .. } = wire;
        Ok(Partial { call_paths, locations, notices, slots, window, whole })
    }

    /// The rest and `n_buckets` buckets of a partial, see [`Pairing::split`](crate::Pairing::split). Locations and
    /// notices stay in the rest; call paths go with each.
    pub fn split(&self, mut partial: Partial, n_buckets: usize) -> (Partial, Vec<Partial>) {
        let bucket = || Partial {
            call_paths: partial.call_paths.clone(),
            locations: BTreeMap::new(),
            notices: Notices::default(),
            slots: Vec::with_capacity(self.members.len()),
            window: partial.window,
            whole: partial
                .whole
                .as_ref()
                .map(|whole| Whole { call_paths: whole.call_paths.clone(), locations: BTreeMap::new() }),
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
        let slots = std::mem::take(&mut bucket.slots);
        let settled = self.members.iter().zip(slots).map(|(member, slot)| {
            let cx = SettleCx { definitions, call_paths: bucket.call_paths_of(&**member) };
            member.settle(slot, &cx)
        });
        bucket.slots = settled.collect();
        bucket
    }

    /// The results. What went wrong is added to `notices`.
    pub fn finish(&self, mut partial: Partial, definitions: &Definitions, notices: &Notices) -> Outputs {
        self.canonicalise(&mut partial);
        notices.extend(partial.notices.to_vec());
        let slots = std::mem::take(&mut partial.slots);
        let Partial { locations: selected, window, .. } = &partial;
        let whole = partial.folded();
        // Whoever sees all events of the selected locations knows of no others.
        let mut of_selected = BTreeMap::new();
        if self.members.iter().any(|member| member.scope() == Scope::Locations) {
            let known = selected.keys().filter_map(|location| whole.get_key_value(location));
            of_selected.extend(known.map(|(&location, &summary)| (location, summary)));
        }
        let outputs =
            self.members.iter().zip(slots).map(|(member, slot)| {
                let locations = match member.scope() {
                    Scope::Selection => selected,
                    Scope::Locations => &of_selected,
                    Scope::Trace => whole,
                };
                let call_paths = partial.call_paths_of(&**member);
                let window = *window;
                Some(member.finish(
                    slot,
                    &FinishCx { definitions, call_paths, locations, selected, window, notices },
                ))
            });
        Outputs(outputs.collect())
    }
}
