//! Passes that other processes make, on other machines too.
//!
//! ```text
//! set, filter ──Job──► bytes ──► worker: Job::fold(trace, group) ──► encoded partial ─┐
//!                      bytes ──► worker: Job::fold(trace, group) ──► encoded partial ─┴─ Job::merge … ──► outputs
//! ```
//!
//! What starts the processes and carries the bytes is a [`Workers`]; nothing else changes, so every question of
//! [`Trace`] is asked of workers as it is asked of threads. Laws: folding and merging are pure, so that
//! both may be done twice; partials merge in any grouping; the answer is that of one machine, byte for byte. Every
//! job and every partial carries the [`BUILD`] that made it, and one of another build is refused.

use crate::{Options, Trace};
use ouzel_engine::{
    AnalysisSet, CatalogueError, Partial, PartialError, PassError, Progress, Report, SetDescription,
};
use ouzel_model::{Filter, LocationId, TraceSource};
use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_128;

/// Version and hash of the sources. Only processes of one build work together.
pub const BUILD: &str = env!("OUZEL_BUILD");

/// Processes that fold and merge.
pub trait Workers: std::fmt::Debug + Sync {
    /// Bytes of event files that make a group: one task. A location is never cut.
    fn group_bytes(&self) -> u64;

    /// Folds every group with [`Job::fold`] and merges all with [`Job::merge`], in any grouping. Tells `progress` the
    /// bytes of the groups that are folded, and stops soon once it is cancelled.
    ///
    /// # Errors
    /// If there is no result, whyever.
    fn run(
        &self,
        job: &Job,
        groups: &[Group],
        progress: Option<&Progress>,
    ) -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>>;
}

/// Locations that one task folds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The locations, ascending.
    pub locations: Vec<LocationId>,
    /// Bytes that their events take.
    pub event_bytes: u64,
}

/// What the opened trace is, in 128 bits: its definitions, and how many bytes the events of each location take.
/// Processes that open the same files agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint(u128);

