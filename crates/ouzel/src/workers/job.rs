//! One pass over one trace as bytes, and the steps of it that other processes do.

use super::catalogue::catalogue;
use super::part::{PartCoverage, PartialHeader, PartialKind, sealed, unsealed};
use super::{BUILD, Fingerprint};
use crate::Trace;
use ouzel_analyses::clock_repair::ClockRepair;
use ouzel_engine::{CatalogueError, Partial, PartialError, PassError, Prepared, SetDescription};
use ouzel_model::LocationId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Maximum number of pieces of all buckets of all groups: each is the result of a task, which the scheduler has to
/// remember. Chosen by us: Dask's scheduler takes some 0.2 ms and 1 kB for one, so these are 13 s and 65 MB.
const N_PIECES_MAX: usize = 1 << 16;

/// Why a worker cannot do its part.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// The job, or a partial, was made by another build.
    #[error("build {found} cannot work together with build {BUILD}")]
    ForeignBuild {
        /// The build that made it.
        found: String,
    },
    /// The job, or a partial, differs from what was sent: bytes were lost or changed on the way.
    #[error("a {what} of {n_bytes} bytes is damaged: its checksum does not match; ask again")]
    Damaged {
        /// `job` or `partial`.
        what: &'static str,
        /// Its size.
        n_bytes: usize,
    },
    /// The trace is not the one of the job.
    #[error(
        "the files differ: the trace's fingerprint is {found} here and {expected} where the question was asked"
    )]
    OtherFiles {
        /// Of the job.
        expected: Fingerprint,
        /// Of the trace.
        found: Fingerprint,
    },
    /// The set cannot be sent.
    #[error(transparent)]
    Set(#[from] CatalogueError),
    /// Partials do not fit together.
    #[error(transparent)]
    Partial(#[from] PartialError),
    /// An analysis broke its contract.
    #[error(transparent)]
    Pass(#[from] PassError),
    /// The job, or the header of a partial, does not decode.
    #[error("the job does not decode: {0}")]
    Codec(#[from] postcard::Error),
    /// Partials of different parts, a rest and a bucket or two buckets, were to be merged.
    #[error("internal error: partials of different parts cannot be merged")]
    Parts,
    /// The results are not from all locations, or from others, or some came twice.
    #[error(
        "internal error: {expected} locations should be folded in {n_parts} parts, but a result is missing, repeated \
         or from other locations ({found} locations)"
    )]
    Incomplete {
        /// Locations requested.
        expected: usize,
        /// Locations in the part that differs.
        found: usize,
        /// The rest and the buckets.
        n_parts: usize,
    },
}

/// One pass over one trace, run by other processes.
#[derive(Debug)]
pub struct Job {
    wire: Wire,
    set: Prepared,
}

#[derive(Debug, Serialize, Deserialize)]
struct Wire {
    /// Of the files, on recorded clocks.
    recorded: Fingerprint,
    /// How the clocks were repaired, one after the other.
    repairs: Vec<Arc<ClockRepair>>,
    /// Of the trace on these clocks.
    fingerprint: Fingerprint,
    n_buckets: u32,
    set: SetDescription,
}

impl Job {
    /// As many buckets as groups, so that what is settled together comes from as many bytes of event files as what is
    /// folded together; fewer if there would be too many pieces, none if nothing pairs locations.
    pub(super) fn new(trace: &Trace, set: &Prepared, n_groups: usize) -> Result<Self, JobError> {
        let catalogue = catalogue();
        let n_buckets = n_groups.min(N_PIECES_MAX / n_groups.max(1)).max(1);
        let wire = Wire {
            recorded: trace.recorded.unwrap_or_else(|| trace.fingerprint()),
            repairs: trace.repairs.clone(),
            fingerprint: trace.fingerprint(),
            n_buckets: if set.pairs_locations() { n_buckets as u32 } else { 0 },
            set: catalogue.describe(set)?,
        };
        let set = catalogue.set(&wire.set)?;
        Ok(Job { wire, set })
    }

    /// The job as bytes; equal jobs have equal bytes.
    ///
    /// # Errors
    /// If it does not encode.
    pub fn encode(&self) -> Result<Vec<u8>, JobError> {
        sealed(|bytes| postcard::to_extend(&self.wire, bytes))
    }

    /// The job that was encoded.
    ///
    /// # Errors
    /// If it comes from another build, is damaged, or does not decode.
    pub fn decode(bytes: &[u8]) -> Result<Self, JobError> {
        let wire: Wire = postcard::from_bytes(unsealed(bytes, "job")?)?;
        let set = catalogue().set(&wire.set)?;
        Ok(Job { wire, set })
    }

    /// The trace it is for.
    pub fn fingerprint(&self) -> Fingerprint {
        self.wire.fingerprint
    }

    /// The trace as it is opened, before [`on_clocks`](Job::on_clocks).
    pub fn recorded_fingerprint(&self) -> Fingerprint {
        self.wire.recorded
    }

    /// The opened trace on the clocks of the job.
    #[must_use]
    pub fn on_clocks(&self, trace: Trace) -> Trace {
        self.wire.repairs.iter().fold(trace, |trace, repair| trace.on_shared_clocks(Arc::clone(repair)))
    }

    /// Buckets to be settled; 0 if nothing pairs locations.
    pub fn n_buckets(&self) -> usize {
        self.wire.n_buckets as usize
    }

    fn expect(&self, trace: &Trace) -> Result<(), JobError> {
        let (expected, found) = (self.wire.fingerprint, trace.fingerprint());
        if expected == found { Ok(()) } else { Err(JobError::OtherFiles { expected, found }) }
    }

    /// First round: folds some locations. The encoded rest, and behind it a piece of each bucket. Damage is in the
    /// rest, as a notice.
    ///
    /// # Errors
    /// If `trace` is another one, or an analysis broke its contract.
    pub fn fold(&self, trace: &Trace, locations: &[LocationId]) -> Result<Vec<Vec<u8>>, JobError> {
        self.expect(trace)?;
        let of = PartCoverage::of(locations);
        let whole = self.set.fold(trace.source(), locations.iter().copied())?;
        let (rest, pieces) = self.set.split(whole, self.n_buckets());
        let rest = self.encoded(PartialHeader { part: PartialKind::Rest, of }, rest);
        let pieces = (0..)
            .zip(pieces)
            .map(|(i, piece)| self.encoded(PartialHeader { part: PartialKind::Bucket(i), of }, piece));
        [rest].into_iter().chain(pieces).collect()
    }

    /// Merges encoded partials of one part and of different locations.
    ///
    /// # Errors
    /// If one does not decode, or is of another part than the first, or a location is in two rests.
    pub fn merge<'b>(&self, partials: impl IntoIterator<Item = &'b [u8]>) -> Result<Vec<u8>, JobError> {
        let (header, whole) = self.merged(partials)?;
        self.encoded(header, whole)
    }

    /// Second round: merges the pieces that all groups have of one bucket, in any order, and pairs what is in them.
    ///
    /// # Errors
    /// If `trace` is another one, one does not decode, they are not of one bucket, or an analysis broke its contract.
    pub fn settle<'b>(
        &self,
        trace: &Trace,
        pieces: impl IntoIterator<Item = &'b [u8]>,
    ) -> Result<Vec<u8>, JobError> {
        self.expect(trace)?;
        let (header, bucket) = self.merged(pieces)?;
        self.encoded(header, self.set.settle(bucket, trace.definitions())?)
    }

    fn merged<'b>(
        &self,
        partials: impl IntoIterator<Item = &'b [u8]>,
    ) -> Result<(PartialHeader, Partial), JobError> {
        let mut whole = self.set.empty();
        let mut header: Option<PartialHeader> = None;
        for bytes in partials {
            let (one, partial) = PartialHeader::read(bytes)?;
            let header = header.get_or_insert(PartialHeader { of: PartCoverage::default(), ..one });
            if header.part != one.part {
                return Err(JobError::Parts);
            }
            header.of.add(one.of);
            self.set.merge(&mut whole, self.set.decode(partial)?)?;
        }
        Ok((header.ok_or(JobError::Parts)?, whole))
    }

    /// The whole from the rest and the settled buckets, in any order; each must be there once and from all of
    /// `locations`, which the pass folds. `set` is that of this process.
    pub(super) fn whole(
        &self,
        set: &Prepared,
        parts: Vec<Vec<u8>>,
        locations: &[LocationId],
    ) -> Result<Partial, JobError> {
        let expected = PartCoverage::of(locations);
        let n_parts = 1 + self.n_buckets();
        let odd = |of: PartCoverage| JobError::Incomplete {
            expected: locations.len(),
            found: of.n_locations as usize,
            n_parts,
        };
        let mut missing: BTreeSet<PartialKind> = (0..self.wire.n_buckets).map(PartialKind::Bucket).collect();
        missing.insert(PartialKind::Rest);
        let mut whole = set.empty();
        // Each is dropped as soon as it is merged.
        for bytes in parts {
            let (PartialHeader { part, of }, partial) = PartialHeader::read(&bytes)?;
            if of != expected || !missing.remove(&part) {
                return Err(odd(of));
            }
            set.merge(&mut whole, set.decode(partial)?)?;
        }
        let is_whole = missing.is_empty() && whole.folded().keys().eq(locations);
        if is_whole { Ok(whole) } else { Err(odd(PartCoverage::of(whole.folded().keys()))) }
    }

    fn encoded(&self, header: PartialHeader, partial: Partial) -> Result<Vec<u8>, JobError> {
        header.before(self.set.encode(partial)?)
    }
}