impl Fingerprint {
    /// That of the trace on repaired clocks: processes that did not repair it have another one.
    pub(crate) fn on_repaired_clocks(self) -> Self {
        Fingerprint(!self.0)
    }
}

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// Why a worker cannot do its part.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// The job, or a partial, was made by another build.
    #[error("build {found} cannot work together with build {BUILD}")]
    ForeignBuild {
        /// The build that made it.
        found: String,
    },
    /// The trace is not that of the job.
    #[error(
        "the files differ: the trace's fingerprint is {found} here and {expected} where the question was asked"
    )]
    OtherFiles {
        /// Of the job.
        expected: Fingerprint,
        /// Of the trace.
        found: Fingerprint,
    },
    /// The set does not travel.
    #[error(transparent)]
    Set(#[from] CatalogueError),
    /// Partials do not fit together.
    #[error(transparent)]
    Partial(#[from] PartialError),
    /// An analysis broke a promise.
    #[error(transparent)]
    Pass(#[from] PassError),
    /// The job does not decode.
    #[error("the job does not decode: {0}")]
    Codec(#[from] postcard::Error),
    /// What came back is not from all locations, or from others.
    #[error("internal error: {expected} locations were to be folded, and the result is from {found}")]
    Incomplete {
        /// Locations asked for.
        expected: usize,
        /// Locations folded.
        found: usize,
    },
}

/// One pass over one trace, to be made by other processes.
#[derive(Debug)]
pub struct Job {
    wire: Wire,
    set: AnalysisSet,
}

#[derive(Debug, Serialize, Deserialize)]
struct Wire {
    fingerprint: Fingerprint,
    filter: Filter,
    set: SetDescription,
}

impl Job {
    fn new(trace: &Trace, set: &AnalysisSet, filter: &Filter) -> Result<Self, JobError> {
        let catalogue = ouzel_analyses::catalogue();
        let description = catalogue.describe(set)?;
        let wire = Wire { fingerprint: trace.fingerprint(), filter: filter.clone(), set: description };
        let set = catalogue.set(&wire.set)?;
        Ok(Job { wire, set })
    }

    /// The job as bytes; equal jobs have equal bytes.
    ///
    /// # Errors
    /// If it does not encode.
    pub fn encode(&self) -> Result<Vec<u8>, JobError> {
        Ok(postcard::to_extend(&self.wire, postcard::to_stdvec(BUILD)?)?)
    }

    /// The job that was encoded.
    ///
    /// # Errors
    /// If it comes from another build, or does not decode.
    pub fn decode(bytes: &[u8]) -> Result<Self, JobError> {
        let wire: Wire = postcard::from_bytes(of_this_build(bytes)?)?;
        let set = ouzel_analyses::catalogue().set(&wire.set)?;
        Ok(Job { wire, set })
    }

    /// The trace that it is about.
    pub fn fingerprint(&self) -> Fingerprint {
        self.wire.fingerprint
    }

    /// Folds some locations: the encoded partial. Damage is in the partial, as a notice.
    ///
    /// # Errors
    /// If `trace` is another one, or an analysis broke a promise.
    pub fn fold(&self, trace: &Trace, locations: &[LocationId]) -> Result<Vec<u8>, JobError> {
        let (expected, found) = (self.wire.fingerprint, trace.fingerprint());
        if expected != found {
            return Err(JobError::OtherFiles { expected, found });
        }
        let partial = self.set.fold(trace.source(), &self.wire.filter, locations.iter().copied())?;
        self.encoded(partial)
    }

    /// Merges encoded partials of different locations into one.
    ///
    /// # Errors
    /// If one does not decode, or a location is in two of them.
    pub fn merge<'b>(&self, partials: impl IntoIterator<Item = &'b [u8]>) -> Result<Vec<u8>, JobError> {
        let mut whole = self.set.empty();
        for bytes in partials {
            self.set.merge(&mut whole, self.decoded(bytes)?)?;
        }
        self.encoded(whole)
    }

    fn encoded(&self, partial: Partial) -> Result<Vec<u8>, JobError> {
        let mut bytes = postcard::to_stdvec(BUILD)?;
        bytes.append(&mut self.set.encode(partial)?);
        Ok(bytes)
    }

    fn decoded(&self, bytes: &[u8]) -> Result<Partial, JobError> {
        Ok(self.set.decode(of_this_build(bytes)?)?)
    }
}

/// What stands behind the name of the build.
fn of_this_build(bytes: &[u8]) -> Result<&[u8], JobError> {
    let (found, rest) = postcard::take_from_bytes::<&str>(bytes)?;
    if found == BUILD { Ok(rest) } else { Err(JobError::ForeignBuild { found: found.to_owned() }) }
}

impl Trace {
    /// What the trace is. Takes about as long as reading its definitions.
    pub fn fingerprint(&self) -> Fingerprint {
        *self.fingerprint.get_or_init(|| {
            let definitions = self.definitions();
            let bytes = definitions.location_ids().map(|location| self.source.location_bytes(location));
            let all = (self.format.as_str(), definitions, bytes.collect::<Vec<_>>());
            let hashed = postcard::to_io(&all, Hashed(XxHash3_128::new()));
            Fingerprint(
                hashed.expect("definitions are plain data, and a hash takes any bytes").0.finish_128(),
            )
        })
    }

    /// One pass made by `workers`.
    pub(crate) fn run_on(
        &self,
        workers: &dyn Workers,
        set: &AnalysisSet,
        options: &Options<'_>,
    ) -> Result<Report, PassError> {
        let elsewhere = |error: JobError| PassError::Elsewhere(Box::new(error));
        let selected = options.filter.locations(self.definitions());
        let groups = groups(&selected, &*self.source, workers.group_bytes());
        if groups.is_empty() {
            return set.conclude(&*self.source, set.empty());
        }
        let job = Job::new(self, set, &options.filter).map_err(elsewhere)?;
        let result = workers.run(&job, &groups, options.progress);
        if options.progress.is_some_and(Progress::is_cancelled) {
            return Err(PassError::Cancelled);
        }
        let bytes = result.map_err(PassError::Elsewhere)?;
        let partial = of_this_build(&bytes).and_then(|bytes| Ok(set.decode(bytes)?)).map_err(elsewhere)?;
        if !partial.locations().keys().eq(&selected) {
            let (expected, found) = (selected.len(), partial.locations().len());
            return Err(elsewhere(JobError::Incomplete { expected, found }));
        }
        set.conclude(&*self.source, partial)
    }
}

/// Neighbours, as many as make `group_bytes`. Depends on nothing else, so that a run can be resumed with other workers.
fn groups(selected: &[LocationId], source: &dyn TraceSource, group_bytes: u64) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for &location in selected {
        // Even an empty location is some work.
        let bytes = source.location_bytes(location);
        match groups.last_mut() {
            Some(last) if last.event_bytes.saturating_add(bytes) <= group_bytes => {
                last.locations.push(location);
                last.event_bytes += bytes;
            }
            _ => groups.push(Group { locations: vec![location], event_bytes: bytes }),
        }
    }
    groups
}

/// What is written goes into the hash.
struct Hashed(XxHash3_128);

impl std::io::Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
